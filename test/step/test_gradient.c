// test_gradient.c: the step's Jacobian and adjoint on random states of the six scenes, memory frozen.
//
// Complex step in the complex build (1e-8), Ridders in the real one (1e-6); blocks are compared apart. A state whose active
// set changes inside Ridders' stencil is set aside and checked from the side where it does not. Argument: states per scene.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "contact/lcp/solve.h"
#include "scene_states.h"
#include "support/deriv.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-8;
static int states = 200;
static const double zero_block = 1e-4;
#else
static const double tolerance = 1e-6;
static int states = 40;
static const double zero_block = 1e-2;
#endif
static const double h = 0.005;

// the step as a map of x = (q, v, u) to (q' - q1 in tangents, v')
typedef struct Map {
  tgSim *s;
  const tgReal *q1;         // nominal q'
  unsigned long long mode;  // signature of the nominal active set
  bool switched;            // another one was met
  tgsScene scene;
} Map;

static unsigned long long mode_of(const tgSim *s) {
  unsigned long long x = 1469598103934665603ull;
  for (int i = 0; i < s->nrow; i++) {
    int part[5] = {s->row_kind[i], s->row_owner[i], s->row_part[i], s->row_class[i], tgRe(s->row_bounce[i]) > 0};
    if (s->row_kind[i] == TG_ROW_NORMAL) part[1] = 1000 * s->contact[s->row_owner[i]].pair + s->contact[s->row_owner[i]].feature;
    // the side of a tangent without a normal force has no effect
    if (s->row_kind[i] == TG_ROW_TANGENT) part[1] = 0;
    if (s->row_kind[i] == TG_ROW_TANGENT && s->row_class[s->row_parent[i]] == TGI_LCP_N) part[3] = TGI_LCP_N;
    for (int k = 0; k < 5; k++) x = (x ^ (unsigned long long)part[k]) * 1099511628211ull;
  }
  return x;
}

static void set_state(tgSim *s, const tgReal *x) {
  const tgModel *m = &s->m;
  memcpy(s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(s->qvel, x + m->nq, (size_t)m->nv * sizeof *x);
  memcpy(s->ctrl, x + m->nq + m->nv, (size_t)m->nu * sizeof *x);
}

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Map *k = ctx;
  tgSim *s = k->s;
  set_state(s, x);
  tgStatus status = tg_sim_step(s, h, NULL);
  if (status != TG_OK) return status;
  if (mode_of(s) != k->mode) k->switched = true;
  tg_model_difference(s->model, k->q1, s->qpos, y);
  for (int d = 0; d < s->m.nv; d++) y[s->m.nv + d] = s->qvel[d];
  return TG_OK;
}

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((Map *)ctx)->s->m;
  tg_model_integrate(((Map *)ctx)->s->model, x, d, out);
  for (int i = 0; i < m->nv + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

typedef struct Count { int total, active, stick, slip, aside, onesided, deficient, failed; double worst, dot; } Count;

static void count_classes(const tgSim *s, Count *c) {
  bool stick = false, slip = false, active = false;
  for (int i = 0; i < s->nrow; i++) {
    if (s->row_kind[i] == TG_ROW_NORMAL && s->row_class[i] == TGI_LCP_C) active = true;
    if (s->row_kind[i] == TG_ROW_TANGENT && s->row_class[i] == TGI_LCP_F) stick = true;
    if (s->row_kind[i] == TG_ROW_TANGENT && s->row_class[s->row_parent[i]] == TGI_LCP_C &&
        (s->row_class[i] == TGI_LCP_H || s->row_class[i] == TGI_LCP_L))
      slip = true;
  }
  c->active += active;
  c->stick += stick;
  c->slip += slip;
  c->deficient += s->info.rank_deficient;
}

// adjoint against the Jacobian with two random pairs, and all unit gradients of a few rows
static void check_adjoint(tgSim *s, const tgReal *D, tgtRandom *r, Count *c) {
  int nv = s->m.nv, nu = s->m.nu, n = 2 * nv + nu;
  tgReal *g = malloc(sizeof(tgReal) * (size_t)(2 * nv)), *out = malloc(sizeof(tgReal) * (size_t)n), *v = malloc(sizeof(tgReal) * (size_t)n);
  for (int trial = 0; trial < 3; trial++) {
    for (int i = 0; i < 2 * nv; i++) g[i] = tgt_normal(r);
    for (int i = 0; i < n; i++) v[i] = tgt_normal(r);
    assert_int_equal(tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, NULL), TG_OK);
    double error = tgi_dot_error(D, 2 * nv, n, g, v, out);
    if (error > c->dot) c->dot = error;
    tgt_check_adjoint(D, 2 * nv, n, g, v, out);
  }
  free(g);
  free(out);
  free(v);
}

// each column from the side on which the mode stays; true when one was found for all
static bool one_sided(Map *k, const tgiNumDiff *n, const tgReal *x, const tgReal *D, double *worst) {
  int nt = n->nt, ny = n->ny;
  tgReal *work = malloc(sizeof(tgReal) * (tgi_numdiff_work(n) + (size_t)nt));
  double *column = malloc(sizeof(double) * 2 * (size_t)ny), scale = 0;
  tgReal *t = work + tgi_numdiff_work(n);
  bool all = true;
  *worst = 0;
  for (int i = 0; i < ny * nt; i++) scale = fmax(scale, fabs(tgRe(D[i])));
  for (int j = 0; j < nt; j++) {
    bool found = false;
    for (int side = -1; side <= 1 && !found; side += 2) {
      for (int i = 0; i < nt; i++) t[i] = i == j;
      k->switched = false;
      if (tgi_numdiff(n, x, t, (tgiSide)side, column, column + ny, work) != TG_OK || k->switched) continue;
      found = true;
      for (int i = 0; i < ny; i++) *worst = fmax(*worst, fabs(column[i] - tgRe(D[i * nt + j])) / scale);
    }
    all = all && found;
  }
  free(work);
  free(column);
  return all;
}

// worst of the six blocks d(q', v')/d(q, v, u); a block below zero_block is compared with that
static double compare(Map *k, const tgReal *x, const tgReal *D, int nx, double shrink, char message[256]) {
  int nv = k->s->m.nv, nu = k->s->m.nu, nt = 2 * nv + nu, ny = 2 * nv, width[3] = {nv, nv, nu};
  tgiNumDiff n = {.nx = nx, .nt = nt, .ny = ny, .map = map, .retract = retract, .ctx = k, .step = 1e-6, .analytic = true};
  tgReal *work = malloc(sizeof(tgReal) * (tgi_numdiff_work(&n) + (size_t)nt)), *t = work + tgi_numdiff_work(&n);
  double *column = malloc(sizeof(double) * 2 * (size_t)ny), *R = malloc(sizeof(double) * (size_t)(ny * nt)), worst = 0;
  for (int j = 0; j < nt; j++) {
    for (int i = 0; i < nt; i++) t[i] = i == j;
    // steps that move v' by about as much: positions, velocities, controls
    n.step = shrink * (j < nv ? 1e-5 : j < 2 * nv ? 1e-4 : 1e-2);
    assert_int_equal(tgi_numdiff(&n, x, t, TGI_SIDE_BOTH, column, column + ny, work), TG_OK);
    for (int i = 0; i < ny; i++) R[i * nt + j] = column[i];
  }
  for (int b = 0; b < 6; b++) {
    int r0 = b / 3 * nv, c0 = b % 3 * nv;
    if (width[b % 3] == 0) continue;
    tgiWorst w = tgi_block_error(D + r0 * nt + c0, nt, R + r0 * nt + c0, nt, nv, width[b % 3]);
    double biggest = 0;
    for (int i = 0; i < nv; i++)
      for (int j = 0; j < width[b % 3]; j++) biggest = fmax(biggest, fabs(R[(r0 + i) * nt + c0 + j]));
    double error = biggest < zero_block ? fabs(w.ours - w.reference) / zero_block : w.error;
    if (error < worst) continue;
    worst = error;
    snprintf(message, 256, "%s: block %d entry (%d, %d) is %.17g, differences give %.17g", tgs_name(k->scene), b, w.row, w.col, w.ours,
             w.reference);
  }
  free(R);
  free(column);
  free(work);
  return worst;
}

static void check_state(tgSim *s, tgsScene scene, int k, Count *c) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nx = m->nq + nv + nu, nt = 2 * nv + nu;
  tgReal *x = malloc(sizeof(tgReal) * (size_t)(nx + m->nq)), *D = malloc(sizeof(tgReal) * (size_t)(2 * nv * nt)), *q1 = x + nx;
  tgStatus status = tgt_scene_state(s, scene, k, h);
  if (status != TG_OK) print_message("%s state %d: %s\n", tgs_name(scene), k, s->error.text);
  c->failed += status != TG_OK;
  if (status == TG_OK) {
    memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
    memcpy(x + m->nq, s->qvel, (size_t)nv * sizeof *x);
    memcpy(x + m->nq + nv, s->ctrl, (size_t)nu * sizeof *x);
    // one nominal step makes the memory, then it is frozen and the step is taken again
    status = tg_sim_step(s, h, NULL);
    tg_sim_freeze_memory(s, true);
    set_state(s, x);
    if (status == TG_OK) status = tg_sim_step(s, h, NULL);
    c->failed += status != TG_OK;
  }
  if (status == TG_OK) {
    tgtRandom r = {.s = (unsigned)k};
    tgGradInfo info;
    Map ctx = {.s = s, .q1 = q1, .mode = mode_of(s), .scene = scene};
    memcpy(q1, s->qpos, (size_t)m->nq * sizeof *x);
    count_classes(s, c);
    c->total++;
    assert_int_equal(tg_sim_step_jacobian(s, D, &info), TG_OK);
    check_adjoint(s, D, &r, c);
    char message[256];
    // the widest stencil in which the active set stays
    double worst = compare(&ctx, x, D, nx, 1, message);
    for (int shrink = 1; shrink < 3 && ctx.switched; shrink++) {
      ctx.switched = false;
      worst = compare(&ctx, x, D, nx, shrink == 1 ? 0.1 : 0.01, message);
    }
    if (ctx.switched) {
      c->aside++;
      tgiNumDiff n = {.nx = nx, .nt = nt, .ny = 2 * nv, .map = map, .retract = retract, .ctx = &ctx, .step = 1e-6};
      double error;
      if (one_sided(&ctx, &n, x, D, &error)) {
        c->onesided++;
        check_true(error < 1e-5, "%s state %d: one-sided error %.3g", tgs_name(scene), k, error);
      }
    } else {
      if (worst > c->worst) c->worst = worst;
      check_true(worst <= tolerance, "state %d: %s (label %d %s)", k, message, (int)info.label, info.reason);
    }
  }
  tg_sim_freeze_memory(s, false);
  free(x);
  free(D);
}

static void check_scene(tgsScene scene) {
  tgError e = {0};
  tgModel *m = tgs_model(scene, &e);
  check_true(m != NULL, "%s: %s", tgs_name(scene), e.text);
  tgContact *contact = tg_contact_create(m, "lcp", NULL, &e);
  check_true(contact != NULL, "%s", e.text);
  tgSim *s = tg_sim_create(m, contact, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  Count c = {0};
  for (int k = 0; k < states; k++) check_state(s, scene, k, &c);
  print_message("%-12s %d states: %d touching, %d sticking, %d slipping, %d redundant, %d set aside (%d checked one-sided), %d not solved; "
                "worst error %.2g, dot test %.2g\n", tgs_name(scene), c.total, c.active, c.stick, c.slip, c.deficient, c.aside, c.onesided,
                c.failed, c.worst, c.dot);
  check_true(c.failed == 0, "%s: %d states were not solved", tgs_name(scene), c.failed);
  check_true(2 * c.active >= c.total, "%s: only %d of %d states touch", tgs_name(scene), c.active, c.total);
  check_true(c.stick > 0 && c.slip > 0, "%s: %d sticking, %d slipping", tgs_name(scene), c.stick, c.slip);
  check_true(20 * c.aside <= c.total || c.aside <= 1, "%s: %d of %d states set aside", tgs_name(scene), c.aside, c.total);
  tg_sim_free(s);
  tg_contact_free(contact);
  tg_model_free(m);
}

static void test_block(void **state) { (void)state; check_scene(TGS_BLOCK); }
static void test_arm(void **state) { (void)state; check_scene(TGS_ARM); }
static void test_stack(void **state) { (void)state; check_scene(TGS_STACK); }
static void test_humanoid(void **state) { (void)state; check_scene(TGS_HUMANOID); }
static void test_cheetah(void **state) { (void)state; check_scene(TGS_CHEETAH); }
static void test_spheres(void **state) { (void)state; check_scene(TGS_SPHERES); }

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_block), cmocka_unit_test(test_arm), cmocka_unit_test(test_cheetah),
                                     cmocka_unit_test(test_stack), cmocka_unit_test(test_spheres), cmocka_unit_test(test_humanoid)};
  if (argc > 1) states = atoi(argv[1]);
  if (argc > 2) cmocka_set_test_filter(argv[2]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
