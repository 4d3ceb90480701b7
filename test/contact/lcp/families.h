// families.h: seeded random frictional LCPs of the five families of [math/lcp Solver], and an independent validity check.
//
// A family fills J (rows x dof), the inverse mass matrix and the free velocity; A = J M^-1 J^T, b = J vhat follow. Rows
// of a contact: normal, then two tangents.
#ifndef TG_TEST_LCP_FAMILIES_H
#define TG_TEST_LCP_FAMILIES_H

#include "contact/lcp/solve.h"
#include "support/check.h"

enum { FAMILIES = 5, MIXED = 5, MAX_ROWS = 48, MAX_DOF = 20 };
static const char *const family_name[] = {"box on plane", "stack of three", "12 dof x 4", "6 dof x 5", "grip", "mixed"};

typedef struct Scene {
  int n, dof;
  int kind[MAX_ROWS], parent[MAX_ROWS];
  tgReal bound[MAX_ROWS];
  tgReal J[MAX_ROWS * MAX_DOF], Minv[MAX_DOF * MAX_DOF], v[MAX_DOF];
  tgReal A[MAX_ROWS * MAX_ROWS], b[MAX_ROWS];
} Scene;

static inline tgiLcpProblem scene_problem(const Scene *s) {
  return (tgiLcpProblem){s->n, s->A, s->b, s->kind, s->parent, s->bound, 0, s->dof, NULL, NULL, NULL, false};
}

static inline int scene_row(Scene *s, int kind, int parent, double bound) {
  int i = s->n++;
  s->kind[i] = kind;
  s->parent[i] = parent;
  s->bound[i] = bound;
  for (int j = 0; j < s->dof; j++) s->J[i * s->dof + j] = 0;
  return i;
}

// A = J M^-1 J^T, b = J v
static inline void scene_finish(Scene *s) {
  tgReal X[MAX_DOF];
  for (int i = 0; i < s->n; i++) {
    s->b[i] = 0;
    for (int j = 0; j < s->dof; j++) {
      s->b[i] += s->J[i * s->dof + j] * s->v[j];
      X[j] = 0;
      for (int k = 0; k < s->dof; k++) X[j] += s->J[i * s->dof + k] * s->Minv[k * s->dof + j];
    }
    for (int r = 0; r < s->n; r++) {
      s->A[i * s->n + r] = 0;
      for (int j = 0; j < s->dof; j++) s->A[i * s->n + r] += X[j] * s->J[r * s->dof + j];
    }
  }
  for (int i = 0; i < s->n; i++)
    for (int r = 0; r < i; r++)
      s->A[i * s->n + r] = s->A[r * s->n + i] = 0.5 * (s->A[i * s->n + r] + s->A[r * s->n + i]);
}

static inline void cross(double *r, const double *a, const double *b) {
  r[0] = a[1] * b[2] - a[2] * b[1];
  r[1] = a[2] * b[0] - a[0] * b[2];
  r[2] = a[0] * b[1] - a[1] * b[0];
}

// Adds +-(direction d at x from the body's centre) to row i, body dofs from `at`: linear, angular
static inline void add_body(Scene *s, int i, int at, const double *x, const double *d, double sign) {
  double m[3];
  cross(m, x, d);
  for (int k = 0; k < 3; k++) {
    s->J[i * s->dof + at + k] += sign * d[k];
    s->J[i * s->dof + at + 3 + k] += sign * m[k];
  }
}

static inline void body_mass(Scene *s, int at, double mass, const double *half) {
  for (int k = 0; k < 3; k++) {
    double a = half[(k + 1) % 3], c = half[(k + 2) % 3];
    s->Minv[(at + k) * s->dof + at + k] = 1 / mass;
    s->Minv[(at + 3 + k) * s->dof + at + 3 + k] = 3 / (mass * (a * a + c * c));
  }
}

// Normal and two tangents, body `at` pushed by n, body `other` (or -1) by -n
static inline void contact(Scene *s, int at, const double *x, int other, const double *y, double (*frame)[3],
                           double mu) {
  int normal = s->n;
  for (int k = 0; k < 3; k++) {
    int i = scene_row(s, k == 0 ? TGI_LCP_NORMAL : TGI_LCP_FRICTION, k == 0 ? -1 : normal, k == 0 ? 0 : mu);
    add_body(s, i, at, x, frame[k], 1);
    if (other >= 0) add_body(s, i, other, y, frame[k], -1);
  }
}

static inline void clear_scene(Scene *s, int dof) {
  s->n = 0;
  s->dof = dof;
  for (int i = 0; i < dof * dof; i++) s->Minv[i] = 0;
  for (int i = 0; i < dof; i++) s->v[i] = 0;
}

static inline void boxes(Scene *s, tgtRandom *r, int count) {
  clear_scene(s, 6 * count);
  double half[3][3], mu = tgt_uniform(r, 0.1, 1.2), yaw = tgt_uniform(r, 0, 2 * TG_PI);
  double frame[3][3] = {{0, 0, 1}, {cos(yaw), sin(yaw), 0}, {-sin(yaw), cos(yaw), 0}};
  for (int c = 0; c < count; c++) {
    for (int k = 0; k < 3; k++) half[c][k] = tgt_uniform(r, 0.1, 0.6);
    body_mass(s, 6 * c, tgt_uniform(r, 0.3, 3), half[c]);
    double size = tgt_uniform(r, 0, 1) < 0.5 ? 0.1 : 1;
    for (int k = 0; k < 6; k++) s->v[6 * c + k] = size * tgt_normal(r);
    s->v[6 * c + 2] -= tgt_uniform(r, 0, 1);
  }
  for (int c = 0; c < count; c++)
    for (int corner = 0; corner < 4; corner++) {
      int under = c - 1;
      double hx = c == 0 ? half[c][0] : fmin(half[c][0], half[under][0]);
      double hy = c == 0 ? half[c][1] : fmin(half[c][1], half[under][1]);
      double x[3] = {corner & 1 ? hx : -hx, corner & 2 ? hy : -hy, -half[c][2]};
      double y[3] = {x[0], x[1], c == 0 ? 0 : half[under][2]};
      contact(s, 6 * c, x, c == 0 ? -1 : 6 * under, y, frame, mu);
    }
}

static inline void random_rows(Scene *s, tgtRandom *r, int dof, int contacts) {
  clear_scene(s, dof);
  double L[MAX_DOF][MAX_DOF];
  for (int i = 0; i < dof; i++) {
    for (int j = 0; j < dof; j++) L[i][j] = tgt_normal(r);
    s->v[i] = tgt_normal(r);
  }
  for (int i = 0; i < dof; i++)
    for (int j = 0; j < dof; j++) {
      double sum = i == j ? 0.5 : 0;
      for (int k = 0; k < dof; k++) sum += L[i][k] * L[j][k] / dof;
      s->Minv[i * dof + j] = sum;
    }
  for (int c = 0; c < contacts; c++) {
    int normal = s->n;
    double mu = tgt_uniform(r, 0.1, 1.2);
    for (int k = 0; k < 3; k++) {
      int i = scene_row(s, k == 0 ? TGI_LCP_NORMAL : TGI_LCP_FRICTION, k == 0 ? -1 : normal, k == 0 ? 0 : mu);
      for (int j = 0; j < dof; j++) s->J[i * dof + j] = tgt_normal(r);
    }
  }
}

// A plate (6 dof) between two fingers that slide along x and z
static inline void grip(Scene *s, tgtRandom *r) {
  clear_scene(s, 10);
  double half[3] = {tgt_uniform(r, 0.005, 0.05), tgt_uniform(r, 0.05, 0.3), tgt_uniform(r, 0.05, 0.3)};
  double mu = tgt_uniform(r, 0.1, 1.2);
  body_mass(s, 0, tgt_uniform(r, 0.05, 0.5), half);
  for (int k = 0; k < 6; k++) s->v[k] = 0.1 * tgt_normal(r);
  s->v[2] -= 0.1;
  for (int finger = 0; finger < 2; finger++) {
    double side = finger == 0 ? 1 : -1, area = tgt_uniform(r, 0.3, 0.9);
    double frame[3][3] = {{-side, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    s->Minv[(6 + 2 * finger) * 10 + 6 + 2 * finger] = 1 / tgt_uniform(r, 0.2, 2);
    s->Minv[(7 + 2 * finger) * 10 + 7 + 2 * finger] = 1 / tgt_uniform(r, 0.2, 2);
    s->v[6 + 2 * finger] = -side * tgt_uniform(r, 0, 0.5);
    s->v[7 + 2 * finger] = 0.1 * tgt_normal(r);
    for (int corner = 0; corner < 4; corner++) {
      double x[3] = {side * half[0], (corner & 1 ? area : -area) * half[1], (corner & 2 ? area : -area) * half[2]};
      int first = s->n;
      contact(s, 0, x, -1, x, frame, mu);
      s->J[first * 10 + 6 + 2 * finger] -= frame[0][0];
      s->J[(first + 2) * 10 + 7 + 2 * finger] -= 1;
    }
  }
}

// 12 dof: three equalities (the last one the sum of the others), joint limits, dry friction, three contacts, in mixed
// order, friction rows before their normals among them
static inline void mixed(Scene *s, tgtRandom *r) {
  random_rows(s, r, 12, 0);
  int equal[3], limit[2], dry[3];
  for (int k = 0; k < 3; k++) {
    double mu = tgt_uniform(r, 0.1, 1);
    int first = s->n;
    scene_row(s, TGI_LCP_FRICTION, first + 1, mu);
    scene_row(s, TGI_LCP_NORMAL, -1, 0);
    scene_row(s, TGI_LCP_FRICTION, first + 1, mu);
    for (int i = first * 12; i < s->n * 12; i++) s->J[i] = tgt_normal(r);
    equal[k] = scene_row(s, TGI_LCP_EQUALITY, -1, 0);
    dry[k] = scene_row(s, TGI_LCP_BOX, -1, tgt_uniform(r, 0, 1));
    if (k < 2) limit[k] = scene_row(s, TGI_LCP_NORMAL, -1, 0);
  }
  for (int j = 0; j < 12; j++) {
    for (int k = 0; k < 2; k++) s->J[equal[k] * 12 + j] = tgt_normal(r);
    s->J[equal[2] * 12 + j] = s->J[equal[0] * 12 + j] + s->J[equal[1] * 12 + j];
  }
  for (int k = 0; k < 3; k++) s->J[dry[k] * 12 + 3 * k] = 1;
  for (int k = 0; k < 2; k++) s->J[limit[k] * 12 + 3 * k + 1] = k == 0 ? 1 : -1;
}

static inline void make_scene(Scene *s, int family, tgtRandom *r) {
  if (family == 0) boxes(s, r, 1);
  if (family == 1) boxes(s, r, 3);
  if (family == 2) random_rows(s, r, 12, 4);
  if (family == 3) random_rows(s, r, 6, 5);
  if (family == 4) grip(s, r);
  if (family == MIXED) mixed(s, r);
  scene_finish(s);
}

// Worst violation of the conditions by f, from A, b and f alone: forces over max|f|, velocities over max|b|. A bounded
// row violates by the least over its three alternatives (sticks, slides either way).
static inline double independent_residual(const tgiLcpProblem *p, const tgReal *f) {
  double sf = 0, sw = 0, worst = 0;
  for (int i = 0; i < p->n; i++) {
    sf = fmax(sf, fabs(tgRe(f[i])));
    sw = fmax(sw, fabs(tgRe(p->b[i])));
  }
  if (sf == 0) sf = 1;
  if (sw == 0) sw = 1;
  for (int i = 0; i < p->n; i++) {
    double w = tgRe(p->b[i]), fi = tgRe(f[i]) / sf, violation;
    for (int j = 0; j < p->n; j++) w += tgRe(p->A[i * p->n + j]) * tgRe(f[j]);
    w /= sw;
    if (p->kind[i] == TGI_LCP_EQUALITY) violation = fabs(w);
    else if (p->kind[i] == TGI_LCP_NORMAL)
      violation = fmin(fmax(fabs(fi), fmax(0, -w)), fmax(fabs(w), fmax(0, -fi)));
    else {
      double B = tgRe(p->bound[i]) / sf * (p->kind[i] == TGI_LCP_FRICTION ? tgRe(f[p->parent[i]]) : 1);
      double stick = fmax(fabs(w), fmax(0, fabs(fi) - B));
      double high = fmax(fabs(fi - B), fmax(0, w)), low = fmax(fabs(fi + B), fmax(0, -w));
      violation = fmin(stick, fmin(high, low));
    }
    if (!(violation <= worst)) worst = violation;
  }
  return worst;
}

#endif
