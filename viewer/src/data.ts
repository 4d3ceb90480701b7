// data.ts: the replay's data as typed arrays, checked before anything is drawn. Format: docs/replay.md.

export type Vec3 = [number, number, number];
export type Quat = [number, number, number, number]; // w first

export type GeomType = 'plane' | 'sphere' | 'capsule' | 'ellipsoid' | 'cylinder' | 'box' | 'mesh';
const GEOM_TYPES: GeomType[] = ['plane', 'sphere', 'capsule', 'ellipsoid', 'cylinder', 'box', 'mesh'];

export interface Geom {
  name: string;
  body: number;
  type: GeomType;
  size: Vec3;
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

export interface Trajectory {
  label: string;
  iteration: number | null;
  dt: number;
  nframe: number;
  pos: Float32Array; // nframe x nbody x 3
  quat: Float32Array; // nframe x nbody x 4
  contacts: Contacts | null;
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
}

export interface Replay {
  title: string;
  name: string;
  gravity: Vec3;
  bodies: string[];
  geoms: Geom[];
  meshes: MeshData[];
  trajectories: Trajectory[];
  markers: Marker[];
  track: number; // body whose path is drawn, 0: the first that moves
  loss: Loss | null;
  figures: [string, number | string][];
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

function readTrajectory(v: unknown, i: number, nbody: number): Trajectory {
  const what = `trajectory ${i}`;
  const t = object(v, what);
  const nframe = t.nframe as number;
  const dt = t.dt as number;
  need(Number.isInteger(nframe) && nframe > 0, `${what} has no frames`);
  need(typeof dt === 'number' && dt > 0, `${what} needs a positive dt`);
  let contacts: Contacts | null = null;
  if (t.contacts != null) {
    const c = object(t.contacts, `${what} contacts`);
    const offset = words(c.offset, nframe + 1, `${what} contact offsets`);
    const n = offset[nframe];
    need(offset.every((o, k) => k === 0 || o >= offset[k - 1]), `${what} has falling contact offsets`);
    contacts = {
      offset,
      pos: floats(c.pos, 3 * n, `${what} contact positions`),
      force: floats(c.force, 3 * n, `${what} contact forces`),
    };
  }
  return {
    label: text(t.label) || `trajectory ${i + 1}`,
    iteration: typeof t.iteration === 'number' ? t.iteration : null,
    dt, nframe, contacts,
    pos: floats(t.body_pos, nframe * nbody * 3, `${what} body_pos`),
    quat: floats(t.body_quat, nframe * nbody * 4, `${what} body_quat`),
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
  need(root.version === 1, `This viewer shows version 1 replays, the file says ${String(root.version)}.`);
  const model = object(root.model, 'model');
  const bodies = list(model.bodies, 'model.bodies').map((b, i) => text(object(b, `body ${i}`).name) || `body ${i}`);
  const meshes = list(model.meshes ?? [], 'model.meshes').map(readMesh);
  const figures = root.figures == null ? {} : object(root.figures, 'figures');
  const trajectories = list(root.trajectories, 'trajectories').map((t, i) => readTrajectory(t, i, bodies.length));
  need(trajectories.length > 0, 'The replay holds no trajectory.');
  return {
    title: text(root.title) || 'Tangere replay',
    name: text(model.name),
    gravity: numbers(model.gravity, 3, 'model.gravity') as Vec3,
    bodies, meshes, trajectories,
    geoms: list(model.geoms, 'model.geoms').map((g, i) => readGeom(g, i, bodies.length, meshes.length)),
    markers: list(root.markers ?? [], 'markers').map(readMarker),
    track: readTrack(root.track, bodies.length),
    loss: readLoss(root.loss),
    figures: Object.entries(figures).map(([k, e]) => [k, typeof e === 'number' || typeof e === 'string' ? e : '–']),
  };
}

/// Seconds from the first to the last frame.
export function duration(t: Trajectory): number {
  return (t.nframe - 1) * t.dt;
}
