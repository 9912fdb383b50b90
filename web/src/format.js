// SPDX-License-Identifier: MIT
// Numbers as text. Tables have the whole number beside it (data-value), and so have saved files.

const kMinus = "\u2212";
const kNone = "\u2013";

const signed = (text) => text.replace(/^-/, kMinus);
const missing = (value) => value === null || value === undefined || Number.isNaN(value);
const group = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");

/// A count of rows, or a weight: 8,617 or 8,617.5.
export function count(value) {
  if (missing(value)) return kNone;
  if (Number.isInteger(value)) return signed(group(value.toFixed(0)));
  const [whole, rest] = value.toFixed(1).split(".");
  return signed(`${group(whole)}.${rest}`);
}

/// Precision, recall, a rate: 0.7000.
export function ratio(value) {
  return missing(value) ? kNone : signed(value.toFixed(4));
}

/// A bound as it was given: 0.7.
export function bound(value) {
  return missing(value) ? kNone : signed(String(value));
}

/// A relative change: +3.3%.
export function change(value) {
  if (missing(value)) return kNone;
  const size = Math.abs(100 * value);
  const text = size >= 1000 ? group(size.toFixed(0)) : size.toFixed(1);
  const isZero = /^[0.]+$/.test(text);
  return `${isZero ? "" : value < 0 ? kMinus : "+"}${text}%`;
}

/// An interval of what `one` formats: 0.6900 to 0.7100.
export function interval(pair, one = ratio, between = " to ") {
  return pair ? `${one(pair[0])}${between}${one(pair[1])}` : kNone;
}

/// Any number in a few digits: scores, edges, p-values.
export function digits(value, places = 4) {
  if (missing(value)) return kNone;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3)
    return signed(
      value
        .toExponential(Math.max(0, places - 2))
        .replace(/\.?0+e/, "e")
        .replace("e+", "e"),
    );
  return signed(String(Number(value.toPrecision(places))));
}

/// A p-value: 0.0421, or "below 0.001" in words.
export function pValue(value) {
  if (missing(value)) return kNone;
  return value < 0.001 ? "below 0.001" : value.toFixed(3);
}

/// A time: 12 ms, 3.4 s.
export function seconds(value) {
  if (missing(value)) return kNone;
  return value < 1 ? `${digits(1000 * value, 2)} ms` : `${digits(value, 3)} s`;
}

/// With a capital letter first.
export function capital(text) {
  const [first = "", ...rest] = [...String(text ?? "")];
  return first.toUpperCase() + rest.join("");
}

/// As a sentence of its own, or as the end of one.
export function sentence(text, begins = true) {
  const whole = begins ? capital(text) : String(text ?? "");
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/// Text of a study in a place that has room for some characters: the middle is left out.
export function shorten(text, length = 40) {
  const letters = [...String(text)];
  if (letters.length <= length) return letters.join("");
  const half = Math.floor((length - 1) / 2);
  return `${letters.slice(0, half).join("")}\u2026${letters.slice(letters.length - half).join("")}`;
}
