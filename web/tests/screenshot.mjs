// SPDX-License-Identifier: MIT
// screenshot.mjs REPORT.html PICTURE.png: the page from its top to the end of its first figure, in at most 150 KB.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [report, picture] = process.argv.slice(2);
const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const browser = await chromium.launch({
  executablePath: process.env.LIMEN_CHROMIUM ?? "/usr/bin/chromium",
  args: flags,
});
try {
  let image;
  for (const scale of [1, 0.9, 0.8, 0.7, 0.6]) {
    const context = await browser.newContext({
      viewport: { width: 1080, height: 900 },
      colorScheme: "light",
      deviceScaleFactor: scale,
    });
    const page = await context.newPage();
    await page.goto(pathToFileURL(report).href);
    await page.waitForFunction(() => document.documentElement.dataset.settled === "yes", undefined, {
      timeout: 60_000,
    });
    await page.addStyleTag({ content: ".contents { display: none }" });
    const height = await page.$eval(
      "figure .canvas",
      (canvas) => Math.ceil(canvas.getBoundingClientRect().bottom + scrollY) + 24,
    );
    image = await page.screenshot({ clip: { x: 0, y: 0, width: 1080, height }, fullPage: true });
    await context.close();
    if (image.length <= 150_000) break;
  }
  writeFileSync(picture, image);
  console.log(`${picture}: ${image.length} bytes`);
} finally {
  await browser.close();
}
