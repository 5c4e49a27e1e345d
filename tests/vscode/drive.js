// Drives a real VS Code in a browser for tests/test_vscode.py, as a user does: keys, the palette, what is
// on the screen. Reads a JSON object from the file that it is called with: the page's address, the folder for
// screenshots and the steps. Prints what came of each step. A step is an object with `do` and its values.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const given = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const { chromium } = require(given.playwright);

/** Milliseconds after which a state that does not come is a failure. */
const PATIENCE = 20000;
const CHROMIUM = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const STATUS = ".statusbar-item[id$='torchtalk.status']";

let page;
let shots = 0;

const text = (selector) => page.locator(selector).first().innerText({ timeout: PATIENCE });
const rows = async (selector) => {
  await page.locator(`${selector} .monaco-list-row`).first().waitFor({ timeout: PATIENCE });
  return page.locator(`${selector} .monaco-list-row`).allInnerTexts();
};

async function until(state, what) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await state();
    if (found) {
      return found;
    }
    if (Date.now() > end) {
      throw new Error(`never: ${what}`);
    }
    await page.waitForTimeout(50);
  }
}

/** The active editor's file and line. */
async function here() {
  const tab = page.locator(".editor-group-container.active .tab.active .label-name").first();
  const name = (await tab.count()) ? await tab.innerText() : "";
  const item = page.locator("[id='status.editor.selection']");
  const said = (await item.count()) ? await item.innerText() : "";
  const line = Number(/Ln (\d+)/.exec(said)?.[1] ?? 0);
  return { file: name, line };
}

/** Types into the palette's box and takes what it offers first. */
async function palette(first, typed) {
  await page.keyboard.press(first);
  const input = page.locator(".quick-input-widget:not(.hidden) input").first();
  await input.waitFor({ timeout: PATIENCE });
  await input.fill(typed);
}

const run = async (command) => {
  await palette("F1", `>${command}`);
  await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: command }).first().click({ timeout: PATIENCE });
};

/** The keys go to the text. */
const focus = () => page.locator(".editor-group-container.active .monaco-editor .inputarea, .editor-group-container.active .monaco-editor .native-edit-context")
  .first().focus();

const actions = {
  /** Opens a file at a line and column, both from 1. */
  async open({ file, line = 1, column = 1 }) {
    await palette("Control+p", `${file}:${line}:${column}`);
    await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: path.basename(file) }).first()
      .click({ timeout: PATIENCE });
    return until(async () => {
      const now = await here();
      return now.file === path.basename(file) && now.line === line && now;
    }, `${file} is open`);
  },

  /** The status bar's item, once it says this. */
  async status({ says }) {
    const wanted = new RegExp(says);
    return until(async () => {
      const item = page.locator(STATUS);
      const found = (await item.count()) && (await item.getAttribute("aria-label"));
      return found && wanted.test(found) && found;
    }, `the status says ${says}`);
  },

  /** The texts that the item had so far, in order. */
  statuses: () => page.evaluate(() => window.torchtalkStatuses ?? []),

  async press({ keys }) {
    for (const key of keys) {
      await page.keyboard.press(key);
    }
  },

  /** A key that moves the cursor elsewhere. */
  async jump({ key }) {
    const before = JSON.stringify(await here());
    await focus();
    await page.keyboard.press(key);
    return until(async () => {
      const now = await here();
      if (!now.line || JSON.stringify(now) === before) {
        return false;
      }
      // The tab changes before the status bar's line does.
      await page.waitForTimeout(400);
      return JSON.stringify(await here()) === JSON.stringify(now) && now;
    }, "the editor moves");
  },

  /** A key that opens a peek view: the rows of its tree. */
  async peek({ key, command }) {
    await focus();
    await (command ? run(command) : page.keyboard.press(key));
    const view = ".peekview-widget";
    await page.locator(view).first().waitFor({ timeout: PATIENCE });
    const found = await rows(view);
    return { title: await text(`${view} .peekview-title`), rows: found };
  },

  async hover() {
    await focus();
    await page.keyboard.press("Control+k");
    await page.keyboard.press("Control+i");
    const hover = page.locator(".monaco-hover:not(.hidden) .hover-contents");
    await until(async () => (await hover.allInnerTexts()).some((said) => said.trim() && !/Loading/.test(said)), "a hover");
    return { parts: await hover.allInnerTexts(), html: await page.locator(".monaco-hover:not(.hidden)").first().innerHTML() };
  },

  /** The rows of the view "Operator", all open, once one has this text. */
  async view({ has }) {
    // The folder's files would leave it no place.
    const files = page.locator(".pane-header").first();
    if ((await files.getAttribute("aria-expanded")) === "true") {
      await files.click();
    }
    const header = page.locator(".pane-header").filter({ hasText: "Operator" });
    await header.waitFor({ timeout: PATIENCE });
    if ((await header.getAttribute("aria-expanded")) !== "true") {
      await header.click();
    }
    const pane = page.locator(".pane").filter({ has: header });
    await until(async () => (await pane.locator(".monaco-list-row").allInnerTexts()).join("\n").includes(has), `the view has ${has}`);
    return {
      title: await header.innerText(),
      rows: await pane.locator(".monaco-list-row").evaluateAll((list) => list.map((row) => ({
        text: row.innerText.replace(/\s+/g, " ").trim(),
        level: Number(row.getAttribute("aria-level")),
        icon: row.querySelector(".custom-view-tree-node-item-icon")?.className ?? "",
      }))),
    };
  },

  /** Clicks a row of the view. */
  async choose({ row }) {
    await page.locator(".pane").filter({ has: page.locator(".pane-header").filter({ hasText: "Operator" }) })
      .locator(".monaco-list-row").filter({ hasText: row }).first().click();
    return until(async () => (await here()).line && here(), "an editor");
  },

  /** A command of the palette; `name` is typed into the box that it opens. */
  async command({ command, name }) {
    await run(command);
    if (name) {
      const input = page.locator(".quick-input-widget:not(.hidden) input").first();
      await until(async () => /matmul, torch/.test((await input.getAttribute("placeholder")) ?? ""), "the box");
      await input.fill(name);
      const list = page.locator(".quick-input-list .monaco-list-row");
      const offered = await until(async () => {
        const found = await list.allInnerTexts();
        return found.length > 1 && found[0].trim() === name && found;
      }, "names");
      await shot({ name: "box" });
      await page.keyboard.press("Enter");
      return offered;
    }
    return null;
  },

  /** The text of the active editor, once its tab has this name. */
  async editor({ named }) {
    const tab = page.locator(".editor-group-container.active .tab.active .label-name").filter({ hasText: named });
    await tab.waitFor({ timeout: PATIENCE });
    const lines = page.locator(".editor-group-container.active .view-lines").first();
    await until(async () => (await lines.innerText()).trim(), "a text");
    await page.locator(".editor-group-container.active .detected-link").first().waitFor({ timeout: PATIENCE });
    return {
      name: await tab.innerText(),
      text: (await lines.innerText()).replace(/\u00a0/g, " "),
      links: await page.locator(".editor-group-container.active .detected-link").count(),
    };
  },

  /** The messages in the corner, once one has this text. */
  async message({ has }) {
    const toast = page.locator(".notification-toast").filter({ hasText: has }).first();
    await toast.waitFor({ timeout: PATIENCE });
    return { text: await toast.innerText(), buttons: await toast.locator(".monaco-button").allInnerTexts() };
  },

  async button({ name }) {
    await page.locator(".notification-toast .monaco-button, .monaco-dialog-box .monaco-button").filter({ hasText: name }).first()
      .click({ timeout: PATIENCE });
  },

  /** The dialog that asks whether a folder's authors are trusted: its text, and an answer. */
  async trust({ answer }) {
    const dialog = page.locator(".monaco-dialog-box");
    await dialog.waitFor({ timeout: PATIENCE });
    const said = await dialog.innerText();
    await shot({ name: "trust" });
    await dialog.locator(".monaco-button").filter({ hasText: answer }).first().click();
    return said;
  },

  async type({ keys }) {
    await page.keyboard.type(keys);
  },

  shot,
};

async function shot({ name }) {
  const file = path.join(given.shots, `${given.name}-${String(++shots).padStart(2, "0")}-${name}.png`);
  await page.screenshot({ path: file });
  return file;
}

async function main() {
  const browser = await chromium.launch({ executablePath: given.chromium, args: CHROMIUM });
  const results = [];
  try {
    page = await browser.newPage({ viewport: { width: 1500, height: 950 } });
    await page.addInitScript((selector) => {
      // What the status bar's item says in passing is of interest, too.
      const seen = (window.torchtalkStatuses = []);
      setInterval(() => {
        const said = document.querySelector(selector)?.getAttribute("aria-label");
        if (said && seen.at(-1) !== said) {
          seen.push(said);
        }
      }, 20);
    }, STATUS);
    await page.goto(given.url);
    await page.locator(".monaco-workbench").waitFor({ timeout: PATIENCE });
    for (const step of given.steps) {
      try {
        results.push({ result: (await actions[step.do](step)) ?? null });
      } catch (error) {
        results.push({ error: String(error) });
        await shot({ name: "failed" });
        break;
      }
    }
  } finally {
    await browser.close();
  }
  process.stdout.write(JSON.stringify(results));
}

void main();
