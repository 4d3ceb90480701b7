// landscape_picture.c: cuts through a cost, its slope along them, and the cost rebuilt from the slope, as one picture: figures 5 and 6
// of [damped].
#include <math.h>

#include "repro/landscape.h"

// panels of W x H pixels
enum { W = 440, H = 260, LEFT = 60, TOP = 40, GAP = 70 };

static double held(double x, double low, double high) { return fmin(high, fmax(low, x)); }

// the places from the first to the last of all of them: one may lack its ends
static void span(const tgLandscape *l, int n, double p[2]) {
  p[0] = INFINITY, p[1] = -INFINITY;
  for (int k = 0; k < n; k++)
    for (int i = 0; i < l[k].n; i++) {
      p[0] = fmin(p[0], l[k].p[i]);
      p[1] = fmax(p[1], l[k].p[i]);
    }
}

static void line(FILE *f, const tgLandscape *l, const double *y, const double p[2], double low, double high, bool dashed) {
  fprintf(f, "<polyline fill='none' stroke='%s' stroke-width='1.5' %s points='", l->color, dashed ? "stroke-dasharray='4 3'" : "");
  for (int i = 0; i < l->n; i++)
    fprintf(f, "%.1f,%.1f ", (double)W * (l->p[i] - p[0]) / (p[1] - p[0]), (double)H * (high - held(y[i], low, high)) / (high - low));
  fprintf(f, "'/>\n");
}

static void panel(FILE *f, int place, const char *title, const double p[2], double low, double high) {
  fprintf(f, "<g transform='translate(%d %d)'>\n<text x='0' y='-12'>%s</text><text x='0' y='%d'>%.3g</text>"
             "<text x='%d' y='%d' text-anchor='end'>%.3g</text><text x='-6' y='%d' text-anchor='end'>%.3g</text>"
             "<text x='-6' y='10' text-anchor='end'>%.3g</text>\n<path d='M0 %.1fh%d' stroke='#ddd'/>\n",
          LEFT + place * (W + GAP), TOP, title, H + 18, p[0], W, H + 18, p[1], H, low, high,
          (double)H * high / (high - low), low < 0 ? W : 0);
}

static void frame(FILE *f) { fprintf(f, "<rect width='%d' height='%d' fill='none' stroke='#999'/></g>\n", W, H); }

static void names(FILE *f, const tgLandscape *l, int n) {
  for (int k = 0; k < n; k++)
    fprintf(f, "<text x='%d' y='%d' fill='%s'>%s</text>\n", LEFT + k % 3 * (2 * W + GAP) / 3, TOP + H + 44 + 18 * (k / 3), l[k].color,
            l[k].name);
}

// sum of the slopes by trapezoids, from the first cost
static void rebuild(const tgLandscape *l, double *y) {
  y[0] = l->x[0];
  for (int i = 1; i < l->n; i++) y[i] = y[i - 1] + (l->g[i] + l->g[i - 1]) / 2 * (l->p[i] - l->p[i - 1]);
}

bool tgi_landscape_draw(tgRun *run, const char *file, const char *variable, const tgLandscape *l, int n, double steepest) {
  char path[1200], title[200];
  double low = INFINITY, high = -INFINITY, p[2], y[TG_LANDSCAPE_MOST];
  if (run->folder == NULL) return true;
  snprintf(path, sizeof path, "%s/%s", run->folder, file);
  FILE *f = fopen(path, "w");
  if (f == NULL) return tgi_cli_say("tangere reproduce: %s cannot be written", path), false;
  for (int k = 0; k < n; k++)
    for (int i = 0; i < l[k].n; i++) {
      low = fmin(low, l[k].x[i]);
      high = fmax(high, l[k].x[i]);
    }
  span(l, n, p);
  double room = 0.1 * (high - low);
  low -= room, high += room;
  fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='13'>\n"
             "<rect width='100%%' height='100%%' fill='white'/>\n", LEFT + 2 * W + GAP + 20, TOP + H + 50 + 18 * ((n + 2) / 3));
  snprintf(title, sizeof title, "cost over %.60s; dashed: the sum of its slopes", variable);
  panel(f, 0, title, p, low, high);
  for (int k = 0; k < n; k++) {
    rebuild(&l[k], y);
    line(f, &l[k], y, p, low, high, true);
    line(f, &l[k], l[k].x, p, low, high, false);
  }
  frame(f);
  snprintf(title, sizeof title, "slope, cut off at %.3g", steepest);
  panel(f, 1, title, p, -steepest, steepest);
  for (int k = 0; k < n; k++) line(f, &l[k], l[k].g, p, -steepest, steepest, false);
  frame(f);
  names(f, l, n);
  return tgi_run_picture(run, f, path);
}
