// bar.ts: the bar below the view: play and pause, single frames, the frame's slider, the time, the speed.
import { duration, type Trajectory } from './data';
import { el, icon, options } from './dom';
import type { Event } from './impacts';

export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10];
const PLAY = 'M4 2.5v11l9.5-5.5z';
const PAUSE = 'M3.5 2.5h3.2v11H3.5zM9.3 2.5h3.2v11H9.3z';
const BACK = 'M3 2.5h2v11H3zM13 2.5v11L5.5 8z';
const AHEAD = 'M11 2.5h2v11h-2zM3 2.5v11L10.5 8z';

/// What the bar asks for.
export interface Transport {
  playPause(): void;
  step(by: number): void;
  goFrame(i: number): void;
  goTime(t: number): void;
}

const THUMB = 16; // pixels: the middle of the slider's handle goes from half of it to the width less half of it
const APART = 4; // pixels between marks; what is nearer has one together

export class Bar {
  /// Index into SPEEDS.
  level = SPEEDS.indexOf(1);
  private slider = el('input', { type: 'range', min: '0', value: '0', step: 'any', 'aria-label': 'Frame', id: 'scrub' });
  private marks = el('div', { id: 'marks' });
  private events: Event[] = [];
  private length = 0; // [s]
  private clock = el('div', { id: 'time' });
  private playButton = el('button', { type: 'button', class: 'play', id: 'play' });
  private speedSelect = el('select', { 'aria-label': 'Speed', id: 'speed', title: 'Speed (+ and −)' });

  constructor(host: HTMLElement, private to: Transport) {
    const step = (path: string, by: number, title: string) => {
      const b = el('button', { type: 'button', title, 'aria-label': title }, icon(path));
      b.addEventListener('click', () => to.step(by));
      return b;
    };
    options(this.speedSelect, SPEEDS.map((s) => `${s}×`), SPEEDS.map((_, i) => i), this.level);
    this.speedSelect.addEventListener('change', () => (this.level = Number(this.speedSelect.value)));
    this.playButton.addEventListener('click', () => to.playPause());
    this.slider.addEventListener('input', () => to.goFrame(Math.round(Number(this.slider.value))));
    host.append(step(BACK, -1, 'One frame back (←)'), this.playButton, step(AHEAD, 1, 'One frame ahead (→)'), el('div', { id: 'track' }, this.marks, this.slider), this.clock, this.speedSelect);
    this.showPlaying(false);
  }

  get speed(): number {
    return SPEEDS[this.level];
  }

  setLevel(i: number): void {
    this.level = Math.min(Math.max(i, 0), SPEEDS.length - 1);
    this.speedSelect.value = String(this.level);
  }

  showPlaying(on: boolean): void {
    const text = on ? 'Pause (space)' : 'Play (space)';
    this.playButton.replaceChildren(icon(on ? PAUSE : PLAY));
    this.playButton.title = text;
    this.playButton.setAttribute('aria-label', text);
  }

  showLength(t: Trajectory): void {
    this.slider.max = String(t.nframe - 1);
  }

  /// Impacts as marks on the slider, that say what they are and go to their time.
  showEvents(t: Trajectory, events: Event[]): void {
    this.events = events;
    this.length = duration(t);
    this.layMarks();
  }

  /// Anew, at the slider's present width.
  layMarks(): void {
    const width = this.slider.clientWidth - THUMB;
    const groups: Event[][] = [];
    let last = -Infinity;
    for (const e of width > 0 && this.length > 0 ? this.events : []) {
      const at = (width * e.time) / this.length;
      if (at - last < APART) groups[groups.length - 1].push(e);
      else {
        groups.push([e]);
        last = at;
      }
    }
    this.marks.replaceChildren(...groups.map((g) => {
      const lines = g.slice(0, 5).map((e) => e.text);
      if (g.length > 5) lines.push(`and ${g.length - 5} more`);
      const mark = el('button', { type: 'button', class: 'impact', tabindex: '-1', title: lines.join('\n'), 'aria-label': lines.join('; ') });
      mark.style.left = `${THUMB / 2 + (width * g[0].time) / this.length}px`;
      mark.addEventListener('click', () => this.to.goTime(g[0].time));
      return mark;
    }));
  }

  show(t: Trajectory, time: number, frame: number): void {
    this.slider.value = String(time / t.dt);
    this.clock.textContent = `${time.toFixed(3)} / ${duration(t).toFixed(3)} s`;
    this.clock.append(el('small', {}, ` frame ${frame} of ${t.nframe - 1}`));
  }
}
