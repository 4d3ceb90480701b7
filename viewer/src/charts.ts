// charts.ts: curves with a line at the shown place that follows the pointer: the loss over the iterations, signals over time.
import uPlot from 'uplot';
import { el } from './dom';

export interface ChartTheme {
  text: string;
  grid: string;
  mark: string;
  curves: string[];
}

/// One curve. color: index into the theme's; fill: the area below it is tinted.
export interface Curve {
  x: number[];
  y: (number | null)[];
  color: number;
  fill?: boolean;
  thin?: boolean;
}

/// A bar at x, from low to high.
export interface Bar {
  x: number;
  low: number;
  high: number;
  color: number;
}

/// A place at which what a curve shows becomes another thing, and the name of what follows.
export interface Break {
  x: number;
  name: string;
}

const BAR = 8; // CSS pixels wide
const FONT = '11px system-ui, sans-serif';

/// 0.001234 as "1.234e-3", 12.345 as "12.35": four places at most, for axes and read-outs.
export function short(v: number): string {
  if (v === 0) return '0';
  const a = Math.abs(v);
  if (a >= 1e5 || a < 1e-3) return v.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e');
  return String(Number(v.toPrecision(4)));
}

function axis(theme: ChartTheme, size: number, extra: Partial<uPlot.Axis> = {}): uPlot.Axis {
  return {
    stroke: theme.text, font: FONT, size, gap: 4,
    grid: { stroke: theme.grid, width: 1 }, ticks: { show: false },
    ...extra,
  };
}

// of the splits of a logarithmic axis, whole powers of ten
function decades(_: uPlot, splits: number[]): (number | null)[] {
  return splits.map((v) => (Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-6 ? v : null));
}

/// Height of a curve at the sample nearest to x, null where it has none.
export function heightAt(c: Curve, x: number): number | null {
  let lo = 0;
  let hi = c.x.length - 1;
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    if (c.x[mid] <= x) lo = mid;
    else hi = mid;
  }
  return c.y[Math.abs(c.x[hi] - x) < Math.abs(c.x[lo] - x) ? hi : lo];
}

/// Curves over one axis with one mark; redrawn from scratch when curves or theme change. The mark is an element of its own: moving it draws nothing.
export class Chart {
  log = false;
  private plot: uPlot | null = null;
  private curves: Curve[] = [];
  private bars: Bar[] = [];
  private breaks: Break[] = [];
  private markAt: number | null = null;
  private line = el('i', { class: 'mark', hidden: true });

  constructor(private host: HTMLElement, private kind: 'loss' | 'time', private height: number, private onPick: (x: number) => void) {
    host.style.height = `${height}px`; // while it is drawn anew, too
    host.addEventListener('pointerdown', (e) => {
      host.setPointerCapture(e.pointerId);
      this.pick(e);
    });
    host.addEventListener('pointermove', (e) => e.buttons === 1 && this.pick(e));
  }

  set(curves: Curve[], bars: Bar[] = [], breaks: Break[] = []): void {
    this.curves = curves;
    this.bars = bars;
    this.breaks = breaks;
    const seen = curves.flatMap((c) => c.y).filter((v): v is number => v !== null);
    const least = seen.reduce((a, b) => Math.min(a, b), Infinity);
    const most = seen.reduce((a, b) => Math.max(a, b), -Infinity);
    this.log = this.kind === 'loss' && seen.length > 0 && least > 0 && most / least > 30;
  }

  private pick(e: PointerEvent): void {
    const u = this.plot;
    if (u === null) return;
    const r = u.over.getBoundingClientRect();
    this.onPick(u.posToVal(Math.min(Math.max(e.clientX - r.left, 0), r.width), 'x'));
  }

  draw(theme: ChartTheme, width: number): void {
    this.plot?.destroy();
    this.host.replaceChildren();
    this.plot = null;
    if (this.curves.length === 0 || width < 60) return;
    const first = this.curves.reduce((a, c) => Math.min(a, c.x[0]), Infinity);
    const last = this.curves.reduce((a, c) => Math.max(a, c.x[c.x.length - 1]), -Infinity);
    const tables = this.curves.map((c) => [c.x, c.y] as uPlot.AlignedData);
    const same = this.curves.every((c) => c.x === this.curves[0].x);
    const data = same ? ([this.curves[0].x, ...this.curves.map((c) => c.y)] as uPlot.AlignedData) : uPlot.join(tables);
    this.plot = new uPlot({
      width, height: this.height,
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: () => [first, last > first ? last : first + 1] },
        y: this.log ? { distr: 3 } : this.kind === 'time' ? { range: (_, lo, hi) => span(lo, hi) } : {},
      },
      axes: [
        axis(theme, 24, { space: 44, values: (_, v) => v.map(short) }),
        axis(theme, 50, {
          space: 26, values: (_, v) => v.map((e) => (e === null ? '' : short(e))),
          ...(this.log ? { filter: decades, grid: { stroke: theme.grid, width: 1, filter: decades } } : {}),
        }),
      ],
      series: [{}, ...this.curves.map((c) => {
        const stroke = theme.curves[c.color % theme.curves.length];
        return { stroke, width: c.thin === true ? 1 : 1.75, spanGaps: false, points: { show: c.x.length < 3 }, fill: c.fill === true ? stroke + '22' : undefined };
      })],
      hooks: { ready: [() => this.place()], drawSeries: [(u, i) => i === 1 && this.drawBars(u, theme)], draw: [(u) => this.drawBreaks(u, theme)] }, // sizes are known by then
    }, data, this.host);
    this.line.style.background = theme.mark;
    this.plot.over.append(this.line);
  }

  // what lies outside the axis ends at its edge
  private drawBars(u: uPlot, theme: ChartTheme): void {
    const { left, top, width, height } = u.bbox;
    const wide = BAR * (window.devicePixelRatio || 1);
    const y = (v: number) => (this.log && v <= 0 ? top + height : Math.min(Math.max(u.valToPos(v, 'y', true), top), top + height));
    u.ctx.save();
    for (const bar of this.bars) {
      const x = Math.min(Math.max(u.valToPos(bar.x, 'x', true), left + wide / 2), left + width - wide / 2);
      u.ctx.fillStyle = theme.curves[bar.color % theme.curves.length] + '66';
      u.ctx.fillRect(x - wide / 2, y(bar.high), wide, Math.max(y(bar.low) - y(bar.high), 1));
    }
    u.ctx.restore();
  }

  // a dashed line where a stage begins, its name at the foot where it has room before the next
  private drawBreaks(u: uPlot, theme: ChartTheme): void {
    const { left, top, width, height } = u.bbox;
    const ratio = window.devicePixelRatio || 1;
    u.ctx.save();
    u.ctx.font = FONT.replace('11px', `${11 * ratio}px`);
    u.ctx.fillStyle = u.ctx.strokeStyle = theme.text;
    u.ctx.lineWidth = ratio;
    u.ctx.setLineDash([3 * ratio, 3 * ratio]);
    this.breaks.forEach((b, i) => {
      const x = u.valToPos(b.x, 'x', true);
      const next = i + 1 < this.breaks.length ? u.valToPos(this.breaks[i + 1].x, 'x', true) : left + width;
      if (i > 0) {
        u.ctx.beginPath();
        u.ctx.moveTo(x, top);
        u.ctx.lineTo(x, top + height);
        u.ctx.stroke();
      }
      if (u.ctx.measureText(b.name).width + 6 * ratio < next - x) u.ctx.fillText(b.name, x + 3 * ratio, top + height - 4 * ratio);
    });
    u.ctx.restore();
  }

  /// Where the stages of the shown run begin.
  breaksShown(): Break[] {
    return this.breaks;
  }

  /// The bars of the shown run.
  barsShown(): Bar[] {
    return this.bars;
  }

  private place(): void {
    this.line.hidden = this.plot === null || this.markAt === null;
    if (this.plot !== null && this.markAt !== null) this.line.style.transform = `translateX(${this.plot.valToPos(this.markAt, 'x')}px)`;
  }

  /// Moves the mark; null takes it away.
  mark(x: number | null): void {
    if (x === this.markAt) return;
    this.markAt = x;
    this.place();
  }

  /// Page position in CSS pixels of the mark's foot, null when there is none.
  markPixel(): number | null {
    if (this.plot === null || this.markAt === null) return null;
    return this.plot.over.getBoundingClientRect().left + this.plot.valToPos(this.markAt, 'x');
  }
}

// a range with zero in it when it is near, and a little air
function span(lo: number | null, hi: number | null): [number, number] {
  if (lo === null || hi === null) return [0, 1];
  const air = 0.06 * (hi - lo);
  const low = lo >= 0 && lo < 2 * (hi - lo) ? 0 : lo - air;
  const high = hi <= 0 && -hi < 2 * (hi - lo) ? 0 : hi + air;
  return high > low ? [low, high] : [low - 1, high + 1];
}
