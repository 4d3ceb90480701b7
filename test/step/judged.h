// judged.h: motions under `toi` with every piece of every step judged by exact predicates, for tests.
#ifndef TG_TEST_STEP_JUDGED_H
#define TG_TEST_STEP_JUDGED_H

#include <math.h>
#include <stdlib.h>

#include "step/event.h"
#include "step/impulse_parts.h"
#include "support/rig.h"
#include "tangere/geometry.h"
#include "tangere/step.h"

// early: of the steps that stalled, those that had room for more pieces and impacts
typedef struct Total { int impacts, stalled, early; double least; } Total;

typedef struct Poses { double *q; int n, room; } Poses;

// Piece k, which is in the sim again, ends to the bit where the next one began.
static inline void check_put_back(tgSim *s, int k, tgReal *w, tgReal *u) {
  const tgiEvents *e = tgi_events(s);
  bool impact = e->piece[k].kind == TGI_PIECE_IMPACT;
  if (k + 1 == e->n) return;
  for (int d = 0; d < s->m.nv; d++) {
    if (tgi_piece_stalls(s, d, k) || e->piece[k].kind == TGI_PIECE_CUT) continue;
    double ends = tgRe(impact ? s->rows->after[d] : s->end.vel[d]), begins = tgRe(tgi_piece_v(s, k + 1)[d]);
    check_true(ends == begins, "piece %d of %d: velocity %d is %g, was %g", k, e->n, d, ends, begins);
  }
  if (impact) return;
  tgiFlight path = tgi_piece_path(s, k, e->s[k]);
  tgi_flight_at(&s->m, &path, e->t[k], w, u);
  tg_model_integrate(&s->m, s->start.q, w, u);
  for (int d = 0; d < s->m.nq; d++)
    check_true(tgRe(u[d]) == tgRe(tgi_piece_q(s, k + 1)[d]), "piece %d of %d: coordinate %d is %g, was %g", k, e->n, d, tgRe(u[d]),
               tgRe(tgi_piece_q(s, k + 1)[d]));
}

// the coordinates at `times` + 1 times of each piece of the last step, put back from its record
static inline void add_poses(Rig *r, int times, Poses *p) {
  tgSim *s = r->s;
  const tgiEvents *e = tgi_events(s);
  int nq = s->m.nq;
  tgReal *w = calloc((size_t)s->m.nv + 1, sizeof *w), *u = calloc((size_t)nq + 1, sizeof *u);
  tgi_parts_swap_memory(s);
  for (int k = 0; k < e->n; k++) {
    assert_int_equal(tgi_piece_load(s, k), TG_OK);
    check_put_back(s, k, w, u);
    if (e->piece[k].kind == TGI_PIECE_IMPACT) continue;
    tgiFlight path = tgi_piece_path(s, k, e->s[k]);
    for (int i = 0; i <= times; i++) {
      tgi_flight_at(&s->m, &path, e->t[k] * i / times, w, u);
      tg_model_integrate(&s->m, s->start.q, w, u);
      if (p->n == p->room) {
        p->room = 2 * p->room + 1000;
        p->q = realloc(p->q, (size_t)p->room * (size_t)nq * sizeof *p->q);
      }
      for (int d = 0; d < nq; d++) p->q[p->n * nq + d] = tgRe(u[d]);
      p->n++;
    }
  }
  tgi_parts_swap_memory(s);
  free(w);
  free(u);
}

// times: of each piece at which no two geoms may overlap, by exact predicates; 0: not judged
static inline void run_judged(Rig *r, double h, int steps, int times, Total *total) {
  Poses p = {0};
  *total = (Total){.least = INFINITY};
  for (int t = 0; t < steps; t++) {
    tgStepInfo info;
    tgStatus status = tg_sim_step_growing(r->s, h, &info);
    check_true(status == TG_OK, "step %d: %s", t, tg_sim_error(r->s)->text);
    total->impacts += info.nimpact;
    total->stalled += info.nstalled;
    total->early += info.nstalled > 0 && info.nimpact <= TGI_EVENTS && tgi_events(r->s)->n < TGI_PIECES - 4;
    total->least = fmin(total->least, info.least_distance);
    if (times > 0) add_poses(r, times, &p);
  }
  long overlaps = times > 0 ? tg_intersections_of_motion(r->m, p.q, p.n - 1) : 0;
  check_true(overlaps == 0, "%ld intersections at %d times", overlaps, p.n);
  free(p.q);
}

#endif
