// contradict.c: do the conditions of normals alone contradict each other?
//
// Based on: Farkas' lemma; non-negative least squares, [LawsonHanson 23]; [math/lcp Errors that cannot be removed].
// Forces g >= 0 on normals that balance each other, A g = 0, and do work against what the rows ask for, b' g < 0, are a proof that no f
// solves the problem: of w = A f + b it follows that g' w = b' g < 0, where neither g nor w of normals is negative. Friction and dry joints
// have no part in g, and may do what they like.
// With b in units of its largest, such g makes g' A g + s^2, s = 1 + b' g, zero; of all g >= 0 that with the least is looked for, and where
// it leaves s > 0, g/s are the forces that press normals apart as they ask for it, without friction.
#include "contact/lcp/scratch.h"

// A balance that this leaves is one: what it allows are forces 1e9 times as large as b asks for, whose w is rounded beyond 1e-8 of b.
#define BALANCED 1e-9
// The w < 0 that an answer may have adds up to at most this share of the work that proves there is none.
#define EXCUSED 1e-2

typedef struct Balance {
  const tgiLcpReduced *r;
  int nheld, *held;           // rows with g > 0, in the order in which they came
  const double *scale;        // of each row: D of the reduced problem
  double unit, s, off;        // off: an answer's w may be so far from 0, in these units
  double *g, *z, *w;          // of each row: forces, those wanted in their place; A g + s b
  double *L;                  // nheld x nheld of n x n: A + b b' of held rows is L L'
} Balance;

static double b_of(const Balance *q, int i) { return q->unit * q->r->b[i]; }

// The k-th held row joins L. False: it depends on those before.
static bool extend(Balance *q, int k) {
  int n = q->r->n, i = q->held[k];
  double *row = q->L + (size_t)n * k, pivot = q->r->A[(size_t)(n + 1) * i] + b_of(q, i) * b_of(q, i), whole = pivot;
  for (int a = 0; a < k; a++) {
    const double *above = q->L + (size_t)n * a;
    double x = q->r->A[(size_t)n * i + q->held[a]] + b_of(q, i) * b_of(q, q->held[a]);
    for (int e = 0; e < a; e++) x -= row[e] * above[e];
    row[a] = x / above[a];
    pivot -= row[a] * row[a];
  }
  if (!(pivot > 1e-13 * whole)) return false;
  row[k] = sqrt(pivot);
  return true;
}

// z of the held rows: (A + b b') z = -b
static void solve(Balance *q) {
  int n = q->r->n;
  for (int k = 0; k < q->nheld; k++) {
    double x = -b_of(q, q->held[k]);
    for (int a = 0; a < k; a++) x -= q->L[(size_t)n * k + a] * q->z[a];
    q->z[k] = x / q->L[(size_t)(n + 1) * k];
  }
  for (int k = q->nheld - 1; k >= 0; k--) {
    double x = q->z[k];
    for (int a = k + 1; a < q->nheld; a++) x -= q->L[(size_t)n * a + k] * q->z[a];
    q->z[k] = x / q->L[(size_t)(n + 1) * k];
  }
}

// g goes to z; where rows would pull on the way, to where the first of them ends, which is held no longer. Sets *arrived.
static bool advance(Balance *q, bool *arrived) {
  double way = 1;
  for (int k = 0; k < q->nheld; k++)
    if (q->z[k] <= 0) way = fmin(way, q->g[q->held[k]] / (q->g[q->held[k]] - q->z[k]));
  *arrived = way == 1;
  int kept = 0, first = q->nheld;
  for (int k = 0; k < q->nheld; k++) {
    int i = q->held[k];
    bool ends = q->z[k] <= 0 && q->g[i] / (q->g[i] - q->z[k]) <= way;
    q->g[i] = ends ? 0 : q->g[i] + way * (q->z[k] - q->g[i]);
    if (ends && first > k) first = k;
    if (!ends) q->held[kept++] = i;
  }
  q->nheld = kept;
  for (int k = first; k < kept; k++)
    if (!extend(q, k)) return false;
  return true;
}

// w and s; do the forces balance, while b' g = -1?
static bool is_proof(Balance *q) {
  const tgiLcpReduced *r = q->r;
  double excused = 0, off = 0;
  q->s = 1;
  for (int i = 0; i < r->n; i++) q->w[i] = 0;
  for (int k = 0; k < q->nheld; k++) {
    const double *A = r->A + (size_t)r->n * q->held[k];
    double g = q->g[q->held[k]];
    excused += g * q->scale[q->held[k]] * q->off;
    q->s += b_of(q, q->held[k]) * g;
    for (int i = 0; i < r->n; i++) q->w[i] += A[i] * g;
  }
  for (int i = 0; i < r->n; i++) {
    off = fmax(off, fabs(q->w[i]));
    q->w[i] += q->s * b_of(q, i);
  }
  return off <= BALANCED && q->s <= BALANCED && excused <= EXCUSED;
}

bool tgi_lcp_contradicts(tgiLcpScratch *c, double speed) {
  const tgiLcpReduced *r = &c->red;
  Balance q = {.r = r, .held = c->K, .scale = c->scale, .g = c->f, .z = c->Df, .w = c->w, .L = c->T};
  double largest = 0;
  c->tried = NULL;   // its memory is L's
  for (int i = 0; i < r->n; i++) {
    largest = fmax(largest, fabs(r->b[i]));
    q.g[i] = 0;
  }
  if (largest == 0) return false;
  q.unit = 1 / largest;
  q.off = TGI_LCP_ACCEPT * speed * q.unit;
  for (int count = 0; !is_proof(&q); count++) {
    int next = -1;
    for (int i = 0; i < r->n; i++)
      if (r->kind[i] == TGI_LCP_NORMAL && q.g[i] == 0 && q.w[i] < -1e-9 * q.s && (next < 0 || q.w[i] < q.w[next])) next = i;
    if (next < 0 || count > tgi_watch_cap(c->watch, 3 * r->n) || tgi_lcp_stops(c)) return false;
    q.held[q.nheld++] = next;
    if (!extend(&q, q.nheld - 1)) return false;
    for (bool arrived = false; !arrived;) {
      solve(&q);
      if (!advance(&q, &arrived)) return false;
    }
    if (q.g[next] == 0) return false;   // what rounding leaves
  }
  return true;
}
