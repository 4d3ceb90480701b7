// minimise_path.c: the way of a step that minimises, free of intersections. See minimise.h and tg_sim_poses_within.
//
// From iterate to iterate nothing touches: each step was bounded so. The poses that are told are the fewest of the iterates, about,
// from one to the next of which the contact model's bound allows a straight step: none where it allows that from q0 to q1.
#include <math.h>
#include <string.h>

#include "model/blocks.h"
#include "step/inside.h"
#include "step/minimise.h"

typedef struct Way {
  int n;           // nodes after node 0, q0; the last is q1
  tgReal *d;       // nv
} Way;

static const tgReal *node(const tgSim *s, int k) {
  return k == 0 ? s->start.q : tgi_minimise_own(s)->path + (size_t)(k - 1) * (size_t)s->m.nq;
}

static void difference(const tgSim *s, const Way *w, int from, int to) { tg_model_difference(&s->m, node(s, from), node(s, to), w->d); }

// The contact model allows the straight step from one node to another. What it has no room for is not allowed.
static bool allowed(tgSim *s, const Way *w, int from, int to) {
  double fraction = 0;
  tgError error = s->error;
  tgCapacity wanted = s->wanted;
  tgi_kinematics(&s->m, node(s, from), &s->end);
  difference(s, w, from, to);
  tgStatus status = s->contact_model->kind->law->step_bound(s, &s->end, w->d, &fraction);
  s->error = error;
  s->wanted = wanted;
  return status == TG_OK && fraction >= 1;
}

// the node after `at`: as far ahead as is allowed, of those tried
static int next(tgSim *s, const Way *w, int at) {
  int far = w->n;
  while (far > at + 1 && !allowed(s, w, at, far)) far = (at + 1 + far) / 2;
  return far;
}

// in the metric of the mass matrix at q0
static double length(const tgSim *s, const Way *w, int from, int to) {
  difference(s, w, from, to);
  return sqrt(fmax(0, tgRe(tgi_block_form(&s->m, w->d, s->M, w->d))));
}

static void tell(tgSim *s, const Way *w, const int *chosen, int n, tgiInside *out) {
  double whole = 0, sum = 0;
  for (int i = 0; i + 1 < n; i++) whole += length(s, w, chosen[i], chosen[i + 1]);
  for (int i = 1; i + 1 < n; i++) {
    sum += length(s, w, chosen[i - 1], chosen[i]);
    tgi_inside_add_pose(s, whole > 0 ? s->h * sum / whole : 0, node(s, chosen[i]), out);
  }
}

// the step is put back with its end alone: the straight way or none
static tgStatus straight(tgSim *s, const Way *w) {
  memcpy(tgi_minimise_own(s)->path, s->end.q, (size_t)s->m.nq * sizeof *s->end.q);
  if (allowed(s, w, 0, 1)) return TG_OK;
  return tgi_error(&s->error, TG_ERR_STATE, "The way of a step that is put back from a tape is not known, and the straight one is not "
                   "proven free of intersections; make the step again.");
}

static tgStatus find(tgSim *s, tgiInside *out) {
  int chosen[TGI_PATH + 1] = {0}, n = 1;
  Way w = {.n = tgi_minimise_own(s)->npath, .d = tgi_stack_real(s, (size_t)s->m.nv + 1)};
  if (w.d == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the way of a step; reserve more and repeat.");
  if (w.n < 0) return straight(s, &w);
  while (chosen[n - 1] < w.n) {
    chosen[n] = next(s, &w, chosen[n - 1]);
    n++;
  }
  tell(s, &w, chosen, n, out);
  return TG_OK;
}

tgStatus tgi_minimise_inside(tgSim *s, tgiInside *out) {
  if (out->impacts || s->contact_model->kind->law->step_bound == NULL) return TG_OK;
  size_t mark = tgi_stack_mark(s), nq = (size_t)s->m.nq;
  tgReal *end = tgi_stack_real(s, nq + 1);
  if (end == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the way of a step; reserve more and repeat.");
  memcpy(end, s->end.q, nq * sizeof *end);
  tgStatus status = find(s, out);
  tgi_kinematics(&s->m, end, &s->end);
  tgi_stack_free(s, mark);
  return status;
}
