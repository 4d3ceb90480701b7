// test_reach.c: friction is local. A body that passes at a distance drags nothing along; on the way from touching to
// far friction goes from all to nothing.
#include <stdio.h>
#include <string.h>

#include "contact/contact.h"
#include "kin/kinematics.h"
#include "support/rig.h"
#include "tangere/barrier.h"
#include "tangere/step.h"
#include "test/contact/barrier/grid.h"

// ---- a rod beside a box on a floor ----

// the rod of Push, `gap` from the box, on a slide along y
static Rig rod_and_box(double gap, double lambda, double range) {
  char text[1200];
  snprintf(text, sizeof text,
           "<mujoco><worldbody><geom name='floor' type='plane' size='3 3 1' friction='0.5'/>"
           "<body name='rod' pos='%.17g 0 0.46'><joint name='y' type='slide' axis='0 1 0' damping='15'/>"
           "<geom name='rod' type='box' size='0.05 0.05 0.4' mass='0.4'/></body>"
           "<body name='box' pos='0 0 0.155'><freejoint/><geom name='box' type='box' size='0.15 0.15 0.15' mass='0.5'/></body>"
           "</worldbody><contact><pair geom1='rod' geom2='box' friction='%g %g'/></contact>"
           "<actuator><position name='y' joint='y' kp='200'/></actuator></mujoco>",
           0.2 + gap, lambda, lambda);
  tgBarrierOptions o = tg_barrier_default();
  o.friction_range = range;
  return rig_of_text(text, "barrier", &o.of);
}

// the rod goes slowly one way and quickly back, again and again: where the box is in the end (q of the free joint)
static void work(double gap, double lambda, double range, double box[7]) {
  Rig r = rod_and_box(gap, lambda, range);
  for (int i = 0; i < 50; i++) {
    double u = 0.06 * (i % 10 < 8 ? i % 10 : 14 - 3.5 * (i % 10 - 8)) - 0.2;
    tg_sim_ctrl(r.s)[0] = u;
    tgStatus status;
    while ((status = tg_sim_step(r.s, 0.04, NULL)) == TG_ERR_CAPACITY) assert_int_equal(tg_sim_grow(r.s), TG_OK);
    check_true(status == TG_OK, "step %d: %s", i, tg_sim_error(r.s)->text);
  }
  for (int i = 0; i < 7; i++) box[i] = tgRe(tg_sim_qpos(r.s)[1 + i]);
  drop(&r);
}

// what rubs at no distance of the motion is as if it had no friction, to the last bit
static void no_ratchet(void **state) {
  (void)state;
  double range = tg_barrier_default().friction_range;
  for (int k = 0; k < 3; k++) {
    double gap = (double[]){0.3, 0.4, 0.5}[k], smooth[7], rough[7], everywhere[7];
    work(gap, 0, range, smooth);
    work(gap, 0.6, range, rough);
    work(gap, 0.6, 1e3, everywhere);
    assert_memory_equal(smooth, rough, sizeof smooth);
    check_true(fabs(everywhere[1] - smooth[1]) > 1e-9, "friction that is felt everywhere moves the box by %g", everywhere[1] - smooth[1]);
  }
}

// ---- on the way ----

typedef struct Way { const char *name; int n, m; bool ball; tgHierarchy form; tgFrictionForm friction; } Way;

// a box of 12 n^2 triangles, or a ball, over the floor (m = 0) or a box of 12 m^2
static Rig over(const Way *w, double lambda, double range) {
  tgDesc *d = tg_desc_create(NULL);
  const double half[3] = {0.1, 0.1, 0.05}, below[3] = {0.5, 0.5, 0.05};
  int g = tg_desc_add_geom(d, 0, w->m == 0 ? TG_GEOM_PLANE : TG_GEOM_MESH, "ground");
  d->geom[g].size[2] = 1;
  d->geom[g].friction[0] = lambda;
  if (w->m > 0) {
    d->geom[g].mesh = tgt_add_grid(d, "below", below, w->m);
    d->geom[g].pos[2] = -below[2];
  }
  int b = tg_desc_add_body(d, 0, "body");
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  d->body[b].has_inertial = true;
  d->body[b].mass = 1;
  for (int i = 0; i < 3; i++) d->body[b].inertia[i] = 0.01;
  g = tg_desc_add_geom(d, b, w->ball ? TG_GEOM_SPHERE : TG_GEOM_MESH, "geom");
  d->geom[g].friction[0] = lambda;
  if (w->ball) d->geom[g].size[0] = half[2];
  else d->geom[g].mesh = tgt_add_grid(d, "box", half, w->n);
  tgBarrierOptions o = tg_barrier_default();
  o.hierarchy = w->form;
  o.friction = w->friction;
  o.friction_range = range;
  return rig_of_desc(d, "barrier", &o.of);
}

// gradient of the one term after a slide along x
static void pushed(Rig *r, double gap, double g[12]) {
  tgSim *s = r->s;
  const tgLaw *k = s->contact_model->kind->law;
  tgReal q[7] = {0, 0, 0.05 + gap, 1, 0, 0, 0};
  tgStatus status;
  do {
    s->h = 0.01;
    tgi_stack_free(s, 0);
    tgi_kinematics(&s->m, q, &s->start);
    status = k->begin(s, s->h);
  } while (status == TG_ERR_CAPACITY && tg_sim_grow(s) == TG_OK);
  check_true(status == TG_OK, "%s", s->error.text);
  q[0] = 2e-3;
  tgi_kinematics(&s->m, q, &s->start);
  assert_int_equal(k->evaluate(s, &s->start, TG_LAW_ENERGY | TG_LAW_POSE), TG_OK);
  assert_int_equal(s->nterm, 1);
  for (int i = 0; i < 12; i++) g[i] = -tgRe(s->term[0].w[i]);
}

static const Way ways[] = {
    {"12 triangles over the floor", 1, 0, false, TG_HIERARCHY_MOMENT, TG_FRICTION_SLIP},
    {"588 triangles over the floor", 7, 0, false, TG_HIERARCHY_MOMENT, TG_FRICTION_SLIP},
    {"a ball over the floor", 1, 0, true, TG_HIERARCHY_MOMENT, TG_FRICTION_SLIP},
    {"12 triangles over 12", 1, 1, false, TG_HIERARCHY_MOMENT, TG_FRICTION_SLIP},
    {"12 triangles over 12, paper's form", 1, 1, false, TG_HIERARCHY_PAPER, TG_FRICTION_SLIP},
    {"12 triangles over 12, planes", 1, 1, false, TG_HIERARCHY_MOMENT, TG_FRICTION_PLANE},
    {"588 triangles over 12", 7, 1, false, TG_HIERARCHY_MOMENT, TG_FRICTION_SLIP},
    {"588 triangles over 48", 7, 2, false, TG_HIERARCHY_MOMENT, TG_FRICTION_SLIP},
    {"a ball over 12", 1, 1, true, TG_HIERARCHY_MOMENT, TG_FRICTION_SLIP},
    {"a ball over 12, every pair", 1, 1, true, TG_HIERARCHY_BRUTE, TG_FRICTION_SLIP},
};

static void approach(void **state) {
  (void)state;
  const double range = 0.1;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    const Way *w = &ways[i];
    Rig part = over(w, 0.6, range), all = over(w, 0.6, 1e3), none = over(w, 0, range);
    double last = 1, nearest_part = 0, farthest_all = 0;
    for (int k = 0; k <= 40; k++) {
      double gap = range * pow(10, -2 + 2.0 * k / 40), p[12], a[12], n[12];
      pushed(&part, gap, p);
      pushed(&all, gap, a);
      pushed(&none, gap, n);
      int at = fabs(a[3] - n[3]) > 0 ? 3 : 9;
      double factor = (p[at] - n[at]) / (a[at] - n[at]);
      check_true(factor >= -1e-12 && factor <= last + 1e-9, "%s: factor %.12g at a gap of %g, %.12g before", w->name, factor, gap, last);
      last = factor;
      if (memcmp(p, a, sizeof p) == 0) farthest_all = gap;
      else if (nearest_part == 0) nearest_part = gap;
      if (gap >= range * (1 - 1e-12)) assert_memory_equal(p, n, sizeof p);
    }
    print_message("%s: all friction up to a gap of %g, less from %g on, none from %g on\n", w->name, farthest_all, nearest_part, range);
    check_true(farthest_all >= range / 10 && nearest_part > farthest_all, "%s", w->name);
    drop(&part);
    drop(&all);
    drop(&none);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(approach), cmocka_unit_test(no_ratchet)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
