// test_optim_faults.c: what goes wrong around an optimisation: no memory, a damaged journal, no room on the disk, another task's journal.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/alloc.h"
#include "support/check.h"
#include "tangere/optim.h"

// a cart on a rail that carries a ball over a floor: few variables, every part of a task in use
static const char *const cart =
    "<mujoco><option timestep='0.01'/><worldbody><geom name='floor' type='plane' size='5 5 0.1'/>"
    "<body name='cart' pos='0 0 0.5'><joint name='rail' type='slide' axis='1 0 0' damping='0.1'/><geom type='box' size='0.1 0.1 0.1'/>"
    "<site name='tip' pos='0 0 0.1'/></body>"
    "<body name='ball' pos='0 1 0.1'><freejoint name='root'/><geom name='skin' type='sphere' size='0.1'/></body>"
    "</worldbody><actuator><motor name='push' joint='rail' gear='2'/></actuator>"
    "<keyframe><key name='aside' qpos='0.5 0 1 0.1 1 0 0 0'/></keyframe></mujoco>";

typedef struct Folder { char path[64], model[96], journal[96]; } Folder;

static void put(const char *path, const void *data, size_t bytes) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, bytes, f), bytes);
  assert_int_equal(fclose(f), 0);
}

static size_t get(const char *path, char *data, size_t room) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(data, 1, room, f);
  fclose(f);
  check_true(n < room, "%s is larger than %zu bytes", path, room);
  return n;
}

static Folder folder_make(void) {
  Folder f = {.path = "/tmp/tangere-faults-XXXXXX"};
  assert_non_null(mkdtemp(f.path));
  snprintf(f.model, sizeof f.model, "%s/cart.xml", f.path);
  snprintf(f.journal, sizeof f.journal, "%s/checkpoint", f.path);
  put(f.model, cart, strlen(cart));
  return f;
}

static void folder_drop(const Folder *f) {
  unlink(f->model);
  unlink(f->journal);
  assert_int_equal(rmdir(f->path), 0);
}

#define TASK(contact, horizon, start, controls, initial, losses, optimizer)                                       \
  "model: cart.xml\ncontact: lcp\noptions: {" contact "}\nhorizon: {steps: 6" horizon "}\nstart: {" start "}\n"   \
  "controls: {every: 3" controls "}\ninitial: [{joint: rail, part: velocity" initial "}]\nlosses:\n" losses       \
  "- {term: control, weight: 1.0e-3}\noptimizer: {iterations: 3, population: 3, " optimizer "}\n"
#define REACH "- {term: body_position, name: cart, target: [1, 0, 0.5], weight: 1}\n"
#define PLAIN TASK("", "", "", "", "", REACH, "method: adam")

static tgTask *load(const Folder *f, const char *text, const tgAllocator *hooks, tgError *error) {
  tgLoadOptions o = tg_load_default();
  o.allocator = hooks;
  return tg_task_load_text(text, strlen(text), f->path, &o, error);
}

static tgTask *load_well(const Folder *f, const char *text) {
  tgError error = {0};
  tgTask *t = load(f, text, NULL, &error);
  check_true(t != NULL, "%s", error.text);
  return t;
}

// every allocation fails once: a task that is not loaded, an optimisation that says so; nothing is left behind
static void every_allocation_may_fail(void **state) {
  (void)state;
  Folder f = folder_make();
  for (int method = 0; tg_methods(method) != NULL; method++) {
    long k = 1;
    for (bool done = false; !done; k++) {
      tgtAlloc a;
      tgt_alloc_init(&a);
      a.fail_at = k;
      tgError error = {0};
      tgTask *t = load(&f, TASK("", "", "", "", "", REACH, "sigma: 1, method: adam"), &a.hooks, &error);
      if (t == NULL) check_true(error.status == TG_ERR_MEMORY, "allocation %ld: status %d: %s", k, error.status, error.text);
      tgOptimizeOptions o = tg_optimize_default();
      o.journal = f.journal;
      o.overwrite = true;
      o.threads = 1;
      if (t != NULL && tg_task_override(t, strcmp(tg_methods(method), "ddp") == 0 ? "softmin" : NULL,
                                        tg_methods(method), 0, &error) != TG_OK) {
        check_true(error.status == TG_ERR_MEMORY, "allocation %ld: status %d: %s", k, error.status, error.text);
        tg_task_free(t);
        t = NULL;
      }
      long before = a.calls;
      tgOptimum *best = t != NULL ? tg_optimize(t, &o) : NULL;
      done = a.calls < k;
      if (done) assert_int_equal(best->status, TG_OK);
      else if (t != NULL && best == NULL) assert_int_equal(k, before + 1);
      else if (t != NULL)
        check_true(best->status == TG_ERR_MEMORY && best->error.text[0] != '\0', "%s, allocation %ld: status %d: %s", tg_methods(method), k,
                   best->status, best->error.text);
      tg_optimum_free(best);
      tg_task_free(t);
      check_true(a.blocks == 0, "%s, allocation %ld: %ld blocks are left", tg_methods(method), k, a.blocks);
      assert_true(k < 2000);
    }
    check_true(k > 60, "%s: only %ld allocations", tg_methods(method), k);
  }
  folder_drop(&f);
}

// Nine boxes that lie on a floor have more contacts than a simulation has room for at first: what it takes then may fail in the middle of a
// population, which is no failed motion but the end of the run.
static void memory_may_fail_in_a_population(void **state) {
  (void)state;
  Folder f = folder_make();
  static char model[4000];
  int at = sprintf(model, "<mujoco><option timestep='0.01'/><worldbody><geom type='plane' size='5 5 0.1'/>"
                          "<body name='cart' pos='0 9 0.5'><joint name='rail' type='slide' axis='1 0 0'/><geom size='0.1'/></body>");
  for (int k = 0; k < 9; k++) at += sprintf(model + at, "<body pos='%d 0 0.0999'><freejoint/><geom type='box' size='.1 .1 .1'/></body>", k);
  sprintf(model + at, "</worldbody><actuator><motor joint='rail'/></actuator></mujoco>");
  put(f.model, model, strlen(model));
  long last = 0, failed = 0, first = 0;
  for (long k = 0; k <= last; k = k == 0 ? first : k + 1) {   // without a failure; then each allocation of the run
    tgtAlloc a;
    tgt_alloc_init(&a);
    a.fail_at = k;
    tgTask *t = load(&f, TASK("", "", "", "", "", REACH, "sigma: 1, method: cem"), &a.hooks, NULL);
    assert_non_null(t);
    if (k == 0) first = a.calls + 1;
    tgOptimizeOptions o = tg_optimize_default();
    o.threads = 1;
    tgOptimum *best = tg_optimize(t, &o);
    if (k == 0) last = a.calls;
    if (best != NULL) assert_int_equal(best->status, k == 0 ? TG_OK : TG_ERR_MEMORY);
    failed += best != NULL && k > 0;
    tg_optimum_free(best);
    tg_task_free(t);
    assert_int_equal(a.blocks, 0);
  }
  check_true(failed > 20, "%ld failures", failed);
  folder_drop(&f);
}

static tgOptimum *run(const Folder *f, const tgTask *t, bool resume) {
  tgOptimizeOptions o = tg_optimize_default();
  o.seed = 3;
  o.threads = 1;
  o.journal = f->journal;
  o.resume = resume;
  o.overwrite = !resume;
  tgOptimum *best = tg_optimize(t, &o);
  assert_non_null(best);
  return best;
}

static void same_outcome(const tgOptimum *a, const tgOptimum *b, const char *what, size_t at) {
  check_true(a->status == TG_OK, "%s at byte %zu: %s", what, at, a->error.text);
  check_true(a->iterations == b->iterations && a->evaluations == b->evaluations, "%s at byte %zu: %ld evaluations, not %ld", what, at,
             a->evaluations, b->evaluations);
  check_true(memcmp(a->best, b->best, (size_t)b->n * sizeof *b->best) == 0, "%s at byte %zu: other variables", what, at);
  check_true(memcmp(a->curve_loss, b->curve_loss, (size_t)b->ncurve * sizeof(double)) == 0, "%s at byte %zu: other losses", what, at);
}

// cut at every byte, and with every byte flipped: taken up to the same bits, and the journal is whole again; or, when the damage is in
// the head, which says whose journal it is, refused
static void a_damaged_journal_is_cut_where_it_ends(void **state) {
  (void)state;
  enum { HEAD = 40, ROOM = 1 << 16 };
  static char whole[ROOM], damaged[ROOM], after[ROOM];
  static const char *const text[] = {PLAIN, TASK("", "", "", "", "", REACH, "method: lbfgs"),
                                     TASK("", "", "", "", "", REACH, "method: cem"),
                                     TASK("", "", "", "", "", REACH, "method: ilqr"),
                                     TASK("", "", "", "", "", REACH, "method: gauss_newton")};
  Folder f = folder_make();
  for (size_t m = 0; m < sizeof text / sizeof *text; m++) {
    tgTask *t = load_well(&f, text[m]);
    tgOptimum *want = run(&f, t, false);
    assert_int_equal(want->status, TG_OK);
    size_t bytes = get(f.journal, whole, ROOM);
    check_true(bytes > HEAD + 100, "%zu bytes", bytes);
    for (size_t at = 0; at < 2 * bytes; at++) {
      bool flip = at >= bytes;
      size_t byte = flip ? at - bytes : at;
      memcpy(damaged, whole, bytes);
      if (flip) damaged[byte] ^= 0x10;
      put(f.journal, damaged, flip ? bytes : byte);
      tgOptimum *got = run(&f, t, true);
      if (flip && byte < HEAD) {
        assert_int_equal(got->status, TG_ERR_INVALID);
        assert_non_null(strstr(got->error.text, f.journal));
      } else {
        same_outcome(got, want, flip ? "flipped" : "cut", byte);
        assert_int_equal(get(f.journal, after, ROOM), bytes);
        check_true(memcmp(after, whole, bytes) == 0, "%s at byte %zu: another journal", flip ? "flipped" : "cut", byte);
      }
      tg_optimum_free(got);
    }
    tg_optimum_free(want);
    tg_task_free(t);
  }
  folder_drop(&f);
}

static void an_unwritable_journal_is_an_error(void **state) {
  (void)state;
  Folder f = folder_make();
  tgTask *t = load_well(&f, PLAIN);
  char path[2][96];
  snprintf(path[0], sizeof path[0], "%s/nowhere/checkpoint", f.path);
  snprintf(path[1], sizeof path[1], "%s", f.path);
  const char *const bad[] = {path[0], path[1], "/dev/full"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    for (int resume = 0; resume < (i < 2 ? 2 : 1); resume++) {  // the device reads as zeros: another task's
      tgOptimizeOptions o = tg_optimize_default();
      o.journal = bad[i];
      o.resume = resume;
      tgOptimum *best = tg_optimize(t, &o);
      check_true(best->status == TG_ERR_FILE && best->evaluations == 0, "%s: status %d", bad[i], best->status);
      check_true(strstr(best->error.text, bad[i]) != NULL, "'%s' does not name %s", best->error.text, bad[i]);
      tg_optimum_free(best);
    }
  tg_task_free(t);
  folder_drop(&f);
}

// a disk that fills up after so many bytes stops the run with a status; with room again it is taken up to the same bits
static void a_full_disk_stops_the_run(void **state) {
  (void)state;
  Folder f = folder_make();
  tgTask *t = load_well(&f, PLAIN);
  tgOptimum *want = run(&f, t, false);
  struct rlimit old, few;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  for (rlim_t room = 4; room < 250; room += 41) {
    few = old;
    few.rlim_cur = room;
    unlink(f.journal);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    tgOptimum *got = run(&f, t, false);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    check_true(got->status == TG_ERR_DISK && strstr(got->error.text, "cannot be written") != NULL, "room for %ld bytes: status %d: %s",
               (long)room, got->status, got->error.text);
    tg_optimum_free(got);
    got = run(&f, t, true);
    same_outcome(got, want, "full", (size_t)room);
    tg_optimum_free(got);
  }
  signal(SIGXFSZ, handler);
  tg_optimum_free(want);
  tg_task_free(t);
  folder_drop(&f);
}

// a journal records losses of one task: with anything changed that a loss or a step depends on it is refused, not mixed in
static void another_tasks_journal_is_refused(void **state) {
  (void)state;
  static const char *const other[] = {
      TASK("erp: 0.3", "", "", "", "", REACH, "method: adam"),
      TASK("symplectic: false", "", "", "", "", REACH, "method: adam"),
      TASK("explicit_damping: true", "", "", "", "", REACH, "method: adam"),
      TASK("push_speed: 0.5", "", "", "", "", REACH, "method: adam"),
      TASK("restitution_speed: 0.5", "", "", "", "", REACH, "method: adam"),
      TASK("eps1: 0.01", "", "", "", "", REACH, "method: adam"),
      TASK("", ", timestep: 0.02", "", "", "", REACH, "method: adam"),
      TASK("", "", "keyframe: aside", "", "", REACH, "method: adam"),
      TASK("", "", "joints: [{joint: root, velocity: [0, 0, 1, 0, 0, 0]}]", "", "", REACH, "method: adam"),
      TASK("", "", "", ", start: 1", "", REACH, "method: adam"),
      TASK("", "", "", ", low: -1", "", REACH, "method: adam"),
      TASK("", "", "", ", high: 1", "", REACH, "method: adam"),
      TASK("", "", "", "", ", high: 1", REACH, "method: adam"),
      TASK("", "", "", "", "", "- {term: body_position, name: ball, target: [1, 0, 0.5], weight: 1}\n", "method: adam"),
      TASK("", "", "", "", "", "- {term: body_com, name: cart, target: [1, 0, 0.5], weight: 1}\n", "method: adam"),
      TASK("", "", "", "", "", "- {term: site_position, name: tip, target: [1, 0, 0.5], weight: 1}\n", "method: adam"),
      TASK("", "", "", "", "", "- {term: body_position, name: cart, target: [1, 0, 0.5], weight: 1, axes: x}\n", "method: adam"),
      TASK("", "", "", "", "", "- {term: body_position, name: cart, target: [1, 0, 0.5], weight: 1, at: all}\n", "method: adam"),
      TASK("", "", "", "", "", "- {term: body_position, name: cart, target: [1, 0, 0.5], weight: 1, tolerance: 0.01}\n", "method: adam"),
      TASK("", "", "", "", "", REACH, "method: descent"),
      "restitution: [{geom: skin, value: 0.5}]\n" PLAIN,
      "gradient: softmin\n" PLAIN,
  };
  Folder f = folder_make();
  tgTask *t = load_well(&f, PLAIN);
  tg_optimum_free(run(&f, t, false));
  static char before[1 << 16], after[1 << 16];
  size_t bytes = get(f.journal, before, sizeof before);
  const int ntext = (int)(sizeof other / sizeof *other);
  for (int i = 0; i < ntext + 2; i++) {
    tgError error = {0};
    // after the texts: the ablation, and the model file itself
    if (i == ntext + 1) {
      char *edited = strdup(cart), *gear = strstr(edited, "gear='2'");
      gear[6] = '3';
      put(f.model, edited, strlen(edited));
      free(edited);
    }
    tgTask *o = load_well(&f, i < ntext ? other[i] : PLAIN);
    if (i == ntext) assert_int_equal(tg_task_zero_contact_gradient(o, &error), TG_OK);
    tgOptimum *got = run(&f, o, true);
    check_true(got->status == TG_ERR_INVALID && strstr(got->error.text, "another task") != NULL,
               "change %d: status %d: %s\n%s", i, got->status, got->error.text, i < ntext ? other[i] : "");
    assert_int_equal(get(f.journal, after, sizeof after), bytes);
    assert_memory_equal(after, before, bytes);
    tg_optimum_free(got);
    tg_task_free(o);
  }
  // nor is one from another start, in whatever variable
  put(f.model, cart, strlen(cart));
  double x[8];
  int n = tg_task_size(t);
  assert_true(n <= 8);
  for (int i = 0; i < n; i++) {
    tg_task_start(t, 0, x);
    x[i] += 0.125;
    tgOptimizeOptions from = tg_optimize_default();
    from.start = x;
    from.journal = f.journal;
    from.resume = true;
    tgOptimum *got = tg_optimize(t, &from);
    check_true(got->status == TG_ERR_INVALID && strstr(got->error.text, "another task") != NULL, "start %d: status %d: %s", i, got->status,
               got->error.text);
    tg_optimum_free(got);
  }
  tg_task_free(t);
  folder_drop(&f);
}

// text of a value of the option other than the default; of a radius one that the model's geoms have room for
static void another(const tgOption *o, char *text, size_t size) {
  double far = fmin(o->most, o->value == 0 ? 0.1 : 1);
  double value = o->value == o->most ? o->least : o->type == TG_OPTION_NUMBER ? 0.5 * (o->value + far) : o->value + 1;
  if (value == o->value) value = 0.5 * (o->value + fmax(o->least, 0));
  const char *word = o->words;
  for (int i = 0; o->type == TG_OPTION_WORD && i < (int)value; i++) word = strchr(word, ' ') + 1;
  if (o->type == TG_OPTION_WORD) snprintf(text, size, "%.*s", (int)strcspn(word, " "), word);
  else if (o->type == TG_OPTION_BOOLEAN) snprintf(text, size, "%s", value != 0 ? "true" : "false");
  else snprintf(text, size, "%.17g", value);
}

// the same with every option of every contact model, as their lists have them; those on which no bit depends, and
// other models', change nothing
static void every_option_makes_another_task(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    Folder f = folder_make();
    tgError error = {0};
    tgTask *first = load_well(&f, PLAIN);
    check_true(tg_task_override(first, tg_contact_words(w), NULL, 1, &error) == TG_OK, "%s", error.text);
    tg_optimum_free(run(&f, first, false));
    for (int v = 0; tg_contact_words(v) != NULL; v++)
      for (int i = 0; tg_contact_option(tg_contact_words(v), i).name != NULL; i++) {
        tgOption o = tg_contact_option(tg_contact_words(v), i);
        char name[80], text[64];
        snprintf(name, sizeof name, "%s.%s", tg_contact_words(v), o.name);
        another(&o, text, sizeof text);
        tgTask *t = load_well(&f, PLAIN);
        assert_int_equal(tg_task_override(t, tg_contact_words(w), NULL, 1, &error), TG_OK);
        check_true(tg_task_contact_option(t, name, text, &error) == TG_OK, "%s = %s: %s", name, text, error.text);
        tgOptimum *got = run(&f, t, true);
        bool refused = got->status == TG_ERR_INVALID && strstr(got->error.text, "another task") != NULL;
        check_true(refused == (v == w && !o.neutral), "%s, with %s = %s: status %d: %s", tg_contact_words(w), name,
                   text, got->status, got->error.text);
        tg_optimum_free(got);
        tg_task_free(t);
      }
    tg_task_free(first);
    folder_drop(&f);
  }
}

// a run that is there is neither lost nor mixed up: without resume or overwrite it is refused and untouched
static void an_earlier_run_is_not_overwritten_silently(void **state) {
  (void)state;
  enum { ROOM = 1 << 16 };
  static char before[ROOM], after[ROOM];
  Folder f = folder_make();
  tgTask *t = load_well(&f, PLAIN);
  tg_optimum_free(run(&f, t, false));
  size_t bytes = get(f.journal, before, ROOM);
  tgOptimizeOptions o = tg_optimize_default();
  o.journal = f.journal;
  tgOptimum *got = tg_optimize(t, &o);
  check_true(got->status == TG_ERR_FILE && strstr(got->error.text, "overwrite") != NULL &&
             strstr(got->error.text, f.journal) != NULL, "%d: %s", got->status, got->error.text);
  assert_int_equal(get(f.journal, after, ROOM), bytes);
  assert_memory_equal(after, before, bytes);
  tg_optimum_free(got);
  tg_task_free(t);
  folder_drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_may_fail), cmocka_unit_test(memory_may_fail_in_a_population),
      cmocka_unit_test(a_damaged_journal_is_cut_where_it_ends),
      cmocka_unit_test(an_earlier_run_is_not_overwritten_silently), cmocka_unit_test(an_unwritable_journal_is_an_error),
      cmocka_unit_test(a_full_disk_stops_the_run),
      cmocka_unit_test(another_tasks_journal_is_refused), cmocka_unit_test(every_option_makes_another_task),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
