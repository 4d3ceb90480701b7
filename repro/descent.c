// descent.c: steepest descent in few variables, for experiments that show what a gradient finds by itself.
#include <math.h>
#include <string.h>

#include "repro/experiments.h"

enum { MOST = TG_DESCENT_MOST };

static double size_of(const double *g, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += g[i] * g[i];
  return sqrt(sum);
}

bool tgi_descend(const tgDescent *d, double *x, double *loss, int *tries) {
  double g[MOST], slope[MOST], next[MOST], value;
  size_t bytes = (size_t)d->n * sizeof *x;
  if (!d->value(d->ctx, x, loss, g)) return false;
  double stride = d->longest / size_of(g, d->n);
  for (*tries = 1; *tries < d->tries && *loss > d->enough && stride * size_of(g, d->n) > d->shortest; (*tries)++) {
    for (int i = 0; i < d->n; i++) next[i] = x[i] - stride * g[i];
    if (!d->value(d->ctx, next, &value, slope)) return false;
    double gain = 1e-4 * stride * pow(size_of(g, d->n), 2);   // Armijo's condition
    if (!(value < *loss - gain)) {
      stride /= 2;
      continue;
    }
    memcpy(x, next, bytes);
    memcpy(g, slope, bytes);
    *loss = value;
    stride = fmin(2 * stride, d->longest / size_of(g, d->n));
  }
  return true;
}
