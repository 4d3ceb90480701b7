// deriv.h: the one derivative check of the tests, on the engine's own differences (check/numdiff.h).
//
// Complex step in the complex build where the map is analytic, else Ridders; always along tangents of the manifold.
// A map whose value lies on a manifold returns tangent coordinates about the nominal value (tg_model_difference).
#ifndef TG_TEST_DERIV_H
#define TG_TEST_DERIV_H

#include "check/numdiff.h"
#include "support/check.h"

/// y = f(x); returns a status, TG_OK when it worked.
typedef tgiMap tgtMap;
typedef tgiRetract tgtRetract;

/// A map and how to compare. Zero-initialise; name, nx (or nt), ny, map and tol are needed.
typedef struct tgtDeriv {
  const char *name;      ///< for messages
  int nx, nt, ny;        ///< coordinates, tangents (0: nx), outputs
  tgtMap map;
  tgtRetract retract;    ///< NULL: x + d
  void *ctx;             ///< of map and retract
  double tol;            ///< on max|dD| / max|D_ref| of each block
  bool numeric;          ///< true: not analytic, Ridders also in the complex build
  double step;           ///< Ridders' first step; 0: 1e-3
  const int *rows; int nrows;  ///< heights of row blocks, compared apart; NULL: one block
  const int *cols; int ncols;  ///< widths of column blocks; NULL: one block
} tgtDeriv;

/// Worst block of D (ny x nt row-major) against differences at x; message (may be NULL) tells block, entry and both values.
tgiWorst tgt_jacobian_error(const tgtDeriv *d, const tgReal *x, const tgReal *D, char message[256]);
/// Fails the test when that error exceeds d->tol.
void tgt_check_jacobian_at(const tgtDeriv *d, const tgReal *x, const tgReal *D, const char *file, int line);
#define tgt_check_jacobian(d, x, D) tgt_check_jacobian_at(d, x, D, __FILE__, __LINE__)

/// Dot test of an adjoint: Jtw (n) is what it gave for w (m); v is a probe (n): |<w,Jv> - <J'w,v>| <= tol |w| |J| |v|.
void tgt_check_adjoint_at(const tgReal *J, int m, int n, const tgReal *w, const tgReal *v, const tgReal *Jtw, double tol, const char *file,
                          int line);
#define tgt_check_adjoint(J, m, n, w, v, Jtw) tgt_check_adjoint_at(J, m, n, w, v, Jtw, 1e-11, __FILE__, __LINE__)

/// Remainder of a scalar map (ny = 1) along t falls with slope 2 +- 0.1, its first-order term being gradient . t.
double tgt_taylor_slope(const tgtDeriv *d, const tgReal *x, const tgReal *gradient, const tgReal *t, double a0, bool *flat);
void tgt_check_taylor_at(const tgtDeriv *d, const tgReal *x, const tgReal *gradient, const tgReal *t, double a0,
                         const char *file, int line);
#define tgt_check_taylor(d, x, g, t, a0) tgt_check_taylor_at(d, x, g, t, a0, __FILE__, __LINE__)

#endif
