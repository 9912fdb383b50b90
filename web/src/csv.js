// SPDX-License-Identifier: MIT
/// RFC 4180. Text that a spreadsheet would run as a formula gets an apostrophe before it.
export function csvText({ columns, rows }) {
  const field = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const line = (fields) => `${fields.map(field).join(",")}\r\n`;
  return line(columns.map((column) => column.name)) + rows.map(line).join("");
}
