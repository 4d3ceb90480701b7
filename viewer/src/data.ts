// data.ts: the head of a replay, checked before anything is drawn, with room for the frames that blocks.ts fills in.
// Format: docs/replay.md.

export type Vec3 = [number, number, number];
export type Quat = [number, number, number, number]; // w first

export type GeomType = 'plane' | 'sphere' | 'capsule' | 'ellipsoid' | 'cylinder' | 'box' | 'mesh';
const GEOM_TYPES: GeomType[] = ['plane', 'sphere', 'capsule', 'ellipsoid', 'cylinder', 'box', 'mesh'];

export interface Geom {
  name: string;
  body: number;
  type: GeomType;
  size: Vec3;
  scale: Vec3; // of a mesh's vertices
  pos: Vec3;
  quat: Quat;
  rgba: [number, number, number, number];
  mesh: number;
  role: 'both' | 'visual' | 'collision';
}

export interface MeshData {
  vert: Float32Array;
  face: Uint32Array;
}

export interface Contacts {
  offset: Uint32Array; // nframe + 1: contacts of frame i are offset[i] to offset[i+1]
  pos: Float32Array;
  force: Float32Array;
}

/// Impacts between frames, by their times.
export interface Impacts {
  offset: Uint32Array; // nframe + 1: those between frame i and the next are offset[i] to offset[i+1]
  time: Float64Array; // from the first frame [s]
  geom: Uint32Array; // 2 each
  pos: Float32Array;
  impulse: Float32Array; // on the body of the second geom [N s]
  shown: Float32Array; // the same as an arrow: on the body that moves; where both do, on the one that is pushed up
}

/// Poses between frames, by their times.
export interface Between {
  offset: Uint32Array;
  time: Float64Array; // from the first frame [s]
  pos: Float32Array; // nbody x 3 each
  quat: Float32Array;
}

/// The gradient of the loss in a push (impulse) on each body at its centre of mass [loss / (N s)], and those centres.
export interface Push {
  at: Float32Array; // nframe x nbody x 3
  value: Float32Array;
}

/// Numbers over the frames, for a plot.
export interface Signal {
  name: string;
  unit: string;
  parts: string[];
  rows: number; // nframe, or one less where the last frame has none
  low: number[]; // of each part, least and largest
  high: number[];
  data: Float32Array; // part by part: nframe each
}

export interface Trajectory {
  label: string;
  run: number;
  iteration: number | null;
  dt: number;
  nframe: number;
  nbody: number;
  loaded: number; // frames that are there
  block: number; // frames of a block
  step: number;
  base: Vec3;
  box: number[]; // of the origins of what moves: least, largest
  moves: boolean[];
  pos: Float32Array; // nframe x nbody x 3
  quat: Float32Array; // nframe x nbody x 4
  contacts: Contacts | null;
  impacts: Impacts | null;
  between: Between | null;
  push: Push | null;
  signals: Signal[];
}

/// A point of interest that stands still, as a target.
export interface Marker {
  name: string;
  pos: Vec3;
  radius: number; // 0: chosen by the viewer
  rgba: [number, number, number, number];
}

export interface Loss {
  x: number[];
  y: (number | null)[];
  label: string;
  stage: number[];                    // of a refinement, of each point; empty: one. Losses of stages do not compare
  band: [number, number, number][];   // a place on the curve, and the losses between which the gradient there foretells them
}

/// Triangles between points of bodies.
export interface Sheet {
  body: Uint32Array;
  pos: Float32Array; // in those bodies' frames
  face: Uint32Array;
  rgba: [number, number, number, number];
}

export interface Model {
  name: string;
  gravity: Vec3;
  bodies: string[];
  geoms: Geom[];
  meshes: MeshData[];
  sheets: Sheet[];
}

/// What belongs to one run.
export interface Run {
  label: string;
  model: number;
  markers: Marker[];
  track: number; // body whose path is drawn, 0: the first that moves
  loss: Loss | null;
  figures: [string, number | string][];
}

export interface Replay {
  title: string;
  models: Model[];
  runs: Run[];
  trajectories: Trajectory[];
}

export class ReplayError extends Error {}

function need(ok: boolean, text: string): asserts ok {
  if (!ok) throw new ReplayError(text);
}

type Json = Record<string, unknown>;

function object(v: unknown, what: string): Json {
  need(typeof v === 'object' && v !== null && !Array.isArray(v), `${what} is missing or not an object`);
  return v as Json;
}

function list(v: unknown, what: string): unknown[] {
  need(Array.isArray(v), `${what} is missing or not a list`);
  return v;
}

function numbers(v: unknown, n: number, what: string): number[] {
  const a = list(v, what);
  need(a.length === n && a.every((x) => typeof x === 'number' && Number.isFinite(x)), `${what} needs ${n} numbers`);
  return a as number[];
}

function text(v: unknown): string {
  return typeof v === 'string' ? v : '';
}

// base64 of little-endian 32-bit words; n < 0: any whole number of them
function bytes(v: unknown, n: number, what: string): ArrayBuffer {
  need(typeof v === 'string', `${what} is missing`);
  const raw = atob(v);
  need(raw.length % 4 === 0 && (n < 0 || raw.length === 4 * n),
       `${what} holds ${raw.length} bytes, expected ${n < 0 ? 'a multiple of 4' : 4 * n}`);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}
const floats = (v: unknown, n: number, what: string) => new Float32Array(bytes(v, n, what));
const words = (v: unknown, n: number, what: string) => new Uint32Array(bytes(v, n, what));

function readGeom(v: unknown, i: number, nbody: number, nmesh: number): Geom {
  const what = `geom ${i}`;
  const g = object(v, what);
  const type = g.type as GeomType;
  need(GEOM_TYPES.includes(type), `${what} has the unknown type "${String(g.type)}"`);
  const body = g.body as number;
  need(Number.isInteger(body) && body >= 0 && body < nbody, `${what} names body ${String(g.body)} of ${nbody}`);
  const mesh = g.mesh as number;
  need(type !== 'mesh' || (Number.isInteger(mesh) && mesh >= 0 && mesh < nmesh),
       `${what} names mesh ${String(g.mesh)} of ${nmesh}`);
  return {
    name: text(g.name), body, type, mesh,
    size: numbers(g.size, 3, `${what} size`) as Vec3,
    scale: numbers(g.scale ?? [1, 1, 1], 3, `${what} scale`) as Vec3,
    pos: numbers(g.pos, 3, `${what} pos`) as Vec3,
    quat: numbers(g.quat, 4, `${what} quat`) as Quat,
    rgba: numbers(g.rgba, 4, `${what} rgba`) as Geom['rgba'],
    role: g.role === 'visual' || g.role === 'collision' ? g.role : 'both',
  };
}

function readMesh(v: unknown, i: number): MeshData {
  const m = object(v, `mesh ${i}`);
  const vert = floats(m.vert, -1, `mesh ${i} vert`);
  const face = words(m.face, -1, `mesh ${i} face`);
  need(vert.length % 3 === 0 && face.length % 3 === 0, `mesh ${i} has a torn triangle or vertex`);
  need(face.every((k) => 3 * k < vert.length), `mesh ${i} has a face beyond its ${vert.length / 3} vertices`);
  return { vert, face };
}

function readSheet(v: unknown, i: number, nbody: number): Sheet {
  const what = `sheet ${i}`;
  const s = object(v, what);
  const body = words(s.body, -1, `${what} body`);
  const pos = floats(s.pos, 3 * body.length, `${what} pos`);
  const face = words(s.face, -1, `${what} face`);
  need(body.every((b) => b < nbody), `${what} names a body beyond the ${nbody}`);
  need(face.length % 3 === 0 && face.every((k) => k < body.length), `${what} has a face beyond its ${body.length} vertices`);
  return { body, pos, face, rgba: numbers(s.rgba, 4, `${what} rgba`) as Sheet['rgba'] };
}

function count(v: unknown, least: number, what: string): number {
  need(typeof v === 'number' && Number.isInteger(v) && v >= least && v < 2 ** 31, `${what} is ${String(v)}`);
  return v;
}

function readSignal(v: unknown, nframe: number, what: string): Signal {
  const s = object(v, what);
  const parts = list(s.parts, `${what} parts`).map((p, i) => text(p) || String(i));
  const rows = count(s.rows, 0, `${what} rows`);
  need(parts.length > 0 && (rows === nframe || rows === nframe - 1), `${what} has ${rows} rows of ${nframe}`);
  return {
    name: text(s.name) || what, unit: text(s.unit), parts, rows,
    low: numbers(s.low, parts.length, `${what} low`), high: numbers(s.high, parts.length, `${what} high`),
    data: new Float32Array(parts.length * nframe),
  };
}

function readTrajectory(v: unknown, i: number, runs: Run[], models: Model[]): Trajectory {
  const what = `trajectory ${i}`;
  const t = object(v, what);
  const nframe = count(t.nframe, 1, `${what} nframe`);
  const run = count(t.run, 0, `${what} run`);
  const dt = t.dt as number;
  need(typeof dt === 'number' && dt > 0, `${what} needs a positive dt`);
  need(run < runs.length, `${what} is of run ${run} of ${runs.length}`);
  const nbody = models[runs[run].model].bodies.length;
  const ncontact = t.ncontact == null ? -1 : count(t.ncontact, 0, `${what} ncontact`);
  const nimpact = t.nimpact == null ? 0 : count(t.nimpact, 1, `${what} nimpact`);
  const nbetween = t.nbetween == null ? 0 : count(t.nbetween, 1, `${what} nbetween`);
  need((nframe + nbetween) * nbody <= 1e8 && ncontact <= 1e8 && nimpact <= 1e8, `${what} has ${nframe} frames of ${nbody} bodies, more than a page holds`);
  const step = numbers([t.step], 1, `${what} step`)[0];
  return {
    label: text(t.label) || `trajectory ${i + 1}`, run, dt, nframe, nbody, step,
    iteration: typeof t.iteration === 'number' ? t.iteration : null,
    loaded: 0, block: count(t.block, 1, `${what} block`),
    base: numbers(t.base, 3, `${what} base`) as Vec3,
    box: numbers(t.box, 6, `${what} box`),
    moves: numbers(t.moves, nbody, `${what} moves`).map((m) => m !== 0),
    pos: new Float32Array(nframe * nbody * 3),
    quat: new Float32Array(nframe * nbody * 4),
    contacts: ncontact < 0 ? null : { offset: new Uint32Array(nframe + 1), pos: new Float32Array(3 * ncontact), force: new Float32Array(3 * ncontact) },
    impacts: nimpact === 0 ? null : {
      offset: new Uint32Array(nframe + 1), time: new Float64Array(nimpact), geom: new Uint32Array(2 * nimpact),
      pos: new Float32Array(3 * nimpact), impulse: new Float32Array(3 * nimpact), shown: new Float32Array(3 * nimpact),
    },
    between: nbetween === 0 ? null : {
      offset: new Uint32Array(nframe + 1), time: new Float64Array(nbetween), pos: new Float32Array(3 * nbody * nbetween), quat: new Float32Array(4 * nbody * nbetween),
    },
    push: t.push === true ? { at: new Float32Array(nframe * nbody * 3), value: new Float32Array(nframe * nbody * 3) } : null,
    signals: list(t.signals ?? [], `${what} signals`).map((s, k) => readSignal(s, nframe, `${what} signal ${k}`)),
  };
}

function readModel(v: unknown, i: number): Model {
  const what = `model ${i}`;
  const model = object(v, what);
  const bodies = list(model.bodies, `${what} bodies`).map((b, k) => text(object(b, `body ${k}`).name) || `body ${k}`);
  const meshes = list(model.meshes ?? [], `${what} meshes`).map(readMesh);
  need(bodies.length > 0, `${what} has no world body`);
  return {
    name: text(model.name), gravity: numbers(model.gravity, 3, `${what} gravity`) as Vec3, bodies, meshes,
    geoms: list(model.geoms, `${what} geoms`).map((g, k) => readGeom(g, k, bodies.length, meshes.length)),
    sheets: list(model.sheets ?? [], `${what} sheets`).map((s, k) => readSheet(s, k, bodies.length)),
  };
}

function readRun(v: unknown, i: number, models: Model[]): Run {
  const what = `run ${i}`;
  const r = object(v, what);
  const model = count(r.model, 0, `${what} model`);
  need(model < models.length, `${what} names model ${model} of ${models.length}`);
  const figures = r.figures == null ? {} : object(r.figures, 'figures');
  return {
    label: text(r.label), model,
    markers: list(r.markers ?? [], 'markers').map(readMarker),
    track: readTrack(r.track, models[model].bodies.length),
    loss: readLoss(r.loss),
    figures: Object.entries(figures).map(([k, e]) => [k, typeof e === 'number' || typeof e === 'string' ? e : '–']),
  };
}

function readMarker(v: unknown, i: number): Marker {
  const what = `marker ${i}`;
  const m = object(v, what);
  return {
    name: text(m.name),
    pos: numbers(m.pos, 3, `${what} pos`) as Vec3,
    radius: numbers([m.radius], 1, `${what} radius`)[0],
    rgba: numbers(m.rgba, 4, `${what} rgba`) as Marker['rgba'],
  };
}

function readBand(flat: unknown[]): Loss['band'] {
  need(flat.length % 3 === 0, `loss.band has ${flat.length} numbers, not 3 each`);
  const all = numbers(flat, flat.length, 'loss.band');
  return Array.from({ length: all.length / 3 }, (_, i) => [all[3 * i], all[3 * i + 1], all[3 * i + 2]]);
}

function readLoss(v: unknown): Loss | null {
  if (v == null) return null;
  const l = object(v, 'loss');
  const x = list(l.x, 'loss.x');
  const y = list(l.y, 'loss.y');
  if (x.length === 0) return null;
  need(x.length === y.length, `loss has ${x.length} x and ${y.length} y`);
  return {
    x: numbers(x, x.length, 'loss.x'),
    y: y.map((e) => (typeof e === 'number' && Number.isFinite(e) ? e : null)),
    label: text(l.label) || 'loss',
    stage: l.stage == null ? [] : numbers(list(l.stage, 'loss.stage'), x.length, 'loss.stage'),
    band: l.band == null ? [] : readBand(list(l.band, 'loss.band')),
  };
}

function readTrack(v: unknown, nbody: number): number {
  if (v == null) return 0;
  need(typeof v === 'number' && Number.isInteger(v) && v >= 0 && v < nbody, `track names body ${String(v)} of ${nbody}`);
  return v;
}

/// The replay in `source`, or a ReplayError that says what is wrong with it.
export function readReplay(source: string): Replay {
  need(source.trim().length > 0, 'This is the empty viewer: it carries no replay. Tangere fills a copy of it.');
  let root: Json;
  try {
    root = object(JSON.parse(source), 'the replay');
  } catch (e) {
    throw e instanceof ReplayError ? e : new ReplayError(`The replay's data cannot be read: ${(e as Error).message}`);
  }
  need(root.version === 3, `This viewer shows version 3 replays, the file says ${String(root.version)}: "tangere replay FOLDER" makes it anew.`);
  const models = list(root.models, 'models').map(readModel);
  const runs = list(root.runs, 'runs').map((r, i) => readRun(r, i, models));
  const trajectories = list(root.trajectories, 'trajectories').map((t, i) => readTrajectory(t, i, runs, models));
  need(trajectories.length > 0, 'The replay holds no trajectory.');
  return { title: text(root.title) || 'Tangere replay', models, runs, trajectories };
}

/// "best", with its run's name before it where there are several.
export function label(replay: Replay, i: number): string {
  const t = replay.trajectories[i];
  const run = replay.runs[t.run].label;
  return replay.runs.length > 1 && run !== '' ? `${run}: ${t.label}` : t.label;
}

/// Seconds from the first to the last frame.
export function duration(t: Trajectory): number {
  return (t.nframe - 1) * t.dt;
}
