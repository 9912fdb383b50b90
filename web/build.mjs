// SPDX-License-Identifier: MIT
// node build.mjs FOLDER: bundles the page into FOLDER/page.html, one file without a single reference outside itself, with two
// marks for the title and the study; FOLDER/page.cpp has the same bytes for the library limen_report, FOLDER/page.d what they
// depend on. The same sources give the same bytes.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const kHolder = /^copyright (\(c\)|\u00a9|\d)/i;
const root = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(root, "../build/web"));

const bundle = await build({
  root,
  configFile: false,
  envDir: false,
  publicDir: false,
  logLevel: "warn",
  esbuild: { charset: "ascii", legalComments: "none" },
  build: {
    write: false,
    target: "es2020",
    minify: "esbuild",
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: { input: join(root, "src/main.js") },
  },
});
const chunks = bundle.output.filter((file) => file.type === "chunk");
if (chunks.length !== 1) throw new Error(`build: ${chunks.length} scripts, the page takes one`);
const modules = chunks[0].moduleIds.filter((id) => !id.startsWith("\0")).map((id) => id.split("?")[0]);
const styles = bundle.output.filter((file) => file.fileName.endsWith(".css")).map((file) => String(file.source));

// Nothing in the script may end the element that it stands in.
const script = chunks[0].code.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const style = styles.join("\n").trim();
if (/<\/style|@import|url\(/i.test(style))
  throw new Error("build: the style sheet refers to something outside the page");

// The script is known by its hash: no other one runs, wherever it may come from.
const hash = createHash("sha256").update(script).digest("base64");
const policy =
  `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:; ` +
  `base-uri 'none'; form-action 'none'`;

const tag = '<script type="module" src="/src/main.js"></script>';
const page = [
  ['<meta charset="utf-8">', (text) => `${text}\n<meta http-equiv="Content-Security-Policy" content="${policy}">`],
  ["</head>", (text) => `<style>${style}</style>\n${text}`],
  [tag, () => `<script type="module">${script}</script>`],
  ["</html>", (text) => `${text}\n<!--\n${licences(modules)}\n-->`],
].reduce(
  (text, [mark, change]) => replaceOnce(text, mark, change(mark)),
  readFileSync(join(root, "index.html"), "utf8"),
);
for (const mark of ["@LIMEN_TITLE@", "@LIMEN_STUDY@"]) replaceOnce(page, mark, "");

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "page.html"), page);
writeFileSync(join(folder, "page.cpp"), source(Buffer.from(page)));
const own = modules.filter((path) => !path.includes("/node_modules/"));
const inputs = [
  ...own,
  join(root, "index.html"),
  join(root, "build.mjs"),
  join(root, "node_modules/.package-lock.json"),
];
writeFileSync(
  join(folder, "page.d"),
  `${escape(join(folder, "page.cpp"))}: ${inputs.sort().map(escape).join(" \\\n  ")}\n`,
);

function escape(path) {
  return path.replaceAll(" ", "\\ ");
}

function replaceOnce(text, mark, by) {
  const parts = text.split(mark);
  if (parts.length !== 2) throw new Error(`build: ${mark} is in the page ${parts.length - 1} times, must be once`);
  return parts.join(by);
}

/// Copyright and licence of every package that is in the bundle; equal texts once.
function licences(files) {
  const packages = new Set(files.map((file) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0]).filter(Boolean));
  const texts = new Map();
  for (const path of [...packages].sort()) {
    const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
    const file = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"].map((base) => join(path, base)).find(existsSync);
    if (!file) throw new Error(`build: ${relative(root, path)} has no licence text`);
    const lines = readFileSync(file, "utf8")
      .split(/\r?\n/)
      .map((line) => line.trim());
    const text = lines
      .filter((line) => !kHolder.test(line))
      .join("\n")
      .trim()
      .replaceAll("--", "- -");
    const holder = lines.filter((line) => kHolder.test(line)).join("; ");
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version} (${license}): ${holder}`]);
  }
  return [...texts].map(([text, names]) => `This page contains\n${names.join("\n")}\n\n${text}`).join("\n\n");
}

/// A C++ source that holds the bytes.
function source(bytes) {
  const lines = [];
  for (let begin = 0; begin < bytes.length; begin += 32) lines.push([...bytes.subarray(begin, begin + 32)].join(","));
  return `// Made by web/build.mjs.
#include "page.h"
namespace limen::report::detail {
namespace {
constexpr unsigned char kPage[] = {
${lines.join(",\n")}};
}  // namespace
std::string_view page() { return {reinterpret_cast<const char*>(kPage), sizeof kPage}; }
}  // namespace limen::report::detail
`;
}
