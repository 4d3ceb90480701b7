// resultant.c: the forces of pairs of geoms as they are shown: one each, of the last evaluation of the step.
#include "contact/barrier/barrier.h"
#include "contact/barrier/pair/height.h"
#include "math/vec3.h"

int tgi_barrier_touches(const tgSim *s) { return ((const tgiBarrierWork *)s->solver)->sums.near.n; }

// the plane B; of two surfaces, the point of A farthest against the force on it and that force's direction, A being the smaller
static void face_of(tgSim *s, const tgiGeomPair *g, const double f[3], double at[3], double n[3]) {
  const tgiBarrierWork *w = s->solver;
  if (g->plane) {
    const tgReal *frame = w->sums.frame + 12 * g->B;
    for (int k = 0; k < 3; k++) {
      at[k] = tgRe(frame[k]);
      n[k] = tgRe(frame[3 + 3 * k + 2]);
    }
    return;
  }
  const tgiWorldTree *A = tgi_barrier_tree_at(s, g->A, w->sums.frame + 12 * g->A);   // a derivative leaves it at the start of the step
  double least = INFINITY;
  tgReal axes[9], low[3] = {0, 0, 0}, unit[3] = {f[0], f[1], f[2]};
  if (A->surface->oval) {
    tgi_v3_unit(unit, unit);
    tgi_world_axes(A->vert, axes);
    tgi_oval_point(axes, unit, low);
  }
  for (int i = 0; i < (A->surface->oval ? 1 : A->surface->nvert); i++) {
    const tgReal *x = A->vert + 3 * i;
    double height = f[0] * tgRe(x[0]) + f[1] * tgRe(x[1]) + f[2] * tgRe(x[2]);
    if (height >= least) continue;
    least = height;
    for (int k = 0; k < 3; k++) at[k] = tgRe(A->origin[k] + x[k]);
  }
  for (int k = 0; k < 3; k++) {
    n[k] = f[k];
    at[k] -= tgRe(low[k]) + tgRe(A->round) * f[k] / sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
  }
}

// minus the gradient in the twist of A, of the barrier and of friction
bool tgi_barrier_touch(const tgSim *s, int i, tgContactInfo *out) {
  const tgiBarrierWork *work = s->solver;
  const tgiGeomPair *g = &work->sums.near.pair[i];
  const tgReal *slope = work->sums.pair[i].sum.g;
  int acting = tgi_lagged_acting(s, g);
  double mu = tgRe(tgi_barrier_weight(s, g)), f[3], w[6], ff = 0, at[3], n[3];
  for (int k = 0; k < 6; k++) w[k] = -mu * tgRe(slope[k]) - (acting >= 0 ? tgRe(work->lagged.term[acting].g[k]) : 0);
  for (int k = 0; k < 3; k++) {
    f[k] = -mu * tgRe(slope[3 + k]);
    ff += f[k] * f[k];
  }
  if (!work->sums.pair[i].separated || !(ff > 0)) return false;
  face_of((tgSim *)(uintptr_t)s, g, f, at, n);
  tgi_touch_resultant(s, g->A, g->B, w, at, n, out);
  out->distance = work->sums.pair[i].clear.solved;
  tgi_touch_slip(s, 1, tgRe(TG_NUMBER(s, slip_speed)), out);
  return true;
}
