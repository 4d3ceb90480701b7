// minimise_coupling.c: see minimise_coupling.h. Based on: [math/barrier Minimisation].
#include "step/minimise_coupling.h"

#include <string.h>

#include "joint/joint.h"
#include "math/spatial.h"
#include "step/objective.h"

enum { MANY = 32 };     // blocks from which on leaving out pays
#define MOST_SUM 0.02   // of the couplings of a body that are left out, over its inertia

// To which part of the sum a solve takes (89), and in how many terms: a Newton step, which the next one betters, and
// derivatives. Where the first has terms enough so has the second.
typedef struct Aim { double part; int terms; } Aim;
static const Aim for_step = {1e-8, 20}, for_derivatives = {1e-16, 100};

// ---- which ----

static tgStatus no_room(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
}

// the two ends of an equality
static void couple_equality(const tgSim *s, int e) {
  const tgModel *m = &s->m;
  tgiPattern *p = &tgi_minimise_own(s)->pattern;
  bool tie = tgi_is_tie(m, e);
  int a = tie ? tgi_tie_lead(m, e, 0) : m->body_lastdof[m->eq_a[e]], b = tie ? tgi_tie_lead(m, e, 1) : m->body_lastdof[m->eq_b[e]];
  if (m->eq_active[e] && a >= 0 && b >= 0) tgi_pattern_couple(p, p->block[a], p->block[b]);
}

// the blocks that a term couples; false: it couples none
static bool ends(const tgSim *s, const tgPairTerm *t, int block[2]) {
  const tgModel *m = &s->m;
  const tgiPattern *p = &tgi_minimise_own(s)->pattern;
  int a = m->body_lastdof[t->body1], b = m->body_lastdof[t->body2];
  if (a < 0 || b < 0 || !tgi_term_acts(t)) return false;
  block[0] = p->block[a];
  block[1] = p->block[b];
  return true;
}

// how stiffly a term's bodies pull each other along, over their inertia
static double strength(const tgSim *s, const tgPairTerm *t, double h) {
  double most = 0, mass = sqrt(tgRe(s->m.body_mass[t->body1]) * tgRe(s->m.body_mass[t->body2]));
  for (int i = 3; i < 6; i++) {
    double row = 0;
    for (int j = 9; j < 12; j++) row += fabs(tgRe(tgi_term_stiffness(t, i, j)));
    most = fmax(most, row);
  }
  return most * h * h / mass;
}

// couples what is at least as strong as `least`, leaves out the other terms; false: those of a body are too strong
// together for (89), whose terms fall by about their sum each
static bool couple(tgSim *s, double h, double least, double *sum) {
  const tgModel *m = &s->m;
  tgiPattern *p = &tgi_minimise_own(s)->pattern;
  bool weak = true;
  tgi_pattern_open(p);
  memset(sum, 0, (size_t)m->nbody * sizeof *sum);
  for (int i = 0; i < s->nterm; i++) {
    tgPairTerm *t = &s->term[i];
    int block[2];
    t->left_out = false;
    if (!ends(s, t, block)) continue;
    double x = least > 0 && block[0] != block[1] ? strength(s, t, h) : INFINITY;
    t->left_out = x < least;
    if (!t->left_out) tgi_pattern_couple(p, block[0], block[1]);
    for (int k = 0; k < 2 && t->left_out; k++) weak = (sum[k == 0 ? t->body1 : t->body2] += x) <= MOST_SUM && weak;
  }
  for (int k = 1; k < p->nblock && s->one_island; k++)
    for (int l = 0; l < k; l++) tgi_pattern_couple(p, k, l);
  for (int e = 0; e < m->neq; e++) couple_equality(s, e);
  return weak;
}

// The pattern without the weak terms, as many of them as may be; false: it is dense all the same, or a body's are too
// strong together. *room: of tgi_pattern_close.
static bool leave_out(tgSim *s, double h, double *sum, bool *room) {
  static const double least[] = {1e-2, 1e-3, 1e-4, 1e-5};
  tgiPattern *p = &tgi_minimise_own(s)->pattern;
  for (size_t k = 0; k < sizeof least / sizeof *least; k++) {
    if (!couple(s, h, least[k], sum)) continue;
    *room = tgi_pattern_close(p);
    return !p->dense;
  }
  return false;
}

tgStatus tgi_coupling_find(tgSim *s, double h, bool whole) {
  tgiMinimise *own = tgi_minimise_own(s);
  tgiPattern *p = &own->pattern;
  size_t mark = tgi_stack_mark(s);
  double *sum = tgi_stack_bytes(s, (size_t)s->m.nbody * sizeof *sum);
  if (sum == NULL) return no_room(s);
  couple(s, h, 0, sum);
  bool room = tgi_pattern_close(p);
  bool many = p->dense && p->nblock >= MANY && !s->one_island && !whole;
  own->left_out = many && leave_out(s, h, sum, &room);
  if (many && !own->left_out) {
    couple(s, h, 0, sum);
    room = tgi_pattern_close(p);
  }
  tgi_stack_free(s, mark);
  if (room) return TG_OK;
  if (p->size > s->wanted.nH) s->wanted.nH = p->size;
  return tgi_error(&s->error, TG_ERR_CAPACITY,
                   "The second derivative of a step has %zu numbers, there is room for %zu; reserve more and repeat.",
                   p->size, s->cap.nH);
}

// ---- solves ----

typedef struct Series { tgReal *next, *term, *twist, *wrench; } Series;

static bool take(tgSim *s, Series *w) {
  size_t nv = (size_t)s->m.nv, nb = 6 * (size_t)s->m.nbody;
  w->next = tgi_stack_real(s, nv);
  w->term = tgi_stack_real(s, nv);
  w->twist = tgi_stack_real(s, nb);
  w->wrench = tgi_stack_real(s, nb);
  return w->next != NULL && w->term != NULL && w->twist != NULL && w->wrench != NULL;
}

// wrenches of a term's stiffness between its bodies, which is symmetric, for their twists
static void add_product(const tgPairTerm *t, const tgReal *twist, tgReal *wrench) {
  const tgReal *v1 = twist + 6 * t->body1, *v2 = twist + 6 * t->body2;
  tgReal *w1 = wrench + 6 * t->body1, *w2 = wrench + 6 * t->body2;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      tgReal k = tgi_term_stiffness(t, i, 6 + j);
      w1[i] += k * v2[j];
      w2[j] += k * v1[i];
    }
}

// y = C x at the end of the step
static void product(const tgSim *s, const Series *w, const tgReal *x, tgReal *y) {
  const tgModel *m = &s->m;
  const tgReal *S = s->end.S;
  tgi_sp_zero(w->twist);
  for (int b = 1; b < m->nbody; b++) {
    tgi_sp_copy(w->twist + 6 * b, w->twist + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) tgi_sp_axpy(w->twist + 6 * b, x[d], S + 6 * d);
  }
  memset(w->wrench, 0, 6 * (size_t)m->nbody * sizeof *w->wrench);
  for (int i = 0; i < s->nterm; i++)
    if (s->term[i].left_out) add_product(&s->term[i], w->twist, w->wrench);
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(w->wrench + 6 * m->body_parent[b], 1, w->wrench + 6 * b);
  for (int d = 0; d < m->nv; d++) y[d] = tgi_sp_dot(S + 6 * d, w->wrench + 6 * m->dof_body[d]);
}

// largest real and imaginary part
static void sizes(int n, const tgReal *x, double size[2]) {
  size[0] = size[1] = 0;
  for (int i = 0; i < n; i++) {
    size[0] = fmax(size[0], fabs(tgRe(x[i])));
    size[1] = fmax(size[1], fabs(tgIm(x[i])));
  }
}

// (89) from its first term, which is in x; false: it is not as exact as it should be
static bool sum_series(const tgSim *s, const Series *w, Aim aim, tgReal *x) {
  const tgiMinimise *own = tgi_minimise_own(s);
  int nv = s->m.nv;
  memcpy(w->term, x, (size_t)nv * sizeof *x);
  for (int k = 0; k < aim.terms; k++) {
    double all[2], last[2];
    product(s, w, w->term, w->next);
    for (int i = 0; i < nv; i++) w->term[i] = -w->next[i];
    tgi_pattern_solve(&own->pattern, own->step_L, w->term);
    for (int i = 0; i < nv; i++) x[i] += w->term[i];
    sizes(nv, x, all);
    sizes(nv, w->term, last);
    if (last[0] <= aim.part * all[0] && last[1] <= aim.part * all[1]) return true;
  }
  return false;
}

static tgStatus no_end(tgSim *s) {
  return tgi_error(&s->error, TG_NOT_CONVERGED,
                   "The couplings of bodies far apart are too strong for the series that solves with them; try a smaller step.");
}

static tgStatus solve(tgSim *s, Aim aim, tgReal *x, bool *good) {
  const tgiMinimise *own = tgi_minimise_own(s);
  size_t mark = tgi_stack_mark(s);
  Series w;
  tgi_pattern_solve(&own->pattern, own->step_L, x);
  *good = true;
  if (!own->left_out) return TG_OK;
  if (!take(s, &w)) return no_room(s);
  *good = sum_series(s, &w, aim, x);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_coupling_solve(tgSim *s, tgReal *x) {
  bool good;
  TG_TRY(solve(s, for_derivatives, x, &good));
  return good ? TG_OK : no_end(s);
}

tgStatus tgi_coupling_solve_step(tgSim *s, tgReal *x, bool *slow) {
  bool good;
  TG_TRY(solve(s, for_step, x, &good));
  *slow = !good;
  return TG_OK;
}

tgStatus tgi_coupling_solve_columns(tgSim *s, int n, tgReal *X) {
  const tgiMinimise *own = tgi_minimise_own(s);
  size_t mark = tgi_stack_mark(s);
  Series w;
  bool good = true;
  tgi_pattern_solve_rows(&own->pattern, own->step_L, n, X);
  if (!own->left_out) return TG_OK;
  tgReal *x = tgi_stack_real(s, (size_t)s->m.nv);
  if (!take(s, &w) || x == NULL) return no_room(s);
  for (int c = 0; c < n && good; c++) {
    for (int i = 0; i < s->m.nv; i++) x[i] = X[i * n + c];
    good = sum_series(s, &w, for_derivatives, x);
    for (int i = 0; i < s->m.nv; i++) X[i * n + c] = x[i];
  }
  tgi_stack_free(s, mark);
  return good ? TG_OK : no_end(s);
}
