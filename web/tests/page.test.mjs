// SPDX-License-Identifier: MIT
// The report page in a browser: pages are rendered by the C++ library (tests/report/render_study.cpp) from made studies.
//   LIMEN_RENDER_STUDY  the program render_study       [build/release/bin/render_study]
//   LIMEN_CHROMIUM      the browser                    [/usr/bin/chromium]
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { quantilePlace } from "../src/place.js";
import * as format from "../src/format.js";
import { makeStudy, shapes } from "./make_study.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const program = process.env.LIMEN_RENDER_STUDY ?? join(here, "../../build/release/bin/render_study");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
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

const folder = mkdtempSync(join(tmpdir(), "limen-web-"));
const studies = new Map();
let browser;

function study(name) {
  if (!studies.has(name)) {
    studies.set(name, makeStudy(name));
    render(name, studies.get(name));
  }
  return studies.get(name);
}

function render(name, content) {
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(content));
  execFileSync(program, [join(folder, `${name}.json`), join(folder, `${name}.html`)]);
}

const fileOf = (name) => join(folder, `${name}.html`);

/// Opens the page of a study. page.trouble: everything that went wrong in it; page.requests: all but the page itself.
async function open(name, options = {}) {
  study(name);
  const context = await browser.newContext({
    viewport: { width: 1200, height: 900 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  page.trouble = [];
  page.requests = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.trouble.push(message.text()));
  page.on("pageerror", (error) => page.trouble.push(String(error)));
  page.on("dialog", (dialog) => {
    page.trouble.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  const address = pathToFileURL(fileOf(name)).href;
  page.on("request", (request) => request.url() !== address && page.requests.push(request.url()));
  await page.goto(address);
  await settled(page);
  return page;
}

async function settled(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.waitForFunction(() => document.documentElement.dataset.settled === "yes");
}

async function moveTo(page, bound) {
  await page.$eval(
    "#bound",
    (slider, value) => {
      slider.value = String(value);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    },
    bound,
  );
  await settled(page);
}

/// Text of an element, with its white space as it is.
const text = (page, selector) => page.$eval(selector, (element) => element.textContent);

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.LIMEN_CHROMIUM ?? "/usr/bin/chromium", args: flags });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("every study", () => {
  for (const name of shapes) {
    test(`${name}: is drawn without a request, an error or a wide page`, async () => {
      const content = study(name);
      const page = await open(name);
      assert.deepEqual(page.requests, []);
      assert.deepEqual(page.trouble, []);
      assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), "yes");
      assert.equal(await text(page, "h1"), content.title);
      assert.equal(await page.title(), content.title.replace(/\s+/g, " ").trim());
      for (const [section, id] of Object.entries({
        positivity: "map",
        frontier: "frontier",
        gain: "gain",
        choice: "choice",
        certification: "certification",
        sweep: "sweep",
        calibration: "calibration",
        swaps: "swaps",
        bias: "bias",
        training: "training",
        monitor: "monitor",
      })) {
        assert.equal(
          await page.$$eval(`section[id="${id}"] svg.drawing`, (drawings) => drawings.length > 0),
          content[section] !== null,
          id,
        );
      }
      assert.equal(
        await page.$$eval("svg.drawing", (drawings) =>
          drawings.every(
            (drawing) => drawing.getAttribute("role") === "img" && drawing.getAttribute("aria-label").length > 20,
          ),
        ),
        true,
      );
      await page.context().close();
    });
  }

  test("null in every place that may be null is drawn", async () => {
    const content = makeStudy("hostile");
    content.methods[0].at[2] = {
      status: "infeasible",
      best: 0.51,
      rule: null,
      holdout: null,
      test: null,
      gain: null,
      expected: null,
      recall_bound: null,
      gap: null,
      seconds: null,
    };
    content.methods[1].at[2].test = null;
    content.methods[1].at[1].holdout.precision = null;
    content.methods[2].levels = null;
    content.choice[2] = content.swaps[2] = null;
    content.certification[2] = {
      ...content.certification[2],
      walk: null,
      rule: null,
      holdout: null,
      guarantee: null,
      status: "not certifiable",
    };
    content.gain.test = null;
    content.gain.expected[2] =
      content.gain.in_sample[2] =
      content.gain.expected_low[2] =
      content.gain.expected_high[2] =
        null;
    content.monitor.path = [];
    content.monitor.result.broken = null;
    content.calibration.columns[0].ece_at[3] = { value: null, band: null };
    content.start = 2;
    studies.set("nulls", content);
    render("nulls", content);
    const page = await open("nulls");
    assert.equal(
      await text(page, '[data-row="auto"] [data-what="infeasible"]'),
      "Infeasible: the highest precision it attains on the hold-out is 0.5100",
    );
    for (let bound = 0; bound < content.bounds.length; ++bound) await moveTo(page, bound);
    assert.deepEqual(page.trouble, []);
    await page.context().close();
  });

  test("a page without a study, or of another version, says so", async () => {
    const page = await open("minimal");
    for (const [body, said] of [
      ["{}", "What is in this page is not a study of limen report."],
      ['{"format": "limen-study", "version": 9}', "This page draws studies of version 1; this one has version 9."],
      ["", "There is no study in this page: it was not made by limen report."],
    ]) {
      const broken = readFileSync(fileOf("minimal"), "utf8").replace(/(id="study">)[^<]*/, (_, open) => open + body);
      writeFileSync(join(folder, "broken.html"), broken);
      await page.goto(pathToFileURL(join(folder, "broken.html")).href);
      await page.waitForFunction(() => document.documentElement.dataset.ready === "failed");
      assert.equal(await text(page, "main p"), said);
    }
    await page.context().close();
  });
});

describe("the slider", () => {
  /// All that the page says at a bound, against the study.
  async function check(page, content, bound) {
    const decision = content.decision[bound];
    const place = `bound ${content.bounds[bound]}`;
    const seen = await page.evaluate(() => {
      const of = (selector) => document.querySelector(selector)?.textContent ?? null;
      return {
        sentence: of("#sentence"),
        guarantee: of("#guarantee"),
        value: of("#bound-value"),
        result: of("#result"),
        said: document.getElementById("bound").getAttribute("aria-valuetext"),
        gains: document.getElementById("gains").dataset.gains,
        tiles: Object.fromEntries(
          [...document.querySelectorAll("#figures > div")].map((tile) => [
            tile.dataset.what,
            [tile.dataset.value ?? null, tile.querySelector("strong").textContent],
          ]),
        ),
        rows: Object.fromEntries(
          [...document.querySelectorAll("#methods-table tbody tr")].map((row) => [
            row.dataset.row,
            Object.fromEntries(
              [...row.querySelectorAll("[data-what]")].map((cell) => [
                cell.dataset.what,
                [cell.dataset.value ?? null, (cell.querySelector("span") ?? cell).textContent],
              ]),
            ),
          ]),
        ),
        rules: Object.fromEntries(
          [...document.querySelectorAll(".rules [data-method]")].map((group) => [
            group.dataset.method,
            Number(group.dataset.rule),
          ]),
        ),
        bounds: [
          ...document.querySelectorAll(
            '[data-figure="frontier"] [data-bound], [data-figure="gain"] [data-bound], [data-figure="methods"] [data-bound]',
          ),
        ].map((mark) => Number(mark.dataset.bound)),
      };
    });
    assert.equal(seen.sentence, decision.sentence, place);
    assert.equal(seen.guarantee, `Guarantee: ${decision.guarantee}`, place);
    assert.equal(seen.gains, decision.gains, place);
    assert.equal(seen.value, String(content.bounds[bound]), place);
    assert.ok(seen.said.endsWith(` ${content.bounds[bound]}`), seen.said);
    const auto = content.methods[0].at[bound];
    const number = (value) => (value === null || value === undefined ? null : String(value));
    assert.deepEqual(seen.tiles.recall, [number(auto.holdout?.recall), format.ratio(auto.holdout?.recall)], place);
    assert.deepEqual(seen.tiles.flagged, [number(auto.holdout?.flagged), format.count(auto.holdout?.flagged)], place);
    if (content.gain)
      assert.deepEqual(
        seen.tiles.expected,
        [number(content.gain.expected[bound]), format.change(content.gain.expected[bound])],
        place,
      );
    assert.equal(seen.result.includes("No rule keeps this bound"), auto.status === "infeasible", place);
    if (auto.holdout) assert.ok(seen.result.includes(format.ratio(auto.holdout.recall)), seen.result);

    for (const method of content.methods) {
      const cell = method.at[bound];
      const row = seen.rows[method.name];
      if (cell.status === "infeasible") {
        assert.deepEqual(Object.keys(row), ["infeasible"], `${place}, ${method.name}`);
        assert.equal(row.infeasible[0], number(cell.best));
        continue;
      }
      for (const set of ["holdout", "test"].filter((key) => cell[key])) {
        assert.deepEqual(
          row[`${set} precision`],
          [number(cell[set].precision), format.ratio(cell[set].precision)],
          `${place}, ${method.name}`,
        );
        assert.deepEqual(
          row[`${set} recall`],
          [number(cell[set].recall), format.ratio(cell[set].recall)],
          `${place}, ${method.name}`,
        );
        assert.deepEqual(
          row[`${set} flagged`],
          [number(cell[set].flagged), format.count(cell[set].flagged)],
          `${place}, ${method.name}`,
        );
      }
      assert.equal(row["recall bound"][0], number(cell.recall_bound));
      assert.equal(row.gain[0], number(cell.gain.holdout));
    }
    if (content.positivity) {
      const expected = Object.fromEntries(
        content.methods
          .filter((method) => ["auto", "st"].includes(method.name) && method.at[bound].rule !== null)
          .map((method) => [method.name, method.at[bound].rule]),
      );
      assert.deepEqual(seen.rules, expected, place);
    }
    assert.ok(
      seen.bounds.every((value) => value === content.bounds[bound]),
      place,
    );
  }

  for (const name of ["full", "weighted", "fpr", "minimal"]) {
    test(`${name}: moved by value, everything is the study's entry`, async () => {
      const content = study(name);
      const page = await open(name);
      await check(page, content, content.start);
      for (let bound = 0; bound < content.bounds.length; ++bound) {
        await moveTo(page, bound);
        await check(page, content, bound);
      }
      assert.deepEqual(page.trouble, []);
      await page.context().close();
    });
  }

  test("what is gained at the bound is inside the frame of the gains, however small other gains are", async () => {
    const content = makeStudy("full");
    for (const key of ["in_sample", "expected", "test"]) {
      content.gain[key] = content.bounds.map((_, at) => (at === content.start ? 0.26 : 0.002));
    }
    content.gain.expected_low = content.bounds.map((_, at) => (at === content.start ? -0.2 : -0.001));
    content.gain.expected_high = content.bounds.map((_, at) => (at === content.start ? 0.7 : 0.003));
    studies.set("gains", content);
    render("gains", content);
    const page = await open("gains");
    const ticks = await page.$$eval('section[id="gain"] svg.drawing text', (labels) =>
      labels
        .map((label) => label.textContent)
        .filter((label) => /^[+\u2212]?[0-9.]+%$/.test(label))
        .map((label) => Number.parseFloat(label.replace("\u2212", "-"))),
    );
    assert.ok(Math.max(...ticks) >= 20, ticks.join(" "));
    await page.context().close();
  });

  test("is moved by keyboard, from end to end and back to what was asked for", async () => {
    const content = study("fpr");
    const page = await open("fpr");
    await page.focus("#bound");
    await page.keyboard.press("Home");
    for (let bound = 0; bound < content.bounds.length; ++bound) {
      await settled(page);
      await check(page, content, bound);
      await page.keyboard.press("ArrowRight");
    }
    await page.keyboard.press("End");
    await settled(page);
    await check(page, content, content.bounds.length - 1);
    await page.click(".asked");
    await settled(page);
    await check(page, content, content.start);
    await page.context().close();
  });

  test("stays where it is while it is moved, and in sight while the page scrolls", async () => {
    const content = study("full");
    const page = await open("full");
    const top = () => page.$eval("#bound", (slider) => Math.round(slider.getBoundingClientRect().top));
    const first = await top();
    for (let bound = 0; bound < content.bounds.length; bound += 4) {
      await moveTo(page, bound);
      assert.equal(await top(), first, `bound ${bound}`);
    }
    await page.evaluate(() => document.getElementById("swaps").scrollIntoView());
    assert.ok((await top()) >= 0 && (await top()) < 120);
    await page.context().close();
  });

  test("the lines of the map are where the rule's thresholds and edges are", async () => {
    const content = study("full");
    const page = await open("full");
    const map = content.positivity;
    const bins = map.score_edges.length + 1;
    const levels = map.uncertainty_edges.length + 1;
    for (const bound of [0, content.start, content.bounds.length - 1]) {
      await moveTo(page, bound);
      for (const method of content.methods.filter(
        ({ name, at }) => ["auto", "st"].includes(name) && at[bound].rule !== null,
      )) {
        const rule = content.rules[method.at[bound].rule];
        const { path, frame } = await page.evaluate((name) => {
          const cells = [...document.querySelectorAll('[data-figure="positivity-map"] [data-cells] rect')].map((cell) =>
            ["x", "y", "width", "height"].map((key) => Number(cell.getAttribute(key))),
          );
          return {
            path: document.querySelector(`.rules [data-method="${name}"] path`).getAttribute("d"),
            frame: [
              Math.min(...cells.map((cell) => cell[0])),
              Math.max(...cells.map((cell) => cell[0] + cell[2])),
              Math.max(...cells.map((cell) => cell[1] + cell[3])),
              Math.min(...cells.map((cell) => cell[1])),
            ],
          };
        }, method.name);
        const [left, right, bottom, top] = frame;
        const x = (score) =>
          left +
          ((right - left) * (score === null ? bins : quantilePlace(map.score_edges, map.score_range, score))) / bins;
        const y = (uncertainty) =>
          bottom + ((top - bottom) * quantilePlace(map.uncertainty_edges, map.uncertainty_range, uncertainty)) / levels;
        const expected = rule.thresholds.flatMap((threshold, level) => [
          [x(threshold), level === 0 ? bottom : y(rule.edges[level - 1])],
          [x(threshold), level === rule.thresholds.length - 1 ? top : y(rule.edges[level])],
        ]);
        const drawn = path
          .slice(1)
          .split("L")
          .map((point) => point.split(",").map(Number));
        assert.equal(drawn.length, expected.length);
        // Coordinates are written with two digits behind the point; cells lie on whole pixels.
        drawn.forEach((point, at) =>
          point.forEach((value, axis) =>
            assert.ok(
              Math.abs(value - expected[at][axis]) < 1.01,
              `${method.name}, corner ${at}: ${point} is not ${expected[at]}`,
            ),
          ),
        );
      }
    }
    await page.context().close();
  });

  test("switches add and remove the lines of methods", async () => {
    const content = study("full");
    const page = await open("full");
    const drawn = () =>
      page.$$eval(".rules [data-method]", (groups) => groups.map((group) => group.dataset.method).sort());
    assert.deepEqual(await drawn(), ["auto", "st"]);
    const styles = new Set();
    for (const { name } of content.methods.filter((method) => !["auto", "st"].includes(method.name)))
      await page.check(`[data-switch="${name}"]`);
    await settled(page);
    const feasible = content.methods
      .filter((method) => method.at[content.start].rule !== null)
      .map((method) => method.name);
    assert.deepEqual(await drawn(), [...feasible].sort());
    for (const style of await page.$$eval(".rules [data-method]", (groups) =>
      groups.map((group) => `${group.getAttribute("stroke-dasharray")}`),
    ))
      styles.add(style);
    assert.equal(styles.size, feasible.length, "every method has dashes of its own");
    for (const { name } of content.methods) await page.uncheck(`[data-switch="${name}"]`);
    await settled(page);
    assert.deepEqual(await drawn(), []);
    await page.check('[data-switch="exact"]');
    await page.check('input[value="values"]');
    await settled(page);
    assert.deepEqual(await drawn(), ["exact"]);
    await page.context().close();
  });
});

describe("hostile texts", () => {
  test("are shown as they are and do nothing", async () => {
    const content = study("hostile");
    const page = await open("hostile");
    for (let bound = 0; bound < content.bounds.length; ++bound) {
      await moveTo(page, bound);
      assert.equal(await text(page, "#sentence"), content.decision[bound].sentence);
    }
    for (const summary of await page.$$("summary")) await summary.click();
    assert.equal(await text(page, "pre code"), content.command);
    assert.deepEqual(
      await page.$$eval(".switches label:has([data-switch]) span", (labels) =>
        labels.map((label) => label.textContent),
      ),
      content.methods.map((method) => method.label),
    );
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.$$eval("img, iframe, object, embed, link, base, form", (elements) => elements.length), 0);
    assert.equal(await page.$$eval("script", (scripts) => scripts.length), 2);
    assert.equal(
      await page.$$eval("a", (links) => links.every((link) => link.getAttribute("href")?.startsWith("#"))),
      true,
    );
    assert.equal(
      await page.$$eval("*", (elements) =>
        elements.some((element) => [...element.attributes].some((attribute) => attribute.name.startsWith("on"))),
      ),
      false,
    );
    assert.deepEqual(page.trouble, []);
    assert.deepEqual(page.requests, []);
    await page.context().close();
  });

  test("no script but the page's own runs, and nothing is fetched", async () => {
    const page = await open("minimal");
    const failures = [];
    page.on("requestfailed", (request) => failures.push(request.failure().errorText));
    page.on("requestfinished", (request) => failures.push(`${request.url()} was fetched`));
    const outcome = await page.evaluate(async () => {
      const script = document.createElement("script");
      script.textContent = "window.hacked = 7";
      document.body.append(script);
      const image = new Image();
      const failed = new Promise((done) => {
        image.onerror = () => done("refused");
        image.onload = () => done("loaded");
      });
      image.src = "http://127.0.0.1:9/x.png";
      const fetched = await fetch("http://127.0.0.1:9/").then(
        () => "fetched",
        () => "refused",
      );
      return [window.hacked ?? null, await failed, fetched];
    });
    assert.deepEqual(outcome, [null, "refused", "refused"]);
    assert.ok(page.trouble.some((message) => message.includes("Content Security Policy")));
    // The browser tells of requests that it does not make, and why it does not.
    assert.deepEqual(
      failures.filter((reason) => reason !== "csp"),
      [],
    );
    await page.context().close();
  });
});

describe("readers", () => {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe finds nothing serious, ${colorScheme}`, async () => {
      const page = await open("full", { colorScheme });
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme);
      for (const summary of (await page.$$("summary")).slice(2, 6)) await summary.click();
      // By the protocol, which the page's policy does not hold for.
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      const serious = violations
        .filter(({ impact }) => ["serious", "critical"].includes(impact))
        .map(
          ({ id, nodes }) =>
            `${id}: ${nodes
              .map((node) => node.html.slice(0, 120))
              .slice(0, 3)
              .join(" | ")}`,
        );
      assert.deepEqual(serious, []);
      await page.context().close();
    });
  }

  test("one h1, a heading for each section, landmarks, a name for each control", async () => {
    const page = await open("full");
    assert.equal(await page.$$eval("h1", (headings) => headings.length), 1);
    assert.equal(
      await page.$$eval("main section[id]", (sections) =>
        sections.every(
          (section) => document.getElementById(section.getAttribute("aria-labelledby"))?.localName === "h2",
        ),
      ),
      true,
    );
    assert.deepEqual(
      await page.$$eval("nav a", (links) =>
        links
          .filter((link) => document.getElementById(link.hash.slice(1))?.localName !== "section")
          .map((link) => link.href),
      ),
      [],
    );
    assert.equal(await page.$$eval("header, main, footer, nav", (marks) => marks.length), 4);
    assert.equal(await page.$eval("#result", (result) => result.getAttribute("aria-live")), "polite");
    assert.equal(await page.getByRole("slider", { name: "Precision of at least" }).count(), 1);
    await page.context().close();
  });

  test("the switch changes between light and dark, drawings too", async () => {
    const page = await open("full", { colorScheme: "light" });
    const color = () =>
      page.$eval('[data-figure="frontier"] [data-curve="surface"]', (curve) => curve.getAttribute("stroke"));
    const light = await color();
    await page.click("#theme");
    await settled(page);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(20, 23, 26)");
    assert.notEqual(await color(), light);
    await page.click("#theme");
    await settled(page);
    assert.equal(await color(), light);
    await page.context().close();
  });

  test("at 360 pixels nothing but tables is wider than the page", async () => {
    for (const name of ["full", "hostile", "large"]) {
      const page = await open(name, { viewport: { width: 360, height: 740 } });
      for (const summary of await page.$$('figure:not([data-figure^="positivity"]) summary')) await summary.click();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, name);
      const wide = await page.$$eval("main *", (elements) =>
        elements
          .filter(
            (element) =>
              !element.closest(".scroll") &&
              !(element instanceof SVGElement && element.localName !== "svg") &&
              element.getBoundingClientRect().right > 361,
          )
          .map((element) => element.outerHTML.slice(0, 80)),
      );
      assert.deepEqual(wide, [], name);
      await page.context().close();
    }
  });

  test("on paper: light, all figures, no controls, no table cut", async () => {
    const page = await open("full", { colorScheme: "dark", viewport: { width: 700, height: 900 } });
    await page.click('figure[data-figure="frontier"] summary');
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await settled(page);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
    const drawn = await page.$$eval("figure", (figures) =>
      figures.map((figure) => figure.querySelector("svg.drawing")?.getBoundingClientRect().height ?? 0),
    );
    assert.equal(drawn.length, 13);
    assert.ok(
      drawn.every((height) => height > 60),
      String(drawn),
    );
    assert.equal(
      await page.$$eval(
        "button, input, nav, fieldset",
        (controls) => controls.filter((control) => control.getClientRects().length > 0).length,
      ),
      0,
    );
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 700);
    const cut = await page.$$eval(
      ".scroll",
      (boxes) =>
        boxes.filter(
          (box) =>
            box.getClientRects().length > 0 &&
            (getComputedStyle(box).overflow !== "visible" || getComputedStyle(box).maxHeight !== "none"),
        ).length,
    );
    assert.equal(cut, 0);
    assert.equal(
      await page.$$eval(
        "table",
        (tables) =>
          tables.filter((table) => table.getClientRects().length > 0 && table.getBoundingClientRect().right > 701)
            .length,
      ),
      0,
    );
    assert.equal((await page.pdf({ format: "A4" })).subarray(0, 5).toString(), "%PDF-");
    assert.deepEqual(page.trouble, []);
    await page.context().close();
  });
});

describe("files", () => {
  async function save(page, name, kind) {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.click(`figure[data-figure="${name}"] button[aria-label^="Save as ${kind}"]`),
    ]);
    const path = join(folder, `saved-${download.suggestedFilename()}`);
    await download.saveAs(path);
    assert.equal(download.suggestedFilename(), `${name}.${kind.toLowerCase()}`);
    return readFileSync(path);
  }

  test("every figure is saved as SVG, PNG and CSV", async () => {
    const page = await open("full");
    const names = await page.$$eval("figure", (figures) => figures.map((figure) => figure.dataset.figure));
    for (const name of names) {
      const svg = (await save(page, name, "SVG")).toString("utf8");
      const parsed = await page.evaluate((source) => {
        const file = new DOMParser().parseFromString(source, "image/svg+xml");
        return {
          root: file.documentElement.localName,
          error: file.querySelector("parsererror")?.textContent ?? null,
          shapes: file.querySelectorAll("path, rect, circle, line").length,
          outside: /(href|src)="(?!#)|url\((?!#|&quot;#)/.test(source),
        };
      }, svg);
      assert.deepEqual([parsed.root, parsed.error, parsed.outside], ["svg", null, false], name);
      assert.ok(parsed.shapes > 5, name);
      const png = await save(page, name, "PNG");
      assert.equal(png.subarray(1, 4).toString(), "PNG", name);
      assert.ok(png.readUInt32BE(16) > 1000 && png.readUInt32BE(20) > 200 && png.length > 4000, name);
      const csv = (await save(page, name, "CSV")).toString("utf8");
      const lines = csv.trimEnd().split("\r\n");
      assert.ok(lines.length > 1 && lines.every((line) => line.length > 3), name);
    }
    assert.deepEqual(page.trouble, []);
    await page.context().close();
  });

  test("the CSV of the map has the study's numbers, all of their digits", async () => {
    const content = study("full");
    const page = await open("full");
    const rows = (await save(page, "positivity-map", "CSV"))
      .toString("utf8")
      .trimEnd()
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(",").map((field) => (field === "" ? null : Number(field))));
    const { rate, rows: all, positives } = content.positivity;
    assert.equal(rows.length, rate.length * rate[0].length);
    for (const row of rows)
      assert.deepEqual(
        [row[6], row[7], row[8]],
        [all[row[0] - 1][row[3] - 1], positives[row[0] - 1][row[3] - 1], rate[row[0] - 1][row[3] - 1]],
      );
    await page.click('figure[data-figure="positivity-map"] summary');
    assert.equal(
      await page.$$eval('figure[data-figure="positivity-map"] tbody tr', (lines) => lines.length),
      rows.length,
    );
    await page.context().close();
  });

  test("texts in CSV are quoted, and formulas are not run", async () => {
    const content = study("hostile");
    const page = await open("hostile");
    const csv = (await save(page, "methods", "CSV")).toString("utf8");
    assert.ok(csv.includes(`\r\n${content.methods[0].label},`));
    const { csvText } = await import("../src/csv.js");
    assert.equal(
      csvText({
        columns: [{ name: "a" }, { name: "b" }],
        rows: [
          ["=1+1", -2.5],
          ['x"y,z', null],
          ["-cmd", 1e-7],
        ],
      }),
      'a,b\r\n\'=1+1,-2.5\r\n"x""y,z",\r\n\'-cmd,1e-7\r\n',
    );
    await page.context().close();
  });
});

describe("size and speed", () => {
  test("11 levels, 1000 bins, 8 methods, 60 bounds are below 2 MB and all drawn", async () => {
    const content = study("large");
    assert.equal(content.positivity.rate.length, 11);
    assert.equal(content.positivity.rate[0].length, 1000);
    assert.equal(content.methods.length, 8);
    assert.equal(content.bounds.length, 60);
    assert.ok(statSync(fileOf("large")).size < 2_000_000, `${statSync(fileOf("large")).size} bytes`);
    const page = await open("large");
    const known = content.positivity.rate.flat().filter((rate) => rate !== null).length;
    assert.equal(await page.$$eval('[data-figure="positivity-map"] [data-cells] rect', (cells) => cells.length), known);
    await page.context().close();
  });

  test("the first figure is there before the others are drawn", async () => {
    study("large");
    const page = await (await browser.newContext()).newPage();
    await page.addInitScript(() => {
      window.requestIdleCallback = () => 0;
    });
    await page.goto(pathToFileURL(fileOf("large")).href);
    await page.waitForFunction(() => document.documentElement.dataset.ready === "yes");
    const drawn = await page.$$eval("figure", (figures) =>
      figures.map((figure) => Boolean(figure.querySelector("svg.drawing"))),
    );
    assert.equal(drawn[0], true);
    assert.equal(drawn[drawn.length - 1], false);
    await page.context().close();
  });
});

describe("formats", () => {
  test("numbers as text", () => {
    assert.deepEqual([0, 8617, 1234567, 8617.25, -3, null].map(format.count), [
      "0",
      "8,617",
      "1,234,567",
      "8,617.3",
      "\u22123",
      "\u2013",
    ]);
    assert.deepEqual([0.69994, 0.7, 1, null].map(format.ratio), ["0.6999", "0.7000", "1.0000", "\u2013"]);
    assert.deepEqual([0, 0.0331, -0.0331, 12.5, -0.0000001].map(format.change), [
      "0.0%",
      "+3.3%",
      "\u22123.3%",
      "+1,250%",
      "0.0%",
    ]);
    assert.deepEqual(
      [0, 0.00012345, 12345678, -4.2091, 0.25].map((value) => format.digits(value)),
      ["0", "1.23e-4", "1.23e7", "\u22124.209", "0.25"],
    );
    assert.deepEqual([0.0001, 0.0421].map(format.pValue), ["below 0.001", "0.042"]);
    assert.equal(format.shorten("x".repeat(99), 21).length, 21);
    assert.equal(format.sentence("uncertainty informs"), "Uncertainty informs.");
  });

  test("places on quantile axes", () => {
    const place = (value) => quantilePlace([0.2, 0.5, 0.5], [0, 1], value);
    assert.deepEqual([-1, 0, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 2].map(place), [0, 0, 0.5, 1, 1.5, 3, 3.5, 4, 4]);
  });
});

describe("a page that limen report wrote", { skip: process.env.LIMEN_PROGRAM === undefined }, () => {
  const run = (...words) => execFileSync(process.env.LIMEN_PROGRAM, words, { encoding: "utf8" });

  test("shows at 50 bounds what limen fit finds there", async () => {
    run("simulate", "-o", folder, "--holdout-rows", "6000", "--test-rows", "2000", "--seed", "3");
    const holdout = join(folder, "holdout.csv");
    const bounds = Array.from({ length: 50 }, (_, at) => (0.26 + 0.01 * at).toFixed(2));
    const file = fileOf("program");
    const asked = ["--precision", "0.5", "--bounds", bounds.join(","), "--methods", "auto,st,exact,smooth"];
    run("report", holdout, "--test", join(folder, "test.csv"), ...asked, "-o", file);
    const content = JSON.parse(readFileSync(file, "utf8").match(/id="study">([^<]*)</)[1]);
    assert.equal(content.bounds.length, 50);
    studies.set("program", content);
    const page = await open("program");
    await page.$$eval(".switches input[type=checkbox]", (boxes) => boxes.forEach((box) => box.checked || box.click()));
    let solved = 0;
    for (let at = 0; at < bounds.length; ++at) {
      await moveTo(page, at);
      const seen = await page.evaluate(() =>
        Object.fromEntries(
          [...document.querySelectorAll("#methods-table tbody tr")].map((row) => [
            row.dataset.row,
            Object.fromEntries(
              [...row.querySelectorAll("[data-what]")].map((cell) => [cell.dataset.what, cell.dataset.value]),
            ),
          ]),
        ),
      );
      for (const method of ["auto", "st", "exact", "smooth"]) {
        let fitted = null;
        try {
          const where = join(folder, "boundary.json");
          const words = ["--precision", bounds[at], "--method", method, "--levels-from", "top"];
          run("fit", holdout, ...(method === "exact" ? words : words.slice(0, 4)), "-o", where);
          fitted = JSON.parse(readFileSync(where, "utf8"));
        } catch (error) {
          assert.equal(error.status, 3, String(error));
        }
        const place = `${method} at ${bounds[at]}`;
        if (fitted === null) {
          assert.deepEqual(Object.keys(seen[method]), ["infeasible"], place);
          continue;
        }
        ++solved;
        assert.equal(seen[method]["holdout flagged"], String(fitted.holdout.flagged), place);
        assert.equal(seen[method]["holdout recall"], String(fitted.holdout.recall), place);
        const rule = content.rules[content.methods.find(({ name }) => name === method).at[at].rule];
        assert.deepEqual(
          rule,
          { edges: fitted.rule.uncertainty_edges, thresholds: fitted.rule.score_thresholds },
          place,
        );
      }
    }
    assert.ok(solved >= 150, `${solved} of 200 fits`);
    assert.deepEqual(page.trouble, []);
    await page.context().close();
  });
});
