// test_welded.c: the places of bodies that are welded to the world or to others, whose terms are of the bodies they are welded to:
// gradients of a step and of contact forces in them, against differences.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/rig.h"
#include "tangere/force.h"
#include "tangere/grad.h"
#include "tangere/param.h"

// a table on a foot, both fixed; a box that slides over it, under a finger on a link that is fixed to an arm by a wrist
static const char scene[] =
    "<mujoco><worldbody><body name='foot' pos='.1 0 0' euler='0 0 5'>"
    "<geom type='box' size='.05 .05 .1' pos='0 0 -.12' contype='0' conaffinity='0'/><body name='table' pos='-.1 0 0' euler='0 2 0'>"
    "<geom name='table' type='box' size='.3 .3 .02' pos='0 0 -.02' friction='.6'/></body></body>"
    "<body name='box' pos='0 0 .055'><freejoint/><geom name='box' type='box' size='.05 .04 .05' mass='.5' friction='.4'/></body>"
    "<body name='arm' pos='-.4 0 .18'><joint axis='0 1 0' damping='.1'/>"
    "<geom type='box' size='.1 .02 .02' pos='.1 0 0' mass='.4' contype='0' conaffinity='0'/>"
    "<body name='wrist' pos='.25 0 0' euler='0 20 0'><body name='finger' pos='.1 .01 .02' euler='10 0 0'>"
    "<geom name='finger' type='box' size='.04 .02 .02' mass='.1' friction='.9'/></body></body></body></worldbody></mujoco>";

static Rig pressed(const char *word) {
  tgAnyContactOptions o;
  tg_contact_default(word, &o.of, sizeof o);
  Rig r = rig_of_text(scene, word, &o.of);
  tg_sim_qvel(r.s)[0] = 0.5;
  tg_sim_qvel(r.s)[1] = 0.2;
  for (int t = 0; t < 40; t++) {
    tgStatus status = tg_sim_step_growing(r.s, 2e-3, NULL);
    check_true(status == TG_OK, "step %d: %s", t, r.s->error.text);
  }
  return r;
}

// a functional of the step's end, or, by forces, of all contacts' wrenches
static double value(Rig *r, const tgReal *q, const tgReal *v, bool forces) {
  tgSim *s = r->s;
  size_t nq = (size_t)s->m.nq, nv = (size_t)s->m.nv;
  memcpy(tg_sim_qpos(s), q, nq * sizeof *q);
  memcpy(tg_sim_qvel(s), v, nv * sizeof *v);
  assert_int_equal(tg_sim_step_growing(s, 2e-3, NULL), TG_OK);
  double sum = 0;
  for (size_t d = 0; d < nv && !forces; d++) sum += (1 + 0.3 * (double)d) * tgRe(tg_sim_qvel(s)[d]);
  tgContactInfo c;
  for (int at = 0, i = 0; forces && tg_sim_next_contact(s, &at, &c); i++)
    for (int k = 0; k < 3; k++) sum += (1 + i + 0.5 * k) * c.world[k];
  return sum;
}

static void gradient(Rig *r, bool forces, tgParamGrad *p) {
  tgSim *s = r->s;
  tgReal gq[16] = {0}, gv[16], dq[16] = {0}, dv[16] = {0}, du[4] = {0};
  if (!forces) {
    for (int d = 0; d < s->m.nv; d++) gv[d] = 1 + 0.3 * d;
    assert_int_equal(tg_sim_step_vjp(s, gq, gv, dq, dv, du, p, NULL), TG_OK);
    return;
  }
  tgContactGrad g[16] = {{.force = {0}}};
  tgContactInfo c;
  int n = 0;
  for (int at = 0; tg_sim_next_contact(s, &at, &c); n++)
    for (int k = 0; k < 3; k++) g[n].world[k] = 1 + n + 0.5 * k;
  tgStatus status = tg_sim_contacts_vjp(s, g, n, dq, dv, du, p, NULL);
  check_true(status == TG_OK, "%s", s->error.text);
}

// The places of all bodies against differences; foot and table, wrist and finger have some. What moves the foot moves the table: with no
// turn between them theirs would be equal.
static void test_places(void **state) {
  (void)state;
  static const char *const words[2] = {"barrier", "sdrs"};
  for (int k = 0; k < 4; k++) {
    bool forces = k % 2 == 1;
    Rig r = pressed(words[k / 2]);
    tgSim *s = r.s;
    tgReal q[16], v[16];
    int rows, cols, moved = 0;
    memcpy(q, tg_sim_qpos(s), (size_t)s->m.nq * sizeof *q);
    memcpy(v, tg_sim_qvel(s), (size_t)s->m.nv * sizeof *v);
    (void)value(&r, q, v, forces);
    tgReal *g = calloc(3 * (size_t)s->m.nbody, sizeof *g), *x = tg_sim_param(s, "body_pos", &rows, &cols);
    static const char *const name = "body_pos";
    tgParamGrad *p = tg_param_grad_create(s->model, &name, 1, NULL, NULL);
    assert_non_null(p);
    gradient(&r, forces, p);
    memcpy(g, tg_param_grad_field(p, name, &rows, &cols), 3 * (size_t)s->m.nbody * sizeof *g);
    double most = 0;
    for (int i = 3; i < 3 * s->m.nbody; i++) most = fmax(most, fabs(tgRe(g[i])));
    for (int i = 3; i < 3 * s->m.nbody; i++) {
      double slope[2], own = tgRe(x[i]);
      for (int w = 0; w < 2; w++) {
        double h = w == 0 ? 2e-6 : 1e-6, up, down;
        x[i] = own + h;
        up = value(&r, q, v, forces);
        x[i] = own - h;
        down = value(&r, q, v, forces);
        x[i] = own;
        slope[w] = (up - down) / (2 * h);
      }
      double want = (4 * slope[1] - slope[0]) / 3, off = fabs(slope[1] - slope[0]);   // Richardson
      check_true(fabs(tgRe(g[i]) - want) <= 1e-6 * most + off, "%s, %d: body %d, axis %d: %.9g, differences %.9g", words[k / 2], forces,
                 i / 3, i % 3, tgRe(g[i]), want);
      moved += fabs(want) > 1e-3 * most && off < 1e-3 * most;
    }
    check_true(moved >= (k < 2 ? 6 : 4), "%s: %d places that matter", words[k / 2], moved);
    free(g);
    tg_param_grad_free(p);
    drop(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
