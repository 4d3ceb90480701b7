// numdiff.c: see numdiff.h.
#include "check/numdiff.h"

// Rows of the tableau and the factor between steps: from 1e-3 down to 3e-5, where round-off is still far below.
enum { TABLEAU = 6, SLOPES = 16 };
static const double SHRINK = 2;
static const double FIRST_STEP = 1e-3;

size_t tgi_numdiff_work(const tgiNumDiff *d) {
  return (size_t)d->nx + (size_t)d->nt + (size_t)d->ny * (2 + 2 * TABLEAU);
}

// y = f(x (+) a t)
static tgStatus eval(const tgiNumDiff *d, const tgReal *x, const tgReal *t, tgReal a, tgReal *y, tgReal *work) {
  tgReal *xp = work, *dt = work + d->nx;
  for (int i = 0; i < d->nt; i++) dt[i] = a * t[i];
  if (d->retract != NULL) {
    d->retract(d->ctx, x, dt, xp);
  } else {
    for (int i = 0; i < d->nx; i++) xp[i] = x[i] + dt[i];
  }
  return d->map(d->ctx, xp, y);
}

#ifdef TG_COMPLEX
// f'(x) t = Im f(x (+) i e t) / e up to O(e^2), without cancellation  [Squire, Trapp 1998]
static tgStatus complex_step(const tgiNumDiff *d, const tgReal *x, const tgReal *t, double *D, double *error, tgReal *work) {
  const double e = 1e-30;
  tgReal *y = work + d->nx + d->nt;
  tgStatus status = eval(d, x, t, CMPLX(0, e), y, work);
  if (status != TG_OK) return status;
  for (int i = 0; i < d->ny; i++) {
    D[i] = tgIm(y[i]) / e;
    error[i] = 0;
  }
  return TG_OK;
}
#endif

// plain difference with step a: central, or from x to one side
static tgStatus difference(const tgiNumDiff *d, const tgReal *x, const tgReal *t, tgiSide side, double a, tgReal *D, tgReal *work) {
  tgReal *y1 = work + d->nx + d->nt, *y0 = y1 + d->ny;
  double a1 = side == TGI_SIDE_BELOW ? -a : a, a0 = side == TGI_SIDE_BOTH ? -a : 0;
  tgStatus status = eval(d, x, t, a1, y1, work);
  if (status != TG_OK) return status;
  status = eval(d, x, t, a0, y0, work);
  if (status != TG_OK) return status;
  for (int i = 0; i < d->ny; i++) D[i] = (tgRe(y1[i]) - tgRe(y0[i])) / (a1 - a0);
  return TG_OK;
}

// Row k of Neville's tableau to the right of new[0]: entry j has j leading powers of the step removed. Keeps the entry that
// differs least from its two parents, with that difference as its error.  [Ridders]
static void extrapolate(int k, int ny, double power, const tgReal *old, tgReal *new, double *D, double *error) {
  for (int i = 0; i < ny; i++) {
    double fac = power;
    for (int j = 1; j <= k; j++, fac *= power) {
      double left = tgRe(new[(j - 1) * ny + i]), up = tgRe(old[(j - 1) * ny + i]);
      double value = (left * fac - up) / (fac - 1);
      double err = fmax(fabs(value - left), fabs(value - up));
      new[j * ny + i] = value;
      if (!(err <= error[i]) && error[i] < HUGE_VAL) continue;
      error[i] = err;
      D[i] = value;
    }
  }
}

tgStatus tgi_numdiff(const tgiNumDiff *d, const tgReal *x, const tgReal *t, tgiSide side, double *D, double *error, tgReal *work) {
#ifdef TG_COMPLEX
  if (d->analytic && side == TGI_SIDE_BOTH) return complex_step(d, x, t, D, error, work);
#endif
  // the truncation error has even powers of the step for the central difference, all powers for the others
  double power = side == TGI_SIDE_BOTH ? SHRINK * SHRINK : SHRINK;
  double a = d->step > 0 ? d->step : FIRST_STEP;
  tgReal *row[2] = {work + d->nx + d->nt + 2 * d->ny, NULL};
  row[1] = row[0] + d->ny * TABLEAU;
  for (int i = 0; i < d->ny; i++) error[i] = HUGE_VAL;
  for (int k = 0; k < TABLEAU; k++, a /= SHRINK) {
    tgStatus status = difference(d, x, t, side, a, row[k % 2], work);
    if (status != TG_OK) return status;
    extrapolate(k, d->ny, power, row[(k + 1) % 2], row[k % 2], D, error);
  }
  return TG_OK;
}

// the second difference of round-off alone has the variance 6 noise^2
tgStatus tgi_numdiff_noise(const tgiNumDiff *d, const tgReal *x, const tgReal *t, double *noise, double *last, tgReal *work) {
  enum { POINTS = 10 };
  const double apart = 1e-11;
  double *before = last + d->ny;
  tgReal *y = work + d->nx + d->nt;
  for (int i = 0; i < d->ny; i++) noise[i] = last[i] = before[i] = 0;
  for (int k = 0; k < POINTS; k++) {
    tgStatus status = eval(d, x, t, (k + 1) * apart, y, work);
    if (status != TG_OK) return status;
    for (int i = 0; i < d->ny; i++) {
      double second = tgRe(y[i]) - 2 * last[i] + before[i];
      if (k >= 2) noise[i] += second * second / (6 * (POINTS - 2));
      before[i] = last[i];
      last[i] = tgRe(y[i]);
    }
  }
  for (int i = 0; i < d->ny; i++) noise[i] = sqrt(noise[i]);
  return TG_OK;
}

tgiWorst tgi_block_error(const tgReal *D, int ldd, const double *R, int ldr, int rows, int cols) {
  tgiWorst w = {0, -1, -1, 0, 0};
  double scale = 0, worst = -1;
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < cols; j++) {
      double ours = tgRe(D[i * ldd + j]), ref = R[i * ldr + j], diff = fabs(ours - ref);
      if (!isfinite(diff)) diff = HUGE_VAL;
      scale = fmax(scale, fabs(ref));
      if (diff <= worst) continue;
      worst = diff;
      w = (tgiWorst){diff, i, j, ours, ref};
    }
  }
  if (scale > 0) w.error /= scale;
  return w;
}

double tgi_dot_error(const tgReal *J, int m, int n, const tgReal *w, const tgReal *v, const tgReal *Jtw) {
  double left = 0, right = 0, nw = 0, nv = 0, nj = 0;
  for (int i = 0; i < m; i++) {
    double Jv = 0;
    for (int j = 0; j < n; j++) {
      Jv += tgRe(J[i * n + j]) * tgRe(v[j]);
      nj += tgRe(J[i * n + j]) * tgRe(J[i * n + j]);
    }
    left += tgRe(w[i]) * Jv;
    nw += tgRe(w[i]) * tgRe(w[i]);
  }
  for (int j = 0; j < n; j++) {
    right += tgRe(Jtw[j]) * tgRe(v[j]);
    nv += tgRe(v[j]) * tgRe(v[j]);
  }
  double diff = fabs(left - right), size = sqrt(nw) * sqrt(nv) * sqrt(nj);
  if (!isfinite(diff)) return HUGE_VAL;
  return diff == 0 ? 0 : diff / size;
}

static double median(double *x, int n) {
  for (int i = 1; i < n; i++) {
    for (int j = i; j > 0 && x[j - 1] > x[j]; j--) {
      double swap = x[j];
      x[j] = x[j - 1];
      x[j - 1] = swap;
    }
  }
  return n % 2 == 1 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

tgStatus tgi_taylor_slope(const tgiNumDiff *d, const tgReal *x, const tgReal *t, double slope1, double a0, int n, double *slope, bool *flat,
                          tgReal *work) {
  // a remainder counts while it is 1e5 units of round-off: then its slope is right to about 1e-4
  const double clear = 1e5 * 2.2e-16;
  tgReal *y = work + d->nx + d->nt;
  double f0, previous = 0, slopes[SLOPES], a = a0;
  int count = 0, seen = 0;
  tgStatus status = eval(d, x, t, 0, y, work);
  f0 = tgRe(y[0]);
  for (int k = 0; status == TG_OK && k < n && k <= SLOPES; k++, a /= 2) {
    status = eval(d, x, t, a, y, work);
    double f = tgRe(y[0]), r = fabs(f - f0 - a * slope1);
    bool counts = r > clear * fmax(fabs(f), fabs(f0));
    seen += counts;
    if (counts && k > 0 && previous > 0) slopes[count++] = log2(previous / r);
    previous = counts ? r : 0;
  }
  *flat = seen == 0;
  *slope = count >= 2 ? median(slopes, count) : NAN;
  return status;
}
