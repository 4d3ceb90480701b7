// look.mjs: what is to be seen in a picture of a page, and where it should be.
import { need } from './browser.mjs';

export const PIXELS = 3; // a body may be drawn so far from its projection

export const sub = (a, b) => a.map((x, i) => x - b[i]);
export const dot = (a, b) => a.reduce((s, x, i) => s + x * b[i], 0);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const unit = (a) => a.map((x) => x / Math.hypot(...a));

// pinhole camera, written apart from the viewer: only its pose and field of view are asked for
export function project(camera, p) {
  const ahead = unit(sub(camera.target, camera.position));
  const right = unit(cross(ahead, camera.up));
  const above = cross(right, ahead);
  const d = sub(p, camera.position);
  const scale = camera.rect.height / 2 / Math.tan((camera.fov * Math.PI) / 360) / dot(d, ahead);
  return [
    camera.rect.left + camera.rect.width / 2 + dot(d, right) * scale,
    camera.rect.top + camera.rect.height / 2 - dot(d, above) * scale,
  ];
}

export async function picture(page) {
  return need('pngjs').PNG.sync.read(await page.screenshot());
}

// middles of the pixels of the view (not of the panel) whose colour satisfies `is`
export async function pixels(page, is) {
  await page.evaluate(() => { document.getElementById('legend').style.visibility = 'hidden'; }); // its swatches have the arrows' colours
  const image = await picture(page);
  const { width, height } = (await page.evaluate(() => window.__tangere.camera())).rect;
  const found = [];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const i = 4 * (y * image.width + x);
      if (is(image.data[i], image.data[i + 1], image.data[i + 2])) found.push([x + 0.5, y + 0.5]);
    }
  }
  return found;
}
export const isMagenta = (r, g, b) => Math.min(r, b) >= 60 && Math.min(r, b) - g >= 50;
export const isCyan = (r, g, b) => Math.min(g, b) >= 90 && Math.min(g, b) - r >= 60 && Math.abs(g - b) < 40; // the path is bluer
export const isPurple = (r, g, b) => Math.abs(r - 139) < 25 && Math.abs(g - 92) < 25 && Math.abs(b - 240) < 16;
export const isImpulse = (r, g, b) => r > 190 && g > 110 && g < 190 && b < 70;
export const isArrow = (r, g, b) => r > 170 && g < 110 && b < 110;

// centre and number of the magenta pixels
export async function magenta(page) {
  const found = await pixels(page, isMagenta);
  const n = found.length;
  return { n, at: [0, 1].map((k) => found.reduce((sum, p) => sum + p[k], 0) / n) };
}
