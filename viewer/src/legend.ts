// legend.ts: what the colours in the view stand for, and the names above two views.
import { short } from './charts';
import { label, type Replay } from './data';
import { el } from './dom';
import { FORCE_COLOR, IMPULSE_COLOR, PUSH_COLOR, type Stage } from './scene';

const two = (v: number): string => short(Number(v.toPrecision(2)));

function line(name: string, color: string): HTMLElement {
  const swatch = el('span', { class: 'swatch' });
  swatch.style.background = color;
  return el('div', {}, swatch, name);
}

export function legendOf(r: Replay, stage: Stage, main: number, other: number): HTMLElement[] {
  const parts: HTMLElement[] = [];
  if (other >= 0 && !stage.side) parts.push(line(label(r, main), '#2f7fd6'), line(label(r, other), '#7f8ea3'));
  for (const m of r.runs[r.trajectories[main].run].markers.slice(0, 4)) {
    if (m.name !== '') parts.push(line(m.name, `rgb(${m.rgba.slice(0, 3).map((c) => Math.round(255 * c)).join(' ')})`));
  }
  if (stage.showForces && stage.longestForce > 0) parts.push(line(`contact force, longest ${two(stage.longestForce)} N`, FORCE_COLOR));
  if (stage.showForces && stage.longestImpulse > 0) parts.push(line(`impulse of an impact, longest ${two(stage.longestImpulse)} N s`, IMPULSE_COLOR));
  if (stage.showPushes && stage.longestPush > 0) parts.push(line(`push that lowers the loss, longest ${two(stage.longestPush)} per N s`, PUSH_COLOR));
  return parts;
}

/// Of the views, left to right; none where there is one.
export function namesOf(r: Replay, stage: Stage, main: number, other: number): HTMLElement[] {
  return (stage.side && other >= 0 ? [main, other] : []).map((i) => el('span', {}, label(r, i)));
}
