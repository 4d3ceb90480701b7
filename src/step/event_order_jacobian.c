// event_order_jacobian.c: the dense derivative of what event_order.c adds to a flow.
//
// Based on: [math/toi What is held].
#include <string.h>

#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "sim/row.h"
#include "step/event.h"
#include "step/impulse.h"
#include "step/impulse_carried.h"
#include "step/step.h"

// out (nv) += scale A x, A nv x nv
static void add_times(const tgSim *s, const tgReal *A, tgReal scale, const tgReal *x, tgReal *out) {
  int nv = s->m.nv;
  for (int i = 0; i < nv; i++)
    for (int d = 0; d < nv; d++) out[i] += scale * A[i * nv + d] * x[d];
}

// A column: of q, v, impulses F and the velocity V of positions, and of the length (ds 1 or 0). What half of the impulses does along the
// rows at both poses, and forces by u*.
typedef struct OrderColumn {
  const tgReal *Q0, *Qa, *E;     // nv x nv: d(J_0' F)/dq, d(J' F)/dq, of forces in u*; E NULL: none
  const tgReal *S, *Ss;          // nv x nv and nv: shares of fast trees in v and in the length
  tgReal *q, *v, *F, *V, *w, *ahead, *x, *p, *r, *df;
} OrderColumn;

static void order_column(tgSim *s, const OrderColumn *k, const tgReal *c, tgReal ds) {
  int nv = s->m.nv;
  memset(k->p, 0, (size_t)nv * sizeof *k->p);
  tgi_order_push(s, 0.5, k->F, k->p);
  add_times(s, k->Q0, 0.5, k->q, k->p);
  for (int d = 0; d < nv; d++) {
    k->w[d] = s->dt * s->start.vel[d];
    k->x[d] = s->dt * k->v[d] + s->start.vel[d] * ds;
  }
  tgi_integrate_jacobian(&s->m, k->w, 1, k->q, k->x, k->ahead);
  add_times(s, k->Qa, -0.5, k->ahead, k->p);
  for (int d = 0; d < nv && k->E != NULL; d++) {
    tgReal share = k->Ss[d] * ds;
    for (int j = 0; j < nv; j++) share += k->S[d * nv + j] * k->v[j];
    k->x[d] = c[d] == 0 ? 0 : c[d] * (k->V[d] - k->v[d]) - 0.5 * (s->rows->mean[d] - s->start.vel[d]) * share;
  }
  if (k->E != NULL) add_times(s, k->E, 1, k->x, k->p);
  tgi_impulse_solve(s, k->p, k->p);
  tgi_rows_mul(s, k->p, k->r);
  s->contact_model->kind->rows->solve_jvp(s, k->r, k->df);
  tgi_rows_respond(s, k->df, k->p);
}

// S (nv x nv), Ss (nv) of trees that have shares, and E by forces of u*
static tgStatus order_forces(tgSim *s, const tgReal *c, tgReal *E, tgReal *S, tgReal *Ss) {
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  const tgiPlaces *dense = tgi_places_dense(s);
  tgReal *a = tgi_stack_real(s, 3 * nv + 1), *work = a + nv;
  if (dense == NULL || a == NULL) return tgi_no_room(s, "Jacobian");
  memset(E, 0, nv * nv * sizeof *E);
  memset(S, 0, nv * nv * sizeof *S);
  memset(Ss, 0, nv * sizeof *Ss);
  tgi_mean_acceleration(s, s->end.vel, a);
  TG_TRY(tgi_turned_forces_into(s, a, dense, NULL, E, NULL));
  for (size_t d = 0; d < nv; d++)
    if (tgRe(c[d]) != 0 && tgRe(s->carried_share[d]) != 0) tgi_carried_share_slope(s, (int)d, work, S + d * nv, &Ss[d]);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_order_columns(tgSim *s, const tgiOrderColumns *o) {
  size_t nv = (size_t)s->m.nv, n = (size_t)s->nrow, nc = (size_t)o->nc, mark = tgi_stack_mark(s);
  tgReal *Qa = tgi_stack_real(s, 3 * nv * nv + 1), *E = Qa + nv * nv, *S = E + nv * nv, *x = tgi_stack_real(s, 10 * nv + 1),
         *rows = tgi_stack_real(s, 3 * n);
  if (Qa == NULL || x == NULL || rows == NULL) return tgi_no_room(s, "Jacobian");
  tgReal *c = x, *Ss = x + nv;
  OrderColumn k = {.Q0 = o->Q0, .Qa = Qa, .E = tgi_order_is_turned(s) ? E : NULL, .S = S, .Ss = Ss, .q = x + 2 * nv, .v = x + 3 * nv,
                   .V = x + 4 * nv, .w = x + 5 * nv, .ahead = x + 6 * nv, .x = x + 7 * nv, .p = x + 8 * nv, .F = rows, .r = rows + n,
                   .df = rows + 2 * n};
  tgi_order_shares(s, c);
  if (k.E != NULL) TG_TRY(order_forces(s, c, E, S, Ss));
  tgi_rows_select(s, 1);
  for (size_t i = 0; i < n; i++) k.F[i] = tgi_events(s)->order.at[i] >= 0 ? s->rows->f[i] : 0;
  tgi_rows_select(s, 0);
  TG_TRY(tgi_rows_pull_jacobian(s, tgi_rows_pose(s), k.F, Qa));
  for (size_t col = 0; col <= nc; col++) {
    bool length = col == nc;
    for (size_t d = 0; d < nv; d++) {
      k.q[d] = length ? 0 : o->Q[d * nc + col];
      k.v[d] = length ? 0 : o->V[d * nc + col];
      k.V[d] = length ? o->Bs[d] : o->B[d * nc + col];
    }
    for (size_t i = 0; i < n; i++) k.F[i] = length ? o->Fs[i] : o->F[i * nc + col];
    order_column(s, &k, c, length);
    for (size_t d = 0; d < nv; d++) *(length ? &o->As[d] : &o->A[d * nc + col]) += k.p[d];
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}
