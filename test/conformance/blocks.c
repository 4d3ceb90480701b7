// blocks.c: blocks on the ground, against each other, in groups, bouncing and free; spheres on each other.
#include "conformance/scenes.h"

static const double ORIGIN[3] = {0, 0, 0};
// overlap of what rests: differences of positions do not end the contact
static const double OVERLAP = 1e-5;

static void floor_at(tgtConform *c, double y, double friction) { tgt_conform_wall(c, (double[]){0, y, 0}, 10, 1, 10, friction); }

// a block on two slides with the force (1, -1); friction in tenths, -1: so much that it never slips
static void block_on_ground(tgtConform *c, int friction, int mass) {
  double mu = friction < 0 ? 1e7 : 0.1 * friction;
  int b = tgt_conform_body(c, 0, ORIGIN, NULL, mass), j = tgt_conform_slides(c, b);
  tgt_conform_box(c, b, 1, 1, 1, mu);
  floor_at(c, -(1 - OVERLAP), mu);
  c->f[j][0] = 1;
  c->f[j + 1][0] = -1;
}

// the same with speed down and restitution; gap in units of the overlap
static void block_bouncing(tgtConform *c, int overlaps, int friction) {
  block_on_ground(c, friction, 1);
  c->d->geom[0].restitution = c->d->geom[1].restitution = 0.5;
  c->d->geom[1].pos[1] = -(1 - overlaps * OVERLAP);
  c->v[1][0] = -1;
}

static void two_blocks(tgtConform *c, int left, int right) {
  int b = tgt_conform_body(c, 0, (double[]){-.5, 0, 0}, NULL, left), j = tgt_conform_joint(c, b, TG_JOINT_SLIDE, 1, 0, 0);
  tgt_conform_box(c, b, 1, 1, 1, 0);
  int r = tgt_conform_body(c, 0, (double[]){.5 - OVERLAP, 0, 0}, NULL, right), k = tgt_conform_joint(c, r, TG_JOINT_SLIDE, 1, 0, 0);
  tgt_conform_box(c, r, 1, 2, 2, 0);
  c->f[j][0] = left == 1 && right == 1 ? 1 : 2;
  c->f[k][0] = -1;
}

// a heavy pendulum below a sled
static void reverse_pendulum(tgtConform *c, int friction, int unused) {
  (void)unused;
  block_on_ground(c, friction, 1);
  int p = tgt_conform_body(c, 1, ORIGIN, NULL, 200);
  c->d->body[p].com[1] = -1;
  tgt_conform_joint(c, p, TG_JOINT_HINGE, 0, 0, 1);
}

// pairs of blocks, far apart, pushed together; all the upper ones are listed first
static void multigroup(tgtConform *c, int n, int unused) {
  (void)unused;
  for (int k = 0; k < 2 * n; k++) {
    bool top = k < n;
    int i = k % n, b = tgt_conform_body(c, 0, (double[]){10 * i, top ? .5 - OVERLAP : -.5, 0}, NULL, top ? 1 : 1. / (i + 1));
    int j = tgt_conform_slides(c, b);
    tgt_conform_box(c, b, top ? 1 : 2, 1, top ? 1 : 2, top ? .5 : 1);
    c->f[j + 1][0] = top ? -1 : 1;
    c->v[j + 1][0] = top ? -1e-3 : 1e-3 * (i + 1);
  }
}

// spheres of falling radius on each other on the ground, each off the axis of the one below
static void sphere_stack(tgtConform *c, int n, int unused) {
  (void)unused;
  double y = -OVERLAP, x = 0, below = 0;
  c->d->option.gravity[1] = -9.81;
  c->d->option.gravity[2] = 0;
  floor_at(c, -.5, 0.6);
  for (int i = 0; i < n; i++) {
    double r = 0.5 - 0.1 * i, dx = i == 0 ? 0 : 0.1, apart = r + below - OVERLAP;
    x += dx;
    y += i == 0 ? r : sqrt(apart * apart - dx * dx);
    int b = tgt_conform_body(c, 0, (double[]){x, y, 0.02 * i}, NULL, 1 + 0.5 * i), j = tgt_conform_joint(c, b, TG_JOINT_FREE, 0, 0, 0);
    tgt_conform_geom(c, b, TG_GEOM_SPHERE, r, 0, 0, 0.6 - 0.1 * i);
    if (i > 0) c->d->body[b].pos[2] = 0;
    c->v[j][0] = 0.3 * i;
    c->v[j][1] = -0.01;
    below = r;
  }
}

// A free block whose frame lies 2 m aside and is turned by 90 deg about x; variant: its turn about the vertical and its
// lean, so that a face, an edge or a corner is lowest by 1 cm; friction in tenths.
static void free_block(tgtConform *c, int lean, int friction) {
  double turn[3][4], q[4], p[4], corner[3], low = 0;
  tgt_conform_turn(1, 0.4, turn[0]);
  tgt_conform_turn(0, lean > 0 ? 0.5 : 0, turn[1]);
  tgt_conform_turn(2, lean > 1 ? 0.6 : 0, turn[2]);
  tgt_conform_quat_mul(turn[1], turn[2], p);
  tgt_conform_quat_mul(turn[0], p, q);
  for (int i = 0; i < 8; i++) {
    tgt_conform_rotate(q, (double[]){i & 1 ? .5 : -.5, i & 2 ? .5 : -.5, i & 4 ? .5 : -.5}, corner);
    low = fmin(low, corner[1]);
  }
  c->d->option.gravity[1] = -9.81;
  c->d->option.gravity[2] = 0;
  // the frame in which the block stands at x = 2, turned back
  double frame[4], aside[3], back[4];
  tgt_conform_turn(0, TG_PI / 2, back);
  tgt_conform_quat_mul(q, (double[]){back[0], -back[1], -back[2], -back[3]}, frame);
  tgt_conform_rotate(frame, (double[]){2, 0, 0}, aside);
  int b = tgt_conform_body(c, 0, (double[]){-aside[0], -low - 1e-2 - aside[1], -aside[2]}, frame, 1);
  int j = tgt_conform_joint(c, b, TG_JOINT_FREE, 0, 0, 0), g = tgt_conform_box(c, b, 1, 1, 1, 0.1 * friction);
  c->d->geom[g].pos[0] = c->d->body[b].com[0] = 2;
  for (int i = 0; i < 4; i++) c->d->geom[g].quat[i] = back[i];
  floor_at(c, -.5, 0.1 * friction);
  c->v[j][0] = 0.05;
  c->v[j][4] = 0.1;
}

// a ball that rests on the ground on a slide, with a force
static void drone(tgtConform *c, int unused, int also) {
  (void)unused;
  (void)also;
  c->d->option.gravity[1] = -9.81;
  c->d->option.gravity[2] = 0;
  int b = tgt_conform_body(c, 0, (double[]){0, .8 - 1e-4, 0}, NULL, .1), j = tgt_conform_joint(c, b, TG_JOINT_SLIDE, 0, 1, 0);
  tgt_conform_geom(c, b, TG_GEOM_SPHERE, .3, 0, 0, 0);
  tgt_conform_wall(c, ORIGIN, 5, 1, 5, 0);
  c->v[j][0] = -1e-4;
}

// elastic balls on a line
static void balls(tgtConform *c, int mass, int unused) {
  (void)unused;
  c->d->option.gravity[2] = 0;
  for (int k = 0; k < 2; k++) {
    int b = tgt_conform_body(c, 0, (double[]){k * (.2 - OVERLAP), 0, 0}, NULL, k == 0 ? 1 : mass), j = tgt_conform_slides(c, b);
    int g = tgt_conform_geom(c, b, TG_GEOM_SPHERE, .1, 0, 0, 0);
    c->d->geom[g].restitution = 1;
    c->v[j][0] = k == 0 ? 1 : -0.2;
  }
}

static void nothing(tgtConform *c, int bodies, int unused) {
  (void)unused;
  for (int i = 0; i < bodies; i++) tgt_conform_body(c, 0, ORIGIN, NULL, 1);
}

const tgtConformScene tgt_conform_blocks[] = {
    {"block on ground, no friction, 1 kg", block_on_ground, 0, 1, TGT_CONFORM_TOUCHES},
    {"block on ground, no friction, 2 kg", block_on_ground, 0, 2, TGT_CONFORM_TOUCHES},
    {"block on ground, no friction, 4 kg", block_on_ground, 0, 4, TGT_CONFORM_TOUCHES},
    {"block on ground, sticking", block_on_ground, -1, 1, TGT_CONFORM_TOUCHES},
    {"block on ground, slipping", block_on_ground, 5, 1, TGT_CONFORM_TOUCHES},
    {"sphere stack of 2", sphere_stack, 2, 0, TGT_CONFORM_TOUCHES},
    {"sphere stack of 3", sphere_stack, 3, 0, TGT_CONFORM_TOUCHES},
    {"two blocks 1 1 kg", two_blocks, 1, 1, TGT_CONFORM_TOUCHES},
    {"two blocks 1 2 kg", two_blocks, 1, 2, TGT_CONFORM_TOUCHES},
    {"two blocks 3 5 kg", two_blocks, 3, 5, TGT_CONFORM_TOUCHES},
    {"block bouncing", block_bouncing, 1, 0, TGT_CONFORM_TOUCHES},
    {"block bouncing, position", block_bouncing, 0, 0, TGT_CONFORM_TOUCHES},
    {"block bouncing with friction", block_bouncing, 1, 3, TGT_CONFORM_TOUCHES},
    {"sliding reverse pendulum", reverse_pendulum, 0, 0, TGT_CONFORM_TOUCHES},
    {"sliding reverse pendulum with friction", reverse_pendulum, 5, 0, TGT_CONFORM_TOUCHES},
    {"multigroup of 2", multigroup, 2, 0, TGT_CONFORM_TOUCHES},
    {"multigroup of 4", multigroup, 4, 0, TGT_CONFORM_TOUCHES},
    {"free block on a face, no friction", free_block, 0, 0, TGT_CONFORM_TOUCHES},
    {"free block on a face", free_block, 0, 5, TGT_CONFORM_TOUCHES},
    {"free block on an edge, no friction", free_block, 1, 0, TGT_CONFORM_TOUCHES},
    {"free block on an edge", free_block, 1, 5, TGT_CONFORM_TOUCHES},
    {"free block on a corner, no friction", free_block, 2, 0, TGT_CONFORM_TOUCHES},
    {"free block on a corner", free_block, 2, 5, TGT_CONFORM_TOUCHES},
    {"drone on the ground", drone, 0, 0, TGT_CONFORM_TOUCHES},
    {"elastic balls 1 1 kg", balls, 1, 0, TGT_CONFORM_TOUCHES},
    {"elastic balls 1 3 kg", balls, 3, 0, TGT_CONFORM_TOUCHES},
    {"empty world", nothing, 0, 0, TGT_CONFORM_APART},
    {"bodies without joints", nothing, 1, 0, TGT_CONFORM_APART},
    {NULL, NULL, 0, 0, TGT_CONFORM_TOUCHES}};
