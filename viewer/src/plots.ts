// plots.ts: the two charts: the loss over the iterations, and the chosen signal over time with what it is at the moment.
import { Chart, heightAt, short, type Bar, type Break, type ChartTheme, type Curve } from './charts';
import type { Loss, Replay, Trajectory } from './data';
import { el, options } from './dom';
import { curvesOf, listSignals, type Choice, type Listed } from './signals';

// the places at which a stage of a refinement begins
function starts(loss: Loss): number[] {
  return loss.stage.flatMap((s, i) => (i > 0 && s !== loss.stage[i - 1] ? [i] : []));
}

/// The curve with a gap before each stage.
function parted(loss: Loss): { x: number[]; y: (number | null)[] } {
  const begins = new Set(starts(loss));
  if (begins.size === 0) return loss;
  const gap = (i: number) => (loss.x[i - 1] + loss.x[i]) / 2;
  return { x: loss.x.flatMap((x, i) => (begins.has(i) ? [gap(i), x] : [x])), y: loss.y.flatMap((y, i) => (begins.has(i) ? [null, y] : [y])) };
}

/// Where its stages begin, with their names; nothing where there is one.
function breaksOf(loss: Loss | null): Break[] {
  if (loss === null || starts(loss).length === 0) return [];
  return [0, ...starts(loss)].map((i) => ({ x: i === 0 ? loss.x[0] : (loss.x[i - 1] + loss.x[i]) / 2, name: `stage ${loss.stage[i] + 1}` }));
}

export class Plots {
  readonly signals: Listed[];
  private choice: Choice;
  private curves: Curve[] = [];
  private main: Trajectory;
  private other: Trajectory | null = null;
  private lossHost = el('div', { class: 'chart', id: 'loss' });
  private signalHost = el('div', { class: 'chart', id: 'signal' });
  private loss: Chart;
  private signal: Chart;
  private lossTitle = el('span');
  private lossValue = el('span');
  private signalValue = el('span', { class: 'value', id: 'value' });
  private signalSelect = el('select', { id: 'signals', 'aria-label': 'Signal' });
  private partSelect = el('select', { id: 'part', 'aria-label': 'Part of the signal' });

  /// pick: an iterate was clicked at; goto: a time; changed: something else is to be drawn.
  constructor(private replay: Replay, strip: HTMLElement, pick: (x: number) => void, goto: (time: number) => void, private changed: () => void) {
    this.main = replay.trajectories[0];
    this.signals = listSignals(replay.trajectories);
    this.choice = { name: this.signals[0]?.name ?? '', part: -1 };
    this.loss = new Chart(this.lossHost, 'loss', 140, pick);
    this.signal = new Chart(this.signalHost, 'time', 150, goto);
    strip.hidden = this.signals.length === 0;
    if (this.signals.length === 0) return;
    options(this.signalSelect, this.signals.map((s) => s.name), this.signals.map((_, i) => i), 0);
    this.signalSelect.addEventListener('change', () => this.plot({ name: this.signals[Number(this.signalSelect.value)].name, part: -1 }));
    this.partSelect.addEventListener('change', () => this.plot({ ...this.choice, part: Number(this.partSelect.value) }));
    strip.append(el('div', { class: 'head' }, this.signalSelect, this.partSelect, this.signalValue), this.signalHost);
  }

  /// The loss chart with its heading; nothing where no run has a loss.
  lossNodes(): Node[] {
    return this.replay.runs.some((run) => run.loss !== null) ? [el('h2', {}, this.lossTitle, this.lossValue), this.lossHost] : [];
  }

  select(main: Trajectory, other: Trajectory | null): void {
    this.main = main;
    this.other = other;
    this.showLoss();
    this.plot(this.choice);
  }

  private showLoss(): void {
    const { runs } = this.replay;
    const t = this.main;
    const curves: Curve[] = [];
    const bars: Bar[] = (runs[t.run].loss?.band ?? []).map(([x, low, high]) => ({ x, low, high, color: 1 }));
    runs.forEach((run, i) => {
      if (run.loss !== null) curves.push({ ...parted(run.loss), color: i === t.run ? 1 : 0 });
    });
    this.loss.set(curves.sort((a, b) => a.color - b.color), bars, breaksOf(runs[t.run].loss));
    const name = runs.find((run) => run.loss !== null)?.loss?.label ?? '';
    const title = name + (this.loss.log ? ' (log)' : '') + ' by iteration' + (bars.length > 0 ? '; bars: as far as a gradient foretells it' : '');
    this.lossTitle.textContent = title[0].toUpperCase() + title.slice(1);
    this.loss.mark(t.iteration);
    const loss = runs[t.run].loss;
    const y = t.iteration === null || loss === null ? null : heightAt({ ...loss, color: 0 }, t.iteration);
    this.lossValue.textContent = y === null ? '' : `${short(y)} at ${t.iteration}`;
  }

  private plot(choice: Choice): void {
    this.choice = choice;
    const listed = this.signals.findIndex((s) => s.name === choice.name);
    if (listed < 0) return;
    const s = this.signals[listed];
    this.signalSelect.value = String(listed);
    options(this.partSelect, ['all', ...s.parts], [-1, ...s.parts.map((_, i) => i)], choice.part);
    this.partSelect.hidden = s.parts.length < 2;
    this.curves = curvesOf(this.main, this.other, choice);
    this.signal.set(this.curves);
    this.changed();
  }

  /// More frames are there.
  loaded(): void {
    this.plot(this.choice);
  }

  draw(theme: ChartTheme): void {
    this.loss.draw(theme, Math.max(this.lossHost.clientWidth, 120));
    this.signal.draw(theme, this.signalHost.clientWidth);
  }

  mark(time: number): void {
    this.signal.mark(time);
    this.signalValue.textContent = this.readOut(time);
  }

  private readOut(time: number): string {
    const s = this.signals.find((e) => e.name === this.choice.name);
    const of = (color: number) => {
      const c = this.curves.filter((e) => e.color === color);
      return c.length === 1 ? heightAt(c[0], time) : null;
    };
    const mine = of(1);
    if (s === undefined || mine === null || (this.choice.part < 0 && s.parts.length > 1)) return s?.unit ?? '';
    const theirs = of(0);
    const unit = s.unit.includes(',') ? '' : ` ${s.unit}`;
    return `${short(Number(mine.toPrecision(4)))}${unit}${theirs !== null ? ` against ${short(Number(theirs.toPrecision(4)))}${unit}` : ''}`;
  }

  /// The choice as links have it: "name" or "name/part".
  get word(): string | null {
    const s = this.signals.find((e) => e.name === this.choice.name);
    return s === undefined ? null : this.choice.part >= 0 ? `${s.name}/${s.parts[this.choice.part]}` : s.name;
  }

  choose(word: string): void {
    const s = this.signals.find((e) => word === e.name || word.startsWith(`${e.name}/`));
    if (s !== undefined) this.plot({ name: s.name, part: s.parts.indexOf(word.slice(s.name.length + 1)) });
  }

  lossBars() {
    return this.loss.barsShown();
  }

  lossBreaks() {
    return this.loss.breaksShown();
  }

  lossMark() {
    return this.loss.markPixel();
  }

  timeMark() {
    return this.signal.markPixel();
  }
}
