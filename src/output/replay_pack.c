// replay_pack.c: frames as whole numbers, differences from frame to frame, byte planes, zlib.
//
// A number that changes little from frame to frame has a small difference, whose upper bytes are zero; planes put like bytes
// side by side, which is what deflate is good at. Each block begins anew, so it can be read without those before it.
#include "output/replay_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/status.h"
#include "output/emit.h"

// 32-bit words, gathered column by column
typedef struct Words {
  uint32_t *word;
  size_t n;
} Words;

int tgi_replay_stride(const tgReplayTrajectory *t) { return t->stride > 1 ? t->stride : 1; }

// ---- scale ----

static bool body_moves(const tgReplayTrajectory *t, size_t nbody, size_t b) {
  const double *p = t->body_pos + 3 * b, *q = t->body_quat + 4 * b;
  for (size_t f = 1; f < (size_t)t->nframe; f++) {
    for (size_t k = 0; k < 3; k++)
      if (fabs(p[3 * nbody * f + k] - p[k]) > 1e-6) return true;
    for (size_t k = 0; k < 4; k++)
      if (fabs(q[4 * nbody * f + k] - q[k]) > 1e-6) return true;
  }
  return false;
}

// of body origins: all, or those that move
static void grow_box_by(const double *pos, size_t npose, size_t nbody, const char *moves, double box[6]) {
  for (size_t i = 0; i < npose * nbody; i++) {
    if (moves != NULL && !moves[i % nbody]) continue;
    for (size_t k = 0; k < 3; k++) {
      box[k] = fmin(box[k], pos[3 * i + k]);
      box[3 + k] = fmax(box[3 + k], pos[3 * i + k]);
    }
  }
}

static size_t count_of(const tgReplayTrajectory *t, const int *offset) { return offset != NULL ? (size_t)offset[t->nframe] : 0; }

static void grow_box(const tgReplayTrajectory *t, size_t nbody, const char *moves, double box[6]) {
  grow_box_by(t->body_pos, (size_t)t->nframe, nbody, moves, box);
  grow_box_by(t->between_pos, count_of(t, t->between_offset), nbody, moves, box);
}

tgStatus tgi_replay_scale(const tgReplayTrajectory *t, int nbody, tgReplayScale *scale, char *moves) {
  int stride = tgi_replay_stride(t), curves = 0;
  *scale = (tgReplayScale){.nframe = (t->nframe - 1) / stride + 1};
  double all[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
  memcpy(scale->box, all, sizeof all);
  bool any = false;
  for (int b = 0; b < nbody; b++) any |= (moves[b] = body_moves(t, (size_t)nbody, (size_t)b)) != 0;
  grow_box(t, (size_t)nbody, NULL, all);
  grow_box(t, (size_t)nbody, any ? moves : NULL, scale->box);
  double extent = fmax(all[3] - all[0], fmax(all[4] - all[1], all[5] - all[2]));
  memcpy(scale->base, all, sizeof scale->base);
  // a power of two, so that the page multiplies without rounding
  scale->step = extent > 0 ? exp2(ceil(log2(extent)) - (double)TG_REPLAY_PLACE_BITS) : exp2(-TG_REPLAY_PLACE_BITS);
  for (int f = 0; t->contact_offset != NULL && f < t->nframe; f += stride)
    scale->ncontact += (size_t)(t->contact_offset[f + 1] - t->contact_offset[f]);
  scale->nimpact = count_of(t, t->impact_offset);
  scale->nbetween = count_of(t, t->between_offset);
  for (int i = 0; i < t->nsignal; i++) curves += t->signal[i].npart;
  scale->low = malloc(((size_t)curves + 1) * 2 * sizeof *scale->low);
  if (scale->low == NULL) return TG_ERR_MEMORY;
  scale->high = scale->low + curves;
  for (int i = 0, at = 0; i < t->nsignal; i++) {
    const tgReplaySignal *s = &t->signal[i];
    for (int c = 0; c < s->npart; c++, at++) {
      double low = INFINITY, high = -INFINITY;
      for (size_t r = 0; r < (size_t)s->nrow; r++) {
        low = fmin(low, s->data[r * (size_t)s->npart + (size_t)c]);
        high = fmax(high, s->data[r * (size_t)s->npart + (size_t)c]);
      }
      scale->low[at] = s->nrow > 0 ? low : 0;
      scale->high[at] = s->nrow > 0 ? high : 0;
    }
  }
  return TG_OK;
}

void tgi_replay_scale_free(tgReplayScale *scale) {
  free(scale->low);
  scale->low = scale->high = NULL;
}

// ---- words ----

// the difference of two counts so that small ones of either sign are small
static uint32_t zigzag(int32_t now, int32_t before) {
  uint32_t d = (uint32_t)now - (uint32_t)before;
  return d << 1 ^ (uint32_t) - (int32_t)(d >> 31);
}

static uint32_t float_bits(double x) {
  float f = (float)x;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

// what one block is made of: frames from, from + stride, ... , n of them
typedef struct Frames {
  const tgReplayTrajectory *t;
  const tgReplayScale *scale;
  size_t from, stride, n, nbody;
} Frames;

static size_t frame(const Frames *b, size_t i) { return b->from + i * b->stride; }

// columns of n poses, `stride` apart
static void put_places(Words *w, const Frames *b, const double *pos, size_t n, size_t stride) {
  for (size_t c = 0; c < 3 * b->nbody; c++) {
    int32_t before = 0;
    for (size_t i = 0; i < n; i++) {
      double x = pos[i * stride * 3 * b->nbody + c];
      int32_t now = (int32_t)lround((x - b->scale->base[c % 3]) / b->scale->step);
      w->word[w->n++] = zigzag(now, before);
      before = now;
    }
  }
}

// q and -q are the same turn: the one nearer to the pose before
static void put_turns(Words *w, const Frames *b, const double *quat, size_t n, size_t stride) {
  for (size_t body = 0; body < b->nbody; body++) {
    int32_t before[4] = {0};
    double sign = 1;
    const double *last = NULL;
    for (size_t i = 0; i < n; i++) {
      const double *q = quat + (i * stride * b->nbody + body) * 4;
      if (last != NULL && q[0] * last[0] + q[1] * last[1] + q[2] * last[2] + q[3] * last[3] < 0) sign = -sign;
      for (size_t k = 0; k < 4; k++) {
        int32_t now = (int32_t)lround(sign * q[k] * (1 << TG_REPLAY_TURN_BITS));
        w->word[w->n + k * n + i] = zigzag(now, before[k]);
        before[k] = now;
      }
      last = q;
    }
    w->n += 4 * n;
  }
}

static void put_poses(Words *w, const Frames *b, const double *pos, const double *quat, size_t n, size_t stride) {
  put_places(w, b, pos, n, stride);
  put_turns(w, b, quat, n, stride);
}

static void put_contacts(Words *w, const Frames *b) {
  const int *o = b->t->contact_offset;
  for (size_t i = 0; i < b->n; i++) w->word[w->n++] = (uint32_t)(o[frame(b, i) + 1] - o[frame(b, i)]);
  for (size_t k = 0; k < 6; k++) {
    const double *x = k < 3 ? b->t->contact_pos : b->t->contact_force;
    for (size_t i = 0; i < b->n; i++)
      for (int c = o[frame(b, i)]; c < o[frame(b, i) + 1]; c++) w->word[w->n++] = float_bits(x[3 * (size_t)c + k % 3]);
  }
}

// The states from frame i to the next that is written: what happens in their steps belongs to the frame.
static size_t state_from(const Frames *b, size_t i) { return frame(b, i); }
static size_t state_to(const Frames *b, size_t i) {
  size_t end = frame(b, i) + b->stride, n = (size_t)b->t->nframe;
  return end < n ? end : n;
}
static int first_of(const Frames *b, const int *offset, size_t i) { return offset[state_from(b, i)]; }
static int end_of(const Frames *b, const int *offset, size_t i) { return offset[state_to(b, i)]; }

static void put_counts(Words *w, const Frames *b, const int *offset) {
  for (size_t i = 0; i < b->n; i++) w->word[w->n++] = (uint32_t)(end_of(b, offset, i) - first_of(b, offset, i));
}

// after the frame that is written
static void put_times(Words *w, const Frames *b, const int *offset, const double *time) {
  for (size_t i = 0; i < b->n; i++)
    for (size_t f = state_from(b, i); f < state_to(b, i); f++)
      for (int k = offset[f]; k < offset[f + 1]; k++) w->word[w->n++] = float_bits((double)(f - state_from(b, i)) * b->t->dt + time[k]);
}

static void put_impacts(Words *w, const Frames *b) {
  const tgReplayTrajectory *t = b->t;
  const int *o = t->impact_offset, from = first_of(b, o, 0), to = end_of(b, o, b->n - 1);
  put_counts(w, b, o);
  put_times(w, b, o, t->impact_time);
  for (int side = 0; side < 2; side++)
    for (int k = from; k < to; k++) w->word[w->n++] = (uint32_t)t->impact_geom[2 * k + side];
  for (int c = 0; c < 6; c++)
    for (int k = from; k < to; k++) w->word[w->n++] = float_bits((c < 3 ? t->impact_pos : t->impact_impulse)[3 * k + c % 3]);
}

static void put_between(Words *w, const Frames *b) {
  const tgReplayTrajectory *t = b->t;
  const int *o = t->between_offset;
  size_t from = (size_t)first_of(b, o, 0), n = (size_t)end_of(b, o, b->n - 1) - from;
  put_counts(w, b, o);
  put_times(w, b, o, t->between_time);
  put_poses(w, b, t->between_pos + 3 * b->nbody * from, t->between_quat + 4 * b->nbody * from, n, 1);
}

static void put_floats(Words *w, const Frames *b, const double *x, size_t columns) {
  for (size_t c = 0; c < columns; c++)
    for (size_t i = 0; i < b->n; i++) w->word[w->n++] = float_bits(x[frame(b, i) * columns + c]);
}

static void put_signals(Words *w, const Frames *b) {
  size_t at = 0;
  for (int k = 0; k < b->t->nsignal; k++) {
    const tgReplaySignal *s = &b->t->signal[k];
    for (size_t c = 0; c < (size_t)s->npart; c++, at++) {
      double low = b->scale->low[at], range = b->scale->high[at] - low;
      int32_t before = 0;
      for (size_t i = 0; i < b->n; i++) {
        // a frame without a value repeats the last; the page knows how many rows there are
        size_t row = frame(b, i) < (size_t)s->nrow ? frame(b, i) : (size_t)s->nrow - 1;
        double part = range > 0 && s->nrow > 0 ? (s->data[row * (size_t)s->npart + c] - low) / range : 0;
        int32_t now = (int32_t)lround(part * (double)TG_REPLAY_LEVELS);
        w->word[w->n++] = zigzag(now, before);
        before = now;
      }
    }
  }
}

// ---- a block ----

static size_t inside_of(const Frames *b, const int *offset) { return (size_t)(end_of(b, offset, b->n - 1) - first_of(b, offset, 0)); }

static size_t block_words(const Frames *b) {
  size_t n = 7 * b->nbody * b->n;
  if (b->t->contact_offset != NULL) {
    n += b->n;
    for (size_t i = 0; i < b->n; i++) n += 6 * (size_t)(b->t->contact_offset[frame(b, i) + 1] - b->t->contact_offset[frame(b, i)]);
  }
  if (b->scale->nimpact > 0) n += b->n + 9 * inside_of(b, b->t->impact_offset);
  if (b->scale->nbetween > 0) n += b->n + (1 + 7 * b->nbody) * inside_of(b, b->t->between_offset);
  if (b->t->push != NULL) n += 6 * b->nbody * b->n;
  for (int k = 0; k < b->t->nsignal; k++) n += (size_t)b->t->signal[k].npart * b->n;
  return n;
}

tgStatus tgi_replay_block(FILE *out, const tgReplayTrajectory *t, int nbody, const tgReplayScale *scale, int k) {
  size_t stride = (size_t)tgi_replay_stride(t), first = (size_t)k * TG_REPLAY_BLOCK, left = (size_t)scale->nframe - first;
  Frames b = {t, scale, first * stride, stride, left < TG_REPLAY_BLOCK ? left : TG_REPLAY_BLOCK, (size_t)nbody};
  size_t n = block_words(&b);
  uLongf room = compressBound((uLong)(4 * n));
  Words w = {malloc(4 * n), 0};
  uint8_t *plane = malloc(4 * n), *packed = malloc(room);
  tgStatus status = w.word != NULL && plane != NULL && packed != NULL ? TG_OK : TG_ERR_MEMORY;
  if (status == TG_OK) {
    put_poses(&w, &b, t->body_pos + frame(&b, 0) * 3 * b.nbody, t->body_quat + frame(&b, 0) * 4 * b.nbody, b.n, b.stride);
    if (t->contact_offset != NULL) put_contacts(&w, &b);
    if (scale->nimpact > 0) put_impacts(&w, &b);
    if (scale->nbetween > 0) put_between(&w, &b);
    if (t->push != NULL) {
      put_floats(&w, &b, t->push, 3 * b.nbody);
      put_floats(&w, &b, t->push_at, 3 * b.nbody);
    }
    put_signals(&w, &b);
    for (size_t i = 0; i < n; i++)
      for (size_t p = 0; p < 4; p++) plane[p * n + i] = (uint8_t)(w.word[i] >> (8 * p));
    if (compress2(packed, &room, plane, (uLong)(4 * n), 6) != Z_OK) status = TG_ERR_MEMORY;
  }
  if (status == TG_OK) {
    tgBase64 state;
    tgi_base64_begin(&state, out);
    tgi_base64_put(&state, packed, room);
    tgi_base64_end(&state);
  }
  free(packed);
  free(plane);
  free(w.word);
  return status;
}
