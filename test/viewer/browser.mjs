// browser.mjs: headless Chromium for the viewer's tests, from Debian's package; no download.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

export const need = createRequire(new URL('../../viewer/package.json', import.meta.url));
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
export const haveChromium = existsSync(CHROMIUM);

/// Of a test's `skip`: false, or the reason why it cannot run, which is an error where TANGERE_SKIPS=refuse, as in make test.
export function unless(there, reason) {
  if (!there && process.env.TANGERE_SKIPS === 'refuse') throw new Error(`a test would be skipped: ${reason}`);
  return there ? false : reason;
}

export function launch() {
  const { chromium } = need('playwright-core');
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist', '--disable-dev-shm-usage'],
  });
}

/// Waits until `read` (run in the page) gives a true value. Playwright's own wait uses eval, which the page forbids.
export async function until(page, read, seconds = 60) {
  for (let left = seconds * 20; left > 0; left--) {
    if (await page.evaluate(read)) return;
    await page.waitForTimeout(50);
  }
  throw new Error(`not within ${seconds} s: ${read}`);
}

/// Opens a page and records what it said and asked for. Waits until it is drawn.
export async function open(browser, url, { width = 1280, height = 800, dark = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light' });
  const page = await context.newPage();
  const errors = [], requests = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && errors.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => errors.push(String(e)));
  page.on('request', (r) => requests.push(r.url()));
  await page.goto(url);
  await until(page, () => window.__tangere !== undefined);
  return { context, page, errors, requests };
}
