// blocks.ts: the frames of a replay, block by block: base64, zlib, byte planes, differences from frame to frame.
// Format: docs/replay.md, "Blocks". Each block stands for itself; the first ones are shown while the rest is read.
import { ReplayError, type Model, type Replay, type Trajectory } from './data';

const TURN = 2 ** -16;
const LEVELS = 65535;

/// The text of block k of trajectory i, or a promise of it.
export type BlockSource = (i: number, k: number) => Promise<string>;

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/// Blocks of the page itself, waited for while it still loads.
export function blocksOf(page: Document): BlockSource {
  return async (i, k) => {
    for (;;) {
      // whole when something follows it
      const e = page.getElementById(`tangere-${i}-${k}`);
      const all = page.readyState !== 'loading';
      if (e !== null && (all || e.nextElementSibling !== null)) return e.textContent ?? '';
      if (all) throw new ReplayError(`trajectory ${i} block ${k} is missing`);
      await pause(15);
    }
  };
}

async function inflate(text: string, what: string): Promise<Uint8Array> {
  let packed: Uint8Array;
  try {
    const raw = atob(text);
    packed = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) packed[i] = raw.charCodeAt(i);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch (e) {
    if (typeof DecompressionStream === 'undefined') throw new ReplayError('This browser is too old for this replay: it has no DecompressionStream.');
    throw new ReplayError(`${what} cannot be unpacked: ${(e as Error).message}`);
  }
}

// 32-bit words from their four byte planes
class Words {
  private at = 0;
  readonly total: number;
  private readonly view = new DataView(new ArrayBuffer(4));

  constructor(private plane: Uint8Array, private what: string) {
    this.total = plane.length / 4;
    if (!Number.isInteger(this.total)) throw new ReplayError(`${what} holds ${plane.length} bytes`);
  }

  need(n: number): void {
    if (this.at + n > this.total) throw new ReplayError(`${this.what} holds ${4 * this.total} bytes, expected ${4 * (this.at + n)} or more`);
  }

  end(): void {
    if (this.at !== this.total) throw new ReplayError(`${this.what} holds ${4 * this.total} bytes, expected ${4 * this.at}`);
  }

  word(): number {
    const p = this.plane, n = this.total, i = this.at++;
    return (p[i] | (p[n + i] << 8) | (p[2 * n + i] << 16) | (p[3 * n + i] << 24)) >>> 0;
  }

  /// Differences that were folded so that small ones of either sign are small, summed up.
  sums(n: number, put: (i: number, count: number) => void): void {
    let now = 0;
    for (let i = 0; i < n; i++) {
      const z = this.word();
      now = (now + ((z >>> 1) ^ -(z & 1))) | 0;
      put(i, now);
    }
  }

  real(): number {
    this.view.setUint32(0, this.word(), true);
    return this.view.getFloat32(0, true);
  }
}

function readContacts(w: Words, t: Trajectory, from: number, n: number): void {
  const c = t.contacts;
  if (c === null) return;
  w.need(n);
  for (let i = 0; i < n; i++) c.offset[from + i + 1] = c.offset[from + i] + w.word();
  const a = c.offset[from], b = c.offset[from + n];
  if (3 * b > c.pos.length) throw new ReplayError(`${b} contacts, more than the ${c.pos.length / 3} that were announced`);
  w.need(6 * (b - a));
  for (let k = 0; k < 6; k++) {
    const to = k < 3 ? c.pos : c.force;
    for (let i = a; i < b; i++) to[3 * i + (k % 3)] = w.real();
  }
}

// how many there are between a frame and the next, and when: [first, behind the last]
function readTimes(w: Words, t: Trajectory, to: { offset: Uint32Array; time: Float64Array }, from: number, n: number, what: string): [number, number] {
  w.need(n);
  for (let i = from; i < from + n; i++) to.offset[i + 1] = to.offset[i] + w.word();
  const a = to.offset[from], b = to.offset[from + n];
  if (b > to.time.length) throw new ReplayError(`${b} ${what}, more than the ${to.time.length} that were announced`);
  w.need(b - a);
  for (let i = from; i < from + n; i++) for (let k = to.offset[i]; k < to.offset[i + 1]; k++) to.time[k] = i * t.dt + w.real();
  return [a, b];
}

function readImpacts(w: Words, t: Trajectory, model: Model, from: number, n: number): void {
  const m = t.impacts;
  if (m === null) return;
  const [a, b] = readTimes(w, t, m, from, n, 'impacts');
  w.need(8 * (b - a));
  for (let side = 0; side < 2; side++) for (let i = a; i < b; i++) m.geom[2 * i + side] = w.word();
  for (let k = 0; k < 6; k++) for (let i = a; i < b; i++) (k < 3 ? m.pos : m.impulse)[3 * i + (k % 3)] = w.real();
  for (let i = a; i < b; i++) {
    const geom = Math.max(m.geom[2 * i], m.geom[2 * i + 1]);
    if (geom >= model.geoms.length) throw new ReplayError(`impact ${i} names geom ${geom} of ${model.geoms.length}`);
    const [one, two] = [0, 1].map((side) => t.moves[model.geoms[m.geom[2 * i + side]].body]);
    const f = m.impulse.subarray(3 * i, 3 * i + 3);
    const down = f.reduce((sum, x, k) => sum + x * model.gravity[k], 0) > 1e-6 * Math.hypot(...f) * Math.hypot(...model.gravity);
    const sign = one && (!two || down) ? -1 : 1;
    m.shown.set(f.map((x) => sign * x), 3 * i);
  }
}

function readPoses(w: Words, t: Trajectory, pos: Float32Array, quat: Float32Array, from: number, n: number): void {
  const nbody = t.nbody;
  w.need(7 * nbody * n);
  for (let c = 0; c < 3 * nbody; c++) w.sums(n, (i, v) => (pos[3 * nbody * (from + i) + c] = t.base[c % 3] + t.step * v));
  for (let c = 0; c < 4 * nbody; c++) w.sums(n, (i, v) => (quat[4 * nbody * (from + i) + c] = TURN * v));
}

function readBetween(w: Words, t: Trajectory, from: number, n: number): void {
  const m = t.between;
  if (m === null) return;
  const [a, b] = readTimes(w, t, m, from, n, 'poses between frames');
  readPoses(w, t, m.pos, m.quat, a, b - a);
}

function readBlock(t: Trajectory, model: Model, k: number, plane: Uint8Array, what: string): void {
  const w = new Words(plane, what);
  const from = k * t.block;
  const n = Math.min(t.block, t.nframe - from);
  const nbody = t.nbody;
  readPoses(w, t, t.pos, t.quat, from, n);
  readContacts(w, t, from, n);
  readImpacts(w, t, model, from, n);
  readBetween(w, t, from, n);
  if (t.push !== null) {
    w.need(6 * nbody * n);
    for (const to of [t.push.value, t.push.at]) {
      for (let c = 0; c < 3 * nbody; c++) for (let i = 0; i < n; i++) to[3 * nbody * (from + i) + c] = w.real();
    }
  }
  for (const s of t.signals) {
    w.need(s.parts.length * n);
    s.parts.forEach((_, c) => {
      const scale = (s.high[c] - s.low[c]) / LEVELS;
      w.sums(n, (i, v) => (s.data[c * t.nframe + from + i] = s.low[c] + scale * v));
    });
  }
  w.end();
  t.loaded = from + n;
}

const waiting = (t: Trajectory) => t.loaded < t.nframe;

async function loadBlock(replay: Replay, source: BlockSource, i: number): Promise<void> {
  const t = replay.trajectories[i];
  const k = t.loaded / t.block;
  const what = `trajectory ${i} block ${k}`;
  readBlock(t, replay.models[replay.runs[t.run].model], k, await inflate(await source(i, k), what), what);
}

/// Reads the first block of every trajectory.
export async function loadFirst(replay: Replay, source: BlockSource): Promise<void> {
  for (let i = 0; i < replay.trajectories.length; i++) await loadBlock(replay, source, i);
}

/// Reads what is left, a block of each trajectory in turn; `more` now and then and at the end. The page stays usable meanwhile.
export async function loadRest(replay: Replay, source: BlockSource, more: () => void): Promise<void> {
  let told = performance.now();
  while (replay.trajectories.some(waiting)) {
    for (let i = 0; i < replay.trajectories.length; i++) if (waiting(replay.trajectories[i])) await loadBlock(replay, source, i);
    if (!replay.trajectories.some(waiting) || performance.now() - told > 400) {
      more();
      told = performance.now();
    }
    await pause(0);
  }
}
