// Opens a page from its file in Chromium, on a phone and on a desk, light and dark: what it logs, what it asks the
// network for, what axe finds, and whether it fits. node page.mjs MODULES PAGE SCREENSHOT
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, page, screenshot] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { chromium } = require("playwright-core");
const axe = require("axe-core").source;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const looks = [];
for (const [name, width, colorScheme] of [["phone", 375, "light"], ["phone-dark", 375, "dark"], ["desk", 1280, "light"]]) {
    // The page forbids scripts to itself; axe is one, and comes past that rule as a developer's tool does.
    const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, bypassCSP: true });
    const tab = await context.newPage();
    const logged = [], requests = [];
    tab.on("console", (message) => logged.push(message.text()));
    tab.on("pageerror", (error) => logged.push(String(error)));
    tab.on("request", (request) => requests.push(request.url()));
    await tab.goto(pathToFileURL(page).href);
    await tab.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
    const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (name !== "phone-dark") await tab.screenshot({ path: `${screenshot}-${name}.png` });
    await tab.evaluate(axe);
    const found = await tab.evaluate(() => axe.run(document));
    looks.push({
        name,
        logged,
        requests: requests.filter((url) => !url.startsWith("file:")),
        overflow,
        violations: found.violations.map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 200)}`),
        passes: found.passes.length,
    });
    await context.close();
}
await browser.close();
process.stdout.write(JSON.stringify(looks));
