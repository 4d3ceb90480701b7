// definite.c: what makes a step's second derivative positive definite where a pair of bodies has a negative curvature. See objective.h.
//
// A pair's second derivative is taken in other coordinates: each body is turned about its centre of mass and then
// moved, x = (reach w; u). The twist exp(w; u) about the centre moves it by w x u/2 besides, so with the pair's force f
// on the body Hx = X' H X + [f]/2 between w and u. Then -sum lambda v v' over the negative eigenvalues of Hx is added,
// carried back to twists. That is never negative in any coordinates.
#include <string.h>

#include "step/objective.h"

enum { MOST_SWEEPS = 12 };

// eigenvalues of the symmetric A (n x n, spoilt) onto its diagonal, vectors into the columns of V,
//   by rotations in cyclic order  [GolubVanLoan 8.5]
static void eigen(int n, double *A, double *V) {
  for (int i = 0; i < n * n; i++) V[i] = i % (n + 1) == 0;
  for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
    double off = 0, diagonal = 0;
    for (int i = 0; i < n; i++)
      for (int j = 0; j <= i; j++) *(i == j ? &diagonal : &off) += A[n * i + j] * A[n * i + j];
    if (off <= 1e-20 * diagonal) return;
    for (int p = 0; p < n; p++)
      for (int q = p + 1; q < n; q++) {
        double apq = A[n * p + q];
        if (apq == 0) continue;
        double theta = (A[n * q + q] - A[n * p + p]) / (2 * apq), t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1)),
               c = 1 / sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < n; k++) {
          double x = A[n * k + p], y = A[n * k + q];
          A[n * k + p] = c * x - s * y;
          A[n * k + q] = s * x + c * y;
        }
        for (int k = 0; k < n; k++) {
          double x = A[n * p + k], y = A[n * q + k], v = V[n * k + p], w = V[n * k + q];
          A[n * p + k] = c * x - s * y;
          A[n * q + k] = s * x + c * y;
          V[n * k + p] = c * v - s * w;
          V[n * k + q] = s * v + c * w;
        }
      }
  }
}

// X (6x6): twist at the world origin of (reach w; u), the turn about c and its velocity
static void from_centre(const tgReal *c, double reach, double *X) {
  memset(X, 0, 36 * sizeof *X);
  for (int i = 0; i < 3; i++) {
    X[7 * i] = 1 / reach;
    X[7 * (3 + i)] = 1;
    // v = u + c x w
    X[6 * (3 + (i + 2) % 3) + (i + 1) % 3] = tgRe(c[i]) / reach;
    X[6 * (3 + (i + 1) % 3) + (i + 2) % 3] = -tgRe(c[i]) / reach;
  }
}

// a pair's bodies that move, and their coordinates
typedef struct Pair {
  const tgPairTerm *term;
  int count, side[2];
  double X[2][36], reach[2], mass;     // mass: the least
} Pair;

static Pair open_pair(const tgSim *s, const tgPose *pose, const tgPairTerm *t, const double *reach) {
  const int body[2] = {t->body1, t->body2};
  Pair p = {.term = t, .mass = INFINITY};
  for (int a = 0; a < 2; a++) {
    int b = body[a];
    if (s->m.body_lastdof[b] < 0 || !(reach[b] > 0)) continue;
    p.reach[p.count] = reach[b];
    p.mass = fmin(p.mass, tgRe(s->m.body_mass[b]));
    from_centre(pose->xcom + 3 * b, reach[b], p.X[p.count]);
    p.side[p.count++] = a;
  }
  return p;
}

// the second derivative of the pair in its coordinates, Hx (6 count x 6 count)
static void in_centres(const Pair *p, double *Hx) {
  const tgPairTerm *t = p->term;
  int n = 6 * p->count;
  for (int a = 0; a < p->count; a++)
    for (int b = 0; b < p->count; b++) {
      int row = 6 * p->side[a], column = 6 * p->side[b];
      double T[36];
      for (int i = 0; i < 36; i++) {
        T[i] = 0;
        for (int k = 0; k < 6; k++) T[i] += tgRe(tgi_term_stiffness(t, row + i / 6, column + k)) * p->X[b][6 * k + i % 6];
      }
      for (int i = 0; i < 36; i++) {
        double sum = 0;
        for (int k = 0; k < 6; k++) sum += p->X[a][6 * k + i / 6] * T[6 * k + i % 6];
        Hx[n * (6 * a + i / 6) + 6 * b + i % 6] = sum;
      }
    }
  // [f]/2 between turn and move
  for (int a = 0; a < p->count; a++)
    for (int i = 0; i < 3; i++) {
      double half = tgRe(-t->w[6 * p->side[a] + 3 + i]) / (2 * p->reach[a]);
      int w = 6 * a + (i + 1) % 3, u = 6 * a + 3 + (i + 2) % 3, w2 = 6 * a + (i + 2) % 3, u2 = 6 * a + 3 + (i + 1) % 3;
      Hx[n * w + u] -= half;
      Hx[n * u + w] -= half;
      Hx[n * w2 + u2] += half;
      Hx[n * u2 + w2] += half;
    }
}

// H += S' D S of one body pair's blocks
static void add_blocks(const tgSim *s, const tgPose *pose, int body1, int body2, const double *D, int n, bool same, const tgiPatterned *H) {
  const tgModel *m = &s->m;
  for (int j = m->body_lastdof[body2]; j >= 0; j = m->dof_parent[j]) {
    tgReal x[6] = {0};
    for (int r = 0; r < 6; r++)
      for (int c = 0; c < 6; c++) x[r] += D[n * r + c] * pose->S[6 * j + c];
    for (int i = m->body_lastdof[body1]; i >= 0; i = m->dof_parent[i]) {
      tgReal y = tgi_sp_dot(pose->S + 6 * i, x);
      if (same) *tgi_pattern_entry(H->p, H->A, i, j) += y;
      else tgi_pattern_add(H, i, j, y);
    }
  }
}

// vectors v, columns of V, as forces against twists: X^-T v = (reach v_w + c x v_u; v_u)
static void to_twists(const tgReal *c, double reach, int n, const double *V, double *Y) {
  for (int e = 0; e < n; e++) {
    double x[6];
    for (int i = 0; i < 6; i++) x[i] = V[n * i + e];
    for (int i = 0; i < 3; i++) {
      int j = (i + 1) % 3, k = (i + 2) % 3;
      Y[n * i + e] = reach * x[i] + tgRe(c[j]) * x[3 + k] - tgRe(c[k]) * x[3 + j];
      Y[n * (3 + i) + e] = x[3 + i];
    }
  }
}

// H += what the negative eigenvalues of one pair lack; false: it has none, or too small ones for the inertia to notice
static bool lift(const tgSim *s, const tgPose *pose, const tgPairTerm *term, double h, const double *reach, const tgiPatterned *H) {
  if (term->left_out || !tgi_term_acts(term)) return false;
  Pair pair = open_pair(s, pose, term, reach), *p = &pair;
  const int body[2] = {term->body1, term->body2};
  double Hx[144], V[144], Y[144], D[144] = {0}, most = 0, least = 0;
  int n = 6 * p->count;
  if (n == 0) return false;
  in_centres(p, Hx);
  for (int i = 0; i < n * n; i++) most = fmax(most, fabs(Hx[i]));
  if (most < 1e-3 * p->mass / (h * h)) return false;
  eigen(n, Hx, V);
  for (int i = 0; i < n; i++) least = fmin(least, Hx[(n + 1) * i]);
  if (least >= -1e-12 * most) return false;
  for (int a = 0; a < p->count; a++) to_twists(pose->xcom + 3 * body[p->side[a]], p->reach[a], n, V + 6 * n * a, Y + 6 * n * a);
  for (int e = 0; e < n; e++)
    for (int i = 0; i < n * n && Hx[(n + 1) * e] < 0; i++) D[i] -= Hx[(n + 1) * e] * Y[i / n * n + e] * Y[i % n * n + e];
  for (int a = 0; a < p->count; a++) add_blocks(s, pose, body[p->side[a]], body[p->side[a]], D + (n + 1) * 6 * a, n, true, H);
  if (p->count == 2) add_blocks(s, pose, body[0], body[1], D + 6, n, false, H);
  return true;
}

bool tgi_objective_definite(const tgSim *s, const tgPose *pose, double h, const double *reach, const tgiPatterned *H) {
  bool any = false;
  for (int k = 0; k < s->nterm; k++) any = lift(s, pose, &s->term[k], h, reach, H) || any;
  for (int e = 0; e < s->m.neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(&s->m, e)) continue;
    tgi_bond_term(s, pose, e, &bond);
    any = lift(s, pose, &bond, h, reach, H) || any;
  }
  return any;
}
