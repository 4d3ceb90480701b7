// test_resume.c: a run whose journal was cut anywhere is taken up to all that the unbroken run says of itself, by every method,
// on motions that are not linear; and two runs do not write one journal.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "optim/lock.h"
#include "support/task.h"

// an arm that comes down on a floor
static const char *const arm =
    "<mujoco><option timestep='0.02'/><worldbody><geom name='floor' type='plane' size='5 5 1' friction='0.5'/>"
    "<body name='upper' pos='0 0 0.7'><joint name='shoulder' axis='0 1 0' damping='0.05'/>"
    "<geom type='capsule' fromto='0 0 0 0.4 0 0' size='0.04'/>"
    "<body name='fore' pos='0.4 0 0'><joint name='elbow' axis='0 1 0' damping='0.05'/>"
    "<geom name='fore' type='capsule' fromto='0 0 0 0.4 0 0' size='0.04'/></body></body></worldbody>"
    "<actuator><motor joint='shoulder' gear='5'/><motor joint='elbow' gear='3'/></actuator>"
    "<contact><exclude body1='upper' body2='fore'/></contact></mujoco>";
#define ARM(optimizer, more)                                                                                     \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 30}\ncontrols: {every: 5}\n"                                    \
  "initial: [{joint: elbow, part: position, low: -1, high: 1}]\n"                                                \
  "losses:\n- {term: body_position, name: fore, target: [0.1, 0, 0.5], weight: 5}\n"                             \
  "- {term: velocity, weight: 0.1}\n- {term: control, weight: 1.0e-3}\n"                                         \
  "optimizer: {iterations: 5, population: 4, elites: 2, " optimizer "}\n" more

enum { HEAD = 40, ROOM = 1 << 18 };

static size_t get(const char *path, char *data) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(data, 1, ROOM, f);
  fclose(f);
  assert_true(n < ROOM);
  return n;
}

static void put(const char *path, const char *data, size_t bytes) {
  FILE *f = fopen(path, "wb");
  assert_true(f != NULL && fwrite(data, 1, bytes, f) == bytes && fclose(f) == 0);
}

static bool asks_trust;   // of the runs

static tgOptimum *run(const tgTask *t, char *path, bool resume) {
  tgOptimizeOptions o = tg_optimize_default();
  o.trust = asks_trust;
  o.seed = 4;
  o.threads = 1;
  o.journal = path;
  o.resume = resume;
  o.overwrite = !resume;
  tgOptimum *out = tg_optimize(t, &o);
  assert_non_null(out);
  return out;
}

#define SAME(field)                                                                                                   \
  check_true(a->field == b->field, "%s cut at %zu of %zu: " #field " %.17g, not %.17g", what, at, of, (double)a->field, \
             (double)b->field)

static void same_trust(const tgTrustAt *a, const tgTrustAt *b, const char *what) {
  const tgTrust *x = &a->trust, *y = &b->trust;
  const double one[] = {a->iteration, x->range, x->loss, x->slope, x->growth, x->multiplied},
               other[] = {b->iteration, y->range, y->loss, y->slope, y->growth, y->multiplied};
  check_true(memcmp(one, other, sizeof one) == 0, "%s: trust: range %.17g, not %.17g", what, x->range, y->range);
  check_true(a->told == b->told && x->runs == y->runs && x->step == y->step && x->unstable == y->unstable && x->ambiguous == y->ambiguous &&
             x->untimed == y->untimed && x->grad.label == y->grad.label && strcmp(x->by, y->by) == 0,
             "%s: trust: %d rollouts, not %d", what, x->runs, y->runs);
}

static void same(const tgOptimum *a, const tgOptimum *b, const char *what, size_t at, size_t of) {
  same_trust(&a->trust_first, &b->trust_first, what);
  same_trust(&a->trust_best, &b->trust_best, what);
  SAME(status);
  SAME(reached);
  SAME(met);
  SAME(iterations);
  SAME(indefinite);
  SAME(evaluations);
  SAME(simulations);
  SAME(best_loss);
  SAME(ncurve);
  SAME(grad.label);
  SAME(grad.converged);
  SAME(grad.ties);
  SAME(grad.first_step);
  SAME(error.status);
  check_true(memcmp(&a->first_loss, &b->first_loss, sizeof(double)) == 0, "%s cut at %zu: first loss", what, at);
  check_true(strcmp(a->grad.reason, b->grad.reason) == 0, "%s cut at %zu: '%s', not '%s'", what, at, a->grad.reason, b->grad.reason);
  check_true(strcmp(a->error.text, b->error.text) == 0, "%s cut at %zu: '%s', not '%s'", what, at, a->error.text, b->error.text);
  const double *const x[] = {a->best, a->first, a->curve_loss, a->curve_best, a->curve_stage};
  const double *const y[] = {b->best, b->first, b->curve_loss, b->curve_best, b->curve_stage};
  const int count[] = {b->n, b->n, b->ncurve, b->ncurve, b->ncurve};
  for (int k = 0; k < 5; k++)
    check_true(memcmp(x[k], y[k], (size_t)count[k] * sizeof(double)) == 0, "%s cut at %zu of %zu: array %d differs", what, at, of, k);
}

// ---- the journals of a run: the task's own, and one of each stage beside it ----

enum { JOURNALS = 3, RECORDS = 4000 };
static int most_cuts = 4;   // of a journal; 0: at every record. Given as the program's argument

typedef struct Journal {
  char path[64];
  char *data;
  size_t bytes, end[RECORDS];   // end of the head and of each record
  int n;
} Journal;

// as src/optim/journal.c writes it: hash of x, what it says besides, count, evaluation; numbers; what it says; hash
static void find_records(Journal *j) {
  typedef struct { uint64_t x, says; int64_t count; int32_t status, label; double loss, distance; } Record;
  j->n = 0;
  for (size_t at = HEAD; at <= j->bytes;) {
    Record r;
    assert_true(j->n < RECORDS);
    j->end[j->n++] = at;
    if (at == j->bytes) return;
    assert_true(at + sizeof r <= j->bytes);
    memcpy(&r, j->data + at, sizeof r);
    at += sizeof r + (size_t)r.count * sizeof(double) + (r.says & 1 ? sizeof(tgGradInfo) : 0) + (r.says & 2 ? sizeof(tgError) : 0) + 8;
  }
  fail_msg("the journal does not end with a record");
}

static int read_journals(const char *path, Journal *j) {
  int n = 0;
  for (int k = 0; k < JOURNALS; k++) {
    static char data[ROOM];
    snprintf(j[k].path, sizeof j[k].path, k == 0 ? "%s" : "%s.%d", path, k);
    if (access(j[k].path, F_OK) != 0) break;
    j[k].bytes = get(j[k].path, data);
    j[k].data = malloc(j[k].bytes + 1);
    assert_non_null(j[k].data);
    memcpy(j[k].data, data, j[k].bytes);
    find_records(&j[k]);
    n++;
  }
  return n;
}

static int nothing_else(const char *folder) {
  DIR *d = opendir(folder);
  assert_non_null(d);
  int n = 0;
  for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

// Journal `which` ends at `at`: those before it are whole, those after it not begun. Taken up, all are what they were, and nothing else is
// there.
static void cut_once(const tgTask *t, const tgOptimum *want, const Journal *j, int n, int which, size_t at, const char *folder,
                     const char *what) {
  static char after[ROOM];
  for (int k = 0; k < n; k++) {
    if (k <= which) put(j[k].path, j[k].data, k == which ? at : j[k].bytes);
    else unlink(j[k].path);
  }
  tgOptimum *got = run(t, (char *)(uintptr_t)j[0].path, true);
  same(got, want, what, at, j[which].bytes);
  for (int k = 0; k < n; k++) {
    check_true(get(j[k].path, after) == j[k].bytes && memcmp(after, j[k].data, j[k].bytes) == 0,
               "%s, journal %d cut at %zu: journal %d is another", what, which, at, k);
  }
  check_true(nothing_else(folder) == n, "%s: something else is left in the folder", what);
  tg_optimum_free(got);
}

// Cut at each record, every other time in the middle of the next.
static tgOptimum *all_cuts(const tgTask *t, const char *what, int journals) {
  char folder[] = "/tmp/tangere-resume-XXXXXX", path[48];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/run", folder);
  tgOptimum *want = run(t, path, false);
  check_true(want->status == TG_OK, "%s: %s", what, want->error.text);
  static Journal j[JOURNALS];
  int n = read_journals(path, j);
  check_true(n == journals, "%s: %d journals, not %d", what, n, journals);
  for (int k = 0; k < n; k++) {
    assert_true(j[k].n > 1);
    int step = most_cuts > 0 ? 1 + (j[k].n - 1) / most_cuts : 1;
    for (int i = 0; i < j[k].n; i += step) {
      bool torn = i / step % 2 == 1 && i + 1 < j[k].n;
      cut_once(t, want, j, n, k, torn ? (j[k].end[i] + j[k].end[i + 1]) / 2 : j[k].end[i], folder, what);
    }
  }
  for (int k = 0; k < n; k++) {
    unlink(j[k].path);
    free(j[k].data);
  }
  rmdir(folder);
  return want;
}

static void every_method(void **state) {
  (void)state;
  // alone, over a receding horizon, and with stages after it, as its motion does not hold
  static const struct { const char *text, *name; int journals; } kind[] = {
      {ARM("method: adam, rate: 0.05, sigma: 0.3", ""), "", 1},
      {ARM("method: adam, rate: 0.05, sigma: 0.3", "receding: {horizon: 15, apply: 10}\n"), ", receding", 1},
      {ARM("method: adam, rate: 0.05, sigma: 0.3", "verify: {rows: [finer], distance: 1.0e-9}\n"
           "refine: [{timestep: 0.01, iterations: 3}, {method: lbfgs, iterations: 2, options: {contact_rule: touching}}]"
           "\n"), ", stages", 3}};
  for (int m = 0; tg_methods(m) != NULL; m++)
    for (int k = 0; k < 3; k++) {
      // a receding horizon decides no initial state
      char made[2000];
      snprintf(made, sizeof made, "%s", kind[k].text);
      char *line = k == 1 ? strstr(made, "initial:") : NULL;
      if (line != NULL) memmove(line, strchr(line, '\n') + 1, strlen(strchr(line, '\n') + 1) + 1);
      tgTask *t = tgt_task(arm, made);
      tgError error = {0};
      const char *contact = strcmp(tg_methods(m), "ddp") == 0 ? "toi" : NULL;
      check_true(tg_task_override(t, contact, tg_methods(m), 0, &error) == TG_OK, "%s", error.text);
      char what[64];
      snprintf(what, sizeof what, "%s%s", tg_methods(m), kind[k].name);
      tg_optimum_free(all_cuts(t, what, kind[k].journals));
      tg_task_free(t);
    }
}

// A run with stages goes on to more iterations, and back to fewer: a stage whose start is then another is begun anew, and all is as of a
// run that had so many from the start. What is of another problem is refused in stages too.
static void other_iterations(void **state) {
  (void)state;
  static const char *const stages = ARM("method: adam, rate: 0.05", "verify: {rows: [finer], distance: 1.0e-9}\n"
                                        "refine: [{timestep: 0.01, iterations: 3}, {method: lbfgs, iterations: 2}]\n");
  static const int iterations[] = {2, 5, 3};
  char folder[] = "/tmp/tangere-resume-XXXXXX", path[48], part[56];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/run", folder);
  for (int i = 0; i < 3; i++) {
    tgTask *t = tgt_task(arm, stages);
    tgError error = {0};
    assert_int_equal(tg_task_override(t, NULL, NULL, iterations[i], &error), TG_OK);
    tgOptimum *want = run(t, NULL, false), *got = run(t, path, i > 0), *again = run(t, path, true);
    check_true(got->status == TG_OK, "%d iterations: %s", iterations[i], got->error.text);
    assert_true(want->ncurve > iterations[i] + 3);
    same(got, want, "other iterations", (size_t)iterations[i], 5);
    same(again, want, "the same iterations", (size_t)iterations[i], 5);
    tg_optimum_free(want), tg_optimum_free(got), tg_optimum_free(again);
    tg_task_free(t);
  }
  tgTask *other = tgt_task(arm, ARM("method: adam, rate: 0.05", "verify: {rows: [finer], distance: 1.0e-9}\n"
                                    "refine: [{timestep: 0.02, iterations: 3}, {method: lbfgs, iterations: 2}]\n"));
  tgOptimum *refused = run(other, path, true);
  check_true(refused->status == TG_ERR_INVALID && strstr(refused->error.text, "another task") != NULL, "'%s'", refused->error.text);
  tg_optimum_free(refused);
  tg_task_free(other);
  for (int k = 0; k < JOURNALS; k++) {
    snprintf(part, sizeof part, k == 0 ? "%s" : "%s.%d", path, k);
    unlink(part);
  }
  rmdir(folder);
}

// Trust is of what was found, in the stage that found it: a run that is taken up tells the same.
static void trust_is_told_again(void **state) {
  (void)state;
  char path[] = "/tmp/tangere-resume-XXXXXX", part[40];
  close(mkstemp(path));
  snprintf(part, sizeof part, "%s.1", path);
  tgTask *t = tgt_task(arm, ARM("method: adam, rate: 0.05", "verify: {rows: [none]}\n"
                                "refine: [{iterations: 3, options: {contact_rule: touching}}]\n"));
  asks_trust = true;
  tgOptimum *whole = run(t, path, false);
  check_true(whole->status == TG_OK && whole->stage == 1, "stage %d: %s", whole->stage, whole->error.text);
  assert_true(whole->trust_first.told && whole->trust_best.told && whole->trust_best.trust.runs > 0);
  assert_true(whole->trust_best.trust.loss == whole->best_loss && whole->trust_first.trust.loss == whole->first_loss);
  static char data[ROOM];
  size_t bytes = get(part, data), at = HEAD + (bytes - HEAD) / 2;
  put(part, data, at);
  tgOptimum *again = run(t, path, true);
  same(again, whole, "trust", at, bytes);
  asks_trust = false;
  tg_optimum_free(whole);
  tg_optimum_free(again);
  tg_task_free(t);
  unlink(path);
  unlink(part);
}

// iterations that do not lower the loss raise the damping, or the penalty: that is kept too
static void damped_methods(void **state) {
  (void)state;
  static const char *const method[] = {"gauss_newton", "ilqr"};
  for (int m = 0; m < 2; m++) {
    tgTask *t = tgt_task(arm, ARM("method: adam, tolerance: 0", ""));
    tgError error = {0};
    assert_int_equal(tg_task_override(t, NULL, method[m], 14, &error), TG_OK);
    tgOptimum *want = all_cuts(t, method[m], 1);
    check_true(want->simulations > 2 * want->iterations + 1, "%s: %ld simulations in %d iterations: every first try was good",
               method[m], want->simulations, want->iterations);
    tg_optimum_free(want);
    tg_task_free(t);
  }
}

// An iteration of ilqr that finds nothing better leaves the loss as it was; so many of them on end end the run, wherever it was cut off.
static void patience_of_ilqr(void **state) {
  (void)state;
  static const char *const text[] = {ARM("method: ilqr, tolerance: 0", ""), ARM("method: ilqr, tolerance: 0, patience: 1", ""),
                                     ARM("method: ilqr, tolerance: 0, patience: 2", "")};
  enum { ALL = 40 };
  tgOptimum *found[3];
  for (int patience = 0; patience < 3; patience++) {
    tgTask *t = tgt_task(arm, text[patience]);
    assert_int_equal(tg_task_override(t, NULL, NULL, ALL, NULL), TG_OK);
    found[patience] = all_cuts(t, "patience", 1);
    tg_task_free(t);
  }
  for (int patience = 1; patience < 3; patience++) {
    const double *loss = found[0]->curve_loss;
    int at = 0, failed = 0;
    for (; at < found[0]->ncurve && failed < patience; at++)
      failed = loss[at] == (at > 0 ? loss[at - 1] : found[0]->first_loss) ? failed + 1 : 0;
    check_true(failed == patience && at < found[0]->ncurve, "no %d iterations of %d failed on end", patience, found[0]->ncurve);
    check_true(found[patience]->ncurve == at, "patience %d: %d iterations, not %d", patience, found[patience]->ncurve, at);
    assert_memory_equal(found[patience]->curve_loss, loss, (size_t)at * sizeof *loss);
  }
  for (int k = 0; k < 3; k++) tg_optimum_free(found[k]);
}

// motions that end early leave their failure and no gradient
static void failing_motions(void **state) {
  (void)state;
  static const char *const method[] = {"random", "cem"};
  for (int m = 0; m < 2; m++) {
    tgTask *t = tgt_task(arm, ARM("method: cem, sigma: 1.0e+170", ""));
    tgError error = {0};
    assert_int_equal(tg_task_override(t, NULL, method[m], 0, &error), TG_OK);
    tgOptimum *want = all_cuts(t, method[m], 1);
    check_true(want->error.text[0] != '\0', "%s: no motion failed", method[m]);
    tg_optimum_free(want);
    tg_task_free(t);
  }
}

// A journal that a run writes is refused to another, of this process and of others, and the owner is named; it is free when the run ends
// or dies.
static void one_writer(void **state) {
  (void)state;
  char path[] = "/tmp/tangere-resume-XXXXXX";
  close(mkstemp(path));
  tgTask *t = tgt_task(arm, ARM("method: adam", ""));
  int ready[2];
  char byte;
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    tgRunLock lock;
    if (write(ready[1], tgi_run_lock(&lock, path, NULL) == TG_OK ? "y" : "n", 1) != 1) _exit(1);
    for (;;) pause();
  }
  assert_true(child > 0 && read(ready[0], &byte, 1) == 1 && byte == 'y');
  char named[40];
  snprintf(named, sizeof named, "process %ld", (long)child);
  for (int resume = 0; resume < 2; resume++) {
    tgOptimum *o = run(t, path, resume);
    check_true(o->status == TG_ERR_FILE && strstr(o->error.text, path) != NULL && strstr(o->error.text, named) != NULL, "%s",
               o->error.text);
    tg_optimum_free(o);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  char left[40];
  snprintf(left, sizeof left, "%s.lock", path);
  assert_int_equal(access(left, F_OK), 0);
  tgOptimum *o = run(t, path, false);
  check_true(o->status == TG_OK, "%s", o->error.text);
  tg_optimum_free(o);
  tgRunLock lock;
  assert_int_not_equal(access(left, F_OK), 0);   // the last run took its lock's file with it
  assert_int_equal(tgi_run_lock(&lock, path, NULL), TG_OK);
  o = run(t, path, true);
  check_true(o->status == TG_ERR_FILE && strstr(o->error.text, "of this process") != NULL, "%s", o->error.text);
  tg_optimum_free(o);
  tgi_run_unlock(&lock);
  close(ready[0]);
  close(ready[1]);
  tg_task_free(t);
  unlink(path);
}

// ---- what is taken up ----

static void count_replayed(void *ctx, const tgProgress *p) { ((int *)ctx)[p->replayed]++; }

// the reason for which the next cut of a file fails, 0: it does not; the C library's ftruncate stands behind here
static int cut_fails;

int ftruncate(int fd, off_t bytes) {
  errno = cut_fails;
  cut_fails = 0;
  return errno != 0 ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

// A whole journal leaves nothing to compute. Where its torn end cannot be cut off the run ends, and the reason is told.
static void nothing_is_made_again(void **state) {
  (void)state;
  char path[] = "/tmp/tangere-resume-XXXXXX";
  close(mkstemp(path));
  tgTask *t = tgt_task(arm, ARM("method: adam", ""));
  tgOptimum *whole = run(t, path, false);
  assert_int_equal(whole->status, TG_OK);
  int replayed[2] = {0, 0};
  tgOptimizeOptions o = tg_optimize_default();
  o.seed = 4;
  o.threads = 1;
  o.journal = path;
  o.resume = true;
  o.progress = count_replayed;
  o.progress_ctx = replayed;
  tgOptimum *again = tg_optimize(t, &o);
  assert_int_equal(again->status, TG_OK);
  assert_true(replayed[0] == 0 && replayed[1] == whole->iterations);
  static char data[ROOM];
  put(path, data, get(path, data) - 3);
  cut_fails = EDQUOT;
  tg_optimum_free(again);
  again = tg_optimize(t, &o);
  check_true(again->status < 0 && strstr(again->error.text, strerror(EDQUOT)) != NULL && cut_fails == 0, "status %d, '%s'", again->status,
             again->error.text);
  tg_optimum_free(whole);
  tg_optimum_free(again);
  tg_task_free(t);
  unlink(path);
}

// what happens to the file of the lock between its opening and its locking, which the C library's flock stands behind here
static const char *taken_away, *replaced_by;

int flock(int fd, int operation) {
  if (replaced_by != NULL) rename(replaced_by, taken_away);
  else if (taken_away != NULL) unlink(taken_away);
  taken_away = replaced_by = NULL;
  return (int)syscall(SYS_flock, fd, operation);
}

// The last holder takes its file away, and another may make one of its name: what is locked is the file that has the name.
static void a_file_that_is_taken_away(void **state) {
  (void)state;
  char path[] = "/tmp/tangere-resume-XXXXXX", name[40], other[40];
  close(mkstemp(path));
  snprintf(name, sizeof name, "%s.lock", path);
  snprintf(other, sizeof other, "%s.other", path);
  for (int k = 0; k < 2; k++) {
    tgRunLock lock;
    tgError e = {0};
    struct stat held, named;
    if (k == 1) close(open(other, O_CREAT | O_RDWR, 0600));
    taken_away = name;
    replaced_by = k == 1 ? other : NULL;
    check_true(tgi_run_lock(&lock, path, &e) == TG_OK, "%s", e.text);
    assert_null(taken_away);
    assert_true(fstat(lock.fd, &held) == 0 && stat(name, &named) == 0 && held.st_ino == named.st_ino);
    tgi_run_unlock(&lock);
  }
  unlink(path);
}

// a program without its standard input has descriptor 0 for the lock
static void without_an_input(void **state) {
  (void)state;
  char path[] = "/tmp/tangere-resume-XXXXXX";
  close(mkstemp(path));
  int input = dup(0);
  tgRunLock lock;
  tgError e = {0};
  close(0);
  tgStatus status = tgi_run_lock(&lock, path, &e);
  bool first = lock.fd == 0;
  tgi_run_unlock(&lock);
  if (input >= 0) {
    dup2(input, 0);
    close(input);
  }
  check_true(status == TG_OK && first, "%s", e.text);
  unlink(path);
}

// a path that the name of the lock does not fit behind is refused, one character less is not
static void a_path_that_is_too_long(void **state) {
  (void)state;
  enum { SIZE = sizeof ((tgRunLock *)0)->path, MOST = SIZE - sizeof ".lock" };
  char path[SIZE + 1], said[80];
  tgError e = {0};
  tgRunLock lock;
  memset(path, '/', sizeof path);
  path[MOST + 1] = '\0';
  assert_int_equal(tgi_run_lock(&lock, path, &e), TG_ERR_FILE);
  snprintf(said, sizeof said, "longer than %d characters", (int)MOST);
  check_true(strstr(e.text, said) != NULL, "'%s'", e.text);
  tgi_run_unlock(&lock);
  // the root's own, which may be written or not
  path[MOST] = '\0';
  memset(&e, 0, sizeof e);
  memcpy(path + MOST - 4, "none", 4);
  memcpy(path, "/dev/null", 9);
  assert_int_equal(tgi_run_lock(&lock, path, &e), TG_ERR_FILE);
  check_true(strstr(e.text, "longer") == NULL && e.text[0] != '\0', "'%s'", e.text);
  tgi_run_unlock(&lock);
}

int main(int argc, char **argv) {
  if (argc > 1) most_cuts = atoi(argv[1]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_method), cmocka_unit_test(other_iterations),
                                     cmocka_unit_test(trust_is_told_again),
                                     cmocka_unit_test(damped_methods), cmocka_unit_test(patience_of_ilqr),
                                     cmocka_unit_test(failing_motions),
                                     cmocka_unit_test(one_writer), cmocka_unit_test(nothing_is_made_again),
                                     cmocka_unit_test(a_file_that_is_taken_away),
                                     cmocka_unit_test(without_an_input), cmocka_unit_test(a_path_that_is_too_long)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
