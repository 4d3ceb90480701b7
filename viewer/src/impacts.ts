// impacts.ts: the impacts of a trajectory as events in time: which are shown now, and what is said of them.
import { short } from './charts';
import type { Model, Trajectory } from './data';

/// From one time to another, both included [s].
export type Span = [number, number];

/// Impacts at one time, in words.
export interface Event {
  time: number;
  text: string;
}

/// Impacts that are there.
export function countOf(t: Trajectory): number {
  return t.impacts === null ? 0 : t.impacts.offset[t.loaded];
}

// of the first impact that is not before the time
function firstFrom(t: Trajectory, time: number): number {
  const all = t.impacts!.time;
  let lo = 0;
  let hi = countOf(t);
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (all[mid] < time) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/// Those of a span: the first, and the one behind the last.
export function impactsIn(t: Trajectory, [from, to]: Span): [number, number] {
  if (t.impacts === null) return [0, 0];
  const first = firstFrom(t, from);
  let end = first;
  while (end < countOf(t) && t.impacts.time[end] <= to) end++;
  return [first, end];
}

/// The first impact after a time, or the last before it; null: there is none.
export function impactBeside(t: Trajectory, time: number, ahead: boolean): number | null {
  const n = countOf(t);
  const hair = 1e-6 * t.dt;
  if (n === 0) return null;
  const i = ahead ? firstFrom(t, time + hair) : firstFrom(t, time - hair) - 1;
  return i >= 0 && i < n ? t.impacts!.time[i] : null;
}

function nameOf(model: Model, geom: number): string {
  const { name, body } = model.geoms[geom];
  return body > 0 || name === '' ? model.bodies[body] : name;
}

/// All impacts, those of one time together: "t = 0.277778 s: cube on cube 1.6 N s".
export function eventsOf(t: Trajectory, model: Model): Event[] {
  const m = t.impacts;
  const out: Event[] = [];
  for (let i = 0, n = countOf(t); m !== null && i < n; ) {
    const time = m.time[i];
    const sums = new Map<string, number[]>(); // of the points of two bodies
    for (; i < n && m.time[i] - time <= 1e-6 * t.dt; i++) {
      const who = `${nameOf(model, m.geom[2 * i + 1])} on ${nameOf(model, m.geom[2 * i])}`;
      const sum = sums.get(who) ?? [0, 0, 0];
      sums.set(who, sum.map((v, k) => v + m.impulse[3 * i + k]));
    }
    const said = [...sums].map(([who, sum]) => `${who} ${short(Number(Math.hypot(...sum).toPrecision(2)))} N s`);
    const more = said.length > 4 ? `, and ${said.length - 4} more` : '';
    out.push({ time, text: `t = ${time.toFixed(6)} s: ${said.slice(0, 4).join(', ')}${more}` });
  }
  return out;
}
