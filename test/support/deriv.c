// deriv.c: see deriv.h.
#include "support/deriv.h"

#include <stdio.h>
#include <stdlib.h>

static tgiNumDiff numdiff(const tgtDeriv *d) {
  return (tgiNumDiff){.nx = d->nx, .nt = d->nt > 0 ? d->nt : d->nx, .ny = d->ny, .map = d->map, .retract = d->retract,
                      .ctx = d->ctx, .step = d->step, .analytic = !d->numeric};
}

// R (ny x nt): column j along the unit tangent j
static tgStatus reference(const tgiNumDiff *n, const tgReal *x, double *R) {
  size_t ny = (size_t)n->ny, nt = (size_t)n->nt;
  tgReal *work = malloc((tgi_numdiff_work(n) + nt) * sizeof(tgReal));
  double *D = malloc(2 * ny * sizeof(double) + 1);
  assert_non_null(work);
  assert_non_null(D);
  tgReal *t = work + tgi_numdiff_work(n);
  tgStatus status = TG_OK;
  for (size_t j = 0; j < nt && status == TG_OK; j++) {
    for (size_t k = 0; k < nt; k++) t[k] = k == j;
    status = tgi_numdiff(n, x, t, TGI_SIDE_BOTH, D, D + ny, work);
    for (size_t i = 0; i < ny; i++) R[i * nt + j] = D[i];
  }
  free(D);
  free(work);
  return status;
}

tgiWorst tgt_jacobian_error(const tgtDeriv *d, const tgReal *x, const tgReal *D, char message[256]) {
  tgiNumDiff n = numdiff(d);
  double *R = malloc((size_t)n.ny * (size_t)n.nt * sizeof(double) + 1);
  assert_non_null(R);
  tgStatus status = reference(&n, x, R);
  tgiWorst worst = {-1, -1, -1, 0, 0};
  if (status != TG_OK) worst.error = HUGE_VAL;
  int nrows = d->rows != NULL ? d->nrows : 1, ncols = d->cols != NULL ? d->ncols : 1;
  for (int a = 0, r0 = 0, h = 0; status == TG_OK && a < nrows; a++, r0 += h) {
    h = d->rows != NULL ? d->rows[a] : n.ny;
    for (int b = 0, c0 = 0, w = 0; b < ncols; b++, c0 += w) {
      w = d->cols != NULL ? d->cols[b] : n.nt;
      tgiWorst one = tgi_block_error(D + r0 * n.nt + c0, n.nt, R + r0 * n.nt + c0, n.nt, h, w);
      if (one.error <= worst.error) continue;
      worst = one;
      worst.row += r0;
      worst.col += c0;
    }
  }
  if (message != NULL)
    snprintf(message, 256, "%s: entry (%d, %d) is %.17g, differences give %.17g, block error %.3g > %.3g%s", d->name, worst.row, worst.col,
             worst.ours, worst.reference, worst.error, d->tol, status == TG_OK ? "" : "; the map failed");
  free(R);
  return worst;
}

void tgt_check_jacobian_at(const tgtDeriv *d, const tgReal *x, const tgReal *D, const char *file, int line) {
  char message[256];
  tgiWorst worst = tgt_jacobian_error(d, x, D, message);
  if (!(worst.error <= d->tol)) fail_msg("%s:%d: %s", file, line, message);
}

void tgt_check_adjoint_at(const tgReal *J, int m, int n, const tgReal *w, const tgReal *v, const tgReal *Jtw, double tol, const char *file,
                          int line) {
  double error = tgi_dot_error(J, m, n, w, v, Jtw);
  if (error <= tol) return;
  double left = 0, right = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) left += tgRe(w[i]) * tgRe(J[i * n + j]) * tgRe(v[j]);
  for (int j = 0; j < n; j++) right += tgRe(Jtw[j]) * tgRe(v[j]);
  fail_msg("%s:%d: <w,Jv> = %.17g, <J'w,v> = %.17g, relative %.3g > %.3g", file, line, left, right, error, tol);
}

double tgt_taylor_slope(const tgtDeriv *d, const tgReal *x, const tgReal *gradient, const tgReal *t, double a0, bool *flat) {
  tgiNumDiff n = numdiff(d);
  tgReal *work = malloc(tgi_numdiff_work(&n) * sizeof(tgReal));
  assert_non_null(work);
  double slope1 = 0, slope = NAN;
  for (int j = 0; j < n.nt; j++) slope1 += tgRe(gradient[j]) * tgRe(t[j]);
  tgStatus status = tgi_taylor_slope(&n, x, t, slope1, a0, 16, &slope, flat, work);
  free(work);
  return status == TG_OK ? slope : NAN;
}

void tgt_check_taylor_at(const tgtDeriv *d, const tgReal *x, const tgReal *gradient, const tgReal *t, double a0,
                         const char *file, int line) {
  bool flat = false;
  double slope = tgt_taylor_slope(d, x, gradient, t, a0, &flat);
  if (!flat && !(fabs(slope - 2) <= 0.1)) fail_msg("%s:%d: %s: Taylor remainder has slope %.4g, not 2 +- 0.1", file, line, d->name, slope);
}
