// pgs.c: projected Gauss-Seidel, stage 4 of the frictional LCP, and classes from values.
//
// Based on: [math/lcp Solver]. f_i <- clamp(f_i - w_i/A_ii), the friction bound taken from the normal force of the moment.
#include "contact/lcp/scratch.h"

void tgi_lcp_classify(const tgiLcpReduced *r, const double *f, const double *w, int8_t *cls) {
  double sf = 0, sw = 0;
  for (int i = 0; i < r->n; i++) {
    sf = fmax(sf, fabs(f[i]));
    sw = fmax(sw, fabs(r->b[i]));
  }
  if (sf == 0) sf = 1;
  if (sw == 0) sw = 1;
  for (int i = 0; i < r->n; i++)
    if (r->kind[i] == TGI_LCP_NORMAL) cls[i] = f[i] / sf > w[i] / sw ? TGI_LCP_C : TGI_LCP_N;
  for (int i = 0; i < r->n; i++) {
    if (r->kind[i] == TGI_LCP_NORMAL) continue;
    bool powerless = r->bound[i] <= 0 || (r->parent[i] >= 0 && cls[r->parent[i]] == TGI_LCP_N);
    double room = (tgi_lcp_bound(r, f, i) - fabs(f[i])) / sf;
    if (!powerless && fabs(w[i]) / sw < room) cls[i] = TGI_LCP_F;
    else if (powerless) cls[i] = w[i] > 0 ? TGI_LCP_L : TGI_LCP_H;
    else cls[i] = f[i] < 0 ? TGI_LCP_L : TGI_LCP_H;
  }
}

void tgi_lcp_velocities(const tgiLcpReduced *r, const double *f, double *w) {
  int n = r->n;
  for (int i = 0; i < n; i++) w[i] = r->b[i];
  for (int j = 0; j < n; j++) {   // A is symmetric: its rows are its columns
    const double *A = r->A + (size_t)n * j;
    double fj = f[j];
    for (int i = 0; fj != 0 && i < n; i++) w[i] += A[i] * fj;
  }
}

int tgi_lcp_sweep(tgiLcpScratch *c, int most) {
  const tgiLcpReduced *r = &c->red;
  int n = r->n, sweep = 0, cap = tgi_watch_cap(c->watch, most);
  double change = 1, size = 0;
  tgi_lcp_velocities(r, c->f, c->w);
  for (; sweep < cap && change > 1e-13 * size && !tgi_lcp_stops(c); sweep++) {
    change = size = 0;
    for (int i = 0; i < n; i++) {
      const double *A = r->A + (size_t)n * i;
      double B = r->kind[i] == TGI_LCP_NORMAL ? INFINITY : tgi_lcp_bound(r, c->f, i);
      double next = tgi_lcp_larger(r->kind[i] == TGI_LCP_NORMAL ? 0 : -B, tgi_lcp_smaller(B, c->f[i] - c->w[i] / A[i])), d = next - c->f[i];
      change = tgi_lcp_larger(change, fabs(d));
      size = tgi_lcp_larger(size, fabs(next));
      c->f[i] = next;
      for (int j = 0; d != 0 && j < n; j++) c->w[j] += d * A[j];
    }
  }
  tgi_lcp_velocities(r, c->f, c->w);
  return sweep;
}

int tgi_lcp_pgs(tgiLcpScratch *c, int most, int8_t *cls) {
  for (int i = 0; i < c->red.n; i++) c->f[i] = 0;
  int sweeps = tgi_lcp_sweep(c, most);
  tgi_lcp_classify(&c->red, c->f, c->w, cls);
  return sweeps;
}
