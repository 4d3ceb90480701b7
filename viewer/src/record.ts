// record.ts: pictures and videos of the view, drawn frame by frame, so they do not depend on how fast this machine draws.
import { ArrayBufferTarget, Muxer } from 'webm-muxer';

/// What is recorded: draw() draws the scene at a time of the run into `canvas`, which is width x height pixels.
export interface Recorded {
  canvas: HTMLCanvasElement;
  width: number;
  height: number;
  dark: boolean;
  draw(time: number): string; // the caption
}

// the scene on its background, with a caption in the corner
function compose(r: Recorded, time: number, to: CanvasRenderingContext2D): void {
  const caption = r.draw(time);
  const { width: w, height: h } = r;
  const sky = to.createRadialGradient(w / 2, 0.35 * h, 0, w / 2, 0.35 * h, 0.75 * Math.hypot(w, h));
  (r.dark ? ['#30353d', '#1c1f24', '#16181c'] : ['#fdfdfe', '#e6eaef', '#dce1e8']).forEach((c, i) => sky.addColorStop([0, 0.75, 1][i], c));
  to.fillStyle = sky;
  to.fillRect(0, 0, w, h);
  to.drawImage(r.canvas, 0, 0, w, h);
  const size = Math.max(12, Math.round(h / 45));
  to.font = `${size}px system-ui, sans-serif`;
  to.fillStyle = r.dark ? '#e4e7eb' : '#22262c';
  to.fillText(caption, size, h - size);
}

function board(r: Recorded): CanvasRenderingContext2D {
  const canvas = document.createElement('canvas');
  canvas.width = r.width;
  canvas.height = r.height;
  const to = canvas.getContext('2d', { alpha: false });
  if (to === null) throw new Error('this browser gives no canvas to draw on');
  return to;
}

/// A PNG of one moment.
export async function takePicture(r: Recorded, time: number): Promise<Blob> {
  const to = board(r);
  compose(r, time, to);
  const blob = await new Promise<Blob | null>((done) => to.canvas.toBlob(done, 'image/png'));
  if (blob === null) throw new Error('this browser makes no PNG');
  return blob;
}

async function codec(width: number, height: number, fps: number): Promise<[string, string, number]> {
  if (typeof VideoEncoder === 'undefined') throw new Error('this browser encodes no video (WebCodecs is missing)');
  const bitrate = Math.round(0.12 * width * height * fps);
  for (const [word, name] of [['vp09.00.40.08', 'V_VP9'], ['vp8', 'V_VP8']]) {
    if ((await VideoEncoder.isConfigSupported({ codec: word, width, height, bitrate })).supported === true) return [word, name, bitrate];
  }
  throw new Error(`this browser encodes no WebM of ${width} x ${height} pixels`);
}

/// A WebM of a run of `seconds`, `speed` times as fast. progress: share done; stop: ask to end early.
export async function takeVideo(
  r: Recorded, seconds: number, speed: number, fps: number, progress: (share: number) => void,
): Promise<Blob> {
  const [word, name, bitrate] = await codec(r.width, r.height, fps);
  const target = new ArrayBufferTarget();
  const muxer = new Muxer({ target, video: { codec: name, width: r.width, height: r.height, frameRate: fps } });
  let failure: Error | null = null;
  const encoder = new VideoEncoder({ output: (chunk, meta) => muxer.addVideoChunk(chunk, meta), error: (e) => (failure = e) });
  encoder.configure({ codec: word, width: r.width, height: r.height, bitrate, framerate: fps });
  const to = board(r);
  const count = Math.max(1, Math.round((seconds / speed) * fps) + 1);
  for (let i = 0; i < count; i++) {
    compose(r, Math.min((i * speed) / fps, seconds), to);
    const frame = new VideoFrame(to.canvas, { timestamp: Math.round((1e6 * i) / fps), duration: Math.round(1e6 / fps) });
    encoder.encode(frame, { keyFrame: i % (2 * fps) === 0 });
    frame.close();
    progress((i + 1) / count);
    while (encoder.encodeQueueSize > 4 && failure === null) await new Promise((done) => setTimeout(done, 4));
    if (i % 8 === 0) await new Promise((done) => setTimeout(done, 0));
    if (failure !== null) throw failure;
  }
  await encoder.flush();
  muxer.finalize();
  return new Blob([target.buffer], { type: 'video/webm' });
}

/// Offers a blob as a download.
export function save(blob: Blob, name: string): void {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
}
