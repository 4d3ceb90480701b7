// planks_picture.c: what BA-R1 came to, as one picture: table 2 of [barrier] with ours, and the stack from the side.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"
#include "repro/planks.h"

// panels of W x H pixels; decades of mu and of margins that the left one shows
enum { W = 420, H = 340, LEFT = 70, TOP = 30, GAP = 50, MU0 = -10, MU1 = -5, M0 = -5, M1 = -1 };

static double across(double mu) { return 30 + (W - 60) * (log10(mu) - MU0) / (MU1 - MU0); }
static double down(double margin) { return H - H * (log10(margin) - M0) / (M1 - M0); }

static void line(FILE *f, const tgPlanksPicture *p, const double *margin, const char *color, const char *name, int at) {
  fprintf(f, "<text x='40' y='%d' fill='%s'>%s</text>\n<polyline fill='none' stroke='%s' points='", 24 + 18 * at, color, name, color);
  for (int k = 0; k < p->n; k++)
    if (!isnan(margin[k])) fprintf(f, "%.1f,%.1f ", across(p->mu[k]), down(margin[k]));
  fprintf(f, "'/>\n");
  for (int k = 0; k < p->n; k++)
    if (!isnan(margin[k])) fprintf(f, "<circle cx='%.1f' cy='%.1f' r='3.5' fill='%s'/>\n", across(p->mu[k]), down(margin[k]), color);
}

static void margins(FILE *f, const tgPlanksPicture *p) {
  fprintf(f, "<g transform='translate(%d %d)'>\n<text x='0' y='-10'>mean margin of planks on slides over mu</text>\n", LEFT, TOP);
  for (int e = M0; e <= M1; e++)
    fprintf(f, "<path d='M0 %.1fh%d' stroke='#ddd'/><text x='-6' y='%.1f' text-anchor='end'>1e%d m</text>\n",
            down(pow(10, e)), W, down(pow(10, e)) + 4, e);
  for (int e = MU0; e <= MU1; e++) fprintf(f, "<text x='%.1f' y='%d' text-anchor='middle'>1e%d</text>\n", across(pow(10, e)), H + 18, e);
  line(f, p, p->published, "#555", "published", 0);
  line(f, p, p->paper, "#c0392b", "ours, the publication's form", 1);
  line(f, p, p->moment, "#1f6fb2", "ours, moment form", 2);
  fprintf(f, "<rect width='%d' height='%d' fill='none' stroke='#999'/>\n</g>\n", W, H);
}

static void stack(FILE *f, const tgPlanksPlace *place, const char *style) {
  for (int b = 0; b < TG_PLANKS; b++)
    fprintf(f, "<rect x='-1' y='-0.1' width='2' height='0.2' transform='translate(%.4f %.4f) rotate(%.3f)' %s/>\n", place[b].x, place[b].z,
            -place[b].tilt * 180 / M_PI, style);
}

static void sides(FILE *f, const tgPlanksPicture *p) {
  double scale = W / 7.0;
  fprintf(f, "<g transform='translate(%d %d)'>\n<text x='0' y='-10'>mu 1e-7: on slides, after 10 s; free, %.2g s after "
             "letting go</text>\n", LEFT + W + GAP, TOP, p->fell);
  fprintf(f, "<clipPath id='c'><rect width='%d' height='%d'/></clipPath><g clip-path='url(#c)'>"
             "<g transform='translate(%.1f %d) scale(%.4f %.4f)' stroke-width='0.015'>\n", W, H, 1.6 * scale, H - 10,
             scale, -scale);
  fprintf(f, "<path d='M-2 0h10' stroke='#999'/>\n");
  stack(f, p->stands, "fill='#d9b48f' stroke='#7a5230'");
  stack(f, p->falls, "fill='none' stroke='#c0392b'");
  fprintf(f, "</g></g><rect width='%d' height='%d' fill='none' stroke='#999'/>\n</g>\n", W, H);
}

bool tgi_planks_draw(tgRun *run, const tgPlanksPicture *p) {
  char path[1200];
  if (run->folder == NULL) return true;
  snprintf(path, sizeof path, "%s/stack.svg", run->folder);
  FILE *f = fopen(path, "w");
  if (f == NULL) return tgi_cli_say("tangere reproduce: %s cannot be written", path), false;
  fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='13'>\n"
             "<rect width='100%%' height='100%%' fill='white'/>\n", LEFT + 2 * W + GAP + 20, TOP + H + 30);
  margins(f, p);
  sides(f, p);
  return tgi_run_picture(run, f, path);
}
