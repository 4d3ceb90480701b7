// common.c: messages, signals, loading.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cli/shared/program.h"
#include "tangere/geometry.h"

volatile int tgi_cli_interrupted;
static volatile sig_atomic_t first_signal;   // 0: none yet. Stays, where the flag is taken back for what is still to be shown

// the first signal asks the work to stop, the second ends the process
static void on_signal(int signum) {
  if (first_signal != 0) _exit(128 + signum);
  first_signal = signum;
  tgi_cli_interrupted = 1;
}

void tgi_cli_catch_signals(void) {
  struct sigaction a = {.sa_handler = on_signal}, was;
  sigaction(SIGINT, &a, NULL);
  sigaction(SIGTERM, &a, NULL);
  // of a terminal that is closed; nohup has it ignored, and then it stays so
  if (sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler != SIG_IGN) sigaction(SIGHUP, &a, NULL);
}

enum { TICK = 50000 };               // of the clock [us]
volatile int tgi_cli_stop;
static volatile sig_atomic_t late, ticks_left;
static double clock_end;

static void on_tick(int signum) {
  (void)signum;
  late = tgi_cli_now() >= clock_end;
  bool over = tgi_cli_interrupted && ticks_left-- <= 0;
  if (late || over) tgi_cli_stop = 1;
}

static void set_timer(int microseconds) {
  struct itimerval t = {.it_interval.tv_usec = microseconds, .it_value.tv_usec = microseconds};
  setitimer(ITIMER_REAL, &t, NULL);
}

void tgi_cli_start_clock(double end, double grace) {
  struct sigaction a = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  late = 0;
  ticks_left = (sig_atomic_t)(grace * 1e6 / TICK);
  tgi_cli_stop = tgi_cli_interrupted && ticks_left <= 0;
  clock_end = end;
  sigaction(SIGALRM, &a, NULL);
  set_timer(TICK);
}

bool tgi_cli_stop_clock(void) {
  set_timer(0);
  return late != 0;
}

double tgi_cli_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *tgi_cli_duration(double seconds, char *text, size_t size) {
  if (seconds < 0) snprintf(text, size, "?");
  else if (seconds < 60) snprintf(text, size, "%.1f s", seconds);
  else if (seconds < 3600) snprintf(text, size, "%d min %02d s", (int)seconds / 60, (int)seconds % 60);
  else snprintf(text, size, "%d h %02d min", (int)seconds / 3600, (int)seconds / 60 % 60);
  return text;
}

void tgi_cli_say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

tgStatus tgi_cli_fail(tgError *error, tgStatus status, const char *format, ...) {
  va_list args;
  *error = (tgError){.status = status};
  va_start(args, format);
  vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  return status;
}

static int exit_code(tgStatus st) {
  switch (st) {
    case TG_CANCELLED: return TG_EXIT_INTERRUPTED;
    case TG_NOT_CONVERGED:
    case TG_ERR_NOT_FINITE: return TG_EXIT_MISSED;
    case TG_OK:  // an error without a status is ours
    case TG_ERR_MEMORY:
    case TG_ERR_DISK:
    case TG_ERR_CAPACITY:
    case TG_ERR_STATE:
    case TG_ERR_INTERNAL: return TG_EXIT_FAULT;
    default: return TG_EXIT_INPUT;
  }
}

int tgi_cli_error(const char *what, const tgError *e) {
  char place[400] = "";
  if (e->file[0] != '\0' && e->line > 0) snprintf(place, sizeof place, "%s:%d:%d: ", e->file, e->line, e->column);
  else if (e->file[0] != '\0' && strncmp(e->text, e->file, strlen(e->file)) != 0) snprintf(place, sizeof place, "%s: ", e->file);
  // texts of some loaders begin with the place already
  bool said = e->file[0] != '\0' && strncmp(e->text, e->file, strlen(e->file)) == 0;
  fprintf(stderr, "tangere %s: %s%s\n", what, said ? "" : place, e->text[0] != '\0' ? e->text : tg_status_text(e->status));
  return exit_code(e->status);
}

int tgi_cli_file_code(int error_number) {
  bool disk = error_number == EIO || error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG || error_number == EINTR ||
              error_number == ESTALE;
  return disk || error_number == ENOMEM ? TG_EXIT_FAULT : TG_EXIT_INPUT;
}

// jansson leaves out what it has no memory for; so what it did not get is remembered, and nothing is written for good after it
static _Atomic bool short_of_json;

static void *json_take(size_t bytes) {
  void *p = malloc(bytes);
  if (p == NULL && bytes > 0) short_of_json = true;
  return p;
}

void tgi_cli_watch_json(void) { json_set_alloc_funcs(json_take, free); }
bool tgi_cli_json_is_short(void) { return short_of_json; }

int tgi_cli_print_json(json_t *object, int code) {
  if (short_of_json) {
    json_decref(object);
    object = NULL;
  }
  if (object == NULL || json_dumpf(object, stdout, JSON_REAL_PRECISION(17) | JSON_PRESERVE_ORDER) != 0) {
    tgi_cli_say("tangere: the result cannot be written as JSON: %s",
                object == NULL ? "a file's name is not UTF-8, or there is no memory" : strerror(errno));
    code = TG_EXIT_FAULT;
  }
  fputc('\n', stdout);
  json_decref(object);
  return code;
}

tgStatus tgi_cli_write_json(const char *path, const json_t *object, int indent, tgError *error) {
  char *text = json_dumps(object, (size_t)JSON_INDENT(indent) | JSON_REAL_PRECISION(17) | JSON_PRESERVE_ORDER);
  tgStatus st = text == NULL || short_of_json ? tgi_cli_fail(error, TG_ERR_MEMORY, "%s: out of memory, or a file's name is not UTF-8", path)
                                              : tg_file_write(path, text, strlen(text), error);
  free(text);
  return st;
}

int tgi_cli_json_into(const char *folder, const char *name, const json_t *object, const char *command, int code) {
  if (folder == NULL) return code;
  tgError error = {0};
  char path[1100];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (tgi_cli_write_json(path, object, 2, &error) == TG_OK) return code;
  tgi_cli_error(command, &error);
  return TG_EXIT_FAULT;
}

bool tgi_cli_out_free(const tgCli *cli, const char *command) {
  static const char *const made[] = {"run.json", "trajectory.npz"};
  if (cli->out == NULL || cli->overwrite) return true;
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    char path[1100];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", cli->out, made[i]);
    if (n < 0 || (size_t)n >= sizeof path || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) continue;
    tgi_cli_say("tangere %s: %s is of an earlier run: --overwrite begins anew, --out=FOLDER names another folder", command, path);
    return false;
  }
  return true;
}

int tgi_cli_out_ready(const tgCli *cli) { return cli->out == NULL ? TG_EXIT_OK : tgi_cli_make_folder(cli->out); }

int tgi_cli_run(const tgCommand *command, int argc, char **argv) {
  tgCli cli = {.command = command->word};
  for (int k = 1; k < argc; k++)
    if (strcmp(argv[k], "--help") == 0) return tgi_cli_parse(command, argc, argv, &cli), TG_EXIT_OK;
  int code = tgi_cli_parse(command, argc, argv, &cli);
  return code != 0 ? code : command->run(&cli);
}

int tgi_cli_end(int code) {
  if (code == TG_EXIT_INTERRUPTED && first_signal != 0) code = 128 + first_signal;   // as a shell says it
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  tgi_cli_say("tangere: standard output cannot be written");
  return code == TG_EXIT_OK ? TG_EXIT_FAULT : code;
}

bool tgi_cli_own_folder(char *folder, size_t size) {
  ssize_t n = readlink("/proc/self/exe", folder, size - 1);
  folder[n > 0 ? n : 0] = '\0';
  char *slash = strrchr(folder, '/');
  if (slash != NULL) *slash = '\0';
  return slash != NULL;
}

static void list_notes(const tgCli *cli, const tgDesc *desc) {
  static const char *const kind[] = {"skipped", "soft setting", "warning", "passed over (lenient)", "left out, it changes motion"};
  for (int i = 0; i < desc->nnote; i++) {
    const tgNote *n = &desc->note[i];
    if (!cli->notes && (n->kind == TG_NOTE_SKIPPED || n->kind == TG_NOTE_SOFT)) continue;
    const char *file = n->source.file >= 0 && n->source.file < desc->nfile ? desc->file[n->source.file] : "";
    if (n->source.line > 0) tgi_cli_say("%s:%d: %s: %s", file, n->source.line, kind[n->kind], n->text);
    else tgi_cli_say("%s: %s", kind[n->kind], n->text);
  }
}

// what is asked for beside the file itself; false: said why not
static bool arrange(const tgCli *cli, tgDesc *desc, tgError *error) {
  if (cli->contact_triangles > 0 && tg_desc_reduce(desc, cli->contact_triangles, error) != TG_OK) return false;
  // overlaps with other robots or the world are left, they are the user's scene
  double gap = tg_contact_intersection_free(cli->contact) ? TG_CLI_TOUCHING : -1e-6;
  if (cli->exclude_overlapping && tg_desc_exclude_overlapping(desc, gap, error) < 0) return false;
  return !cli->ground_below || tg_desc_ground_below(desc, TG_CLI_GROUND_GAP, error) == TG_OK;
}

void tgi_cli_contact_warnings(const tgCli *cli, const tgContact *contact) {
  const char *text;
  for (int i = 0; (text = tg_contact_warning(contact, i)) != NULL; i++) tgi_cli_say("tangere %s: warning: %s", cli->command, text);
  for (int i = 0; contact != NULL && i < cli->ncontact_option; i++) {
    char name[TG_CLI_OPTION_NAME];
    tgi_cli_split_option(cli, i, name);
    const char *word = tg_contact_word(contact), *dot = strchr(name, '.');
    bool own = dot == NULL ? tg_contact_option_named(word, name).name != NULL
               : strncmp(name, word, strlen(word)) == 0 && name[strlen(word)] == '.';
    if (!own) tgi_cli_say("tangere %s: warning: option %s does nothing under the contact model '%s'", cli->command, name, word);
  }
}

bool tgi_cli_start(const tgCli *cli, tgSim *sim) {
  const tgModel *m = tg_sim_model(sim);
  if (cli->key != NULL && tg_sim_reset_key(sim, tg_model_find(m, TG_THING_KEY, cli->key)) != TG_OK) {
    tgi_cli_say("tangere %s: %s has no keyframe '%s'", cli->command, cli->file, cli->key);
    return false;
  }
  if (cli->inside_limits) tg_model_inside(m, tg_sim_qpos(sim), TG_CLI_INSIDE, tg_sim_qpos(sim));
  return true;
}

json_t *tgi_cli_geom(const tgModel *m, int g) {
  const char *name = tg_model_name(m, TG_THING_GEOM, g);
  return name[0] != '\0' ? json_string(name) : json_integer(g);
}

json_t *tgi_cli_separated_json(const tgModel *m, const tgSeparated *pair, int count) {
  json_t *all = json_array();
  for (int i = 0; i < count; i++)
    json_array_append_new(all, json_pack("{s:o, s:o, s:f, s:f, s:f, s:f}", "geom1", tgi_cli_geom(m, pair[i].geom1), "geom2",
                                         tgi_cli_geom(m, pair[i].geom2), "before", pair[i].before, "after", pair[i].after, "moved1",
                                         pair[i].moved1, "moved2", pair[i].moved2));
  return all;
}

static void say_separated(const tgCli *cli, const tgModel *m, const tgSeparated *pair, int count) {
  for (int i = 0; i < count; i++) {
    const tgSeparated *p = &pair[i];
    tgi_cli_say("tangere %s: --separate: geom %d '%s' and geom %d '%s' %s %.3g m; they moved %.3g and %.3g m", cli->command, p->geom1,
                tg_model_name(m, TG_THING_GEOM, p->geom1), p->geom2, tg_model_name(m, TG_THING_GEOM, p->geom2),
                p->before < 0 ? "overlapped by" : "had a gap of", fabs(p->before), p->moved1, p->moved2);
  }
}

bool tgi_cli_separate(const tgCli *cli, tgSim *sim, json_t **json) {
  enum { TOLD = 100 };
  tgSeparated pair[TOLD];
  if (json != NULL) *json = NULL;
  if (!cli->separate) return true;
  int count = tg_sim_separate(sim, cli->separate_gap, pair, TOLD);
  if (count < 0) {
    tgi_cli_error(cli->command, tg_sim_error(sim));
    return false;
  }
  int told = count < TOLD ? count : TOLD;
  say_separated(cli, tg_sim_model(sim), pair, told);
  if (json != NULL && count > 0) *json = tgi_cli_separated_json(tg_sim_model(sim), pair, told);
  return true;
}

static const char *joint_label(const tgModel *m, int joint, char *text, size_t size) {
  const char *name = tg_model_name(m, TG_THING_JOINT, joint);
  if (name[0] != '\0') snprintf(text, size, "joint '%s'", name);
  else snprintf(text, size, "joint %d", joint);
  return text;
}

// The first joint that the file's pose has outside its range, where that may be why a run failed.
static void limits_hint(const tgCli *cli, const tgModel *m) {
  const double *qpos0 = tgi_cli_reals(m, "qpos0", NULL), *range = tgi_cli_reals(m, "jnt_range", NULL);
  const int *limited = tgi_cli_ints(m, "jnt_limited", NULL);
  for (int j = 0; j < tg_model_count(m, TG_THING_JOINT) && !cli->inside_limits; j++) {
    tgJointType type;
    int at;
    char label[160];
    tg_model_joint(m, j, &type, NULL, &at, NULL);
    if (!limited[j] || (type != TG_JOINT_SLIDE && type != TG_JOINT_HINGE) || (qpos0[at] >= range[2 * j] && qpos0[at] <= range[2 * j + 1]))
      continue;
    tgi_cli_say("tangere %s: the file's pose has %s at %g, outside its range %g to %g: --inside-limits starts with "
                "such joints moved inside", cli->command, joint_label(m, j, label, sizeof label), qpos0[at],
                range[2 * j], range[2 * j + 1]);
    return;
  }
}

void tgi_cli_start_hint(const tgCli *cli, tgSim *sim, double h, tgStatus status, int steps) {
  const tgModel *m = tg_sim_model(sim);
  const int *root = tgi_cli_ints(m, "body_root", NULL), nkey = tg_model_count(m, TG_THING_KEY);
  char keys[400] = "";
  size_t used = 0;
  int body1 = tg_sim_step_info(sim)->body1, body2 = tg_sim_step_info(sim)->body2;
  if (status != TG_OK && status != TG_CANCELLED && cli->key == NULL) limits_hint(cli, m);
  if (status != TG_ERR_INVALID || steps > 0) return;
  for (int i = 0; i < nkey && used < sizeof keys; i++)
    if (tg_sim_reset_key(sim, i) == TG_OK && tg_sim_step_growing(sim, h, NULL) == TG_OK)
      used += (size_t)snprintf(keys + used, sizeof keys - used, "%s%s", used > 0 ? ", " : "", tg_model_name(m, TG_THING_KEY, i));
  if (used > 0) tgi_cli_say("tangere %s: keyframes that can be started from, with --key NAME: %s", cli->command, keys);
  else if (nkey > 0) tgi_cli_say("tangere %s: none of the model's keyframes can be started from either", cli->command);
  if (body1 > 0 && body2 > 0 && root[body1] == root[body2] && !cli->exclude_overlapping)
    tgi_cli_say("tangere %s: --exclude-overlapping leaves out contact between bodies of one robot that touch in the "
                "file's pose", cli->command);
}

static const char *body_label(const tgModel *model, int body) { return body > 0 ? tg_model_name(model, TG_THING_BODY, body) : "the world"; }

void tgi_cli_burst_hint(const tgCli *cli, const tgModel *model, const tgCliTrajectory *t) {
  if (t->bursts == 0) return;
  tgi_cli_say("tangere %s: in %d steps overlap was thrown out as velocity, faster than anything else moved, first in step %d of '%s' "
              "and '%s': "
              "--option contact_rule=closing moves bodies apart without velocity",
              cli->command, t->bursts, t->burst, body_label(model, t->burst1), body_label(model, t->burst2));
}

// Name of a geom, or its number, and of its body.
static const char *geom_label(const tgModel *model, int geom, char *label, size_t size) {
  const char *name = tg_model_name(model, TG_THING_GEOM, geom);
  const char *body = body_label(model, tgi_cli_ints(model, "geom_body", NULL)[geom]);
  if (name[0] != '\0') snprintf(label, size, "geom '%s' of '%s'", name, body);
  else snprintf(label, size, "geom %d of '%s'", geom, body);
  return label;
}

void tgi_cli_deep_hint(const tgCli *cli, const tgModel *model, const tgCliTrajectory *t) {
  char one[300], other[300];
  if (!(t->depth > 0)) return;
  tgi_cli_say("tangere %s: in step %d %s and %s overlap by %.3g m, which is pushed out at push_speed, without becoming velocity",
              cli->command, t->deep, geom_label(model, t->deep1, one, sizeof one), geom_label(model, t->deep2, other, sizeof other),
              t->depth);
}

void tgi_cli_overlap_hint(const tgCli *cli, tgStatus status, int held) {
  if (held > 0) tgi_cli_say("tangere %s: in %d steps overlaps that no motion can push out were left as they are", cli->command, held);
  if ((status == TG_NOT_CONVERGED || held > 0) && !cli->exclude_overlapping)
    tgi_cli_say("tangere %s: --exclude-overlapping leaves out contact between bodies of one robot that overlap in the "
                "file's pose", cli->command);
}

// a number in a file that is not finite is bad input, as one of a motion is not
static int input_error(const tgCli *cli, const tgError *error) {
  int code = tgi_cli_error(cli->command, error);
  return code == TG_EXIT_MISSED ? TG_EXIT_INPUT : code;
}

tgModel *tgi_cli_load_model(const tgCli *cli, const char *path, int *code) {
  tgError error = {0};
  tgLoadOptions o = tgi_cli_load_options(cli);
  tgDesc *desc = tg_desc_load(path, &o, &error);
  tgModel *model = desc != NULL && arrange(cli, desc, &error) ? tg_model_compile(desc, NULL, &error) : NULL;
  if (desc != NULL) list_notes(cli, desc);
  tg_desc_free(desc);
  if (model == NULL) *code = input_error(cli, &error);
  return model;
}

static bool task_options(const tgCli *cli, tgTask *task, tgError *error) {
  for (int i = 0; i < cli->ncontact_option; i++) {
    char name[TG_CLI_OPTION_NAME];
    const char *value = tgi_cli_split_option(cli, i, name);
    if (tg_task_contact_option(task, name, value, error) != TG_OK) return false;
  }
  return true;
}

tgTask *tgi_cli_load_task(const tgCli *cli, const char *path, int *code) {
  tgError error = {0};
  *code = TG_EXIT_INPUT;
  const char *dot = strrchr(path, '.');
  if (dot != NULL && (strcasecmp(dot, ".xml") == 0 || strcasecmp(dot, ".urdf") == 0)) {
    tgi_cli_say("tangere %s: %s is a model; this command takes a task, a .yaml file that names a model (such as "
                "models/half_cheetah_reach.yaml)", cli->command, path);
    return NULL;
  }
  if (cli->ground_below || cli->exclude_overlapping || cli->contact_triangles > 0) {
    tgi_cli_say("tangere %s: --%s is for a model's file; a task says ground: HEIGHT and contact_triangles: N itself", cli->command,
                cli->ground_below ? "ground=below" : cli->exclude_overlapping ? "exclude-overlapping" : "contact-triangles");
    return NULL;
  }
  tgLoadOptions o = tgi_cli_load_options(cli);
  tgTask *task = tg_task_load(path, &o, &error);
  bool several = cli->contact != NULL && strchr(cli->contact, ',') != NULL;
  if (task != NULL && tg_task_override(task, several ? NULL : cli->contact, cli->method, cli->iterations, &error) == TG_OK &&
      (!cli->zero_contact || tg_task_zero_contact_gradient(task, &error) == TG_OK) && task_options(cli, task, &error) &&
      (cli->gradient == NULL || tg_task_gradient(task, cli->gradient, &error) == TG_OK) &&
      (!cli->inside_limits || tg_task_inside(task, TG_CLI_INSIDE, &error) == TG_OK) &&
      (!cli->separate || tg_task_separate(task, cli->separate_gap, &error) == TG_OK)) {
    int count;
    const tgSeparated *pair = tg_task_separated(task, &count);
    say_separated(cli, tg_task_model(task), pair, count);
    tgi_cli_contact_warnings(cli, tg_task_contact(task));
    return task;
  }
  *code = input_error(cli, &error);
  tg_task_free(task);
  return NULL;
}

static const void *listed(const tgModel *m, const char *name, tgScalar scalar, int *rows) {
  tgField f = tg_model_field_named(m, name);
  bool there = f.data != NULL && f.scalar == scalar;
  if (rows != NULL) *rows = there ? f.rows : 0;
  return there ? f.data : NULL;
}

const double *tgi_cli_reals(const tgModel *m, const char *name, int *rows) { return listed(m, name, TG_SCALAR_REAL, rows); }
const int *tgi_cli_ints(const tgModel *m, const char *name, int *rows) { return listed(m, name, TG_SCALAR_INT, rows); }

bool tgi_cli_is_task(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot != NULL && (strcasecmp(dot, ".yaml") == 0 || strcasecmp(dot, ".yml") == 0);
}

// of the first n characters of a path; parents too: out/demo should just work
static int make_folder(const char *path, size_t n) {
  char part[1024];
  if (n == 0 || n >= sizeof part) {
    tgi_cli_say("tangere: '%.*s' is no folder name", (int)n, path);
    return TG_EXIT_INPUT;
  }
  for (size_t i = 1; i <= n; i++) {
    if (path[i] != '/' && i < n) continue;
    memcpy(part, path, i);
    part[i] = '\0';
    struct stat st;
    if (mkdir(part, 0777) == 0) continue;
    int why = errno;
    if (why == EEXIST && stat(part, &st) == 0) {
      if (S_ISDIR(st.st_mode)) continue;
      why = ENOTDIR;
    } else if (why == EEXIST) why = errno;
    tgi_cli_say("tangere: the folder %s cannot be made: %s", part, strerror(why));
    return tgi_cli_file_code(why);
  }
  return TG_EXIT_OK;
}

int tgi_cli_make_folder(const char *path) { return make_folder(path, strlen(path)); }

int tgi_cli_make_folder_of(const char *file) {
  const char *slash = file != NULL ? strrchr(file, '/') : NULL;
  return slash == NULL || slash == file ? TG_EXIT_OK : make_folder(file, (size_t)(slash - file));
}

const char *tgi_cli_cache_folder(void) {
  static char folder[1000];
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int n = cache != NULL && cache[0] == '/' ? snprintf(folder, sizeof folder, "%s/tangere", cache)
          : home != NULL && home[0] == '/' ? snprintf(folder, sizeof folder, "%s/.cache/tangere", home) : 0;
  return n > 0 && (size_t)n < sizeof folder && tgi_cli_make_folder(folder) == TG_EXIT_OK ? folder : NULL;
}

int tgi_cli_task_markers(const tgTask *task, tgReplayMarker *marker, int room, int *track) {
  int n = 0, body;
  double target[3];
  *track = 0;
  for (int i = 0; n < room && tg_task_target(task, i, target, &body) != NULL; i++) {
    if (body < 0) continue;
    if (n == 0) *track = body;
    marker[n] = (tgReplayMarker){.name = "target", .rgba = TG_CLI_TARGET_COLOR};
    for (int k = 0; k < 3; k++) marker[n].pos[k] = target[k];
    n++;
  }
  return n;
}

int tgi_cli_least(const double *loss, const double *stage, double which, int n) {
  int best = -1;
  for (int i = 0; i < n; i++)
    if ((stage == NULL || stage[i] == which) && isfinite(loss[i]) && (best < 0 || loss[i] < loss[best])) best = i;
  return best >= 0 ? best : 0;
}

const char *tgi_cli_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

json_t *tgi_cli_input(const char *path) {
  char buffer[4096], hex[20];
  uint64_t h = TG_HASH_START;
  FILE *f = fopen(path, "rb");
  bool whole = f != NULL;
  if (whole) {
    size_t n;
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0) h = tg_hash(h, buffer, n);
    whole = ferror(f) == 0;
    fclose(f);
  }
  if (!whole) tgi_cli_say("%s cannot be read again: what is told of this run has no hash of it", path);
  snprintf(hex, sizeof hex, "%016llx", (unsigned long long)h);
  return json_pack("{s:s, s:o}", "path", path, "fnv1a64", whole ? json_string(hex) : json_null());
}
