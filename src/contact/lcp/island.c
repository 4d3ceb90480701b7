// island.c: the rows of one island as a problem of the solver, and what is tried where it has no answer: errors that
// cannot be removed are left, bounces that would add energy are damped.
//
// Based on: [lcp]; [math/lcp The step].
#include "contact/lcp/work.h"

#include <string.h>

static tgiLcpKind kind_of(int row_kind) {
  switch ((tgRowKind)row_kind) {
    case TG_ROW_EQUALITY: return TGI_LCP_EQUALITY;
    case TG_ROW_TANGENT: return TGI_LCP_FRICTION;
    case TG_ROW_FRICTION: return TGI_LCP_BOX;
    default: return TGI_LCP_NORMAL;
  }
}

// what the biases of the problem are of gaps, per second
static double position_rate(const tgSim *s) {
  if (tgRe(s->dt) == 0) return 0;
  if (s->problem == 1) return 1 / tgRe(s->dt);
  return s->ahead ? 0 : tgi_impulse_options(s)->erp / tgRe(s->dt);
}

// A scale of speeds, of which 1e-8 is rounding: of gaps between positions of about 1 m or rad, rounded at 1e-16 of them, over the step. The
// positions' problem asks for gaps within 1e-10: those of bodies that lie on each other agree no better.
static double least_speed(const tgSim *s) { return (s->problem == 1 ? 1e-2 : 1e-8) * position_rate(s); }

// largest sum over a row of an island of the terms of J vhat
static double fastest_term(const tgSim *s, int index) {
  double fastest = 0;
  for (int a = s->rows->island_adr[index]; a < s->rows->island_adr[index + 1]; a++) {
    double speed = 0;
    const int *span = s->rows->span + 4 * s->rows->island_row[a];
    const tgReal *J = tgi_row(s, s->rows->J, s->rows->island_row[a]);
    for (int d = span[0]; d < span[1]; d++) speed += fabs(tgRe(*J++) * tgRe(s->vhat[d]));
    for (int d = span[2]; d < span[3]; d++) speed += fabs(tgRe(*J++) * tgRe(s->vhat[d]));
    fastest = fmax(fastest, speed);
  }
  return fastest;
}

// Takes friction back to that rung. That of dry joints stays: it is bounded, and holds nothing that presses.
static void set_friction(tgSim *s, int index, tgiLcpIsland *k, int rung) {
  static const double share[] = {1, 0.5, 0.25, 0};
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  k->rung = rung;
  for (int a = 0; a < tgi_island_rows(s, index); a++)
    k->bound[a] = k->kind[a] == TGI_LCP_FRICTION ? share[rung] * s->rows->limit[row[a]] : s->rows->limit[row[a]];
}

// Impulses by the forces of the step before, of an island without a block of A; of the second problem, where there are none, those of the
// first. NULL: neither, as in impacts.
static const double *kept_impulses(const tgSim *s, int index, tgiLcpIsland *k) {
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  int n = tgi_island_rows(s, index);
  bool any = false;
  if (!tgi_island_is_sparse(s, index)) return NULL;
  for (int a = 0; a < n; a++) {
    k->kept[a] = tgRe(s->rows->kept[row[a]] * s->dt);
    any = any || k->kept[a] != 0;
  }
  if (any || s->problem == 0) return any ? k->kept : NULL;
  for (int a = 0; a < n; a++) k->kept[a] = tgRe(tgi_lcp_work_of(s, 0)->island[index].f[a]);
  return k->kept;
}

// the rows of an island as a problem of its own
void tgi_lcp_extract(tgSim *s, int index, tgiLcpIsland *k) {
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  int n = tgi_island_rows(s, index);
  for (int a = 0; a < n; a++) {
    int i = row[a], up = s->rows->parent[i];
    k->kind[a] = (int)kind_of(s->rows->kind[i]);
    k->parent[a] = up >= 0 ? s->rows->place[up] : -1;
    k->b[a] = s->rows->b[i];
  }
  set_friction(s, index, k, k->rung);
  if (s->problem == 1) k->fastest = tgi_lcp_work_of(s, 0)->island[index].fastest;
  else k->fastest = fastest_term(s, index);
  // b is a sum of terms J_d vhat_d and of a gap between positions of about 1 m or rad, rounded at 1e-16 of them
  bool sparse = tgi_island_is_sparse(s, index);
  k->problem = (tgiLcpProblem){.n = n, .A = sparse ? NULL : s->rows->A + s->rows->island_at[index],
                               .sparse = sparse ? &tgi_lcp_work_of(s, 0)->island[index].sparse : NULL, .b = k->b, .kind = k->kind,
                               .parent = k->parent, .bound = k->bound, .watch = &s->watch, .kept = kept_impulses(s, index, k),
                               .rank = s->rows->island_dofadr[index + 1] - s->rows->island_dofadr[index],
                               .speed = 1e-6 * k->fastest + least_speed(s)};
  k->cone.of = &k->problem;
}

static tgStatus refused(tgSim *s, tgStatus status, const int *row, const tgiLcpInfo *info) {
  if (status == TG_ERR_CAPACITY) {   // said where it was short and is asked for, else it would never grow
    if (s->wanted.nA > s->cap.nA || s->wanted.widest > s->cap.widest) return status;
    status = TG_ERR_INTERNAL;
  }
  char label[200];
  return tgi_error(&s->error, status, "The contact solve refused its input at the %s (%s).",
                   info->nfailed > 0 ? tgi_row_label(s, row[info->failed[0]], label, sizeof label) : "rows", tg_status_text(status));
}

static void add_info(tgSim *s, const int *row, const tgiLcpInfo *info) {
  tgiLcpWork *w = tgi_lcp_work(s);
  s->info.iterations += info->pivots + info->sweeps;
  s->info.residual = fmax(s->info.residual, info->residual);
  s->info.rank_deficient = s->info.rank_deficient || info->rank < info->nk;
  for (int a = 0; a < info->nties; a++) w->tie[row[info->ties[a]]] = 1;
  for (int a = 0; a < info->nfailed; a++) w->failed[row[info->failed[a]]] = 1;
}

// Does row a of the island push out an overlap or a passed limit: of positions one that was there at the start.
static bool pushes_error(const tgSim *s, const tgiLcpIsland *k, int a, int i) {
  const tgRows *r = s->rows;
  bool cut = s->problem == 1 && s->ahead && r->cut[i];
  double gap = tgRe(r->gap[i]);
  if (k->kind[a] != TGI_LCP_NORMAL || (tgRe(r->rate[i]) == 0 && !cut)) return false;
  if (s->problem == 1 && s->ahead) gap -= tgRe(s->dt * tgi_row_dot(s, r->J, i, s->start.vel));
  return gap < 0;
}

static bool has_errors(const tgSim *s, int index, const tgiLcpIsland *k) {
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  for (int a = 0; a < k->problem.n; a++)
    if (pushes_error(s, k, a, row[a])) return true;
  return false;
}

// Takes the push out of overlaps and passed limits of an island: b = J vhat there, which alone always has a solution [math/lcp Errors that
// cannot be removed]. The number of rows that had one.
static int leave_errors(tgSim *s, int index, tgiLcpIsland *k) {
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  int count = 0;
  for (int a = 0; a < k->problem.n; a++) {
    int i = row[a];
    if (!pushes_error(s, k, a, i)) continue;
    s->rows->b[i] = k->b[a] = tgi_row_dot(s, s->rows->J, i, s->vhat);
    s->rows->rate[i] = s->rows->drift[i] = 0;
    count++;
  }
  return count;
}

// An island without a block of A whose solve ended in no classes that hold, by its matrix from the forces that were found: the answer goes
// on as the island's own.
static tgStatus solve_with_matrix(tgSim *s, int index, tgiLcpInfo *info) {
  tgiLcpWork *w = tgi_lcp_work(s);
  tgiLcpIsland *k = &w->island[index];
  tgiLcpProblem p = k->problem;
  tgiLcpInfo before = *info;
  tgiLcp dense;
  tgReal *A;
  TG_TRY(tgi_lcp_room_for_matrix(s, index, &dense, &A));
  tgi_sparse_form(k->problem.sparse, p.n, A);
  p.A = A;
  p.sparse = NULL;
  tgStatus status = tgi_lcp_solve_near(&dense, &p, k->f, k->w, w->island_cls, info);
  info->pivots += before.pivots;
  info->factored += before.factored;
  if (status < 0 || status == TG_CANCELLED) return status;
  if (status == TG_NOT_CONVERGED) {   // the forces that were found, which are within their bounds, as they are
    memcpy(k->f, k->lcp.anchor, (size_t)p.n * sizeof *k->f);
    memcpy(w->island_cls, k->lcp.cls, (size_t)p.n);
    info->stage = before.stage;
  }
  return tgi_lcp_take(&k->lcp, &k->problem, k->f, k->w, w->island_cls, info);
}

// Positions: from the solve of velocities, which differs in b alone, as it ended; then from their own classes.
static tgStatus solve_positions(tgSim *s, int index, tgiLcpInfo *info) {
  tgiLcpWork *w = tgi_lcp_work(s);
  tgiLcpIsland *k = &w->island[index];
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  size_t mark = tgi_stack_mark(s), n = (size_t)k->problem.n;
  int8_t *first = tgi_stack_bytes(s, 2 * n + 1), *own = first + n;
  const tgiLcp *before = tgi_lcp_velocities_solve(s, index);
  tgStatus status;
  if (first == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's contacts; reserve more and repeat.");
  memcpy(own, w->island_cls, n);
  for (size_t a = 0; a < n; a++) first[a] = (int8_t)s->rows->class2[row[a]];
  if (before != NULL && memcmp(before->cls, first, n) == 0)
    status = tgi_lcp_resolve(&k->lcp, before, &k->problem, own, k->f, k->w, w->island_cls, info);
  else status = tgi_lcp_solve_from(&k->lcp, &k->problem, first, own, k->f, k->w, w->island_cls, info);
  tgi_stack_free(s, mark);
  return status;
}

// before (rows of the island): the velocity of its rows that tells which way sliding goes on; of the second problem that of the first
static const tgReal *slip_before(tgSim *s, int index, tgReal *before) {
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  if (s->problem == 1) return tgi_lcp_work_of(s, 0)->island[index].w;
  for (int a = 0; a < tgi_island_rows(s, index); a++) before[a] = tgi_row_dot(s, s->rows->J, row[a], s->start.vel);
  return before;
}

static tgStatus solve_cones(tgSim *s, int index, tgiLcpInfo *info) {
  tgiLcpWork *w = tgi_lcp_work(s);
  tgiLcpIsland *k = &w->island[index];
  size_t mark = tgi_stack_mark(s);
  tgReal *room = tgi_stack_real(s, (size_t)k->problem.n + 1);
  if (room == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's contacts; reserve more and repeat.");
  const tgReal *before = slip_before(s, index, room);
  tgStatus status = TG_OK;
  if (info == NULL) tgi_cone_solve_classes(&k->lcp, &k->cone, w->island_cls, before, k->f, k->w);
  else status = tgi_cone_solve(&k->lcp, &k->cone, w->island_cls, before, k->f, k->w, w->island_cls, info);
  tgi_stack_free(s, mark);
  return status;
}

// From the classes of the step before. Pivots, sweeps and factorisations are added to those of info.
static tgStatus attempt(tgSim *s, int index, tgiLcpInfo *info) {
  const tgiLcpInfo before = *info;
  tgiLcpWork *w = tgi_lcp_work(s);
  tgiLcpIsland *k = &w->island[index];
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  tgStatus status;
  bool again = k->again;
  k->again = false;
  for (int a = 0; a < k->problem.n; a++) w->island_cls[a] = w->cls[row[a]];
  k->problem.doubtful = k->problem.sparse == NULL && k->left == 0 && has_errors(s, index, k);
  if (tgi_has_cones(s)) status = solve_cones(s, index, info);
  else if (s->problem == 1) status = solve_positions(s, index, info);
  else if (again) status = tgi_lcp_resolve(&k->lcp, &k->lcp, &k->problem, NULL, k->f, k->w, w->island_cls, info);
  else status = tgi_lcp_solve(&k->lcp, &k->problem, w->island_cls, k->f, k->w, w->island_cls, info);
  bool refused = status == TG_OK && s->problem == 0 && k->tries++ < s->refused_solves;
  if (refused) status = TG_NOT_CONVERGED;
  // but next to an answer errors that contradict each other are likelier than one: the matrix once they are left
  bool near = info->residual <= TGI_LCP_NEXT || k->left > 0 || !has_errors(s, index, k);
  bool sparse = k->problem.sparse != NULL && k->problem.n <= TGI_LCP_MATRIX_ROWS && near;
  if (sparse && status == TG_NOT_CONVERGED) status = solve_with_matrix(s, index, info);
  info->pivots += before.pivots;
  info->sweeps += before.sweeps;
  info->factored += before.factored;
  return status;
}

// What misses an answer by no more of forces and speeds is taken where there is none [math/lcp Errors that cannot be removed].
#define NEXT_TO_NOTHING 1e-6

static bool misses_by_next_to_nothing(const tgiLcpInfo *info) { return info->stage == TGI_LCP_FAILED && info->residual <= NEXT_TO_NOTHING; }

// The same; where there is no answer, once more without what the equalities cannot be given together. Then classes that miss by next to
// nothing count as one: of equalities that all but follow from each other the class solve leaves out a part that other rows see.
static tgStatus attempt_agreed(tgSim *s, int index, tgiLcpInfo *info) {
  tgiLcpIsland *k = &tgi_lcp_work(s)->island[index];
  tgStatus status = attempt(s, index, info);
  bool asked = status == TG_NOT_CONVERGED && !k->agreed && !tgi_has_cones(s) && tgi_impulse_options(s)->unsolved == TG_UNSOLVED_GO_ON;
  if (asked) k->agreed = tgi_lcp_agree(k);
  if (!asked || !k->agreed) return status;
  status = attempt(s, index, info);
  return status == TG_NOT_CONVERGED && misses_by_next_to_nothing(info) ? TG_OK : status;
}

// Equalities ask for all that they did again: the answer with the classes that were found without a part of it, which count (k->agreed)
// where they have an answer without it, or miss one by next to nothing.
static tgStatus ask_for_all(tgSim *s, int index, tgStatus status, tgiLcpInfo *info) {
  tgiLcpWork *w = tgi_lcp_work(s);
  tgiLcpIsland *k = &w->island[index];
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  for (int a = 0; a < k->problem.n; a++) k->b[a] = s->rows->b[row[a]];
  k->agreed = status == TG_OK || misses_by_next_to_nothing(info);
  return tgi_lcp_take(&k->lcp, &k->problem, k->f, k->w, w->island_cls, info);
}

// row a of the island bounces with restitution e, at 0 like a row that never did
static void set_bounce(tgSim *s, int index, tgiLcpIsland *k, int a, tgReal e) {
  int i = s->rows->island_row[s->rows->island_adr[index] + a];
  tgReal speed = s->rows->b[i] / (1 + s->rows->bounce[i]);
  s->rows->bounce[i] = e;
  s->rows->rate[i] = tgRe(e) != 0 ? 0 : position_rate(s);
  s->rows->b[i] = k->b[a] = speed + e * speed + s->rows->rate[i] * s->rows->gap[i];
}

// Kinetic energy that the impulses add, where something bounces: f' (J vhat + J v')/2, less what pushes errors out, when that is above
// rounding; else 0.
static double energy_gained(const tgSim *s, int index, const tgiLcpIsland *k) {
  double gain = 0, allowed = 0;
  bool bounced = false;
  for (int a = 0; a < k->problem.n; a++) {
    int i = s->rows->island_row[s->rows->island_adr[index] + a];
    double f = tgRe(k->f[a]), push = tgRe(s->rows->rate[i]) * tgRe(s->rows->gap[i]), speed;
    bounced = bounced || (tgRe(s->rows->bounce[i]) > 0 && f > 0);
    gain += tgi_row_gain(s, i, f, tgRe(k->b[a]), tgRe(k->w[a]), &speed);
    allowed += fabs(f * push) + 1e-12 * fabs(f * speed);
  }
  return bounced && gain > allowed ? gain : 0;
}

// The restitution of the island's bounces one rung down: half, half again, none. False: nothing bounces.
static bool damp(tgSim *s, int index, tgiLcpIsland *k) {
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  bool any = false;
  for (int a = 0; a < k->problem.n; a++) {
    if (!(tgRe(s->rows->bounce[row[a]]) > 0)) continue;
    set_bounce(s, index, k, a, k->damped < 2 ? 0.5 * s->rows->bounce[row[a]] : 0);
    any = true;
  }
  k->damped += any;
  return any;
}

// Restitution as given; where then the conditions contradict each other, or an impact of several contacts would add energy, half of it, a
// quarter, none in the whole island [math/lcp Restitution]. The energy of an impact by itself is its stepper's affair.
static tgStatus solve_bounces(tgSim *s, int index, tgiLcpInfo *info) {
  tgiLcpIsland *k = &tgi_lcp_work(s)->island[index];
  bool guard = tgRe(s->dt) != 0;
  tgStatus status = attempt_agreed(s, index, info);
  while (k->damped < 3 && status >= 0 && status != TG_CANCELLED && (status != TG_OK || (guard && energy_gained(s, index, k) > 0))) {
    if (!damp(s, index, k)) break;
    if (k->damped == 1) s->info.ndamped++;
    status = attempt(s, index, info);
  }
  return status;
}

// How far the joint or fixed tendon of a limit row is at the start from where it is brought to, which is before the end of its range.
static double short_of_range(const tgSim *s, int row) {
  bool told = s->rows->kind[row] == TG_ROW_LIMIT && tgi_strands_sign(s, row) == 0;
  return told ? tgi_row_past_limit(s, row) + tgRe(tgi_row_clearance(s, row)) : 0;
}

// How fast what overlaps is moved apart: at the push speed. Where that is none, as between impacts, what is past the end of its range at
// the start, or nearer to it than it is met, ends there with the flow; overlaps that rows ahead tell of alone come of bent ways, and are no
// errors.
static double parting_speed(const tgSim *s, const tgiLcpIsland *k, const int *row) {
  double push = tgi_impulse_options(s)->push_speed, past = 0;
  for (int a = 0; a < k->problem.n && push == 0; a++)
    if (pushes_error(s, k, a, row[a])) past = fmax(past, short_of_range(s, row[a]));
  return push > 0 ? push : past / tgRe(s->dt);
}

// Overlaps pushed out would move a joint LEVER times as fast [m/s or rad/s] as bodies are moved apart: through contacts that hardly move
// it, or that all but contradict each other. TG_ERR_CAPACITY: scratch is short.
static tgStatus throws(tgSim *s, int index, const tgiLcpIsland *k, bool *fast) {
  static const double LEVER = 100, DEEP = 1e-6;
  const tgRows *r = s->rows;
  const int *row = r->island_row + r->island_adr[index];
  const tgReal *before = tgi_lcp_work_of(s, 0)->island[index].f;
  size_t mark = tgi_stack_mark(s);
  double most = LEVER * parting_speed(s, k, row);
  bool deep = false;
  *fast = false;
  for (int a = 0; a < k->problem.n; a++) deep = deep || (pushes_error(s, k, a, row[a]) && tgRe(r->gap[row[a]]) < -DEEP);
  if (!deep) return TG_OK;
  tgReal *v = tgi_stack_real(s, (size_t)s->m.nv);
  if (v == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's contacts; reserve more and repeat.");
  // only what the island's rows act on: there may be as many islands as trees
  for (int a = 0; a < k->problem.n; a++)
    for (const int *span = r->span + 4 * row[a], *end = span + 4; span < end; span += 2)
      memset(v + span[0], 0, (size_t)(span[1] - span[0]) * sizeof *v);
  for (int a = 0; a < k->problem.n; a++) tgi_row_add(s, r->MiJ, row[a], k->f[a] - before[a], v);
  for (int a = 0; a < k->problem.n; a++)
    for (const int *span = r->span + 4 * row[a], *end = span + 4; span < end; span += 2)
      for (int d = span[0]; d < span[1]; d++) *fast = *fast || !(fabs(tgRe(v[d])) <= most);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// Where there is no answer: that of the classes that leave least, where it misses one by next to nothing or by what equalities cannot be
// given together; with less friction; then that of the classes that leave least, whatever they leave. It is told.
static tgStatus fall_back(tgSim *s, int index, tgiLcpInfo *info) {
  tgiLcpIsland *k = &tgi_lcp_work(s)->island[index];
  int whole = k->rung, first = s->rows->island_row[s->rows->island_adr[index] + (info->nfailed > 0 ? info->failed[0] : 0)], body[2];
  bool nearly = k->agreed || misses_by_next_to_nothing(info);
  tgStatus status = TG_NOT_CONVERGED;
  tgi_row_bodies(s, first, body);
  for (int rung = whole + 1; rung < 4 && !nearly && status == TG_NOT_CONVERGED; rung++) {
    set_friction(s, index, k, rung);
    status = attempt(s, index, info);
  }
  if (status == TG_NOT_CONVERGED && !nearly) {
    set_friction(s, index, k, whole);
    status = attempt(s, index, info);
  }
  if (status < 0 || status == TG_CANCELLED) return status;
  if (s->info.nfallback++ == 0) {
    s->info.body1 = body[0];
    s->info.body2 = body[1];
  }
  int how = k->rung > whole ? TGI_FALLBACK_FRICTION : TGI_FALLBACK_RESIDUAL;
  s->info.fallback = how > s->info.fallback ? how : s->info.fallback;
  return how == TGI_FALLBACK_FRICTION ? TG_OK : TG_NOT_CONVERGED;
}

// the island's answer to its rows
void tgi_lcp_spread(tgSim *s, int index) {
  tgiLcpWork *w = tgi_lcp_work(s);
  const tgiLcpIsland *k = &w->island[index];
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  for (int a = 0; a < k->problem.n; a++) {
    s->rows->f[row[a]] = k->f[a];
    s->rows->w[row[a]] = k->w[a];
    if (tgRe(s->dt) > 0) s->rows->kept[row[a]] = k->problem.sparse != NULL ? tgRe(k->f[a]) / tgRe(s->dt) : 0;
    w->cls[row[a]] = w->island_cls[a];
  }
}

// The answer's classes are others than those that its search began with, in a row that acts.
static bool classes_moved(const tgiLcpWork *w, const tgiLcpIsland *k, const int *row) {
  for (int a = 0; a < k->problem.n; a++) {
    bool idle = k->kind[a] == TGI_LCP_FRICTION && w->island_cls[k->parent[a]] != TGI_LCP_C;
    if (!idle && w->cls[row[a]] != w->island_cls[a]) return true;
  }
  return false;
}

tgStatus tgi_lcp_solve_island(tgSim *s, int index) {
  tgiLcpWork *w = tgi_lcp_work(s);
  tgiLcpIsland *k = &w->island[index];
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  int n = tgi_island_rows(s, index);
  tgStatus status = TG_OK;
  tgi_lcp_extract(s, index, k);
  if (s->pinned) {
    for (int a = 0; a < n; a++) w->island_cls[a] = w->cls[row[a]];
    if (tgi_has_cones(s)) TG_TRY(solve_cones(s, index, NULL));
    else tgi_lcp_solve_classes(&k->lcp, &k->problem, w->island_cls, k->f, k->w);
    s->info.rank += k->lcp.rank;
  } else {
    tgiLcpInfo info = {.stage = TGI_LCP_FAILED};
    // errors that are left whatever the answer is are left without one
    bool certain = s->problem == 1 && has_errors(s, index, k) && tgi_lcp_inert_closes(&k->problem);
    status = certain ? TG_NOT_CONVERGED : solve_bounces(s, index, &info);
    if (status < 0) return refused(s, status, row, &info);
    k->left = status == TG_NOT_CONVERGED || info.ninert > 0 ? leave_errors(s, index, k) : 0;
    if (k->left > 0) status = certain ? attempt_agreed(s, index, &info) : attempt(s, index, &info);
    else if (status == TG_OK && s->problem == 1 && s->ahead) {
      bool fast;
      TG_TRY(throws(s, index, k, &fast));
      k->left = fast ? leave_errors(s, index, k) : 0;
      if (fast) status = attempt(s, index, &info);
    }
    if (k->agreed && status >= 0 && status != TG_CANCELLED) status = ask_for_all(s, index, status, &info);
    if (status == TG_NOT_CONVERGED && tgi_impulse_options(s)->unsolved == TG_UNSOLVED_GO_ON) status = fall_back(s, index, &info);
    if (status < 0) return refused(s, status, row, &info);
    if (status == TG_CANCELLED) return tgi_sim_cancelled(s, "contact solve");
    s->info.nleft += k->left;
    add_info(s, row, &info);
    s->info.rank += info.rank;
    k->stage = status == TG_OK ? info.stage : TGI_LCP_FAILED;
    k->moved = classes_moved(w, k, row);
    bool failed = status != TG_OK || (index > 0 && s->info.stage == TGI_LCP_FAILED);
    s->info.stage = failed ? TGI_LCP_FAILED : info.stage > s->info.stage ? info.stage : s->info.stage;
  }
  tgi_lcp_spread(s, index);
  return status;
}

// ---- other answers ----

// An answer whose classes are new is asked about without a watch, as it is then that the start decides: over so many rows at most where
// corrections of the last classes were enough, and where it was pivoted for, which has cost as much.
enum { FEW_CORRECTED = 9, FEW_PIVOTED = 24 };

int tgi_lcp_other_answer(tgSim *s, int problem, int index) {
  tgiLcpIsland *k = &tgi_lcp_work_of(s, problem)->island[index];
  int pivots = 0;
  if (tgi_has_cones(s) || (s->rebounds && problem == 0) || k->stage == TGI_LCP_FAILED) return -1;
  int at = tgi_lcp_proves_others(&k->lcp, k->f, k->w);
  int few = k->stage > TGI_LCP_WARM ? FEW_PIVOTED : k->moved ? FEW_CORRECTED : 0;
  bool asked = s->answers_asked == TGI_ASK_ALL || (s->answers_asked == TGI_ASK_CHANGED && few > 0) || k->problem.n <= few;
  if (at < 0 && asked) at = tgi_lcp_find_other(&k->lcp, &k->problem, k->w, &pivots);
  return at < 0 ? -1 : s->rows->island_row[s->rows->island_adr[index] + at];
}

// ---- on a tape ----

// A row's byte: its class; the class that the last solve was made with, which for a tangent under a normal that has let
// go may be another; a tie.
enum { CLASS = 7, SOLVED = 3, TIE = 64 };
// An island's first byte: how often its bounces were damped. Its second: these bits; two bits from RUNG on, the rung of friction; two from
// ANCHOR on, tgiLcpAnchor. After the rows' bytes an island without a block of A has its anchor, one with cones how rows are turned and its
// forces.
enum { LEFT = 1, DEFICIENT = 2, RUNG = 2, ANCHOR = 4, PLACED = 64, SPLIT = 128 };

size_t tgi_lcp_island_record_bytes(int n, int doubles) { return 2 + (size_t)n * (1 + (size_t)doubles * sizeof(double)); }

static uint8_t *put_numbers(const tgReal *x, int n, uint8_t *to) {
  for (int a = 0; a < n; a++, to += sizeof(double)) memcpy(to, &(double){tgRe(x[a])}, sizeof(double));
  return to;
}

static const uint8_t *take_numbers(const uint8_t *from, int n, tgReal *x) {
  for (int a = 0; a < n; a++, from += sizeof(double)) {
    double number;
    memcpy(&number, from, sizeof number);
    x[a] = number;
  }
  return from;
}

void tgi_lcp_record_island(const tgSim *s, int index, uint8_t *to) {
  const tgiLcpWork *w = tgi_lcp_work(s);
  const tgiLcpIsland *k = &w->island[index];
  to[0] = (uint8_t)k->damped;
  to[1] = (uint8_t)((k->left > 0 ? LEFT : 0) | (k->lcp.deficient ? DEFICIENT : 0) | k->rung << RUNG | (int)k->lcp.anchored << ANCHOR |
                    (k->cone.placed ? PLACED : 0) | (k->cone.split ? SPLIT : 0));
  for (int a = 0; a < k->problem.n; a++) {
    int cls = k->lcp.cls[a], solved = cls == TGI_LCP_C || k->lcp.kpos[a] < 0 ? cls : TGI_LCP_F;
    to[2 + a] = (uint8_t)(cls | solved << SOLVED | (w->tie[s->rows->island_row[s->rows->island_adr[index] + a]] ? TIE : 0));
  }
  to += 2 + k->problem.n;
  if (k->problem.sparse != NULL) put_numbers(k->lcp.anchor, k->problem.n, to);
  if (tgi_has_cones(s)) put_numbers(k->f, k->problem.n, put_numbers(k->cone.turn, k->problem.n, to));
}

static void recall_anchor(tgiLcpIsland *k, const uint8_t *from) {
  k->lcp.anchored = (tgiLcpAnchor)(from[1] >> ANCHOR & 3);
  if (k->problem.sparse != NULL) take_numbers(from + 2 + k->problem.n, k->problem.n, k->lcp.anchor);
}

void tgi_lcp_recall_island(tgSim *s, int index, const uint8_t *from) {
  tgiLcpWork *w = tgi_lcp_work(s);
  tgiLcpIsland *k = &w->island[index];
  const int *row = s->rows->island_row + s->rows->island_adr[index];
  k->rung = from[1] >> RUNG & 3;
  tgi_lcp_extract(s, index, k);
  while (k->damped < from[0] && damp(s, index, k)) continue;
  k->left = from[1] & LEFT ? leave_errors(s, index, k) : 0;
  for (int a = 0; a < k->problem.n; a++) w->island_cls[a] = (int8_t)(from[2 + a] >> SOLVED & CLASS);
  recall_anchor(k, from);
  bool deficient = (from[1] & DEFICIENT) != 0;
  if (tgi_has_cones(s)) {
    k->cone.placed = (from[1] & PLACED) != 0;
    k->cone.split = (from[1] & SPLIT) != 0;
    take_numbers(take_numbers(from + 2 + k->problem.n, k->problem.n, k->cone.turn), k->problem.n, k->f);
    tgi_cone_recall(&k->lcp, &k->cone, w->island_cls, deficient, k->f, k->w);
  } else {
    const tgiLcp *like = k->again ? &k->lcp : tgi_lcp_velocities_solve(s, index);
    k->again = false;
    tgi_lcp_recall_classes(&k->lcp, like, &k->problem, w->island_cls, deficient, k->f, k->w);
  }
  for (int a = 0; a < k->problem.n; a++) {
    k->lcp.cls[a] = w->island_cls[a] = (int8_t)(from[2 + a] & CLASS);
    w->tie[row[a]] = (from[2 + a] & TIE) != 0;
  }
  tgi_lcp_spread(s, index);
}
