// player.ts: one replay on the page: lays out panel, plots and bar, keeps the time, answers keys and links.
import * as THREE from 'three';
import { Chart, heightAt, short, type ChartTheme, type Curve } from './charts';
import { duration, label, type Replay } from './data';
import { el, icon, options, toggle } from './dom';
import { readMoment, writeMoment, type Moment } from './link';
import { figuresOf, helpOf, titleOf } from './panel';
import { save, takePicture, takeVideo, type Recorded } from './record';
import { FORCE_COLOR, MOTION, PUSH_COLOR, Stage, STAY, type SceneTheme } from './scene';
import { curvesOf, listSignals, type Choice, type Listed } from './signals';

type Theme = SceneTheme & ChartTheme;
const CURVES = ['#e0894a', '#58a878', '#c96a8f', '#8a7fcf', '#c2a23f', '#4fa7b0', '#b5765a'];
const LIGHT: Theme = {
  dark: false, base: '#eceef1', line: '#a9b3c0', text: '#667080', grid: '#e3e7ec', mark: '#e5484d', curves: ['#9aa7b8', '#2f7fd6', ...CURVES],
};
const DARK: Theme = {
  dark: true, base: '#45494f', line: '#787f89', text: '#98a2b0', grid: '#2c3138', mark: '#ff6369', curves: ['#7f8ea3', '#5aa2f0', ...CURVES],
};
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10];
const PLAY = 'M4 2.5v11l9.5-5.5z';
const PAUSE = 'M3.5 2.5h3.2v11H3.5zM9.3 2.5h3.2v11H9.3z';
const BACK = 'M3 2.5h2v11H3zM13 2.5v11L5.5 8z';
const AHEAD = 'M11 2.5h2v11h-2zM3 2.5v11L10.5 8z';

export function get<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

export class Player {
  private stage: Stage;
  private main: number;
  private other: number;
  private time = 0;
  private playing = false;
  private speed = SPEEDS.indexOf(1);
  private dirty = true;
  private before = 0;
  private dark = document.documentElement.dataset.theme !== undefined
    ? document.documentElement.dataset.theme === 'dark'
    : window.matchMedia('(prefers-color-scheme: dark)').matches;
  private end = new AbortController(); // of all that this player listens to
  private signals: Listed[];
  private choice: Choice;
  private signalCurves: Curve[] = [];
  private lossHost = el('div', { class: 'chart', id: 'loss' });
  private signalHost = el('div', { class: 'chart', id: 'signal' });
  private loss: Chart;
  private signal: Chart;
  private lossTitle = el('span');
  private lossValue = el('span');
  private signalValue = el('span', { class: 'value', id: 'value' });
  private slider = el('input', { type: 'range', min: '0', value: '0', step: '1', 'aria-label': 'Frame', id: 'scrub' });
  private clock = el('div', { id: 'time' });
  private playButton = el('button', { type: 'button', class: 'play', id: 'play' });
  private speedSelect = el('select', { 'aria-label': 'Speed', id: 'speed', title: 'Speed (+ and −)' });
  private shown = el('select', { id: 'shown', 'aria-label': 'Shown trajectory' });
  private against = el('select', { id: 'against', 'aria-label': 'Compared trajectory' });
  private followSelect = el('select', { id: 'follow', 'aria-label': 'Camera follows' });
  private signalSelect = el('select', { id: 'signals', 'aria-label': 'Signal' });
  private partSelect = el('select', { id: 'part', 'aria-label': 'Part of the signal' });
  private buttons: Record<string, HTMLButtonElement> = {};
  private help = helpOf();
  private linkBox = el('input', { id: 'link', type: 'text', readonly: true, hidden: true, 'aria-label': 'Link to this moment' });
  private spent: number[] = []; // milliseconds of script of the last frames

  constructor(private replay: Replay) {
    document.title = replay.title;
    this.main = replay.trajectories.length - 1;
    this.other = this.main > 0 ? 0 : -1;
    if (replay.runs.length > 1) this.other = this.bestOf(replay.trajectories[this.main].run - 1);
    this.signals = listSignals(replay.trajectories);
    this.choice = { name: this.signals[0]?.name ?? '', part: -1 };
    this.stage = new Stage(replay, get<HTMLCanvasElement>('canvas'));
    this.loss = new Chart(this.lossHost, 'loss', 140, (x) => this.pickIterate(x));
    this.signal = new Chart(this.signalHost, 'time', 150, (x) => this.goto(x));
    for (const id of ['panel', 'strip', 'bar']) get(id).replaceChildren();
    this.layPanel();
    this.layStrip();
    this.layBar();
    this.layLoss();
    this.select(this.main, this.other);
    this.theme(this.dark);
    this.listen();
    this.resize();
    this.stage.home();
    this.apply(readMoment(location.hash));
    requestAnimationFrame((now) => this.tick(now));
  }

  // the last trajectory of a run
  private bestOf(run: number): number {
    return this.replay.trajectories.reduce((best, t, i) => (t.run === run ? i : best), -1);
  }

  private listen(): void {
    const signal = this.end.signal;
    this.stage.controls.addEventListener('change', () => (this.dirty = true));
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(get('view'));
    sizes.observe(get('strip'));
    signal.addEventListener('abort', () => sizes.disconnect());
    document.addEventListener('keydown', (e) => this.key(e), { signal });
    window.addEventListener('hashchange', () => this.apply(readMoment(location.hash)), { signal });
    window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (e) => this.theme(e.matches), { signal });
  }

  /// Another replay of the same kind in this one's place: same moment, same camera.
  successor(replay: Replay): Player {
    const before = this.moment();
    const same = replay.trajectories.length === this.replay.trajectories.length;
    const { playing, speed } = this;
    const { showPushes, showForces, showPaths } = this.stage;
    this.end.abort();
    this.help.remove();
    this.stage.dispose();
    const canvas = get('canvas');
    canvas.replaceWith(canvas.cloneNode());
    const next = new Player(replay);
    for (const [key, on, now] of [['g', showPushes, next.stage.showPushes], ['c', showForces, next.stage.showForces], ['p', showPaths, next.stage.showPaths]] as const) {
      if (on !== now) next.buttons[key]?.click();
    }
    next.apply(same ? before : { ...before, shown: null, against: null });
    next.setSpeed(speed);
    if (playing) next.play(true);
    next.draw();
    return next;
  }

  private get trajectory() {
    return this.replay.trajectories[this.main];
  }

  private get compared() {
    return this.other >= 0 ? this.replay.trajectories[this.other] : null;
  }

  // the frame at or before the time; a hair above, so that i*dt is frame i
  private get frame(): number {
    const t = this.trajectory;
    return Math.min(Math.floor(this.time / t.dt + 1e-6), t.nframe - 1);
  }

  // ---- layout ----

  private layPanel(): void {
    const r = this.replay;
    const row = (id: string, name: string, select: HTMLElement) => el('div', { class: 'row' }, el('label', { for: id }, name), select);
    get('panel').append(...titleOf(r));
    if (r.trajectories.length > 1) {
      const labels = r.trajectories.map((_, i) => label(r, i));
      options(this.shown, labels, labels.map((_, i) => i), this.main);
      options(this.against, ['nothing', ...labels], [-1, ...labels.map((_, i) => i)], this.other);
      this.shown.addEventListener('change', () => this.select(Number(this.shown.value), this.other));
      this.against.addEventListener('change', () => this.select(this.main, Number(this.against.value)));
      get('panel').append(row('shown', 'Shown', this.shown), row('against', 'Against', this.against));
    }
    this.followSelect.addEventListener('change', () => this.setFollow(Number(this.followSelect.value)));
    get('panel').append(row('follow', 'Follow', this.followSelect), this.toggles(), this.tools(), this.linkBox);
    const losses = r.runs.some((run) => run.loss !== null);
    if (losses) get('panel').append(el('h2', {}, this.lossTitle, this.lossValue), this.lossHost);
    get('panel').append(...figuresOf(r));
    document.body.append(this.help);
    get('scale').textContent = `grid ${short(this.stage.cell)} m`;
  }

  private toggles(): HTMLElement {
    const s = this.stage;
    const all = this.replay.trajectories;
    const box = el('div', { class: 'toggles' });
    const add = (key: string, name: string, on: boolean, title: string, change: (on: boolean) => void) => {
      this.buttons[key] = toggle(name, on, title, (next) => this.change(() => change(next)));
      box.append(this.buttons[key]);
    };
    if (all.length > 1) add('s', 'Side by side', s.side, 'Two views in place of a ghost (S)', (on) => this.setSide(on));
    add('p', 'Path', true, 'Path of one body (P)', (on) => (s.showPaths = on));
    if (all.some((t) => t.contacts !== null && t.contacts.pos.length > 0)) add('c', 'Forces', true, 'Contact forces as arrows (C)', (on) => { s.showForces = on; this.legend(); });
    if (all.some((t) => t.push !== null)) {
      add('g', 'Gradient', false, 'Which way a push on each body would lower the loss: minus the gradient of the loss in an impulse at its centre of mass (G)',
          (on) => { s.showPushes = on; this.legend(); });
    }
    if (s.hasCollisionShapes) add('x', 'Collision shapes', false, 'Shapes that touch in place of those to look at', (on) => (s.collisionShapes = on));
    add('d', 'Dark', this.dark, 'Dark or light (D)', (on) => this.theme(on));
    return box;
  }

  private tools(): HTMLElement {
    const button = (name: string, title: string, act: () => void) => {
      const b = el('button', { type: 'button', title }, name);
      b.addEventListener('click', act);
      return b;
    };
    const video = button('Video', 'Save the run as a WebM video', () => void this.saveVideo(video));
    return el('div', { class: 'toggles' },
      button('Copy link', 'Copy a link to this moment (L)', () => void this.copyLink()),
      button('Picture', 'Save this view as a PNG', () => void this.savePicture()), video,
      button('Keys', 'What the keys do (?)', () => this.help.showModal()));
  }

  private layStrip(): void {
    get('strip').hidden = this.signals.length === 0;
    if (this.signals.length === 0) return;
    options(this.signalSelect, this.signals.map((s) => s.name), this.signals.map((_, i) => i), 0);
    this.signalSelect.addEventListener('change', () => this.plot({ name: this.signals[Number(this.signalSelect.value)].name, part: -1 }));
    this.partSelect.addEventListener('change', () => this.plot({ ...this.choice, part: Number(this.partSelect.value) }));
    get('strip').append(el('div', { class: 'head' }, this.signalSelect, this.partSelect, this.signalValue), this.signalHost);
  }

  private layBar(): void {
    const step = (path: string, by: number, title: string) => {
      const b = el('button', { type: 'button', title, 'aria-label': title }, icon(path));
      b.addEventListener('click', () => this.step(by));
      return b;
    };
    options(this.speedSelect, SPEEDS.map((s) => `${s}×`), SPEEDS.map((_, i) => i), this.speed);
    this.speedSelect.addEventListener('change', () => (this.speed = Number(this.speedSelect.value)));
    this.playButton.addEventListener('click', () => this.play(!this.playing));
    this.slider.addEventListener('input', () => {
      this.play(false);
      this.setFrame(Number(this.slider.value));
    });
    get('bar').append(step(BACK, -1, 'One frame back (←)'), this.playButton, step(AHEAD, 1, 'One frame ahead (→)'),
                      this.slider, this.clock, this.speedSelect);
    this.play(false);
  }

  private layFollow(): void {
    const bodies = this.replay.models[this.replay.runs[this.trajectory.run].model].bodies;
    options(this.followSelect, ['nothing', 'the motion', ...bodies.slice(1)], [STAY, MOTION, ...bodies.slice(1).map((_, i) => i + 1)], this.stage.follow);
  }

  private layLoss(): void {
    const curves: Curve[] = [];
    this.replay.runs.forEach((run, i) => {
      if (run.loss !== null) curves.push({ x: run.loss.x, y: run.loss.y, color: i === this.trajectory.run ? 1 : 0 });
    });
    this.loss.set(curves.sort((a, b) => a.color - b.color));
    const name = this.replay.runs.find((run) => run.loss !== null)?.loss?.label ?? '';
    const title = name + (this.loss.log ? ' (log)' : '') + ' by iteration';
    this.lossTitle.textContent = title[0].toUpperCase() + title.slice(1);
  }

  // ---- actions ----

  private change(what: () => void): void {
    what();
    this.dirty = true;
  }

  private setSide(on: boolean): void {
    this.stage.setSide(on);
    this.stage.home(this.frame, this.main);
    this.legend();
  }

  private setFollow(what: number): void {
    const whole = this.stage.follow;
    this.stage.setFollow(what, this.frame, this.main);
    if (what <= MOTION || whole === STAY) this.stage.home(this.frame, this.main);
    this.followSelect.value = String(what);
    this.dirty = true;
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target instanceof HTMLSelectElement || this.help.open) return;
    if (e.target instanceof HTMLInputElement && e.target.type === 'text') return;
    const by = e.shiftKey ? 10 : 1;
    const press = (key: string) => () => this.buttons[key]?.click();
    const act: Record<string, () => void> = {
      ' ': () => this.play(!this.playing),
      ArrowLeft: () => this.step(-by),
      ArrowRight: () => this.step(by),
      Home: () => this.setFrame(0),
      End: () => this.setFrame(this.trajectory.nframe - 1),
      '+': () => this.setSpeed(this.speed + 1),
      '=': () => this.setSpeed(this.speed + 1),
      '-': () => this.setSpeed(this.speed - 1),
      f: () => this.setFollow(this.stage.follow === STAY ? MOTION : STAY),
      r: () => this.change(() => this.stage.home(this.frame, this.main)),
      l: () => void this.copyLink(),
      '?': () => this.help.showModal(),
      s: press('s'), c: press('c'), g: press('g'), p: press('p'), d: press('d'),
    };
    const what = act[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (what === undefined) return;
    e.preventDefault();
    what();
  }

  private setSpeed(i: number): void {
    this.speed = Math.min(Math.max(i, 0), SPEEDS.length - 1);
    this.speedSelect.value = String(this.speed);
  }

  play(on: boolean): void {
    if (on && this.time >= duration(this.trajectory) - 1e-9) this.time = 0;
    this.playing = on;
    this.dirty = true;
    const text = on ? 'Pause (space)' : 'Play (space)';
    this.playButton.replaceChildren(icon(on ? PAUSE : PLAY));
    this.playButton.title = text;
    this.playButton.setAttribute('aria-label', text);
  }

  private step(by: number): void {
    this.play(false);
    this.setFrame(this.frame + by);
  }

  setFrame(i: number): void {
    const t = this.trajectory;
    this.time = Math.min(Math.max(Math.round(i), 0), t.nframe - 1) * t.dt;
    this.dirty = true;
  }

  private goto(time: number): void {
    this.play(false);
    this.setFrame(time / this.trajectory.dt);
  }

  select(main: number, other: number): void {
    this.main = main;
    this.other = other === main ? -1 : other;
    this.shown.value = String(main);
    this.against.value = String(this.other);
    const t = this.trajectory;
    this.time = Math.min(this.time, duration(t));
    this.slider.max = String(t.nframe - 1);
    if (this.stage.follow >= t.nbody) this.stage.follow = STAY;
    this.layFollow();
    this.layLoss();
    this.loss.mark(t.iteration);
    const loss = this.replay.runs[t.run].loss;
    const y = t.iteration === null || loss === null ? null : heightAt({ ...loss, color: 0 }, t.iteration);
    this.lossValue.textContent = y === null ? '' : `${short(y)} at ${t.iteration}`;
    this.plot(this.choice);
    this.legend();
    this.drawCharts();
    this.dirty = true;
  }

  private plot(choice: Choice): void {
    this.choice = choice;
    const listed = this.signals.findIndex((s) => s.name === choice.name);
    if (listed < 0) return;
    const s = this.signals[listed];
    this.signalSelect.value = String(listed);
    options(this.partSelect, ['all', ...s.parts], [-1, ...s.parts.map((_, i) => i)], choice.part);
    this.partSelect.hidden = s.parts.length < 2;
    this.signalCurves = curvesOf(this.trajectory, this.compared, choice);
    this.signal.set(this.signalCurves);
    this.drawCharts();
    this.dirty = true;
  }

  // the trajectory of the shown run whose iterate is nearest to the picked one
  private pickIterate(x: number): void {
    let best = -1;
    const off = (i: number) => {
      const t = this.replay.trajectories[i];
      return t.run === this.trajectory.run && t.iteration !== null ? Math.abs(t.iteration - x) : Infinity;
    };
    this.replay.trajectories.forEach((_, i) => { if (best < 0 || off(i) < off(best)) best = i; });
    if (best >= 0 && off(best) < Infinity && best !== this.main) this.select(best, this.other < 0 ? this.main : this.other);
  }

  private legend(): void {
    const swatch = (color: string) => {
      const s = el('span', { class: 'swatch' });
      s.style.background = color;
      return s;
    };
    const line = (name: string, color: string) => el('div', {}, swatch(color), name);
    const r = this.replay;
    const parts: HTMLElement[] = [];
    if (this.other >= 0 && !this.stage.side) parts.push(line(label(r, this.main), '#2f7fd6'), line(label(r, this.other), '#7f8ea3'));
    for (const m of r.runs[this.trajectory.run].markers.slice(0, 4)) {
      if (m.name !== '') parts.push(line(m.name, `rgb(${m.rgba.slice(0, 3).map((c) => Math.round(255 * c)).join(' ')})`));
    }
    if (this.stage.showForces && this.stage.longestForce > 0) parts.push(line(`contact force, longest ${short(Number(this.stage.longestForce.toPrecision(2)))} N`, FORCE_COLOR));
    if (this.stage.showPushes && this.stage.longestPush > 0) {
      parts.push(line(`push that lowers the loss, longest ${short(Number(this.stage.longestPush.toPrecision(2)))} per N s`, PUSH_COLOR));
    }
    get('legend').replaceChildren(...parts);
    get('legend').hidden = parts.length === 0;
    const sides = this.stage.side && this.other >= 0;
    get('names').replaceChildren(...(sides ? [this.main, this.other] : []).map((i) => el('span', {}, label(r, i))));
  }

  private theme(dark: boolean): void {
    this.dark = dark;
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    this.buttons.d?.setAttribute('aria-pressed', String(dark));
    this.stage.paint(dark ? DARK : LIGHT);
    this.drawCharts();
    this.dirty = true;
  }

  private drawCharts(): void {
    const theme = this.dark ? DARK : LIGHT;
    this.loss.draw(theme, Math.max(this.lossHost.clientWidth, 120));
    this.signal.draw(theme, this.signalHost.clientWidth);
  }

  private resize(): void {
    const v = get('view');
    this.stage.resize(v.clientWidth, v.clientHeight);
    this.drawCharts();
    this.dirty = true;
  }

  /// More frames are there.
  loaded(): void {
    this.stage.loaded();
    this.plot(this.choice);
    this.legend();
  }

  // ---- links, pictures, videos ----

  moment(): Moment {
    const f = this.stage.follow;
    const bodies = this.replay.models[this.replay.runs[this.trajectory.run].model].bodies;
    const s = this.signals.find((e) => e.name === this.choice.name);
    return {
      t: this.time, body: f === STAY ? 'none' : f === MOTION ? 'motion' : bodies[f], cam: this.stage.eye(),
      shown: this.replay.trajectories.length > 1 ? this.main : null, against: this.replay.trajectories.length > 1 ? this.other : null,
      side: this.replay.trajectories.length > 1 ? this.stage.side : null,
      plot: s === undefined ? null : this.choice.part >= 0 ? `${s.name}/${s.parts[this.choice.part]}` : s.name,
    };
  }

  /// Goes to a moment; what it does not say stays.
  apply(m: Moment): void {
    const n = this.replay.trajectories.length;
    const main = m.shown !== null && m.shown >= 0 && m.shown < n ? m.shown : this.main;
    const other = m.against !== null && m.against >= -1 && m.against < n ? m.against : this.other;
    if (main !== this.main || other !== this.other) this.select(main, other);
    if (m.side !== null && m.side !== this.stage.side) this.buttons.s?.click();
    if (m.t !== null) this.time = Math.min(m.t, duration(this.trajectory));
    if (m.body !== null) {
      const bodies = this.replay.models[this.replay.runs[this.trajectory.run].model].bodies;
      const found = m.body === 'none' ? STAY : m.body === 'motion' ? MOTION : bodies.indexOf(m.body);
      if (found !== this.stage.follow && (found !== -1 || m.body === 'none') && !(found === 0 && m.body !== 'motion')) this.setFollow(found);
    }
    if (m.plot !== null) {
      const s = this.signals.find((e) => m.plot === e.name || m.plot!.startsWith(`${e.name}/`));
      if (s !== undefined) this.plot({ name: s.name, part: s.parts.indexOf(m.plot.slice(s.name.length + 1)) });
    }
    if (m.cam !== null) {
      this.stage.setFollow(this.stage.follow, this.frame, this.main);
      this.stage.setEye(m.cam);
    }
    this.dirty = true;
  }

  private async copyLink(): Promise<void> {
    const hash = writeMoment(this.moment());
    this.linkBox.value = hash; // all there is of an address in a notebook
    this.linkBox.hidden = false;
    try {
      history.replaceState(null, '', hash);
      this.linkBox.value = location.href;
      await navigator.clipboard.writeText(location.href);
    } catch {
      this.linkBox.select(); // the reader copies it
    }
  }

  /// What a picture or video is drawn from; the page's own size comes back with done().
  private recorded(width: number, height: number): Recorded & { done(): void } {
    this.play(false);
    const canvas = get<HTMLCanvasElement>('canvas');
    const at = this.time;
    this.stage.resize(width, height);
    return {
      canvas, width, height, dark: this.dark,
      draw: (time) => {
        this.time = Math.min(time, duration(this.trajectory));
        this.draw();
        return `${this.time.toFixed(2)} s`;
      },
      done: () => {
        this.time = at;
        this.resize();
      },
    };
  }

  /// A PNG of the view at a time. frame: of the home view of that size.
  async picture(width: number, height: number, time = this.time, frame = false): Promise<Blob> {
    const r = this.recorded(width, height);
    if (frame) this.stage.home(Math.round(time / this.trajectory.dt), this.main);
    try {
      return await takePicture(r, time);
    } finally {
      r.done();
    }
  }

  async video(width: number, height: number, fps: number, speed: number, frame = false, progress: (share: number) => void = () => {}): Promise<Blob> {
    const r = this.recorded(width - (width % 2), height - (height % 2));
    if (frame) this.stage.home(0, this.main);
    try {
      return await takeVideo(r, duration(this.trajectory), speed, fps, progress);
    } finally {
      r.done();
    }
  }

  private get fileName(): string {
    return this.replay.title.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 60) || 'replay';
  }

  private async savePicture(): Promise<void> {
    const v = get('view');
    save(await this.picture(v.clientWidth, v.clientHeight), `${this.fileName}.png`);
  }

  private async saveVideo(button: HTMLButtonElement): Promise<void> {
    const v = get('view');
    button.disabled = true;
    try {
      const blob = await this.video(v.clientWidth, v.clientHeight, 30, SPEEDS[this.speed], false, (share) => (button.textContent = `${Math.round(100 * share)} %`));
      save(blob, `${this.fileName}.webm`);
      button.textContent = 'Video';
    } catch (e) {
      button.textContent = (e as Error).message;
    }
    button.disabled = false;
  }

  // ---- time ----

  private tick(now: number): void {
    if (this.end.signal.aborted) return;
    const began = performance.now();
    const passed = Math.min((now - this.before) / 1000, 0.1);
    this.before = now;
    if (this.playing) {
      this.time += passed * SPEEDS[this.speed];
      if (this.time >= duration(this.trajectory)) {
        this.time = duration(this.trajectory);
        this.play(false);
      }
      this.dirty = true;
    }
    if (this.dirty) {
      this.draw();
      this.spent.push(performance.now() - began);
      if (this.spent.length > 600) this.spent.shift();
    }
    requestAnimationFrame((t) => this.tick(t));
  }

  draw(): void {
    this.dirty = this.playing;
    const t = this.trajectory;
    const i = this.frame;
    const part = this.playing ? Math.min(Math.max(this.time / t.dt - i, 0), 1) : 0;
    this.stage.pose(this.main, this.other, i, part, this.time);
    this.stage.controls.update();
    this.stage.render();
    this.slider.value = String(i);
    this.clock.textContent = `${this.time.toFixed(3)} / ${duration(t).toFixed(3)} s`;
    this.clock.append(el('small', {}, ` frame ${i} of ${t.nframe - 1}`));
    this.signal.mark(this.time);
    this.signalValue.textContent = this.readOut();
  }

  private readOut(): string {
    const s = this.signals.find((e) => e.name === this.choice.name);
    const of = (color: number) => {
      const c = this.signalCurves.filter((e) => e.color === color);
      return c.length === 1 ? heightAt(c[0], this.time) : null;
    };
    const mine = of(1);
    if (s === undefined || mine === null || (this.choice.part < 0 && s.parts.length > 1)) return s?.unit ?? '';
    const theirs = of(0);
    const unit = s.unit.includes(',') ? '' : ` ${s.unit}`;
    return `${short(Number(mine.toPrecision(4)))}${unit}${theirs !== null ? ` against ${short(Number(theirs.toPrecision(4)))}${unit}` : ''}`;
  }

  /// What tests and the command line read and drive.
  hooks() {
    const c = this.stage.camera;
    return {
      frames: () => this.trajectory.nframe,
      frame: () => this.frame,
      time: () => this.time,
      playing: () => this.playing,
      setFrame: (i: number) => { this.play(false); this.setFrame(i); this.draw(); },
      select: (main: number, other: number) => { this.select(main, other); this.draw(); },
      project: (x: number, y: number, z: number) => this.stage.project(new THREE.Vector3(x, y, z)),
      views: () => this.stage.views(),
      camera: () => ({
        position: c.position.toArray(), target: this.stage.controls.target.toArray(), up: c.up.toArray(), fov: c.fov,
        rect: (({ left, top, width, height }) => ({ left, top, width, height }))(get('canvas').getBoundingClientRect()),
      }),
      lossMark: () => this.loss.markPixel(),
      timeMark: () => this.signal.markPixel(),
      script: () => [...this.spent],
      longest: () => ({ force: this.stage.longestForce, push: this.stage.longestPush }),
      picture: (width: number, height: number, frame: number) => this.picture(width, height, frame * this.trajectory.dt, !readMoment(location.hash).cam),
      video: (width: number, height: number, fps: number, speed: number) => this.video(width, height, fps, speed, !readMoment(location.hash).cam),
    };
  }
}
