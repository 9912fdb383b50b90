// SPDX-License-Identifier: MIT
// Colours of the figures, light and dark. Methods differ in colour and in dashes; the map is blue, so that a rule in any of
// the other colours stands out on it, also for readers who do not tell red from green.

const kLight = {
  paper: "#fdfcfa",
  ink: "#1c1c1c",
  soft: "#55565a",
  grid: "#e3e0da",
  faint: "#c9c6bf",
  accent: "#c23b00",
  blue: "#1f5f8b",
  heat: ["#f0f3f4", "#cbdde6", "#8fb8cf", "#4b86ac", "#1f5680", "#0b2f52"],
  less: "#8a5a00",
  middle: "#f4f2ee",
  more: "#1f5680",
  methods: [
    "#c23b00",
    "#1c1c1c",
    "#6a3d9a",
    "#00735c",
    "#8a6100",
    "#b3206e",
    "#55606b",
    "#0b62a8",
    "#7a1f1f",
    "#3f6b00",
  ],
};

const kDark = {
  paper: "#14171a",
  ink: "#ededea",
  soft: "#a9adb2",
  grid: "#2b3036",
  faint: "#474d55",
  accent: "#ff8d5c",
  blue: "#79b8e6",
  heat: ["#1d242b", "#21394b", "#2a5674", "#3f7ea6", "#78b1d3", "#cfe8f7"],
  less: "#e0ac4f",
  middle: "#262b30",
  more: "#5fa8d8",
  methods: [
    "#ff8d5c",
    "#f4f4f1",
    "#c9a8f5",
    "#4fd6b4",
    "#e5b95c",
    "#ff8ac4",
    "#aab4be",
    "#7cc0ff",
    "#ff9d9d",
    "#b1dd6f",
  ],
};

const kOrder = ["auto", "st", "exact", "smooth", "joint", "hr", "gmt", "mist", "ew-dpmt", "vw-dpmt"];
const kDashes = ["", "7 4", "2 3", "12 4", "9 3 2 3", "5 2", "1 4", "14 3 2 3 2 3", "6 5 1 5", "3 7"];

export function paletteOf(theme) {
  return theme === "dark" ? kDark : kLight;
}

/// {color, dash, width} of a method's lines. The study's first method is the one that decides.
export function lineOf(study, name, palette) {
  const known = study.methods[0]?.name === name ? 0 : kOrder.indexOf(name);
  const others = study.methods.filter((method, index) => index > 0 && !kOrder.includes(method.name));
  const place =
    known >= 0
      ? known
      : 2 +
        (Math.max(
          0,
          others.findIndex((method) => method.name === name),
        ) %
          (kOrder.length - 2));
  return { color: palette.methods[place], dash: kDashes[place], width: place === 0 ? 3 : 2 };
}

/// Colours from the least to the most certain of n levels, all readable on paper.
export function levelColors(n, palette) {
  const ramp =
    palette === kDark ? ["#f3d27a", "#7fc8a9", "#5c9ee0", "#a07ae8"] : ["#b98500", "#2f8f6b", "#20679f", "#4a2a8a"];
  return Array.from({ length: n }, (_, at) => mix(ramp, n === 1 ? 0.5 : at / (n - 1)));
}

/// The colour at 0 to 1 along a ramp.
export function mix(ramp, at) {
  const place = Math.min(Math.max(at, 0), 1) * (ramp.length - 1);
  const low = Math.min(Math.floor(place), ramp.length - 2);
  const channel = (color, index) => parseInt(color.slice(1 + 2 * index, 3 + 2 * index), 16);
  const parts = [0, 1, 2].map((index) => {
    const value =
      channel(ramp[low], index) + (place - low) * (channel(ramp[low + 1], index) - channel(ramp[low], index));
    return Math.round(value).toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}
