// scratch.h: private to contact/lcp: the workspace, the reduced problem and the stages that propose classes.
//
// A stage works on real parts of the problem with equality rows eliminated and rows that cannot act left out, and only
// proposes classes; the class solve (classes.c) turns them into an answer or refuses them.
#ifndef TG_CONTACT_LCP_SCRATCH_H
#define TG_CONTACT_LCP_SCRATCH_H

#include "contact/lcp/solve.h"
#include "math/dense.h"

/// NORMAL, FRICTION and BOX rows only: A' = D (A_II - A_IE A_EE^+ A_EI) D, b' = D (b_I - A_IE A_EE^+ b_E), forces in
/// units of D (diagonal), so that the diagonal of A' is of order one.
typedef struct tgiLcpReduced {
  int n;
  int *row;       ///< n: row of the whole problem
  int *kind;      ///< n
  int *parent;    ///< n: in reduced numbering, -1 where none
  double *A;      ///< n x n row-major
  double *b;      ///< n
  double *bound;  ///< n
} tgiLcpReduced;

typedef struct tgiLcpScratch {
  double sf, sw;      ///< max|f|, max|b|, 1 where that is 0
  tgReal *cod_work;   ///< TGI_COD_WORK(n)
  tgReal *x, *y, *ftmp, *wtmp;  ///< n each
  tgReal *ftry, *wtry;          ///< n each: of a trial
  tgiLcp spare;       ///< the class solve of a trial, apart from the answer's, which stays when the trial is refused; in the memory of T
  int8_t *trial, *best, *before;  ///< n each
  int *ties, *failed;           ///< n each
  // stages
  tgiLcpReduced red;
  bool reduced;       ///< red is that of the present problem
  double *full;       ///< n x n: elimination of the equalities
  double *fullb;
  double *scale;      ///< n: D of the reduced problem
  int8_t *dead;       ///< n: the row cannot act
  double *Q, *f, *w, *Df, *Dw, *rhs;  ///< n x n and n each
  int *K, *K_pos;
  int8_t *red_cls;    ///< n
  double *T;          ///< mz x (mz + 2): Lemke's tableau
  int *basis, *column, *where;        ///< mz, mz + 1, 2 mz + 1
  double *d, *zval;                   ///< mz each
  int *group;                         ///< n: first Lemke variable of a row
  tgiCod held;        ///< pivoting: held rows that are redundant
} tgiLcpScratch;

// The residual below which an answer is accepted, and what counts as zero in a tie (both relative).
#define TGI_LCP_ACCEPT 1e-8
#define TGI_LCP_TIE 1e-9

/// Scales of forces and velocities into c->sf, c->sw.
void tgi_lcp_scales(tgiLcpScratch *c, const tgiLcpProblem *p, const tgReal *f);
/// Residual of row i (relative), for f and w given; `dead`: the row cannot act.
double tgi_lcp_row_residual(const tgiLcpScratch *c, const tgiLcpProblem *p, bool dead, const tgReal *f, const tgReal *w,
                            int i);
/// Least distance of row i to a class switch (relative), INFINITY where it has none.
double tgi_lcp_row_margin(const tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, const tgReal *w, int i);
/// Can row i not act? Reduces the problem when only that tells (class D).
bool tgi_lcp_is_dead(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, int i);
/// +-mu where row i hangs on a pressing normal and slides, else 0: the entry of P.
tgReal tgi_lcp_slope(const tgiLcp *s, int i);
/// tgi_lcp_solve_classes within one problem, whose reduction is kept.
double tgi_lcp_class_solve(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, tgReal *f, tgReal *w);
/// The same for the classes and with the factorisation of the last one, which was of a problem with this A and these mu.
double tgi_lcp_class_solve_kept(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w);
/// Is the factorisation that of s->cls? (Friction that a normal has let go may have changed its class since.)
bool tgi_lcp_keeps_factor(const tgiLcp *s);
/// Settles ties of an accepted answer in s->cls (solve.h, "Ties"); leaves the class solve of the final
/// classes.
void tgi_lcp_settle_ties(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w);
/// Builds scratch->red when that is not done yet.
void tgi_lcp_reduce(tgiLcp *s, const tgiLcpProblem *p);

/// Stage 2. Fills cls (reduced rows); false when it stops without an answer.                       [E1(a)]
bool tgi_lcp_pivot(tgiLcpScratch *c, int8_t *cls, int *pivots);
/// Stage 3. Covering vector of ones for attempt 0, random in [0.5, 1.5] after; `shift` is added to the diagonal of A.
/// Classes by the values reached.
bool tgi_lcp_lemke(tgiLcpScratch *c, int attempt, double shift, int8_t *cls, int *pivots);
/// Classes of the last end point by its basis: those of a vertex, whose Q is regular.
void tgi_lcp_lemke_vertex(const tgiLcpScratch *c, int8_t *cls);
/// Stage 4. Returns the sweeps made (at most `most`); classes by the values reached.
int tgi_lcp_pgs(tgiLcpScratch *c, int most, int8_t *cls);
/// Classes of the reduced rows by the nearer side of each alternative, for f and w = A f + b given.
void tgi_lcp_classify(const tgiLcpReduced *r, const double *f, const double *w, int8_t *cls);

/// Bound of reduced row i at forces f.
static inline double tgi_lcp_bound(const tgiLcpReduced *r, const double *f, int i) {
  return r->parent[i] >= 0 ? r->bound[i] * f[r->parent[i]] : r->bound[i];
}

#endif
