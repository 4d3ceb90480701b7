// signals.ts: what a trajectory has to plot over time: contact force, and the signals that its file holds.
import { totalForce } from './arrows';
import type { Curve } from './charts';
import type { Signal, Trajectory } from './data';

export const FORCE = 'contact force';
const MANY = 40; // curves at most in one chart

export interface Choice {
  name: string; // of the signal
  part: number; // -1: all of them
}

export interface Listed {
  name: string;
  unit: string;
  parts: string[];
}

/// The signals of any of the trajectories, in the order of the file.
export function listSignals(trajectories: Trajectory[]): Listed[] {
  const out: Listed[] = [];
  if (trajectories.some((t) => t.contacts !== null && t.contacts.pos.length > 0)) out.push({ name: FORCE, unit: 'N', parts: ['sum of sizes'] });
  for (const t of trajectories) {
    for (const s of t.signals) if (!out.some((o) => o.name === s.name)) out.push({ name: s.name, unit: s.unit, parts: s.parts });
  }
  return out;
}

function times(t: Trajectory): number[] {
  return Array.from({ length: t.nframe }, (_, i) => i * t.dt);
}

function curveOf(s: Signal, part: number, t: Trajectory, x: number[], color: number): Curve {
  const y = new Array<number | null>(t.nframe).fill(null);
  const there = Math.min(t.loaded, s.rows);
  for (let i = 0; i < there; i++) y[i] = s.data[part * t.nframe + i];
  return { x, y, color };
}

/// Curves of the choice: those of `main` in colour; of `other`, when one part is chosen, in grey (color 0) behind it.
export function curvesOf(main: Trajectory, other: Trajectory | null, choice: Choice): Curve[] {
  const of = (t: Trajectory, part: number, color: number): Curve[] => {
    const x = times(t);
    if (choice.name === FORCE) return t.contacts === null ? [] : [{ x, y: totalForce(t), color, fill: color === 1 }];
    const s = t.signals.find((e) => e.name === choice.name);
    if (s === undefined) return [];
    if (part >= 0) return part < s.parts.length ? [{ ...curveOf(s, part, t, x, color), fill: color === 1 }] : [];
    return s.parts.slice(0, MANY).map((_, k) => ({ ...curveOf(s, k, t, x, 1 + k), thin: s.parts.length > 6 }));
  };
  const part = choice.part >= 0 || choice.name === FORCE ? Math.max(choice.part, 0) : -1;
  const mine = of(main, part, 1);
  return other !== null && part >= 0 ? [...of(other, part, 0), ...mine] : mine;
}
