// classes.c: the class solve of the frictional LCP, its residual, its ties and its derivative.
//
// Based on: [lcp IV-C, A, B] (classes, least norm); [math/lcp (7), (19)], [GolubPereyra]. With K, P, f0 of solve.h:
//   Q = A_K: P,  c_K = b_K + A_K: f0,  f_K = -Q^+ c_K,  f = P f_K + f0,  w = A f + b.
// All decisions (class, rank, condition) are on real parts, so the complex build carries a derivative through.
#include <string.h>

#include "contact/lcp/scratch.h"
#include "math/combine.h"

// LU is used where its condition estimate is above this, well clear of the rank cut.
#define RCOND_LU 1e-8
#define RANK_CUT 1e-10

// +-mu where row i hangs on a pressing normal and slides, else 0: the entry of P
static tgReal slope(const tgiLcpProblem *p, const int8_t *cls, int i) {
  if (p->kind[i] != TGI_LCP_FRICTION || cls[p->parent[i]] != TGI_LCP_C) return 0;
  return cls[i] == TGI_LCP_H ? p->bound[i] : cls[i] == TGI_LCP_L ? -p->bound[i] : 0;
}

static bool hangs(const tgiLcpProblem *p, const int8_t *cls, int i) {
  return p->kind[i] == TGI_LCP_FRICTION && cls[p->parent[i]] == TGI_LCP_C &&
         (cls[i] == TGI_LCP_H || cls[i] == TGI_LCP_L);
}

// f0: constant limits in force
static tgReal fixed_force(const tgiLcpProblem *p, const int8_t *cls, int i) {
  if (p->kind[i] != TGI_LCP_BOX) return 0;
  return cls[i] == TGI_LCP_H ? p->bound[i] : cls[i] == TGI_LCP_L ? -p->bound[i] : 0;
}

static bool is_held(int8_t c) { return c == TGI_LCP_C || c == TGI_LCP_F; }

static tgReal bound(const tgiLcpProblem *p, const tgReal *f, int i) {
  return p->kind[i] == TGI_LCP_FRICTION ? p->bound[i] * f[p->parent[i]] : p->bound[i];
}

// ---- factorisation ----

// A_K: P into m (column-major)
static void fill_q(const tgiLcp *s, tgReal *m) {
  const tgiLcpProblem *p = s->problem;
  int n = p->n, nk = s->nk;
  for (int j = 0; j < nk; j++)
    for (int i = 0; i < nk; i++) m[i + (size_t)nk * j] = p->A[(size_t)n * s->k[i] + s->k[j]];
  for (int t = 0; t < n; t++) {
    if (!hangs(p, s->cls, t)) continue;
    tgReal e = slope(p, s->cls, t), *col = m + (size_t)nk * s->kpos[p->parent[t]];
    for (int i = 0; i < nk; i++) col[i] += e * p->A[(size_t)n * s->k[i] + t];
  }
}

tgReal tgi_lcp_slope(const tgiLcp *s, int i) { return slope(s->problem, s->cls, i); }

// Q = A_K: P = L C' with A_KK = L L' and C = L + (L^+ A_K: E)', E the rows that hang. Where redundancy ends as bodies move, that is the
// projection of Q on the range of L, whose derivative at constant rank is (7). False where what hangs takes rank from it.
static bool factor_low_rank(tgiLcp *s) {
  const tgiLcpProblem *p = s->problem;
  const tgiLcpScratch *c = s->scratch;
  int n = s->n, nk = s->nk;
  tgiLowRank *d = &s->low;
  s->rank = tgi_semidefinite_factor(n, p->A, nk, s->k, RANK_CUT, s->lu, s->lu_piv, c->cod_work, c->K);
  *d = (tgiLowRank){nk, s->rank, s->lu, s->cod.tau, s->hanging ? s->cod.w : s->lu, s->hanging ? s->cod.wtau : s->cod.tau};
  if (s->hanging) memcpy(d->c, d->l, (size_t)nk * (size_t)s->rank * sizeof *d->c);
  tgi_low_rank_open(d);
  for (int i = 0; i < n && s->hanging; i++) {
    if (!hangs(p, s->cls, i)) continue;
    tgReal e = slope(p, s->cls, i), *x = c->cod_work, *to = d->c + s->kpos[p->parent[i]];
    for (int a = 0; a < nk; a++) x[a] = p->A[(size_t)n * i + s->k[a]];
    tgi_low_rank_coordinates(d, x);
    for (int j = 0; j < s->rank; j++) to[(size_t)nk * j] += e * x[j];
  }
  return tgi_low_rank_close(d, RANK_CUT);
}

static void factor_deficient(tgiLcp *s) {
  s->deficient = true;
  s->factored_low = factor_low_rank(s);
  if (s->factored_low) return;
  s->cod.work = s->scratch->cod_work;
  s->cod.n = s->nk;
  fill_q(s, s->cod.qr);
  tgi_cod_factor(&s->cod, RANK_CUT);
  s->rank = s->cod.rank;
}

// LU when well conditioned, else factors of low rank; of a sparse matrix, whose rank is not asked for, false: it has none
static bool choose_factor(tgiLcp *s) {
  int nk = s->nk;
  double norm = 0;
  s->deficient = false;
  s->probed = true;
  s->rank = nk;
  if (nk == 0) return true;
  if (s->problem->sparse != NULL) return tgi_sparse_open(s);
  if (s->problem->rank > 0 && nk > s->problem->rank) {
    factor_deficient(s);
    return true;
  }
  fill_q(s, s->lu);
  for (int j = 0; j < nk; j++) {
    double sum = 0;
    for (int i = 0; i < nk; i++) sum += fabs(tgRe(s->lu[i + (size_t)nk * j]));
    norm = tgi_lcp_larger(norm, sum);
  }
  s->cod.work = s->scratch->cod_work;
  if (tgi_lu_factor(nk, s->lu, s->lu_piv) && tgi_lu_rcond_above(nk, s->lu, s->lu_piv, norm, RCOND_LU, s->cod.work)) return true;
  factor_deficient(s);
  return true;
}

void tgi_lcp_probe(tgiLcp *s) {
  if (!s->probed) tgi_sparse_probe(s);
}

// the one that was chosen before
static void factor_again(tgiLcp *s, bool deficient) {
  if (s->problem->sparse != NULL) {
    s->scratch->unsolved = !choose_factor(s) || s->scratch->unsolved;
    tgi_lcp_probe(s);
    return;
  }
  s->deficient = false;
  s->rank = s->nk;
  if (deficient) {
    factor_deficient(s);
    return;
  }
  fill_q(s, s->lu);
  tgi_lu_factor(s->nk, s->lu, s->lu_piv);
}

// x <- Q^+ x or Q^{+T} x
static void solve_q(const tgiLcp *s, tgReal *x, bool transposed) {
  if (s->nk == 0) return;
  if (s->problem->sparse != NULL) s->scratch->unsolved = !tgi_sparse_solve(s, x, transposed) || s->scratch->unsolved;
  else if (s->deficient && s->factored_low) tgi_low_rank_solve(&s->low, x, transposed);
  else if (s->deficient) tgi_cod_solve(&s->cod, x, transposed);
  else tgi_lu_solve(s->nk, s->lu, s->lu_piv, x, transposed);
}

// ---- residual and margin ----

void tgi_lcp_scales(tgiLcpScratch *c, const tgiLcpProblem *p, const tgReal *f) {
  double stiffest = 0;
  c->sf = 0;
  c->sw = p->speed;
  for (int i = 0; i < p->n; i++) {
    c->sf = tgi_lcp_larger(c->sf, fabs(tgRe(f[i])));
    c->sw = tgi_lcp_larger(c->sw, fabs(tgRe(p->b[i])));
    stiffest = tgi_lcp_larger(stiffest, tgRe(tgi_lcp_diagonal(p, i)));
  }
  if (p->speed > 0 && stiffest > 0) c->sf = tgi_lcp_larger(c->sf, p->speed / stiffest);
  if (c->sf == 0) c->sf = 1;
  if (c->sw == 0) c->sw = 1;
}

bool tgi_lcp_is_dead(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, int i) {
  if (cls[i] != TGI_LCP_D) return false;
  if (tgi_lcp_acts_on_nothing(s->scratch, p, i)) return true;
  if (!s->scratch->equalities || p->sparse != NULL) return false;   // only they could leave it nothing to act on
  tgi_lcp_reduce(s, p);
  return s->scratch->dead[i] != 0;
}

// A force or velocity pair is complementary to the lesser of the two violations.
double tgi_lcp_row_residual(const tgiLcpScratch *c, const tgiLcpProblem *p, bool dead, const tgReal *f, const tgReal *w,
                            int i) {
  double sf = c->sf, fi = tgRe(f[i]) / sf, wi = tgRe(w[i]) / c->sw;
  if (!isfinite(fi) || !isfinite(wi)) return INFINITY;
  if (p->kind[i] == TGI_LCP_EQUALITY) return fabs(wi);
  if (tgi_lcp_is_inert(c, p, i)) return fabs(fi);
  if (p->kind[i] == TGI_LCP_NORMAL) return tgi_lcp_larger(tgi_lcp_larger(-fi, -wi), tgi_lcp_smaller(fabs(fi), fabs(wi)));
  if (dead) return fabs(fi);
  double B = tgRe(bound(p, f, i)) / sf;
  double off = wi < 0 ? fabs(B - fi) : fabs(B + fi);  // distance from the force that sliding asks for
  return tgi_lcp_larger(fabs(fi) - B, tgi_lcp_smaller(fabs(wi), off));
}

double tgi_lcp_row_margin(const tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, const tgReal *w, int i) {
  const tgiLcpScratch *c = s->scratch;
  const int8_t *cls = s->cls;
  double sf = c->sf, fi = fabs(tgRe(f[i])) / sf, wi = fabs(tgRe(w[i])) / c->sw;
  if (p->kind[i] == TGI_LCP_EQUALITY || (cls[i] == TGI_LCP_D && wi > TGI_LCP_TIE)) return INFINITY;
  // nothing can move it, nor it anything: either class is right
  if (tgi_lcp_diagonal(p, i) == 0 || tgi_lcp_is_inert(c, p, i)) return INFINITY;
  if (p->kind[i] == TGI_LCP_NORMAL) return cls[i] == TGI_LCP_C ? fi : wi;
  if (p->kind[i] == TGI_LCP_FRICTION && cls[p->parent[i]] != TGI_LCP_C) return INFINITY;
  if (cls[i] == TGI_LCP_F || cls[i] == TGI_LCP_D) return fabs(tgRe(bound(p, f, i)) / sf - fi);
  return wi;
}

double tgi_lcp_solve_classes(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, tgReal *f, tgReal *w) {
  tgi_lcp_open(s->scratch, p);
  double residual = tgi_lcp_class_solve(s, p, cls, f, w);
  if (p->sparse != NULL) tgi_lcp_probe(s);
  return residual;
}

// K, P f_K + f0 and its right-hand side for the classes
static void open_classes(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls) {
  tgiLcpScratch *c = s->scratch;
  int n = p->n, nk = 0;
  s->problem = p;
  s->n = n;
  s->hanging = false;
  if (cls != s->cls && n > 0) memcpy(s->cls, cls, (size_t)n);
  for (int i = 0; i < n; i++) {
    bool held = is_held(cls[i]);
    s->kpos[i] = held ? nk : -1;
    if (held) s->k[nk++] = i;
    s->hanging = s->hanging || hangs(p, cls, i);
    c->ftmp[i] = fixed_force(p, cls, i);
  }
  s->nk = nk;
  for (int a = 0; a < nk; a++) s->fk[a] = -p->b[s->k[a]];
  if (p->sparse != NULL) tgi_sparse_fixed(s, c->ftmp, s->fk);
  for (int j = 0; j < n && p->A != NULL; j++) {
    if (s->kpos[j] >= 0 || p->kind[j] != TGI_LCP_BOX) continue;
    for (int a = 0; a < nk; a++) s->fk[a] -= p->A[(size_t)n * s->k[a] + j] * c->ftmp[j];
  }
}

// v += A f
static void add_response(tgiLcpScratch *c, const tgiLcpProblem *p, const tgReal *f, tgReal *v) {
  int n = p->n, whole = n - n % 4, count = 0;
  if (p->sparse != NULL) {
    tgi_sparse_respond(p->sparse, n, f, v);
    return;
  }
  for (int j = 0; j < n; j++) {
    if (f[j] == 0) continue;
    c->y[count] = f[j];
    c->K[count++] = n * j;   // A is symmetric: its rows are its columns
  }
  tgi_combine(count, c->y, c->K, p->A, whole, v);
  for (int i = whole; i < n; i++)
    for (int j = 0; j < count; j++) v[i] += p->A[c->K[j] + i] * c->y[j];
}

// f from s->fk and what is fixed, w
static void finish(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *v) {
  tgiLcpScratch *c = s->scratch;
  int n = p->n;
  tgi_lcp_expand(s, s->fk, f);
  for (int i = 0; i < n; i++)
    if (s->kpos[i] < 0) f[i] += c->ftmp[i];
  for (int i = 0; i < n && s->anchored == TGI_AS_ANCHOR; i++) f[i] += tgRe(s->anchor[i]) - tgRe(f[i]);
  for (int i = 0; i < n; i++) v[i] = p->b[i];
  add_response(c, p, f, v);
}

// f and w with Q factorised
static void solve_held(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *v) {
  bool before = s->scratch->unsolved;
  if (s->anchored != TGI_LEAST_NORM) tgi_sparse_solve_anchored(s, s->fk);
  else solve_q(s, s->fk, false);
  s->scratch->unsolved = before;   // an answer is judged by its residual
  finish(s, p, f, v);
}

// Is the factorisation of `like` that of these classes? (Friction that a normal has let go may have another class there.)
static bool has_factor(const tgiLcp *like, const tgiLcpProblem *p, const int8_t *cls, bool deficient) {
  if (like->n != p->n || like->deficient != deficient) return false;
  for (int i = 0; i < p->n; i++) {
    if ((like->kpos[i] >= 0) != is_held(cls[i])) return false;
    if (p->kind[i] == TGI_LCP_FRICTION && slope(p, cls, i) != slope(p, like->cls, i)) return false;
  }
  return true;
}

void tgi_lcp_recall_classes(tgiLcp *s, const tgiLcp *like, const tgiLcpProblem *p, const int8_t *cls, bool deficient, tgReal *f,
                            tgReal *w) {
  bool taken = like != NULL && has_factor(like, p, cls, deficient);
  if (taken) tgi_lcp_borrow(s, like);
  else tgi_lcp_own(s);
  open_classes(s, p, cls);
  if (!taken) factor_again(s, deficient);
  solve_held(s, p, f, w);
}

static double worst_residual(tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, const tgReal *w) {
  double worst = 0;
  tgi_lcp_scales(s->scratch, p, f);
  for (int i = 0; i < p->n; i++)
    worst = tgi_lcp_larger(worst, tgi_lcp_row_residual(s->scratch, p, tgi_lcp_is_dead(s, p, s->cls, i), f, w, i));
  return worst;
}

double tgi_lcp_judge(tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, tgReal *w) {
  for (int i = 0; i < p->n; i++) w[i] = p->b[i];
  add_response(s->scratch, p, f, w);
  return worst_residual(s, p, f, w);
}

// f, w and the worst row's residual with Q factorised
static double answer(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w) {
  tgReal *v = w != NULL ? w : s->scratch->wtmp;
  solve_held(s, p, f, v);
  return worst_residual(s, p, f, v);
}

// Classes without factors have no answer; forces that are taken as they are, those of the anchor, have no derivative.
static double without_factors(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w) {
  for (int i = 0; i < p->n; i++) f[i] = s->anchored == TGI_LEAST_NORM ? 0 : s->anchor[i];
  double residual = tgi_lcp_judge(s, p, f, w != NULL ? w : s->scratch->wtmp);
  if (s->anchored != TGI_AS_ANCHOR) return INFINITY;
  s->scratch->unsolved = true;
  return residual;
}

double tgi_lcp_class_solve(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, tgReal *f, tgReal *w) {
  tgi_lcp_own(s);
  open_classes(s, p, cls);
  return choose_factor(s) ? answer(s, p, f, w) : without_factors(s, p, f, w);
}

double tgi_lcp_class_solve_kept(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w) {
  open_classes(s, p, s->cls);
  return answer(s, p, f, w);
}

bool tgi_lcp_class_open(tgiLcp *s, const tgiLcpProblem *p) {
  tgi_lcp_own(s);
  open_classes(s, p, s->cls);
  return tgi_sparse_open(s);
}

double tgi_lcp_class_shifted(tgiLcp *s, const tgiLcpProblem *p, bool kept, tgReal *f, tgReal *w) {
  if (kept) open_classes(s, p, s->cls);
  else if (!tgi_lcp_class_open(s, p)) return INFINITY;
  for (int a = 0; a < s->nk && s->anchored == TGI_NEAR_ANCHOR; a++) s->fk[a] += s->shift * s->anchor[s->k[a]];
  tgi_sparse_solve_shifted(s, s->fk);
  finish(s, p, f, w);
  return worst_residual(s, p, f, w);
}

double tgi_lcp_class_near(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w, tgReal *near) {
  tgiLcpScratch *c = s->scratch;
  tgi_lcp_own(s);
  open_classes(s, p, s->cls);
  s->hanging = false;
  s->anchored = TGI_LEAST_NORM;
  for (int i = 0; i < p->n; i++)
    if (hangs(p, s->cls, i)) c->ftmp[i] = slope(p, s->cls, i) * s->anchor[p->parent[i]];
  for (int a = 0; a < s->nk; a++) s->fk[a] = -p->b[s->k[a]];
  tgi_sparse_fixed(s, c->ftmp, s->fk);
  if (!tgi_sparse_open(s)) return INFINITY;
  for (int a = 0; a < s->nk; a++) s->fk[a] += s->shift * s->anchor[s->k[a]];
  tgi_sparse_solve_shifted(s, s->fk);
  finish(s, p, f, w);
  for (int i = 0; i < p->n; i++) near[i] = w[i] + s->shift * (f[i] - s->anchor[i]);
  return worst_residual(s, p, f, w);
}

double tgi_lcp_adopt(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, tgReal *f, tgReal *w) {
  for (int i = 0; i < p->n; i++) s->anchor[i] = tgRe(f[i]);
  s->anchored = TGI_NEAR_ANCHOR;
  double residual = tgi_lcp_class_solve(s, p, cls, f, w);
  if (residual <= TGI_LCP_ACCEPT) return residual;
  s->anchored = TGI_AS_ANCHOR;
  return isfinite(residual) ? tgi_lcp_class_solve_kept(s, p, f, w) : without_factors(s, p, f, w);
}

bool tgi_lcp_keeps_factor(const tgiLcp *s) {
  for (int i = 0; i < s->n; i++)
    if ((s->kpos[i] >= 0) != is_held(s->cls[i])) return false;
  return true;
}

const tgiLcp *tgi_lcp_factor_rows(tgiLcp *s, const int8_t *chosen) {
  tgiLcpScratch *c = s->scratch;
  const tgiLcpProblem *p = s->problem;
  if (p->sparse != NULL) return NULL;
  tgi_lcp_open(c, p);
  c->tried = NULL;
  for (int i = 0; i < p->n; i++) c->trial[i] = chosen[i] ? TGI_LCP_F : TGI_LCP_D;   // nothing slides
  open_classes(&c->spare, p, c->trial);
  return choose_factor(&c->spare) ? &c->spare : NULL;
}

// ---- ties ----

static int count_ties(const tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, const tgReal *w) {
  int ties = 0;
  tgi_lcp_scales(s->scratch, p, f);
  for (int i = 0; i < p->n; i++) ties += tgi_lcp_row_margin(s, p, f, w, i) <= TGI_LCP_TIE;
  return ties;
}

static bool may_hold(const tgiLcpProblem *p, const int8_t *cls, int i) {
  if (tgRe(p->bound[i]) <= 0) return false;
  return p->kind[i] == TGI_LCP_BOX || (p->kind[i] == TGI_LCP_FRICTION && cls[p->parent[i]] == TGI_LCP_C);
}

// trial <- cls with rows of vanishing w held: friction always, normals too when asked. True when something changed.
static bool hold_still_rows(tgiLcpScratch *c, const tgiLcpProblem *p, const tgReal *w, bool normals) {
  bool changed = false;
  for (int i = 0; i < p->n; i++) {
    c->trial[i] = c->best[i];
    bool still = fabs(tgRe(w[i])) <= TGI_LCP_TIE * c->sw && !tgi_lcp_acts_on_nothing(c, p, i);
    if (!normals || !still || c->trial[i] != TGI_LCP_N) continue;
    c->trial[i] = TGI_LCP_C;
    changed = true;
  }
  for (int i = 0; i < p->n; i++) {
    bool joined = p->kind[i] == TGI_LCP_FRICTION && c->trial[p->parent[i]] != c->best[p->parent[i]];
    if (joined && c->trial[i] != TGI_LCP_D) c->trial[i] = tgRe(w[i]) > 0 ? TGI_LCP_L : TGI_LCP_H;
    bool slides = c->trial[i] == TGI_LCP_H || c->trial[i] == TGI_LCP_L || c->trial[i] == TGI_LCP_D;
    bool moves = fabs(tgRe(w[i])) > TGI_LCP_TIE * c->sw;
    if (!slides || moves || !may_hold(p, c->trial, i) || tgi_lcp_acts_on_nothing(c, p, i)) continue;
    c->trial[i] = TGI_LCP_F;
    changed = true;
  }
  return changed;
}

// Normals of c->trial that press with nothing are let go. True when something changed.
static bool release_idle_normals(tgiLcpScratch *c, const tgiLcpProblem *p, const tgReal *f, const tgReal *w) {
  bool changed = false;
  for (int i = 0; i < p->n; i++)
    if (p->kind[i] == TGI_LCP_NORMAL && c->trial[i] == TGI_LCP_C && tgRe(f[i]) <= TGI_LCP_TIE * c->sf) {
      c->trial[i] = TGI_LCP_N;
      changed = true;
    }
  for (int i = 0; i < p->n; i++)
    if (p->kind[i] == TGI_LCP_FRICTION && c->trial[i] == TGI_LCP_F && c->trial[p->parent[i]] == TGI_LCP_N)
      c->trial[i] = tgRe(w[i]) > 0 ? TGI_LCP_L : TGI_LCP_H;
  return changed;
}

// Is the answer of c->trial acceptable with fewer ties (or, without a limit, at all)? It then becomes c->best and that of s.
static bool try_classes(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w, int limit) {
  tgiLcpScratch *c = s->scratch;
  tgiLcp *t = &c->spare;
  bool again = c->tried == p->A && t->n == p->n && memcmp(t->cls, c->trial, (size_t)p->n) == 0;   // for another b
  double residual = again ? tgi_lcp_class_solve_kept(t, p, c->ftry, c->wtry) : tgi_lcp_class_solve(t, p, c->trial, c->ftry, c->wtry);
  c->tried = p->A;
  if (!(residual <= TGI_LCP_ACCEPT) || count_ties(t, p, c->ftry, c->wtry) >= limit) return false;
  memcpy(c->best, c->trial, (size_t)p->n);
  tgi_lcp_class_solve(s, p, c->best, f, w);
  return true;
}

// One round; false when the classes are as before.
static bool settle_once(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w) {
  tgiLcpScratch *c = s->scratch;
  int ties = count_ties(s, p, f, w);
  if (ties == 0) return false;
  memcpy(c->best, s->cls, (size_t)p->n);
  memcpy(c->before, s->cls, (size_t)p->n);
  // with normals that rest only where that leaves fewer ties; else without them
  bool tried = hold_still_rows(c, p, w, true), normals = false;
  for (int i = 0; i < p->n; i++) normals = normals || (p->kind[i] == TGI_LCP_NORMAL && c->trial[i] != c->best[i]);
  bool held = tried && try_classes(s, p, f, w, normals ? ties : INT32_MAX);
  if (!held && normals && hold_still_rows(c, p, w, false)) try_classes(s, p, f, w, INT32_MAX);
  tgi_lcp_scales(c, p, f);
  memcpy(c->trial, c->best, (size_t)p->n);
  if (release_idle_normals(c, p, f, w)) try_classes(s, p, f, w, INT32_MAX);
  return memcmp(c->before, s->cls, (size_t)p->n) != 0;
}

// Repeated so that a warm start from the outcome leaves it alone.
void tgi_lcp_settle_ties(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w) {
  for (int round = 0; round < 4 && settle_once(s, p, f, w); round++) continue;
}

// ---- derivative ----

void tgi_lcp_apply(const tgiLcp *s, const tgReal *r, tgReal *x) {
  for (int a = 0; a < s->nk; a++) x[a] = r[a];
  solve_q(s, x, false);
}

void tgi_lcp_apply_t(const tgiLcp *s, const tgReal *g, tgReal *y) {
  for (int a = 0; a < s->nk; a++) y[a] = g[a];
  solve_q(s, y, true);
}

void tgi_lcp_project(const tgiLcp *s, const tgReal *x, tgReal *y) {
  bool null = s->rank < s->nk;
  for (int a = 0; a < s->nk; a++) y[a] = null ? x[a] : 0;
  if (null && s->problem->sparse != NULL) tgi_sparse_project(s, y);
  else if (null && s->factored_low) tgi_low_rank_project(&s->low, y);
  else if (null) tgi_cod_project(&s->cod, y);
}

bool tgi_lcp_project_held(const tgiLcp *s, const tgReal *x, tgReal *y) {
  bool own = s->deficient && s->factored_low && s->hanging && s->problem->sparse == NULL;
  if (!own) tgi_lcp_project(s, x, y);
  if (!own) return s->problem->sparse != NULL || !s->hanging || !s->deficient;
  tgiLowRank held = s->low;   // A_KK = L L'
  held.c = held.l;
  held.ctau = held.ltau;
  for (int a = 0; a < s->nk; a++) y[a] = x[a];
  tgi_low_rank_project(&held, y);
  return true;
}

void tgi_lcp_expand(const tgiLcp *s, const tgReal *fk, tgReal *f) {
  const tgiLcpProblem *p = s->problem;
  for (int i = 0; i < s->n; i++) {
    if (s->kpos[i] >= 0) f[i] = fk[s->kpos[i]];
    else f[i] = s->hanging && hangs(p, s->cls, i) ? slope(p, s->cls, i) * fk[s->kpos[p->parent[i]]] : 0;
  }
}

void tgi_lcp_gather(const tgiLcp *s, const tgReal *g, tgReal *gk) {
  const tgiLcpProblem *p = s->problem;
  for (int a = 0; a < s->nk; a++) gk[a] = g[s->k[a]];
  for (int i = 0; i < s->n; i++)
    if (s->hanging && hangs(p, s->cls, i)) gk[s->kpos[p->parent[i]]] += slope(p, s->cls, i) * g[i];
}

void tgi_lcp_null_force(const tgiLcp *s, tgReal *z) {
  for (int a = 0; a < s->nk; a++) z[a] = s->deficient ? s->fk[a] : 0;
  if (s->deficient) solve_q(s, z, true);
}

// Without hanging rows it is none: A is semidefinite, and what it takes from A_KK it takes from A_:K.
// Two vectors by chance stand for the null space: their projections have a share in every direction of it, and A P
// vanishes on both only where it vanishes on all.
double tgi_lcp_null_action(const tgiLcp *s) {
  const tgiLcpProblem *p = s->problem;
  tgiLcpScratch *c = s->scratch;
  if (s->rank == s->nk || !s->hanging) return 0;
  double worst = 0, most = 0;
  int n = s->n;
  for (int i = 0; i < n; i++) most = tgi_lcp_larger(most, tgRe(tgi_lcp_diagonal(p, i)));   // of a semidefinite matrix the largest
  for (int probe = 0; probe < 2; probe++) {
    double size = 0;
    for (int i = 0; i < s->nk; i++) c->x[i] = tgi_lcp_chance(probe, i) - 1;
    tgi_lcp_project(s, c->x, c->x);
    for (int i = 0; i < s->nk; i++) size = tgi_lcp_larger(size, fabs(tgRe(c->x[i])));
    tgi_lcp_expand(s, c->x, c->ftmp);
    if (size == 0) continue;
    for (int i = 0; i < n; i++) c->wtmp[i] = 0;
    add_response(c, p, c->ftmp, c->wtmp);
    for (int i = 0; i < n; i++) worst = tgi_lcp_larger(worst, fabs(tgRe(c->wtmp[i])) / size);
  }
  return most > 0 ? worst / most : 0;
}

void tgi_lcp_derivative(const tgiLcp *s, const tgReal *r, const tgReal *t, tgReal *dfk) {
  tgiLcpScratch *c = s->scratch;
  tgi_lcp_apply(s, r, c->x);
  for (int a = 0; a < s->nk; a++) c->y[a] = 0;
  if (t != NULL) tgi_lcp_project(s, t, c->y);
  for (int a = 0; a < s->nk; a++) dfk[a] = c->y[a] - c->x[a];
}

void tgi_lcp_derivative_t(const tgiLcp *s, const tgReal *g, tgReal *rbar, tgReal *tbar) {
  tgiLcpScratch *c = s->scratch;
  for (int a = 0; a < s->nk; a++) c->x[a] = g[a];
  tgi_lcp_apply_t(s, c->x, rbar);
  for (int a = 0; a < s->nk; a++) rbar[a] = -rbar[a];
  if (tbar != NULL) tgi_lcp_project(s, c->x, tbar);
}
