// lcp.c: the rows of an impulse step handed to the complementarity solver, and its derivative handed back.
//
// Based on: [lcp]; [math/lcp The step], [math/lcp Derivative]. The solver (solve.h) is a function on arrays; here it is given the
// sim's rows and a workspace inside the sim.
#include "contact/lcp/lcp.h"

#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "coll/contacts.h"
#include "contact/islands.h"
#include "contact/lcp/columns.h"
#include "contact/lcp/solve.h"
#include "contact/rows.h"

// a tie in gap or speed, relative to 1 m, 1 rad or 1 m/s
static const double tie_gap = 1e-9, tie_speed = 1e-9;

// the aware gradient takes other classes where the true ones let through less than this share of what those do
#define TOLD_APART 1e-6

// one island: its rows in their own numbering, and the factorisation that its derivative needs
typedef struct Island {
  tgiLcp lcp;
  tgiLcpProblem problem;
  int *kind, *parent;
  tgReal *b, *bound, *f, *w;
} Island;

typedef struct Work {
  Island *island;            // as many as the step has
  int8_t *cls, *island_cls;  // cap.nrow: classes in and out, all and of one island
  int8_t *tie, *failed;      // cap.nrow: what the solver said of the row
  int8_t *explored;          // cap.nrow: island with classes of the aware gradient in the last adjoint
  tgReal *K;                 // three vectors of cap.nrow
  tgReal *other;             // cap.nrow: adjoint of the aware gradient
  void *scratch;             // of the solver, shared by the islands
  char *pool;                // what the islands keep
  size_t pool_bytes;
} Work;

// rows of each sort at most, for a capacity
static void most_rows(const tgModel *m, const tgCapacity *z, int n[3]) {
  n[0] = n[1] = n[2] = 0;
  for (int e = 0; e < m->neq; e++) n[0] += m->eq_type[e] == TG_EQ_WELD ? 6 : m->eq_type[e] == TG_EQ_CONNECT ? 3 : 1;
  for (int j = 0; j < m->njnt; j++)
    n[1] += !m->jnt_limited[j] ? 0 : tgRe(m->jnt_range[2 * j]) >= tgRe(m->jnt_range[2 * j + 1]) ? 2 : 1;
  for (int t = 0; t < m->ntendon; t++)
    n[1] += !m->ten_limited[t] ? 0 : tgRe(m->ten_range[2 * t]) >= tgRe(m->ten_range[2 * t + 1]) ? 2 : 1;
  for (int d = 0; d < m->nv; d++) n[2] += tgRe(m->dof_frictionloss[d]) > 0;
  for (int t = 0; t < m->ntendon; t++) n[2] += tgRe(m->ten_frictionloss[t]) > 0;
  n[1] += z->ncon;
  n[2] += 2 * z->ncon;
  for (int k = 0; k < 3; k++)
    if (n[k] > z->nrow) n[k] = z->nrow;
}

// what an island of n rows keeps; returns the memory of its factorisation
static void *place_island(tgLayout *l, int n, Island *k) {
  size_t rows = (size_t)n;
  void *kept = tgi_place(l, tgi_lcp_kept_bytes(n), 1);
  k->kind = tgi_place(l, rows, sizeof(int));
  k->parent = tgi_place(l, rows, sizeof(int));
  k->b = tgi_place(l, rows, sizeof(tgReal));
  k->bound = tgi_place(l, rows, sizeof(tgReal));
  k->f = tgi_place(l, rows, sizeof(tgReal));
  k->w = tgi_place(l, rows, sizeof(tgReal));
  return kept;
}

static size_t island_bytes(int n) {
  tgLayout l = {.base = NULL};
  Island k;
  place_island(&l, n, &k);
  return l.used;
}

// The workspace. Islands of n1, n2, ... rows keep less than one with all of them, but for rounding up, which that of one row bounds.
static void place(const tgModel *m, const tgCapacity *z, tgLayout *l, Work **work) {
  int count[3];
  most_rows(m, z, count);
  size_t n = (size_t)z->nrow;
  Work w;
  *work = tgi_place(l, 1, sizeof w);
  w.island = tgi_place(l, n, sizeof *w.island);
  int8_t **bytes[] = {&w.cls, &w.island_cls, &w.tie, &w.failed, &w.explored};
  for (int i = 0; i < 5; i++) *bytes[i] = tgi_place(l, n, 1);
  w.K = tgi_place(l, 3 * n, sizeof(tgReal));
  w.other = tgi_place(l, n, sizeof(tgReal));
  w.scratch = tgi_place(l, tgi_lcp_scratch_bytes(count[0], count[1], count[2]), 1);
  w.pool_bytes = tgi_size_mul(n + 1, island_bytes(1));
  w.pool_bytes = w.pool_bytes > SIZE_MAX / 4 || island_bytes(z->nrow) > SIZE_MAX / 4 ? SIZE_MAX : w.pool_bytes + island_bytes(z->nrow);
  w.pool = tgi_place(l, w.pool_bytes, 1);
  if (*work != NULL) **work = w;
}

static size_t solver_bytes(const tgContact *c, const tgCapacity *z) {
  const tgModel *m = c->model;
  tgLayout l = {.base = NULL};
  Work *w;
  place(m, z, &l, &w);
  return l.used;
}

static Work *work_of(const tgSim *s) { return s->solver; }

static tgStatus prepare(tgContact *c, tgError *error) {
  (void)c;
  (void)error;
  return TG_OK;   // every geom of a model is a plane, a sphere, a capsule or has a convex hull
}

static tgiLcpKind kind_of(int row_kind) {
  switch ((tgRowKind)row_kind) {
    case TG_ROW_EQUALITY: return TGI_LCP_EQUALITY;
    case TG_ROW_TANGENT: return TGI_LCP_FRICTION;
    case TG_ROW_FRICTION: return TGI_LCP_BOX;
    default: return TGI_LCP_NORMAL;
  }
}

// the deepest overlap, which is the usual reason for conditions that contradict each other
static const char *deepest(const tgSim *s, char *text, size_t size) {
  const tgContactRow *worst = NULL;
  for (int i = 0; i < s->ncon; i++)
    if (worst == NULL || tgRe(s->contact[i].gap) < tgRe(worst->gap)) worst = &s->contact[i];
  if (worst == NULL || tgRe(worst->gap) >= -1e-6) {
    snprintf(text, size, " Look for constraints that contradict each other.");
    return text;
  }
  char a[128], b[128];
  snprintf(text, size, " The deepest overlap is %.2g m, of %s and %s: move them apart, or exclude contact between their bodies.", -tgRe(worst->gap),
           tgi_model_label(&s->m, TG_THING_GEOM, worst->geom1, a, sizeof a), tgi_model_label(&s->m, TG_THING_GEOM, worst->geom2, b, sizeof b));
  return text;
}

// names the first rows that do not fit
static tgStatus report_failure(tgSim *s) {
  const Work *w = work_of(s);
  char label[200] = "no row", overlap[400];
  int failed = 0;
  for (int i = s->nrow - 1; i >= 0; i--) {
    if (!w->failed[i]) continue;
    int body[2];
    failed++;
    tgi_row_label(s, i, label, sizeof label);
    tgi_row_bodies(s, i, body);
    s->info.body1 = body[0];
    s->info.body2 = body[1];
  }
  return tgi_error(&s->error, TG_NOT_CONVERGED,
                   "The contact solve left %d of %d rows with a residual above 1e-8 (worst %.2g), first the %s; the state is unchanged.%s",
                   failed, s->nrow, s->info.residual, label, deepest(s, overlap, sizeof overlap));
}

// the rows of an island as a problem of its own
static void extract(tgSim *s, int index, Island *k) {
  const int *row = s->island_row + s->island_adr[index];
  int n = tgi_island_rows(s, index);
  double fastest = 0;
  for (int a = 0; a < n; a++) {
    int i = row[a], up = s->row_parent[i];
    k->kind[a] = (int)kind_of(s->row_kind[i]);
    k->parent[a] = up >= 0 ? s->row_place[up] : -1;
    k->b[a] = s->row_b[i];
    k->bound[a] = s->row_limit[i];
    double speed = 0;
    const int *span = s->row_span + 4 * i;
    const tgReal *J = s->row_J + (size_t)i * (size_t)s->m.nv;
    for (int d = span[0]; d < span[3]; d++) speed += fabs(tgRe(J[d]) * tgRe(s->vhat[d]));
    fastest = fmax(fastest, speed);
  }
  // b is a sum of terms J_d vhat_d and of a gap between positions of about 1 m or rad, rounded at 1e-16 of them
  k->problem = (tgiLcpProblem){.n = n, .A = s->row_A + s->island_at[index], .b = k->b, .kind = k->kind, .parent = k->parent, .bound = k->bound,
                               .rank = s->island_dofadr[index + 1] - s->island_dofadr[index],
                               .speed = 1e-6 * fastest + 1e-8 * s->contact_model->options.erp / s->h};
}

static tgStatus refused(tgSim *s, tgStatus status, const int *row, const tgiLcpInfo *info) {
  char label[200];
  return tgi_error(&s->error, status, "The contact solve refused its input at the %s (%s).",
                   info->nfailed > 0 ? tgi_row_label(s, row[info->failed[0]], label, sizeof label) : "rows", tg_status_text(status));
}

static void add_info(tgSim *s, const int *row, const tgiLcpInfo *info) {
  Work *w = work_of(s);
  s->info.iterations += info->pivots + info->sweeps;
  s->info.residual = fmax(s->info.residual, info->residual);
  s->info.rank_deficient = s->info.rank_deficient || info->rank < info->nk;
  for (int a = 0; a < info->nties; a++) w->tie[row[info->ties[a]]] = 1;
  for (int a = 0; a < info->nfailed; a++) w->failed[row[info->failed[a]]] = 1;
}

// Takes the push out of overlaps and passed limits of an island: b = J vhat there, which alone always has a solution [math/lcp Errors that
// cannot be removed]. The number of rows that had one.
static int leave_errors(tgSim *s, int index, Island *k) {
  const int *row = s->island_row + s->island_adr[index];
  int count = 0;
  for (int a = 0; a < k->problem.n; a++) {
    int i = row[a];
    if (k->kind[a] != TGI_LCP_NORMAL || !(tgRe(s->row_gap[i]) < 0) || tgRe(s->row_rate[i]) == 0) continue;
    s->row_b[i] -= s->row_rate[i] * s->row_gap[i];
    s->row_rate[i] = 0;
    k->b[a] = s->row_b[i];
    count++;
  }
  return count;
}

// the classes of the step before, as the solve's warm start
static tgStatus attempt(tgSim *s, int index, tgiLcpInfo *info) {
  Work *w = work_of(s);
  Island *k = &w->island[index];
  const int *row = s->island_row + s->island_adr[index];
  for (int a = 0; a < k->problem.n; a++) w->island_cls[a] = w->cls[row[a]];
  return tgi_lcp_solve(&k->lcp, &k->problem, w->island_cls, k->f, k->w, w->island_cls, info);
}

// row a of the island bounces with restitution e, at 0 like a row that never did
static void set_bounce(tgSim *s, int index, Island *k, int a, tgReal e) {
  int i = s->island_row[s->island_adr[index] + a];
  tgReal speed = s->row_b[i] / (1 + s->row_bounce[i]);
  s->row_bounce[i] = e;
  s->row_rate[i] = tgRe(e) != 0 ? 0 : s->contact_model->options.erp / s->h;
  s->row_b[i] = k->b[a] = speed + e * speed + s->row_rate[i] * s->row_gap[i];
}

// Kinetic energy that the impulses add, where something bounces: f' (J vhat + J v')/2, less what pushes errors out, when that is above
// rounding; else 0.
static double energy_gained(const tgSim *s, int index, const Island *k) {
  double gain = 0, allowed = 0;
  bool bounced = false;
  for (int a = 0; a < k->problem.n; a++) {
    int i = s->island_row[s->island_adr[index] + a];
    double f = tgRe(k->f[a]), push = tgRe(s->row_rate[i]) * tgRe(s->row_gap[i]), b = tgRe(k->b[a]);
    double speed = tgRe(s->row_bounce[i]) != 0 ? b / (1 + tgRe(s->row_bounce[i])) : b - push;
    bounced = bounced || (tgRe(s->row_bounce[i]) != 0 && f > 0);
    gain += f * (speed + 0.5 * (tgRe(k->w[a]) - b));
    allowed += fabs(f * push) + 1e-12 * fabs(f * speed);
  }
  return bounced && gain > allowed ? gain : 0;
}

// Restitution as given; where then the conditions contradict each other, or an impact of several contacts would add energy, half of it, a
// quarter, none in the whole island [math/lcp Restitution].
static tgStatus solve_bounces(tgSim *s, int index, tgiLcpInfo *info) {
  Island *k = &work_of(s)->island[index];
  const int *row = s->island_row + s->island_adr[index];
  tgStatus status = attempt(s, index, info);
  for (int rung = 0; rung < 3 && status >= 0 && (status != TG_OK || energy_gained(s, index, k) > 0); rung++) {
    bool any = false;
    for (int a = 0; a < k->problem.n; a++) {
      if (tgRe(s->row_bounce[row[a]]) == 0) continue;
      set_bounce(s, index, k, a, rung < 2 ? 0.5 * s->row_bounce[row[a]] : 0);
      any = true;
    }
    if (!any) break;
    if (rung == 0) s->info.ndamped++;
    status = attempt(s, index, info);
  }
  return status;
}

// one island from the classes of w->cls, which become those of the answer
static tgStatus solve_island(tgSim *s, int index) {
  Work *w = work_of(s);
  Island *k = &w->island[index];
  const int *row = s->island_row + s->island_adr[index];
  int n = tgi_island_rows(s, index);
  tgStatus status = TG_OK;
  extract(s, index, k);
  if (s->pinned) {
    for (int a = 0; a < n; a++) w->island_cls[a] = w->cls[row[a]];
    tgi_lcp_solve_classes(&k->lcp, &k->problem, w->island_cls, k->f, k->w);
  } else {
    tgiLcpInfo info;
    status = solve_bounces(s, index, &info);
    if (status < 0) return refused(s, status, row, &info);
    int left = status == TG_NOT_CONVERGED ? leave_errors(s, index, k) : 0;
    if (left > 0) status = attempt(s, index, &info);
    s->info.nleft += left;
    add_info(s, row, &info);
    bool failed = status != TG_OK || (index > 0 && s->info.stage == TGI_LCP_FAILED);
    s->info.stage = failed ? TGI_LCP_FAILED : info.stage > s->info.stage ? info.stage : s->info.stage;
  }
  for (int a = 0; a < n; a++) {
    s->row_f[row[a]] = k->f[a];
    s->row_w[row[a]] = k->w[a];
    w->cls[row[a]] = w->island_cls[a];
  }
  return status;
}

static tgStatus impulses(tgSim *s) {
  Work *w;
  tgLayout l = {.base = s->solver}, pool;
  int count[3];
  place(&s->m, &s->cap, &l, &w);
  most_rows(&s->m, &s->cap, count);
  pool = (tgLayout){.base = w->pool};
  for (int i = 0; i < s->nrow; i++) {
    w->cls[i] = (int8_t)s->row_class[i];
    w->tie[i] = w->failed[i] = w->explored[i] = 0;
  }
  tgStatus worst = TG_OK;
  for (int index = 0; index < s->nisland; index++) {
    Island *k = &w->island[index];
    int n = tgi_island_rows(s, index);
    void *kept = place_island(&pool, n, k);
    tgi_lcp_init_apart(&k->lcp, kept, n, w->scratch, count[0], count[1], count[2]);
    tgStatus status = solve_island(s, index);
    if (status < 0) return status;
    if (status != TG_OK) worst = status;
  }
  if (s->pinned) return TG_OK;
  for (int i = 0; i < s->nrow; i++) s->row_class[i] = w->cls[i];
  return worst == TG_OK ? TG_OK : report_failure(s);
}

// ---- derivative of the solve, island by island; vectors over rows are gathered to K and scattered back ----

typedef struct Part { const tgiLcp *lcp; const int *row; int n; tgReal *x, *y, *z; } Part;

static Part part(const tgSim *s, int index) {
  const Work *w = work_of(s);
  size_t n = (size_t)s->cap.nrow;
  return (Part){&w->island[index].lcp, s->island_row + s->island_adr[index], tgi_island_rows(s, index), w->K, w->K + n, w->K + 2 * n};
}

static void take_rows(const Part *p, const tgReal *all, tgReal *own) {
  for (int a = 0; a < p->n; a++) own[a] = all[p->row[a]];
}
static void put_rows(const Part *p, const tgReal *own, tgReal *all) {
  for (int a = 0; a < p->n; a++) all[p->row[a]] = own[a];
}
// from K to the rows of the island, 0 on the others
static void put_held(const Part *p, const tgReal *own, tgReal *all) {
  for (int a = 0; a < p->n; a++) all[p->row[a]] = p->lcp->kpos[a] >= 0 ? own[p->lcp->kpos[a]] : 0;
}

static void solve_jvp(const tgSim *s, const tgReal *r, tgReal *df) {
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    for (int a = 0; a < p.lcp->nk; a++) p.x[a] = r[p.row[p.lcp->k[a]]];
    tgi_lcp_derivative(p.lcp, p.x, NULL, p.x);
    tgi_lcp_expand(p.lcp, p.x, p.y);
    put_rows(&p, p.y, df);
  }
}

static void solve_island_vjp(const Part *p, const tgReal *g, tgReal *rbar) {
  take_rows(p, g, p->y);
  tgi_lcp_gather(p->lcp, p->y, p->x);
  tgi_lcp_derivative_t(p->lcp, p->x, p->x, NULL);
  put_held(p, p->x, rbar);
}

static tgStatus solve_columns(tgSim *s, int island, int n, const int *at, tgReal *X, int *live, int *nlive) {
  const tgiLcp *l = &work_of(s)->island[island].lcp;
  size_t mark = tgi_stack_mark(s);
  tgReal *work = tgi_stack_real(s, tgi_lcp_columns_reals(l->nk, l->rank, n) + 1);
  int *iwork = tgi_stack_bytes(s, (tgi_lcp_columns_ints(l->nk) + 1) * sizeof *iwork);
  if (work == NULL || iwork == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's Jacobian; reserve more and repeat.");
  *nlive = tgi_lcp_derivative_columns(l, n, at, X, live, work, iwork);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static void solve_vjp(const tgSim *s, const tgReal *g, tgReal *rbar) {
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    work_of(s)->explored[index] = 0;
    solve_island_vjp(&p, g, rbar);
  }
}

static bool acts_by_null(const tgiLcp *l) { return l->rank < l->nk && tgi_lcp_null_action(l) >= TGI_LCP_NULL; }

static bool null_part(const tgSim *s, tgReal *beta) {
  bool any = false;
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    bool acts = !work_of(s)->explored[index] && acts_by_null(p.lcp);
    any = any || acts;
    for (int a = 0; a < p.lcp->nk; a++) p.x[a] = acts ? p.lcp->z[a] : 0;
    put_held(&p, p.x, beta);
  }
  return any;
}

// own <- expand(project(gather(own rows of g)))
static void project_rows(const Part *p, const tgReal *g) {
  take_rows(p, g, p->y);
  tgi_lcp_gather(p->lcp, p->y, p->x);
  tgi_lcp_project(p->lcp, p->x, p->z);
  tgi_lcp_expand(p->lcp, p->z, p->y);
}

static void null_jvp(const tgSim *s, const tgReal *x, tgReal *df) {
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    if (p.lcp->rank == p.lcp->nk) continue;
    project_rows(&p, x);
    for (int a = 0; a < p.n; a++) df[p.row[a]] += p.y[a];
  }
}

static void null_vjp(const tgSim *s, const tgReal *g, tgReal *alpha) {
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    project_rows(&p, g);
    put_rows(&p, p.y, alpha);
  }
}

static int side(const tgSim *s, int row) { return s->row_class[row] == TGI_LCP_H ? 1 : s->row_class[row] == TGI_LCP_L ? -1 : 0; }

// ---- the complementarity-aware choice [math/lcp Complementarity-aware gradient] ----

// What of dL/dv' reaches the velocities before: x' Mh^-1 x over the island, x = z + J' y
static double passed(const tgSim *s, int index, const tgReal *z, const tgReal *lambda, const tgReal *y) {
  int nv = s->m.nv;
  double sum = 0;
  for (int e = s->island_dofadr[index]; e < s->island_dofadr[index + 1]; e++) {
    int d = s->island_dof[e];
    double x = tgRe(z[d]), l = tgRe(lambda[d]);
    for (int a = s->island_adr[index]; a < s->island_adr[index + 1]; a++) {
      size_t i = (size_t)s->island_row[a];
      x += tgRe(s->row_J[i * (size_t)nv + (size_t)d]) * tgRe(y[i]);
      l += tgRe(s->row_MiJ[i * (size_t)nv + (size_t)d]) * tgRe(y[i]);
    }
    sum += x * l;
  }
  return sum;
}

// Contacts that the loss wants to part are parted, the others press, all without friction. The first row that is not as it was, or -1.
static int wanted_classes(const tgSim *s, const Part *p, const tgReal *z, int8_t *cls) {
  int nv = s->m.nv, first = -1;
  for (int a = 0; a < p->n; a++) {
    int i = p->row[a], kind = s->row_kind[i];
    cls[a] = p->lcp->cls[a];
    if (kind != TG_ROW_NORMAL && kind != TG_ROW_TANGENT) continue;
    double slope = 0;
    for (int d = 0; d < nv; d++) slope += tgRe(s->row_J[(size_t)i * (size_t)nv + (size_t)d]) * tgRe(z[d]);
    bool pressed = cls[a] == TGI_LCP_C || cls[a] == TGI_LCP_F;
    cls[a] = kind == TG_ROW_TANGENT ? TGI_LCP_D : slope < 0 ? TGI_LCP_N : TGI_LCP_C;
    if (first < 0 && pressed != (cls[a] == TGI_LCP_C)) first = i;
  }
  return first;
}

// The classes of the step are those of the factorisation again afterwards.
static void explore(tgSim *s, const tgReal *z, const tgReal *lambda, const tgReal *g, tgReal *y) {
  Work *w = work_of(s);
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    Island *k = &w->island[index];
    tgReal *other = w->other;
    int first = wanted_classes(s, &p, z, w->island_cls);
    if (first < 0) continue;
    memcpy(w->cls, k->lcp.cls, (size_t)p.n);
    tgi_lcp_solve_classes(&k->lcp, &k->problem, w->island_cls, p.x, p.y);
    for (int a = 0; a < p.n; a++) other[p.row[a]] = 0;
    solve_island_vjp(&p, g, other);
    if (passed(s, index, z, lambda, y) < TOLD_APART * TOLD_APART * passed(s, index, z, lambda, other)) {
      for (int a = 0; a < p.n; a++) y[p.row[a]] = other[p.row[a]];
      w->explored[index] = 1;
      if (s->explored < 0) s->explored = first;
    }
    tgi_lcp_solve_classes(&k->lcp, &k->problem, w->cls, p.x, p.y);
  }
}

// ---- ties ----

static void add_tie(const tgSim *s, tgGradInfo *info, const char *what, const char *label) {
  (void)s;
  if (info->ties++ > 0) return;
  info->label = TG_GRAD_ONE_SIDED;
  snprintf(info->reason, sizeof info->reason, "%s: %.150s", what, label);
}

static void contact_ties(const tgSim *s, tgGradInfo *info) {
  const tgModel *m = &s->m;
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    char a[80], b[80], label[190];
    bool at_gap = fabs(tgRe(c->gap) - TG_TOUCH) <= tie_gap;
    // a switch of features matters where there is a force
    bool pressed = c->row >= 0 && tgRe(s->row_f[c->row]) != 0;
    if (!at_gap && !(c->tie && pressed)) continue;
    snprintf(label, sizeof label, "%s and %s", tgi_model_label(m, TG_THING_GEOM, c->geom1, a, sizeof a),
             tgi_model_label(m, TG_THING_GEOM, c->geom2, b, sizeof b));
    add_tie(s, info, at_gap ? "about to touch or part" : "switch of contact features", label);
  }
}

static void limit_ties(const tgSim *s, tgGradInfo *info) {
  const tgModel *m = &s->m;
  char label[96];
  for (int j = 0; j < m->njnt; j++) {
    if (!m->jnt_limited[j]) continue;
    tgReal q = s->q0[m->jnt_qadr[j]], axis[3], w[3];
    bool ball = m->jnt_type[j] == TG_JOINT_BALL;
    if (m->jnt_type[j] == TG_JOINT_FREE) continue;
    if (ball) q = tgi_ball_axis(s, j, axis, w);
    for (int side = ball ? 1 : 0; side < 2; side++)
      if (fabs(tgRe(side == 0 ? q - m->jnt_range[2 * j] : m->jnt_range[2 * j + 1] - q) - TG_TOUCH) <= tie_gap)
        add_tie(s, info, "at the limit", tgi_model_label(m, TG_THING_JOINT, j, label, sizeof label));
  }
  for (int t = 0; t < m->ntendon; t++)
    for (int side = 0; side < 2 && m->ten_limited[t]; side++)
      if (fabs(tgRe(side == 0 ? s->ten_length[t] - m->ten_range[2 * t] : m->ten_range[2 * t + 1] - s->ten_length[t]) - TG_TOUCH) <= tie_gap)
        add_tie(s, info, "at the limit", tgi_model_label(m, TG_THING_TENDON, t, label, sizeof label));
}

// a restitution that is about to switch on or off
static void bounce_ties(const tgSim *s, double h, tgGradInfo *info) {
  double g2 = 0;
  for (int i = 0; i < 3; i++) g2 += tgRe(s->m.opt_gravity[i]) * tgRe(s->m.opt_gravity[i]);
  double threshold = fmax(sqrt(g2) * h, s->contact_model->options.restitution_speed);
  for (int i = 0; i < s->nrow; i++) {
    if (s->row_kind[i] != TG_ROW_NORMAL || !(tgRe(s->contact[s->row_owner[i]].restitution) > 0)) continue;
    double speed = 0;
    for (int d = 0; d < s->m.nv; d++) speed += tgRe(s->row_J[(size_t)i * (size_t)s->m.nv + (size_t)d]) * tgRe(s->vhat[d]);
    char label[200];
    if (fabs(speed + threshold) <= tie_speed)
      add_tie(s, info, "at the speed where restitution begins", tgi_row_label(s, i, label, sizeof label));
  }
}

// How fast row i has to be pushed, at most, for its class to change [m/s or rad/s]; INFINITY where nothing can change it. A force f of the
// row gives its point the speed A_ii f, so forces are judged by A_ii^-1 times the speed.
static double speed_to_switch(const tgSim *s, int i) {
  double Aii = tgRe(*tgi_row_A(s, i, i)), f = tgRe(s->row_f[i]), w = fabs(tgRe(s->row_w[i]));
  int cls = s->row_class[i], kind = s->row_kind[i];
  if (Aii == 0 || kind == TG_ROW_EQUALITY || cls == TGI_LCP_D) return INFINITY;
  if (kind == TG_ROW_NORMAL || kind == TG_ROW_LIMIT) return cls == TGI_LCP_C ? Aii * fabs(f) : w;
  bool tangent = kind == TG_ROW_TANGENT;
  if (tangent && s->row_class[s->row_parent[i]] != TGI_LCP_C) return INFINITY;
  double bound = tgRe(s->row_limit[i]) * (tangent ? tgRe(s->row_f[s->row_parent[i]]) : 1);
  if (tgRe(s->row_limit[i]) == 0) return INFINITY;   // without friction there is nothing to switch
  return cls == TGI_LCP_F ? Aii * fabs(bound - fabs(f)) : w;
}

// Ties that the solver finds are relative to the forces and speeds of the problem. Where those are all next to nothing (free fall with joints
// that rest on their limits) a move of 1e-9 m or a push of 1e-9 m/s switches a row all the same: the least speed is absolute. A move
// acts by the share of the gap that a step removes, on the row itself and through it on the others.
static void row_ties(const tgSim *s, tgGradInfo *info) {
  const Work *w = work_of(s);
  double least = tie_speed + tie_gap * s->contact_model->options.erp / s->h;
  char label[200];
  for (int i = 0; i < s->nrow; i++) {
    if (w->tie[i] || speed_to_switch(s, i) <= least)
      add_tie(s, info, "contact force at a switch", tgi_row_label(s, i, label, sizeof label));
  }
}

static void ties(const tgSim *s, double h, tgGradInfo *info) {
  if (s->nrow > 0) row_ties(s, info);
  contact_ties(s, info);
  limit_ties(s, info);
  bounce_ties(s, h, info);
}

static const tgContactParam params[] = {
    {"erp", offsetof(tgContactOptions, erp), 0.2, 0, 1, "", "share of a penetration, limit or equality error removed per step: b += erp gap/h"},
    {"restitution_speed", offsetof(tgContactOptions, restitution_speed), 1e-3, 0, INFINITY, "m/s", "approach speed below which nothing bounces: max(|g| h, this)"},
};

static const tgImpulseModel impulse = {
    .rows = tgi_rows,
    .impulses = impulses,
    .remember = tgi_rows_remember,
    .rows_vjp = tgi_rows_vjp,
    .gap_vjp = tgi_rows_gap_vjp,
    .limit_parameters = tgi_rows_limit_parameters,
    .bounce_parameters = tgi_rows_bounce_parameters,
    .rows_jacobian = tgi_rows_jacobian,
    .gap_jacobian = tgi_rows_gap_jacobian,
    .wrench = tgi_rows_wrench,
    .force_jacobian = tgi_rows_force_jacobian,
    .solve_jvp = solve_jvp,
    .solve_columns = solve_columns,
    .solve_vjp = solve_vjp,
    .explore = explore,
    .null_part = null_part,
    .null_jvp = null_jvp,
    .null_vjp = null_vjp,
    .side = side,
    .size_parameters = tgi_rows_size_parameters,
    .row_label = tgi_row_label,
};

const tgContactModel tgi_lcp_model = {
    .word = "lcp",
    .param = params,
    .nparam = (int)(sizeof params / sizeof *params),
    .solver_bytes = solver_bytes,
    .prepare = prepare,
    .param_ties = tgi_rows_param_ties,
    .ties = ties,
    .impulse = &impulse,
};
