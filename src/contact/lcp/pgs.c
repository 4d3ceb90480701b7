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

int tgi_lcp_pgs(tgiLcpScratch *c, int most, int8_t *cls) {
  const tgiLcpReduced *r = &c->red;
  int n = r->n, sweep = 0;
  for (int i = 0; i < n; i++) c->f[i] = 0;
  for (; sweep < most; sweep++) {
    double change = 0, size = 0;
    for (int i = 0; i < n; i++) {
      const double *Ai = r->A + (size_t)n * i;
      double w = r->b[i];
      for (int j = 0; j < n; j++) w += Ai[j] * c->f[j];
      double next = c->f[i] - w / Ai[i], B = r->kind[i] == TGI_LCP_NORMAL ? INFINITY : tgi_lcp_bound(r, c->f, i);
      next = fmax(r->kind[i] == TGI_LCP_NORMAL ? 0 : -B, fmin(B, next));
      change = fmax(change, fabs(next - c->f[i]));
      size = fmax(size, fabs(next));
      c->f[i] = next;
    }
    if (change <= 1e-13 * size) break;
  }
  for (int i = 0; i < n; i++) {
    double w = r->b[i];
    for (int j = 0; j < n; j++) w += r->A[(size_t)n * i + j] * c->f[j];
    c->w[i] = w;
  }
  tgi_lcp_classify(r, c->f, c->w, cls);
  return sweep;
}
