// Reads pages in a real browser as a person would: with the keyboard, in light and in dark, without a network and without a script.
// Called with a file of JSON: { browser, pages: [{ path, figures: [[topic, request, server, text]], words: [text] }], screenshots }.
// Prints what is wrong, a line for each, and ends with 1 where anything is.
import { readFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const { browser: executablePath, pages, screenshots } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const wide = { width: 1280, height: 900 };
const narrow = { width: 360, height: 740 };

const problems = [];

// A page in a context of its own; whatever it requests beyond itself, and whatever it complains about, is a problem.
async function visit(browser, path, options, read) {
  const context = await browser.newContext({ viewport: wide, ...options });
  await context.setOffline(true);
  const page = await context.newPage();
  const url = pathToFileURL(path).href;
  const name = `${path.split("/").slice(-2).join("/")} (${options.name ?? options.colorScheme ?? "without script"})`;
  const problem = (text) => problems.push(`${name}: ${text}`);
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== url) problem(`requests ${request.url()}`);
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problem(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problem(`error: ${error.message}`));
  await page.goto(url);
  await read(page, problem);
  await context.close();
}

// Of a table with hundreds of trials the first ones; they are all made by the same template.
async function accessible(page, problem, where, scheme) {
  await page.evaluate(axe);
  // Colours alone depend on light and dark.
  const rules = scheme === "dark" ? { runOnly: ["color-contrast"] } : {};
  const { violations } = await page.evaluate(
    (rules) => globalThis.axe.run({ exclude: [["table.trials > tbody:nth-of-type(n + 10)"]] }, { ...rules, resultTypes: ["violations"] }),
    rules,
  );
  for (const { id, help, nodes } of violations) problem(`axe, ${where}: ${id}: ${help}: ${nodes[0].html.slice(0, 200)}`);
}

async function fits(page, problem, where) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  if (content > window) problem(`${where}: the page is ${content} pixels wide in a window of ${window}`);
}

const focused = (page) => page.evaluate(() => document.activeElement?.id ?? "");
const visible = (page) =>
  page.evaluate(() => [...document.querySelectorAll("main > section")].filter((part) => part.offsetHeight > 0).map((part) => part.id));

async function picture(page, path, scheme, tab) {
  if (!screenshots || path.includes("hostile")) return;
  mkdirSync(screenshots, { recursive: true });
  const run = path.split("/").at(-2);
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: `${screenshots}/${run}-${tab}-${scheme}.png`, fullPage: tab !== "trials" });
}

// Goes to the tabs with the Tab key and through them with arrows; each shows its own part and no other.
async function readTabs(page, problem, path, scheme) {
  const ids = await page.evaluate(() => [...document.querySelectorAll("#tabs a")].map((tab) => tab.id));
  if (ids.length === 0) {
    await accessible(page, problem, "all", scheme);
    await picture(page, path, scheme, "all");
  }
  for (let presses = 0; presses < 10 && !ids.includes(await focused(page)); presses += 1) await page.keyboard.press("Tab");
  for (const [place, id] of ids.entries()) {
    const part = id.replace(/-tab$/, "");
    const [has, shown] = [await focused(page), await visible(page)];
    if (has !== id) problem(`the keyboard is at ${has}, and not at ${id}`);
    if (shown.length !== 1 || shown[0] !== part) problem(`${id} shows ${shown}`);
    await openAll(page, part);
    await accessible(page, problem, part, scheme);
    await fits(page, problem, part);
    await picture(page, path, scheme, part);
    if (part === "trials") await sorts(page, problem);
    await page.focus(`#${id}`);
    await page.keyboard.press("ArrowRight");
    if (place === ids.length - 1 && (await focused(page)) !== ids[0]) problem("after the last tab the first one does not come");
  }
}

// A trial is opened with the keyboard.
async function openAll(page, part) {
  const first = page.locator(`#${part} table.trials details > summary`).first();
  if (await first.count()) {
    await first.focus();
    await page.keyboard.press("Enter");
  }
}

// A click on a header of figures sorts by them, and another one the other way round.
async function sorts(page, problem) {
  const header = page.locator("table.trials th", { hasText: "requests/s" });
  if (!(await header.count())) return;
  const column = await header.evaluate((cell) => cell.cellIndex);
  const values = () =>
    page.evaluate(
      (at) => [...document.querySelector("table.trials").tBodies].map((trial) => trial.rows[0].cells[at].dataset.v).filter((v) => v !== "").map(Number),
      column,
    );
  for (const [direction, sign] of [["ascending", 1], ["descending", -1]]) {
    await header.locator("button").focus();
    await page.keyboard.press("Enter");
    const said = await header.getAttribute("aria-sort");
    const found = await values();
    if (said !== direction) problem(`sorting says ${said}`);
    if (found.some((value, at) => at > 0 && sign * (found[at - 1] - value) > 0)) problem(`not sorted, ${direction}`);
  }
}

// A row of the answer is found by what it begins with and by its request, a column by its server.
async function hasFigures(page, problem, figures) {
  const { names, rows } = await page.evaluate(() => {
    const tables = [...document.querySelectorAll("#answer table")];
    const table = tables.find((table) => table.tHead.rows[0].cells[0].textContent === "question");
    const texts = (row) => [...row.cells].map((cell) => cell.textContent.trim());
    return table ? { names: texts(table.tHead.rows[0]), rows: [...table.tBodies[0].rows].map(texts) } : { names: [], rows: [] };
  });
  for (const [topic, request, server, text] of figures) {
    const row = rows.find(([question]) => question.startsWith(topic) && question.includes(request));
    const found = row?.[names.indexOf(server)];
    // Signs say how sure a figure is; no line breaks between them and it.
    if (found?.replace(/^[≈≥\s]+|[\s?]+$/g, "") !== text) problem(`${topic}, ${request}, ${server}: the page says ${found}, and the run ${text}`);
  }
}

const browser = await chromium.launch({ executablePath, args: ["--disable-dev-shm-usage"] });
for (const { path, figures = [], words = [] } of pages) {
  for (const colorScheme of ["light", "dark"]) {
    await visit(browser, path, { colorScheme }, async (page, problem) => {
      await readTabs(page, problem, path, colorScheme);
      await hasFigures(page, problem, figures);
      const carriedOut = await page.evaluate(() => globalThis.carriedOut);
      if (carriedOut !== undefined) problem("text of a run was carried out as a script");
      const text = await page.evaluate(() => document.body.textContent);
      for (const word of words) if (!text.includes(word)) problem(`the page does not say ${word}`);
    });
  }
  await visit(browser, path, { colorScheme: "light", viewport: narrow, name: "narrow" }, async (page, problem) => {
    await fits(page, problem, "narrow");
  });
  await visit(browser, path, { javaScriptEnabled: false }, async (page, problem) => {
    for (const part of await page.locator("main > section").all()) {
      if (!(await part.isVisible())) problem(`${await part.getAttribute("id")} is hidden`);
    }
    for (const svg of await page.locator("figure > svg").all()) {
      if (!(await svg.isVisible())) problem("a chart is hidden");
    }
  });
}
await browser.close();
problems.forEach((problem) => console.log(problem));
process.exit(problems.length > 0 ? 1 : 0);
