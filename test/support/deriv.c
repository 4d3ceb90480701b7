// deriv.c: see deriv.h.
#include "support/deriv.h"

#include <stdio.h>
#include <stdlib.h>

static tgiNumDiff numdiff(const tgtDeriv *d) {
  return (tgiNumDiff){.nx = d->nx, .nt = d->nt > 0 ? d->nt : d->nx, .ny = d->ny, .map = d->map, .retract = d->retract,
                      .ctx = d->ctx, .step = d->step, .analytic = !d->numeric};
}

// One column in so many of each block is compared with differences, others in each call: TANGERE_DIFFERENCES, where TANGERE_FEWER asks for
// fewer cases. make test has that under the address sanitizer, which looks at accesses, and in the release build for a few programs whose
// complex twins check every column exactly.
static unsigned one_column_in(void) {
  const char *fewer = getenv("TANGERE_FEWER"), *differences = getenv("TANGERE_DIFFERENCES");
  if (fewer == NULL || atoi(fewer) < 2 || differences == NULL || atoi(differences) < 2) return 1;
  return (unsigned)atoi(differences);
}

static void choose_columns(const tgtDeriv *d, int nt, bool *chosen) {
  static unsigned call;
  unsigned every = one_column_in(), turn = call++;
  int ncols = d->cols != NULL ? d->ncols : 1;
  for (int b = 0, c0 = 0, w = 0; b < ncols; b++, c0 += w) {
    w = d->cols != NULL ? d->cols[b] : nt;
    unsigned k = every < (unsigned)w ? every : (unsigned)w;
    for (int j = 0; j < w; j++) chosen[c0 + j] = ((unsigned)j + turn) % k == 0;
  }
}

typedef struct Reference {
  const tgtDeriv *d;
  tgiNumDiff n;
  const tgReal *x, *own;   // own: the Jacobian that is checked
  double *R;               // ny x nt
  bool *chosen;            // nt
  tgReal *work;
  double *column;          // ny, and the errors of that
} Reference;

// column j along the unit tangent j
static tgStatus by_differences(Reference *r, int j) {
  tgReal *t = r->work + tgi_numdiff_work(&r->n);
  for (int k = 0; k < r->n.nt; k++) t[k] = k == j;
  tgStatus status = tgi_numdiff(&r->n, r->x, t, TGI_SIDE_BOTH, r->column, r->column + r->n.ny, r->work);
  for (int i = 0; i < r->n.ny; i++) r->R[i * r->n.nt + j] = r->column[i];
  return status;
}

// Of the columns c0 to c1 - 1 in some block of rows all that are chosen are 0, and others are not: a block without a scale for its errors.
static bool has_no_scale(const Reference *r, int c0, int c1) {
  int nt = r->n.nt, nrows = r->d->rows != NULL ? r->d->nrows : 1;
  for (int a = 0, r0 = 0, h = 0; a < nrows; a++, r0 += h) {
    bool scale = false, others = false;
    h = r->d->rows != NULL ? r->d->rows[a] : r->n.ny;
    for (int i = r0; i < r0 + h; i++)
      for (int j = c0; j < c1; j++) *(r->chosen[j] ? &scale : &others) |= r->R[i * nt + j] != 0;
    if (others && !scale) return true;
  }
  return false;
}

// the columns of a block that are chosen, and the checked Jacobian's own for the others, which count in the block's scale alone; where that
// is not enough, all
static tgStatus block_columns(Reference *r, int c0, int c1) {
  tgStatus status = TG_OK;
  for (int j = c0; j < c1 && status == TG_OK; j++) {
    for (int i = 0; i < r->n.ny; i++) r->R[i * r->n.nt + j] = tgRe(r->own[i * r->n.nt + j]);
    if (r->chosen[j]) status = by_differences(r, j);
  }
  bool all = status == TG_OK && has_no_scale(r, c0, c1);
  for (int j = c0; j < c1 && all && status == TG_OK; j++)
    if (!r->chosen[j]) status = by_differences(r, j);
  return status;
}

static tgStatus reference(const tgtDeriv *d, const tgiNumDiff *n, const tgReal *x, const tgReal *own, double *R) {
  Reference r = {d, *n, x, own, R, malloc((size_t)n->nt + 1), malloc((tgi_numdiff_work(n) + (size_t)n->nt) * sizeof(tgReal)),
                 malloc(2 * (size_t)n->ny * sizeof(double) + 1)};
  assert_true(r.chosen != NULL && r.work != NULL && r.column != NULL);
  choose_columns(d, n->nt, r.chosen);
  tgStatus status = TG_OK;
  int ncols = d->cols != NULL ? d->ncols : 1;
  for (int b = 0, c0 = 0, w = 0; b < ncols && status == TG_OK; b++, c0 += w) {
    w = d->cols != NULL ? d->cols[b] : n->nt;
    status = block_columns(&r, c0, c0 + w);
  }
  free(r.column);
  free(r.work);
  free(r.chosen);
  return status;
}

tgiWorst tgt_jacobian_error(const tgtDeriv *d, const tgReal *x, const tgReal *D, char message[256]) {
  tgiNumDiff n = numdiff(d);
  double *R = malloc((size_t)n.ny * (size_t)n.nt * sizeof(double) + 1);
  assert_non_null(R);
  tgStatus status = reference(d, &n, x, D, R);
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
