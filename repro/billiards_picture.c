// billiards_picture.c: what the optimisations of BA-R2 came to, as one picture: figure 5 of [barrier].
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"

// panels of W x H pixels; a logarithmic axis of losses over this range, below which a loss is drawn as 0
enum { W = 420, H = 300, LEFT = 60, TOP = 30, GAP = 70 };
static const double least = 1e3, most = 1e8;

static double height(double loss) { return loss < least ? H : H * log(most / fmin(loss, most)) / log(most / least); }

static void losses(FILE *f, const tgBarrierRun *runs, int n) {
  int longest = 1;
  for (int i = 0; i < n; i++) longest = longest < runs[i].optimum->iterations ? runs[i].optimum->iterations : longest;
  fprintf(f, "<g transform='translate(%d %d)'>\n<text x='0' y='-10'>loss of each target set over iterations; 0 at the "
             "bottom</text>\n", LEFT, TOP);
  for (double loss = most; loss > 0.99 * least; loss /= 10) {
    char name[16] = "0";
    if (loss > 1.01 * least) snprintf(name, sizeof name, "%.0e", loss);
    fprintf(f, "<path d='M0 %.1fh%d' stroke='#ddd'/><text x='-6' y='%.1f' text-anchor='end'>%s</text>\n", height(loss),
            W, height(loss) + 4, name);
  }
  for (int i = 0; i < n; i++) {
    const tgOptimum *o = runs[i].optimum;
    fprintf(f, "<polyline fill='none' stroke='hsl(%d 60%% 45%%)' stroke-width='1.5' points='", 360 * i / n);
    for (int k = 0; k < o->ncurve; k++) fprintf(f, "%.1f,%.1f ", W * o->curve_iteration[k] / longest, height(o->curve_loss[k]));
    fprintf(f, "'/>\n");
  }
  fprintf(f, "<rect width='%d' height='%d' fill='none' stroke='#999'/><text x='0' y='%d'>0</text>"
             "<text x='%d' y='%d' text-anchor='end'>%d</text>\n</g>\n", W, H, H + 18, W, H + 18, longest);
}

// the motion of the best iterate: every ball where it began, its way, and where it came to be; the places sought
static void table(FILE *f, const tgTask *task, const tgCliTrajectory *t) {
  const tgModel *m = tg_task_model(task);
  const int nq = tg_model_nq(m), nbody = tg_model_count(m, TG_THING_BODY);
  tgTaskTerm term;
  const double *end = t->q + t->steps * nq, scale = W / 14.0, radius = 1 / 1.1;
  fprintf(f, "<g transform='translate(%d %d)'>\n<text x='0' y='-10'>set 1 from above: start grey, way, end; places sought green</text>\n"
             "<clipPath id='c'><rect width='%d' height='%d'/></clipPath><g clip-path='url(#c)'>"
             "<g transform='translate(%.1f %.1f) scale(%.4f %.4f)' stroke-width='0.05' fill='none'>\n",
          LEFT + W + GAP, TOP, W, H, 5 * scale, H / 2.0, scale, -scale);
  for (int i = 0; tg_task_term(task, i, &term); i++)
    fprintf(f, "<circle cx='%.3f' cy='%.3f' r='%g' fill='#bfe3c3' stroke='#2a8a3a'/>\n", term.target[0], term.target[1], term.tolerance);
  for (int b = 1; b < nbody; b++) {
    const double *q = t->q + 7 * (b - 1), *p = end + 7 * (b - 1);
    bool sought = false;
    for (int i = 0; tg_task_term(task, i, &term); i++) sought = sought || term.body == b;
    const char *color = b == 1 ? "#c0392b" : sought ? "#2a8a3a" : "#1f6fb2";
    fprintf(f, "<circle cx='%.3f' cy='%.3f' r='%.3f' stroke='#aaa'/><polyline stroke='%s' points='", q[0], q[1], radius, color);
    for (int k = 0; k <= t->steps; k++) fprintf(f, "%.3f,%.3f ", t->q[k * nq + 7 * (b - 1)], t->q[k * nq + 7 * (b - 1) + 1]);
    fprintf(f, "'/><circle cx='%.3f' cy='%.3f' r='%.3f' stroke='%s'/>\n", p[0], p[1], radius, color);
  }
  fprintf(f, "</g></g><rect width='%d' height='%d' fill='none' stroke='#999'/>\n</g>\n", W, H);
}

bool tgi_billiards_draw(tgRun *run, const tgBarrierRun *runs, int n) {
  char path[1200];
  tgError error = {0};
  tgCliTrajectory t = {.label = "best"};
  if (run->folder == NULL) return true;
  snprintf(path, sizeof path, "%s/billiards.svg", run->folder);
  FILE *f = tgi_cli_record_task(runs[0].task, runs[0].optimum->best, NULL, &t, &error) == TG_OK ? fopen(path, "w") : NULL;
  bool good = f != NULL;
  if (good) {
    fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='13'>\n"
               "<rect width='100%%' height='100%%' fill='white'/>\n", LEFT + 2 * W + GAP + 20, TOP + H + 30);
    losses(f, runs, n);
    table(f, runs[0].task, &t);
    good = tgi_run_picture(run, f, path);
  } else if (error.text[0] != '\0') tgi_cli_error("reproduce", &error);
  else tgi_cli_say("tangere reproduce: %s cannot be written", path);
  tgi_cli_trajectory_free(&t);
  return good;
}
