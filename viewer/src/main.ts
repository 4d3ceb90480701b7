// main.ts: the page: reads the replay, lays out panel and bar, keeps the time, and offers window.__tangere to tests.
import 'uplot/dist/uPlot.min.css';
import './style.css';
import * as THREE from 'three';
import { totalForce } from './arrows';
import { Chart, lossChart, short, type ChartTheme } from './charts';
import { duration, readReplay, type Replay } from './data';
import { el, icon, options, toggle } from './dom';
import { Stage, type SceneTheme } from './scene';

const LIGHT: SceneTheme & ChartTheme = {
  dark: false, base: '#eceef1', line: '#a9b3c0', text: '#667080', grid: '#e3e7ec', mark: '#e5484d',
};
const DARK: SceneTheme & ChartTheme = {
  dark: true, base: '#45494f', line: '#787f89', text: '#98a2b0', grid: '#2c3138', mark: '#ff6369',
};
const CURVE = '#2f7fd6';
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
const PLAY = 'M4 2.5v11l9.5-5.5z';
const PAUSE = 'M3.5 2.5h3.2v11H3.5zM9.3 2.5h3.2v11H9.3z';
const BACK = 'M3 2.5h2v11H3zM13 2.5v11L5.5 8z';
const AHEAD = 'M11 2.5h2v11h-2zM3 2.5v11L10.5 8z';

function get<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

class Player {
  private stage: Stage;
  private main: number;
  private other: number;
  private time = 0;
  private playing = false;
  private speed = 1;
  private dirty = true;
  private before = 0;
  private dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
  private loss: Chart | null = null;
  private force: Chart | null = null;
  private forceHost = el('div', { class: 'chart', id: 'force' });
  private lossValue = el('span');
  private forceValue = el('span');
  private slider = el('input', { type: 'range', min: '0', value: '0', step: '1', 'aria-label': 'Frame', id: 'scrub' });
  private clock = el('div', { id: 'time' });
  private playButton = el('button', { type: 'button', class: 'play', id: 'play' });
  private shown = el('select', { id: 'shown', 'aria-label': 'Shown trajectory' });
  private against = el('select', { id: 'against', 'aria-label': 'Compared trajectory' });

  constructor(private replay: Replay) {
    document.title = replay.title;
    this.main = replay.trajectories.length - 1;
    this.other = this.main > 0 ? 0 : -1;
    this.stage = new Stage(replay, get<HTMLCanvasElement>('canvas'));
    this.layPanel();
    this.layBar();
    this.select(this.main, this.other);
    this.theme(this.dark);
    this.stage.controls.addEventListener('change', () => (this.dirty = true));
    new ResizeObserver(() => this.resize()).observe(get('view'));
    this.resize();
    this.stage.home();
    document.addEventListener('keydown', (e) => this.key(e));
    requestAnimationFrame((now) => this.tick(now));
  }

  private get trajectory() {
    return this.replay.trajectories[this.main];
  }

  // the frame at or before the time; a hair above, so that i*dt is frame i
  private get frame(): number {
    const t = this.trajectory;
    return Math.min(Math.floor(this.time / t.dt + 1e-6), t.nframe - 1);
  }

  private layPanel(): void {
    const r = this.replay;
    const panel = get('panel');
    const bodies = r.bodies.length - 1;
    panel.append(el('h1', {}, r.title));
    panel.append(el('div', { class: 'sub' }, [r.name, `${bodies} ${bodies === 1 ? 'body' : 'bodies'}`].filter(Boolean).join(' · ')));
    const labels = r.trajectories.map((t) => t.label);
    if (r.trajectories.length > 1) {
      options(this.shown, labels, labels.map((_, i) => i), this.main);
      options(this.against, ['nothing', ...labels], [-1, ...labels.map((_, i) => i)], this.other);
      this.shown.addEventListener('change', () => this.select(Number(this.shown.value), this.other));
      this.against.addEventListener('change', () => this.select(this.main, Number(this.against.value)));
      panel.append(el('div', { class: 'row' }, el('label', { for: 'shown' }, 'Shown'), this.shown));
      panel.append(el('div', { class: 'row' }, el('label', { for: 'against' }, 'Against'), this.against));
    }
    panel.append(this.toggles());
    if (r.loss !== null) {
      const host = el('div', { class: 'chart', id: 'loss' });
      this.loss = lossChart(host, r.loss, (x) => this.pickIterate(x));
      const title = r.loss.label + (this.loss.log ? ' (log)' : '') + ' by iteration';
      panel.append(el('h2', {}, title[0].toUpperCase() + title.slice(1), this.lossValue), host);
    }
    if (this.stage.longestForce > 0) {
      panel.append(el('h2', {}, 'Contact force [N] over time [s]', this.forceValue), this.forceHost);
    }
    if (r.figures.length > 0) {
      const rows = r.figures.map(([k, v]) => el('tr', {}, el('td', {}, k), el('td', {}, typeof v === 'number' ? short(v) : v)));
      panel.append(el('h2', {}, 'Figures'), el('table', {}, ...rows));
    }
    panel.append(el('div', { class: 'keys' },
      el('kbd', {}, 'Space'), ' play  ', el('kbd', {}, '←'), ' ', el('kbd', {}, '→'), ' step  ',
      el('kbd', {}, 'Home'), ' ', el('kbd', {}, 'End'), ' ends  ', el('kbd', {}, 'R'), ' view  ',
      el('br'), 'Drag to turn, right-drag to move, wheel to zoom'));
    get('scale').textContent = `grid ${short(this.stage.cell)} m`;
  }

  private toggles(): HTMLElement {
    const s = this.stage;
    const r = this.replay;
    const box = el('div', { class: 'toggles' },
      toggle('Follow', s.follow, 'Camera follows the motion (F)', (on) => this.setFollow(on)),
      toggle('Path', true, `Path of ${r.bodies[s.tracked] ?? 'the first body'}`, (on) => this.change(() => (s.showPaths = on))));
    if (s.longestForce > 0) {
      box.append(toggle('Forces', true, `Contact forces as arrows, cut at ${short(Number(s.longestForce.toPrecision(2)))} N`, (on) => this.change(() => (s.forces = on))));
    }
    if (s.hasCollisionShapes) {
      box.append(toggle('Collision shapes', false, 'Shapes that touch in place of those to look at',
                        (on) => this.change(() => (s.collisionShapes = on))));
    }
    box.append(toggle('Dark', this.dark, 'Dark or light', (on) => this.theme(on)));
    return box;
  }

  private layBar(): void {
    const step = (path: string, by: number, title: string) => {
      const b = el('button', { type: 'button', title, 'aria-label': title }, icon(path));
      b.addEventListener('click', () => this.step(by));
      return b;
    };
    const speed = el('select', { 'aria-label': 'Speed', id: 'speed', title: 'Speed' });
    options(speed, SPEEDS.map((s) => `${s}×`), SPEEDS.map((_, i) => i), SPEEDS.indexOf(1));
    speed.addEventListener('change', () => (this.speed = SPEEDS[Number(speed.value)]));
    this.playButton.addEventListener('click', () => this.play(!this.playing));
    this.slider.addEventListener('input', () => {
      this.play(false);
      this.setFrame(Number(this.slider.value));
    });
    get('bar').append(step(BACK, -1, 'One frame back (←)'), this.playButton, step(AHEAD, 1, 'One frame ahead (→)'),
                      this.slider, this.clock, speed);
    this.play(false);
  }

  private change(what: () => void): void {
    what();
    this.dirty = true;
  }

  private setFollow(on: boolean): void {
    this.stage.follow = on;
    this.stage.home(this.frame, this.main);
    this.dirty = true;
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target instanceof HTMLSelectElement) return;
    const by = e.shiftKey ? 10 : 1;
    const last = this.trajectory.nframe - 1;
    const act: Record<string, () => void> = {
      ' ': () => this.play(!this.playing),
      ArrowLeft: () => this.step(-by),
      ArrowRight: () => this.step(by),
      Home: () => this.setFrame(0),
      End: () => this.setFrame(last),
      r: () => this.change(() => this.stage.home(this.frame, this.main)),
    };
    const what = act[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (what === undefined) return;
    e.preventDefault();
    what();
  }

  play(on: boolean): void {
    if (on && this.time >= duration(this.trajectory) - 1e-9) this.time = 0;
    this.playing = on;
    this.dirty = true;
    const label = on ? 'Pause (space)' : 'Play (space)';
    this.playButton.replaceChildren(icon(on ? PAUSE : PLAY));
    this.playButton.title = label;
    this.playButton.setAttribute('aria-label', label);
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

  select(main: number, other: number): void {
    this.main = main;
    this.other = other === main ? -1 : other;
    this.shown.value = String(main);
    this.against.value = String(this.other);
    const t = this.trajectory;
    this.time = Math.min(this.time, duration(t));
    this.slider.max = String(t.nframe - 1);
    this.loss?.mark(t.iteration);
    const y = t.iteration === null ? null : this.loss?.at(t.iteration) ?? null;
    this.lossValue.textContent = y === null ? '' : `${short(y)} at ${t.iteration}`;
    if (this.stage.longestForce > 0) {
      const force = totalForce(t);
      this.force = new Chart(this.forceHost, Array.from(force, (_, i) => i * t.dt), Array.from(force), 'time',
                             (x) => { this.play(false); this.setFrame(x / t.dt); });
      this.drawCharts();
    }
    this.legend();
    this.dirty = true;
  }

  // the trajectory whose iterate is nearest to the picked one
  private pickIterate(x: number): void {
    let best = -1;
    const off = (i: number) => Math.abs((this.replay.trajectories[i].iteration ?? Infinity) - x);
    this.replay.trajectories.forEach((_, i) => { if (best < 0 || off(i) < off(best)) best = i; });
    if (best >= 0 && off(best) < Infinity && best !== this.main) this.select(best, this.other < 0 ? this.main : this.other);
  }

  private legend(): void {
    const t = this.replay.trajectories;
    const entry = (label: string, color: string) => {
      const s = el('span', { class: 'swatch' });
      s.style.background = color;
      return [s, label];
    };
    const parts = this.other >= 0 ? [...entry(t[this.main].label, '#2f7fd6'), ...entry(t[this.other].label, '#7f8ea3')] : [];
    for (const m of this.replay.markers.slice(0, 4)) {
      if (m.name !== '') parts.push(...entry(m.name, `rgb(${m.rgba.slice(0, 3).map((c) => Math.round(255 * c)).join(' ')})`));
    }
    get('legend').replaceChildren(...parts);
    get('legend').hidden = parts.length === 0;
  }

  private theme(dark: boolean): void {
    this.dark = dark;
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    this.stage.paint(dark ? DARK : LIGHT);
    this.drawCharts();
    this.dirty = true;
  }

  private drawCharts(): void {
    const theme = { ...(this.dark ? DARK : LIGHT), line: this.dark ? '#5aa2f0' : CURVE };
    const width = Math.max(get('panel').clientWidth - 28, 120);
    this.loss?.draw(theme, width);
    this.forceHost.replaceChildren();
    this.force?.draw(theme, width);
  }

  private resize(): void {
    const v = get('view');
    this.stage.resize(v.clientWidth, v.clientHeight);
    this.drawCharts();
    this.dirty = true;
  }

  private tick(now: number): void {
    const passed = Math.min((now - this.before) / 1000, 0.1);
    this.before = now;
    if (this.playing) {
      this.time += passed * this.speed;
      if (this.time >= duration(this.trajectory)) {
        this.time = duration(this.trajectory);
        this.play(false);
      }
      this.dirty = true;
    }
    if (this.dirty) this.draw();
    requestAnimationFrame((t) => this.tick(t));
  }

  draw(): void {
    this.dirty = false;
    const t = this.trajectory;
    const i = this.frame;
    const part = this.playing ? Math.min(Math.max(this.time / t.dt - i, 0), 1) : 0;
    this.stage.pose(this.main, this.other, i, part, this.time);
    this.stage.controls.update();
    this.stage.render();
    this.slider.value = String(i);
    this.clock.replaceChildren(`${this.time.toFixed(3)} / ${duration(t).toFixed(3)} s `, el('small', {}, `frame ${i} of ${t.nframe - 1}`));
    this.force?.mark(this.time);
    const f = this.force?.at(this.time);
    if (f != null) this.forceValue.textContent = `${short(Number(f.toPrecision(3)))} N`;
    this.dirty = this.playing;
  }

  /// What tests read and drive.
  hooks() {
    const c = this.stage.camera;
    return {
      ready: true,
      frames: () => this.trajectory.nframe,
      frame: () => this.frame,
      time: () => this.time,
      playing: () => this.playing,
      setFrame: (i: number) => { this.play(false); this.setFrame(i); this.draw(); },
      select: (main: number, other: number) => { this.select(main, other); this.draw(); },
      project: (x: number, y: number, z: number) => this.stage.project(new THREE.Vector3(x, y, z)),
      camera: () => ({
        position: c.position.toArray(), target: this.stage.controls.target.toArray(), up: c.up.toArray(), fov: c.fov,
        rect: (({ left, top, width, height }) => ({ left, top, width, height }))(get('canvas').getBoundingClientRect()),
      }),
      lossMark: () => this.loss?.markPixel() ?? null,
      timeMark: () => this.force?.markPixel() ?? null,
    };
  }
}

function fail(text: string): void {
  document.body.replaceChildren(el('p', { class: 'failure', role: 'alert' }, text));
}

try {
  const player = new Player(readReplay(get('tangere-replay').textContent ?? ''));
  player.draw();
  (window as unknown as Record<string, unknown>).__tangere = player.hooks();
} catch (e) {
  fail((e as Error).message);
  (window as unknown as Record<string, unknown>).__tangere = { ready: false, error: (e as Error).message };
}
