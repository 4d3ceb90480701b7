// test_shard.c: specifications, shards as pure functions, the ledger and its faults, merges, sums in pairs.
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shard/ledger.h"
#include "shard/shards.h"
#include "support/check.h"

#define MODEL(mass, slide)                                                                                                      \
  "<mujoco><option timestep='0.01'/><worldbody><geom name='floor' type='plane' size='3 3 0.1' friction='0.01'/>"                \
  "<body name='block' pos='0 0 0.1'><inertial pos='0 0 0' mass='" mass "' diaginertia='0.01 0.01 0.01'/>"                       \
  "<joint name='x' type='slide' axis='1 0 0' stiffness='40'/><joint name='z' type='slide' axis='0 0 1'/>"                       \
  "<geom name='block' type='box' size='0.1 0.1 0.1' friction='" slide "'/></body></worldbody>"                                  \
  "<actuator><motor joint='x' name='push'/></actuator></mujoco>"
#define TASK                                                                                                                    \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 20}\nstart: {joints: [{joint: x, position: [0.6]}]}\n"                          \
  "controls: {every: 5, start: 0, start_noise: 3, low: -50, high: 50}\n"                                                        \
  "losses: [{term: joint_position, name: x, target: [0.2], weight: 1}]\noptimizer: {method: adam, iterations: 3, rate: 0.5}\n"
#define SWEEP                                                                                                                   \
  "task: t.yaml\nseeds: 2\nvary:\n  - {parameter: body_mass, of: block, values: [0.5, 1, 2]}\n"                                 \
  "  - {parameter: geom_friction, of: block, entry: 0, values: [0.1, 0.7]}\n  - {option: erp, values: [0.1, 0.3]}\n"

typedef struct Place { char path[64], spec[80], out[80]; } Place;

static void put(const Place *p, const char *name, const char *text) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", p->path, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  assert_int_equal(fclose(f), 0);
}

static Place place(const char *spec) {
  Place p;
  // in memory where there is such a folder: on a disk each result waits for it
  strcpy(p.path, access("/dev/shm", W_OK) == 0 ? "/dev/shm/tangere-shard-XXXXXX" : "/tmp/tangere-shard-XXXXXX");
  assert_non_null(mkdtemp(p.path));
  snprintf(p.spec, sizeof p.spec, "%s/s.yaml", p.path);
  snprintf(p.out, sizeof p.out, "%s/out", p.path);
  put(&p, "m.xml", MODEL("1", "0.5"));
  put(&p, "t.yaml", TASK);
  put(&p, "s.yaml", spec);
  return p;
}

static int drop(const char *path, const struct stat *at, int kind, struct FTW *f) {
  (void)at, (void)kind, (void)f;
  return remove(path);
}

static void leave(const Place *p) { nftw(p->path, drop, 16, FTW_DEPTH | FTW_PHYS); }

static tgShards *load(const Place *p) {
  tgError e = {0};
  tgShards *s = tg_shards_load(p->spec, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  return s;
}

static tgShardResult run_one(tgShards *s, int shard, const char *out) {
  tgError e = {0};
  tgShardResult r;
  mkdir(out, 0777);
  tgStatus st = tg_shards_run(s, shard, out, NULL, &r, &e);
  check_true(st == TG_OK, "%s", e.text);
  return r;
}

static tgNpz read_file(const char *folder, const char *name) {
  char path[200];
  tgError e = {0};
  tgNpz npz;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  check_true(tg_npz_read(path, 0, NULL, &npz, &e) == TG_OK, "%s", e.text);
  return npz;
}

static const double *reals(const tgNpz *npz, const char *name) {
  const tgNpzArray *a = tg_npz_find(npz, name);
  check_true(a != NULL, "no array %s", name);
  return a->data;
}

static tgShardMerged merge(const char *folder) {
  tgShardMerged m;
  tgError e = {0};
  check_true(tg_shards_merge(&folder, 1, folder, &m, &e) == TG_OK, "%s", e.text);
  return m;
}

static void run_all(const Place *p, const char *out, int threads, int part, int parts) {
  tgShardOptions o = {.threads = threads, .part = part, .parts = parts};
  tgError e = {0};
  int shards, done;
  check_true(tg_shards_run_all(p->spec, out, &o, &shards, &done, NULL, &e) == TG_OK, "%s", e.text);
  assert_int_equal(shards, done);
}

// ---- specifications ----

static void points_of_a_grid_a_list_and_draws(void **state) {
  (void)state;
  tgSpec s;
  tgError e = {0};
  char text[64];
  const char *grid = "{task: t, job: rollouts, seeds: 2, seed: 7, vary: [{option: a, values: [1, 2, 3]}, {option: b, values: [x, y]}]}";
  assert_int_equal(tgi_spec_parse(grid, strlen(grid), "s", &s, &e), TG_OK);
  assert_int_equal(s.points, 12);
  // the seed changes first, then the last that varies
  assert_int_equal(tgi_spec_seed(&s, 3), 8);
  assert_true(tgi_spec_value(&s, 0, 3, text, sizeof text) == 1);
  assert_true(tgi_spec_value(&s, 1, 3, text, sizeof text) == 1);
  assert_string_equal(text, "y");
  assert_true(tgi_spec_value(&s, 0, 11, text, sizeof text) == 3);
  tgi_spec_free(&s);
  const char *list = "{task: t, job: rollouts, how: list, group: 2, vary: [{option: a, values: [1, 2, 3]},"
                     " {option: b, values: [4, 5, 6]}]}";
  assert_int_equal(tgi_spec_parse(list, strlen(list), "s", &s, &e), TG_OK);
  assert_int_equal(s.points, 3);
  assert_int_equal(s.shards, 2);
  assert_int_equal(tgi_spec_first(&s, 2), 3);
  assert_true(tgi_spec_value(&s, 1, 2, text, sizeof text) == 6);
  tgi_spec_free(&s);
  const char *drawn = "{task: t, job: rollouts, how: random, samples: 4000, vary: [{option: a, low: 1, high: 3},"
                      " {option: b, low: 0.01, high: 100, draw: log}, {option: c, values: [5, 6]}]}";
  assert_int_equal(tgi_spec_parse(drawn, strlen(drawn), "s", &s, &e), TG_OK);
  double mean = 0, logs = 0, sixes = 0;
  for (int i = 0; i < 4000; i++) {
    double a = tgi_spec_value(&s, 0, i, text, sizeof text), b = tgi_spec_value(&s, 1, i, text, sizeof text);
    assert_true(a >= 1 && a <= 3 && b >= 0.01 && b <= 100);
    mean += a / 4000;
    logs += log(b) / 4000;
    sixes += (tgi_spec_value(&s, 2, i, text, sizeof text) - 5) / 4000;
  }
  check_close(mean, 2, 0.05);
  check_close(logs, 0, 0.25);
  check_close(sixes, 0.5, 0.05);
  tgi_spec_free(&s);
  // bounds whose quotient or difference is no number
  const char *wide = "{task: t, job: rollouts, how: random, samples: 4000, vary: [{option: a, low: -1.7e+308, high: 1.7e+308},"
                     " {option: b, low: 1.0e-300, high: 1.0e+300, draw: log}]}";
  assert_int_equal(tgi_spec_parse(wide, strlen(wide), "s", &s, &e), TG_OK);
  int above[2] = {0, 0};
  for (int i = 0; i < 4000; i++) {
    above[0] += tgi_spec_value(&s, 0, i, text, sizeof text) > 0;
    above[1] += tgi_spec_value(&s, 1, i, text, sizeof text) > 1;
  }
  check_close(above[0] / 4000.0, 0.5, 0.05);
  check_close(above[1] / 4000.0, 0.5, 0.05);
  tgi_spec_free(&s);
}

static void bad_specifications_are_refused_by_name(void **state) {
  (void)state;
  static const struct { const char *text, *says; tgStatus status; } bad[] = {
      {"{task: t.yaml, job: rollouts, seeds: 0}", "seeds is 0: the specification makes no shard", TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, group: 0}", "group is 0", TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, seeds: 1000000000}", "1000000000 shards", TG_ERR_LIMIT},
      {"{task: t.yaml, job: rollouts, seeds: 2000000000, group: 1000000}", "at most", TG_ERR_LIMIT},
      {"{task: t.yaml, job: fly}", "job", TG_ERR_PARSE},
      {"{task: t.yaml}", "job", TG_ERR_PARSE},
      {"{task: none.yaml, job: rollouts}", "none.yaml", TG_ERR_FILE},
      {"{task: t.yaml, job: rollouts, wings: 2}", "wings", TG_ERR_PARSE},
      {"{task: t.yaml, job: rollouts, vary: [{parameter: body_mass, of: wheel, values: [1]}]}", "wheel", TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, vary: [{parameter: body_mass, of: block, values: [heavy]}]}", "'heavy' is not a finite",
       TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, vary: [{parameter: body_mass, of: block, values: [.inf]}]}", "not a finite", TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, vary: [{parameter: body_weight, of: block, values: [1]}]}", "body_weight", TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, vary: [{option: viscosity, values: [1]}]}", "viscosity", TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, vary: [{option: erp, low: 0, high: 1}]}", "needs values", TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, vary: [{option: erp, values: [1]}, {option: erp, values: [1]}]}", "varied twice", TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, how: random, vary: [{option: erp, low: 0, high: 1}]}", "samples", TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, how: random, samples: 2, vary: [{option: erp, low: 2, high: 1}]}", "no range", TG_ERR_INVALID},
      {"{task: t.yaml, job: rollouts, how: list, vary: [{option: erp, values: [1, 2]}, {option: slop, values: [1]}]}", "equal length",
       TG_ERR_INVALID},
      {"{task: t.yaml, job: optimize, trajectory: true}", "trajectory", TG_ERR_INVALID},
      {"{task: t.yaml, job: optimize, vary: [{task: model, values: [a]}]}", "known are contact", TG_ERR_INVALID},
      {"", "empty", TG_ERR_PARSE}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    Place p = place(bad[i].text);
    tgError e = {0};
    assert_null(tg_shards_load(p.spec, NULL, &e));
    check_true(e.status == bad[i].status && strstr(e.text, bad[i].says) != NULL, "'%s': status %d, text '%s'", bad[i].text, e.status,
               e.text);
    check_true(e.file[0] != '\0' || e.status == TG_ERR_FILE, "'%s' names no file", bad[i].text);
    leave(&p);
  }
  tgSpec parsed;
  tgError why = {0};
  assert_int_equal(tgi_spec_parse(bad[1].text, strlen(bad[1].text), "some.yaml", &parsed, &why), TG_ERR_INVALID);
  assert_string_equal(why.file, "some.yaml");
  Place p = place(SWEEP "job: rollouts\n");
  assert_true(tg_shards_is_spec(p.spec, NULL));
  tgShards *good = tg_shards_load(p.spec, NULL, &why);
  assert_true(good != NULL && why.status == TG_OK && why.file[0] == '\0');
  tg_shards_free(good);
  put(&p, "s.yaml", TASK);
  assert_false(tg_shards_is_spec(p.spec, NULL));
  leave(&p);
}

// ---- shards ----

// whatever was computed before with the same task: the plain twin is a task that is loaded anew for each shard
static void a_shard_is_a_pure_function(void **state) {
  (void)state;
  static const char *const job[] = {"job: rollouts\n", "job: optimize\n", "job: gradient\ngroup: 5\n"};
  for (int k = 0; k < 3; k++) {
    char spec[600];
    snprintf(spec, sizeof spec, "%s%s", SWEEP, job[k]);
    Place p = place(spec);
    tgShards *held = load(&p);
    int n = tg_shards_count(held);
    assert_int_equal(n, k < 2 ? 24 : 5);
    for (int i = n - 1; i >= 0; i--) {
      tgShards *fresh = load(&p);
      tgShardResult a = run_one(held, i, p.out), b = run_one(fresh, i, p.out);
      assert_true(a.bits == b.bits && a.failed == 0);
      tg_shards_free(fresh);
    }
    tg_shards_free(held);
    leave(&p);
  }
}

static double loss_of(const char *folder, int point) {
  tgNpz npz = read_file(folder, "merged.npz");
  double loss = reals(&npz, "loss")[point];
  tg_npz_free(&npz);
  return loss;
}

// a parameter that varies is that of a model file which has the number
static void what_varies_is_what_a_file_would_say(void **state) {
  (void)state;
  Place p = place("{task: t.yaml, job: rollouts, vary: [{parameter: body_mass, of: block, values: [1, 2]},"
                  " {parameter: geom_friction, of: block, entry: 0, values: [0.5, 0.25]}, {option: erp, values: [0.2, 0.35]}]}");
  run_all(&p, p.out, 1, 0, 1);
  merge(p.out);
  put(&p, "m.xml", MODEL("2", "0.25"));
  put(&p, "t.yaml", TASK "options: {erp: 0.35}\n");
  put(&p, "s.yaml", "{task: t.yaml, job: rollouts}");
  char other[100];
  snprintf(other, sizeof other, "%s/other", p.path);
  run_all(&p, other, 1, 0, 1);
  merge(other);
  // friction is max(block, floor) and of one entry for both tangents in the file: the loss is the same, to the last bit
  double varied = loss_of(p.out, 7), written = loss_of(other, 0);
  check_true(varied == written, "%.17g in place of %.17g", varied, written);
  check_true(loss_of(p.out, 0) != varied, "nothing varies");
  leave(&p);
}

static void sum_in_pairs(const double *v, int n, double *out) {
  int half = 1;
  if (n == 1) {
    *out = *v;
    return;
  }
  while (half * 2 < n) half *= 2;
  double a, b;
  sum_in_pairs(v, half, &a);
  sum_in_pairs(v + half, n - half, &b);
  *out = a + b;
}

static void pairs_are_added_as_a_tree(void **state) {
  (void)state;
  tgtRandom r = {7};
  for (int n = 1; n < 70; n++) {
    double v[70], want, got;
    tgPairSum s;
    assert_true(tgi_pair_sum_begin(&s, 1));
    for (int i = 0; i < n; i++) v[i] = tgt_normal(&r);
    sum_in_pairs(v, n, &want);
    for (int i = 0; i < n; i++) tgi_pair_sum_add(&s, &v[i]);
    tgi_pair_sum_end(&s, &got);
    check_true(got == want, "%d: %.17g, %.17g", n, got, want);
  }
}

// the sum of a job `gradient` is that of the gradients of a job `rollouts` from the same variables
static void summed_gradients_are_the_sum(void **state) {
  (void)state;
  Place p = place("{task: t.yaml, job: rollouts, how: random, samples: 11, vary: [{parameter: body_mass, of: block, low: 0.5, high: 2}]}");
  char sums[100];
  snprintf(sums, sizeof sums, "%s/sums", p.path);
  run_all(&p, p.out, 2, 0, 1);
  merge(p.out);
  put(&p, "s.yaml", "{task: t.yaml, job: gradient, group: 4, how: random, samples: 11,"
                    " vary: [{parameter: body_mass, of: block, low: 0.5, high: 2}]}");
  run_all(&p, sums, 2, 0, 1);
  merge(sums);
  tgNpz one = read_file(p.out, "merged.npz"), all = read_file(sums, "merged.npz");
  size_t n = tg_npz_find(&one, "gradient")->shape[1];
  assert_int_equal(*(const int64_t *)tg_npz_find(&all, "sum_points")->data, 11);
  for (size_t k = 0; k < n; k++) {
    double v[11], shard[3], want;
    for (int i = 0; i < 11; i++) v[i] = reals(&one, "gradient")[(size_t)i * n + k];
    for (int i = 0; i < 3; i++) sum_in_pairs(v + 4 * i, i < 2 ? 4 : 3, &shard[i]);
    sum_in_pairs(shard, 3, &want);
    check_true(reals(&all, "sum_gradient")[k] == want, "entry %zu", k);
  }
  check_true(fabs(reals(&all, "sum_gradient")[0]) > 0, "no gradient");
  tg_npz_free(&one);
  tg_npz_free(&all);
  leave(&p);
}

static void failed_motions_are_results(void **state) {
  (void)state;
  Place p = place("{task: t.yaml, job: gradient, group: 2, vary: [{parameter: body_mass, of: block, values: [1, -1, 2, 1.0e-320]}]}");
  tgShards *s = load(&p);
  tgShardResult r = run_one(s, 0, p.out);
  assert_int_equal(r.failed, 1);
  tgNpz npz = read_file(p.out, "shards/00000/00000000.npz");
  const int32_t *status = tg_npz_find(&npz, "status")->data;
  assert_int_equal(status[0], TG_OK);
  assert_int_equal(status[1], TG_ERR_INVALID);
  assert_true(isnan(reals(&npz, "loss")[1]));
  const tgNpzArray *errors = tg_npz_find(&npz, "errors");
  check_true(errors->shape[0] > 10 && strncmp(errors->data, "1: body_mass cannot be -1\n", 25) == 0, "%.*s", (int)errors->shape[0],
             (const char *)errors->data);
  assert_int_equal(*(const int64_t *)tg_npz_find(&npz, "sum_points")->data, 1);
  check_true(reals(&npz, "sum_loss")[0] == reals(&npz, "loss")[0], "a failed point is in the sum");
  tg_npz_free(&npz);
  // and the point after it is as if there had been none
  tgShards *fresh = load(&p);
  tgShardResult a = run_one(s, 1, p.out), b = run_one(fresh, 1, p.out);
  assert_true(a.bits == b.bits);
  tg_shards_free(s);
  tg_shards_free(fresh);
  leave(&p);
}

// ---- all shards ----

static void same_bits_for_any_number_of_workers(void **state) {
  (void)state;
  Place p = place(SWEEP "job: gradient\n");
  uint64_t bits = 0;
  for (int threads = 1; threads <= 4; threads++) {
    char out[100];
    snprintf(out, sizeof out, "%s/%d", p.path, threads);
    run_all(&p, out, threads, 0, 1);
    tgShardMerged m = merge(out);
    if (threads == 1) bits = m.bits;
    assert_true(m.bits == bits && m.shards == 24 && m.failed == 0);
  }
  // parts in folders of their own, the last first, and in one folder
  char own[3][100];
  const char *list[3];
  for (int i = 2; i >= 0; i--) {
    snprintf(own[i], sizeof own[i], "%s/part%d", p.path, i);
    list[i] = own[i];
    run_all(&p, own[i], 1, i, 3);
    run_all(&p, p.out, 1, i, 3);
  }
  tgShardMerged m;
  tgError e = {0};
  assert_int_equal(tg_shards_merge(list, 3, p.out, &m, &e), TG_OK);
  assert_true(m.bits == bits);
  assert_true(merge(p.out).bits == bits);
  // two of three parts are not a whole
  assert_int_equal(tg_shards_merge(list, 2, p.out, &m, &e), TG_ERR_INVALID);
  check_true(strstr(e.text, "8 of 24 shards are missing (2, 5, 8") != NULL, "%s", e.text);
  leave(&p);
}

static char *slurp(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *text = malloc(1 << 20);
  *size = fread(text, 1, 1 << 20, f);
  fclose(f);
  return text;
}

static void write_bytes(const char *path, const char *text, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, size, f), size);
  fclose(f);
}

static int lines(const char *path) {
  size_t size;
  char *text = slurp(path, &size);
  int n = 0;
  for (size_t i = 0; i < size; i++) n += text[i] == '\n';
  free(text);
  return n;
}

static void a_ledger_cut_at_every_byte_goes_on(void **state) {
  (void)state;
  Place p = place("{task: t.yaml, job: rollouts, seeds: 3}");
  char path[120], kept[120];
  snprintf(path, sizeof path, "%s/ledger", p.out);
  snprintf(kept, sizeof kept, "%s/shards/00000/00000002.npz", p.out);
  run_all(&p, p.out, 1, 0, 1);
  uint64_t bits = merge(p.out).bits;
  size_t size;
  char *text = slurp(path, &size);
  tgShards *s = load(&p);
  for (size_t cut = 0; cut <= size; cut++) {
    write_bytes(path, text, cut);
    if (cut % 64 == 0) unlink(kept);   // its result may be lost as well
    tgError e = {0};
    tgShardLedger *l = tg_shard_ledger_open(s, p.out, 0, 1, &e);
    check_true(l != NULL, "cut at %zu: %s", cut, e.text);
    for (int i; (i = tg_shard_ledger_next(l, 0)) >= 0;) {
      tgShardResult r = run_one(s, i, p.out);
      assert_int_equal(tg_shard_ledger_add(l, &r, &e), TG_OK);
      assert_int_equal(tg_shard_ledger_add(l, &r, &e), TG_OK);   // a second time is no second line
    }
    assert_int_equal(tg_shard_ledger_done(l), 3);
    tg_shard_ledger_close(l);
    assert_int_equal(lines(path), 4);
    assert_true(merge(p.out).bits == bits);
  }
  // a byte that is changed in what was written whole is told with its line
  size_t told = 0;
  for (size_t at = 0; at < size; at++) {
    tgError e = {0};
    text[at] ^= 4;
    write_bytes(path, text, size);
    text[at] ^= 4;
    tgShardLedger *l = tg_shard_ledger_open(s, p.out, 0, 1, &e);
    told += l == NULL && (strstr(e.text, "damaged") != NULL || strstr(e.text, "not a ledger") != NULL);
    // the end of the last line alone: the line counts as cut off
    check_true(l == NULL || at == size - 1, "byte %zu changed, and nobody saw", at);
    tg_shard_ledger_close(l);
  }
  assert_int_equal(told, size - 1);
  free(text);
  tg_shards_free(s);
  leave(&p);
}

static void wrong_ledgers_are_refused(void **state) {
  (void)state;
  Place p = place("{task: t.yaml, job: rollouts, seeds: 3}");
  tgError e = {0};
  run_all(&p, p.out, 1, 0, 1);
  tgShards *s = load(&p);
  // two drivers
  tgShardLedger *l = tg_shard_ledger_open(s, p.out, 0, 1, &e);
  assert_non_null(l);
  assert_null(tg_shard_ledger_open(s, p.out, 0, 1, &e));
  check_true(e.status == TG_ERR_FILE && strstr(e.text, "being written by another run") != NULL, "%s", e.text);
  // other bits for a shard that is done
  tgShardResult r = {.shard = 1, .points = 1, .bits = 5};
  assert_int_equal(tg_shard_ledger_add(l, &r, &e), TG_ERR_INTERNAL);
  // counts that no reader of the line would take
  static const int counts[][2] = {{0, 0}, {-1, 0}, {1, -1}, {1, 2}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    r = (tgShardResult){.shard = 2, .bits = 5, .points = counts[i][0], .failed = counts[i][1]};
    assert_int_equal(tg_shard_ledger_add(l, &r, &e), TG_ERR_ARG);
    assert_non_null(strstr(e.text, "shard 2"));
  }
  tg_shard_ledger_close(l);
  tg_shards_free(s);
  // another model
  put(&p, "m.xml", MODEL("1.5", "0.5"));
  s = load(&p);
  assert_null(tg_shard_ledger_open(s, p.out, 0, 1, &e));
  check_true(e.status == TG_ERR_INVALID && strstr(e.text, "there: tangere") != NULL && strstr(e.text, tg_shards_identity(s)) != NULL, "%s",
             e.text);
  // a result of another run that lies where ours goes is no result
  tgShardResult read;
  assert_int_equal(tg_shards_read(s, 0, p.out, &read, &e), TG_ERR_INVALID);
  tg_shards_free(s);
  put(&p, "m.xml", MODEL("1", "0.5"));
  // a result that is not what the ledger has
  char from[120], to[120];
  snprintf(from, sizeof from, "%s/shards/00000/00000001.npz", p.out);
  snprintf(to, sizeof to, "%s/shards/00000/00000002.npz", p.out);
  size_t size;
  char *text = slurp(from, &size);
  write_bytes(to, text, size);
  const char *folder = p.out;
  assert_int_equal(tg_shards_merge(&folder, 1, p.out, NULL, &e), TG_ERR_PARSE);
  check_true(strstr(e.text, "00000002.npz is not the result") != NULL, "%s", e.text);
  free(text);
  // taken out, it is computed again
  unlink(to);
  run_all(&p, p.out, 1, 0, 1);
  merge(p.out);
  leave(&p);
}

static void a_full_disk_ends_the_run_and_loses_nothing(void **state) {
  (void)state;
  Place p = place("{task: t.yaml, job: rollouts, seeds: 12}");
  struct rlimit before, little;
  tgError e = {0};
  int shards, done;
  getrlimit(RLIMIT_FSIZE, &before);
  little = before;
  signal(SIGXFSZ, SIG_IGN);
  bool ended = false;
  // ledgers that end in the middle of a line, then results that do not fit
  for (rlim_t bytes = 600; bytes < 4000; bytes += 97) {
    little.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &little);
    tgShardOptions o = {.threads = 1};
    tgStatus st = tg_shards_run_all(p.spec, p.out, &o, &shards, &done, NULL, &e);
    setrlimit(RLIMIT_FSIZE, &before);
    check_true(st == TG_OK || st == TG_ERR_DISK, "status %d: %s", st, e.text);
    ended = ended || st == TG_ERR_DISK;
  }
  signal(SIGXFSZ, SIG_DFL);
  check_true(ended, "the disk was never full");
  run_all(&p, p.out, 2, 0, 1);
  uint64_t bits = merge(p.out).bits;
  char other[100];
  snprintf(other, sizeof other, "%s/other", p.path);
  run_all(&p, other, 1, 0, 1);
  assert_true(merge(other).bits == bits);
  leave(&p);
}

// the reasons for which the next writes of a ledger fail, and then the cut to what it had; 0: they do not
static int write_fails, cut_fails;

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
  errno = write_fails;
  write_fails = 0;
  return errno != 0 ? -1 : (ssize_t)syscall(SYS_pwrite64, fd, data, bytes, at);
}

int ftruncate(int fd, off_t bytes) {
  errno = cut_fails;
  cut_fails = 0;
  return errno != 0 ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

// A write that a signal interrupts is done again; one that fails is cut off again, and of two faults the last is told.
static void writes_that_fail(void **state) {
  (void)state;
  Place p = place("{task: t.yaml, job: rollouts, seeds: 3}");
  tgShards *s = load(&p);
  tgError e = {0};
  tgShardLedger *l = tg_shard_ledger_open(s, p.out, 0, 1, &e);
  check_true(l != NULL, "%s", e.text);
  static const struct { int write, cut, said; } fault[] = {{EINTR, 0, 0}, {ENOSPC, 0, ENOSPC}, {ENOSPC, EIO, EIO}};
  for (int k = 0; k < 3; k++) {
    tgShardResult r = {.shard = k, .points = 1, .bits = 5};
    write_fails = fault[k].write;
    cut_fails = fault[k].cut;
    tgStatus st = tg_shard_ledger_add(l, &r, &e);
    if (fault[k].said == 0) assert_int_equal(st, TG_OK);
    else check_true(st == TG_ERR_DISK && strstr(e.text, strerror(fault[k].said)) != NULL, "fault %d: status %d, '%s'", k, st, e.text);
    cut_fails = 0;
  }
  assert_int_equal(tg_shard_ledger_done(l), 1);
  tg_shard_ledger_close(l);
  tg_shards_free(s);
  leave(&p);
}

static void a_cancelled_run_goes_on(void **state) {
  (void)state;
  Place p = place("{task: t.yaml, job: optimize, seeds: 4}");
  const volatile int cancel = 1;
  tgShardOptions o = {.threads = 2, .cancel = &cancel};
  tgError e = {0};
  int done;
  assert_int_equal(tg_shards_run_all(p.spec, p.out, &o, NULL, &done, NULL, &e), TG_CANCELLED);
  assert_int_equal(done, 0);
  run_all(&p, p.out, 2, 0, 1);
  assert_int_equal(merge(p.out).points, 4);
  leave(&p);
}

static void nothing_given_does_no_harm(void **state) {
  (void)state;
  tgError e = {0};
  assert_null(tg_shards_load(NULL, NULL, &e));
  tg_shards_free(NULL);
  assert_false(tg_shards_is_spec(NULL, NULL));
  tgError unread;
  assert_false(tg_shards_is_spec("/nowhere/spec.yaml", &unread));
  check_true(unread.status == TG_ERR_FILE && strstr(unread.text, "/nowhere") != NULL, "%s", unread.text);
  assert_int_equal(tg_shards_count(NULL), 0);
  assert_int_equal(tg_shards_points(NULL), 0);
  assert_true(tg_shards_key(NULL) == 0 && tg_shards_identity(NULL) == NULL && tg_shards_job(NULL) == NULL);
  assert_int_equal(tg_shards_run(NULL, 0, "x", NULL, NULL, &e), TG_ERR_ARG);
  assert_int_equal(tg_shards_read(NULL, 0, "x", NULL, &e), TG_ERR_ARG);
  assert_null(tg_shard_ledger_open(NULL, "x", 0, 1, &e));
  tg_shard_ledger_close(NULL);
  assert_int_equal(tg_shard_ledger_next(NULL, 0), -1);
  assert_int_equal(tg_shard_ledger_add(NULL, NULL, &e), TG_ERR_ARG);
  assert_int_equal(tg_shard_ledger_sync(NULL, &e), TG_ERR_ARG);
  assert_int_equal(tg_shard_ledger_total(NULL) + tg_shard_ledger_done(NULL), 0);
  assert_int_equal(tg_shards_run_all(NULL, NULL, NULL, NULL, NULL, NULL, &e), TG_ERR_ARG);
  assert_int_equal(tg_shards_merge(NULL, 0, NULL, NULL, &e), TG_ERR_ARG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(points_of_a_grid_a_list_and_draws), cmocka_unit_test(bad_specifications_are_refused_by_name),
      cmocka_unit_test(a_shard_is_a_pure_function),        cmocka_unit_test(what_varies_is_what_a_file_would_say),
      cmocka_unit_test(pairs_are_added_as_a_tree),         cmocka_unit_test(summed_gradients_are_the_sum),
      cmocka_unit_test(failed_motions_are_results),        cmocka_unit_test(same_bits_for_any_number_of_workers),
      cmocka_unit_test(a_ledger_cut_at_every_byte_goes_on), cmocka_unit_test(wrong_ledgers_are_refused),
      cmocka_unit_test(a_full_disk_ends_the_run_and_loses_nothing), cmocka_unit_test(writes_that_fail),
      cmocka_unit_test(a_cancelled_run_goes_on),
      cmocka_unit_test(nothing_given_does_no_harm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
