// cone.h: private to contact/lcp: Coulomb's cone, |f_t| <= mu f_n of the friction along both tangents of a contact together.
//
// Based on: [AlartCurnier] (the law as a projection, and Newton's method on it), [math/lcp Cone].
//
//   A contact that presses sticks, w_t = 0 and |f_t| <= mu f_n, or slides, f_t = -mu f_n w_t/|w_t|. With m = mu f_n, d the mean of A's
//   diagonal over the two tangents, y = f_t - w_t/d and u = y/|y|, which is -w_t/|w_t| in an answer that slides, u' the direction across:
//     f_t = m y/|y| where |y| > m,   of which Newton's step is   f_u = m,   w_u' + r f_u' = 0,   r = d (|y| - m)/m
//   and so is the derivative of an answer, in which r = |w_t|/m and f_u' = 0. That is a box (solve.h) along u and u', at its bound in the
//   one and held in the other, with r on the diagonal of A. In rows
//     A' = G A G' + R,   b' = G b,   f = G' f',   G = [u; s u'] on the tangents of what slides, 1 elsewhere,
//   with s^2 = d/(d + r) = m/|y|, R is s^2 r = d (1 - s^2), and A' is as large there as A, whatever r is.
//
// Redundant contacts that slide differently share their normal forces in ways that move bodies, and turn friction. Forces of least norm
// would be those of a matrix that turns with them. Here the pressing normals N have no part that balances by itself: Z f_N = 0, Z the
// projection on the null space of A_NN, which no friction is in. With z of the size of A's diagonal, A' + z Z has one answer, and it is one
// of A', as Z w_N = 0 wherever J f is. Its derivative has d(Z f_N) = -Z (dA_NN) A_NN^+ f_N besides.
#ifndef TG_CONTACT_LCP_CONE_H
#define TG_CONTACT_LCP_CONE_H

#include "contact/lcp/solve.h"

/// A problem with cones; arrays of its n numbers are the caller's.
typedef struct tgiCone {
  const tgiLcpProblem *of;       ///< along the tangents as they are; not sparse
  tgiLcpProblem turned;          ///< along those of the last solve
  tgReal *turn;                  ///< of a contact's three rows s and u: 1 and (1, 0) of what is not turned
  tgReal *A, *b, *bound;         ///< n x n, n, n: of `turned` where something is
  tgReal *Z;                     ///< n x n: z Z, of pressing normals, 0 elsewhere; where `split`
  tgReal *share;                 ///< n: A_NN^+ f_N likewise
  tgReal *work;                  ///< 4 n
  int8_t *chosen;                ///< n
  bool any;                      ///< something is turned
  bool split;                    ///< `turned` has z Z in it
  bool creeps;                   ///< sweeps of the last search did not end
  bool placed;                   ///< redundant forces were moved into their cones: f is not the class solve's
} tgiCone;

/// Row a is the normal of a contact with a cone, of which the next two rows are the tangents.
static inline bool tgi_cone_at(const tgiLcpProblem *p, int a) {
  if (p->kind[a] != TGI_LCP_NORMAL || a + 2 >= p->n) return false;
  for (int i = a + 1; i <= a + 2; i++)
    if (p->kind[i] != TGI_LCP_FRICTION || p->parent[i] != a) return false;
  return tgRe(p->bound[a + 1]) > 0;
}

/// Nothing is turned.
void tgi_cone_clear(tgiCone *c);
/// c->turned by c->turn.
void tgi_cone_turn_problem(tgiCone *c);
/// x <- G x and x <- G' x (n).
void tgi_cone_turn(const tgiCone *c, tgReal *x);
void tgi_cone_back(const tgiCone *c, tgReal *x);
/// The one or the other of m vectors at once, whose numbers of row a are X[at[a] .. at[a] + m - 1].
void tgi_cone_turn_columns(const tgiCone *c, bool back, int m, const int *at, tgReal *X);

/// out = -z Z x (n), which is what the split of the normals adds to the residual where x is (dA) c->share.
void tgi_cone_split(const tgiCone *c, const tgReal *x, tgReal *out);

/// tgi_lcp_solve of c->of by the law of the cone: f and w along the tangents as they are; cls and s of c->turned, in which what slides is
/// H along u and F across. It begins with `warm`, classes of a problem so turned, and what slides in them turned against the velocity
/// `before` of the rows (n). The residual is that of the law.
tgStatus tgi_cone_solve(tgiLcp *s, tgiCone *c, const int8_t *warm, const tgReal *before, tgReal *f, tgReal *w, int8_t *cls,
                        tgiLcpInfo *info);
/// The same with classes that are given, right or wrong.
void tgi_cone_solve_classes(tgiLcp *s, tgiCone *c, const int8_t *cls, const tgReal *before, tgReal *f, tgReal *w);
/// f and w of an answer, to the bit, from its classes, c->turn, c->split and c->placed, and f, as it has those of redundant forces.
void tgi_cone_recall(tgiLcp *s, tgiCone *c, const int8_t *cls, bool deficient, tgReal *f, tgReal *w);

#endif
