// way.ts: where bodies are between two frames: straight from pose to pose, through those that the file has between the frames.
import type { Trajectory } from './data';

/// A pose of all bodies: entry `at` of arrays of such.
export interface Pose {
  pos: Float32Array;
  quat: Float32Array;
  at: number;
}

/// Two poses, and the share 0..1 of the way from one to the other.
export interface Leg {
  from: Pose;
  to: Pose;
  part: number;
}

/// At a frame and a share 0..1 of the time to the next.
export function legAt(t: Trajectory, frame: number, part: number): Leg {
  const next = Math.min(frame + 1, t.loaded - 1);
  const pose = (at: number): Pose => ({ pos: t.pos, quat: t.quat, at });
  const b = t.between;
  const first = b === null ? 0 : b.offset[frame], end = b === null || next === frame ? first : b.offset[frame + 1];
  if (b === null || first === end) return { from: pose(frame), to: pose(next), part };
  const time = (frame + part) * t.dt;
  let k = first;
  while (k < end && b.time[k] <= time) k++;
  const node = (i: number): Pose => ({ pos: b.pos, quat: b.quat, at: i });
  const start = k === first ? frame * t.dt : b.time[k - 1], stop = k === end ? next * t.dt : b.time[k];
  return {
    from: k === first ? pose(frame) : node(k - 1), to: k === end ? pose(next) : node(k),
    part: stop > start ? Math.min(Math.max((time - start) / (stop - start), 0), 1) : 1,
  };
}
