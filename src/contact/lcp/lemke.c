// lemke.c: Lemke's method with lexicographic pivoting on the copositive form, stage 3 of the frictional LCP.
//
// Based on: [AnitescuPotra] with one slack an axis, [math/lcp (12)]; lexicographic pivoting of [CottlePangStone 4.9].
// NORMAL row: z = f. FRICTION and BOX rows: z = (a+, a-, l), f = a+ - a-, with the complementary pairs
//   a+ >= 0 perp  w + l >= 0,   a- >= 0 perp  -w + l >= 0,   l >= 0 perp  B - a+ - a- >= 0,   B = mu f_parent or limit.
// z^T M z = f^T A f + sum mu f_n l >= 0 (copositive), so with b in range(J) the method ends at a solution.
// The tableau keeps the nonbasic columns only:  basic = q - T nonbasic,  T = [-M | -d] at the start; the columns of
// B^-1, which the lexicographic test compares, are among them or unit vectors.
#include "contact/lcp/scratch.h"

static double covering(int attempt, int i) { return attempt == 0 ? 1 : tgi_lcp_chance(attempt, i); }

static const double axis_sign[3] = {1, -1, 0};

// Variables: z_j is j, its complement w_j is m + j, z_0 is 2m. Returns m.
static int build(tgiLcpScratch *c, int attempt, double shift, double amax, double bmax) {
  const tgiLcpReduced *r = &c->red;
  int m = 0;
  for (int i = 0; i < r->n; i++) {
    c->group[i] = m;
    m += r->kind[i] == TGI_LCP_NORMAL ? 1 : 3;
  }
  int width = m + 2;
  for (size_t t = 0; t < (size_t)m * width; t++) c->T[t] = 0;
  for (int i = 0; i < r->n; i++) {
    int gi = c->group[i], ni = r->kind[i] == TGI_LCP_NORMAL ? 1 : 2;
    for (int a = 0; a < ni; a++) {
      double *row = c->T + (size_t)width * (gi + a);
      for (int j = 0; j < r->n; j++)
        for (int e = 0; e < (r->kind[j] == TGI_LCP_NORMAL ? 1 : 2); e++) {
          double A = r->A[(size_t)r->n * i + j] + (i == j ? shift : 0);
          row[c->group[j] + e] = -axis_sign[a] * axis_sign[e] * A / amax;
        }
      if (ni == 2) row[gi + 2] = -1;
      row[m + 1] = axis_sign[a] * r->b[i] / bmax;
    }
    if (ni == 1) continue;
    double *row = c->T + (size_t)width * (gi + 2);
    row[gi] = row[gi + 1] = 1;
    if (r->parent[i] >= 0) row[c->group[r->parent[i]]] = -r->bound[i];
    else row[m + 1] = r->bound[i] * amax / bmax;  // forces are measured in bmax/amax
  }
  for (int i = 0; i < m; i++) {
    c->T[(size_t)width * i + m] = -covering(attempt, i);
    c->basis[i] = m + i;
    c->column[i] = i;
    c->where[i] = -1 - i;    // column i
    c->where[m + i] = i;     // row i
  }
  c->column[m] = 2 * m;
  c->where[2 * m] = -1 - m;
  return m;
}

// Entry (i, j) of B^-1: the column of w_j
static double inverse_entry(const tgiLcpScratch *c, int m, int i, int j) {
  int at = c->where[m + j];
  if (at >= 0) return at == i;
  return c->T[(size_t)(m + 2) * i + (-1 - at)];
}

// Is row i lexicographically before row k, both divided by their entries of the entering column?
static bool lex_less(const tgiLcpScratch *c, int m, int col, int i, int k) {
  int width = m + 2;
  double pi = c->T[(size_t)width * i + col], pk = c->T[(size_t)width * k + col];
  double x = c->T[(size_t)width * i + m + 1] / pi, y = c->T[(size_t)width * k + m + 1] / pk;
  if (fabs(x - y) > 1e-11 * (fabs(x) + fabs(y)) + 1e-14) return x < y;
  if (c->basis[i] == 2 * m) return true;  // z_0 leaves whenever it can
  if (c->basis[k] == 2 * m) return false;
  for (int j = 0; j < m; j++) {
    x = inverse_entry(c, m, i, j) / pi;
    y = inverse_entry(c, m, k, j) / pk;
    if (fabs(x - y) > 1e-11 * (fabs(x) + fabs(y)) + 1e-14) return x < y;
  }
  return false;
}

static void exchange(tgiLcpScratch *c, int m, int row, int col) {
  int width = m + 2;
  double *pr = c->T + (size_t)width * row, inverse = 1 / pr[col];
  for (int j = 0; j < width; j++) pr[j] *= inverse;
  pr[col] = inverse;
  for (int i = 0; i < m; i++) {
    double *ti = c->T + (size_t)width * i, e = ti[col];
    if (i == row || e == 0) continue;
    ti[col] = 0;
    for (int j = 0; j < width; j++) ti[j] -= e * pr[j];
  }
  int in = c->column[col], out = c->basis[row];
  c->basis[row] = in;
  c->column[col] = out;
  c->where[in] = row;
  c->where[out] = -1 - col;
}

// Classes from the forces at the end; the class solve makes them exact.
static void read_solution(tgiLcpScratch *c, int m, double amax, double bmax, int8_t *cls) {
  const tgiLcpReduced *r = &c->red;
  for (int i = 0; i < m; i++) {
    int at = c->where[i];
    c->zval[i] = at >= 0 ? c->T[(size_t)(m + 2) * at + m + 1] * bmax / amax : 0;
  }
  for (int i = 0; i < r->n; i++) {
    int g = c->group[i];
    c->f[i] = r->kind[i] == TGI_LCP_NORMAL ? c->zval[g] : c->zval[g] - c->zval[g + 1];
  }
  for (int i = 0; i < r->n; i++) {
    double w = r->b[i];
    for (int j = 0; j < r->n; j++) w += r->A[(size_t)r->n * i + j] * c->f[j];
    c->w[i] = w;
  }
  tgi_lcp_classify(r, c->f, c->w, cls);
}

bool tgi_lcp_lemke(tgiLcpScratch *c, int attempt, double shift, int8_t *cls, int *pivots) {
  const tgiLcpReduced *r = &c->red;
  double amax = 0, bmax = 0;
  for (int i = 0; i < r->n; i++) {
    amax = fmax(amax, r->A[i + (size_t)r->n * i]);
    bmax = fmax(bmax, fabs(r->b[i]));
  }
  if (bmax == 0) bmax = 1;
  int m = build(c, attempt, shift, amax, bmax), width = m + 2, row = -1, col = m;
  double least = 0;
  for (int i = 0; i < m; i++) least = fmin(least, c->T[(size_t)width * i + m + 1]);
  // z_0 enters at the row with the least q/d; its column is negative, so the test is turned round
  for (int i = 0; i < m && least < 0; i++) {
    double ratio = -c->T[(size_t)width * i + m + 1] / c->T[(size_t)width * i + m];
    double held = row < 0 ? INFINITY : -c->T[(size_t)width * row + m + 1] / c->T[(size_t)width * row + m];
    if (ratio <= held) row = i;
  }
  for (int count = 0; row >= 0; count++) {
    int leaving = c->basis[row];
    exchange(c, m, row, col);
    ++*pivots;
    if (leaving == 2 * m) break;
    if (count > tgi_watch_cap(c->watch, 50 * m) || tgi_lcp_stops(c)) return false;
    col = -1 - c->where[leaving < m ? leaving + m : leaving - m];
    row = -1;
    for (int i = 0; i < m; i++)
      if (c->T[(size_t)width * i + col] > 1e-10 && (row < 0 || lex_less(c, m, col, i, row))) row = i;
    if (row < 0) return false;  // a ray
  }
  read_solution(c, m, amax, bmax, cls);
  return true;
}

// f_n basic: presses. Bound met (its slack t not basic): slides to the side whose part is basic, or, with both parts
// basic, sticks. Inside: sticks when one part is basic, else it holds without a force.
void tgi_lcp_lemke_vertex(const tgiLcpScratch *c, int8_t *cls) {
  const tgiLcpReduced *r = &c->red;
  int m = r->n == 0 ? 0 : c->group[r->n - 1] + (r->kind[r->n - 1] == TGI_LCP_NORMAL ? 1 : 3);
  for (int i = 0; i < r->n; i++)
    if (r->kind[i] == TGI_LCP_NORMAL) cls[i] = c->where[c->group[i]] >= 0 ? TGI_LCP_C : TGI_LCP_N;
  for (int i = 0; i < r->n; i++) {
    if (r->kind[i] == TGI_LCP_NORMAL) continue;
    int g = c->group[i];
    bool plus = c->where[g] >= 0, minus = c->where[g + 1] >= 0, met = c->where[m + g + 2] < 0;
    bool powerless = r->bound[i] <= 0 || (r->parent[i] >= 0 && cls[r->parent[i]] == TGI_LCP_N);
    if (powerless) cls[i] = c->w[i] > 0 ? TGI_LCP_L : TGI_LCP_H;
    else if (met && plus != minus) cls[i] = plus ? TGI_LCP_H : TGI_LCP_L;
    else cls[i] = plus || minus ? TGI_LCP_F : TGI_LCP_D;
  }
}
