// live.test.mjs: a simulation that runs, in headless Chromium: what is drawn is what is simulated, and what is clicked is done.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { haveChromium, launch, need, open, until } from './browser.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const python = process.env.TANGERE_PYTHON ?? join(root, 'build/venv/bin/python');
const { PNG } = need('pngjs');
const M = 2;
const HOSTILE = '&lt;img src=x onerror=window.pwned=1&gt;';

// a magenta ball that nothing holds, over a floor, and a cart that a motor moves, with names that would be markup
const MODEL = `<mujoco model="${HOSTILE}"><option timestep="0.005" gravity="0 0 -10"/><worldbody><geom name="floor" type="plane" size="5 5 1"/>
<body name="ball ${HOSTILE}" pos="0 0 1"><freejoint/><geom type="sphere" size="0.15" mass="${M}" rgba="1 0 1 1"/></body>
<body name="wild" pos="-1 0 0.3"><joint name="w" type="slide" axis="1 0 0" damping="3000"/><geom type="box" size="0.1 0.1 0.1" mass="3"/></body>
<body name="cart" pos="1 0 0.3"><joint name="x" type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.1 0.1" mass="3" rgba="0 0.6 0 1"/></body></worldbody>
<actuator><motor name="${HOSTILE}" joint="x" ctrllimited="true" ctrlrange="-2 2"/></actuator>
<keyframe><key name="high" qpos="0 0 2 1 0 0 0 0 0"/><key name="wild" qpos="0 0 1 1 0 0 0 0 0" qvel="0 0 0 0 0 0 1 0"/></keyframe></mujoco>`;

let browser, folder, server, url, shown;

async function serve() {
  const run = spawn(python, ['-m', 'tangere.view', join(folder, 'model.xml')], {
    env: { TANGERE_VIEWER: join(root, 'build/share/tangere/viewer.html'), ...process.env }, stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const line of createInterface({ input: run.stderr })) {
    const found = /open (http:\S+) in/.exec(line);
    if (found) return { run, url: found[1] };
    throw new Error(line);
  }
  throw new Error(`${python} -m tangere.view ended without a word`);
}

before(async () => {
  if (!haveChromium) return;
  folder = mkdtempSync(join(tmpdir(), 'tangere-live-'));
  writeFileSync(join(folder, 'model.xml'), MODEL);
  ({ run: server, url } = await serve());
  browser = await launch();
  shown = await open(browser, url, { width: 760, height: 480 });
  await until(shown.page, () => window.__tangere.ready && window.__tangere.pictures() > 0);
});

after(async () => {
  await browser?.close();
  server?.kill('SIGINT');
  if (folder) rmSync(folder, { recursive: true });
});

const skip = haveChromium ? false : 'no Chromium';
const hook = (page, call) => page.evaluate(call);
const command = (page, what) => page.evaluate((w) => window.__tangere.command(w), what);
const begin = async (page) => {
  await command(page, { run: false, reset: null, goal: null, pull: null, contact: { word: 'lcp', options: {}, dt: 0.005 }, speed: 1 });
  await until(page, () => window.__tangere.picture().t === 0 && window.__tangere.settings().contact === 'lcp' && window.__tangere.drawn());
};

// middle of the magenta pixels
async function magenta(page) {
  const png = PNG.sync.read(await page.screenshot());
  let n = 0, x = 0, y = 0;
  for (let i = 0; i < png.width * png.height; i++) {
    const [r, g, b] = png.data.subarray(4 * i, 4 * i + 3);
    if (r > 110 && b > 110 && g < 0.55 * Math.min(r, b)) { n++; x += i % png.width; y += Math.floor(i / png.width); }
  }
  return { n, x: x / n, y: y / n };
}

// in the one page, whose simulation begins anew
async function session(body) {
  const { page, errors, requests } = shown;
  await begin(page);
  await body(page);
  assert.deepEqual(errors, []);
  const own = new URL(url).origin;
  assert.ok(requests.every((r) => r.startsWith(`${own}/`) || r.startsWith('data:')), `asked for ${requests}`);
}

test('what is drawn is what is simulated; names are text', { skip }, () => session(async (page) => {
  const want = await hook(page, () => window.__tangere.project(0, 0, 1));
  const seen = await magenta(page);
  assert.ok(seen.n > 100 && Math.hypot(seen.x - want[0], seen.y - want[1]) < 4, `drawn at ${seen.x}, ${seen.y}, projected to ${want}`);
  assert.equal(await hook(page, () => window.pwned), undefined);
  assert.ok((await page.textContent('#panel')).includes('<img src=x onerror=window.pwned=1>'));
  // 40 steps of 5 ms: z = 1 - g h^2 n (n + 1) / 2
  await command(page, { step: 40 });
  await until(page, () => Math.abs(window.__tangere.picture().t - 0.2) < 1e-9 && window.__tangere.drawn());
  const z = (await hook(page, () => window.__tangere.body(1)))[2];
  assert.ok(Math.abs(z - (1 - 10 * 0.005 ** 2 * 20 * 41)) < 1e-3, `z ${z}`);
  assert.match(await page.textContent('#time'), /^0\.200 s/);
}));

test('run, pause, step, reset by buttons and keys', { skip }, () => session(async (page) => {
  await page.click('#play');
  await until(page, () => window.__tangere.picture().running && window.__tangere.picture().t > 0.05);
  await page.keyboard.press('Space');
  await until(page, () => !window.__tangere.picture().running);
  const at = await hook(page, () => window.__tangere.picture().t);
  await page.click('#step');
  await until(page, `Math.abs(window.__tangere.picture().t - ${at} - 0.005) < 1e-9`);
  await page.selectOption('#start', 'high');
  await page.click('#reset');
  await until(page, () => window.__tangere.picture().t === 0 && Math.abs(window.__tangere.body(1)[2] - 2) < 1e-6);
  await page.selectOption('#start', '');
  await page.selectOption('#speed', '0.1');
  await until(page, () => window.__tangere.picture().speed === 0.1);
}));

test('a body is pulled by the mouse; the camera turns beside it', { skip }, () => session(async (page) => {
  const at = await hook(page, () => window.__tangere.project(0, 0, 1));
  assert.equal(await page.evaluate(([x, y]) => window.__tangere.bodyAt(x, y), at), 1);
  const before = await hook(page, () => window.__tangere.camera());
  await page.mouse.move(...at);
  await page.mouse.down();
  await page.mouse.move(at[0] - 40, at[1] - 40, { steps: 3 });
  await until(page, () => window.__tangere.picture().pull !== null);
  await command(page, { run: true });
  await until(page, () => window.__tangere.picture().t > 2);
  const { body, to } = await hook(page, () => window.__tangere.picture().pull);
  assert.equal(body, 1);
  // it hangs where the mouse is, lower by g / (10 rad/s)^2 at the point that is held
  const held = await hook(page, () => window.__tangere.picture().pull.at);
  assert.ok(Math.hypot(held[0] - to[0], held[1] - to[1], held[2] - (to[2] - 0.1)) < 0.02, `held at ${held}, drawn to ${to}`);
  assert.ok(to[2] > 1.05, `the mouse went up, ${to}`);
  assert.match(await page.textContent('#legend'), /pull \d+(\.\d+)? N/);
  await page.mouse.up();
  await until(page, () => window.__tangere.picture().pull === null);
  const moved = async () => Math.hypot(...(await hook(page, () => window.__tangere.camera())).position.map((x, i) => x - before.position[i]));
  assert.ok((await moved()) < 1e-9);
  await page.mouse.move(80, 80);
  await page.mouse.down();
  await page.mouse.move(160, 100, { steps: 3 });
  await page.mouse.up();
  assert.ok((await moved()) > 0.1);
  assert.equal(await hook(page, () => window.__tangere.picture().pull), null);
}));

test('a control by its slider, the gradient in it and in pushes', { skip }, () => session(async (page) => {
  await page.fill('#ctrl-0', '1.5');
  await until(page, () => window.__tangere.picture().ctrl[0] === 1.5);
  await page.selectOption('#goal-body', '3');
  await page.fill('#goal-steps', '10');
  await page.selectOption('#goal-of', 'x');
  await until(page, () => window.__tangere.picture().goal?.label === 'exact' && window.__tangere.settings().goal !== null && window.__tangere.drawn());
  const g = await hook(page, () => window.__tangere.picture().goal);
  const perControl = (0.005 ** 2 * 10 * 11) / 2 / 3; // d x_n / d u of a cart of 3 kg
  assert.ok(Math.abs(g.controls[0] - perControl) < 1e-12, `${g.controls} against ${perControl}`);
  const pushes = await hook(page, () => window.__tangere.pushes());
  const want = [0, 0, 0, 0, 0, 0, 0, 0, 0, (10 * 0.005) / 3, 0, 0];
  pushes.forEach((x, i) => assert.ok(Math.abs(x - want[i]) < 1e-7, `pushes ${pushes}`));
  await until(page, () => document.querySelector('#legend').textContent.includes('push that raises x of cart'));
  assert.match(await page.textContent('#goal-told'), /gradient exact/);
  assert.match(await page.textContent('.gradient'), /^\+0\.00046$/);
}));

test('contact models are switched; one that cannot says why, and the old one stays', { skip }, () => session(async (page) => {
  await command(page, { run: true });
  await until(page, () => window.__tangere.forces().length === 3 && window.__tangere.picture().t > 1);
  await until(page, `Math.abs(window.__tangere.forces()[2] - ${10 * M}) < 1e-3`); // at rest on the floor
  await command(page, { run: false });
  const labels = await page.$$eval('#contact option', (all) => all.map((o) => o.textContent));
  await page.selectOption('#contact', { label: 'barrier' });
  assert.ok((await page.$$('#options .row')).length > 3);
  await page.click('#apply');
  await until(page, () => window.__tangere.told() !== '' || window.__tangere.settings().contact === 'barrier', 15).catch(async () => {
    const state = await hook(page, () => ({ ...window.__tangere.picture(), known: window.__tangere.settings().settings, off: document.querySelector('#apply').disabled, chosen: document.querySelector('#contact').value, separate: document.querySelector('#separate').checked }));
    throw new Error(JSON.stringify(state));
  });
  const said = await hook(page, () => window.__tangere.told());
  if (said !== '') { // the ball touches the floor to rounding
    assert.match(said, /barrier cannot go on from here, lcp stays: /);
    assert.equal(await page.$eval('#contact', (s) => s.selectedOptions[0].textContent), 'lcp');
    await page.selectOption('#contact', { label: 'barrier' });
    await page.check('#separate');
    await page.click('#apply');
  }
  await until(page, () => window.__tangere.settings().contact === 'barrier', 20).catch(async () => {
    throw new Error(`${await hook(page, () => window.__tangere.told())}: ${JSON.stringify(await hook(page, () => window.__tangere.picture()))}`);
  });
  assert.match(await page.textContent('#model'), /contact barrier/);
  assert.ok(labels.includes('none') && labels.includes('softmin'));
  await page.fill('#dt', '-3');
  await page.click('#apply');
  await until(page, () => window.__tangere.told().includes('dt: a number'));
}));

test('what runs away stops with its reason, and can be reset', { skip }, () => session(async (page) => {
  await command(page, { contact: { word: 'softmin', options: { explicit_damping: true }, dt: 0.005 } });
  await command(page, { reset: 'wild', run: true });
  await until(page, () => window.__tangere.told().startsWith('stopped: '), 30);
  assert.equal(await hook(page, () => window.__tangere.picture().running), false);
  await page.click('#reset');
  await until(page, () => window.__tangere.told() === '' && window.__tangere.picture().t === 0);
}));

test('a second page, forwarded by another port, shares the simulation; in a frame too', { skip }, (t) => session(async (page) => {
  const own = new URL(url);
  const forward = createServer((from) => {
    const to = connect(Number(own.port), '127.0.0.1');
    from.pipe(to).pipe(from);
    for (const s of [from, to]) s.on('error', () => { from.destroy(); to.destroy(); });
  });
  await new Promise((done) => forward.listen(0, '127.0.0.1', done));
  t.after(() => forward.close());
  const there = `http://localhost:${forward.address().port}${own.pathname}`;
  const other = await open(browser, there, { width: 400, height: 300 });
  t.after(() => other.context.close());
  await until(other.page, () => window.__tangere.pictures?.() > 0);
  assert.equal(await command(other.page, { run: true }), true);
  await until(page, () => window.__tangere.picture().running && window.__tangere.picture().viewers === 2);
  await until(page, () => document.querySelector('#time').textContent.includes('2 pages are open'));
  assert.deepEqual(other.errors, []);
  // as a notebook shows it
  const frame = `<iframe src="${there}" sandbox="allow-scripts allow-same-origin" style="width: 400px; height: 300px"></iframe>`;
  const host = createServer((s) => s.end(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: ${frame.length}\r\n\r\n${frame}`));
  await new Promise((done) => host.listen(0, '127.0.0.1', done));
  t.after(() => host.close());
  await other.page.goto(`http://127.0.0.1:${host.address().port}/`);
  const inner = await (await other.page.waitForSelector('iframe')).contentFrame();
  await until(inner, () => window.__tangere?.pictures?.() > 0);
}));

test('the page says when its server has ended', { skip }, async () => {
  server.kill('SIGINT');
  await until(shown.page, () => window.__tangere.told().startsWith('no longer live'));
  const code = server.exitCode ?? (await new Promise((done) => server.on('exit', done)));
  assert.equal(code, 0);
});
