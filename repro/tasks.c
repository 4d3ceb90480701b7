// tasks.c: tasks of models/ run by an experiment, and what it leaves behind.
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "repro/experiments.h"

tgTask *tgi_models_task(const char *file) {
  char path[1024];
  tgError error = {0};
  if (!tgi_models_file(file, path, sizeof path)) return NULL;
  tgTask *task = tg_task_load(path, NULL, &error);
  if (task == NULL) tgi_cli_error("reproduce", &error);
  return task;
}

tgStatus tgi_task_number(tgTask *task, const char *name, double value, tgError *error) {
  char text[40];
  snprintf(text, sizeof text, "%.17g", value);
  return tg_task_contact_option(task, name, text, error);
}

// progress with limits; `stop` is what the optimiser polls
typedef struct Watch { tgCliBar bar; double seconds, loss; volatile int stop; } Watch;

static void watch(void *ctx, const tgProgress *p) {
  Watch *w = ctx;
  tgProgress shown = *p;
  if (w->seconds > 0 && !(p->seconds_left < w->seconds - p->seconds)) shown.seconds_left = w->seconds - p->seconds;
  tgi_cli_progress(&w->bar, &shown);
  if (tgi_cli_interrupted || (w->seconds > 0 && p->seconds >= w->seconds) || (w->loss > 0 && p->best <= w->loss)) w->stop = 1;
}

tgOptimum *tgi_run_task(tgRun *run, const tgTaskRun *how, tgTask **task) {
  char path[1024];
  tgError error = {0};
  if (!tgi_models_file(how->file, path, sizeof path)) return NULL;
  tgTask *t = tg_task_load(path, NULL, &error);
  tgOptimum *o = NULL;
  Watch w = {.bar = {.tty = isatty(2)}, .seconds = how->seconds, .loss = how->loss};
  tgOptimizeOptions options = tg_optimize_default();
  options.unverified = !how->held;
  options.seed = how->seed;
  options.threads = run->cli->threads;
  options.progress = watch;
  options.progress_ctx = &w;
  options.cancel = how->seconds > 0 || how->loss > 0 ? &w.stop : &tgi_cli_interrupted;
  if (t != NULL && tg_task_override(t, NULL, how->method, how->iterations, &error) == TG_OK &&
      (!how->zero_contact || tg_task_zero_contact_gradient(t, &error) == TG_OK)) {
    tgi_cli_say("%s: %s by %s, seed %d", run->experiment->id, how->file, tg_task_method(t), (int)how->seed);
    o = tg_optimize(t, &options);
  }
  // a method that ends in a failed step still has a best iterate; anything else is a fault
  if (o != NULL && o->status < 0 && o->status != TG_ERR_NOT_FINITE) error = o->error;
  if (o == NULL || error.status != TG_OK) tgi_cli_error("reproduce", &error);
  if (w.bar.tty) fputc('\n', stderr);
  if (task != NULL && o != NULL) *task = t;
  else tg_task_free(t);
  return o;
}

tgOptimum *tgi_run_starts(tgRun *run, const tgTaskRun *how, int starts, double enough, int *used, tgTask **task) {
  tgOptimum *best = NULL;
  int n = 0;
  for (; n < starts && !tgi_cli_interrupted && !(best != NULL && best->best_loss <= enough); n++) {
    tgTaskRun one = *how;
    one.seed = (uint64_t)n;
    tgTask *t = NULL;
    tgOptimum *o = tgi_run_task(run, &one, &t);
    if (o != NULL && (best == NULL || o->best_loss < best->best_loss)) {
      tg_optimum_free(best);
      if (best != NULL) tg_task_free(*task);
      best = o;
      *task = t;
    } else {
      tg_optimum_free(o);
      tg_task_free(t);
      if (o == NULL) break;
    }
  }
  if (used != NULL) *used = n;
  return best;
}

bool tgi_run_leave_task(tgRun *run, const char *name, const tgTask *task, const tgOptimum *o) {
  if (run->folder == NULL || o->iterations == 0) return true;
  char folder[1200];
  snprintf(folder, sizeof folder, "%s/%s", run->folder, name);
  json_t *json = json_pack("{s:s, s:s, s:o, s:s, s:f, s:f, s:f}", "version", tg_version(), "command", "reproduce",
                           "model", tgi_cli_input(tg_task_model_path(task)), "method", tg_task_method(task),
                           "first_loss", o->first_loss, "best_loss", o->best_loss, "seconds", o->seconds);
  bool good = tgi_cli_write_optimum(task, o, folder, name, json, true, 2) == TG_EXIT_OK;
  json_decref(json);
  strcat(folder, "/replay.html");
  if (good) json_array_append_new(run->left, json_string(folder));
  return good;
}

void tgi_run_verification(tgRun *run, const char *scene, const tgVerification *v) {
  for (int i = 0; i < v->n; i++) {
    const tgVerifyRow *r = &v->row[i];
    char name[120], note[360];
    const char *called = strcmp(r->name, "finer") == 0 ? "fine" : r->name;   // as rows are compared from outside
    snprintf(name, sizeof name, "%s%sverify.%s.error_m", scene != NULL ? scene : "", scene != NULL ? "." : "", called);
    snprintf(note, sizeof note, "replayed: %s; %s%s%s", r->text, tg_verdict_text(r->verdict), r->reason[0] != '\0' ? ": " : "", r->reason);
    tgi_run_any(run, name, r->distance, "m", NAN, note);
  }
}

bool tgi_run_verify(tgRun *run, const char *scene, const tgTask *task, const double *x) {
  tgVerification v;
  tgError error = {0};
  if (tg_verify(task, x, &tgi_cli_interrupted, &v, &error) != TG_OK) return tgi_cli_error("reproduce", &error), false;
  tgi_run_verification(run, scene, &v);
  return true;
}

bool tgi_run_picture(tgRun *run, FILE *f, const char *path) {
  fprintf(f, "</svg>\n");
  bool good = !ferror(f);
  good = fclose(f) == 0 && good;
  if (good) json_array_append_new(run->left, json_string(path));
  else tgi_cli_say("tangere reproduce: %s cannot be written", path);
  return good;
}

bool tgi_run_leave(tgRun *run, const char *name, const char *title, const tgModel *model, double h, tgCliTrajectory *trajectory, int count,
                   const tgReplayMarker *marker, int nmarker) {
  if (run->folder == NULL) return true;
  char folder[1200];
  snprintf(folder, sizeof folder, "%s/%s", run->folder, name);
  tgCliRun out = {.folder = folder, .title = title, .model = model, .h = h, .ntrajectory = count,
                  .trajectory = trajectory, .nmarker = nmarker, .marker = marker, .replay = true};
  if (tgi_cli_write_run(&out) != TG_EXIT_OK) return false;
  strcat(folder, "/replay.html");
  json_array_append_new(run->left, json_string(folder));
  return true;
}
