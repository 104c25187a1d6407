// Opens pages in Chromium, on a phone and on a desk, light and dark: what each logs, what it asks of other places, what
// axe finds, and whether it fits. node looks.mjs JSON: the keys are read in the next statement.
import { createRequire } from "node:module";

const { modules, chromium: executablePath, address, pages, scripts, shots } = JSON.parse(process.argv[2]);
const require = createRequire(`${modules}/`);
const { chromium } = require("playwright-core");
const axe = require("axe-core").source;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const looks = [];
for (const [name, width, colorScheme] of [["phone", 375, "light"], ["phone-dark", 375, "dark"], ["desk", 1280, "light"]]) {
    // Where pages forbid scripts to themselves: axe is one, and comes past that rule as a developer's tool does.
    const context = await browser.newContext({
        viewport: { width, height: 800 }, colorScheme, reducedMotion: "reduce", bypassCSP: !scripts,
    });
    for (const page of pages) {
        const tab = await context.newPage();
        const logged = [], foreign = [];
        tab.on("console", (message) => logged.push(message.text()));
        tab.on("pageerror", (error) => logged.push(String(error)));
        tab.on("request", (request) => request.url().startsWith(address) || foreign.push(request.url()));
        await tab.goto(address + page);
        await tab.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
        const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (shots) await tab.screenshot({ path: `${shots}/${name}-${page.replaceAll("/", "-")}.png` });
        await tab.evaluate(axe);
        const found = await tab.evaluate(() => axe.run(document));
        looks.push({
            name, page, logged, foreign, overflow,
            violations: found.violations.map((each) => `${each.id} (${each.nodes.length}): ${each.nodes[0].html.slice(0, 200)}`),
            passes: found.passes.length,
        });
        await tab.close();
    }
    await context.close();
}
await browser.close();
process.stdout.write(JSON.stringify(looks));
