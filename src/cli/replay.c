// replay.c: tangere replay FOLDER ...: replay.html again from what runs left, one or several side by side.
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

enum { KEPT_FIGURES = 4, KEPT_TARGETS = 16, KEPT_RUNS = 3 + TG_VERIFY_ROWS, FOLDERS = 8 };

// one folder: what a part of the replay is made from
typedef struct Folder {
  const char *path;
  json_t *run;
  tgTask *task;          // of an optimisation whose task is as it was; it has the model then
  tgModel *own;          // else, which is made of the model's file
  const tgModel *model;
  tgNpz npz;
  tgTrajectory motion[KEPT_RUNS]; const char *label_of[KEPT_RUNS]; int nmotion;   // of the last page
  tgReplayMarker marker[KEPT_TARGETS];
  tgReplayFigure figure[KEPT_FIGURES + 1];
  tgReplayInfo info;
  char label[64];
} Folder;

static const char *input(const json_t *run, const char *key, const char *what) {
  return json_string_value(json_object_get(json_object_get(run, key), what));
}

// ---- a folder read ----

// the account of a run; NULL: why not, and the exit code
static int load_run(const char *path, json_t **run, char *why, size_t size) {
  json_error_t wrong = {.text = ""};
  FILE *file = fopen(path, "rbe");
  *run = file != NULL ? json_loadf(file, JSON_REJECT_DUPLICATES, &wrong) : NULL;
  bool system = file == NULL || ferror(file) != 0, is_short = !system && tgi_cli_json_is_short();
  int code = system ? tgi_cli_file_code(errno) : is_short ? TG_EXIT_FAULT : TG_EXIT_INPUT;
  snprintf(why, size, "%s", system ? strerror(errno) : is_short ? "out of memory" : wrong.text);
  if (file != NULL) fclose(file);
  return *run != NULL ? TG_EXIT_OK : code;
}

// a file, and no pipe or device, which might never end
static bool is_readable(const char *file) {
  struct stat st;
  return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, R_OK) == 0;
}

static bool has_hash(const json_t *of) { return json_is_string(json_object_get(of, "fnv1a64")); }

// the file has the bytes that the run was made from
static bool is_input(const char *file, const json_t *of) {
  json_t *now = has_hash(of) && is_readable(file) ? tgi_cli_input(file) : NULL;
  bool same = now != NULL && json_equal(json_object_get(now, "fnv1a64"), json_object_get(of, "fnv1a64"));
  json_decref(now);
  return same;
}

// run.json names a file, which has a path and a hash, as the folder does that the run was made in: that is the present one or one that its
// own folder lies in. NULL: there is none with the bytes that it had.
static const char *find_input(const char *folder, const json_t *of, char found[2 * PATH_MAX]) {
  char place[PATH_MAX];
  const char *file = json_string_value(json_object_get(of, "path"));
  if (file == NULL || is_input(file, of)) return file;
  bool climbs = file[0] != '/' && realpath(folder, place) != NULL;
  for (char *end = climbs ? place + strlen(place) : NULL; end != NULL; end = strrchr(place, '/')) {
    *end = '\0';
    snprintf(found, 2 * PATH_MAX, "%s/%s", place, file);
    if (is_input(found, of)) return found;
  }
  return NULL;
}

static void say_changed(const char *folder, const char *file) {
  tgi_cli_say("tangere replay: warning: %s is not as it was in the run of %s: shapes and forces may be others", file, folder);
}

// The model of the task, which may add a ground to it. False: the task is not as it was, or cannot be loaded any more, which is said.
static bool open_task(const char *file, const tgLoadOptions *o, Folder *f) {
  tgError error = {0};
  const json_t *model = json_object_get(f->run, "model");
  const char *named = input(f->run, "task", "path");
  f->task = file != NULL ? tg_task_load(file, o, &error) : NULL;
  f->model = tg_task_model(f->task);
  if (f->task == NULL) {
    if (file != NULL) tgi_cli_error("replay", &error);
    if (named != NULL)
      tgi_cli_say("tangere replay: warning: %s %s of %s: what it adds to the model, as a ground, is left out", named,
                  file != NULL ? "can no longer be loaded as in the run" : "is not as it was in the run", f->path);
    return false;
  }
  if (has_hash(model) && !is_input(tg_task_model_path(f->task), model)) say_changed(f->path, tg_task_model_path(f->task));
  return true;
}

// The model as the run had it: of the task, else of its file, both loaded as the run's command line said. A ground that this one gives goes
// before the task's.
static int open_model(const tgCli *cli, Folder *f) {
  char found[2 * PATH_MAX];
  tgCli own = *cli;
  if (!tgi_cli_take_loading(&own, json_object_get(f->run, "loading"))) {
    tgi_cli_say("tangere replay: %s/run.json: 'loading' has what no command line does", f->path);
    return TG_EXIT_INPUT;
  }
  tgLoadOptions o = tgi_cli_load_options(&own);
  const json_t *model = json_object_get(f->run, "model");
  bool ground = cli->ground || cli->ground_below;
  if (!ground && open_task(find_input(f->path, json_object_get(f->run, "task"), found), &o, f)) return TG_EXIT_OK;
  int code = TG_EXIT_OK;
  const char *file = find_input(f->path, model, found);
  bool changed = file == NULL && has_hash(model);
  if (file == NULL) file = input(f->run, "model", "path");
  if (changed && is_readable(file)) say_changed(f->path, file);
  f->model = f->own = tgi_cli_load_model(&own, file, &code);
  if (f->model == NULL && file != NULL && file[0] != '/' && !is_readable(file))
    tgi_cli_say("tangere replay: %s/run.json names its files as seen from where the run was made: replay it from that folder", f->path);
  return code;
}

static int open_folder(const tgCli *cli, const char *path, Folder *f) {
  char name[1100];
  char why[JSON_ERROR_TEXT_LENGTH];
  tgError error = {0};
  f->path = path;
  snprintf(name, sizeof name, "%s/run.json", path);
  int code = load_run(name, &f->run, why, sizeof why);
  if (code == TG_EXIT_FAULT) {
    tgi_cli_say("tangere replay: %s cannot be read: %s", name, why);
    return code;
  }
  const char *model = f->run != NULL ? input(f->run, "model", "path") : NULL;
  if (model == NULL) {
    tgi_cli_say("tangere replay: %s: %s; give the folder that simulate or optimize wrote", name,
                f->run != NULL ? "it names no model" : why);
    return TG_EXIT_INPUT;
  }
  snprintf(name, sizeof name, "%s/trajectory.npz", path);
  code = open_model(cli, f);
  if (f->model == NULL) return code;
  error.status = tg_npz_read(name, 0, NULL, &f->npz, &error);
  return error.status == TG_OK ? TG_EXIT_OK : tgi_cli_error("replay", &error);
}

static void close_folder(Folder *f) {
  tg_npz_free(&f->npz);
  tg_model_free(f->own);
  tg_task_free(f->task);
  json_decref(f->run);
}

// the motions of a folder
static tgStatus find_motions(Folder *f, tgError *error) {
  const char *label[KEPT_RUNS] = {"", "first"};
  const json_t *row;
  size_t k;
  int n = 2;
  json_array_foreach(json_object_get(f->run, "verification"), k, row) {
    const char *name = json_string_value(json_object_get(row, "name"));
    if (name != NULL && n < KEPT_RUNS - 1) label[n++] = name;
  }
  label[n++] = "best";   // last: what the page shows
  f->nmotion = 0;
  for (int i = 0; i < n; i++) {
    if (!tg_trajectory_has(&f->npz, label[i])) continue;
    f->label_of[f->nmotion] = label[i];
    TG_CLI_TRY(tg_trajectory_find(&f->npz, f->path, f->model, label[i], &f->motion[f->nmotion++], error));
  }
  return f->nmotion > 0 ? TG_OK : tgi_cli_fail(error, TG_ERR_PARSE, "%s/trajectory.npz holds no motion", f->path);
}

// the loss curve, where it is kept
static void find_loss(const Folder *f, tgReplayInfo *info) {
  const size_t any[] = {SIZE_MAX};
  const tgNpzArray *x = tg_npz_get(&f->npz, "", "loss_iteration", TG_NPZ_F8, 1, any, NULL);
  const tgNpzArray *y = x == NULL ? NULL : tg_npz_get(&f->npz, "", "loss", TG_NPZ_F8, 1, x->shape, NULL);
  if (y == NULL || x->shape[0] == 0 || x->shape[0] > INT_MAX) return;
  info->nloss = (int)x->shape[0];
  info->loss_x = x->data;
  info->loss_y = y->data;
  info->loss_label = "loss";
  const tgNpzArray *stage = tg_npz_get(&f->npz, "", "loss_stage", TG_NPZ_F8, 1, x->shape, NULL);
  if (stage != NULL) info->loss_stage = stage->data;
  const size_t three[] = {SIZE_MAX, 3};
  const tgNpzArray *band = tg_npz_get(&f->npz, "", "trust_band", TG_NPZ_F8, 2, three, NULL);
  if (band == NULL || band->shape[0] > INT_MAX / 3) return;
  info->nband = (int)band->shape[0];
  info->band = band->data;
}

// the place of a motion on the loss curve: of the first iterate, and of that of the least finite loss
static double iteration_of(const Folder *f, int motion) {
  const char *label = f->label_of[motion];
  if (f->info.nloss == 0) return NAN;
  if (strcmp(label, "first") == 0) return f->info.loss_x[0];
  double stage = json_number_value(json_object_get(f->run, "stage"));   // 0 where it is left out
  return strcmp(label, "best") == 0 ? f->info.loss_x[tgi_cli_least(f->info.loss_y, f->info.loss_stage, stage, f->info.nloss)] : NAN;
}

static void find_rest(Folder *f, tgReplayInfo *info) {
  static const char *const key[KEPT_FIGURES] = {"first_loss", "best_loss", "simulations", "distance_m"};
  static const char *const name[KEPT_FIGURES] = {"loss, first", "loss, best", "simulations", "distance [m]"};
  const size_t shape[] = {SIZE_MAX, 3};
  const tgNpzArray *target = tg_npz_get(&f->npz, "", "target", TG_NPZ_F8, 2, shape, NULL);
  for (size_t i = 0; target != NULL && i < target->shape[0] && i < KEPT_TARGETS; i++) {
    tgReplayMarker *mark = &f->marker[info->nmarker++];
    *mark = (tgReplayMarker){.name = "target", .rgba = TG_CLI_TARGET_COLOR};
    memcpy(mark->pos, (const double *)target->data + 3 * i, sizeof mark->pos);
  }
  for (int i = 0; i < KEPT_FIGURES; i++) {
    const json_t *value = json_object_get(f->run, key[i]);
    if (json_is_number(value)) f->figure[info->nfigure++] = (tgReplayFigure){.name = name[i], .value = json_number_value(value)};
  }
  const char *track_body = json_string_value(json_object_get(f->run, "track_body"));
  int track = track_body == NULL ? -1 : tg_model_find(f->model, TG_THING_BODY, track_body);
  info->track = track > 0 ? track : 0;
  info->marker = f->marker;
  info->figure = f->figure;
  info->label = f->label;
}

// ---- the page ----

// the folder's motions as a run of the page
static tgStatus add_folder(Folder *f, tgReplay *page, tgError *error) {
  f->info = (tgReplayInfo){0};
  TG_CLI_TRY(find_motions(f, error));
  find_loss(f, &f->info);
  find_rest(f, &f->info);
  const tgNpzArray *h = tg_npz_get(&f->npz, f->path, "timestep", TG_NPZ_F8, 0, NULL, error);
  if (h == NULL) return TG_ERR_PARSE;
  tgSim *sim = tg_sim_create(f->model, NULL, NULL, error);
  tgStatus st = sim != NULL ? tg_replay_add_run(page, &f->info, error) : TG_ERR_MEMORY;
  for (int i = 0; i < f->nmotion && st == TG_OK; i++) {
    const char *label = f->label_of[i];
    if (label[0] != '\0') st = tgi_cli_set_parameters(f->run, label, sim, error);
    if (st == TG_OK)
      st = tg_replay_add_motion(page, sim, &f->motion[i], label[0] != '\0' ? label : "simulation", iteration_of(f, i),
                                *(const double *)h->data, error);
  }
  tg_sim_free(sim);
  return st;
}

// what tells folders apart: their names, with the contact model where the runs say it
static void name_folders(Folder *folder, int n) {
  for (int i = 0; i < n; i++) {
    size_t end = strlen(folder[i].path);
    while (end > 1 && folder[i].path[end - 1] == '/') end--;
    char path[1100];
    snprintf(path, sizeof path, "%.*s", (int)end, folder[i].path);
    const char *contact = json_string_value(json_object_get(folder[i].run, "contact"));
    snprintf(folder[i].label, sizeof folder[i].label, "%.40s%s%.15s%s", tgi_cli_base_name(path),
             contact != NULL ? " (" : "", contact != NULL ? contact : "", contact != NULL ? ")" : "");
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
  const char *task = input(folder[0].run, "task", "path"), *model = input(folder[0].run, "model", "path");
  tgReplay *page = tg_replay_create(tgi_cli_base_name(task != NULL ? task : model), error);
  tgStatus st = page != NULL ? TG_OK : TG_ERR_MEMORY;
  if (n > 1) name_folders(folder, n);
  for (int i = 0; i < n && st == TG_OK; i++) st = add_folder(&folder[i], page, error);
  if (st == TG_OK) st = tg_replay_write(page, NULL, path, error);
  tg_replay_free(page);
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
    tgi_cli_say(cli->noperand > FOLDERS ? "tangere replay: at most %d folders in one page"
                : "tangere replay: name the page of several folders by --out FILE.html", FOLDERS);
    return TG_EXIT_USAGE;
  }
  Folder folder[FOLDERS] = {0};
  Folders all = {folder, 0};
  int code = TG_EXIT_OK;
  while (code == TG_EXIT_OK && all.n < cli->noperand) {
    code = open_folder(cli, cli->operand[all.n], &folder[all.n]);
    all.n++;
  }
  const char *const file[] = {cli->out, cli->png, cli->video};
  for (int i = 0; i < 3 && code == TG_EXIT_OK; i++) code = tgi_cli_make_folder_of(file[i]);
  if (code == TG_EXIT_OK && (!pictures || cli->out != NULL)) code = page(cli, &all);
  if (code == TG_EXIT_OK && pictures) code = tgi_cli_pictures(cli, write_page, &all);
  for (int i = 0; i < all.n; i++) close_folder(&folder[i]);
  return code;
}
