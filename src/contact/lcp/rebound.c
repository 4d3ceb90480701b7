// rebound.c: the second phase of an impact by Poisson's law, island by island.
//
// Based on: [math/lcp Impacts]. With v the velocity after the first phase, in which nothing bounces, and p = e f of its impulses f,
//   f_n >= p,  w_n >= 0,  (f_n - p) w_n = 0,   |f_t| <= mu f_n,   w = A f + J v.
// With f_n = p + x and a second row of each tangent, f_t = g + d, |g| <= mu x, |d| <= mu p, these are the conditions of solve.h: bounds of
// both rows add up, and where the tangent moves both are at theirs. What has been found is solved for once more in the rows as they are: a
// normal that presses by p alone is given, friction on it has a constant bound; the derivative is that of these classes.
#include <math.h>
#include <string.h>

#include "contact/lcp/work.h"

// relative to the largest impulse and speed
static const double agree = 1e-8, tie = 1e-9;

typedef struct Phase {
  tgiLcpIsland *k;
  const int *row;
  int n;
  tgReal *p;        // n: impulses that the rows give at least
  double *w;        // n: velocities that the search has found
  bool any;
} Phase;

static bool pushed(const Phase *a, int i) { return a->k->parent[i] >= 0 && tgRe(a->p[a->k->parent[i]]) > 0; }

// ---- search ----

// the rows with a second one for each tangent of a normal that is pushed
typedef struct Wide {
  int n, *kind, *parent, *of, *second;   // of: row of the island; second: of a row of the island, its second one, -1
  tgReal *A, *b, *bound, *f, *w;
  int8_t *cls;
  int count[3];
} Wide;

static bool take_wide(tgSim *s, const Phase *a, Wide *x) {
  x->n = a->n;
  for (int i = 0; i < a->n; i++) x->n += pushed(a, i);
  size_t n = (size_t)x->n;
  x->A = tgi_stack_real(s, n * n + 1);
  tgReal **lines[] = {&x->b, &x->bound, &x->f, &x->w};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    *lines[i] = tgi_stack_real(s, n + 1);
    if (*lines[i] == NULL) return false;
  }
  int **indices[] = {&x->kind, &x->parent, &x->of, &x->second};
  for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) {
    *indices[i] = tgi_stack_bytes(s, (n + 1) * sizeof(int));
    if (*indices[i] == NULL) return false;
  }
  x->cls = tgi_stack_bytes(s, n + 1);
  return x->A != NULL && x->cls != NULL;
}

static void fill_wide(const Phase *a, Wide *x) {
  const tgiLcpProblem *p = &a->k->problem;
  int more = a->n;
  memset(x->count, 0, sizeof x->count);
  for (int i = 0; i < a->n; i++) {
    x->of[i] = i;
    x->second[i] = -1;
    x->kind[i] = p->kind[i];
    x->parent[i] = p->parent[i];
    x->bound[i] = tgRe(p->bound[i]);
    if (!pushed(a, i)) continue;
    x->second[i] = more;
    x->of[more] = i;
    x->kind[more] = TGI_LCP_BOX;
    x->parent[more] = -1;
    x->bound[more++] = tgRe(p->bound[i] * a->p[p->parent[i]]);
  }
  for (int i = 0; i < x->n; i++) {
    const tgReal *row = p->A + (size_t)a->n * (size_t)x->of[i];
    double b = tgRe(p->b[x->of[i]]);
    for (int j = 0; j < a->n; j++) b += tgRe(row[j]) * tgRe(a->p[j]);
    for (int j = 0; j < x->n; j++) x->A[(size_t)x->n * (size_t)i + (size_t)j] = tgRe(row[x->of[j]]);
    x->b[i] = b;
    x->cls[i] = TGI_LCP_NONE;
    x->count[x->kind[i] == TGI_LCP_EQUALITY ? 0 : x->kind[i] == TGI_LCP_NORMAL ? 1 : 2]++;
  }
}

static bool holds(const Wide *x, int i) { return i >= 0 && x->cls[i] == TGI_LCP_F; }

// classes of the rows from those of the wide problem
static void narrow(const Phase *a, const Wide *x, int8_t *cls) {
  for (int i = 0; i < a->n; i++) {
    int second = x->second[i];
    cls[i] = x->cls[i];
    a->w[i] = tgRe(x->w[i]);
    if (second < 0) continue;
    if (x->cls[x->parent[i]] != TGI_LCP_C) cls[i] = x->cls[second];
    else if (holds(x, i) || holds(x, second)) cls[i] = TGI_LCP_F;
  }
}

static tgStatus search(tgSim *s, Phase *a, int8_t *cls) {
  Wide x;
  tgiLcp lcp;
  tgiLcpInfo info = {.stage = TGI_LCP_FAILED};
  if (!take_wide(s, a, &x)) return TG_ERR_CAPACITY;
  fill_wide(a, &x);
  size_t bytes = tgi_lcp_bytes(x.count[0], x.count[1], x.count[2]);
  void *memory = tgi_stack_bytes(s, bytes);
  if (memory == NULL) return TG_ERR_CAPACITY;
  TG_TRY(tgi_lcp_init(&lcp, memory, bytes, x.count[0], x.count[1], x.count[2]));
  tgiLcpProblem p = a->k->problem;
  p.n = x.n;
  p.A = x.A;
  p.b = x.b;
  p.kind = x.kind;
  p.parent = x.parent;
  p.bound = x.bound;
  tgStatus status = tgi_lcp_solve(&lcp, &p, NULL, x.f, x.w, x.cls, &info);
  s->info.iterations += info.pivots + info.sweeps;
  if (status == TG_OK) narrow(a, &x, cls);
  return status;
}

// ---- answer ----

// The island's problem for these classes: normals that push by p alone are given.
static void set_problem(const Phase *a, const int8_t *cls) {
  tgiLcpIsland *k = a->k;
  for (int i = 0; i < a->n; i++) {
    int up = k->parent[i];
    if (!pushed(a, i) || cls[up] != TGI_LCP_N) continue;
    k->kind[i] = TGI_LCP_BOX;
    k->bound[i] *= a->p[up];
  }
  for (int j = 0; j < a->n; j++) {
    if (a->p[j] == 0 || cls[j] != TGI_LCP_N) continue;
    for (int i = 0; i < a->n; i++) k->b[i] += k->problem.A[(size_t)a->n * (size_t)i + (size_t)j] * a->p[j];
  }
}

static void add_given(const Phase *a, const int8_t *cls) {
  for (int i = 0; i < a->n; i++)
    if (cls[i] == TGI_LCP_N) a->k->f[i] += a->p[i];
}

// the velocities are those that the search has found
static bool agrees(const Phase *a) {
  double most = a->k->problem.speed, worst = 0;
  for (int i = 0; i < a->n; i++) {
    most = fmax(most, fmax(fabs(tgRe(a->k->b[i])), fabs(a->w[i])));
    worst = fmax(worst, fabs(tgRe(a->k->w[i]) - a->w[i]));
  }
  return worst <= agree * most;
}

static tgStatus answer(tgSim *s, Phase *a, int8_t *cls) {
  tgiLcpIsland *k = a->k;
  tgStatus status = search(s, a, cls);
  if (status != TG_OK) return status;
  set_problem(a, cls);
  tgi_lcp_solve_classes(&k->lcp, &k->problem, cls, k->f, k->w);
  add_given(a, cls);
  return agrees(a) ? TG_OK : TG_NOT_CONVERGED;
}

static bool tied(const Phase *a, const int8_t *cls, int i, double force, double speed) {
  const tgiLcpIsland *k = a->k;
  int up = k->parent[i];
  double f = fabs(tgRe(k->f[i]));
  bool still = fabs(tgRe(k->w[i])) <= tie * speed;
  if (!still || k->kind[i] == TGI_LCP_EQUALITY || cls[i] == TGI_LCP_D) return false;
  if (k->kind[i] == TGI_LCP_NORMAL) return fabs(f - tgRe(a->p[i])) <= tie * force;
  double bound = tgRe(k->kind[i] == TGI_LCP_FRICTION ? k->bound[i] * k->f[up] : k->bound[i]);
  return bound > 0 && fabs(f - bound) <= tie * force;
}

static void note_ties(tgSim *s, const Phase *a, const int8_t *cls) {
  tgiLcpWork *w = tgi_lcp_work(s);
  double force = 0, speed = a->k->problem.speed;
  for (int i = 0; i < a->n; i++) {
    force = fmax(force, fabs(tgRe(a->k->f[i])));
    speed = fmax(speed, fabs(tgRe(a->k->b[i])));
  }
  for (int i = 0; i < a->n; i++) w->tie[a->row[i]] = tied(a, cls, i, force, speed);
}

// Nothing is given in the second phase: its velocities are those of the first, of whose classes it is.
static void stay(tgSim *s, Phase *a, int8_t *cls) {
  tgiLcpIsland *k = a->k;
  memset(a->p, 0, (size_t)a->n * sizeof *a->p);
  for (int i = 0; i < a->n; i++) cls[i] = (int8_t)s->rows->class2[a->row[i]];
  tgi_lcp_solve_classes(&k->lcp, &k->problem, cls, k->f, k->w);
}

static void recall(Phase *a, const uint8_t *from, int8_t *cls) {
  enum { CLASS = 7, SOLVED = 3, DEFICIENT = 2 };   // of a record, island.c
  tgiLcpIsland *k = a->k;
  for (int i = 0; i < a->n; i++) cls[i] = (int8_t)(from[2 + i] & CLASS);
  if (from[0] > 0) memset(a->p, 0, (size_t)a->n * sizeof *a->p);
  set_problem(a, cls);
  for (int i = 0; i < a->n; i++) cls[i] = (int8_t)(from[2 + i] >> SOLVED & CLASS);
  tgi_lcp_recall_classes(&k->lcp, NULL, &k->problem, cls, (from[1] & DEFICIENT) != 0, k->f, k->w);
  for (int i = 0; i < a->n; i++) k->lcp.cls[i] = cls[i] = (int8_t)(from[2 + i] & CLASS);
  add_given(a, cls);
}

tgStatus tgi_lcp_rebound_island(tgSim *s, int index, const uint8_t *from) {
  tgiLcpWork *w = tgi_lcp_work(s);
  tgiLcpIsland *k = &w->island[index];
  size_t mark = tgi_stack_mark(s);
  Phase a = {.k = k, .row = s->rows->island_row + s->rows->island_adr[index], .n = tgi_island_rows(s, index)};
  a.p = tgi_stack_real(s, (size_t)a.n + 1);
  a.w = tgi_stack_bytes(s, ((size_t)a.n + 1) * sizeof *a.w);
  if (a.p == NULL || a.w == NULL)
    return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's contacts; reserve more and repeat.");
  k->rung = tgi_lcp_work_of(s, 1)->island[index].rung;
  tgi_lcp_extract(s, index, k);
  for (int i = 0; i < a.n; i++) {
    a.p[i] = s->rows->rebound[a.row[i]] * s->rows->f2[a.row[i]];
    a.any = a.any || tgRe(a.p[i]) > 0;
  }
  tgStatus status = TG_OK;
  if (from != NULL) recall(&a, from, w->island_cls);
  else if (a.any) status = answer(s, &a, w->island_cls);
  if (status == TG_NOT_CONVERGED) {
    k->damped = 3;
    s->info.ndamped++;
    tgi_lcp_extract(s, index, k);
    status = TG_OK;
  }
  if (status == TG_ERR_CAPACITY) return tgi_error(&s->error, status, "Scratch too small for the step's contacts; reserve more and repeat.");
  if (status != TG_OK) return tgi_error(&s->error, status, "The second phase of an impact has no answer (%s).", tg_status_text(status));
  if (from == NULL && (!a.any || k->damped > 0)) stay(s, &a, w->island_cls);
  else if (from == NULL) note_ties(s, &a, w->island_cls);
  for (int i = 0; from != NULL && i < a.n; i++) w->tie[a.row[i]] = (from[2 + i] & 64) != 0;
  tgi_lcp_spread(s, index);
  tgi_stack_free(s, mark);
  return TG_OK;
}
