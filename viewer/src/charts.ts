// charts.ts: the loss over the iterations with a mark at the shown iterate, and the contact force over time with a
// line at the shown instant.
import uPlot from 'uplot';
import type { Loss } from './data';

export interface ChartTheme {
  text: string;
  grid: string;
  line: string;
  mark: string;
}

const HEIGHT = 150;
const FONT = '11px system-ui, sans-serif';

/// 0.001234 as "1.23e-3", 12.345 as "12.3": four places at most, for axes and read-outs.
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

/// One curve with one mark on it; redrawn from scratch when the theme changes.
export class Chart {
  private plot: uPlot | null = null;
  private markAt: number | null = null;
  readonly log: boolean;

  constructor(
    private host: HTMLElement, private x: number[], private y: (number | null)[],
    private kind: 'loss' | 'time', private onPick: (x: number) => void,
  ) {
    const seen = y.filter((v): v is number => v !== null);
    const least = Math.min(...seen);
    this.log = kind === 'loss' && seen.length > 0 && least > 0 && Math.max(...seen) / least > 30;
    host.addEventListener('pointerdown', (e) => this.pick(e));
    host.addEventListener('pointermove', (e) => e.buttons === 1 && this.pick(e));
  }

  private pick(e: PointerEvent): void {
    const u = this.plot;
    if (u === null) return;
    const r = u.over.getBoundingClientRect();
    if (e.clientX < r.left - 6 || e.clientX > r.right + 6 || e.clientY < r.top || e.clientY > r.bottom) return;
    this.onPick(u.posToVal(Math.min(Math.max(e.clientX - r.left, 0), r.width), 'x'));
  }

  draw(theme: ChartTheme, width: number): void {
    this.plot?.destroy();
    const first = this.x[0];
    const last = this.x[this.x.length - 1];
    this.plot = new uPlot({
      width, height: HEIGHT,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: () => [first, last > first ? last : first + 1] },
        y: this.log ? { distr: 3 } : this.kind === 'time' ? { range: (_, lo, hi) => [Math.min(lo, 0), hi > 0 ? hi * 1.06 : 1] } : {},
      },
      axes: [
        axis(theme, 24, { space: 44, values: (_, v) => v.map(short) }),
        axis(theme, 46, {
          space: 28, values: (_, v) => v.map((e) => (e === null ? '' : short(e))),
          ...(this.log ? { filter: decades, grid: { stroke: theme.grid, width: 1, filter: decades } } : {}),
        }),
      ],
      series: [{}, {
        stroke: theme.line, width: 1.75, spanGaps: false,
        points: { show: this.x.length < 3 },
        fill: this.kind === 'time' ? theme.line + '22' : undefined,
      }],
      hooks: { draw: [(u) => this.drawMark(u, theme)] },
    }, [this.x, this.y] as uPlot.AlignedData, this.host);
  }

  private drawMark(u: uPlot, theme: ChartTheme): void {
    if (this.markAt === null) return;
    const c = u.ctx;
    const px = u.valToPos(this.markAt, 'x', true);
    const k = window.devicePixelRatio;
    c.save();
    c.strokeStyle = c.fillStyle = theme.mark;
    c.lineWidth = 1.25 * k;
    c.beginPath();
    c.moveTo(px, u.bbox.top);
    c.lineTo(px, u.bbox.top + u.bbox.height);
    c.stroke();
    const y = this.at(this.markAt);
    if (y !== null) {
      c.beginPath();
      c.arc(px, u.valToPos(y, 'y', true), 4 * k, 0, 2 * Math.PI);
      c.fill();
    }
    c.restore();
  }

  /// Height of the curve at the sample nearest to x, null where it has none.
  at(x: number): number | null {
    let lo = 0;
    let hi = this.x.length - 1;
    while (hi - lo > 1) {
      const mid = (lo + hi) >> 1;
      if (this.x[mid] <= x) lo = mid;
      else hi = mid;
    }
    return this.y[Math.abs(this.x[hi] - x) < Math.abs(this.x[lo] - x) ? hi : lo];
  }

  /// Moves the mark; null takes it away.
  mark(x: number | null): void {
    if (x === this.markAt) return;
    this.markAt = x;
    this.plot?.redraw(false, false);
  }

  /// Page position in CSS pixels of the mark's foot, null when there is none.
  markPixel(): number | null {
    if (this.plot === null || this.markAt === null) return null;
    return this.plot.over.getBoundingClientRect().left + this.plot.valToPos(this.markAt, 'x');
  }
}

export function lossChart(host: HTMLElement, loss: Loss, onPick: (x: number) => void): Chart {
  return new Chart(host, loss.x, loss.y, 'loss', onPick);
}
