// test_incline.c: a box on an incline under the barrier's friction: sticks below the cone's angle, slips
// above, with Coulomb's acceleration, whatever the meshes; a spinning box comes to rest; a landing gets all
// its friction, a step late.
#include <stdio.h>
#include <stdlib.h>

#include "support/rig.h"
#include "tangere/barrier.h"
#include "tangere/step.h"
#include "test/contact/barrier/grid.h"

static const double lambda = 0.5, gravity = 9.81, h = 0.01;
static const double half[3] = {0.1, 0.1, 0.05}, below[3] = {2, 0.5, 0.1};

// a box of 12 n^2 triangles on the floor (m = 0) or on a fixed box of 12 m^2; gravity is turned by angle instead of the ground
static Rig make(const char *word, int n, int m, double angle, const tgContactOptions *o, int condim) {
  tgDesc *d = tg_desc_create(NULL);
  d->option.gravity[0] = gravity * sin(angle);
  d->option.gravity[1] = 0;
  d->option.gravity[2] = -gravity * cos(angle);
  int g = tg_desc_add_geom(d, 0, m == 0 ? TG_GEOM_PLANE : TG_GEOM_MESH, "ground");
  d->geom[g].friction[0] = lambda;
  d->geom[g].size[2] = 1;
  d->geom[g].condim = condim;
  if (m > 0) {
    d->geom[g].mesh = tgt_add_grid(d, "below", below, m);
    d->geom[g].pos[2] = -below[2];
  }
  int b = tg_desc_add_body(d, 0, "box");
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  d->body[b].has_inertial = true;
  d->body[b].mass = 0.5;
  for (int i = 0; i < 3; i++)
    d->body[b].inertia[i] = 0.5 / 3 * (half[(i + 1) % 3] * half[(i + 1) % 3] + half[(i + 2) % 3] * half[(i + 2) % 3]);
  g = tg_desc_add_geom(d, b, TG_GEOM_MESH, "box");
  d->geom[g].friction[0] = lambda;
  d->geom[g].mesh = tgt_add_grid(d, "box", half, n);
  d->geom[g].condim = condim;
  d->body[b].pos[2] = half[2] + 2e-3;
  return rig_of_desc(d, word, o);
}

static void steps(Rig *r, int n) {
  for (int i = 0; i < n; i++) {
    tgStatus status;
    while ((status = tg_sim_step(r->s, h, NULL)) == TG_ERR_CAPACITY) assert_int_equal(tg_sim_grow(r->s), TG_OK);
    check_true(status == TG_OK, "step %d: %s", i, tg_sim_error(r->s)->text);
  }
}

// settles, starts again from rest; mean acceleration along the incline over the last of 40 steps, and the speed at the end
static double slide(const char *word, int n, int m, double angle, const tgContactOptions *o, int condim, double *speed) {
  Rig r = make(word, n, m, angle, o, condim);
  steps(&r, 25);
  tg_sim_qvel(r.s)[0] = 0;
  steps(&r, 20);
  double before = tgRe(tg_sim_qvel(r.s)[0]);
  steps(&r, 20);
  *speed = tgRe(tg_sim_qvel(r.s)[0]);
  drop(&r);
  return (*speed - before) / (20 * h);
}

typedef struct Case { const char *name, *word; int n, m; tgFrictionForm form; } Case;
static const Case cases[] = {
    {"12 triangles on the floor", "barrier", 1, 0, TG_FRICTION_SLIP},
    {"588 triangles on the floor", "barrier", 7, 0, TG_FRICTION_SLIP},
    {"12 triangles on 12", "barrier", 1, 1, TG_FRICTION_SLIP},
    {"108 triangles on 48", "barrier", 3, 2, TG_FRICTION_SLIP},
    {"12 triangles on 12, planes", "barrier", 1, 1, TG_FRICTION_PLANE},
    {"12 triangles on the floor, local", "sdrs", 1, 0, TG_FRICTION_SLIP},
    {"12 triangles on 12, local", "sdrs", 1, 1, TG_FRICTION_SLIP},
    {"12 triangles on the floor, distances", "ipc", 1, 0, TG_FRICTION_SLIP},
    {"12 triangles on 12, distances", "ipc", 1, 1, TG_FRICTION_SLIP},
};

static void cone(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const Case *c = &cases[i];
    tgAnyContactOptions o = options_of(c->word, c->form == TG_FRICTION_PLANE ? "friction=plane" : c->word[0] == 's' ? "weight=0.01" :
                                         c->word[0] == 'i' ? "weight=1e-3" : "");
    double hold = c->form == TG_FRICTION_PLANE ? 2 : 1, speed, angle = atan(lambda),
           a = slide(c->word, c->n, c->m, 0.99 * angle, &o.of, 3, &speed);
    // what is left is creep at some slip speeds, twice that under the plane
    check_true(speed < hold * 12e-3 && a < hold * 2e-3, "%s, below the cone: speed %g, acceleration %g", c->name, speed, a);
    a = slide(c->word, c->n, c->m, 1.01 * angle, &o.of, 3, &speed);
    check_true(speed > 15e-3 && a > 0.02, "%s, above the cone: speed %g, acceleration %g", c->name, speed, a);
    a = slide(c->word, c->n, c->m, 1.5 * angle, &o.of, 3, &speed);
    double coulomb = gravity * (sin(1.5 * angle) - lambda * cos(1.5 * angle));
    print_message("%s: acceleration %.6f of Coulomb's\n", c->name, a / coulomb);
    check_close(a, coulomb, 0.01 * coulomb);
  }
}

static void frictionless(void **state) {
  (void)state;
  tgBarrierOptions o = tg_barrier_default();
  double speed, a = slide("barrier", 1, 0, 0.3, &o.of, 1, &speed);
  check_close(a, gravity * sin(0.3), 1e-9);
}

// turning about the normal of the floor comes to rest, and before that by no more than Coulomb's torque at the corners
static void spin(void **state) {
  (void)state;
  tgBarrierOptions o = tg_barrier_default();
  for (int k = 0; k < 3; k++) {
    // over the floor; between surfaces, with planes
    int n = k == 1 ? 4 : 1;
    o.friction = k == 2 ? TG_FRICTION_PLANE : TG_FRICTION_SLIP;
    Rig r = make("barrier", n, k == 2, 0, &o.of, 3);
    steps(&r, 40);
    // forces of surfaces press at a slant, a little more in all than the weight
    double start = 3, most = (k == 2 ? 1.01 : 1) * lambda * gravity * 3 / (2 * half[0]) * sqrt(2);
    tg_sim_qvel(r.s)[5] = start;
    steps(&r, 2);
    double later = tgRe(tg_sim_qvel(r.s)[5]);
    check_true(later < start - 0.2 * most * 2 * h && later > start - most * 2 * h,
               "%d triangles: turns at %g after two steps", 12 * n * n, later);
    steps(&r, 30);
    check_true(fabs(tgRe(tg_sim_qvel(r.s)[5])) < 1e-2, "%d triangles: still turns at %g", 12 * n * n, tgRe(tg_sim_qvel(r.s)[5]));
    drop(&r);
  }
}

// The normal force is that of the start of the step: a body that lands while it slides is slowed by Coulomb's impulse,
// the coefficient times that of the normal force, of all steps but the last.
static void landing(void **state) {
  (void)state;
  enum { STEPS = 16 };
  tgBarrierOptions o = tg_barrier_default();
  for (int m = 0; m < 2; m++)
    for (int k = 0; k < 3; k++) {
      Rig r = make("barrier", 1, m, 0, &o.of, 3);
      double fall = (double[]){0.3, 1, 3}[k], forth = 3, last = forth, lost = 0;
      tg_sim_qpos(r.s)[2] = half[2] + 0.03;
      tg_sim_qvel(r.s)[0] = forth;
      tg_sim_qvel(r.s)[2] = -fall;
      for (int i = 1; i <= STEPS; i++) {
        steps(&r, 1);
        double vx = tgRe(tg_sim_qvel(r.s)[0]), vz = tgRe(tg_sim_qvel(r.s)[2]);
        // terms beside each other press at a slant between surfaces of triangles
        check_close(vx, last, 5e-4 + (m > 0 ? 5e-3 : 0) * (forth - last));
        last = forth - lambda * (vz + fall + gravity * h * i);
        lost = forth - vx;
      }
      check_true(lost > 1.05 * lambda * fall, "a fall at %g m/s loses %g m/s", fall, lost);
      drop(&r);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cone), cmocka_unit_test(frictionless), cmocka_unit_test(spin),
                                     cmocka_unit_test(landing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
