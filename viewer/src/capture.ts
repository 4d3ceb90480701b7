// capture.ts: pictures and videos of a player, and the buttons that save them.
import { get } from './dom';
import { save, takePicture, takeVideo, type Recorded } from './record';

/// Who is taken: recorded() stops it and gives its view that size, done() gives both back.
export interface Subject {
  recorded(width: number, height: number): Recorded & { done(): void };
  home(time: number): void;
  readonly now: number;
  readonly seconds: number;
  readonly speed: number;
  readonly title: string;
}

export class Capture {
  constructor(private of: Subject) {}

  /// A PNG of the view at a time. frame: of the home view of that size.
  async picture(width: number, height: number, time = this.of.now, frame = false): Promise<Blob> {
    const r = this.of.recorded(width, height);
    if (frame) this.of.home(time);
    try {
      return await takePicture(r, time);
    } finally {
      r.done();
    }
  }

  async video(width: number, height: number, fps: number, speed: number, frame = false, progress: (share: number) => void = () => {}): Promise<Blob> {
    const r = this.of.recorded(width - (width % 2), height - (height % 2));
    if (frame) this.of.home(0);
    try {
      return await takeVideo(r, this.of.seconds, speed, fps, progress);
    } finally {
      r.done();
    }
  }

  private get fileName(): string {
    return this.of.title.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 60) || 'replay';
  }

  async savePicture(): Promise<void> {
    const v = get('view');
    save(await this.picture(v.clientWidth, v.clientHeight), `${this.fileName}.png`);
  }

  async saveVideo(button: HTMLButtonElement): Promise<void> {
    const v = get('view');
    button.disabled = true;
    try {
      const blob = await this.video(v.clientWidth, v.clientHeight, 30, this.of.speed, false, (share) => (button.textContent = `${Math.round(100 * share)} %`));
      save(blob, `${this.fileName}.webm`);
      button.textContent = 'Video';
    } catch (e) {
      button.textContent = (e as Error).message;
    }
    button.disabled = false;
  }
}
