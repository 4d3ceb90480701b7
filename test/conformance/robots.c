// robots.c: pendulums, arms against a wall, the cart and pole, the jump-worm and the catapult.
#include "conformance/scenes.h"

static const double ORIGIN[3] = {0, 0, 0};
static const double DEGREE = TG_PI / 180;

static void gravity_down(tgtConform *c) {
  c->d->option.gravity[1] = -9.81;
  c->d->option.gravity[2] = 0;
}

// only the geoms of the world touch those of bodies
static void touches_world_only(tgtConform *c) {
  for (int g = 0; g < c->d->ngeom; g++)
    if (c->d->geom[g].body != 0) c->d->geom[g].contype = 0;
}

// three links along -z, the middle one driven into a block
static void pendulum_block(tgtConform *c, int friction, int unused) {
  (void)unused;
  int parent = 0;
  for (int i = 0; i < 3; i++) {
    parent = tgt_conform_body(c, parent, (double[]){0, 0, i == 0 ? 0 : -1}, NULL, 1);
    tgt_conform_joint(c, parent, TG_JOINT_HINGE, 0, 1, 0);
    tgt_conform_box(c, parent, .1, .1, .1, .1 * friction);
  }
  tgt_conform_wall(c, (double[]){.55 - 1e-5, 0, -1}, 1, .5, .5, .1 * friction);
  touches_world_only(c);
  c->f[0][0] = -5;   // 5 N along x at the middle link
}

// A chain of n links of 1 m, each turned by the angle; a cube with a corner towards -x on link `at` overlaps a wall by about 1 cm
static void arm(tgtConform *c, int n, double angle, int axis, int at) {
  int parent = 0;
  double end[3] = {0, 0, 0}, turn[4], step[3];
  gravity_down(c);
  if (axis == 0) c->erp = 0;
  for (int i = 0; i < n; i++) {
    parent = tgt_conform_body(c, parent, (double[]){0, i == 0 ? 0 : 1, 0}, NULL, 1);
    int j = tgt_conform_joint(c, parent, TG_JOINT_HINGE, axis == 0, axis == 1, axis == 2);
    c->q[j] = angle;
    c->v[j][0] = 0.05;
    if (i < at) {
      tgt_conform_turn(axis, (i + 1) * angle, turn);
      tgt_conform_rotate(turn, (double[]){0, 1, 0}, step);
      for (int k = 0; k < 3; k++) end[k] += step[k];
    }
    if (i != at) continue;
    double cube[4], a[4], b[4], back[4];
    tgt_conform_turn(2, 45 * DEGREE, a);
    tgt_conform_turn(1, -45 * DEGREE, b);
    tgt_conform_quat_mul(a, b, cube);
    tgt_conform_turn(axis, -(i + 1) * angle, back);
    int g = tgt_conform_box(c, parent, sqrt(1. / 3), sqrt(1. / 3), sqrt(1. / 3), 1);
    tgt_conform_quat_mul(back, cube, c->d->geom[g].quat);
  }
  tgt_conform_wall(c, (double[]){end[0] - .98, end[1], end[2]}, 1, 10, 10, 1);
}
// About z the arm presses against the wall. About x it only slides along it: no force can open the gap.
static void arm_3(tgtConform *c, int axis, int at) { arm(c, 3, 30 * DEGREE, axis, at); }
static void arm_5(tgtConform *c, int axis, int at) { arm(c, 5, 30 * DEGREE, axis, at); }
static void arm_6(tgtConform *c, int axis, int at) { arm(c, 6, 15 * DEGREE, axis, at); }

static void cartpole(tgtConform *c, int degrees, int unused) {
  (void)unused;
  gravity_down(c);
  int cart = tgt_conform_body(c, 0, ORIGIN, NULL, 1), j = tgt_conform_joint(c, cart, TG_JOINT_SLIDE, 1, 0, 0);
  int pole = tgt_conform_body(c, cart, ORIGIN, NULL, 1), k = tgt_conform_joint(c, pole, TG_JOINT_HINGE, 0, 0, 1);
  c->d->body[pole].com[1] = .5;
  c->q[k] = degrees * DEGREE;
  c->v[j][0] = 0.1;
  c->v[k][0] = -0.2;
}

// three links from the parent's body, upright at angle 0; index of the first joint
static int tail(tgtConform *c, int parent, double friction) {
  int first = c->d->njoint;
  for (int i = 0; i < 3; i++) {
    parent = tgt_conform_body(c, parent, (double[]){0, i == 0 ? 0 : .25, 0}, NULL, 1);
    tgt_conform_joint(c, parent, TG_JOINT_HINGE, 0, 0, 1);
    int g = tgt_conform_box(c, parent, .05, .25, .05, friction);
    c->d->geom[g].pos[1] = c->d->body[parent].com[1] = .125;
  }
  return first;
}

// floor at y of minus that many centimetres; friction in tenths
static void jump_worm(tgtConform *c, int down, int friction) {
  gravity_down(c);
  int root = tgt_conform_body(c, 0, ORIGIN, NULL, 1), j = tgt_conform_slides(c, root);
  tgt_conform_box(c, root, .1, .1, .1, .1 * friction);
  int k = tail(c, root, .1 * friction);
  c->q[k] = c->q[k + 1] = 90 * DEGREE;
  c->q[k + 2] = 45 * DEGREE;
  c->v[j + 1][0] = -0.1;
  if (friction > 0) c->q[j + 1] = -0.14;
  tgt_conform_wall(c, (double[]){0, -.01 * down, 0}, 2.5, .25, .5, .1 * friction);
  touches_world_only(c);
}

// projectile and arm; the first joints of both
static void catapult_world(tgtConform *c, int *j_out, int *k_out) {
  gravity_down(c);
  int ball = tgt_conform_body(c, 0, ORIGIN, NULL, 1), j = tgt_conform_slides(c, ball);
  tgt_conform_box(c, ball, .1, .1, .1, 1);
  int base = tgt_conform_body(c, 0, (double[]){.5, -.45, 0}, NULL, 1), k = tail(c, base, 1);
  tgt_conform_wall(c, (double[]){1.2, -.7, 0}, 3.5, .25, .5, 1);
  tg_desc_add_exclude(c->d, base, base + 2);
  *j_out = j;
  *k_out = k;
}

// the state of the published timing, at rest, and with an arm that swings while the projectile falls
static void catapult(tgtConform *c, int swinging, int unused) {
  (void)unused;
  int j, k;
  catapult_world(c, &j, &k);
  c->q[k] = 45 * DEGREE;
  c->q[k + 2] = .65;
  c->v[k][0] = swinging ? -1 : 0;
  c->v[j + 1][0] = swinging ? -.3 : 0;
}

// states on which the gradients published with [lcp] once failed: position, speed, force
static void catapult_recorded(tgtConform *c, int which, int unused) {
  (void)unused;
  static const double state[5][3][5] = {
      {{-7.4747, 9.43449, 2.12166, 2.98394, 2.34673}, {-2.84978, 1.03633, 0, 9.16668, 6.99675}, {0, 0, -2.11163, -2.06504, -1.3781}},
      {{8.75823, -1.33554, 1.60919, 0.367526, 1.09027}, {4.48639, -5.53436, 1.73472e-18, -1.03812e-17, -0.472044},
       {0, 0, 9.428, -1.14176, 0.947147}},
      {{8.75828, -1.33554, 1.6092, 0.367528, 1.09028}, {4.48642, -5.53436, -1.73472e-18, -2.35814e-18, -0.472011},
       {0, 0, 9.428, -1.14176, 0.947147}},
      {{-0.13334, -0.178891, 1.07272, 0.130007, 0.436478}, {-0.433131, -0.847734, 2.55373, -1.13021, -1.61568},
       {0, 0, -0.17232, 6.83192, -0.275112}},
      {{-0.000646825, -0.0351094, 0.759088, 0.102786, 0.731049}, {-0.216819, -0.25626, 0.256483, 0.758835, -0.794271},
       {0, 0, 0.136721, 1.88135, 7.45379}}};
  int j, k;
  catapult_world(c, &j, &k);
  for (int i = 0; i < 5; i++) {
    int joint = i < 2 ? j + i : k + i - 2;
    c->q[joint] = state[which][0][i];
    c->v[joint][0] = state[which][1][i];
    c->f[joint][0] = state[which][2][i];
  }
}

const tgtConformScene tgt_conform_robots[] = {
    {"pendulum and block", pendulum_block, 0, 0, TGT_CONFORM_TOUCHES},
    {"pendulum and block with friction", pendulum_block, 5, 0, TGT_CONFORM_TOUCHES},
                    {"arm of 3 links, 30 deg", arm_3, 2, 2, TGT_CONFORM_TOUCHES},
    {"arm of 5 links, 30 deg", arm_5, 2, 4, TGT_CONFORM_TOUCHES},
    {"arm of 6 links, 15 deg", arm_6, 2, 5, TGT_CONFORM_TOUCHES},
    {"arm of 3 links, 30 deg, wall at the middle", arm_3, 2, 1, TGT_CONFORM_TOUCHES},
    {"arm of 3 links along the wall", arm_3, 0, 2, TGT_CONFORM_APART},
    {"arm of 5 links along the wall", arm_5, 0, 4, TGT_CONFORM_APART},
    {"arm of 6 links along the wall", arm_6, 0, 5, TGT_CONFORM_APART},
    {"cart and pole, 15 deg", cartpole, 15, 0, TGT_CONFORM_APART},
    {"jump-worm", jump_worm, 56, 0, TGT_CONFORM_TOUCHES},
    {"jump-worm off the ground", jump_worm, 70, 0, TGT_CONFORM_APART},
    {"jump-worm with friction", jump_worm, 70, 10, TGT_CONFORM_TOUCHES},
    {"catapult", catapult, 0, 0, TGT_CONFORM_TOUCHES},
    {"catapult that swings", catapult, 1, 0, TGT_CONFORM_TOUCHES},
    {"catapult, recorded state 1", catapult_recorded, 0, 0, TGT_CONFORM_TOUCHES},
    {"catapult, recorded state 2", catapult_recorded, 1, 0, TGT_CONFORM_TOUCHES},
    {"catapult, recorded state 3", catapult_recorded, 2, 0, TGT_CONFORM_TOUCHES},
    {"catapult, recorded state 4", catapult_recorded, 3, 0, TGT_CONFORM_TOUCHES},
    {"catapult, recorded state 5", catapult_recorded, 4, 0, TGT_CONFORM_TOUCHES},
    {NULL, NULL, 0, 0, TGT_CONFORM_TOUCHES}};
