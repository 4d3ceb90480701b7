// test_scenes_long.c: ten seconds of a stack of boxes, an arch of stones, prisms and a two-finger gripper: every step is solved, with
// friction, and what should stand, slide or be held does. Usage: test_scenes_long [seconds]
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "scenes/scenes.h"
#include "support/check.h"

static double seconds = 1;
static const double h = 0.005;

typedef struct Run { tgModel *m; tgContact *c; tgSim *s; int steps, warm, later; } Run;

static Run start(tgDesc *d) {
  tgError e = {0};
  Run r = {.m = tgs_compile(d, &e)};
  if (r.m == NULL) fail_msg("%s", e.text);
  r.c = tg_contact_create(r.m, "lcp", NULL, NULL);
  r.s = tg_sim_create(r.m, r.c, NULL, NULL);
  assert_non_null(r.s);
  assert_int_equal(tg_sim_reserve(r.s, 200, 650), TG_OK);
  return r;
}

static void finish(Run *r, const char *name) {
  print_message("%-8s %d steps, %.1f %% from the last classes, %d beyond pivoting\n", name, r->steps, 100.0 * r->warm / r->steps, r->later);
  tg_sim_free(r->s);
  tg_contact_free(r->c);
  tg_model_free(r->m);
}

// One step: solved at 1e-8, its friction in every row that has a bound, nothing left or damped
static void step(Run *r, const char *name) {
  tgStepInfo info;
  tgStatus status = tg_sim_step(r->s, h, &info);
  check_true(status == TG_OK && info.residual <= 1e-8, "%s step %d: %s", name, r->steps, r->s->error.text);
  check_true(info.nleft == 0 && info.ndamped == 0, "%s step %d: %d left", name, r->steps, info.nleft);
  for (int i = 0; i < r->s->ncon; i++) {
    const tgContactRow *c = &r->s->contact[i];
    if (c->row < 0) continue;
    assert_int_equal(c->nrow, 3);
    for (int k = 1; k < 3; k++) {
      double f = tgRe(r->s->rows->f[c->row + k]), w = tgRe(r->s->rows->w[c->row + k]),
             bound = tgRe(c->friction[k - 1]) * tgRe(r->s->rows->f[c->row]);
      check_true(fabs(w) < 1e-6 || fabs(fabs(f) - bound) < 1e-6 * (1 + bound),
                 "%s step %d: slides at %.3g without the friction of that", name, r->steps, w);
    }
  }
  r->steps++;
  r->warm += info.stage <= 1;
  r->later += info.stage > 2;
}

// Five boxes on each other
static void test_stack(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.8);
  for (int i = 0; i < 5; i++)
    tgs_free_body(d, NULL, (double[]){0.004 * i, 0, 0.1 + 0.2 * i}, TG_GEOM_BOX, (double[]){0.1, 0.1, 0.1}, 0.1, 0.8);
  Run r = start(d);
  for (int i = 0; i < seconds / h; i++) step(&r, "stack");
  for (int i = 0; i < 5; i++) {
    check_close(r.s->qpos[7 * i], 0.004 * i, 1e-4);
    check_close(r.s->qpos[7 * i + 2], 0.1 + 0.2 * i, 1e-4);
  }
  finish(&r, "stack");
}

// a solid with 8 corners: ring 0..3 (y = -w) and 4..7 (y = w), counter-clockwise seen from -y
static int stone(tgDesc *d, const double ring[4][2], double w) {
  static const int face[12][3] = {{0, 1, 2}, {0, 2, 3}, {4, 6, 5}, {4, 7, 6}, {0, 4, 5}, {0, 5, 1}, {1, 5, 6},
                                  {1, 6, 2}, {2, 6, 7}, {2, 7, 3}, {3, 7, 4}, {3, 4, 0}};
  double vert[24];
  for (int i = 0; i < 8; i++) {
    vert[3 * i] = ring[i % 4][0];
    vert[3 * i + 1] = i < 4 ? -w : w;
    vert[3 * i + 2] = ring[i % 4][1];
  }
  return tg_desc_add_mesh(d, NULL, vert, 8, face[0], 12);
}

static int mesh_body(tgDesc *d, int mesh, const double pos[3], double mass, double friction) {
  int b = tgs_free_body(d, NULL, pos, TG_GEOM_MESH, (double[]){0, 0, 0}, mass, friction);
  d->geom[d->ngeom - 1].mesh = mesh;
  return b;
}

// Nine equal stones in half a ring of radii 0.8 and 1, which stands by pressing on each other: thick enough (more than 0.107 of the
// mean radius), and mu above the steepest joint
static void test_arch(void **state) {
  (void)state;
  enum { STONES = 9 };
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.8);
  for (int i = 0; i < STONES; i++) {
    double a = TG_PI * i / STONES, b = TG_PI * (i + 1) / STONES, mid = 0.5 * (a + b), cx = 0.9 * cos(mid), cz = 0.9 * sin(mid);
    double ring[4][2] = {{0.8 * cos(a) - cx, 0.8 * sin(a) - cz}, {1.0 * cos(a) - cx, 1.0 * sin(a) - cz},
                         {1.0 * cos(b) - cx, 1.0 * sin(b) - cz}, {0.8 * cos(b) - cx, 0.8 * sin(b) - cz}};
    mesh_body(d, stone(d, (const double (*)[2])ring, 0.15), (double[]){cx, 0, cz}, 10, 0.8);
  }
  Run r = start(d);
  for (int i = 0; i < seconds / h; i++) step(&r, "arch");
  check_close(r.s->qpos[7 * (STONES / 2) + 2], 0.9, 5e-3);
  finish(&r, "arch");
}

// Three prisms that slide at 2, 1.5 and 1 m/s: v falls by mu g h a step until it is 0, and they stand
static void test_prisms(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  const double mu = 0.16, ring[4][2] = {{-0.1, -0.05}, {0.1, -0.05}, {0.02, 0.1}, {-0.02, 0.1}};
  d->option.gravity[2] = -9;
  tgs_plane(d, mu);
  int mesh = stone(d, ring, 0.1);
  for (int i = 0; i < 3; i++) mesh_body(d, mesh, (double[]){0, i, 0.05}, 1, mu);
  Run r = start(d);
  for (int i = 0; i < 3; i++) r.s->qvel[6 * i] = 2 - 0.5 * i;
  for (int i = 0; i < (seconds > 1.5 ? seconds : 1.5) / h; i++) {
    double v[3];
    for (int k = 0; k < 3; k++) v[k] = tgRe(r.s->qvel[6 * k]);
    step(&r, "prisms");
    for (int k = 0; k < 3; k++) check_close(r.s->qvel[6 * k], fmax(0, v[k] - mu * 9 * h), 1e-6);
  }
  for (int k = 0; k < 3; k++) check_close(r.s->qvel[6 * k], 0, 1e-9);
  finish(&r, "prisms");
}

// Two fingers on rails along x, on a lift, press a plate with 10 N each and raise it: mu f_n = 2 x 0.8 x 10 N against 2 N of weight
static void test_gripper(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.8);
  int lift = tg_desc_add_body(d, 0, "lift"), up = tg_desc_add_joint(d, lift, TG_JOINT_SLIDE, "lift");
  d->body[lift].has_inertial = true;
  d->body[lift].mass = 1;
  for (int i = 0; i < 3; i++) d->body[lift].inertia[i] = 0.01;
  tg_desc_add_actuator(d, TG_TRN_JOINT, up, "lift");
  for (int side = 0; side < 2; side++) {
    double sign = side == 0 ? -1 : 1;
    int b = tg_desc_add_body(d, lift, NULL), j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, NULL),
        g = tg_desc_add_geom(d, b, TG_GEOM_BOX, NULL);
    memcpy(d->body[b].pos, (double[]){0.08 * sign, 0, 0.1}, sizeof d->body[b].pos);
    memcpy(d->joint[j].axis, (double[]){-sign, 0, 0}, sizeof d->joint[j].axis);
    memcpy(d->geom[g].size, (double[]){0.02, 0.03, 0.03}, sizeof d->geom[g].size);
    d->geom[g].mass = 0.2;
    d->geom[g].friction[0] = 0.8;
    tg_desc_add_actuator(d, TG_TRN_JOINT, j, NULL);
  }
  tgs_free_body(d, "plate", (double[]){0, 0, 0.1}, TG_GEOM_BOX, (double[]){0.05, 0.08, 0.1}, 0.2, 0.8);
  Run r = start(d);
  double weight = 9.81 * 1.6, top = 0.2;
  for (int i = 0; i < seconds / h; i++) {
    r.s->ctrl[1] = r.s->ctrl[2] = 10;
    // held down while it closes, then to the top by a spring and a damper
    r.s->ctrl[0] = i * h < 0.3 ? 9.81 * 1.4 : weight + 60 * (top - tgRe(r.s->qpos[0])) - 20 * tgRe(r.s->qvel[0]);
    step(&r, "gripper");
  }
  check_close(r.s->qpos[5], 0.1 + tgRe(r.s->qpos[0]), 2e-3);
  check_true(tgRe(r.s->qpos[0]) > 0.05, "not raised: %.3g", tgRe(r.s->qpos[0]));
  finish(&r, "gripper");
}

int main(int argc, char **argv) {
  if (argc > 1) seconds = atof(argv[1]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stack), cmocka_unit_test(test_arch), cmocka_unit_test(test_prisms),
                                     cmocka_unit_test(test_gripper)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
