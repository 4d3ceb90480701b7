// solve.h: the frictional boxed linear complementarity problem, a function on arrays, and its derivative.
//
// Based on: [toi IV-C] (moving bounds), [lcp A, B] (classes, least norm), [AnitescuPotra] (Lemke on the copositive form).
//
//   Find f with w = A f + b such that, row by row,
//     EQUALITY   w = 0,                                                        f of any sign
//     NORMAL     f >= 0, w >= 0, f w = 0                                       (contact normals, joint limits)
//     FRICTION   |f| <= B, B = mu f[parent]:  f = B where w < 0, f = -B where w > 0, inside only where w = 0
//     BOX        the same with B a constant limit                              (dry joint friction)
//   A = J M^-1 J^T (n x n, symmetric, positive semidefinite, may be singular), b = J vhat (+ restitution, + erp gap/h),
//   f impulses, w = J v' the velocities after them: positive = separating, v' = vhat + M^-1 J^T f. No sign is flipped.
//
// Classes. Every row ends in one class, which fixes one linear equation for it:
//     TGI_LCP_N  f = 0                    NORMAL that separates
//     TGI_LCP_C  w = 0                    NORMAL that presses; every EQUALITY
//     TGI_LCP_F  w = 0                    FRICTION that sticks, BOX that holds
//     TGI_LCP_H  f = +B (w <= 0)          FRICTION or BOX that slides; under a NORMAL of class N this is f = 0
//     TGI_LCP_L  f = -B (w >= 0)          the same
//     TGI_LCP_D  f = 0, left out          FRICTION or BOX that cannot act: A_ii < 1e-12 trace(A), given the equalities
//                                         (a NORMAL like that is N, an EQUALITY stays C); its w is whatever it is. Or
//                                         one that holds without a force of its own: w = 0 follows from other rows.
//   A NORMAL with A_ii < 1e-12 trace(A), equalities or not, moves nothing but by rounding: it is N, gets no force, and its w
//   is not judged; info->inert names those that are left closing.
//   K = the rows of classes C and F in ascending order, nk of them. P (n x nk): identity on K, and +-mu in row i,
//   column of parent(i), for FRICTION rows i of class H (+) or L (-) whose parent is of class C. f0 = +-limit on BOX
//   rows of class H, L, else 0. Then
//     f = P f_K + f0,   Q = A_K: P,   c_K = b_K + A_K: f0,   Q f_K = -c_K,   f_K = -Q^+ c_K  (least norm)
//   Every accepted answer is this solve, with decisions on real parts only: the complex build differentiates it. Of a sparse problem see
//   tgiLcpAnchor; its ties are told, not settled.
//
// One problem is one island: rows that act on each other, directly or through others (contact/islands.h). max|f|, max|b| and
//   trace below are those of the problem.
//
// Ties. A row is tied when its class could switch without a change of f or w: NORMAL with f and w both zero, FRICTION
//   (live parent) or BOX at its bound with w zero; zero means |f| <= 1e-9 max|f|, |w| <= 1e-9 max|b|, where max|b| is
//   the problem's speed at least, and max|f| a force that gives its row that speed. Tied normals are
//   put in N and tied friction in F. First, however, all rows with w = 0 are tried in C and F together: in redundant
//   contact sets (a box on four corners) the least-norm answer then often has no tie at all, and the derivative is
//   exact; with ties left it is one-sided at worst: where the least-norm forces leave their bounds, a redundant row
//   stays tied in N, H or L although v' has a derivative. A row of zeros in A is never tied: its class cannot matter.
//   info->margin is the distance to the nearest tie in the same relative units.
//
// Order of the attempts [math/lcp Solver]: last classes, with up to six corrections of rows that do not fit; pivoting with
//   moving bounds along paths, five starts (a sparse problem: large.c); Lemke, lexicographic, random covering vectors, then with
//   1e-9 trace/n on the diagonal; Gauss-Seidel. Of a `doubtful` problem whose first classes do not hold it is asked first whether
//   its normals contradict each other (contradict.c); then nothing is tried.
//   Friction is never dropped: what is not solved is returned as TG_NOT_CONVERGED with the offending rows. With
//   b = J vhat a solution exists; with restitution or gap terms in b it may not (a box in a slot that is too narrow).
//   Same inputs, same bits. Nothing is allocated.
#ifndef TG_CONTACT_LCP_SOLVE_H
#define TG_CONTACT_LCP_SOLVE_H

#include "base/watch.h"
#include "math/dense.h"

typedef enum tgiLcpKind { TGI_LCP_EQUALITY, TGI_LCP_NORMAL, TGI_LCP_FRICTION, TGI_LCP_BOX } tgiLcpKind;

/// Class of a row. 0 in a warm start means "not known": the row is guessed; with no row known the solve is a cold one.
typedef enum tgiLcpClass {
  TGI_LCP_NONE, TGI_LCP_N, TGI_LCP_C, TGI_LCP_F, TGI_LCP_H, TGI_LCP_L, TGI_LCP_D
} tgiLcpClass;

typedef enum tgiLcpStage {
  TGI_LCP_FAILED, TGI_LCP_WARM, TGI_LCP_PIVOT, TGI_LCP_LEMKE, TGI_LCP_LEMKE_SHIFTED, TGI_LCP_PGS
} tgiLcpStage;

/// An island's rows where A is not formed (sparse.h).
typedef struct tgiLcpSparse tgiLcpSparse;

/// The problem; all arrays are the caller's and only read. They must stay as they are while derivatives are asked for.
typedef struct tgiLcpProblem {
  int n;                ///< rows
  const tgReal *A;      ///< n x n row-major, symmetric (both triangles are read); NULL: not formed
  const tgReal *b;      ///< n
  const int *kind;      ///< n, tgiLcpKind
  const int *parent;    ///< n: FRICTION: row of its NORMAL (before or after it); unread elsewhere
  const tgReal *bound;  ///< n: FRICTION: mu >= 0; BOX: limit >= 0 (an impulse); unread elsewhere
  double speed;         ///< least scale of velocities: below 1e-8 of it b is rounding (0 where b is exact)
  int rank;             ///< A's rank is at most this (the dofs behind it); 0: not known
  tgiWatch *watch;      ///< asked at each pivot and sweep; where it stops them: TG_CANCELLED. NULL: none
  const tgiLcpSparse *sparse;   ///< in place of A, else NULL
  const double *kept;   ///< n: of a sparse problem, forces of the answer to one that was much like it; NULL: none are known
  bool doubtful;        ///< b is not J vhat alone: whether normals contradict each other is asked before an answer is searched for
} tgiLcpProblem;

/// What the solve did.
typedef struct tgiLcpInfo {
  int stage;          ///< tgiLcpStage that produced the answer
  int pivots;         ///< of stages 2 (systems solved along paths) and 3 together
  int sweeps;         ///< Gauss-Seidel sweeps
  int factored;       ///< factorisations of Q, those of trials that settle ties left out
  int nk, rank;       ///< size and rank of Q
  double residual;    ///< worst row: violation of the conditions above, forces over max|f|, velocities over max|b|
  double margin;      ///< least distance to a class switch, same units; INFINITY without contact-like rows
  int nties, nfailed;
  const int *ties;    ///< rows, ascending; valid until the next solve in this workspace
  const int *failed;  ///< rows with a residual above 1e-8 (or the bad input row); valid as ties
  int ninert;
  const int *inert;   ///< NORMAL rows that cannot act and are left closing, w < -1e-8 max|b|; ascending, valid as ties
} tgiLcpInfo;

/// A sparse problem of at most so many rows may go on to pivoting with its matrix: that takes n^3 and more.
enum { TGI_LCP_MATRIX_ROWS = 600 };
/// The residual of forces from which a path is short, and from which it is a few switches.
#define TGI_LCP_NEARLY 1e-2
#define TGI_LCP_NEXT 1e-6

/// Of a sparse problem, where redundant rows leave forces open: those of least norm; those with the null part of the anchor's; the anchor's
/// themselves, which fit to 1e-8 though the classes' own solution does not, and change as that does.
typedef enum tgiLcpAnchor { TGI_LEAST_NORM, TGI_NEAR_ANCHOR, TGI_AS_ANCHOR } tgiLcpAnchor;

/// Workspace and, after a solve, the factorisation of Q. Fields are read-only for callers. The factorisation is this object's own, or
/// another's (tgi_lcp_resolve); the rest may be shared by several that solve one after another (tgi_lcp_init_apart).
typedef struct tgiLcp {
  int capacity;                    ///< rows it can take
  int mz;                          ///< Lemke variables it can take
  int n, nk, rank;                 ///< of the last class solve
  int *k;                          ///< nk: the rows of K, ascending
  int *kpos;                       ///< n: position in k, -1 outside
  tgReal *fk;                      ///< nk: f_K
  const tgiLcpProblem *problem;    ///< of the last class solve
  int8_t *cls;                     ///< n: its classes
  bool deficient;                  ///< low or cod holds Q, else lu
  bool factored_low;               ///< low does
  bool hanging;                    ///< some row slides on a normal that presses: Q is not symmetric
  tgReal *lu;                      ///< nk x nk, column-major; the memory of cod.qr and low.l
  int *lu_piv;                     ///< nk; of low the positions of its pivots in k
  tgiCod cod;                      ///< its work is the scratch's
  tgiLowRank low;                  ///< Q = L C', A_KK = L L'
  void *kept;                      ///< the memory of its own arrays
  bool borrows;                    ///< k, kpos and the factorisation are another's
  // of a sparse problem
  bool sparse;                     ///< it solves such
  tgReal *factor;                  ///< room for two factors
  tgReal *L, *U;                   ///< H of sparse.h; L is U where Q is symmetric
  double shift;                    ///< s of sparse.h
  bool probed;                     ///< rank and deficient are known of the factorisation
  tgiLcpAnchor anchored;           ///< which of the forces with these velocities those of the class solve are
  tgReal *anchor;                  ///< n: forces, real
  struct tgiLcpScratch *scratch;   ///< the rest, private to contact/lcp
} tgiLcp;

/// Does a NORMAL with A_ii < 1e-12 A_jj of each row that acts ask to be opened at more than a thousandth of max|b|? As |A_ij| < 1e-6 A_jj
/// forces of others do not do so unless they are a thousand times those that b takes: info->inert would name it, where there is an answer.
bool tgi_lcp_inert_closes(const tgiLcpProblem *p);

/// Bytes for at most that many rows of each sort: nequality EQUALITY, nnormal NORMAL, nbounded FRICTION and BOX rows.
/// Quadratic in them; SIZE_MAX on overflow.
size_t tgi_lcp_bytes(int nequality, int nnormal, int nbounded);
/// Lays the workspace out in `memory` (any alignment >= 16). TG_ERR_CAPACITY when bytes < tgi_lcp_bytes(...).
/// The tgiLcp itself holds only pointers; init is cheap enough to do before every solve with the actual counts.
tgStatus tgi_lcp_init(tgiLcp *s, void *memory, size_t bytes, int nequality, int nnormal, int nbounded);

/// Bytes of what is kept after a solve of at most `rows` rows.
size_t tgi_lcp_kept_bytes(int rows);
/// Bytes of the scratch of a solve of at most that many rows of each sort.
size_t tgi_lcp_scratch_bytes(int nequality, int nnormal, int nbounded);
/// Lays out an object for one solve after another: `scratch` of tgi_lcp_scratch_bytes, shared by objects that take turns (and the ties
/// and failures of a tgiLcpInfo with it), `kept` of tgi_lcp_kept_bytes(rows) its own. Alignment of both >= 16.
void tgi_lcp_init_apart(tgiLcp *s, void *kept, int rows, void *scratch, int nequality, int nnormal, int nbounded);
/// The same with the scratch of `other` as it is.
void tgi_lcp_init_beside(tgiLcp *s, void *kept, int rows, const tgiLcp *other);

/// For problems that are sparse: `kept` of tgi_lcp_sparse_kept_bytes, `scratch` of tgi_lcp_sparse_scratch_bytes, factor of twice the size
/// of a matrix of the problem's pattern.
size_t tgi_lcp_sparse_kept_bytes(int rows);
size_t tgi_lcp_sparse_scratch_bytes(int rows);
void tgi_lcp_init_sparse(tgiLcp *s, void *kept, int rows, void *scratch, int most, tgReal *factor);

/// Solves. warm: n classes or NULL. f, w: n out (w may be NULL). cls: n out; may be the same array as warm.
/// TG_OK; TG_NOT_CONVERGED: f, cls are the best candidate, info->failed names the rows that do not fit; TG_CANCELLED: likewise;
/// TG_ERR_ARG, TG_ERR_NOT_FINITE (info->failed[0] is the row), TG_ERR_CAPACITY: nothing was solved.
/// n = 0 is fine. p must outlive the derivative calls.
tgStatus tgi_lcp_solve(tgiLcp *s, const tgiLcpProblem *p, const int8_t *warm, tgReal *f, tgReal *w, int8_t *cls,
                       tgiLcpInfo *info);

/// The same from forces f that are near an answer: pivoting along a path starts there.
tgStatus tgi_lcp_solve_near(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w, int8_t *cls, tgiLcpInfo *info);

/// An answer that another found, f and cls, as that of s: that of the classes, of a sparse problem near these forces where it holds there,
/// else these as they are; f, w and cls are then those. The stage of info is the other's. Returns as tgi_lcp_solve.
tgStatus tgi_lcp_take(tgiLcp *s, const tgiLcpProblem *p, tgReal *f, tgReal *w, int8_t *cls, tgiLcpInfo *info);

/// Solves again where b, speed and the limits of BOX rows alone differ from the problem of the last class solve in `from`, which may be s
/// (A, kinds, parents and mu as then, at any address): from the classes and the factorisation that it keeps. Where those do not hold and
/// `warm` (p->n; NULL: none; not cls) are others, from these. The same answer, to the bit, as tgi_lcp_solve_from with from->cls, without
/// other classes as tgi_lcp_solve warm from from->cls; where those classes still fit it costs one back substitution and w = A f + b,
/// and info->factored is 0; s then has its factorisation from there, and `from` must stay as it is while derivatives of s are asked for.
/// The last class solve may be of tgi_lcp_solve, of this, of tgi_lcp_solve_classes or
/// tgi_lcp_recall_classes; others may have solved in a shared scratch since. Returns as tgi_lcp_solve; TG_ERR_ARG when
/// p->n is not from->n or s has less room. A is not checked again.
tgStatus tgi_lcp_resolve(tgiLcp *s, const tgiLcp *from, const tgiLcpProblem *p, const int8_t *warm, tgReal *f, tgReal *w, int8_t *cls,
                         tgiLcpInfo *info);
/// tgi_lcp_solve, to the bit as tgi_lcp_resolve, where nothing is kept of a problem that ended in the classes `first`.
tgStatus tgi_lcp_solve_from(tgiLcp *s, const tgiLcpProblem *p, const int8_t *first, const int8_t *warm, tgReal *f, tgReal *w, int8_t *cls,
                            tgiLcpInfo *info);

/// The class solve alone: f for the classes given, right or wrong, and the factorisation for the calls below.
/// Returns the residual of the conditions (as tgiLcpInfo), INFINITY when f is not finite. w may be NULL.
double tgi_lcp_solve_classes(tgiLcp *s, const tgiLcpProblem *p, const int8_t *cls, tgReal *f, tgReal *w);

/// f and w (n) of an answer from its classes, to the bit, and the factorisation: deficient as its class solve found Q
/// to be. Nothing is judged. like: another whose last class solve was of the same A, kinds, parents and mu, NULL: none; where its
/// factorisation is the one asked for, it is taken as in tgi_lcp_resolve.
void tgi_lcp_recall_classes(tgiLcp *s, const tgiLcp *like, const tgiLcpProblem *p, const int8_t *cls, bool deficient, tgReal *f, tgReal *w);

/// Does the matrix Q of the last class solve prove that its answer, f and w (n), is not the only one (other.c)? Its determinant is negative
/// then, and no row is tied: a row that slides on a normal that presses. -1: no, though there may be others all the same.
int tgi_lcp_proves_others(const tgiLcp *s, const tgReal *f, const tgReal *w);
/// Looks for another answer than that of the last solve, w (n): a row at which they differ, -1 where none was found. Of a sparse problem
/// none is looked for. *pivots is added to. The solve stays as it is.
int tgi_lcp_find_other(tgiLcp *s, const tgiLcpProblem *p, const tgReal *w, int *pivots);

// ---- Derivative of the last class solve. All vectors have nk entries unless said; outputs may be the inputs. ----

/// x = Q^+ r.
void tgi_lcp_apply(const tgiLcp *s, const tgReal *r, tgReal *x);
/// y = Q^{+T} g.
void tgi_lcp_apply_t(const tgiLcp *s, const tgReal *g, tgReal *y);
/// y = (I - Q^+ Q) x; zero at full rank.
void tgi_lcp_project(const tgiLcp *s, const tgReal *x, tgReal *y);
/// y = forces of the rows of K by themselves, whatever slides on them, that balance: the part of x in the null space of A_KK (of a sparse
/// problem of Q). False: Q has lost rank besides, by what slides; y is then of Q's null space.
bool tgi_lcp_project_held(const tgiLcp *s, const tgReal *x, tgReal *y);
/// f (n) = P f_K, without f0 (so it maps df_K to df at fixed mu and limits).
void tgi_lcp_expand(const tgiLcp *s, const tgReal *fk, tgReal *f);
/// g_K = P^T g, g of n entries.
void tgi_lcp_gather(const tgiLcp *s, const tgReal *g, tgReal *gk);
/// Of the last class solve's problem some rows by themselves (chosen, n), as if all of them held, K: an object for tgi_lcp_apply, by
/// A_KK^+, and its k, nk, until the next solve in this workspace. NULL: of a sparse problem.
const tgiLcp *tgi_lcp_factor_rows(tgiLcp *s, const int8_t *chosen);
/// Size of A P (I - Q^+ Q) over max|A|: 0 at full rank; where it is about 0 (all stick, uniform slide) v' does not
/// depend on the null part of f_K, and t below may be skipped by those who need only v'.
double tgi_lcp_null_action(const tgiLcp *s);
/// Below this the null part moves nothing.
#define TGI_LCP_NULL 1e-10

/// z = Q^{+T} f_K; zero at full rank.
void tgi_lcp_null_force(const tgiLcp *s, tgReal *z);

/// Derivative of the least-norm f_K at constant classes and constant rank (consistent c_K):   [math/lcp (7)]
///   df_K = -Q^+ r + (I - Q^+ Q) t,
///   r = (d(A f + b) with f_K held)_K = (dA f + db + A (dP f_K + df0))_K,
///   t = dQ^T z,  z = Q^{+T} f_K (tgi_lcp_null_force),  dQ = dA_K: P + A_K: dP.   t may be NULL (taken as zero; right at full rank).
void tgi_lcp_derivative(const tgiLcp *s, const tgReal *r, const tgReal *t, tgReal *dfk);
/// Its adjoint: with g = dL/df_K:  rbar = -Q^{+T} g,  tbar = (I - Q^+ Q) g,  dL = rbar.r + tbar.t
/// (= rbar.r + z^T dQ tbar). tbar may be NULL.
void tgi_lcp_derivative_t(const tgiLcp *s, const tgReal *g, tgReal *rbar, tgReal *tbar);

#endif
