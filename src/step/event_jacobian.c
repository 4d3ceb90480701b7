// event_jacobian.c: the dense derivative of a step in pieces, from its start to its end. Shares no derivative code with event_vjp.c.
//
// Based on: [math/toi Derivative]: columns are the step's q, v and controls; Q, V, R what the piece's start and the rest of the step have.
#include <string.h>

#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "kin/kinematics.h"
#include "sim/row.h"
#include "step/event.h"
#include "step/impulse_impact.h"
#include "step/impulse_meeting.h"
#include "step/step.h"

typedef struct Chain {
  int nc;
  tgReal *Q, *V, *R;           // nv x nc, nv x nc, nc
  tgReal *A, *B;               // nv x nc: derivatives of the problems' velocities, in the columns of the step
  tgReal *D;                   // nv x nc: in the piece's q, v and controls
  tgReal *W, *Y;               // nv x nc: of w, of q at the end
  tgReal *a, *b;               // nv: of the velocities in the length of the flow
  tgReal *t;                   // nc: of the time
  tgReal *w, *u, *q, *Tu;
  int *clamps, again;
} Chain;

static bool take(tgSim *s, Chain *c) {
  size_t nv = (size_t)s->m.nv, nc = (size_t)c->nc, block = nv * nc + 1;
  tgReal **blocks[] = {&c->Q, &c->V, &c->A, &c->B, &c->D, &c->W, &c->Y};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) *blocks[i] = tgi_stack_real(s, block);
  c->R = tgi_stack_real(s, nc + 1);
  c->t = tgi_stack_real(s, nc + 1);
  c->a = tgi_stack_real(s, nv + 1);
  c->b = tgi_stack_real(s, nv + 1);
  c->w = tgi_stack_real(s, nv + 1);
  c->u = tgi_stack_real(s, nv + 1);
  c->Tu = tgi_stack_real(s, nv + 1);
  c->q = tgi_stack_real(s, (size_t)s->m.nq + 1);
  return c->q != NULL && c->Tu != NULL && c->u != NULL && c->w != NULL && c->b != NULL && c->a != NULL && c->t != NULL && c->R != NULL &&
         c->Q != NULL && c->V != NULL && c->A != NULL && c->B != NULL && c->D != NULL && c->W != NULL && c->Y != NULL;
}

// out (n x nc) = D in the columns of the step: D_q Q + D_v V + D_u, Q those of the pose that D_q is of
static void compose(const tgSim *s, const Chain *c, int n, const tgReal *D, const tgReal *Q, tgReal *out) {
  int nv = s->m.nv, nc = c->nc;
  for (int i = 0; i < n; i++) {
    tgReal *row = out + i * nc;
    const tgReal *from = D + i * nc;
    for (int k = 0; k < nc; k++) row[k] = k < 2 * nv ? 0 : from[k];
    for (int j = 0; j < nv; j++) {
      if (from[j] != 0)
        for (int k = 0; k < nc; k++) row[k] += from[j] * Q[j * nc + k];
      if (from[nv + j] != 0)
        for (int k = 0; k < nc; k++) row[k] += from[nv + j] * c->V[j * nc + k];
    }
  }
}

// the problem that is selected, over the pose that moves by Q: out (nv x nc), and, of a flow, out_s (nv), in its length, by which the pose
// moves by `along`
static tgStatus problem(tgSim *s, Chain *c, int which, int *clamps, const tgReal *Q, tgReal *out, const tgReal *along, tgReal *out_s) {
  tgi_rows_select(s, which);
  tgStatus status = tgi_impulse_jacobian(s, c->D, clamps);
  if (status >= 0 && out_s != NULL) status = tgi_impulse_length_derivative(s, out_s);
  tgi_rows_select(s, 0);
  if (status < 0) return status;
  compose(s, c, s->m.nv, c->D, Q, out);
  for (int i = 0; out_s != NULL && i < s->m.nv; i++)
    for (int j = 0; j < s->m.nv; j++) out_s[i] += c->D[i * c->nc + j] * along[j];
  return status;
}

// ---- impacts ----

// N (nv x nv) = d(M y)/dq
static tgStatus mass_change(tgSim *s, const tgReal *y, tgReal *N) {
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  tgReal *zero = tgi_stack_real(s, nv + 1), *still = tgi_stack_real(s, nv * nv + 1);
  if (zero == NULL || still == NULL) return tgi_no_room(s, "Jacobian");
  memset(zero, 0, nv * sizeof *zero);
  TG_TRY(tgi_inverse_d(s, &s->start, y, NULL, N, NULL));
  TG_TRY(tgi_inverse_d(s, &s->start, zero, NULL, still, NULL));
  for (size_t i = 0; i < nv * nv; i++) N[i] -= still[i];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// (d' M v+) dx = -[(M v+)' ((1 - x) dv_c + x dv_e) - (M v)' dv + (v+ - v)' dM (v+ + v)/2],  d = v_e - v_c, on the dofs of an island
static void blend(const tgSim *s, int island, const Chain *c, const tgReal *Mafter, const tgReal *Mbefore, const tgReal *N, tgReal *A) {
  const tgRows *r = s->rows;
  int nv = s->m.nv, nc = c->nc, from = r->island_dofadr[island], to = r->island_dofadr[island + 1];
  tgReal x = r->share[island], slope = 0;
  for (int k = from; k < to; k++) slope += (s->end.vel[r->island_dof[k]] - r->mean[r->island_dof[k]]) * Mafter[r->island_dof[k]];
  for (int col = 0; col < nc; col++) {
    tgReal sum = 0;
    for (int k = from; k < to; k++) {
      int d = r->island_dof[k];
      sum += Mafter[d] * ((1 - x) * c->B[d * nc + col] + x * A[d * nc + col]) - Mbefore[d] * c->V[d * nc + col];
      for (int j = 0; j < nv; j++) sum += (r->after[d] - s->start.vel[d]) * N[d * nv + j] * c->Q[j * nc + col];
    }
    tgReal dx = -sum / slope;
    for (int k = from; k < to; k++) {
      int d = r->island_dof[k];
      A[d * nc + col] = (1 - x) * c->B[d * nc + col] + x * A[d * nc + col] + dx * (s->end.vel[d] - r->mean[d]);
    }
  }
}

static void exchange(tgReal *a, tgReal *b, int n) {
  for (int i = 0; i < n; i++) {
    tgReal kept = a[i];
    a[i] = b[i];
    b[i] = kept;
  }
}

// c->A += what moves v_e with the impulse p = e f that normal i gives at least, df (nc) = d f, where it gives that alone
static tgStatus add_rebound(tgSim *s, Chain *c, int i, const tgReal *df) {
  const tgRows *rows = s->rows;
  const tgRowSolver *k = s->contact_model->kind->rows;
  size_t nv = (size_t)s->m.nv, n = (size_t)s->nrow, mark = tgi_stack_mark(s);
  tgReal *u = tgi_stack_real(s, nv + 1), *given = tgi_stack_real(s, 3 * n + 1), *r = given + n, *f = r + n;
  if (u == NULL || given == NULL) return tgi_no_room(s, "Jacobian");
  for (size_t j = 0; j < n; j++) {
    bool rubs = rows->kind[j] == TG_ROW_TANGENT && rows->parent[j] == i && tgRe(rows->limit[j]) > 0;
    given[j] = (int)j == i ? 1 : rubs ? k->side(s, (int)j) * rows->limit[j] : 0;
  }
  memset(u, 0, nv * sizeof *u);
  tgi_rows_respond(s, given, u);
  tgi_rows_mul(s, u, r);
  k->solve_jvp(s, r, f);
  tgi_rows_respond(s, f, u);
  for (size_t d = 0; d < nv; d++)
    for (int col = 0; col < c->nc; col++) c->A[d * (size_t)c->nc + (size_t)col] += u[d] * rows->rebound[i] * df[col];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// c->B of v_c, c->A of v_e, by Poisson's law
static tgStatus phases(tgSim *s, Chain *c) {
  int nv = s->m.nv, nc = c->nc;
  size_t size = (size_t)s->nrow * (size_t)nc;
  tgReal *F = tgi_stack_real(s, 2 * size + 1), *step = F + size;
  if (F == NULL) return tgi_no_room(s, "Jacobian");
  tgi_rows_select(s, 1);
  tgStatus status = tgi_impulse_forces_jacobian(s, c->D, F, &c->again);
  tgi_rows_select(s, 0);
  if (status < 0) return status;
  compose(s, c, nv, c->D, c->Q, c->B);
  compose(s, c, s->nrow, F, c->Q, step);
  tgReal *V = c->V;
  c->V = c->B;   // where the second phase starts
  exchange(s->start.vel, s->rows->mean, nv);
  status = problem(s, c, 0, &c->again, c->Q, c->A, NULL, NULL);
  exchange(s->start.vel, s->rows->mean, nv);
  c->V = V;
  if (status < 0) return status;
  for (int i = 0; i < s->nrow; i++) {
    bool alone = tgRe(s->rows->rebound[i]) > 0 && !s->contact_model->kind->rows->presses(s->rows->class[i]);
    if (alone) TG_TRY(add_rebound(s, c, i, step + (size_t)i * (size_t)nc));
  }
  return TG_OK;
}

static tgStatus guarded(tgSim *s, Chain *c) {
  size_t nv = (size_t)s->m.nv;
  tgReal *N = tgi_stack_real(s, nv * nv + 1), *y = tgi_stack_real(s, 3 * nv + 1), *Mafter = y + nv, *Mbefore = y + 2 * nv;
  if (N == NULL || y == NULL) return tgi_no_room(s, "Jacobian");
  TG_TRY(s->rebounds ? phases(s, c) : problem(s, c, 1, &c->again, c->Q, c->B, NULL, NULL));
  for (size_t d = 0; d < nv; d++) y[d] = 0.5 * (s->rows->after[d] + s->start.vel[d]);
  TG_TRY(mass_change(s, y, N));
  tgi_mass_mul(s, s->rows->after, Mafter);
  tgi_mass_mul(s, s->start.vel, Mbefore);
  for (int i = 0; i < s->nisland; i++)
    if (tgRe(s->rows->share[i]) != 1) blend(s, i, c, Mafter, Mbefore, N, c->A);
  return TG_OK;
}

static tgStatus impact(tgSim *s, Chain *c) {
  if (!s->rebounds) TG_TRY(problem(s, c, 0, &c->again, c->Q, c->A, NULL, NULL));
  if (s->guarded) TG_TRY(guarded(s, c));
  memcpy(c->V, c->A, (size_t)s->m.nv * (size_t)c->nc * sizeof *c->V);
  return TG_OK;
}

// ---- flows ----

// t (nc) where the flow of piece k ends: of a meeting by its gap, whose gradient is taken at the end, where the pose moves by c->Y and,
// with t, by c->Tu; rows are those there afterwards. A point at the crossing of two edges slides along both: its gap has more of the pose
// than the row, which is of points that stay where they are on their bodies.
static tgStatus time_of(tgSim *s, int k, Chain *c) {
  const tgiEvents *e = tgi_events(s);
  size_t mark = tgi_stack_mark(s);
  int nv = s->m.nv, nc = c->nc;
  tgReal *gap = tgi_stack_real(s, (size_t)nv), *y = tgi_stack_real(s, (size_t)s->cap.nrow), speed = 0;
  if (gap == NULL || y == NULL) return tgi_no_room(s, "Jacobian");
  tgiFlight path = tgi_piece_path(s, k, e->s[k]);
  tgi_flight_pose(&s->m, &path, e->t[k], c->w, c->q, &s->end, c->u);
  TG_TRY(tgi_rows(s, &s->end, 0, TGI_ROWS_NEAR));
  int row = tgi_row_that_meets(s, &e->piece[k].who);
  if (row < 0) return tgi_error(&s->error, TG_ERR_STATE, "The contact at which a piece of the step ends is not found again.");
  tgi_meeting_gradient(s, row, 1, y, gap, NULL);
  for (int d = 0; d < nv; d++) speed += gap[d] * c->Tu[d];
  for (int col = 0; col < nc; col++) c->t[col] = 0;
  for (int d = 0; d < nv; d++)
    for (int col = 0; col < nc && gap[d] != 0; col++) c->t[col] -= gap[d] / speed * c->Y[d * nc + col];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// The pose in the middle of the flow, q (+) (length/2) v: c->W in the columns of the step at held length, c->Tu in the length; c->Y: work
static void middle_of(tgSim *s, Chain *c) {
  int nv = s->m.nv, nc = c->nc;
  for (int d = 0; d < nv; d++) {
    c->w[d] = 0.5 * s->dt * s->start.vel[d];
    c->u[d] = 0.5 * s->start.vel[d];
    for (int col = 0; col < nc; col++) c->Y[d * nc + col] = 0.5 * s->dt * c->V[d * nc + col];
  }
  tgi_integrate_jacobian(&s->m, c->w, nc, c->Q, c->Y, c->W);
  tgi_integrate_jacobian(&s->m, c->w, 1, NULL, c->u, c->Tu);
}

// The positions' problem, which moves with the middle: c->B, c->b, and its impulses in the columns of the step, F, and in the length, Fs
static tgStatus positions(tgSim *s, Chain *c, tgReal *raw, tgReal *F, tgReal *Fs) {
  size_t nc = (size_t)c->nc;
  tgi_order_turn(s, false);
  tgi_rows_select(s, 1);
  tgStatus status = tgi_impulse_forces_jacobian(s, c->D, raw, &c->again);
  if (status >= 0) status = tgi_impulse_length_forces(s, c->b, Fs);
  tgi_rows_select(s, 0);
  tgi_order_turn(s, true);
  if (status < 0) return status;
  compose(s, c, s->m.nv, c->D, c->W, c->B);
  compose(s, c, s->nrow, raw, c->W, F);
  for (size_t j = 0; j < (size_t)s->m.nv; j++) {
    for (size_t i = 0; i < (size_t)s->m.nv; i++) c->b[i] += c->D[i * nc + j] * c->Tu[j];
    for (size_t i = 0; i < (size_t)s->nrow; i++) Fs[i] += raw[i * nc + j] * c->Tu[j];
  }
  return TG_OK;
}

// Q0 (nv x nv): d(J_0' F)/dq of rows at the start, F the positions' impulses of the flow in the sim
static tgStatus rows_at_start(tgSim *s, tgReal *Q0) {
  size_t mark = tgi_stack_mark(s);
  tgReal *y = tgi_stack_real(s, (size_t)s->cap.nrow);
  if (y == NULL) return tgi_no_room(s, "Jacobian");
  tgi_rows_select(s, 1);
  tgi_order_at_start(s, 1, s->rows->f, y);
  tgi_rows_select(s, 0);
  tgi_order_exchange(s);
  tgStatus status = tgi_rows_pull_jacobian(s, &s->start, y, Q0);
  tgi_order_exchange(s);
  tgi_stack_free(s, mark);
  return status;
}

static tgStatus held_problems(tgSim *s, Chain *c, int *clamps) {
  size_t nv = (size_t)s->m.nv, nc = (size_t)c->nc, n = (size_t)s->nrow, mark = tgi_stack_mark(s);
  tgReal *Q0 = tgi_stack_real(s, nv * nv + 1), *raw = tgi_stack_real(s, n * nc), *F = tgi_stack_real(s, n * nc), *Fs = tgi_stack_real(s, n);
  if (Q0 == NULL || raw == NULL || F == NULL || Fs == NULL) return tgi_no_room(s, "Jacobian");
  TG_TRY(rows_at_start(s, Q0));
  middle_of(s, c);
  tgi_midway(s);
  tgStatus status = positions(s, c, raw, F, Fs);
  if (status >= 0) status = problem(s, c, 0, clamps, c->W, c->A, c->Tu, c->a);
  tgiOrderColumns o = {(int)nc, c->Q, c->V, F, c->B, Fs, c->b, Q0, c->A, c->a};
  if (status >= 0) status = tgi_order_columns(s, &o);
  tgi_midway(s);
  tgi_stack_free(s, mark);
  return status;
}

// both problems of the flow in the sim, in c->A, c->a and c->B, c->b
static tgStatus problems(tgSim *s, Chain *c, int *clamps) {
  size_t nv = (size_t)s->m.nv;
  if (s->nrow > 0) return held_problems(s, c, clamps);
  middle_of(s, c);
  tgi_midway(s);
  tgStatus status = problem(s, c, 0, clamps, c->W, c->A, c->Tu, c->a);
  tgi_midway(s);
  if (status < 0) return status;
  memcpy(c->B, c->A, nv * (size_t)c->nc * sizeof *c->B);
  memcpy(c->b, c->a, nv * sizeof *c->b);
  return status;
}

// At held t: c->V at the end, c->W of w, by a length that moves by share dR; of a meeting, whose length is t, at held length too.
static void flow_columns(tgSim *s, int k, tgReal share, const tgiFlight *path, Chain *c, const tgReal *change) {
  const tgiEvents *e = tgi_events(s);
  int nv = s->m.nv, nc = c->nc;
  tgReal length = e->s[k], t = e->t[k], tau = t / length;
  for (int d = 0; d < nv; d++) {
    bool stalls = tgi_piece_stalls(s, d, k);
    tgReal bent = tgi_piece_is_straight(s, d, k) ? 1 : tau;
    for (int col = 0; col < nc; col++) {
      tgReal ds = share * c->R[col], dv = c->V[d * nc + col], A = c->A[d * nc + col] + c->a[d] * ds, dV = c->B[d * nc + col] + c->b[d] * ds;
      tgReal dw = t * dv + 0.5 * t * bent * (dV - dv) - 0.5 * tau * tau * (path->v1[d] - path->v0[d]) * ds;
      c->W[d * nc + col] = stalls ? 0 : dw;
      if (!stalls) c->V[d * nc + col] = (1 - tau) * dv + tau * A - change[d] * t / (length * length) * ds;
    }
  }
}

static tgStatus flow(tgSim *s, int k, Chain *c) {
  const tgiEvents *e = tgi_events(s);
  tgiPieceKind kind = e->piece[k].kind;
  int nv = s->m.nv, nc = c->nc, *clamps = k == e->n - 1 ? c->clamps : &c->again;
  bool own = kind == TGI_PIECE_MEETING;
  tgReal length = e->s[k], t = e->t[k], tau = t / length, share = own ? 0 : ldexp(1, -e->piece[k].halvings);
  size_t mark = tgi_stack_mark(s);
  tgReal *change = tgi_stack_real(s, 2 * (size_t)nv + 1), *gain = change + nv;   // gain: of the velocity at the end, with t
  if (change == NULL) return tgi_no_room(s, "Jacobian");
  TG_TRY(problems(s, c, clamps));
  tgiFlight path = tgi_piece_path(s, k, length);
  tgi_flight_at(&s->m, &path, t, c->w, c->u);
  for (int d = 0; d < nv; d++) {
    bool stalls = tgi_piece_stalls(s, d, k);
    change[d] = stalls ? 0 : s->end.vel[d] - s->start.vel[d];
    gain[d] = own && !stalls ? (1 - tau) * change[d] / length + tau * c->a[d] : change[d] / length;
    tgReal bent = tgi_piece_is_straight(s, d, k) ? 1 : tau;
    if (own && !stalls) c->u[d] += 0.5 * t * bent * c->b[d] - 0.5 * tau * tau * (path.v1[d] - path.v0[d]);
  }
  flow_columns(s, k, share, &path, c, change);
  tgi_integrate_jacobian(&s->m, c->w, nc, c->Q, c->W, c->Y);
  tgi_integrate_jacobian(&s->m, c->w, 1, NULL, c->u, c->Tu);
  for (int col = 0; col < nc; col++) c->t[col] = share * c->R[col];
  if (kind != TGI_PIECE_FLOW) TG_TRY(time_of(s, k, c));
  for (int d = 0; d < nv; d++)
    for (int col = 0; col < nc; col++) {
      c->Q[d * nc + col] = c->Y[d * nc + col] + c->Tu[d] * c->t[col];
      c->V[d * nc + col] += gain[d] * c->t[col];
    }
  for (int col = 0; col < nc; col++) c->R[col] -= c->t[col];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- the step ----

static tgStatus chain(tgSim *s, void *ctx) {
  Chain *c = ctx;
  for (int k = 0; k < tgi_events(s)->n; k++) {
    size_t mark = tgi_stack_mark(s);
    TG_TRY(tgi_piece_reach(s, k));
    TG_TRY(tgi_events(s)->piece[k].kind == TGI_PIECE_IMPACT ? impact(s, c) : flow(s, k, c));
    tgi_stack_free(s, mark);
  }
  return TG_OK;
}

size_t tgi_event_scratch(const tgContact *contact) {
  size_t nv = (size_t)contact->model->nv, nu = (size_t)contact->model->nu;
  return 28 * (nv + 8) * (2 * nv + nu + 8) * sizeof(tgReal);
}

tgStatus tgi_event_jacobian(tgSim *s, tgReal *D, int *clamps) {
  int nv = s->m.nv;
  Chain c = {.nc = 2 * nv + s->m.nu, .clamps = clamps};
  size_t size = (size_t)nv * (size_t)c.nc;
  if (!take(s, &c)) return tgi_no_room(s, "Jacobian");
  memset(c.Q, 0, size * sizeof *c.Q);
  memset(c.V, 0, size * sizeof *c.V);
  memset(c.R, 0, (size_t)c.nc * sizeof *c.R);
  for (int d = 0; d < nv; d++) c.Q[d * c.nc + d] = c.V[d * c.nc + nv + d] = 1;
  TG_TRY(tgi_event_revisit(s, chain, &c));
  memcpy(D, c.Q, size * sizeof *D);
  memcpy(D + size, c.V, size * sizeof *D);
  return TG_OK;
}
