// panel.ts: what stands beside the picture that does not change with time: title, figures of the runs, the list of keys.
import { short } from './charts';
import type { Replay } from './data';
import { el } from './dom';

const KEYS: [string, string][] = [
  ['Space', 'play or pause'],
  ['← →', 'one frame back or ahead, or to the impact before it; with Shift ten frames'],
  ['I', 'the next impact; with Shift the one before'],
  ['Home End', 'first or last frame'],
  ['+ −', 'faster or slower'],
  ['F', 'follow the motion, or stop to follow'],
  ['R', 'the default view again'],
  ['S', 'two views side by side, or overlaid'],
  ['C', 'contact forces and impulses on or off'],
  ['G', 'gradient on or off'],
  ['P', 'path on or off'],
  ['D', 'dark or light'],
  ['L', 'copy a link to this moment'],
  ['?', 'this list'],
];

export function titleOf(r: Replay): Node[] {
  const names = [...new Set(r.models.map((m) => m.name).filter(Boolean))];
  const bodies = Math.max(...r.models.map((m) => m.bodies.length)) - 1;
  return [
    el('h1', {}, r.title),
    el('div', { class: 'sub' }, [...names, `${bodies} ${bodies === 1 ? 'body' : 'bodies'}`].join(' · ')),
  ];
}

/// One row a figure, one column a run.
export function figuresOf(r: Replay): Node[] {
  const names = [...new Set(r.runs.flatMap((run) => run.figures.map(([k]) => k)))];
  if (names.length === 0) return [];
  const text = (v: number | string | undefined) => (v === undefined ? '–' : typeof v === 'number' ? short(v) : v);
  const rows = names.map((name) => el('tr', {}, el('td', {}, name),
    ...r.runs.map((run) => el('td', {}, text(run.figures.find(([k]) => k === name)?.[1])))));
  const head = r.runs.length > 1 ? [el('tr', {}, el('td', {}, ''), ...r.runs.map((run) => el('td', {}, run.label)))] : [];
  return [el('h2', {}, 'Figures'), el('table', {}, ...head, ...rows)];
}

/// A window with the keys; open() shows it.
export function helpOf(): HTMLDialogElement {
  const rows = KEYS.map(([key, what]) => el('tr', {}, el('td', {}, ...key.split(' ').flatMap((k) => [el('kbd', {}, k), ' '])), el('td', {}, what)));
  const close = el('button', { type: 'button' }, 'Close');
  const dialog = el('dialog', { id: 'help', 'aria-label': 'Keys' },
    el('h1', {}, 'Keys'), el('table', {}, ...rows),
    el('p', { class: 'sub' }, 'Drag to turn, right-drag or two fingers to move, wheel or pinch to zoom. A click on a curve goes to its time or iterate.'), close);
  close.addEventListener('click', () => dialog.close());
  return dialog;
}
