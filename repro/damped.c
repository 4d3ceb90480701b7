// damped.c: what the experiments of the damped paper share: see damped.h.
#include <math.h>

#include "repro/damped.h"

// ---- an outcome over a parameter ----

bool tgi_cut_draw(tgRun *run, const char *file, const char *variable, const tgCut *cut, const tgDrawn *drawn, size_t n, double steepest) {
  tgLandscape l[8];   // no picture has more
  for (size_t k = 0; k < n; k++) {
    const tgCut *c = &cut[drawn[k].of];
    l[k] = (tgLandscape){.name = drawn[k].name, .color = drawn[k].color, .n = c->n, .p = c->p, .x = c->x, .g = c->g};
  }
  return tgi_landscape_draw(run, file, variable, l, (int)n, steepest);
}

double tgi_cut_variation(const tgCut *c) {
  double sum = 0;
  for (int i = 1; i < c->n; i++) sum += fabs(c->x[i] - c->x[i - 1]);
  return sum;
}

#define FLAT 1e-9   // of a slope: below it is rounding

int tgi_cut_sign_changes(const tgCut *c) {
  int n = 0;
  double last = 0;
  for (int i = 0; i < c->n; i++) {
    if (fabs(c->g[i]) < FLAT) continue;
    n += c->g[i] * last < 0;
    last = c->g[i];
  }
  return n;
}

double tgi_cut_steepest(const tgCut *c) {
  double most = 0;
  for (int i = 0; i < c->n; i++) most = fmax(most, fabs(c->g[i]));
  return most;
}

double tgi_cut_range(const tgCut *c) {
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < c->n; i++) {
    low = fmin(low, c->x[i]);
    high = fmax(high, c->x[i]);
  }
  return high - low;
}

double tgi_cut_rebuilt_error(const tgCut *c) {
  double sum = c->x[0], most = 0;
  for (int i = 1; i < c->n; i++) {
    sum += (c->g[i] + c->g[i - 1]) / 2 * (c->p[i] - c->p[i - 1]);
    most = fmax(most, fabs(sum - c->x[i]));
  }
  return most / tgi_cut_range(c);
}

enum { WIDTHS = 10, SIDE = 4 };

bool tgi_difference_error(bool (*value)(void *ctx, double x, double *out), void *ctx, double x, double g, double *error) {
  static const double share[SIDE] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
  *error = INFINITY;
  for (int k = 0; k < WIDTHS; k++) {
    double w = 1e-3 * pow(10, -0.5 * k), slope = 0, up, down;
    for (int i = 0; i < SIDE; i++) {
      if (!value(ctx, x + (i + 1) * w, &up) || !value(ctx, x - (i + 1) * w, &down)) return false;
      slope += share[i] * (up - down) / w;
    }
    *error = fmin(*error, fabs(slope - g));
  }
  return true;
}

// ---- scenes ----

// settings "name=value name=value" into the options of `damped`
static bool options(const char *settings, tgAnyContactOptions *o) {
  char name[64], value[64];
  int used;
  tgError error = {0};
  if (tg_contact_default("damped", &o->of, sizeof *o) != TG_OK) return false;
  for (const char *at = settings; sscanf(at, " %63[^=]=%63s%n", name, value, &used) == 2; at += used)
    if (tg_contact_set(&o->of, name, value, &error) != TG_OK) {
      tgi_cli_error("reproduce", &error);
      return false;
    }
  return true;
}

bool tgi_damped_open(tgScene *s, const char *file, const char *settings, double h, int steps, tgRollout **rollout) {
  tgAnyContactOptions o;
  tgError error = {0};
  tgRolloutOptions r = tg_rollout_default();
  *s = (tgScene){.model = NULL};
  *rollout = NULL;
  if (!options(settings, &o) || !tgi_scene_open_under(s, file, "damped", &o.of)) return false;
  r.h = h;
  r.steps = steps;
  *rollout = tg_rollout_create(s->model, s->contact, &r, &error);
  if (*rollout != NULL) return true;
  tgi_cli_error("reproduce", &error);
  tgi_scene_close(s);
  return false;
}

void tgi_damped_close(tgScene *s, tgRollout *rollout) {
  tg_rollout_free(rollout);
  tgi_scene_close(s);
}

bool tgi_damped_roll(tgRollout *r, const tgRolloutRun *run, double *value) {
  tgRolloutResult result;
  tgStatus status = tg_rollout_run(r, run, &result);
  *value = result.loss;
  if (status != TG_OK && status != TG_CANCELLED) tgi_cli_say("%s", result.error.text);
  return status == TG_OK;
}

void tgi_damped_row(tgRun *run, const char *name, const char *what, double value, const char *unit, const char *note) {
  char full[96];
  snprintf(full, sizeof full, "%s%s%s", name, name[0] != '\0' ? "." : "", what);
  tgi_run_any(run, full, value, unit, NAN, note);
}

bool tgi_damped_left_out(bool found, bool *good) {
  bool out = found && !*good && !tgi_cli_interrupted;
  *good = *good || out;
  return out;
}
