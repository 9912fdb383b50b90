// SPDX-License-Identifier: MIT
// Figures and tables as files, made in the page.
import { h, s } from "./dom.js";
import { kFont } from "./draw.js";

function download(name, blob) {
  const link = h("a", { download: name });
  const address = URL.createObjectURL(blob);
  link.href = address;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/// The drawing alone in a file: with its title, on its paper, without what only a pointer shows.
export function svgText(drawing, title, palette) {
  const width = Number(drawing.getAttribute("width"));
  const height = Number(drawing.getAttribute("height"));
  const copy = drawing.cloneNode(true);
  for (const tip of copy.querySelectorAll('[aria-label="tip"], [data-tip]')) tip.remove();
  copy.setAttribute("x", 16);
  copy.setAttribute("y", 48);
  copy.removeAttribute("role");
  copy.removeAttribute("aria-label");
  const size = { width: width + 32, height: height + 64 };
  const file = s(
    "svg",
    { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "font-family": kFont, color: palette.soft },
    s("title", {}, title),
    s("rect", { ...size, fill: palette.paper }),
    s("text", { x: 16, y: 30, "font-size": 16, "font-weight": 600, fill: palette.ink }, title),
    copy,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(file)}\n`;
}

export function saveSvg(name, drawing, title, palette) {
  download(`${name}.svg`, new Blob([svgText(drawing, title, palette)], { type: "image/svg+xml" }));
}

export function savePng(name, drawing, title, palette) {
  const text = svgText(drawing, title, palette);
  const image = new Image();
  const canvas = document.createElement("canvas");
  return new Promise((resolve, reject) => {
    image.onload = () => {
      const scale = 2;
      canvas.width = image.naturalWidth * scale;
      canvas.height = image.naturalHeight * scale;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(
        (blob) => (blob ? resolve(download(`${name}.png`, blob)) : reject(new Error("save: no picture"))),
        "image/png",
      );
    };
    image.onerror = () => reject(new Error("save: the drawing cannot be read"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}

export function saveCsv(name, text) {
  download(`${name}.csv`, new Blob([text], { type: "text/csv" }));
}
