// scratch.h: private to contact/lcp: the workspace, the reduced problem and the stages that propose classes.
//
// A stage works on real parts of the problem with equality rows eliminated and rows that cannot act left out, and only
// proposes classes; the class solve (classes.c) turns them into an answer or refuses them.
#ifndef TG_CONTACT_LCP_SCRATCH_H
#define TG_CONTACT_LCP_SCRATCH_H

#include "contact/lcp/solve.h"
#include "contact/lcp/sparse.h"
#include "math/dense.h"

enum { TGI_LCP_LINES = 11 };

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
  struct tgiLcp *large;   ///< of a sparse problem, without A: the object that solves it (large.c); else NULL
} tgiLcpReduced;

/// The system of the held rows along a path (bordered.c): as it was factorised, with a border for each row that has switched since.
typedef struct tgiLcpBordered {
  int most, count;         ///< borders it may have, has
  int nk, *K, *K_pos;      ///< rows held at the factorisation
  int narrow;              ///< columns of G in Z, of which V has those with what slides and S the system (narrow.c); 0: there is no G
  int8_t *base;            ///< n: classes then
  int *border, *row;       ///< n: of each row, -1 where none; of each border
  double *f0, *w0;         ///< n each: constant limits in force then, and w without held rows, b and delta
  double *x[2], *xz;       ///< n each: solutions without borders, at t = 0 and the rate; with them
  double *Z, *V, *G;       ///< nk x most: M^-1 U, V'; most x most: V M^-1 U of rows not held then
  tgReal *S, *z[2];        ///< count x count and count: the borders' system
  int *S_piv;
} tgiLcpBordered;
/// Borders for which there is room in a workspace of n rows; systems of few rows are factorised again instead.
static inline int tgi_lcp_borders(int n) { return n < 64 ? n / 2 : 64; }
#define TGI_LCP_BORDERED 64   // rows from which on a path's system is bordered
#define TGI_LCP_NARROW 8      // or solved by columns, where there are so many rows to each

typedef struct tgiLcpScratch {
  double sf, sw;      ///< max|f|, max|b|, 1 where that is 0
  tgReal *cod_work;   ///< TGI_COD_WORK(n)
  tgReal *x, *y, *ftmp, *wtmp;  ///< n each
  tgReal *ftry, *wtry;          ///< n each: of a trial; where a walk has come to
  tgiLcp spare;       ///< the class solve of a trial, apart from the answer's, which stays when the trial is refused; in the memory of T
  const tgReal *tried;          ///< the A that spare's factorisation is of, NULL: of none
  int8_t *trial, *best, *before;  ///< n each
  int *ties, *failed;           ///< n each
  // stages
  tgiLcpReduced red;
  bool reduced;       ///< red is that of the present problem
  double *full;       ///< n x n: elimination of the equalities
  double *fullb;
  double *scale;      ///< n: D of the reduced problem
  int8_t *dead;       ///< n: the row cannot act
  int *order, eliminated;             ///< equality rows in the order of their elimination
  tgiLcpBordered system;
  double trace;       ///< of A
  tgiWatch *watch;    ///< the problem's
  bool equalities;    ///< there are some
  bool unsolved;      ///< of sparse problems: a derivative since the last solve left more than it may
  int *inert;         ///< n: tgiLcpInfo.inert
  double *f, *w, *Df, *Dw, *delta;    ///< n each: forces and velocities of the reduced rows, their rates along a path, its start
  double *line[TGI_LCP_LINES];   ///< n each: of a sparse problem's search (interior.h, large.c)
  int *K, *K_pos;
  tgReal *lu;         ///< the memory of the answer's factorisation, which a class solve fills again
  int *lu_piv;
  int8_t *red_cls;    ///< n
  double *T;          ///< mz x (mz + 2): the tableau of Lemke; by turns others' memory
  int *basis, *column, *where;        ///< mz, mz + 1, 2 mz + 1
  double *zval;                       ///< mz
  int *group;                         ///< n: first Lemke variable of a row
} tgiLcpScratch;

// The residual below which an answer is accepted, and what counts as zero in a tie (both relative).
#define TGI_LCP_ACCEPT 1e-8
#define TGI_LCP_TIE 1e-9
// What keeps systems of a path regular, in shares of the diagonal of A.
#define TGI_LCP_SHIFT 1e-8
// A row cannot act below this share of the trace of A.
#define TGI_LCP_DEAD 1e-12

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
/// tgi_lcp_solve_classes within one problem, whose reduction is kept; of a sparse one without its rank (tgi_lcp_probe).
double tgi_lcp_class_solve(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, tgReal *f, tgReal *w);
/// The same for the classes and with the factorisation of the last one, or of tgi_lcp_class_shifted, which was of a problem with this A
/// and these mu.
double tgi_lcp_class_solve_kept(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w);
/// Of a sparse problem, after the class solve of an answer: its rank, where that is not known yet.
void tgi_lcp_probe(tgiLcp *s);
/// Of a sparse problem, with friction bounded by what s->anchor presses: f with w + s (f - anchor) = 0, s of sparse.h, in the rows that
/// s->cls holds; w; near = w + s (f - anchor) of all rows.
/// Returns the residual of the conditions; INFINITY where a matrix is singular.
double tgi_lcp_class_near(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w, tgReal *near);
/// w of f, and the residual of the conditions.
double tgi_lcp_judge(tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, tgReal *w);
/// Of a sparse problem: forces and classes found elsewhere become the anchor: f near them where the classes' own solution holds, else these
/// as they are; w, and the residual.
double tgi_lcp_adopt(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, tgReal *f, tgReal *w);
/// Moves every violated row of s->cls to the class that its signs ask for; pressing: the forces that bound friction. False when nothing
/// moves.
bool tgi_lcp_correct(tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, const tgReal *w, const tgReal *pressing);
/// Of a sparse problem: K, right-hand side and the factorisation of Q + s for s->cls. False: singular.
bool tgi_lcp_class_open(tgiLcp *s, const tgiLcpProblem *p);
/// The same, where it is not `kept` from the last class solve, and with it f and w, near s->anchor where s->anchored says so; returns the
/// residual of the conditions, INFINITY where it is singular.
double tgi_lcp_class_shifted(tgiLcp *s, const tgiLcpProblem *p, bool kept, tgReal *f, tgReal *w);
/// Along a path of c->red.large: w (reduced rows) += A f; the held rows' forces at t = 0 and their rates for classes, as
/// tgi_lcp_bordered_factor and _solve. False: singular.
void tgi_lcp_large_image(tgiLcpScratch *c, const double *f, double *w);
bool tgi_lcp_large_solve(tgiLcpScratch *c, const int8_t *cls, double *f, double *rate);
/// Stage 2 of a sparse problem (large.c): f, w and s->cls; where it ends without an answer those of least residual.
bool tgi_lcp_large(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w, tgiLcpInfo *info);
/// k, kpos and the factorisation of `from` become those of s, with its classes and its problem; no-op where s is `from`.
void tgi_lcp_borrow(tgiLcp *s, const tgiLcp *from);
/// s has k, kpos and room for a factorisation of its own again.
void tgi_lcp_own(tgiLcp *s);
/// Is the factorisation that of s->cls? (Friction that a normal has let go may have changed its class since.)
bool tgi_lcp_keeps_factor(const tgiLcp *s);
/// Settles ties of an accepted answer in s->cls (solve.h, "Ties"); leaves the class solve of the final
/// classes.
void tgi_lcp_settle_ties(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w);
/// An empty report; of input that is refused the row. Returns `input`.
tgStatus tgi_lcp_open_info(const tgiLcp *s, tgStatus input, int culprit, tgiLcpInfo *info);
/// What an empty report tells of an answer, f and w, in the classes of s.
void tgi_lcp_tell(tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, const tgReal *w, tgiLcpInfo *info);
/// Another problem than the last one: nothing of it is known.
void tgi_lcp_open(tgiLcpScratch *c, const tgiLcpProblem *p);
/// Builds scratch->red when that is not done yet.
void tgi_lcp_reduce(tgiLcp *s, const tgiLcpProblem *p);
/// c->ftry, wtry: forces and velocities of all rows from those of the reduced rows, c->f.
void tgi_lcp_lift(tgiLcpScratch *c, const tgiLcpProblem *p);

/// Stage 2. From c->f, any forces, to classes of the reduced rows, with their forces in c->f; false when it stops without an
/// answer. Attempts differ in how far from their borders rows start. borders: the system is factorised anew behind so many
/// switched rows, at most tgi_lcp_borders(n); 0: at each switch. columns: at most so many, of tgi_lcp_borders(n), stand for A; 0: A itself.
bool tgi_lcp_path(tgiLcpScratch *c, int attempt, int borders, int columns, int8_t *cls, int *pivots);
/// From the answer of classes cls on along b + (1 - t) c->delta, from t = 1 at the rate `way`. ends: asked of each piece that comes to
/// t = 1 again or next to it, where forces grow that balance, with what is left to t = 1; true: the path ends there, in cls. False: it
/// goes to infinity.
bool tgi_lcp_path_on(tgiLcpScratch *c, double way, int8_t *cls, bool (*ends)(void *ctx, double rest), void *ctx,
                     int *pivots);
/// G of A = G G', into the system. False: so many columns are not enough.
bool tgi_lcp_narrow_open(tgiLcpScratch *c, int columns);
/// w += A f, by G
void tgi_lcp_narrow_image(tgiLcpScratch *c, const double *f, double *w);
/// As tgi_lcp_bordered_solve, without a factorisation of the held rows.
bool tgi_lcp_narrow_solve(tgiLcpScratch *c, const int8_t *cls, double *f, double *rate);
/// The system of the path for these classes, without borders. False: singular.
bool tgi_lcp_bordered_factor(tgiLcpScratch *c, const int8_t *cls);
/// Row i (and friction on it) has another class now. False: there is no room for more borders.
bool tgi_lcp_bordered_switch(tgiLcpScratch *c, const int8_t *cls, int i);
/// f at t = 0 and its rate. False: singular.
bool tgi_lcp_bordered_solve(tgiLcpScratch *c, const int8_t *cls, double *f, double *rate);
/// A step from the solution c->ftry, wtry of the classes s->cls towards their class solve (f, w), which was refused: c->ftry,
/// wtry and s->cls after it. last: the row that switched in the step before, -1 in the first; then the one that does now.
/// False: there is none.
bool tgi_lcp_walk(tgiLcp *s, const tgiLcpProblem *p, const tgReal *f, const tgReal *w, int *last);
/// From the solution c->ftry of the classes s->cls, just solved for: a solution with the same velocities, and its classes s->cls, whose
/// held rows act independently. False: those do already.
bool tgi_lcp_vertex(tgiLcp *s, const tgiLcpProblem *p);
/// Stage 3. Covering vector of ones for attempt 0, random in [0.5, 1.5] after; `shift` is added to the diagonal of A.
/// Classes by the values reached.
bool tgi_lcp_lemke(tgiLcpScratch *c, int attempt, double shift, int8_t *cls, int *pivots);
/// Classes of the last end point by its basis: those of a vertex, whose Q is regular.
void tgi_lcp_lemke_vertex(const tgiLcpScratch *c, int8_t *cls);
/// Is it proved that no forces press the normals of c->red apart as b asks for it, whatever friction does, among speeds of that scale?
/// (contradict.c)
bool tgi_lcp_contradicts(tgiLcpScratch *c, double speed);
/// Gauss-Seidel sweeps on c->f (at most `most`, which is returned); c->w <- A f + b.
int tgi_lcp_sweep(tgiLcpScratch *c, int most);
/// Stage 4: sweeps from 0; classes by the values reached.
int tgi_lcp_pgs(tgiLcpScratch *c, int most, int8_t *cls);
/// w <- A f + b of the reduced rows.
void tgi_lcp_velocities(const tgiLcpReduced *r, const double *f, double *w);
/// Classes of the reduced rows by the nearer side of each alternative, for f and w = A f + b given.
void tgi_lcp_classify(const tgiLcpReduced *r, const double *f, const double *w, int8_t *cls);

/// The caller wants no answer any more: a stage ends without one.
static inline bool tgi_lcp_cancelled(const tgiLcpScratch *c) { return tgi_watch_stopped(c->watch); }
/// The same before a pivot or a sweep.
static inline bool tgi_lcp_stops(const tgiLcpScratch *c) { return tgi_watch_stops(c->watch); }

/// The larger and the smaller of two numbers; the first when x is not a number. fmax and fmin are calls into the library.
static inline double tgi_lcp_larger(double most, double x) { return x > most ? x : most; }
static inline double tgi_lcp_smaller(double least, double x) { return x < least ? x : least; }

/// Bound of reduced row i at forces f.
static inline double tgi_lcp_bound(const tgiLcpReduced *r, const double *f, int i) {
  return r->parent[i] >= 0 ? r->bound[i] * f[r->parent[i]] : r->bound[i];
}

/// A_ii
static inline tgReal tgi_lcp_diagonal(const tgiLcpProblem *p, int i) {
  return p->A != NULL ? p->A[(size_t)(p->n + 1) * (size_t)i] : p->sparse->diagonal[i];
}
/// A_ii < 1e-12 trace(A).
static inline bool tgi_lcp_acts_on_nothing(const tgiLcpScratch *c, const tgiLcpProblem *p, int i) {
  return !(c->trace > 0 && tgRe(tgi_lcp_diagonal(p, i)) >= TGI_LCP_DEAD * c->trace);
}
/// A normal that acts on nothing gets no force, and its velocity is not judged.
static inline bool tgi_lcp_is_inert(const tgiLcpScratch *c, const tgiLcpProblem *p, int i) {
  return p->kind[i] == TGI_LCP_NORMAL && tgi_lcp_acts_on_nothing(c, p, i);
}

/// splitmix64 of (attempt, i) in [0.5, 1.5]
static inline double tgi_lcp_chance(int attempt, int i) {
  uint64_t z = ((uint64_t)(unsigned)attempt << 32 | (unsigned)i) * 0x9E3779B97F4A7C15u + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return 0.5 + (double)(z >> 11) * 0x1p-53;
}

/// The nearest border met so far: steps to it, the row, the class beyond.
typedef struct tgiLcpBorder { double step; int row; int8_t to; } tgiLcpBorder;
/// Row `row` has `room` to its border, and more by `rate` a step.
static inline void tgi_lcp_meet(tgiLcpBorder *first, double room, double rate, int row, int8_t to) {
  if (!(rate < 0)) return;
  double step = room > 0 ? room / -rate : 0;   // rounding: it stands at its border already
  if (step < first->step) *first = (tgiLcpBorder){step, row, to};
}

#endif
