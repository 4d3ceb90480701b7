// scene.c: models of models/, opened with a simulation of each.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/shared/rows.h"

bool tgi_models_file(const char *name, char *path, size_t size) {
  const char *folder = getenv("TANGERE_MODELS");
  char exe[900];
  tgi_cli_own_folder(exe, sizeof exe);
  if (folder != NULL) snprintf(path, size, "%s/%s", folder, name);
  else snprintf(path, size, "%s/../../models/%s", exe, name);
  // of an installed program
  if (folder == NULL && access(path, R_OK) != 0) snprintf(path, size, "%s/../share/tangere/models/%s", exe, name);
  if (access(path, R_OK) == 0) return true;
  tgi_cli_say("tangere: %s is not there; set TANGERE_MODELS to the folder models/ of the source", path);
  return false;
}

bool tgi_scene_open_under(tgScene *s, const char *file, const char *word, const tgContactOptions *options) {
  char path[1024];
  tgError error = {0};
  *s = (tgScene){.model = NULL};
  if (!tgi_models_file(file, path, sizeof path)) return false;
  s->model = tg_model_load(path, NULL, &error);
  s->contact = s->model != NULL ? tg_contact_create(s->model, word, options, &error) : NULL;
  s->sim = s->contact != NULL ? tg_sim_create(s->model, s->contact, NULL, &error) : NULL;
  if (s->sim != NULL) {
    s->h = tg_model_timestep(s->model);
    return true;
  }
  tgi_cli_error("reproduce", &error);
  tgi_scene_close(s);
  return false;
}

bool tgi_scene_open(tgScene *s, const char *file, const tgContactOptions *options) {
  return tgi_scene_open_under(s, file, tg_contact_words(0), options);
}

void tgi_scene_close(tgScene *s) {
  tg_sim_free(s->sim);
  tg_contact_free(s->contact);
  tg_model_free(s->model);
  *s = (tgScene){.model = NULL};
}

tgStatus tgi_scene_step(tgScene *s, tgStepInfo *info) { return tg_sim_step_growing(s->sim, s->h, info); }

static int by_value(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

double tgi_median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, by_value);
  return x[n / 2];
}
