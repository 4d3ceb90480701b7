// player.ts: one replay on the page: keeps the time and what is shown, and has the parts of the page do as it says.
import * as THREE from 'three';
import { Bar } from './bar';
import { Capture } from './capture';
import { short } from './charts';
import { Controls } from './controls';
import { duration, type Replay } from './data';
import { get } from './dom';
import { eventsOf, impactBeside, impactsIn, type Span } from './impacts';
import { answer, type Actions } from './keys';
import { legendOf, namesOf } from './legend';
import { readMoment, writeMoment, type Moment } from './link';
import { figuresOf, helpOf, titleOf } from './panel';
import { Plots } from './plots';
import type { Recorded } from './record';
import { MOTION, Stage, STAY } from './scene';
import { DARK, LIGHT, startsDark } from './theme';

export class Player {
  private stage: Stage;
  private bar: Bar;
  private plots: Plots;
  private controls: Controls;
  private capture: Capture;
  private help = helpOf();
  private main: number;
  private other: number; // -1: nothing
  private time = 0;
  private playing = false;
  private recording = false;
  private dirty = true;
  private before = 0;
  private dark = startsDark();
  private end = new AbortController(); // of all that this player listens to
  private spent: number[] = []; // milliseconds of script of the last frames

  constructor(private replay: Replay) {
    document.title = replay.title;
    this.main = replay.trajectories.length - 1;
    this.other = this.main > 0 ? 0 : -1;
    if (replay.runs.length > 1) this.other = this.bestOf(replay.trajectories[this.main].run - 1);
    this.stage = new Stage(replay, get<HTMLCanvasElement>('canvas'));
    for (const id of ['panel', 'strip', 'bar']) get(id).replaceChildren();
    this.plots = new Plots(replay, get('strip'), (x) => this.pickIterate(x), (x) => this.goto(x), () => {
      this.drawCharts();
      this.dirty = true;
    });
    this.bar = new Bar(get('bar'), {
      playPause: () => this.play(!this.playing),
      step: (by) => this.step(by),
      goFrame: (i) => { this.play(false); this.setFrame(i); },
      goTime: (t) => { this.play(false); this.setTime(t); },
    });
    this.capture = this.layCapture();
    this.controls = this.layPanel();
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

  private layPanel(): Controls {
    get('panel').append(...titleOf(this.replay));
    const controls = new Controls(get('panel'), this.replay, this.stage, this.dark, {
      select: (main, other) => this.select(main ?? this.main, other ?? this.other),
      setFollow: (what) => this.setFollow(what),
      setSide: (on) => this.setSide(on),
      theme: (dark) => this.theme(dark),
      redraw: () => { this.legend(); this.dirty = true; },
      copyLink: () => this.copyLink(),
      savePicture: () => void this.capture.savePicture(),
      saveVideo: (button) => void this.capture.saveVideo(button),
      showKeys: () => this.help.showModal(),
    });
    get('panel').append(...this.plots.lossNodes(), ...figuresOf(this.replay));
    document.body.append(this.help);
    get('scale').textContent = `grid ${short(this.stage.cell)} m`;
    return controls;
  }

  private layCapture(): Capture {
    const player = this;
    return new Capture({
      recorded: (width, height) => player.recorded(width, height),
      home: (time) => player.stage.home(Math.round(time / player.trajectory.dt), player.main),
      get now() { return player.time; },
      get seconds() { return duration(player.trajectory); },
      get speed() { return player.bar.speed; },
      title: player.replay.title,
    });
  }

  private listen(): void {
    const signal = this.end.signal;
    const keys = this.keys();
    this.stage.controls.addEventListener('change', () => (this.dirty = true));
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(get('view'));
    sizes.observe(get('strip'));
    signal.addEventListener('abort', () => sizes.disconnect());
    document.addEventListener('keydown', (e) => { if (!this.help.open) answer(e, keys); }, { signal });
    window.addEventListener('hashchange', () => this.apply(readMoment(location.hash)), { signal });
    window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (e) => this.theme(e.matches), { signal });
  }

  /// Another replay of the same kind in this one's place: same moment, same camera.
  successor(replay: Replay): Player {
    const before = this.moment();
    const same = replay.trajectories.length === this.replay.trajectories.length;
    const { playing } = this;
    const { showPushes, showForces, showPaths } = this.stage;
    this.end.abort();
    this.help.remove();
    this.stage.dispose();
    const canvas = get('canvas');
    canvas.replaceWith(canvas.cloneNode());
    const next = new Player(replay);
    for (const [key, on, now] of [['g', showPushes, next.stage.showPushes], ['c', showForces, next.stage.showForces], ['p', showPaths, next.stage.showPaths]] as const) {
      if (on !== now) next.controls.press(key);
    }
    next.apply(same ? before : { ...before, shown: null, against: null });
    next.bar.setLevel(this.bar.level);
    if (playing) next.play(true);
    next.draw();
    return next;
  }

  private get trajectory() {
    return this.replay.trajectories[this.main];
  }

  private get model() {
    return this.replay.models[this.replay.runs[this.trajectory.run].model];
  }

  private get bodies() {
    return this.model.bodies;
  }

  private layEvents(): void {
    this.bar.showEvents(this.trajectory, eventsOf(this.trajectory, this.model));
  }

  // the frame at or before the time; a hair above, so that i*dt is frame i
  private get frame(): number {
    const t = this.trajectory;
    return Math.min(Math.floor(this.time / t.dt + 1e-6), t.nframe - 1);
  }

  // ---- what is shown ----

  select(main: number, other: number): void {
    this.main = main;
    this.other = other === main ? -1 : other;
    this.controls.showSelected(main, this.other);
    const t = this.trajectory;
    this.time = Math.min(this.time, duration(t));
    this.bar.showLength(t);
    this.layEvents();
    if (this.stage.follow >= t.nbody) this.stage.follow = STAY;
    this.controls.layFollow(this.bodies);
    this.plots.select(t, this.other >= 0 ? this.replay.trajectories[this.other] : null);
    this.legend();
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

  private setSide(on: boolean): void {
    this.stage.setSide(on);
    this.stage.home(this.frame, this.main);
  }

  private setFollow(what: number): void {
    const whole = this.stage.follow;
    this.stage.setFollow(what, this.frame, this.main);
    if (what <= MOTION || whole === STAY) this.stage.home(this.frame, this.main);
    this.controls.showFollow(what);
    this.dirty = true;
  }

  private legend(): void {
    const parts = legendOf(this.replay, this.stage, this.main, this.other);
    get('legend').replaceChildren(...parts);
    get('legend').hidden = parts.length === 0;
    get('names').replaceChildren(...namesOf(this.replay, this.stage, this.main, this.other));
  }

  private theme(dark: boolean): void {
    this.dark = dark;
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    this.controls.showDark(dark);
    this.stage.paint(dark ? DARK : LIGHT);
    this.drawCharts();
    this.dirty = true;
  }

  private drawCharts(): void {
    this.plots.draw(this.dark ? DARK : LIGHT);
  }

  private resize(): void {
    const v = get('view');
    this.stage.resize(v.clientWidth, v.clientHeight);
    this.bar.layMarks();
    this.drawCharts();
    this.dirty = true;
  }

  /// More frames are there.
  loaded(): void {
    this.stage.loaded();
    this.plots.loaded();
    this.layEvents();
    this.legend();
  }

  private keys(): Actions {
    const press = (key: string) => () => this.controls.press(key);
    const faster = () => this.bar.setLevel(this.bar.level + 1);
    return {
      ' ': () => this.play(!this.playing),
      ArrowLeft: (shift) => this.step(shift ? -10 : -1),
      ArrowRight: (shift) => this.step(shift ? 10 : 1),
      Home: () => this.setFrame(0),
      End: () => this.setFrame(this.trajectory.nframe - 1),
      '+': faster, '=': faster, '-': () => this.bar.setLevel(this.bar.level - 1),
      i: (shift) => this.goImpact(!shift),
      f: () => this.setFollow(this.stage.follow === STAY ? MOTION : STAY),
      r: () => { this.stage.home(this.frame, this.main); this.dirty = true; },
      l: () => this.copyLink(),
      '?': () => this.help.showModal(),
      s: press('s'), c: press('c'), g: press('g'), p: press('p'), d: press('d'),
    };
  }

  // ---- links and pictures ----

  moment(): Moment {
    const f = this.stage.follow;
    const several = this.replay.trajectories.length > 1;
    return {
      t: this.time, body: f === STAY ? 'none' : f === MOTION ? 'motion' : this.bodies[f], cam: this.stage.eye(),
      shown: several ? this.main : null, against: several ? this.other : null, side: several ? this.stage.side : null, plot: this.plots.word,
    };
  }

  /// Goes to a moment; what it does not say stays.
  apply(m: Moment): void {
    const n = this.replay.trajectories.length;
    const main = m.shown !== null && m.shown >= 0 && m.shown < n ? m.shown : this.main;
    const other = m.against !== null && m.against >= -1 && m.against < n ? m.against : this.other;
    if (main !== this.main || other !== this.other) this.select(main, other);
    if (m.side !== null && m.side !== this.stage.side) this.controls.press('s');
    if (m.t !== null) this.time = Math.min(m.t, duration(this.trajectory));
    if (m.body !== null) {
      const found = m.body === 'none' ? STAY : m.body === 'motion' ? MOTION : this.bodies.indexOf(m.body);
      if (found !== this.stage.follow && (found !== -1 || m.body === 'none') && !(found === 0 && m.body !== 'motion')) this.setFollow(found);
    }
    if (m.plot !== null) this.plots.choose(m.plot);
    if (m.cam !== null) {
      this.stage.setFollow(this.stage.follow, this.frame, this.main);
      this.stage.setEye(m.cam);
    }
    this.dirty = true;
  }

  private copyLink(): void {
    void this.controls.giveLink(writeMoment(this.moment()));
  }

  // what a picture or video is drawn from; the page's own size comes back with done()
  private recorded(width: number, height: number): Recorded & { done(): void } {
    this.play(false);
    this.recording = true;
    const at = this.time;
    this.stage.resize(width, height);
    return {
      canvas: get<HTMLCanvasElement>('canvas'), width, height, dark: this.dark,
      draw: (time) => {
        this.time = Math.min(time, duration(this.trajectory));
        this.draw();
        return `${this.time.toFixed(2)} s`;
      },
      done: () => {
        this.recording = false;
        this.time = at;
        this.resize();
      },
    };
  }

  // ---- time ----

  play(on: boolean): void {
    if (on && this.time >= duration(this.trajectory) - 1e-9) this.time = 0;
    this.playing = on;
    this.dirty = true;
    this.bar.showPlaying(on);
  }

  // a single step stops at impacts on its way
  private step(by: number): void {
    this.play(false);
    const t = this.trajectory;
    const from = this.time, next = this.frame + (by < 0 && from > this.frame * t.dt + 1e-6 * t.dt ? by + 1 : by);
    const impact = Math.abs(by) === 1 ? impactBeside(t, from, by > 0) : null;
    const between = impact !== null && (by > 0 ? impact < (next - 1e-6) * t.dt : impact > (next + 1e-6) * t.dt);
    if (impact !== null && between) this.setTime(impact);
    else this.setFrame(next);
  }

  private goImpact(ahead: boolean): void {
    const time = impactBeside(this.trajectory, this.time, ahead);
    if (time === null) return;
    this.play(false);
    this.setTime(time);
  }

  private setTime(t: number): void {
    this.time = Math.min(Math.max(t, 0), duration(this.trajectory));
    this.dirty = true;
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

  private tick(now: number): void {
    if (this.end.signal.aborted) return;
    const began = performance.now();
    const passed = Math.min((now - this.before) / 1000, 0.1);
    this.before = now;
    if (this.playing) {
      this.time += passed * this.bar.speed;
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

  // Impulses that are shown: those of the last tenth of a second to look at; of a still picture those of this very time or, without
  // any, of the step from this frame.
  private span(): Span {
    const t = this.trajectory;
    const hair = 1e-6 * t.dt, flash = 0.1 * this.bar.speed;
    if (this.playing) return [this.time - flash, this.time];
    const step: Span = [(this.frame - 1e-6) * t.dt, (this.frame + 1 - 1e-6) * t.dt];
    if (this.recording) return [Math.min(step[0], this.time - flash), step[1]];
    const now: Span = [this.time - hair, this.time + hair];
    const [from, to] = impactsIn(t, now);
    return to > from ? now : step;
  }

  draw(): void {
    this.dirty = this.playing;
    const t = this.trajectory;
    const i = this.frame;
    const part = Math.min(Math.max(this.time / t.dt - i, 0), 1);
    const span = this.span();
    this.stage.pose(this.main, this.other, i, part, this.time, span, span[1] - span[0] < 1e-3 * t.dt);
    this.stage.controls.update();
    this.stage.render();
    this.bar.show(t, this.time, i);
    this.plots.mark(this.time);
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
      setTime: (time: number) => { this.play(false); this.setTime(time); this.draw(); },
      events: () => eventsOf(this.trajectory, this.model),
      select: (main: number, other: number) => { this.select(main, other); this.draw(); },
      project: (x: number, y: number, z: number) => this.stage.project(new THREE.Vector3(x, y, z)),
      views: () => this.stage.views(),
      camera: () => ({
        position: c.position.toArray(), target: this.stage.controls.target.toArray(), up: c.up.toArray(), fov: c.fov,
        rect: (({ left, top, width, height }) => ({ left, top, width, height }))(get('canvas').getBoundingClientRect()),
      }),
      lossBars: () => this.plots.lossBars(),
      lossBreaks: () => this.plots.lossBreaks(),
      lossMark: () => this.plots.lossMark(),
      timeMark: () => this.plots.timeMark(),
      script: () => [...this.spent],
      longest: () => ({ force: this.stage.longestForce, impulse: this.stage.longestImpulse, push: this.stage.longestPush }),
      picture: (width: number, height: number, frame: number) => this.capture.picture(width, height, frame * this.trajectory.dt, !readMoment(location.hash).cam),
      video: (width: number, height: number, fps: number, speed: number) => this.capture.video(width, height, fps, speed, !readMoment(location.hash).cam),
    };
  }
}
