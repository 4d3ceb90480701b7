// test_solvable.c: states whose conditions need care to have a solution at all: parts jammed by friction, bounces against walls.
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "contact/islands.h"
#include "scenes/scenes.h"
#include "step/scene_states.h"
#include "support/rig.h"
#include "tangere/grad.h"
#include "tangere/param.h"

static const double h = 0.002;

static Rig roomy(Rig r) {
  assert_int_equal(tg_sim_reserve(r.s, 64, 250), TG_OK);
  return r;
}

static tgStepInfo step(Rig *r) {
  tgStepInfo info;
  tgStatus status = tg_sim_step(r->s, h, &info);
  check_true(status == TG_OK, "%s", r->s->error.text);
  return info;
}

// A ball of 1 kg on a rail at 45 degrees to the floor, which it touches with mu = 2 > tan 45: it cannot be pushed along
// the rail by the floor, however hard (the normal's share is less than the friction's).
static Rig wedge(tgContactRule rule) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 2);
  int b = tg_desc_add_body(d, 0, "wedge"), j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, "rail"),
      g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL);
  d->body[b].pos[2] = 0.1;
  memcpy(d->joint[j].axis, (double[]){sqrt(0.5), 0, sqrt(0.5)}, sizeof d->joint[j].axis);
  d->geom[g].size[0] = 0.1;
  d->geom[g].mass = 1;
  d->geom[g].friction[0] = 2;
  return roomy(rig_ruled(d, rule));
}

// Overlapping by 0.1 mm, pressed by its weight, the floor can neither push it out nor let it in: with the error term erp gap/h the
// conditions have no solution. By hand, with c = cos 45 = sin 45, v' = vhat + c (f_n + f_t): parted, w_n = c vhat + erp gap/h < 0; stuck,
// v' = 0 gives w_n = erp gap/h < 0; sliding out, f_t = -2 f_n, v' = vhat - c f_n < vhat < 0. So the error stays, the rest holds, and it
// is said. Pulled out it comes.
static void check_jammed(Rig *r, double deep, double pull) {
  for (int i = 0; i < 10; i++) {
    tgStepInfo info = step(r);
    assert_int_equal(info.nleft, 1);
    check_close(r->s->qvel[0], 0, 1e-13);
    check_close(r->s->qpos[0], deep, 1e-13);
  }
  // held, its next velocity depends on nothing
  tgReal D[4];
  tgGradInfo info;
  assert_int_equal(tg_sim_step_jacobian(r->s, D, &info), TG_OK);
  assert_int_equal(info.label, TG_GRAD_EXACT);
  const double expected[4] = {1, 0, 0, 0};
  for (int i = 0; i < 4; i++) check_close(D[i], expected[i], 1e-9);
  r->s->qvel[0] = pull;
  assert_int_equal(step(r).nleft, 0);
  check_true(tgRe(r->s->qvel[0]) > 0, "pulled out it stays: %.3g", tgRe(r->s->qvel[0]));
}

static void test_jammed(void **state) {
  (void)state;
  Rig r = wedge(TG_RULE_TOUCHING);
  const double deep = -1e-4 / sqrt(0.5);
  r.s->qpos[0] = deep;
  check_jammed(&r, deep, 0.05);
  drop(&r);
}

// By `closing` it is the push out of positions that has no solution. It stays too, and where it moves in at the start it is stopped there.
static void test_jammed_closing(void **state) {
  (void)state;
  Rig r = wedge(TG_RULE_CLOSING);
  const double deep = -1e-4 / sqrt(0.5);
  r.s->qpos[0] = deep;
  check_jammed(&r, deep, 0.1);   // out within the step, as nothing is pushed
  r.s->qpos[0] = deep;
  r.s->qvel[0] = -1e-3;
  assert_int_equal(step(&r).nleft, 1);
  check_close(r.s->qpos[0], deep, 1e-13);
  drop(&r);
}

// Without weight and at rest, the only number left is an overlap of rounding size: that is no contradiction
static void test_rounding(void **state) {
  (void)state;
  for (int rule = 0; rule < 2; rule++) {
    Rig r = wedge(rule == 0 ? TG_RULE_TOUCHING : TG_RULE_CLOSING);
    tg_sim_param(r.s, "opt_gravity", NULL, NULL)[2] = 0;
    r.s->qpos[0] = -1e-16;
    for (int i = 0; i < 10; i++) assert_int_equal(step(&r).nleft, 0);
    drop(&r);
  }
}

// ---- restitution ----

static double kinetic(const tgSim *s, const tgReal *v) {
  return 0.5 * tgRe(tgi_block_form(&s->m, v, s->M, v));
}

static void no_weight(tgSim *s) { tg_sim_param(s, "opt_gravity", NULL, NULL)[2] = 0; }

static void restitution(tgDesc *d, double e) {
  for (int g = 0; g < d->ngeom; g++) d->geom[g].restitution = e;
}

// Balls in a row on one rail, touching, the first one thrown: of two equal ones the second takes all (gradient 1 0 1 0
// of the velocities), of more the first comes back, and energy and momentum are kept: the simultaneous impact by rows,
// w = -e J v of those that approach.
static void test_cradle(void **state) {
  (void)state;
  for (int n = 2; n < 6; n++) {
    tgDesc *d = tg_desc_create(NULL);
    for (int i = 0; i < n; i++) {
      int b = tg_desc_add_body(d, 0, NULL), j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, NULL),
          g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL);
      d->body[b].pos[0] = 0.2 * i;
      memcpy(d->joint[j].axis, (double[]){1, 0, 0}, sizeof d->joint[j].axis);
      d->geom[g].size[0] = 0.1;
      d->geom[g].mass = 1;
      d->geom[g].friction[0] = 0;
    }
    restitution(d, 1);
    Rig r = roomy(rig_of_desc(d, "lcp", NULL));
    no_weight(r.s);
    r.s->qvel[0] = 1;
    tgReal D[4 * 5 * 10];
    assert_int_equal(step(&r).ndamped, 0);
    assert_int_equal(tg_sim_step_jacobian(r.s, D, NULL), TG_OK);
    double momentum = 0;
    for (int i = 0; i < n; i++) momentum += tgRe(r.s->qvel[i]);
    check_close(momentum, 1, 1e-12);
    check_close(kinetic(r.s, r.s->qvel), 0.5, 1e-12);
    // the first against the others as one body
    check_close(r.s->qvel[0], (1.0 - (n - 1)) / n, 1e-12);
    for (int i = 1; i < n; i++) check_close(r.s->qvel[i], 2.0 / n, 1e-12);
    const double swapped[2][2] = {{0, 1}, {1, 0}};
    for (int i = 0; i < 4 && n == 2; i++) check_close(D[(2 + i / 2) * 4 + 2 + i % 2], swapped[i / 2][i % 2], 1e-9);
    drop(&r);
  }
}

// A ball between two walls that it touches, thrown at one of them: with full restitution there it would have to leave through the other
static void test_slot(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  for (int side = 0; side < 2; side++) {
    int wall = tg_desc_add_geom(d, 0, TG_GEOM_BOX, NULL);
    memcpy(d->geom[wall].size, (double[]){0.1, 1, 1}, sizeof d->geom[wall].size);
    d->geom[wall].pos[0] = side == 0 ? -0.2 : 0.2;
  }
  tgs_free_body(d, "ball", (double[]){0, 0, 0}, TG_GEOM_SPHERE, (double[]){0.1, 0, 0}, 1, 0.5);
  restitution(d, 1);
  Rig r = roomy(rig_of_desc(d, "lcp", NULL));
  no_weight(r.s);
  r.s->qvel[0] = -1;
  assert_int_equal(step(&r).ndamped, 1);
  check_close(r.s->qvel[0], 0, 1e-12);
  drop(&r);
}

// Where it bounces less, the derivative is that of what was done: dv'/dv against central differences of steps with the same classes
static int damped_columns(Rig *r) {
  tgSim *s = r->s;
  int nv = s->m.nv, nt = 2 * nv + s->m.nu, n = s->nrow, columns = 0, *cls = malloc(sizeof *cls * (size_t)n);
  tgReal *D = malloc(sizeof *D * (size_t)(2 * nv * nt + s->m.nq + 2 * nv)), *q = D + 2 * nv * nt, *v = q + s->m.nq, *up = v + nv;
  assert_int_equal(tg_sim_step_jacobian(s, D, NULL), TG_OK);
  memcpy(cls, s->rows->class, (size_t)n * sizeof *cls);
  memcpy(q, s->start.q, (size_t)s->m.nq * sizeof *q);
  memcpy(v, s->start.vel, (size_t)nv * sizeof *v);
  for (int j = 0; j < nv; j++) {
    bool same = true;
    for (int side = 0; side < 2; side++) {
      memcpy(s->qpos, q, (size_t)s->m.nq * sizeof *q);
      memcpy(s->qvel, v, (size_t)nv * sizeof *v);
      s->qvel[j] += side == 0 ? 1e-6 : -1e-6;
      same = step(r).ndamped > 0 && same && s->nrow == n && memcmp(cls, s->rows->class, (size_t)n * sizeof *cls) == 0;
      if (side == 0) memcpy(up, s->qvel, (size_t)nv * sizeof *up);
    }
    columns += same;
    for (int i = 0; i < nv && same; i++) check_close(D[(nv + i) * nt + nv + j], (up[i] - s->qvel[i]) / 2e-6, 1e-7);
  }
  free(cls);
  free(D);
  return columns;
}

// ... and so is that in the restitution of every shape, of which such an island takes a part
static int damped_restitutions(Rig *r, tgtRandom *rnd) {
  tgSim *s = r->s;
  int nv = s->m.nv, n = s->nrow, columns = 0, ng, *cls = malloc(sizeof *cls * (size_t)n);
  tgReal *z = malloc(sizeof *z * (size_t)(s->m.nq + 2 * nv)), *q = z + nv, *v = q + s->m.nq,
         *e = tg_sim_param(s, "geom_restitution", &ng, NULL);
  const char *const name = "geom_restitution";
  tgParamGrad *p = tg_param_grad_create(r->m, &name, 1, NULL, NULL);
  assert_non_null(p);
  for (int d = 0; d < nv; d++) z[d] = tgt_normal(rnd);
  assert_int_equal(tg_sim_step_vjp(s, NULL, z, NULL, NULL, NULL, p, NULL), TG_OK);
  memcpy(cls, s->rows->class, (size_t)n * sizeof *cls);
  memcpy(q, s->start.q, (size_t)s->m.nq * sizeof *q);
  memcpy(v, s->start.vel, (size_t)nv * sizeof *v);
  for (int g = 0; g < ng; g++) {
    bool same = true;
    double side[2] = {0, 0};
    if (!(tgRe(e[g]) > 1e-5 && tgRe(e[g]) < 1 - 1e-5)) continue;
    for (int k = 0; k < 2; k++) {
      tgReal before = e[g];
      memcpy(s->qpos, q, (size_t)s->m.nq * sizeof *q);
      memcpy(s->qvel, v, (size_t)nv * sizeof *v);
      e[g] += k == 0 ? 1e-6 : -1e-6;
      same = step(r).ndamped > 0 && same && s->nrow == n && memcmp(cls, s->rows->class, (size_t)n * sizeof *cls) == 0;
      e[g] = before;
      for (int d = 0; d < nv; d++) side[k] += tgRe(z[d]) * tgRe(s->qvel[d]);
    }
    if (!same) continue;
    check_close(tg_param_grad_field(p, name, NULL, NULL)[g], (side[0] - side[1]) / 2e-6, 1e-7);
    columns += fabs(side[0] - side[1]) > 1e-9;
  }
  memcpy(s->qpos, q, (size_t)s->m.nq * sizeof *q);
  memcpy(s->qvel, v, (size_t)nv * sizeof *v);
  step(r);
  tg_param_grad_free(p);
  free(cls);
  free(z);
  return columns;
}

// A box that falls on its face and on a corner, e = 1, with and without friction; clusters of balls and boxes, thrown at each other and
// at a floor, e and mu at random. Overlaps of 1e-5 m, no weight.
static Rig thrown(int seed, tgContactRule rule, tgtRandom *rnd) {
  bool friction = seed % 2 == 1;
  tgDesc *d = tg_desc_create(NULL);
  const double size[3] = {0.1, 0.1, 0.1};
  tgs_plane(d, 1);
  int n = seed < 20 ? 1 : 2 + seed % 4;
  for (int b = 0; b < n; b++) {
    double at[3] = {0.2 * (b % 2) - 1e-5 * b, 0.01 * b, 0.1 - 1e-5 + 0.19999 * (b / 2)};
    tgs_free_body(d, NULL, at, seed % 3 == 0 || n == 1 ? TG_GEOM_BOX : TG_GEOM_SPHERE, size, tgt_uniform(rnd, 0.3, 3), 1);
  }
  for (int g = 0; g < d->ngeom; g++) {
    d->geom[g].restitution = seed < 20 ? 1 : tgt_uniform(rnd, 0, 1);
    d->geom[g].friction[0] = friction ? tgt_uniform(rnd, 0, 1) : 0;
  }
  Rig r = roomy(rig_ruled(d, rule));
  no_weight(r.s);
  // face, edge or corner down
  if (n == 1 && seed % 4 >= 2) {
    tgReal turn[6] = {0, 0, 0.1 * (sqrt(3) - 1) - 1e-5, 0, 0, 0};
    const double a = atan(sqrt(2)) / sqrt(2);
    turn[3] = a;
    turn[4] = -a;
    tg_model_integrate(r.m, r.s->qpos, turn, r.s->qpos);
  }
  for (int v = 0; v < r.m->nv; v++) r.s->qvel[v] = tgt_normal(rnd);
  r.s->qvel[2] = -1;
  ((tgImpulseOptions *)(uintptr_t)r.c->options)->erp = 0;
  return r;
}

// Every step is solved and none adds energy. How many had to bounce less is printed.
static void test_energy(void **state) {
  (void)state;
  int impacts = 0, damped = 0, unfriction = 0, columns = 0, given = 0;
  for (int seed = 0; seed < 400; seed++) {
    tgtRandom rnd = {.s = 900u + (unsigned)seed};
    bool friction = seed % 2 == 1;
    Rig r = thrown(seed, TG_RULE_TOUCHING, &rnd);
    for (int i = 0; i < 3; i++) {
      tgStepInfo info = step(&r);
      double before = kinetic(r.s, r.s->start.vel), after = kinetic(r.s, r.s->end.vel);
      check_true(after <= before * (1 + 1e-11), "seed %d step %d: energy %.12g before, %.12g after", seed, i, before, after);
      assert_int_equal(info.nleft, 0);
      impacts += info.ncontact > 0;
      damped += info.ndamped > 0;
      unfriction += info.ndamped > 0 && !friction;
      if (info.ndamped > 0) {
        given += damped_restitutions(&r, &rnd);
        columns += damped_columns(&r);
        break;
      }
    }
    drop(&r);
  }
  print_message("impacts %d, damped %d (%d without friction)\n", impacts, damped, unfriction);
  check_true(given > 5, "%d derivatives in restitution of damped impacts compared", given);
  check_true(columns > 30, "%d columns of derivatives of damped impacts compared", columns);
  check_true(impacts > 400 && damped > 0 && 5 * damped < impacts, "%d impacts, %d damped", impacts, damped);
}

// By `closing` too, where a step has up to 8 impacts: inertias are isotropic, so that energy is the same at the start's and the end's pose.
// Clusters with more impacts than that fill all parts of a step.
static void test_energy_closing(void **state) {
  (void)state;
  int impacts = 0, full = 0;
  for (int seed = 0; seed < 400; seed++) {
    tgtRandom rnd = {.s = 900u + (unsigned)seed};
    Rig r = thrown(seed, TG_RULE_CLOSING, &rnd);
    for (int i = 0; i < 3; i++) {
      tgReal start[64];
      memcpy(start, r.s->qvel, (size_t)r.m->nv * sizeof *start);
      tgStepInfo info = step(&r);
      double before = kinetic(r.s, start), after = kinetic(r.s, r.s->end.vel);
      check_true(after <= before * (1 + 1e-11), "seed %d step %d: energy %.12g before, %.12g after", seed, i, before, after);
      assert_memory_equal(start, r.s->start.vel, (size_t)r.m->nv * sizeof *start);
      assert_in_range(r.s->npart, 1, TGI_PARTS);
      assert_int_equal(info.nleft, 0);
      impacts += info.nimpact;
      full += info.nimpact == TGI_IMPACTS;
    }
    drop(&r);
  }
  print_message("%d impacts, %d steps with %d\n", impacts, full, TGI_IMPACTS);
  check_true(impacts > 400 && full > 0, "%d impacts, %d steps with %d", impacts, full, TGI_IMPACTS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_jammed), cmocka_unit_test(test_jammed_closing),
                                     cmocka_unit_test(test_rounding), cmocka_unit_test(test_cradle),
                                     cmocka_unit_test(test_slot), cmocka_unit_test(test_energy), cmocka_unit_test(test_energy_closing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
