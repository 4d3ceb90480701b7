// impulse.c: see impulse.h.
#include "contact/rows.h"
#include "step/impulse.h"

#include <string.h>

#include "coll/contacts.h"
#include "contact/islands.h"
#include "dyn/dynamics.h"
#include "math/combine.h"
#include "model/blocks.h"
#include "sim/row.h"
#include "step/event_order.h"
#include "step/impulse_carried.h"
#include "step/impulse_crowd.h"
#include "step/impulse_midway.h"
#include "step/step.h"

void tgi_impulse_solve(const tgSim *s, const tgReal *x, tgReal *out) {
  if (out != x)
    for (int d = 0; d < s->m.nv; d++) out[d] = x[d];
  tgi_factor_solve(&s->m, s->L, out);
}

void tgi_rows_mul(const tgSim *s, const tgReal *x, tgReal *out) {
  for (int i = 0; i < s->nrow; i++) out[i] = tgi_row_dot(s, s->rows->J, i, x);
}

void tgi_rows_tmul(const tgSim *s, const tgReal *f, tgReal *out) {
  for (int d = 0; d < s->m.nv; d++) out[d] = 0;
  for (int i = 0; i < s->nrow; i++) tgi_row_add(s, s->rows->J, i, f[i], out);
}

void tgi_rows_respond(const tgSim *s, const tgReal *f, tgReal *out) {
  for (int i = 0; i < s->nrow; i++) tgi_row_add(s, s->rows->MiJ, i, f[i], out);
}

void tgi_impulse_smooth(const tgSim *s, const tgReal *v, tgReal *out) {
  tgStepEnd at;
  const tgStepEnd *end = tgi_servo_end(s, v, &at);
  if (end != NULL) tgi_servo_forces(s, end, out);
  for (int d = 0; d < s->m.nv; d++) {
    tgReal tau = end != NULL ? s->qfrc_applied[d] + out[d] + s->qfrc_passive[d] : s->tau[d];
    out[d] = tau - s->bias[d] - tgi_carried_force(s, d) - s->dt * tgi_stiffness_ahead(s, d) * v[d];
  }
}

// vhat = v + h Mh^-1 (tau - c - h K v) by the forces in the sim
void tgi_impulse_free_motion(tgSim *s) {
  const tgModel *m = &s->m;
  tgi_impulse_smooth(s, s->start.vel, s->vhat);
  for (int d = 0; d < m->nv; d++) s->vhat[d] *= s->dt;
  tgi_factor_solve(m, s->L, s->vhat);
  for (int d = 0; d < m->nv; d++) s->vhat[d] += s->start.vel[d];
}

// the same with actuators held as they are; in the middle of a flow what goes by velocity is then taken of the velocity there
static tgStatus held_velocity(tgSim *s) {
  const tgModel *m = &s->m;
  tgStepEnd at;
  if (s->midway) tgi_midway_level(s, 0);
  TG_TRY(tgi_carried(s, s->dt));
  tgi_step_matrix(s, tgi_late(s) * s->dt, !tgi_explicit_damping(s));
  if (tgi_servo_end(s, s->start.vel, &at) != NULL) tgi_servo_matrix(s, tgi_late(s) * s->dt);
  if (!tgi_factor(m, s->Mh, s->L)) return tgi_no_factor(s, &s->start, "");
  tgi_impulse_free_motion(s);
  if (!s->midway) return TG_OK;
  while (tgi_midway_turn(s)) tgi_impulse_free_motion(s);
  return TG_OK;
}

// Forces that are held at the end of a motion are found as the motion is solved for: at most so often, then none is let go
// again, so that the search ends.
enum { SEARCHES = 8 };

// *changed: others are held at the end of the part than it was solved for, v its velocity there
static tgStatus revise_servos(tgSim *s, const tgReal *v, int search, bool *changed) {
  size_t mark = tgi_stack_mark(s);
  tgReal *sum = tgi_stack_real(s, (size_t)s->m.nv);
  tgStepEnd at;
  *changed = false;
  if (tgi_servo_end(s, v, &at) == NULL) return TG_OK;
  if (sum == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  *changed = tgi_servo_revise(s, &at, search >= SEARCHES, sum);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// the free motion of a part of h, with those actuators held that it holds
static tgStatus free_velocity(tgSim *s, tgReal h) {
  tgStepEnd at;
  bool again = true;
  s->dt = h;
  if (tgi_servo_end(s, s->start.vel, &at) != NULL) tgi_servo_foretell(s, tgi_late(s) * h);
  for (int search = 0; again; search++) {
    TG_TRY(held_velocity(s));
    TG_TRY(revise_servos(s, s->vhat, search, &again));
  }
  return TG_OK;
}

size_t tgi_servo_record_bytes(const tgSim *s) { return ((size_t)(s->m.nu + s->m.njnt) + 15) / 16 * 16; }

void tgi_servo_record(const tgSim *s, void *to) {
  int8_t *at = to;
  memset(at, 0, tgi_servo_record_bytes(s));
  for (int i = 0; i < s->m.nu; i++) at[i] = (int8_t)s->act_hold[i];
  for (int j = 0; j < s->m.njnt; j++) at[s->m.nu + j] = (int8_t)s->jnt_hold[j];
}

// true: others are held than were
static bool recall_servos(tgSim *s, const void *record) {
  const int8_t *at = record;
  bool changed = false;
  for (int k = 0; k < s->m.nu + s->m.njnt; k++) {
    int *hold = k < s->m.nu ? &s->act_hold[k] : &s->jnt_hold[k - s->m.nu];
    changed = changed || *hold != at[k];
    *hold = at[k];
  }
  return changed;
}

// Work of assembling an island, one set of coupled dofs after the other: the rows that act on the set stand as
// columns, padded to full vectors.
typedef struct Assembly {
  tgReal *X, *w, *product;   // dofs of the set x rows, numbers of one row, its row of A
  int *at, *used;            // places in X of a dof's row (by dof), of those that a row has numbers for
  int *dof, *row, *own;      // of the set; rows by their place in the island, and their place of the set's first dof
} Assembly;

static bool take_assembly(tgSim *s, int rows, Assembly *w) {
  size_t nv = (size_t)s->m.nv, set = (size_t)s->m.set_width, width = (size_t)(rows + TGI_LANES - 1) / TGI_LANES * TGI_LANES;
  w->X = tgi_stack_real(s, set * width + 1);
  w->product = tgi_stack_real(s, width + 1);
  w->w = tgi_stack_real(s, set + 1);
  w->at = tgi_stack_bytes(s, (nv + 2 * set + 2 * (size_t)rows + 1) * sizeof *w->at);
  w->used = w->at + nv;
  w->dof = w->used + set;
  w->row = w->dof + set;
  w->own = w->row + rows;
  return w->X != NULL && w->product != NULL && w->w != NULL && w->at != NULL;
}

// A's row b of the set up to its diagonal += w X; what is beyond in memory is mirrored later. all: the set has every row of the island
static void add_products(const Assembly *w, int b, int terms, bool all, tgReal *Ab, int n) {
  int upto = (b / TGI_LANES + 1) * TGI_LANES;
  if (all && upto <= n) {
    tgi_combine(terms, w->w, w->used, w->X, upto, Ab);
    return;
  }
  for (int k = 0; k < upto; k++) w->product[k] = k <= b ? Ab[w->row[k]] : 0;
  tgi_combine(terms, w->w, w->used, w->X, upto, w->product);
  for (int k = 0; k <= b; k++) Ab[w->row[k]] = w->product[k];
}

// row_MiJ = J Mh^-1 on the set that begins with dof `first`, and its share of A = J Mh^-1 J'
static void assemble_set(tgSim *s, int island, int first, const Assembly *w) {
  const int *range = s->m.dof_set + 3 * first, *row = s->rows->island_row + s->rows->island_adr[island];
  int n = tgi_island_rows(s, island), rows = 0, count = 0;
  tgReal *A = s->rows->A + s->rows->island_at[island];
  for (int a = 0; a < n; a++) {
    int own = tgi_row_place(s, row[a], first);
    // not on it, or on a set that lies across
    if (own < 0 || tgi_row_place(s, row[a], range[2] - 1) != own + range[2] - 1 - first) continue;
    w->row[rows] = a;
    w->own[rows++] = own;
  }
  int width = (rows + TGI_LANES - 1) / TGI_LANES * TGI_LANES;
  for (int d = range[1]; d < range[2]; d++) {
    if (s->m.dof_set[3 * d] != first) continue;
    w->dof[count] = d;
    w->at[d] = count++ * width;
  }
  for (int b = 0; b < width; b++) {
    const tgReal *J = b < rows ? tgi_row(s, s->rows->J, row[w->row[b]]) + w->own[b] : NULL;
    for (int k = 0; k < count; k++) w->X[k * width + b] = J != NULL ? J[w->dof[k] - first] : 0;
  }
  tgi_factor_solve_rows_at(&s->m, s->L, count, w->dof, w->at, width, w->X);
  for (int b = 0; b < rows; b++) {
    const tgReal *J = tgi_row(s, s->rows->J, row[w->row[b]]) + w->own[b];
    tgReal *MiJ = tgi_row(s, s->rows->MiJ, row[w->row[b]]) + w->own[b];
    int terms = 0;
    for (int k = 0; k < count; k++) {
      int d = w->dof[k] - first;
      MiJ[d] = w->X[k * width + b];
      if (J[d] == 0) continue;
      w->w[terms] = J[d];
      w->used[terms++] = k * width;
    }
    add_products(w, b, terms, rows == n, A + (size_t)w->row[b] * (size_t)n, n);
  }
}

// the trees' sets of an island in ascending order; A is summed below its diagonal, then mirrored
static tgStatus assemble_island(tgSim *s, int island) {
  size_t mark = tgi_stack_mark(s), n = (size_t)tgi_island_rows(s, island);
  tgReal *A = s->rows->A + s->rows->island_at[island];
  Assembly w;
  if (!take_assembly(s, (int)n, &w)) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  memset(A, 0, n * n * sizeof *A);
  for (size_t i = 0; i < n; i++) {
    int row = s->rows->island_row[(size_t)s->rows->island_adr[island] + i];
    memset(tgi_row(s, s->rows->MiJ, row), 0, (size_t)tgi_row_length(s, row) * sizeof *s->rows->MiJ);
  }
  for (int k = s->rows->island_dofadr[island]; k < s->rows->island_dofadr[island + 1]; k++)
    if (s->m.dof_set[3 * s->rows->island_dof[k]] == s->rows->island_dof[k]) assemble_set(s, island, s->rows->island_dof[k], &w);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < i; k++) A[k * n + i] = A[i * n + k];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// row_MiJ of an island whose block of A is not formed
static tgStatus respond_rows(tgSim *s, int island) {
  size_t mark = tgi_stack_mark(s);
  tgReal *x = tgi_stack_real(s, (size_t)s->m.nv);
  if (x == NULL) return tgi_no_room(s, "rows");
  for (int a = s->rows->island_adr[island]; a < s->rows->island_adr[island + 1]; a++) {
    int i = s->rows->island_row[a];
    const int *span = s->rows->span + 4 * i;
    const tgReal *J = tgi_row(s, s->rows->J, i);
    tgReal *MiJ = tgi_row(s, s->rows->MiJ, i);
    for (int side = 0; side < 4; side += 2) {
      if (span[side] == span[side + 1]) continue;
      for (int d = span[side]; d < span[side + 1]; d++) x[d] = *J++;
      tgi_factor_solve_range(&s->m, s->L, span[side], span[side + 1], x);
      for (int d = span[side]; d < span[side + 1]; d++) *MiJ++ = x[d];
    }
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// row_MiJ, A island by island
static tgStatus assemble(tgSim *s) {
  for (int island = 0; island < s->nisland; island++)
    TG_TRY(tgi_island_is_sparse(s, island) ? respond_rows(s, island) : assemble_island(s, island));
  return TG_OK;
}

void tgi_mass_mul(const tgSim *s, const tgReal *x, tgReal *y) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nv; i++) y[i] = 0;
  for (int i = 0; i < m->nv; i++) {
    const tgReal *row = tgi_block_row(m, s->M, i);
    y[i] += row[i] * x[i];
    for (int k = m->dof_parent[i]; k >= 0; k = m->dof_parent[k]) {
      y[i] += row[k] * x[k];
      y[k] += row[k] * x[i];
    }
  }
}

double tgi_kinetic_energy(const tgSim *s, const tgReal *v) {
  const tgModel *m = &s->m;
  double sum = 0;
  for (int i = 0; i < m->nv; i++)
    for (int k = i; k >= 0; k = m->dof_parent[k]) sum += (k == i ? 0.5 : 1) * tgRe(tgi_block_row(m, s->M, i)[k]) * tgRe(v[i]) * tgRe(v[k]);
  return sum;
}

// b = (1 + bounce) J vhat + rate gap - drift J v0 of the problem that is selected
static void fill_bias(tgSim *s) {
  tgRows *r = s->rows;
  tgi_rows_mul(s, s->vhat, r->b);
  for (int i = 0; i < s->nrow; i++) {
    r->b[i] += r->bounce[i] * r->b[i] + r->rate[i] * r->gap[i];
    if (tgRe(r->drift[i]) != 0) r->b[i] -= r->drift[i] * tgi_row_dot(s, r->J, i, s->start.vel);
  }
}

// solves the problem that is selected, or takes its answer from the record
static tgStatus impulses(tgSim *s, const void *record) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  tgStatus status = record != NULL ? k->recall(s, record) : k->solve(s);
  if (s->unsolved == TG_OK) s->unsolved = status;
  return status;
}

// Impulses f that take vhat to v' add f' J (vhat + v')/2. Without a push that is never more than 0, but for bounces, which
// have a bound of their own.
static void note_gain(tgSim *s) {
  const tgRows *r = s->rows;
  double sum = 0, most = 0;
  int worst = -1;
  for (int i = 0; i < s->nrow; i++) {
    double before, gain = tgi_row_gain(s, i, tgRe(r->f[i]), tgRe(r->b[i]), tgRe(r->w[i]), &before);
    sum += gain;
    if (tgRe(r->rate[i] * r->gap[i]) == 0 || gain <= most) continue;
    most = gain;
    worst = i;
  }
  if (worst < 0 || sum <= 0) return;
  int body[2];
  tgi_row_bodies(s, worst, body);
  s->info.energy_gained = sum;
  s->info.burst = sum > tgi_kinetic_energy(s, s->vhat);
  s->info.burst1 = body[0];
  s->info.burst2 = body[1];
}

tgStatus tgi_impulse_velocities(tgSim *s, const void *record) {
  TG_TRY(tgi_islands(s));
  TG_TRY(assemble(s));
  fill_bias(s);
  tgStatus status = impulses(s, record);
  if (status != TG_OK) return status;
  tgi_rows_respond(s, s->rows->f, s->end.vel);
  note_gain(s);
  return TG_OK;
}

tgStatus tgi_impulse_part(tgSim *s, tgReal h, bool held) {
  bool known = s->opened && s->dt == h && !s->nothing_shared && !held;
  s->opened = false;
  s->dt = h;
  s->ahead = s->rebounds = false;
  s->nrow = 0;
  s->ncon = 0;
  s->nisland = 0;
  if (s->rows != NULL) tgi_rows_select(s, 0);
  if (!known) TG_TRY(held ? held_velocity(s) : free_velocity(s, h));
  for (int d = 0; d < s->m.nv; d++) s->end.vel[d] = s->vhat[d];
  return TG_OK;
}

void tgi_impulse_look(tgSim *s) {
  s->opened = s->ahead = s->rebounds = false;
  s->dt = 0;
  s->nrow = s->ncon = s->nisland = 0;
  tgi_rows_select(s, 0);
  memcpy(s->vhat, s->start.vel, (size_t)s->m.nv * sizeof *s->vhat);
}

tgStatus tgi_impulse_still(tgSim *s) {
  TG_TRY(free_velocity(s, 0));
  memcpy(s->end.vel, s->vhat, (size_t)s->m.nv * sizeof *s->vhat);
  return TG_OK;
}

// A part with rows, whose impulses may change which actuators are held: it is solved until both agree.
typedef struct Agreement { int search, ncut, nedge; } Agreement;

static Agreement begin(const tgSim *s) { return (Agreement){0, s->info.ncut, s->nedge}; }

// after a solve: *again where it has to be made anew, as if it had not been
static tgStatus agree(tgSim *s, Agreement *a, bool *again) {
  *again = false;
  if (s->nrow == 0) return TG_OK;
  TG_TRY(revise_servos(s, s->end.vel, a->search++, again));
  if (!*again) return TG_OK;
  s->info.ncut = a->ncut;
  s->nedge = a->nedge;
  return TG_OK;
}

static tgStatus touching_velocity(tgSim *s, double h, bool held, const void *record) {
  TG_TRY(tgi_impulse_part(s, h, held));
  if (s->contact_model == NULL) return TG_OK;
  TG_TRY(tgi_rows(s, &s->start, h, TGI_ROWS_TOUCHING));
  if (s->nrow == 0) return TG_OK;
  for (int i = 0; i < s->nrow; i++) s->rows->rate[i] = tgRe(s->rows->bounce[i]) != 0 ? 0 : tgi_impulse_options(s)->erp / h;
  return tgi_impulse_velocities(s, record);
}

tgStatus tgi_impulse_velocity(tgSim *s, double h, const void *record) {
  bool again = true;
  if (record != NULL) {
    recall_servos(s, record);
    return touching_velocity(s, h, true, (const char *)record + tgi_servo_record_bytes(s));
  }
  for (Agreement a = begin(s); again;) {
    tgStatus status = touching_velocity(s, h, a.search > 0, NULL);
    if (status != TG_OK) return status;
    TG_TRY(agree(s, &a, &again));
  }
  return TG_OK;
}

// ---- the rule `closing` ----

// a mark for each row; NULL: no room, which the error says
static int8_t *marks(tgSim *s) {
  int8_t *drop = tgi_stack_bytes(s, (size_t)s->nrow + 1);
  if (drop == NULL) tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  return drop;
}

// What touches at the start of a flow, and is no impact there, is held, however fast the free motion through it ends.
static bool held_from_start(tgSim *s, const tgPose *pose, int row) {
  double start = tgRe(s->rows->gap[row] - s->dt * s->rows->before[row]);
  if (start > TG_TOUCH + 1e-9) return false;
  if (start > TG_TOUCH - 1e-9) tgi_rows_edge(s, "about to touch", row);
  return start <= TG_TOUCH && !tgi_row_is_fast(s, pose, row, s->start.vel);
}

// Takes the normals and limits out of a flow's rows that are impacts at its free velocity, but for crowds; how many they are.
static tgStatus take_out_fast(tgSim *s, const tgPose *pose, int *count) {
  enum { BESIDE_CROWDS = 2 };   // times at which something may have impacts while each has a crowd solved anew
  size_t mark = tgi_stack_mark(s);
  int8_t *drop = marks(s);
  bool crowd;
  if (drop == NULL) return TG_ERR_CAPACITY;
  *count = 0;
  TG_TRY(tgi_crowd_islands(s, drop, &crowd));
  for (int i = 0; i < s->nrow; i++)
    drop[i] = !drop[i] && tgi_row_pushes(s, i) && s->rows->quick[i] && tgi_row_is_fast(s, pose, i, s->vhat) && !held_from_start(s, pose, i);
  tgi_crowd_times(s, crowd ? BESIDE_CROWDS : TGI_IMPACTS, drop);
  for (int i = 0; i < s->nrow; i++) *count += drop[i];
  if (*count > 0) tgi_rows_drop(s, drop);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_impulse_keep_fast(tgSim *s, const tgPose *pose, const tgReal *u) {
  size_t mark = tgi_stack_mark(s);
  int8_t *drop = marks(s);
  if (drop == NULL) return TG_ERR_CAPACITY;
  for (int i = 0; i < s->nrow; i++) drop[i] = tgi_row_pushes(s, i) && !tgi_row_is_fast(s, pose, i, u);
  tgi_rows_drop(s, drop);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_impulse_near(tgSim *s, const tgPose *pose, const tgReal *u) {
  TG_TRY(tgi_rows(s, pose, 0, TGI_ROWS_NEAR));
  return tgi_impulse_keep_fast(s, pose, u);
}

// gap(q0) per second, from the row at q0 (+) dt v0 to first order; 0 of rows of friction
static tgReal start_error(const tgSim *s, int i) {
  const tgRows *r = s->rows;
  if (tgi_row_pushes(s, i)) return r->gap[i] / s->dt - r->before[i];
  return r->kind[i] == TG_ROW_EQUALITY ? r->gap[i] / s->dt - tgi_row_dot(s, r->J, i, s->start.vel) : 0;
}

// The positions' problem, which is selected: with V = vhat + Mh^-1 J' f the mean velocity of the step, gaps and errors end at 0,
// gap(q0 (+) dt v0) + dt J (V - v0), or, where those at the start are wider than the push speed closes, that much nearer: J V = push.
static void position_bias(tgSim *s) {
  tgRows *r = s->rows;
  double most = tgi_impulse_options(s)->push_speed;
  for (int i = 0; i < s->nrow; i++) {
    bool moves = tgi_row_pushes(s, i) || r->kind[i] == TG_ROW_EQUALITY;
    tgReal free_speed = r->b2[i];   // that of velocities, which have no bias
    tgReal error = start_error(s, i);
    r->bounce[i] = 0;
    r->rate[i] = moves ? 1 / s->dt : 0;
    r->drift[i] = moves ? 1 : 0;
    r->b[i] = free_speed + error;
    double bias = tgRe(error), over = r->kind[i] == TG_ROW_EQUALITY ? fabs(bias) - most : -bias - most;
    if (!s->pinned) r->cut[i] = moves && over > 0;
    if (moves && fabs(over) <= 1e-9) tgi_rows_edge(s, "at the speed that bounds a push", i);
    if (!r->cut[i]) continue;
    r->rate[i] = r->drift[i] = 0;
    r->b[i] = free_speed + (bias < 0 ? -most : most);
    s->info.ncut++;
  }
}

// push = Mh^-1 J' df, but for islands that it does not move by the errors b of what presses, or throws about: classes whose matrix is
// next to singular have no such derivative.
static void push_by(tgSim *s, const tgReal *b, tgReal *df, tgReal *push) {
  static const double lever = 100, share = 1e-6;   // of the push speed, as where the solve leaves overlaps; of the largest error
  const tgRows *r = s->rows;
  double most = 0;
  bool bad = false;
  for (int d = 0; d < s->m.nv; d++) push[d] = 0;
  tgi_rows_respond(s, df, push);
  for (int i = 0; i < s->nrow; i++) most = fmax(most, fabs(tgRe(b[i])));
  double off = share * most + TG_TOUCH / tgRe(s->dt);   // errors within touch are not among b
  for (int k = 0; k < s->nisland; k++) {
    bool follows = true;
    for (int d = r->island_dofadr[k]; d < r->island_dofadr[k + 1]; d++)
      follows = follows && fabs(tgRe(push[r->island_dof[d]])) <= lever * tgi_impulse_options(s)->push_speed;
    for (int a = r->island_adr[k]; a < r->island_adr[k + 1]; a++) {
      int i = r->island_row[a];
      if (!s->contact_model->kind->rows->presses(r->class[i])) continue;
      follows = follows && fabs(tgRe(tgi_row_dot(s, r->J, i, push) + b[i])) <= off;
    }
    for (int a = r->island_adr[k]; a < r->island_adr[k + 1] && !follows; a++) df[r->island_row[a]] = 0;
    bad = bad || !follows;
  }
  for (int d = 0; d < s->m.nv && bad; d++) push[d] = 0;
  if (bad) tgi_rows_respond(s, df, push);
}

tgStatus tgi_impulse_push(tgSim *s, tgReal *push, bool *any) {
  const tgRows *r = s->rows;
  size_t mark = tgi_stack_mark(s), n = (size_t)s->nrow;
  tgReal *b = tgi_stack_real(s, 2 * n + 1), *df = b + n;
  if (b == NULL) return tgi_no_room(s, "push");
  *any = false;
  tgi_rows_select(s, 1);
  for (int i = 0; i < s->nrow; i++) {
    tgReal error = start_error(s, i);
    double wide = tgRe(s->dt) * (r->kind[i] == TG_ROW_EQUALITY ? fabs(tgRe(error)) : -tgRe(error));
    bool pushed = wide > TG_TOUCH && (tgRe(r->rate[i]) != 0 || r->cut[i]);
    b[i] = !pushed ? 0 : r->cut[i] ? r->b[i] - r->b2[i] : error;
    *any = *any || pushed;
  }
  if (*any) s->contact_model->kind->rows->solve_jvp(s, b, df);
  if (*any) push_by(s, b, df, push);
  tgi_rows_select(s, 0);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// the second problem over the same rows, which is selected: its velocity, from vhat
static tgStatus answer_again(tgSim *s, const void *record) {
  for (int d = 0; d < s->m.nv; d++) s->rows->mean[d] = s->vhat[d];
  tgStatus status = impulses(s, record);
  if (status == TG_OK) tgi_rows_respond(s, s->rows->f, s->rows->mean);
  return status;
}

tgStatus tgi_impulse_again(tgSim *s, const void *record) {
  fill_bias(s);
  return answer_again(s, record);
}

// The same of a path whose velocity goes evenly from v0 to V: gaps and errors end at 0, however wide, gap + dt J (v0 + V)/2 of rows at the
// start, gap + dt J (V - v0)/2 of rows ahead.
static void path_bias(tgSim *s) {
  tgRows *r = s->rows;
  for (int i = 0; i < s->nrow; i++) {
    bool moves = tgi_row_pushes(s, i) || r->kind[i] == TG_ROW_EQUALITY;
    r->bounce[i] = 0;
    r->cut[i] = 0;
    r->rate[i] = moves ? 2 / s->dt : 0;
    r->drift[i] = !moves ? 0 : s->ahead ? 1 : -1;
  }
  fill_bias(s);
}

static tgStatus solve_flow(tgSim *s, void (*bias)(tgSim *), const void *record) {
  size_t bytes = s->contact_model->kind->rows->record_bytes(s), mark = tgi_stack_mark(s);
  tgRows *r = s->rows;
  int *warm = tgi_stack_bytes(s, (size_t)s->nrow * sizeof *warm);
  if (warm == NULL) return tgi_no_room(s, "flow");
  memcpy(warm, r->class, (size_t)s->nrow * sizeof *warm);
  tgStatus status = tgi_impulse_velocities(s, record);
  if (status != TG_OK) return status;
  // Positions of a step start from their classes in the memory where those of velocities have stayed; a pinned flow has both from there.
  // Pieces of the event stepper follow each other with other rows: there from those of velocities.
  bool remembered = bias == position_bias;
  for (int i = 0; i < s->nrow; i++)
    if (r->class2[i] == 0 || (!s->pinned && !(remembered && r->class[i] == warm[i]))) r->class2[i] = r->class[i];
  tgi_stack_free(s, mark);
  tgi_rows_select(s, 1);
  bias(s);
  status = answer_again(s, record != NULL ? (const char *)record + bytes : NULL);
  tgi_rows_select(s, 0);
  return status;
}

tgStatus tgi_impulse_open(tgSim *s, tgReal rest) {
  s->rest = tgRe(rest);
  s->dt = rest;
  s->opened = false;
  TG_TRY(free_velocity(s, rest));
  s->opened = true;
  for (int d = 0; d < s->m.nv; d++) s->rows->surge[d] = s->vhat[d] - s->start.vel[d];
  return TG_OK;
}

// n . (velocity of the first body - of the second one) at a contact's point
static double gap_speed(const tgSim *s, const tgPose *pose, const tgContactRow *c, const tgReal *v) {
  tgReal V[2][6], u[6], at[3];
  tgi_body_velocity(s, pose, s->m.geom_body[c->geom1], v, V[0]);
  tgi_body_velocity(s, pose, s->m.geom_body[c->geom2], v, V[1]);
  tgi_sp_sub(u, V[0], V[1]);
  tgi_sp_point_velocity(at, u, c->p);
  return tgRe(tgi_v3_dot(c->n, at));
}

// Ends a gap in overlap that moves by `shift` from where it is at the rows' pose, to first order, and closes faster than rest does?
static bool meets_late(const tgSim *s, double gap, double shift, double speed) {
  static const double curved = 0.1;   // of a shift, what its second order may be
  return gap + shift < curved * fabs(shift) && -speed > 2 * s->rest * tgi_gravity(s);
}

static void note_late(tgSim *s, const tgContactRow *c) {
  if (s->nlate == TGI_LATE) return;
  s->rows->late[2 * s->nlate] = c->pair;
  s->rows->late[2 * s->nlate++ + 1] = c->feature;
}

// Contacts from which the free motion keeps clear, and into which the flow goes all the same, turned by its impulses:
// how many, or some more; those of crowds are counted apart, in nturned. last: they are noted, so that the flow has rows of them.
static int turned_into(tgSim *s, const tgPose *pose, bool last) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *turn = tgi_stack_real(s, (size_t)m->nv);
  int count = 0;
  s->nturned = 0;
  if (turn == NULL) return 0;
  for (int d = 0; d < m->nv; d++) turn[d] = s->rows->mean[d] - s->start.vel[d];
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    if (c->row >= 0) continue;
    double shift = tgRe(s->dt) * gap_speed(s, pose, c, turn);
    if (!meets_late(s, tgRe(c->gap), shift, gap_speed(s, pose, c, s->end.vel))) continue;
    *(tgi_crowd_has(s, c) ? &s->nturned : &count) += 1;
    if (last) note_late(s, c);
  }
  tgi_stack_free(s, mark);
  return count;
}

// a flow begins: its free motion, and the pose ahead
static tgStatus begin_flow(tgSim *s, tgReal dt, bool held) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)m->nv), *q = tgi_stack_real(s, (size_t)m->nq);
  if (w == NULL || q == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  TG_TRY(tgi_impulse_part(s, dt, held));
  for (int d = 0; d < m->nv; d++) {
    s->rows->mean[d] = s->vhat[d];
    w[d] = dt * s->start.vel[d];
  }
  tg_model_integrate(m, s->start.q, w, q);
  tgi_kinematics(m, q, &s->trial);
  tgi_stack_free(s, mark);
  s->ahead = true;
  return TG_OK;
}

static tgStatus flow(tgSim *s, tgReal dt, bool last, bool held, const void *record, int *fast) {
  TG_TRY(begin_flow(s, dt, held));
  *fast = s->ncrowd = s->nturned = 0;
  s->last_flow = last;
  TG_TRY(tgi_rows(s, &s->trial, dt, TGI_ROWS_CLOSING));
  if (last) tgi_crowd_all(s);
  else TG_TRY(take_out_fast(s, &s->trial, fast));
  if (s->nrow == 0) return TG_OK;
  tgStatus status = solve_flow(s, position_bias, record);
  if (status == TG_OK && !last && *fast == 0) *fast = turned_into(s, &s->trial, false);
  int late = s->nlate;
  if (status == TG_OK && last && record == NULL) turned_into(s, &s->trial, true);
  return s->nlate > late ? flow(s, dt, last, held, NULL, fast) : status;
}

tgStatus tgi_impulse_flow(tgSim *s, tgReal dt, bool last, const void *record, int *fast) {
  bool again = true;
  if (record != NULL) {
    bool held = recall_servos(s, record) || !s->opened;   // or the free motion that is known holds the same
    return flow(s, dt, last, held, (const char *)record + tgi_servo_record_bytes(s), fast);
  }
  for (Agreement a = begin(s); again;) {
    tgStatus status = flow(s, dt, last, a.search > 0, NULL, fast);
    if (status != TG_OK) return status;
    TG_TRY(agree(s, &a, &again));
  }
  return TG_OK;
}

// Rows of what is held are ahead, where all of it is found again, else at the start: features may change on the way.
static tgStatus held_rows(tgSim *s, tgReal dt) {
  double least = s->info.least_distance;   // of poses that are passed
  int found = 0;
  TG_TRY(tgi_rows(s, &s->trial, dt, TGI_ROWS_HELD));
  for (int i = 0; i < s->nrow; i++) found += tgi_row_pushes(s, i);
  s->ahead = found == s->nheld;
  if (!s->ahead) TG_TRY(tgi_rows(s, &s->start, dt, TGI_ROWS_HELD));
  s->info.least_distance = least;
  return TG_OK;
}

// pose = q0 (+) way v0, with v0: where its bodies are
static tgStatus place_on_way(tgSim *s, tgReal way, tgPose *pose) {
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)s->m.nv), *q = tgi_stack_real(s, (size_t)s->m.nq);
  if (w == NULL || q == NULL) return tgi_no_room(s, "flow");
  for (int d = 0; d < s->m.nv; d++) w[d] = way * s->start.vel[d];
  tg_model_integrate(&s->m, s->start.q, w, q);
  memcpy(pose->vel, s->start.vel, (size_t)s->m.nv * sizeof *pose->vel);
  tgi_kinematics(&s->m, q, pose);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// What is kept of the positions' solve may be that of velocities, whose classes then were others: the answer again, from its record.
static tgStatus keep_positions(tgSim *s, const char *was, char *is, const char *positions, size_t bytes, const tgReal *vhat) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  k->record(s, is);
  if (memcmp(was, is, bytes) == 0) return TG_OK;
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  tgReal *own = tgi_stack_real(s, nv + 1);
  if (own == NULL) return tgi_no_room(s, "flow");
  memcpy(own, s->vhat, nv * sizeof *own);
  memcpy(s->vhat, vhat, nv * sizeof *own);
  tgi_rows_select(s, 1);
  path_bias(s);   // errors that were left are left once more
  tgStatus status = k->recall(s, positions);
  tgi_rows_select(s, 0);
  memcpy(s->vhat, own, nv * sizeof *own);
  tgi_stack_free(s, mark);
  return status;
}

// Velocities once more, with what the positions have told of the flow: that of before has been a start for both.
static tgStatus solve_ordered(tgSim *s, const void *record) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  size_t bytes = k->record_bytes(s), nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  char *was = tgi_stack_bytes(s, 3 * bytes + 1), *is = was + bytes, *positions = was + 2 * bytes;
  tgReal *vhat = tgi_stack_real(s, nv + 1);
  if (was == NULL || vhat == NULL) return tgi_no_room(s, "flow");
  memset(was, 0, 2 * bytes);
  memcpy(vhat, s->vhat, nv * sizeof *vhat);
  if (record == NULL) {
    k->record(s, was);
    tgi_rows_select(s, 1);
    k->record(s, positions);
    tgi_rows_select(s, 0);
  }
  TG_TRY(tgi_order_free(s));
  memcpy(s->end.vel, s->vhat, nv * sizeof *s->vhat);
  fill_bias(s);
  tgStatus status = k->again(s, record);
  if (s->unsolved == TG_OK) s->unsolved = status;
  if (status == TG_OK) tgi_rows_respond(s, s->rows->f, s->end.vel);
  if (status == TG_OK && record == NULL) status = keep_positions(s, was, is, positions, bytes, vhat);
  tgi_stack_free(s, mark);
  return status;
}

// In the middle, over the rows that are there: the free motion, then both problems.
static tgStatus solve_midway(tgSim *s, tgReal dt, bool held, const void *record) {
  tgi_order_begin(s);
  TG_TRY(held ? held_velocity(s) : free_velocity(s, dt));
  for (int d = 0; d < s->m.nv; d++) s->end.vel[d] = s->rows->mean[d] = s->vhat[d];
  if (s->nrow == 0) return TG_OK;
  tgStatus status = solve_flow(s, path_bias, record);
  return status == TG_OK ? solve_ordered(s, record) : status;
}

static tgStatus held_flow(tgSim *s, tgReal dt, bool held, const void *record, const tgiClasses *from) {
  bool again = true;
  s->opened = false;
  s->dt = dt;
  s->nisland = 0;
  tgi_rows_select(s, 0);
  TG_TRY(place_on_way(s, dt, &s->trial));
  TG_TRY(held_rows(s, dt));
  tgi_order_match(s);
  if (from != NULL) tgi_classes_start(s, from);
  TG_TRY(place_on_way(s, 0.5 * dt, &s->middle));
  tgi_midway(s);
  tgi_inertias(s, &s->start);
  tgi_mass_matrix(s, &s->start);
  tgStatus status = TG_OK;
  if (held) {
    status = solve_midway(s, dt, true, record);
    tgi_midway_end(s);   // for derivatives
  } else {
    for (Agreement a = begin(s); again && status == TG_OK;) {
      status = solve_midway(s, dt, a.search > 0, NULL);
      if (status == TG_OK) status = agree(s, &a, &again);
    }
  }
  tgi_midway(s);
  return status;
}

tgStatus tgi_impulse_held_flow(tgSim *s, tgReal dt, const void *record, const tgiClasses *from) {
  if (record == NULL) return held_flow(s, dt, false, NULL, from);
  recall_servos(s, record);
  return held_flow(s, dt, true, (const char *)record + tgi_servo_record_bytes(s), NULL);
}
