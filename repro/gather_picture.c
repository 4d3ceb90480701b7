// gather_picture.c: what BA-R5 comes to, as one picture: figure 8 of [barrier].
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"

// panels of W x H pixels
enum { W = 300, H = 300, LOSS_W = 220, LEFT = 10, TOP = 30, GAP = 20 };
static const double reach = 1.4;   // half of a panel [m]
static const char *const colors[] = {"#c0392b", "#1f6fb2"};

// the kind of a cube, by the place that it is to come to
static int kind(const tgTaskTerm *term) { return term->target[0] < 0; }

// a box of the pose q of its free joint, from above
static void box(FILE *f, const double *q, const char *style) {
  double turn = atan2(2 * (q[3] * q[6] + q[4] * q[5]), 1 - 2 * (q[5] * q[5] + q[6] * q[6]));
  fprintf(f, "<rect x='-.05' y='-.05' width='.1' height='.1' transform='translate(%.4f %.4f) rotate(%.2f)' %s/>\n", q[0], q[1],
          turn * 57.29577951308232, style);
}

// where cubes begin (outlines), their ways and where they come to be, regions in grey
static void table(FILE *f, const tgTask *task, const tgCliTrajectory *t, const char *title, int left) {
  const tgModel *m = tg_task_model(task);
  const int *first = tg_model_field_named(m, "body_jntadr").data, *qpos = tg_model_field_named(m, "jnt_qadr").data;
  const int nq = tg_model_nq(m);
  double scale = W / (2 * reach);
  tgTaskTerm term;
  fprintf(f, "<g transform='translate(%d %d)'>\n<text x='0' y='-10'>%s</text>\n"
             "<g transform='translate(%d %d) scale(%.4f %.4f)' stroke-width='0.008' fill='none'>\n",
          left, TOP, title, W / 2, H / 2, scale, -scale);
  for (int i = 0; tg_task_term(task, i, &term); i++)
    fprintf(f, "<circle cx='%.3f' cy='%.3f' r='%g' fill='#e8e8e8'/>\n", term.target[0], term.target[1], term.tolerance);
  for (int i = 0; tg_task_term(task, i, &term); i++) {
    const double *q = t->q + qpos[first[term.body]];
    char style[80];
    snprintf(style, sizeof style, "stroke='%s'", colors[kind(&term)]);
    box(f, q, style);
    fprintf(f, "<polyline stroke='%s' stroke-opacity='.4' points='", colors[kind(&term)]);
    for (int k = 0; k <= t->steps; k += 4) fprintf(f, "%.3f,%.3f ", q[(size_t)k * (size_t)nq], q[(size_t)k * (size_t)nq + 1]);
    snprintf(style, sizeof style, "fill='%s'", colors[kind(&term)]);
    fprintf(f, "'/>\n");
    box(f, q + (size_t)t->steps * (size_t)nq, style);
  }
  fprintf(f, "</g><rect width='%d' height='%d' fill='none' stroke='#999'/>\n</g>\n", W, H);
}

// the loss of each window's plan, of the first one's
static void losses(FILE *f, const tgBarrierRun runs[2], int left) {
  static const char *const dash[] = {"", " stroke-dasharray='4 3'"};
  fprintf(f, "<g transform='translate(%d %d)'>\n<text x='0' y='-10'>share of the loss left: Gather, Sort (dashed)</text>\n", left, TOP);
  for (int i = 0; i < 2; i++) {
    const tgOptimum *o = runs[i].optimum;
    fprintf(f, "<polyline fill='none' stroke='#333' stroke-width='1.5'%s points='", dash[i]);
    for (int k = 0; k < o->ncurve; k++)
      fprintf(f, "%.1f,%.1f ", LOSS_W * o->curve_iteration[k] / fmax(1, o->iterations - 1),
              H - H * fmin(1, o->curve_loss[k] / o->curve_loss[0]));
    fprintf(f, "'/>\n");
  }
  fprintf(f, "<rect width='%d' height='%d' fill='none' stroke='#999'/><text x='0' y='%d'>first window</text>"
             "<text x='%d' y='%d' text-anchor='end'>last</text>\n</g>\n", LOSS_W, H, H + 18, LOSS_W, H + 18);
}

bool tgi_gather_draw(tgRun *run, const tgBarrierRun runs[2]) {
  static const char *const title[] = {"Gather from above", "Sort from above"};
  char path[1200];
  tgError error = {0};
  tgCliTrajectory t[2] = {{.label = "best"}, {.label = "best"}};
  if (run->folder == NULL) return true;
  snprintf(path, sizeof path, "%s/gather.svg", run->folder);
  bool good = true;
  for (int i = 0; i < 2 && good; i++) good = tgi_cli_record_task(runs[i].task, runs[i].optimum->best, NULL, &t[i], &error) == TG_OK;
  FILE *f = good ? fopen(path, "w") : NULL;
  if (f != NULL) {
    fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='13'>\n"
               "<rect width='100%%' height='100%%' fill='white'/>\n", 2 * LEFT + 2 * (W + GAP) + LOSS_W + 60, TOP + H + 30);
    for (int i = 0; i < 2; i++) table(f, runs[i].task, &t[i], title[i], LEFT + i * (W + GAP));
    losses(f, runs, LEFT + 2 * (W + GAP));
    good = tgi_run_picture(run, f, path);
  } else if (!good) tgi_cli_error("reproduce", &error);
  else tgi_cli_say("tangere reproduce: %s cannot be written", path);
  for (int i = 0; i < 2; i++) tgi_cli_trajectory_free(&t[i]);
  return good && f != NULL;
}
