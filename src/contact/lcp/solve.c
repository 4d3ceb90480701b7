// solve.c: the driver of the frictional LCP: workspace, checks, reduction, and the order of attempts.
//
// Based on: [math/lcp Solver]. A stage proposes classes; the class solve turns them into an answer; an answer counts
// when its residual is at most 1e-8. A few active-set corrections help proposals that are nearly right.
#include "contact/lcp/solve.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "contact/lcp/scratch.h"
#include "math/combine.h"

// Paths that are tried, and steps of the walk from the end of one.
enum { PATHS = 5, WALK = 6, LEGS = 6, CORRECTIONS = 6 };

// ---- workspace ----

// Takes `count` items of `size` bytes at the cursor, 16-byte aligned; with base NULL it only counts.
static void *take(char *base, size_t *at, size_t count, size_t size) {
  void *block = base != NULL ? base + *at : NULL;
  size_t bytes = tgi_size_mul(count, size);
  if (bytes > SIZE_MAX / 4 || *at > SIZE_MAX / 4) *at = SIZE_MAX / 2;
  else *at += (bytes + 15) & ~(size_t)15;
  return block;
}

static tgReal *reals(char *base, size_t *at, size_t count) { return take(base, at, count, sizeof(tgReal)); }
static double *doubles(char *base, size_t *at, size_t count) { return take(base, at, count, sizeof(double)); }
static int *ints(char *base, size_t *at, size_t count) { return take(base, at, count, sizeof(int)); }
static int8_t *bytes_of(char *base, size_t *at, size_t count) { return take(base, at, count, 1); }

// The two layouts, run twice: count, then place. What is kept:
static size_t lay_out_kept(char *base, int rows, tgiLcp *s) {
  size_t at = 0, n = (size_t)rows, nn = s->sparse ? 0 : tgi_size_mul(n, n);
  s->kept = base;
  s->borrows = false;
  s->k = ints(base, &at, n);
  s->kpos = ints(base, &at, n);
  s->fk = reals(base, &at, n);
  s->cls = bytes_of(base, &at, n);
  s->lu = s->cod.qr = reals(base, &at, nn);  // one or the other
  s->lu_piv = ints(base, &at, n);
  s->cod.w = reals(base, &at, nn);
  s->cod.tau = reals(base, &at, n);
  s->cod.wtau = reals(base, &at, n);
  s->cod.piv = ints(base, &at, n);
  s->anchor = reals(base, &at, s->sparse ? n : 0);
  s->L = s->U = s->factor;
  return at;
}

void tgi_lcp_own(tgiLcp *s) {
  if (s->borrows) lay_out_kept(s->kept, s->capacity, s);
}

void tgi_lcp_borrow(tgiLcp *s, const tgiLcp *from) {
  if (s == from) return;
  tgiLcp own = *s;
  *s = *from;
  s->capacity = own.capacity;
  s->mz = own.mz;
  s->kept = own.kept;
  s->scratch = own.scratch;
  s->fk = own.fk;
  s->cls = own.cls;
  s->factor = own.factor;
  s->anchor = own.anchor;
  s->anchored = own.anchored;
  s->borrows = true;
  memcpy(s->cls, from->cls, (size_t)from->n);
}

static void lay_out_system(char *base, size_t *at, int rows, tgiLcpBordered *m) {
  size_t n = (size_t)rows;
  m->base = bytes_of(base, at, n);
  int **indices[] = {&m->K, &m->K_pos, &m->border};
  for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) *indices[i] = ints(base, at, n);
  double **lines[] = {&m->f0, &m->w0, &m->x[0], &m->x[1], &m->xz};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) *lines[i] = doubles(base, at, n);
}

static size_t lay_out_borders(char *base, int rows, tgiLcpBordered *m) {
  size_t at = 0, most = (size_t)tgi_lcp_borders(rows), wide = tgi_size_mul((size_t)rows, most);
  m->row = ints(base, &at, most);
  m->S_piv = ints(base, &at, most);
  m->Z = doubles(base, &at, wide);
  m->V = doubles(base, &at, wide);
  m->G = doubles(base, &at, most * most);
  m->S = reals(base, &at, most * most);
  m->z[0] = reals(base, &at, most);
  m->z[1] = reals(base, &at, most);
  return at;
}

// ... and the scratch
static size_t lay_out_scratch(char *base, int rows, int variables, tgiLcp *s) {
  size_t at = 0, n = (size_t)rows, m = (size_t)variables, nn = s->sparse ? 0 : tgi_size_mul(n, n);
  tgiLcpScratch scratch = {.reduced = false}, *c = &scratch, *place = take(base, &at, 1, sizeof scratch);
  c->cod_work = reals(base, &at, TGI_COD_WORK(n));
  tgReal **vectors[] = {&c->x, &c->y, &c->ftmp, &c->wtmp, &c->ftry, &c->wtry};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) *vectors[i] = reals(base, &at, n);
  int8_t **classes[] = {&c->trial, &c->best, &c->before, &c->dead, &c->red_cls};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) *classes[i] = bytes_of(base, &at, n);
  int **indices[] = {&c->ties, &c->failed, &c->red.row, &c->red.kind, &c->red.parent, &c->K, &c->K_pos, &c->group, &c->order, &c->inert};
  for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) *indices[i] = ints(base, &at, n);
  double **squares[] = {&c->red.A, &c->full};
  for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) *squares[i] = doubles(base, &at, nn);
  double **lines[] = {&c->red.b, &c->red.bound, &c->fullb, &c->scale, &c->f, &c->w, &c->Df, &c->Dw, &c->delta};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) *lines[i] = doubles(base, &at, n);
  if (s->sparse) {
    for (size_t i = 0; i < sizeof c->line / sizeof *c->line; i++) c->line[i] = doubles(base, &at, n);
    if (base != NULL) *place = scratch;
    s->scratch = place;
    return at;
  }
  lay_out_system(base, &at, rows, &c->system);
  // borders of a path, directions of a vertex (n^2 at most), the tableau and trials take turns
  size_t room = tgi_size_mul(tgi_size_mul(m, m + 2), sizeof(double)), kept = tgi_lcp_kept_bytes(rows);
  size_t borders = lay_out_borders(NULL, rows, &c->system);
  room = room > kept ? room : kept;
  c->T = take(base, &at, 1, room > borders ? room : borders);
  if (base != NULL) lay_out_kept((char *)c->T, rows, &c->spare);
  if (base != NULL) lay_out_borders((char *)c->T, rows, &c->system);
  c->spare.capacity = rows;
  c->spare.scratch = place;
  c->basis = ints(base, &at, m);
  c->column = ints(base, &at, m + 1);
  c->where = ints(base, &at, 2 * m + 1);
  c->zval = doubles(base, &at, m);
  if (base != NULL) *place = scratch;
  s->scratch = place;
  return at;
}

size_t tgi_lcp_kept_bytes(int rows) {
  tgiLcp s = {.sparse = false};
  return rows < 0 || rows > 1 << 24 ? SIZE_MAX : lay_out_kept(NULL, rows, &s);
}

size_t tgi_lcp_scratch_bytes(int nequality, int nnormal, int nbounded) {
  tgiLcp s = {.sparse = false};
  if (nequality < 0 || nnormal < 0 || nbounded < 0) return SIZE_MAX;
  size_t rows = (size_t)nequality + (size_t)nnormal + (size_t)nbounded, m = (size_t)nnormal + 3 * (size_t)nbounded;
  return rows > 1 << 24 || m > 1 << 24 ? SIZE_MAX : lay_out_scratch(NULL, (int)rows, (int)m, &s);
}

size_t tgi_lcp_bytes(int nequality, int nnormal, int nbounded) {
  size_t scratch = tgi_lcp_scratch_bytes(nequality, nnormal, nbounded);
  if (scratch > SIZE_MAX / 4) return SIZE_MAX;
  size_t kept = tgi_lcp_kept_bytes(nequality + nnormal + nbounded);
  return kept > SIZE_MAX / 4 ? SIZE_MAX : kept + scratch;
}

tgStatus tgi_lcp_init(tgiLcp *s, void *memory, size_t bytes, int nequality, int nnormal, int nbounded) {
  size_t need = tgi_lcp_bytes(nequality, nnormal, nbounded);
  if (need == SIZE_MAX) return TG_ERR_ARG;
  if (memory == NULL || bytes < need) return TG_ERR_CAPACITY;
  int rows = nequality + nnormal + nbounded;
  tgi_lcp_init_apart(s, memory, rows, (char *)memory + tgi_lcp_kept_bytes(rows), nequality, nnormal, nbounded);
  return TG_OK;
}

void tgi_lcp_init_apart(tgiLcp *s, void *kept, int rows, void *scratch, int nequality, int nnormal, int nbounded) {
  *s = (tgiLcp){.capacity = rows, .mz = nnormal + 3 * nbounded};
  lay_out_kept(kept, rows, s);
  lay_out_scratch(scratch, nequality + nnormal + nbounded, s->mz, s);
}

void tgi_lcp_init_beside(tgiLcp *s, void *kept, int rows, const tgiLcp *other) {
  *s = (tgiLcp){.capacity = rows, .mz = other->mz, .scratch = other->scratch};
  lay_out_kept(kept, rows, s);
}

size_t tgi_lcp_sparse_kept_bytes(int rows) {
  tgiLcp s = {.sparse = true};
  return lay_out_kept(NULL, rows, &s);
}

size_t tgi_lcp_sparse_scratch_bytes(int rows) {
  tgiLcp s = {.sparse = true};
  return lay_out_scratch(NULL, rows, 0, &s);
}

void tgi_lcp_init_sparse(tgiLcp *s, void *kept, int rows, void *scratch, int most, tgReal *factor) {
  *s = (tgiLcp){.capacity = rows, .mz = INT_MAX, .sparse = true, .factor = factor};
  lay_out_kept(kept, rows, s);
  lay_out_scratch(scratch, most, 0, s);
}

// ---- input ----

static tgStatus check_input(const tgiLcp *s, const tgiLcpProblem *p, int *culprit) {
  int m = 0;
  if (p->n < 0) return TG_ERR_ARG;
  if (p->n > s->capacity || (p->sparse == NULL && p->n > s->scratch->spare.capacity)) return TG_ERR_CAPACITY;
  bool finite = p->A == NULL || tgi_all_finite(p->n * p->n, p->A);
  for (int i = 0; i < p->n; i++) {
    int kind = p->kind[i];
    bool bounded = kind == TGI_LCP_FRICTION || kind == TGI_LCP_BOX;
    *culprit = i;
    if (kind < TGI_LCP_EQUALITY || kind > TGI_LCP_BOX) return TG_ERR_ARG;
    m += kind == TGI_LCP_NORMAL ? 1 : bounded ? 3 : 0;
    if (bounded && !tgFinite(p->bound[i])) return TG_ERR_NOT_FINITE;
    if (bounded && tgRe(p->bound[i]) < 0) return TG_ERR_ARG;
    if (kind == TGI_LCP_FRICTION) {
      int up = p->parent[i];
      if (up < 0 || up >= p->n || p->kind[up] != TGI_LCP_NORMAL) return TG_ERR_ARG;
    }
    if (!tgFinite(p->b[i])) return TG_ERR_NOT_FINITE;
    for (int j = 0; j < p->n && !finite; j++)
      if (!tgFinite(p->A[(size_t)p->n * i + j])) return TG_ERR_NOT_FINITE;
    if (!tgFinite(tgi_lcp_diagonal(p, i))) return TG_ERR_NOT_FINITE;
  }
  return m > s->mz ? TG_ERR_CAPACITY : TG_OK;
}

// Can the class stand for that kind of row?
static bool fits(int kind, int8_t c) {
  if (kind == TGI_LCP_EQUALITY) return c == TGI_LCP_C;
  if (kind == TGI_LCP_NORMAL) return c == TGI_LCP_N || c == TGI_LCP_C;
  return c == TGI_LCP_F || c == TGI_LCP_H || c == TGI_LCP_L || c == TGI_LCP_D;
}

bool tgi_lcp_inert_closes(const tgiLcpProblem *p) {
  double trace = 0, speed = p->speed, least = INFINITY;   // least: of A_jj of rows that act
  for (int i = 0; i < p->n; i++) {
    trace += tgRe(tgi_lcp_diagonal(p, i));
    speed = fmax(speed, fabs(tgRe(p->b[i])));
  }
  for (int i = 0; i < p->n; i++)
    if (tgRe(tgi_lcp_diagonal(p, i)) >= TGI_LCP_DEAD * trace) least = fmin(least, tgRe(tgi_lcp_diagonal(p, i)));
  for (int i = 0; i < p->n; i++) {
    double own = tgRe(tgi_lcp_diagonal(p, i));
    bool inert = p->kind[i] == TGI_LCP_NORMAL && own < TGI_LCP_DEAD * trace && own < TGI_LCP_DEAD * least;
    if (inert && tgRe(p->b[i]) < -1e-3 * speed) return true;
  }
  return false;
}

// ---- reduction ----

// Symmetric elimination of the equality rows, largest diagonal first, down to 1e-10 of the largest: what is left of
// the others is A_II - A_IE A_EE^+ A_EI.
static void eliminate_equalities(tgiLcpScratch *c, const tgiLcpProblem *p) {
  int n = p->n;
  double first = 0;
  double *A = c->full;
  c->eliminated = 0;
  for (int i = 0; i < n; i++) c->dead[i] = 0;
  for (;;) {
    int best = -1;
    for (int i = 0; i < n; i++)
      if (p->kind[i] == TGI_LCP_EQUALITY && !c->dead[i] &&
          (best < 0 || A[(size_t)n * i + i] > A[(size_t)n * best + best]))
        best = i;
    if (best < 0) return;
    double pivot = A[(size_t)n * best + best];
    first = fmax(first, pivot);
    if (!(pivot > 1e-10 * first)) return;
    c->dead[best] = 1;
    c->order[c->eliminated++] = best;
    const double *row = A + (size_t)n * best;
    for (int i = 0; i < n; i++) {
      double e = A[(size_t)n * i + best] / pivot;
      if (c->dead[i] || e == 0) continue;
      for (int j = 0; j < n; j++)
        if (!c->dead[j]) A[(size_t)n * i + j] -= e * row[j];
      c->fullb[i] -= e * c->fullb[best];
    }
  }
}

void tgi_lcp_open(tgiLcpScratch *c, const tgiLcpProblem *p) {
  c->reduced = false;
  c->trace = 0;
  c->equalities = false;
  c->watch = p->watch;
  for (int i = 0; i < p->n; i++) {
    c->trace += tgRe(tgi_lcp_diagonal(p, i));
    c->equalities = c->equalities || p->kind[i] == TGI_LCP_EQUALITY;
  }
}

void tgi_lcp_reduce(tgiLcp *s, const tgiLcpProblem *p) {
  tgiLcpScratch *c = s->scratch;
  tgiLcpReduced *r = &c->red;
  int n = p->n;
  if (c->reduced) return;
  c->reduced = true;
  c->lu = s->lu;
  c->lu_piv = s->lu_piv;
  for (size_t i = 0; i < (size_t)n * n; i++) c->full[i] = tgRe(p->A[i]);
  for (int i = 0; i < n; i++) c->fullb[i] = tgRe(p->b[i]);
  eliminate_equalities(c, p);
  for (int i = 0; i < n; i++)
    c->dead[i] = p->kind[i] != TGI_LCP_EQUALITY && !(c->trace > 0 && c->full[(size_t)n * i + i] >= TGI_LCP_DEAD * c->trace);
  r->n = 0;
  r->large = NULL;
  for (int i = 0; i < n; i++) {
    // friction under a normal that cannot act has no force: it is left out with it
    bool idle = p->kind[i] == TGI_LCP_FRICTION && c->dead[p->parent[i]];
    bool out = p->kind[i] == TGI_LCP_EQUALITY || c->dead[i] || idle;
    c->K_pos[i] = out ? -1 : r->n;
    if (!out) r->row[r->n++] = i;
  }
  for (int a = 0; a < r->n; a++) {
    int i = r->row[a], exponent;
    frexp(c->full[(size_t)n * i + i], &exponent);
    c->scale[a] = ldexp(1, -exponent / 2);
    r->kind[a] = p->kind[i];
    r->parent[a] = p->kind[i] == TGI_LCP_FRICTION ? c->K_pos[p->parent[i]] : -1;
  }
  // f = D f', w' = D w, D powers of two near A_ii^-1/2: A' = D A D has a diagonal of order one whatever the units
  for (int a = 0; a < r->n; a++) {
    int i = r->row[a];
    double d = c->scale[a], above = r->parent[a] >= 0 ? c->scale[r->parent[a]] : 1;
    r->bound[a] = r->kind[a] == TGI_LCP_NORMAL ? 0 : tgRe(p->bound[i]) * above / d;
    r->b[a] = d * c->fullb[i];
    const double *row = c->full + (size_t)n * i;
    double *to = r->A + (size_t)r->n * a;
    for (int k = 0; k < r->n && r->n == n; k++) to[k] = d * c->scale[k] * row[k];
    for (int k = 0; k < r->n && r->n < n; k++) to[k] = d * c->scale[k] * row[r->row[k]];
  }
}

// An equality that was eliminated follows from those after it and all other rows.
void tgi_lcp_lift(tgiLcpScratch *c, const tgiLcpProblem *p) {
  size_t n = (size_t)p->n;
  for (int i = 0; i < p->n; i++) c->ftry[i] = 0;
  for (int a = 0; a < c->red.n; a++) c->ftry[c->red.row[a]] = c->f[a] * c->scale[a];
  for (int k = c->eliminated - 1; k >= 0; k--) {
    int i = c->order[k];
    const double *row = c->full + n * (size_t)i;
    tgReal sum = c->fullb[i];
    for (int j = 0; j < p->n; j++)
      if (p->kind[j] != TGI_LCP_EQUALITY) sum += row[j] * c->ftry[j];
    for (int later = k + 1; later < c->eliminated; later++) sum += row[c->order[later]] * c->ftry[c->order[later]];
    c->ftry[i] = -sum / row[i];
  }
  for (int i = 0; i < p->n; i++) c->wtry[i] = p->b[i];
  for (int j = 0; j < p->n; j++)
    for (int i = 0; c->ftry[j] != 0 && i < p->n; i++) c->wtry[i] += p->A[n * (size_t)j + (size_t)i] * c->ftry[j];
}

// Classes of all rows from those of the reduced rows; `together`: what rests without a force is held with the others
static void spread_classes(const tgiLcpProblem *p, tgiLcpScratch *c, bool together, int8_t *cls) {
  for (int i = 0; i < p->n; i++) {
    cls[i] = p->kind[i] == TGI_LCP_EQUALITY ? TGI_LCP_C : p->kind[i] == TGI_LCP_NORMAL ? TGI_LCP_N : TGI_LCP_H;
    if (c->dead[i] && p->kind[i] != TGI_LCP_NORMAL) cls[i] = TGI_LCP_D;
  }
  for (int a = 0; a < c->red.n; a++)
    cls[c->red.row[a]] = together && c->red_cls[a] == TGI_LCP_D ? TGI_LCP_F : c->red_cls[a];
}

// ---- attempts ----

typedef struct Attempt {
  tgiLcp *s;
  const tgiLcpProblem *p;
  tgReal *f, *w;
  int8_t *best;      // the caller's cls
  double residual;   // of best
  bool kept;         // Q of s->cls is factorised already
  bool given;        // f is near the answer
  const int8_t *also;   // classes to begin with where the first ones do not hold; NULL
  bool asked, hopeless;   // whether the conditions contradict each other; they do, or the question was stopped
  int factored;
} Attempt;

bool tgi_lcp_correct(tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, const tgReal *w, const tgReal *pressing) {
  tgiLcpScratch *c = s->scratch;
  int8_t *cls = s->cls;
  bool moved = false;
  tgi_lcp_scales(c, p, f);
  for (int i = 0; i < p->n; i++) {
    double sf = c->sf, fi = tgRe(f[i]) / sf, wi = tgRe(w[i]) / c->sw;
    int8_t old = cls[i];
    if (tgi_lcp_is_inert(c, p, i)) cls[i] = TGI_LCP_N;
    else if (p->kind[i] == TGI_LCP_NORMAL && cls[i] == TGI_LCP_C && fi < -TGI_LCP_TIE) cls[i] = TGI_LCP_N;
    else if (p->kind[i] == TGI_LCP_NORMAL && cls[i] == TGI_LCP_N && wi < -TGI_LCP_TIE) cls[i] = TGI_LCP_C;
    moved = moved || cls[i] != old;
  }
  for (int i = 0; i < p->n; i++) {
    bool friction = p->kind[i] == TGI_LCP_FRICTION;
    if ((!friction && p->kind[i] != TGI_LCP_BOX) || tgi_lcp_is_dead(s, p, cls, i)) continue;
    double sf = c->sf, fi = tgRe(f[i]) / sf, wi = tgRe(w[i]) / c->sw;
    double B = tgRe(friction ? p->bound[i] * pressing[p->parent[i]] : p->bound[i]) / sf;
    bool powerless = (friction && cls[p->parent[i]] != TGI_LCP_C) || tgRe(p->bound[i]) <= 0;
    int8_t old = cls[i];
    if (powerless) cls[i] = wi > 0 ? TGI_LCP_L : TGI_LCP_H;
    else if (cls[i] == TGI_LCP_F && fabs(fi) > B + TGI_LCP_TIE) cls[i] = fi > 0 ? TGI_LCP_H : TGI_LCP_L;
    else if (cls[i] == TGI_LCP_H && wi > TGI_LCP_TIE) cls[i] = TGI_LCP_F;
    else if (cls[i] == TGI_LCP_L && wi < -TGI_LCP_TIE) cls[i] = TGI_LCP_F;
    else if (cls[i] == TGI_LCP_D && fabs(wi) > TGI_LCP_TIE) cls[i] = TGI_LCP_F;
    moved = moved || cls[i] != old;
  }
  return moved;
}

// Once a problem, when its first classes do not hold.
static void look_for_contradictions(Attempt *a) {
  double speed = a->p->speed;
  a->asked = true;
  tgi_lcp_reduce(a->s, a->p);
  for (int i = 0; i < a->p->n; i++) speed = fmax(speed, fabs(tgRe(a->p->b[i])));
  a->hopeless = tgi_lcp_contradicts(a->s->scratch, speed) || tgi_lcp_cancelled(a->s->scratch);
}

// Class solve of scratch->cls with at most `corrections` repairs; keeps the best in a->best.
static bool accept(Attempt *a, int corrections) {
  for (int k = 0;; k++) {
    double residual = a->kept ? tgi_lcp_class_solve_kept(a->s, a->p, a->f, a->w)
                              : tgi_lcp_class_solve(a->s, a->p, a->s->cls, a->f, a->w);
    a->factored += !a->kept;
    a->kept = false;
    if (residual < a->residual) {
      a->residual = residual;
      memcpy(a->best, a->s->cls, (size_t)a->p->n);
    }
    if (residual <= TGI_LCP_ACCEPT) return true;
    if (a->p->doubtful && !a->asked) look_for_contradictions(a);
    if (a->hopeless || k >= corrections || !tgi_lcp_correct(a->s, a->p, a->f, a->w, a->f)) return false;
  }
}

// The class of row i when the warm start does not say: pressing or sticking where that is possible
static int8_t guess(const tgiLcpScratch *c, const tgiLcpProblem *p, const int8_t *cls, int i) {
  double b = tgRe(p->b[i]);
  bool dead = tgi_lcp_acts_on_nothing(c, p, i);
  if (p->kind[i] == TGI_LCP_EQUALITY) return TGI_LCP_C;
  if (p->kind[i] == TGI_LCP_NORMAL) return b < 0 && !dead ? TGI_LCP_C : TGI_LCP_N;
  if (dead) return TGI_LCP_D;
  bool idle = p->kind[i] == TGI_LCP_FRICTION && cls[p->parent[i]] == TGI_LCP_N;
  if (!idle && tgRe(p->bound[i]) > 0) return TGI_LCP_F;
  return b > 0 ? TGI_LCP_L : TGI_LCP_H;
}

// accept of a sparse problem: by forces of least norm; then, without corrections, by those nearest to the forces that are known. Of
// neither is there a class solve where (Q + s)^-1, which costs a tenth of one, tells that they are far off.
static bool accept_large(Attempt *a, int corrections) {
  tgiLcp *s = a->s;
  const tgiLcpProblem *p = a->p;
  int8_t *first = s->scratch->trial;
  memcpy(first, s->cls, (size_t)p->n);
  double residual = tgi_lcp_class_shifted(s, p, a->kept, a->f, a->w);
  a->factored += !a->kept;
  a->kept = isfinite(residual);
  if (residual <= TGI_LCP_NEARLY && accept(a, corrections > 1 ? 1 : corrections)) return true;
  if (p->kept == NULL || !isfinite(residual)) return false;
  a->kept = memcmp(first, s->cls, (size_t)p->n) == 0;
  memcpy(s->cls, first, (size_t)p->n);
  for (int i = 0; i < p->n; i++) s->anchor[i] = p->kept[i];
  s->anchored = TGI_NEAR_ANCHOR;
  residual = tgi_lcp_class_shifted(s, p, a->kept, a->f, a->w);
  a->factored += !a->kept;
  a->kept = isfinite(residual);
  if (residual <= TGI_LCP_NEARLY && accept(a, 0)) return true;
  s->anchored = TGI_LEAST_NORM;
  return false;
}

// The last classes, new rows guessed, with a few corrections: a neighbouring step seldom needs more.
static bool try_warm(Attempt *a, const int8_t *warm, int corrections) {
  const tgiLcpProblem *p = a->p;
  tgiLcpScratch *c = a->s->scratch;
  int8_t *cls = a->s->cls;
  int known = 0;
  for (int i = 0; warm != NULL && i < p->n; i++) known += fits(p->kind[i], warm[i]);
  if (known == 0) return false;
  memcpy(c->before, cls, (size_t)p->n);
  for (int i = 0; i < p->n; i++) cls[i] = fits(p->kind[i], warm[i]) ? warm[i] : TGI_LCP_NONE;
  for (int pass = 0; pass < 2; pass++)  // friction after the normals, which it looks at
    for (int i = 0; i < p->n; i++)
      if (cls[i] == TGI_LCP_NONE && (p->kind[i] == TGI_LCP_FRICTION) == (pass == 1)) cls[i] = guess(c, p, cls, i);
  for (int i = 0; i < p->n; i++) {
    bool dead = p->kind[i] != TGI_LCP_EQUALITY && tgi_lcp_acts_on_nothing(c, p, i);
    if (dead) cls[i] = p->kind[i] == TGI_LCP_NORMAL ? TGI_LCP_N : TGI_LCP_D;
  }
  a->kept = a->kept && memcmp(cls, c->before, (size_t)p->n) == 0;
  return p->sparse != NULL ? accept_large(a, corrections) : accept(a, corrections);
}

// First with all rows at rest held together, least norm; where that leaves the bounds, as proposed.
static bool try_proposal(Attempt *a, int corrections) {
  tgiLcpScratch *c = a->s->scratch;
  bool apart = false;
  for (int i = 0; i < c->red.n; i++) apart = apart || c->red_cls[i] == TGI_LCP_D;
  spread_classes(a->p, c, true, a->s->cls);
  if (accept(a, apart ? 0 : corrections)) return true;
  if (!apart) return false;
  spread_classes(a->p, c, false, a->s->cls);
  return accept(a, corrections);
}

// From a few sweeps on the forces that the last classes gave, or from those that are given; then from none, and from those of many sweeps.
static bool try_path(Attempt *a, int attempt, tgiLcpInfo *info) {
  tgiLcpScratch *c = a->s->scratch;
  static const int sweeps[] = {8, 0, 100, 30, 300};
  bool given = a->given && attempt == 0, warm = given || (attempt % 2 == 0 && isfinite(a->residual));
  int row = -1;
  for (int i = 0; i < c->red.n; i++) c->f[i] = warm ? tgRe(a->f[c->red.row[i]]) / c->scale[i] : 0;
  info->sweeps += tgi_lcp_sweep(c, given ? 0 : sweeps[attempt]);
  int borders = c->red.n < TGI_LCP_BORDERED ? 0 : tgi_lcp_borders(c->red.n);
  int rank = a->p->rank, columns = rank > 0 && borders >= rank && TGI_LCP_NARROW * rank <= c->red.n ? rank : 0;
  if (!tgi_lcp_path(c, attempt, borders, columns, c->red_cls, &info->pivots)) return false;
  spread_classes(a->p, c, true, a->s->cls);
  tgi_lcp_lift(c, a->p);
  for (int leg = 0; leg < (given ? 1 : LEGS); leg++) {
    for (int step = 0; step < WALK; step++) {
      if (accept(a, 0)) return true;
      if (!tgi_lcp_walk(a->s, a->p, a->f, a->w, &row)) break;
    }
    if (accept(a, 0)) return true;
    tgi_lcp_vertex(a->s, a->p);
  }
  return accept(a, 0);
}

static bool try_lemke(Attempt *a, bool shifted, tgiLcpInfo *info) {
  tgiLcpScratch *c = a->s->scratch;
  double trace = 0;
  for (int i = 0; i < c->red.n; i++) trace += c->red.A[(size_t)c->red.n * i + i];
  double shift = shifted && c->red.n > 0 ? 1e-9 * trace / c->red.n : 0;
  for (int attempt = 0; attempt < (shifted ? 3 : 6) && !tgi_lcp_cancelled(c); attempt++) {
    if (!tgi_lcp_lemke(c, attempt, shift, c->red_cls, &info->pivots)) continue;
    if (try_proposal(a, 0)) return true;
    tgi_lcp_lemke_vertex(c, c->red_cls);
    if (try_proposal(a, 4)) return true;
  }
  return false;
}

static int run_stages(Attempt *a, const int8_t *warm, tgiLcpInfo *info) {
  tgiLcpScratch *c = a->s->scratch;
  a->s->anchored = TGI_LEAST_NORM;
  // the other problem's classes, whose factorisation is there, as they are; then those remembered
  bool other = a->also != NULL && memcmp(a->also, warm, (size_t)a->p->n) != 0;
  if (!a->given && try_warm(a, warm, other ? 0 : CORRECTIONS)) return TGI_LCP_WARM;
  if (other && !a->hopeless && try_warm(a, a->also, CORRECTIONS)) return TGI_LCP_WARM;
  if (a->p->doubtful && !a->asked) look_for_contradictions(a);
  if (a->hopeless) return TGI_LCP_FAILED;
  if (a->p->sparse != NULL) return tgi_lcp_large(a->s, a->p, a->f, a->w, info) ? TGI_LCP_PIVOT : TGI_LCP_FAILED;
  tgi_lcp_reduce(a->s, a->p);
  tgi_lcp_own(a->s);
  c->lu = a->s->lu;   // of a path's system, no longer another's
  c->lu_piv = a->s->lu_piv;
  c->tried = NULL;    // the stages use its memory
  if (!isfinite(a->residual)) memset(a->best, 0, (size_t)a->p->n);
  for (int attempt = 0; attempt < (a->given ? 1 : PATHS) && !tgi_lcp_cancelled(c); attempt++)
    if (try_path(a, attempt, info)) return TGI_LCP_PIVOT;
  if (tgi_lcp_cancelled(c) || a->given) return TGI_LCP_FAILED;
  if (try_lemke(a, false, info)) return TGI_LCP_LEMKE;
  if (try_lemke(a, true, info)) return TGI_LCP_LEMKE_SHIFTED;
  if (tgi_lcp_cancelled(c)) return TGI_LCP_FAILED;
  info->sweeps = tgi_lcp_pgs(c, 400, c->red_cls);
  return try_proposal(a, 10) ? TGI_LCP_PGS : TGI_LCP_FAILED;
}

void tgi_lcp_tell(tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, const tgReal *w, tgiLcpInfo *info) {
  tgiLcpScratch *c = s->scratch;
  tgi_lcp_scales(c, p, f);
  info->nk = s->nk;
  info->rank = s->rank;
  for (int i = 0; i < p->n; i++) {
    double margin = tgi_lcp_row_margin(s, p, f, w, i);
    double residual = tgi_lcp_row_residual(c, p, tgi_lcp_is_dead(s, p, s->cls, i), f, w, i);
    info->margin = fmin(info->margin, margin);
    info->residual = fmax(info->residual, residual);
    if (margin <= TGI_LCP_TIE) c->ties[info->nties++] = i;
    if (tgi_lcp_is_inert(c, p, i) && tgRe(w[i]) < -TGI_LCP_ACCEPT * c->sw) c->inert[info->ninert++] = i;
    if (!(residual <= TGI_LCP_ACCEPT)) c->failed[info->nfailed++] = i;
  }
}

// The stages, ties, what is told of the answer
static tgStatus run(Attempt *a, const int8_t *warm, int8_t *cls, tgiLcpInfo *info) {
  tgiLcp *s = a->s;
  const tgiLcpProblem *p = a->p;
  tgi_lcp_open(s->scratch, p);
  s->scratch->unsolved = false;
  info->stage = run_stages(a, warm, info);
  if (p->sparse != NULL) tgi_lcp_probe(s);
  info->factored += a->factored;
  if (p->sparse == NULL) {
    if (info->stage != TGI_LCP_FAILED) tgi_lcp_settle_ties(s, p, a->f, a->w);
    else if (!a->hopeless) tgi_lcp_class_solve(s, p, a->best, a->f, a->w);
  }
  for (int i = 0; i < p->n; i++) {
    bool idle = p->kind[i] == TGI_LCP_FRICTION && s->cls[i] != TGI_LCP_D && s->cls[p->parent[i]] == TGI_LCP_N;
    if (idle) s->cls[i] = tgRe(a->w[i]) > 0 ? TGI_LCP_L : TGI_LCP_H;
    cls[i] = s->cls[i];
  }
  tgi_lcp_tell(s, p, a->f, a->w, info);
  if (info->stage != TGI_LCP_FAILED) return TG_OK;
  return tgi_lcp_cancelled(s->scratch) ? TG_CANCELLED : TG_NOT_CONVERGED;
}

tgStatus tgi_lcp_open_info(const tgiLcp *s, tgStatus input, int culprit, tgiLcpInfo *info) {
  tgiLcpScratch *c = s->scratch;
  *info = (tgiLcpInfo){.stage = TGI_LCP_FAILED, .margin = INFINITY, .ties = c->ties, .failed = c->failed, .inert = c->inert};
  if (input != TG_OK && input != TG_ERR_CAPACITY && culprit >= 0 && s->capacity > 0) c->failed[info->nfailed++] = culprit;
  return input;
}

static tgStatus solve(tgiLcp *s, const tgiLcpProblem *p, bool given, const int8_t *warm, const int8_t *also, tgReal *f, tgReal *w,
                      int8_t *cls, tgiLcpInfo *info) {
  int culprit = -1;
  tgStatus status = check_input(s, p, &culprit);
  if (tgi_lcp_open_info(s, status, culprit, info) != TG_OK) return status;
  s->scratch->tried = NULL;
  Attempt a = {s, p, f, w != NULL ? w : s->scratch->wtmp, cls, INFINITY, false, given, also, false, false, 0};
  return run(&a, warm, cls, info);
}

tgStatus tgi_lcp_solve(tgiLcp *s, const tgiLcpProblem *p, const int8_t *warm, tgReal *f, tgReal *w, int8_t *cls,
                       tgiLcpInfo *info) {
  return solve(s, p, false, warm, NULL, f, w, cls, info);
}

tgStatus tgi_lcp_solve_from(tgiLcp *s, const tgiLcpProblem *p, const int8_t *first, const int8_t *warm, tgReal *f, tgReal *w, int8_t *cls,
                            tgiLcpInfo *info) {
  return solve(s, p, false, first, warm, f, w, cls, info);
}

tgStatus tgi_lcp_solve_near(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w, int8_t *cls, tgiLcpInfo *info) {
  return solve(s, p, true, NULL, NULL, f, w, cls, info);
}

tgStatus tgi_lcp_take(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w, int8_t *cls, tgiLcpInfo *info) {
  tgiLcpInfo found = *info;
  tgi_lcp_open(s->scratch, p);
  double residual = p->sparse != NULL ? tgi_lcp_adopt(s, p, cls, f, w) : tgi_lcp_class_solve(s, p, cls, f, w);
  if (p->sparse != NULL) tgi_lcp_probe(s);
  tgi_lcp_open_info(s, TG_OK, -1, info);
  info->stage = residual <= TGI_LCP_ACCEPT ? found.stage : TGI_LCP_FAILED;
  info->pivots = found.pivots;
  info->sweeps = found.sweeps;
  info->factored = found.factored + 1;
  memcpy(cls, s->cls, (size_t)p->n);
  tgi_lcp_tell(s, p, f, w, info);
  return info->stage != TGI_LCP_FAILED ? TG_OK : TG_NOT_CONVERGED;
}

tgStatus tgi_lcp_resolve(tgiLcp *s, const tgiLcp *from, const tgiLcpProblem *p, const int8_t *warm, tgReal *f, tgReal *w, int8_t *cls,
                         tgiLcpInfo *info) {
  int culprit = -1;
  bool kept = true;
  tgStatus status = p->n == from->n && p->n <= s->capacity ? TG_OK : TG_ERR_ARG;
  for (int i = 0; status == TG_OK && i < p->n; i++) {
    bool box = p->kind[i] == TGI_LCP_BOX;
    if (!tgFinite(p->b[i]) || (box && !tgFinite(p->bound[i]))) status = TG_ERR_NOT_FINITE;
    else if (box && tgRe(p->bound[i]) < 0) status = TG_ERR_ARG;
    culprit = i;
    kept = kept && fits(p->kind[i], from->cls[i]);
  }
  if (tgi_lcp_open_info(s, status, culprit, info) != TG_OK) return status;
  tgi_lcp_borrow(s, from);
  Attempt a = {s, p, f, w != NULL ? w : s->scratch->wtmp, cls, INFINITY, kept && tgi_lcp_keeps_factor(s), false, warm, false, false, 0};
  return run(&a, s->cls, cls, info);
}
