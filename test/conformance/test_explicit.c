// test_explicit.c: contact models that are forces in closed form, on every conformance scene that they support and on
// the zoo's pairs of shapes without its equalities: action and reaction, dissipation, the same bits, the same motion
// however the world lies and whichever body is listed first, all points against those that count, Jacobian against
// differences (complex step in the complex build) and against the adjoint, labels. Scenes that a model refuses are
// counted by reason. Knows no model by its name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/scenes.h"
#include "contact/contact.h"
#include "contact/zoo.h"
#include "support/deriv.h"
#include "support/rig.h"

// positions after a step depend on controls by h^2 = 1e-6, below what differences of steps can tell: they are a block
// of their own in the complex build alone
#ifdef TG_COMPLEX
static const double tolerance = 1e-10;
static const int row_blocks = 2;
#else
static const double tolerance = 1e-6;
static const int row_blocks = 0;
#endif

enum { MOST_PAIRS = 160, MOST_STATE = 512 };

typedef struct Tally { int scenes, refused, touching; double balance, power, tilt, order, prune, gradient, adjoint; } Tally;

// the scenes' bodies are a metre large; fine points would only cost time
#define OPTIONS "stiffness=5000 eps1=4e-3 eps2=0.02 eps3=0.02 spacing="

static void widen(double *most, double x) { *most = isfinite(x) ? fmax(*most, x) : INFINITY; }

// ---- one state, whose forces are at hand ----

static double largest(const tgSim *s) {
  double most = 0;
  for (int i = 0; i < s->nterm; i++)
    for (int k = 0; k < 12; k++) most = fmax(most, fabs(tgRe(s->term[i].w[k])));
  return most;
}

// wrenches about the world's origin on both bodies of each pair cancel
static void check_balance(const tgSim *s, const char *name, Tally *t) {
  for (int i = 0; i < s->nterm; i++) {
    const tgPairTerm *f = &s->term[i];
    double size = 0, off = 0;
    for (int k = 0; k < 6; k++) {
      size = fmax(size, fabs(tgRe(f->w[k])));
      off = fmax(off, fabs(tgRe(f->w[k] + f->w[6 + k])));
    }
    check_true(off <= 1e-12 * size, "%s: pair %d: action and reaction differ by %.3g of %.3g", name, i, off, size);
    if (size > 0) widen(&t->balance, off / size);
  }
}

static double power(const tgSim *s, int i, const tgReal *V) {
  const tgPairTerm *f = &s->term[i];
  double sum = 0;
  for (int k = 0; k < 6; k++) sum += tgRe(f->w[k] * V[6 * f->body1 + k] + f->w[6 + k] * V[6 * f->body2 + k]);
  return sum;
}

// what the forces of the moving bodies have beyond those at rest takes energy, pair by pair
static void check_dissipation(tgSim *s, const char *name, Tally *t) {
  static double moving[MOST_PAIRS];
  size_t nV = 6 * (size_t)s->m.nbody;
  tgReal *V = malloc(sizeof *V * nV), *v = calloc((size_t)s->m.nv + 1, sizeof *v);
  assert_true(s->nterm <= MOST_PAIRS);
  memcpy(V, s->start.V, nV * sizeof *V);
  double size = 0;
  for (int i = 0; i < s->nterm; i++) {
    moving[i] = power(s, i, V);
    size = fmax(size, fabs(moving[i]));
  }
  memcpy(v, s->qvel, (size_t)s->m.nv * sizeof *v);
  memset(s->qvel, 0, (size_t)s->m.nv * sizeof *v);
  tgStepAdvice a;
  assert_int_equal(tg_sim_step_advice(s, &a), TG_OK);   // forces at rest
  for (int i = 0; i < s->nterm; i++) {
    double gain = moving[i] - power(s, i, V);
    check_true(gain <= 1e-12 * size, "%s: pair %d gains %.3g W of %.3g", name, i, gain, size);
    if (size > 0) widen(&t->power, gain / size);
  }
  memcpy(s->qvel, v, (size_t)s->m.nv * sizeof *v);
  free(V);
  free(v);
}

// ---- derivatives ----

typedef struct Step { tgSim *s; const tgReal *q1; double h; } Step;

static tgStatus step_map(void *ctx, const tgReal *x, tgReal *y) {
  Step *k = ctx;
  const tgModel *m = &k->s->m;
  memcpy(k->s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(k->s->qvel, x + m->nq, (size_t)m->nv * sizeof *x);
  memcpy(k->s->ctrl, x + m->nq + m->nv, (size_t)m->nu * sizeof *x);
  tgStatus status = tg_sim_step(k->s, k->h, NULL);
  if (status != TG_OK) return status;
  tg_model_difference(k->s->model, k->q1, k->s->qpos, y);
  memcpy(y + m->nv, k->s->qvel, (size_t)m->nv * sizeof *x);
  return TG_OK;
}

static void step_retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const Step *k = ctx;
  const tgModel *m = &k->s->m;
  tg_model_integrate(k->s->model, x, d, out);
  for (int i = 0; i < m->nv + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

static void check_gradient(tgSim *s, double h, const char *name, Tally *t) {
  const tgModel *m = &s->m;
  int nv = m->nv, nx = m->nq + nv + m->nu, nt = 2 * nv + m->nu, rows[2] = {nv, nv}, cols[3] = {nv, nv, m->nu};
  size_t n = 2 * (size_t)nv * (size_t)nt;
  tgReal *D = malloc(sizeof *D * (n + (size_t)(m->nq + nx + 4 * nt))), *q1 = D + n, *x = q1 + m->nq, *g = x + nx,
         *out = g + nt, *probe = out + nt;
  tgGradInfo info;
  tgtRandom r = {.s = 3};
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)nv * sizeof *x);
  memcpy(x + m->nq + nv, s->ctrl, (size_t)m->nu * sizeof *x);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  memcpy(q1, s->qpos, (size_t)m->nq * sizeof *x);
  check_true(tg_sim_step_jacobian(s, D, &info) == TG_OK && info.ties == 0 && info.converged, "%s: label %d: %s", name, info.label,
             info.reason);
  // what sticks or is pressed hard may be stiffer than this step allows
  check_true(info.label == TG_GRAD_EXACT || info.label == TG_GRAD_UNSTABLE, "%s: label %d: %s", name, info.label, info.reason);
  tgt_random_vector(&r, 2 * nv, g);
  tgt_random_vector(&r, nt, probe);
  assert_int_equal(tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, NULL, &info), TG_OK);
  tgt_check_adjoint(D, 2 * nv, nt, g, probe, out);
  widen(&t->adjoint, tgi_dot_error(D, 2 * nv, nt, g, probe, out));
  Step k = {.s = s, .q1 = q1, .h = h};
  tgtDeriv d = {.name = name, .nx = nx, .nt = nt, .ny = 2 * nv, .map = step_map, .retract = step_retract, .ctx = &k,
                .tol = tolerance, .step = 1e-4, .rows = row_blocks > 0 ? rows : NULL, .nrows = row_blocks, .cols = cols,
                .ncols = m->nu > 0 ? 3 : 2};
  char text[256];
  double error = tgt_jacobian_error(&d, x, D, text).error;
  check_true(error <= d.tol, "%s", text);
  widen(&t->gradient, error);
  free(D);
}

// ---- scenes ----

typedef struct Made { tgtConform c; tgModel *m; tgContact *contact; tgSim *s; tgError error; } Made;

static bool make(Made *k, const char *word, const tgtConformScene *scene, const tgtConformVariant *v, bool all) {
  tgAnyContactOptions o = options_of(word, all ? OPTIONS "0.3 prune=0" : OPTIONS "0.3");
  memset(k, 0, sizeof *k);
  k->m = tgt_conform_build(scene, v, &k->c);
  k->contact = tg_contact_create(k->m, word, &o.of, &k->error);
  k->s = k->contact != NULL ? tg_sim_create(k->m, k->contact, NULL, &k->error) : NULL;
  if (k->s != NULL) tgt_conform_state(&k->c, k->s);
  return k->s != NULL;
}

static void unmake(Made *k) {
  tg_sim_free(k->s);
  tg_contact_free(k->contact);
  tg_model_free(k->m);
  tg_desc_free(k->c.d);
}

static double norm(const tgReal *x) { return sqrt(tgRe(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])); }

// Sums over all pairs of the sizes of their forces, and the bodies' kinetic energy after a step: numbers that no frame
// and no order of bodies changes.
typedef struct Frameless { double force, distance, energy; } Frameless;

static Frameless step_of(Made *k, const char *name) {
  Frameless f = {0};
  tgStepInfo info;
  check_true(tg_sim_step(k->s, k->c.h, &info) == TG_OK, "%s: %s", name, tg_sim_error(k->s)->text);
  for (int i = 0; i < k->s->nterm; i++) f.force += norm(k->s->term[i].w + 3);
  f.distance = info.least_distance;
  assert_int_equal(tg_sim_forward(k->s), TG_OK);
  f.energy = 0.5 * tgRe(tgi_block_form(k->m, k->s->qvel, k->s->M, k->s->qvel));
  return f;
}

static double apart(const Frameless *a, const Frameless *b) {
  double force = fabs(a->force - b->force) / fmax(1e-3, fabs(a->force)), energy = fabs(a->energy - b->energy) / fmax(1e-3, a->energy);
  double distance = isfinite(a->distance) ? fabs(a->distance - b->distance) / fmax(1e-2, fabs(a->distance))
                    : a->distance == b->distance ? 0 : INFINITY;
  return fmax(force, fmax(energy, distance));
}

// one variant: everything that is asked of a state
static void check_state(const char *word, const tgtConformScene *scene, const tgtConformVariant *v, const char *name,
                        bool gradient, Frameless *out, Tally *t) {
  Made k, again;
  assert_true(make(&k, word, scene, v, false) && make(&again, word, scene, v, false));
  *out = step_of(&k, name);
  step_of(&again, name);
  // the same bits
  assert_memory_equal(k.s->qpos, again.s->qpos, (size_t)k.m->nq * sizeof(tgReal));
  assert_memory_equal(k.s->qvel, again.s->qvel, (size_t)k.m->nv * sizeof(tgReal));
  tgt_conform_state(&k.c, k.s);
  tgStepAdvice a;
  assert_int_equal(tg_sim_step_advice(k.s, &a), TG_OK);
  check_balance(k.s, name, t);
  t->touching += largest(k.s) > 1e-6;
  check_dissipation(k.s, name, t);
  tgt_conform_state(&k.c, k.s);
  if (gradient && k.m->nv > 0) check_gradient(k.s, k.c.h, name, t);
  unmake(&k);
  unmake(&again);
}

static void check_scene(const char *word, const tgtConformScene *scene, Tally *t) {
  Made k;
  Frameless first = {0}, other;
  char name[160];
  tgtConformVariant v = {.tilt = TGT_TILT_Y_UP};
  t->scenes++;
  bool can = make(&k, word, scene, &v, false);
  if (!can) {
    check_true(k.error.status == TG_ERR_UNSUPPORTED && k.error.text[0] != '\0', "%s: %s refuses with '%s'", scene->name,
               word, k.error.text);
    print_message("%s refuses %s: %s\n", word, scene->name, k.error.text);
    t->refused++;
  }
  unmake(&k);
  if (!can) return;
  for (int tilt = 0; tilt < TGT_TILTS; tilt++) {
    v = (tgtConformVariant){.tilt = (tgtTilt)tilt, .passive = tilt == TGT_TILT_OBLIQUE};
    snprintf(name, sizeof name, "%s, %s, tilt %d%s", word, scene->name, tilt, v.passive ? ", springs" : "");
    bool large = scene->kind == TGT_CONFORM_LARGE;
    check_state(word, scene, &v, name, large ? tilt == 0 : tilt != TGT_TILT_Z_UP, tilt == 0 ? &first : &other, t);
    if (tilt != TGT_TILT_Z_UP) continue;
    check_true(apart(&first, &other) <= 1e-9, "%s: force %.15g, %.15g; distance %.15g, %.15g; energy %.15g, %.15g",
               name, first.force, other.force, first.distance, other.distance, first.energy, other.energy);
    widen(&t->tilt, apart(&first, &other));
  }
  // all points against those that count
  v = (tgtConformVariant){.tilt = TGT_TILT_Y_UP};
  assert_true(make(&k, word, scene, &v, true));
  other = step_of(&k, scene->name);
  unmake(&k);
  check_true(apart(&first, &other) <= 1e-9, "%s: all points %.15g, those that count %.15g", scene->name, other.force, first.force);
  widen(&t->prune, apart(&first, &other));
  if (scene->kind != TGT_CONFORM_PAIR) return;
  for (int bits = 0; bits < 4; bits++) {
    Frameless side[2];
    for (int reversed = 0; reversed < 2; reversed++) {
      v = (tgtConformVariant){.tilt = TGT_TILT_Y_UP, .reversed = reversed, .self = bits & 1, .slip = bits & 2};
      snprintf(name, sizeof name, "%s, %s%s%s%s", word, scene->name, v.reversed ? ", reversed" : "",
               v.self ? ", one tree" : "", v.slip ? ", slipping" : "");
      check_state(word, scene, &v, name, bits == 3, &side[reversed], t);
    }
    // in one tree the child's speed is relative to a root that turns with it: the order then changes the motion
    if (v.self) continue;
    check_true(apart(&side[0], &side[1]) <= 1e-9, "%s: force %.15g, %.15g; energy %.15g, %.15g", name, side[0].force,
               side[1].force, side[0].energy, side[1].energy);
    widen(&t->order, apart(&side[0], &side[1]));
  }
}

static void check_table(const tgtConformScene *table, int most_refused) {
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    Tally t = {0};
    if (strcmp(tgi_contact_table(w)->stepper, "explicit") != 0) continue;
    for (const tgtConformScene *scene = table; scene->name != NULL; scene++) check_scene(tg_contact_words(w), scene, &t);
    print_message("%s: %d scenes, %d refused, %d states touch; balance %.1g, power %.1g, tilt %.1g, order %.1g, prune "
                  "%.1g, gradient %.1g, adjoint %.1g\n", tg_contact_words(w), t.scenes, t.refused, t.touching,
                  t.balance, t.power, t.tilt, t.order, t.prune, t.gradient, t.adjoint);
    check_true(t.refused <= most_refused, "%d of %d scenes refused", t.refused, t.scenes);
    check_true(t.touching > 0, "no state touches");
  }
}

static void test_blocks(void **state) { (void)state; check_table(tgt_conform_blocks, 0); }
static void test_robots(void **state) { (void)state; check_table(tgt_conform_robots, 0); }
static void test_pairs(void **state) { (void)state; check_table(tgt_conform_pairs, 0); }
static void test_ties(void **state) { (void)state; check_table(tgt_conform_ties, 0); }
static void test_files(void **state) { (void)state; check_table(tgt_conform_files, 0); }

// the zoo's trees, without the rows that only impulses have
static void test_zoo(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    Tally t = {0};
    if (strcmp(tgi_contact_table(w)->stepper, "explicit") != 0) continue;
    for (int pair = 0; pair < TGT_ZOO_PAIRS; pair++) {
      tgtZoo z = {0};
      tgtRandom r = {.s = 31 + (uint64_t)pair};
      tgError e = {0};
      char name[64];
      tgAnyContactOptions o = options_of(tg_contact_words(w), OPTIONS "0.15");
      tgDesc *d = tgt_zoo_desc(pair, &r, &z);
      d->nequality = 0;
      for (int i = 0; i < d->ntendon; i++) d->tendon[i].limited = TG_LIMITED_NO;
      z.m = tg_model_compile(d, NULL, &e);
      check_true(z.m != NULL, "%s", e.text);
      tg_desc_free(d);
      snprintf(name, sizeof name, "%s, zoo %d", tg_contact_words(w), pair);
      t.scenes++;
      z.contact = tg_contact_create(z.m, tg_contact_words(w), &o.of, &e);
      check_true(z.contact != NULL, "%s: %s", name, e.text);
      z.s = tg_sim_create(z.m, z.contact, NULL, &e);
      assert_non_null(z.s);
      tgt_zoo_state(&z, &r, false, 0.1, 0.02);
      tgStepAdvice a;
      assert_int_equal(tg_sim_step_advice(z.s, &a), TG_OK);
      t.touching += largest(z.s) > 1e-6;
      check_balance(z.s, name, &t);
      check_dissipation(z.s, name, &t);
      check_gradient(z.s, 1e-3, name, &t);
      tgt_zoo_free(&z);
    }
    print_message("%s: %d zoos, %d touch; balance %.1g, power %.1g, gradient %.1g, adjoint %.1g\n", tg_contact_words(w),
                  t.scenes, t.touching, t.balance, t.power, t.gradient, t.adjoint);
    check_true(2 * t.touching >= t.scenes, "only %d of %d zoos touch", t.touching, t.scenes);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks), cmocka_unit_test(test_robots), cmocka_unit_test(test_pairs),
                                     cmocka_unit_test(test_ties),   cmocka_unit_test(test_files),  cmocka_unit_test(test_zoo)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
