// ssdf_near.c: see ssdf_near.h and the bounds in ssdf_tree.h.
#include <stdbool.h>

#include "coll/clouds/ssdf_near.h"
#define TGI_LANES_REAL   // what is searched for is real in either build
#include "math/lanes.h"

enum { BLOCK = TGI_SSDF_BLOCK, DEPTH = 96 };

TGI_LANE double most(double a, double b) { return a > b ? a : b; }
TGI_LANE double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

TGI_LANE double box_distance2(const tgiSsdfNode *d, const double c[3]) {
  double sum = 0;
  for (int k = 0; k < 3; k++) {
    double e = most(most(d->lo[k] - c[k], c[k] - d->hi[k]), 0);
    sum += e * e;
  }
  return sum;
}
TGI_LANE double far2(const tgiSsdfNode *d, const double q[3]) {
  double sum = 0;
  for (int k = 0; k < 3; k++) {
    double e = most(q[k] - d->lo[k], d->hi[k] - q[k]);
    sum += e * e;
  }
  return sum;
}

TGI_LANE V apart2(const tgiSsdfBlock *b, int g, const double c[3]) {
  V x[3];
  for (int k = 0; k < 3; k++) x[k] = v_load_real(b->p[k] + g) - c[k];
  return v_dot(x, x);
}

TGI_LANE void nearest_of(const tgiSsdfBlock *b, const double c[3], tgiSsdfNearest *near) {
  for (int g = 0; g < BLOCK; g += TGI_WIDTH) {
    double d[TGI_WIDTH];
    V d2 = apart2(b, g, c);
    if (!m_any(v_less(d2, v_all(near->squared)))) continue;
    v_store(d, d2);
    for (int l = 0; l < TGI_WIDTH; l++) {
      if (!(d[l] < near->squared)) continue;
      near->squared = d[l];
      for (int k = 0; k < 3; k++) {
        near->q[k] = tgRe(b->p[k][g + l]);
        near->normal[k] = tgRe(b->normal[k][g + l]);
      }
    }
  }
}

void KERNEL(tgi_ssdf_nearest)(const tgiSsdfTree *tree, const tgiSsdfNumbers *z, const double *c, double below,
                              bool about, tgiSsdfNearest *near) {
  int stack[DEPTH], top = 0;
  double bound[DEPTH];
  near->squared = below;
  stack[0] = 0;
  bound[0] = 0;
  while (top >= 0) {
    int i = stack[top];
    if (bound[top--] >= near->squared) continue;
    if (tree->child[i] < 0) {
      nearest_of(z->block + tree->block[i], c, near);
      if (about) return;
      continue;
    }
    int a = tree->child[i];
    double d0 = box_distance2(z->node + a, c), d1 = box_distance2(z->node + a + 1, c);
    int first = d0 <= d1 ? 0 : 1;
    // the nearer is taken first
    stack[++top] = a + 1 - first;
    bound[top] = first ? d0 : d1;
    stack[++top] = a + first;
    bound[top] = first ? d1 : d0;
  }
}

// (2): its second part where c is far from the cloud, where it is the better one
TGI_LANE bool excluded(const tgiSsdfNode *d, const double c[3], double r, const tgiSsdfNearest *near, double to_q, double cut) {
  double D2 = box_distance2(d, c);
  if (D2 - near->squared <= cut) return false;
  if (to_q > 2 * r) return D2 - near->squared - 2 * r * sqrt(far2(d, near->q)) > cut;
  double D = sqrt(D2);
  return (D + to_q) * (D - to_q - 2 * r) > cut;
}

// (1), for every point of a block
TGI_LANE bool block_excluded(const tgiSsdfBlock *b, const double c[3], double r, const tgiSsdfNearest *near, double cut) {
  for (int g = 0; g < BLOCK; g += TGI_WIDTH) {
    V over = apart2(b, g, c) - near->squared;
    if (r > 0) over -= 2 * r * v_sqrt(apart2(b, g, near->q));
    if (m_any(m_not(v_less(v_all(cut), over)))) return false;
  }
  return true;
}

void KERNEL(tgi_ssdf_gather)(const tgiSsdfTree *tree, const tgiSsdfNumbers *z, const double *c, double r, double cut,
                             const tgiSsdfNearest *near, int *blocks, int *count) {
  int stack[DEPTH], top = 0, n = 0;
  double to_q = sqrt(near->squared);
  stack[0] = 0;
  cut += TGI_SSDF_ROUNDING * near->squared;
  while (top >= 0) {
    int i = stack[top--];
    if (excluded(z->node + i, c, r, near, to_q, cut)) continue;
    if (tree->child[i] < 0) {
      if (!block_excluded(z->block + tree->block[i], c, r, near, cut)) blocks[n++] = tree->block[i];
      continue;
    }
    stack[++top] = tree->child[i] + 1;
    stack[++top] = tree->child[i];
  }
  *count = n;
}

// n . (x - p) of a node's points p, n and all x of the ball: n . (c - centre) - n . (p - centre) + n . (x - c)
TGI_LANE double least_height(const tgiSsdfNode *d, const tgiSsdfBall *b) {
  double x[3], along = 0;
  for (int k = 0; k < 3; k++) x[k] = b->c[k] - d->centre[k];
  for (int k = 0; k < 3; k++) along += fabs(d->normal[0] * b->R[k] + d->normal[1] * b->R[3 + k] + d->normal[2] * b->R[6 + k]) * b->half[k];
  return dot(d->normal, x) - d->high - d->spread * (sqrt(dot(x, x)) + b->r) - along;
}

// one by one: is every point of a block above the level in all of the ball, or excluded by (1)?
TGI_LANE bool block_above(const tgiSsdfBlock *b, const tgiSsdfBall *ball, double cut, double level) {
  for (int g = 0; g < BLOCK; g += TGI_WIDTH) {
    V n[3], x[3], s;
    for (int k = 0; k < 3; k++) {
      n[k] = v_load_real(b->normal[k] + g);
      x[k] = ball->c[k] - v_load_real(b->p[k] + g);
    }
    s = v_dot(n, x);
    for (int k = 0; k < 3; k++) s -= v_abs(n[0] * ball->R[k] + n[1] * ball->R[3 + k] + n[2] * ball->R[6 + k]) * ball->half[k];
    V over = v_dot(x, x) - ball->near.squared - 2 * ball->r * v_sqrt(apart2(b, g, ball->near.q));
    if (m_any(m_not(m_or(v_less(v_all(level), s), v_less(v_all(cut), over))))) return false;
  }
  return true;
}

// is q nearer to the first of two nodes beside each other?
TGI_LANE bool nearer(const tgiSsdfNode *d, const double q[3]) { return box_distance2(d, q) <= box_distance2(d + 1, q); }

void KERNEL(tgi_ssdf_above)(const tgiSsdfTree *tree, const tgiSsdfNumbers *z, const tgiSsdfBall *ball, double cut,
                            double level, bool *above) {
  int stack[DEPTH], top = 0;
  double to_q = sqrt(ball->near.squared);
  *above = false;
  stack[0] = 0;
  cut += TGI_SSDF_ROUNDING * ball->near.squared;
  while (top >= 0) {
    int i = stack[top--];
    const tgiSsdfNode *d = z->node + i;
    if (excluded(d, ball->c, ball->r, &ball->near, to_q, cut)) continue;
    // where normals differ by much their mean says nothing
    if (d->spread < 0.7 && least_height(d, ball) > level) continue;
    if (tree->child[i] < 0) {
      if (!block_above(z->block + tree->block[i], ball, cut, level)) return;
      continue;
    }
    // the one nearer to the nearest point first: it is the likelier to say no
    int a = tree->child[i], first = nearer(z->node + a, ball->near.q) ? 0 : 1;
    stack[++top] = a + 1 - first;
    stack[++top] = a + first;
  }
  *above = true;
}
