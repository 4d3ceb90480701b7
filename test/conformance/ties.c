// ties.c: states of the conformance scenes that sit on a switch: of a force, of a gap, of a bounce, of the features that meet.
#include "conformance/scenes.h"

static const double ORIGIN[3] = {0, 0, 0};

static void gravity_down(tgtConform *c) {
  c->d->option.gravity[1] = -9.81;
  c->d->option.gravity[2] = 0;
}

// a block on two slides, on the ground by `overlap`
static int block(tgtConform *c, double mu, double overlap) {
  int b = tgt_conform_body(c, 0, ORIGIN, NULL, 1), j = tgt_conform_slides(c, b);
  tgt_conform_box(c, b, 1, 1, 1, mu);
  tgt_conform_wall(c, (double[]){0, -(1 - overlap), 0}, 10, 1, 10, mu);
  c->erp = 0;
  return j;
}

enum { BOUND, STOPS, WEIGHTLESS, TOUCHES, BOUNCES };
static void forces(tgtConform *c, int what, int unused) {
  (void)unused;
  int j = block(c, what == STOPS ? .5 : what == BOUND ? 1 : 0, what == TOUCHES ? -1e-8 : 1e-5);
  c->f[j + 1][0] = what == WEIGHTLESS ? 0 : -1;
  if (what == BOUND) c->f[j][0] = 1;
  if (what == STOPS) c->v[j][0] = .5 * c->h;
  if (what == TOUCHES) c->v[j + 1][0] = -.1;
  if (what == BOUNCES) {
    gravity_down(c);
    c->f[j + 1][0] = 9.81;
    c->d->geom[0].restitution = .5;
    c->v[j + 1][0] = -9.81 * c->h;
  }
}

static int ball(tgtConform *c, double x, double y, double z, double r) {
  int b = tgt_conform_body(c, 0, (double[]){x, y, z}, NULL, 1), j = tgt_conform_joint(c, b, TG_JOINT_FREE, 0, 0, 0);
  tgt_conform_geom(c, b, TG_GEOM_SPHERE, r, 0, 0, .5);
  c->v[j][1] = -.1;
  c->v[j][0] = .05;
  gravity_down(c);
  return j;
}

// over the rim of a box, over its corner, in its middle plane, level with the end of a capsule
enum { RIM, CORNER, INSIDE, CAP };
static void sphere_at(tgtConform *c, int where, int unused) {
  (void)unused;
  if (where == RIM) ball(c, .5, .99, 0, .5);
  if (where == CORNER) ball(c, .5 + .1, .5 + sqrt(.25 - .01) - .01, .5, .5);
  if (where == INSIDE) ball(c, .1, .1, 0, .2);
  if (where == CAP) ball(c, 0, .69, .5, .3);
  if (where != CAP) tgt_conform_wall(c, ORIGIN, 1, 1, 1, .5);
  else tgt_conform_geom(c, 0, TG_GEOM_CAPSULE, .4, .5, 0, .5);
}

// a free body on a fixed box of 1 m, shifted aside; its edges on one line with those below
static void box_on_box(tgtConform *c, int aside, int meshes) {
  int b = tgt_conform_body(c, 0, (double[]){.5 * aside, 1 - 1e-3, 0}, NULL, 1), j = tgt_conform_joint(c, b, TG_JOINT_FREE, 0, 0, 0);
  gravity_down(c);
  if (meshes) tgt_conform_mesh_box(c, b, 1, 1, 1, .5);
  else tgt_conform_box(c, b, 1, 1, 1, .5);
  tgt_conform_wall(c, ORIGIN, 1, 1, 1, .5);
  c->v[j][1] = -.1;
  c->v[j][5] = .2;
}

// capsules side by side; a capsule along the rim of a box, its end over the rim
enum { PARALLEL, ALONG_RIM, END_OVER_RIM };
static void capsule_on(tgtConform *c, int how, int unused) {
  (void)unused;
  double x = how == ALONG_RIM ? .5 : 0, y = how == PARALLEL ? .69 : .5 + .3 - 1e-3, z = how == END_OVER_RIM ? 1 : 0;
  int b = tgt_conform_body(c, 0, (double[]){x, y, z}, NULL, 1), j = tgt_conform_joint(c, b, TG_JOINT_FREE, 0, 0, 0);
  gravity_down(c);
  tgt_conform_geom(c, b, TG_GEOM_CAPSULE, .3, .5, 0, .5);
  if (how == PARALLEL) tgt_conform_geom(c, 0, TG_GEOM_CAPSULE, .4, .5, 0, .5);
  else tgt_conform_wall(c, ORIGIN, 1, 1, how == END_OVER_RIM ? 1 : 3, .5);
  c->v[j][1] = -.1;
  c->v[j][0] = .02;
}

// smooth: memory holds one of two faces, or the points that come and go carry nothing that others do not
const tgtConformScene tgt_conform_ties[] = {
    {"friction at its bound", forces, BOUND, 0, TGT_CONFORM_TOUCHES},
    {"a slide that just stops", forces, STOPS, 0, TGT_CONFORM_TOUCHES},
    {"touching without force", forces, WEIGHTLESS, 0, TGT_CONFORM_TOUCHES},
    {"about to touch", forces, TOUCHES, 0, TGT_CONFORM_TOUCHES},
    {"about to bounce", forces, BOUNCES, 0, TGT_CONFORM_TOUCHES},
    {"sphere over the rim of a box", sphere_at, RIM, 0, TGT_CONFORM_TOUCHES},
    {"sphere over the corner of a box", sphere_at, CORNER, 0, TGT_CONFORM_TOUCHES},
    {"sphere in a box, as near to two faces", sphere_at, INSIDE, 0, TGT_CONFORM_SMOOTH},
    {"sphere where the side of a capsule ends", sphere_at, CAP, 0, TGT_CONFORM_TOUCHES},
    {"box on a box, edges on one line", box_on_box, 0, false, TGT_CONFORM_SMOOTH},
    {"box on a box, two edges on one line", box_on_box, 1, false, TGT_CONFORM_SMOOTH},
    {"mesh on a box, edges on one line", box_on_box, 0, true, TGT_CONFORM_SMOOTH},
    {"parallel capsules", capsule_on, PARALLEL, 0, TGT_CONFORM_TOUCHES},
    {"capsule along the rim of a box", capsule_on, ALONG_RIM, 0, TGT_CONFORM_SMOOTH},
    {"capsule with its end over the rim", capsule_on, END_OVER_RIM, 0, TGT_CONFORM_TOUCHES},
    {NULL, NULL, 0, 0, TGT_CONFORM_TOUCHES}};
