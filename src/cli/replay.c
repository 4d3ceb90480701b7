// replay.c: tangere replay FOLDER ...: replay.html again from what runs left, one or several side by side.
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "output/npz.h"
#include "output/replay_signals.h"
#include "sim/sim.h"

enum { KEPT_FIGURES = 4, KEPT_TARGETS = 16, KEPT_RUNS = 3, FOLDERS = 8 };

// one folder: what a part of the replay is made from
typedef struct Folder {
  const char *path;
  json_t *run;
  tgModel *model;
  tgNpz npz;
  tgReplayModel store;
  tgReplayShown shown[KEPT_RUNS]; int nshown;
  tgReplayMarker marker[KEPT_TARGETS];
  tgReplayFigure figure[KEPT_FIGURES + 1];
  char label[64];
} Folder;

static const char *input(const json_t *run, const char *key, const char *what) {
  return json_string_value(json_object_get(json_object_get(run, key), what));
}

// ---- a folder read ----

static int open_folder(const tgCli *cli, const char *path, Folder *f) {
  char name[1100];
  json_error_t why;
  tgError error = {0};
  f->path = path;
  snprintf(name, sizeof name, "%s/run.json", path);
  f->run = json_load_file(name, JSON_REJECT_DUPLICATES, &why);
  const char *model = f->run != NULL ? input(f->run, "model", "path") : NULL;
  if (model == NULL) {
    tgi_cli_say("tangere replay: %s: %s; give the folder that simulate or optimize wrote", name, f->run != NULL ? "it names no model" : why.text);
    return TG_EXIT_INPUT;
  }
  snprintf(name, sizeof name, "%s/trajectory.npz", path);
  f->model = tgi_cli_load_model(cli, model);
  if (f->model == NULL) return TG_EXIT_INPUT;
  error.status = tgi_npz_read(name, 0, NULL, &f->npz, &error);
  return error.status == TG_OK ? TG_EXIT_OK : tgi_cli_error("replay", &error);
}

static void forget_shown(Folder *f) {
  for (int i = 0; i < f->nshown; i++) tgi_replay_shown_free(&f->shown[i]);
  f->nshown = 0;
  tgi_replay_model_free(&f->store);
}

static void close_folder(Folder *f) {
  forget_shown(f);
  tgi_npz_free(&f->npz);
  tg_model_free(f->model);
  json_decref(f->run);
}

// the runs of a folder, appended to the def's trajectories, and the shapes of the last
static tgStatus show_runs(Folder *f, int run, tgReplayTrajectory *trajectory, int *count, tgReplayShapes *shapes, tgError *error) {
  static const char *const label[KEPT_RUNS] = {"", "first", "best"};
  const tgNpzArray *h = tgi_npz_get(&f->npz, f->path, "timestep", TG_NPZ_F8, 0, NULL, error);
  if (h == NULL) return TG_ERR_PARSE;
  tgSim *sim = tg_sim_create(f->model, NULL, NULL, error);
  tgStatus st = sim == NULL ? TG_ERR_MEMORY : TG_OK;
  for (int i = 0; i < KEPT_RUNS && st == TG_OK; i++) {
    tgTrajectory stored;
    if (!tgi_trajectory_has(&f->npz, label[i])) continue;
    st = tgi_trajectory_find(&f->npz, f->path, f->model, label[i], &stored, error);
    if (st == TG_OK && i > 0) st = tgi_cli_set_parameters(f->run, label[i], sim, error);
    if (st != TG_OK) break;
    tgReplayShown *shown = &f->shown[f->nshown++];
    st = tgi_replay_show(sim, &stored, i == 0 ? "simulation" : label[i], NAN, *(const double *)h->data, shown, error);
    trajectory[*count] = shown->trajectory;
    trajectory[*count].run = run;
    if (st == TG_OK) ++*count;
  }
  if (st == TG_OK) st = tgi_replay_model(&sim->m, NULL, &f->store, shapes);
  tg_sim_free(sim);
  return st;
}

// the loss curve, and the iterates' places on it: the first, and the least finite loss
static void show_loss(const Folder *f, tgReplayRun *run, tgReplayTrajectory *trajectory, int count) {
  const size_t any[] = {SIZE_MAX};
  const tgNpzArray *x = tgi_npz_get(&f->npz, "", "loss_iteration", TG_NPZ_F8, 1, any, NULL);
  const tgNpzArray *y = x == NULL ? NULL : tgi_npz_get(&f->npz, "", "loss", TG_NPZ_F8, 1, x->shape, NULL);
  if (y == NULL || x->shape[0] == 0 || x->shape[0] > INT_MAX) return;
  run->nloss = (int)x->shape[0];
  run->loss_x = x->data;
  run->loss_y = y->data;
  run->loss_label = "loss";
  if (count != 2) return;
  trajectory[0].iteration = run->loss_x[0];
  trajectory[1].iteration = run->loss_x[tgi_cli_least(run->loss_y, run->nloss)];
}

static void show_rest(Folder *f, tgReplayRun *run) {
  static const char *const key[KEPT_FIGURES] = {"first_loss", "best_loss", "simulations", "distance_m"};
  static const char *const name[KEPT_FIGURES] = {"loss, first", "loss, best", "simulations", "distance [m]"};
  const size_t shape[] = {SIZE_MAX, 3};
  const tgNpzArray *target = tgi_npz_get(&f->npz, "", "target", TG_NPZ_F8, 2, shape, NULL);
  for (size_t i = 0; target != NULL && i < target->shape[0] && i < KEPT_TARGETS; i++) {
    tgReplayMarker *mark = &f->marker[run->nmarker++];
    *mark = (tgReplayMarker){.name = "target", .rgba = TG_CLI_TARGET_COLOR};
    memcpy(mark->pos, (const double *)target->data + 3 * i, sizeof mark->pos);
  }
  for (int i = 0; i < KEPT_FIGURES; i++) {
    const json_t *value = json_object_get(f->run, key[i]);
    if (json_is_number(value)) f->figure[run->nfigure++] = (tgReplayFigure){.name = name[i], .value = json_number_value(value)};
  }
  const char *track_body = json_string_value(json_object_get(f->run, "track_body"));
  int track = track_body == NULL ? -1 : tg_model_find(f->model, TG_THING_BODY, track_body);
  run->track = track > 0 ? track : 0;
  run->marker = f->marker;
  run->figure = f->figure;
  run->label = f->label;
}

// ---- the page ----

static tgStatus show_folder(Folder *f, int i, tgReplayDef *def, tgReplayShapes *shapes, tgReplayRun *run, tgReplayTrajectory *trajectory, tgError *error) {
  int from = def->ntrajectory;
  forget_shown(f);   // of an earlier page
  run[i] = (tgReplayRun){.model = i};
  shapes[i] = (tgReplayShapes){0};
  def->nmodel = def->nrun = i + 1;
  TG_TRY(show_runs(f, i, trajectory, &def->ntrajectory, &shapes[i], error));
  show_loss(f, &run[i], trajectory + from, def->ntrajectory - from);
  show_rest(f, &run[i]);
  return TG_OK;
}

// what tells folders apart: their names, with the contact model where the runs say it
static void name_folders(Folder *folder, int n) {
  for (int i = 0; i < n; i++) {
    size_t end = strlen(folder[i].path);
    while (end > 1 && folder[i].path[end - 1] == '/') end--;
    char path[1100];
    snprintf(path, sizeof path, "%.*s", (int)end, folder[i].path);
    const char *contact = json_string_value(json_object_get(folder[i].run, "contact"));
    snprintf(folder[i].label, sizeof folder[i].label, "%.40s%s%.15s%s", tgi_cli_base_name(path), contact != NULL ? " (" : "", contact != NULL ? contact : "",
             contact != NULL ? ")" : "");
  }
}

// the folders of one page
typedef struct Folders {
  Folder *folder;
  int n;
} Folders;

static tgStatus write_page(void *ctx, const char *path, tgError *error) {
  const Folders *all = ctx;
  Folder *folder = all->folder;
  int n = all->n;
  tgReplayShapes shapes[FOLDERS];
  tgReplayRun run[FOLDERS];
  tgReplayTrajectory trajectory[FOLDERS * KEPT_RUNS];
  const char *task = input(folder[0].run, "task", "path"), *model = input(folder[0].run, "model", "path");
  tgReplayDef def = {.title = tgi_cli_base_name(task != NULL ? task : model), .model = shapes, .run = run, .trajectory = trajectory};
  tgStatus st = TG_OK;
  if (n > 1) name_folders(folder, n);
  for (int i = 0; i < n && st == TG_OK; i++) st = show_folder(&folder[i], i, &def, shapes, run, trajectory, error);
  if (st == TG_OK) st = tgi_replay_write(&def, NULL, path, error);
  if (st != TG_OK && error->text[0] == '\0') snprintf(error->text, sizeof error->text, "%s", tg_status_text(st));
  return error->status = st;
}

static int page(const tgCli *cli, Folders *all) {
  tgError error = {0};
  char path[1100];
  if (cli->out != NULL) snprintf(path, sizeof path, "%s", cli->out);
  else snprintf(path, sizeof path, "%s/replay.html", cli->file);
  if (write_page(all, path, &error) != TG_OK) return tgi_cli_error("replay", &error);
  tgi_cli_say("wrote %s", path);
  return TG_EXIT_OK;
}

int tgi_cli_replay(const tgCli *cli) {
  if (cli->live) return tgi_cli_live(cli);
  bool pictures = cli->png != NULL || cli->video != NULL;
  if (cli->noperand > FOLDERS || (cli->noperand > 1 && cli->out == NULL && !pictures)) {
    tgi_cli_say(cli->noperand > FOLDERS ? "tangere replay: at most %d folders in one page" : "tangere replay: name the page of several folders by --out FILE.html", FOLDERS);
    return TG_EXIT_USAGE;
  }
  Folder folder[FOLDERS] = {0};
  Folders all = {folder, 0};
  int code = TG_EXIT_OK;
  while (code == TG_EXIT_OK && all.n < cli->noperand) {
    code = open_folder(cli, cli->operand[all.n], &folder[all.n]);
    all.n++;
  }
  if (code == TG_EXIT_OK && (!pictures || cli->out != NULL)) code = page(cli, &all);
  if (code == TG_EXIT_OK && pictures) code = tgi_cli_pictures(cli, write_page, &all);
  for (int i = 0; i < all.n; i++) close_folder(&folder[i]);
  return code;
}
