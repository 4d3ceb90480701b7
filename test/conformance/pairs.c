// pairs.c: two bodies in contact, of every two kinds of features: free, listed in both orders, and as parent and child in one tree.
#include "conformance/scenes.h"

static const double ORIGIN[3] = {0, 0, 0};

typedef struct Side { double pos[3], quat[4]; } Side;
static Side at(double x, double y, double z) { return (Side){.pos = {x, y, z}, .quat = {1, 0, 0, 0}}; }
static Side turned(Side s, int axis, double degrees) {
  double q[4] = {s.quat[0], s.quat[1], s.quat[2], s.quat[3]}, r[4];
  tgt_conform_turn(axis, degrees * TG_PI / 180, r);
  tgt_conform_quat_mul(q, r, s.quat);
  return s;
}

// what a body is made of
typedef struct Shape { tgGeomType type; double x, y, z; } Shape;   // boxes and meshes by full edges
static int shape(tgtConform *c, int body, Shape s) {
  double mu = c->slip ? 0.05 : 0.7;
  if (s.type == TG_GEOM_BOX) return tgt_conform_box(c, body, s.x, s.y, s.z, mu);
  if (s.type == TG_GEOM_MESH) return tgt_conform_mesh_box(c, body, s.x, s.y, s.z, mu);
  return tgt_conform_geom(c, body, s.type, s.x, s.y, s.z, mu);
}

// one body: free; or on slides and a ball as the child of the other. Index of its first joint
static int place(tgtConform *c, int parent, const Side *s, Shape what, const double *v) {
  int b = tgt_conform_body(c, parent, s->pos, s->quat, 1), j;
  if (parent == 0) {
    j = tgt_conform_joint(c, b, TG_JOINT_FREE, 0, 0, 0);
    for (int i = 0; i < 3; i++) c->v[j][i] = v[i];
  } else {
    // slides along the parent's axes, which the body's frame sees turned
    double back[4] = {s->quat[0], -s->quat[1], -s->quat[2], -s->quat[3]}, axis[3];
    j = c->d->njoint;
    for (int k = 0; k < 3; k++) {
      tgt_conform_rotate(back, (double[]){k == 0, k == 1, k == 2}, axis);
      c->v[tgt_conform_joint(c, b, TG_JOINT_SLIDE, axis[0], axis[1], axis[2])][0] = v[k];
    }
    tgt_conform_joint(c, b, TG_JOINT_BALL, 0, 0, 0);
  }
  shape(c, b, what);
  return j;
}

// A at its place at rest, B at its own with velocity (x, y, z); that slips: at 1 m/s and about 0.4 m/s aside
static void pair(tgtConform *c, Side a, Shape A, Side b, Shape B, double x, double y, double z) {
  double v[3] = {x, y, z}, speed = sqrt(x * x + y * y + z * z);
  for (int i = 0; i < 3 && c->slip; i++) v[i] = v[i] / speed + 0.1 * (i + 1);
  c->d->option.gravity[1] = -9.81;
  c->d->option.gravity[2] = 0;
  if (c->self) {
    // A first, or B first: what moves is always the second
    Side *root = c->reversed ? &b : &a, *child = c->reversed ? &a : &b, relative;
    double back[4] = {root->quat[0], -root->quat[1], -root->quat[2], -root->quat[3]}, d[3], u[3], w[3];
    for (int i = 0; i < 3; i++) d[i] = child->pos[i] - root->pos[i];
    for (int i = 0; i < 3; i++) w[i] = c->reversed ? -v[i] : v[i];
    tgt_conform_rotate(back, d, relative.pos);
    tgt_conform_quat_mul(back, child->quat, relative.quat);
    tgt_conform_rotate(back, w, u);
    place(c, 0, root, c->reversed ? B : A, ORIGIN);
    place(c, 1, &relative, c->reversed ? A : B, u);
    tg_desc_add_pair(c->d, 0, 1, NULL);   // parent and child touch only where it is said
  } else if (c->reversed) {
    place(c, 0, &b, B, v);
    place(c, 0, &a, A, ORIGIN);
  } else {
    place(c, 0, &a, A, ORIGIN);
    place(c, 0, &b, B, v);
  }
}

static Shape box(double x, double y, double z, bool mesh) { return (Shape){mesh ? TG_GEOM_MESH : TG_GEOM_BOX, x, y, z}; }
static Shape sphere(double r) { return (Shape){TG_GEOM_SPHERE, r, 0, 0}; }
static Shape capsule(double r, double length) { return (Shape){TG_GEOM_CAPSULE, r, length / 2, 0}; }

static void vertex_face(tgtConform *c, int mesh, int unused) {
  (void)unused;
  double edge = sqrt(1. / 3);
  pair(c, at(0, 0, 0), box(1, 1, 1, mesh), turned(turned(at(-.98, 0, 0), 2, 45), 1, -45), box(edge, edge, edge, mesh), .1, 0, 0);
}

// edges that cross at the angle `degrees` from square
static void edge_edge(tgtConform *c, int mesh, int degrees) {
  Side b = turned(turned(turned(at(-.99, .99, 0), 2, -45), 0, degrees), 1, -45);
  pair(c, at(0, 0, 0), box(1, 1, 1, mesh), b, box(1, 1, 1, mesh), .1, -.1, 0);
}

// the sphere on a face, an edge, a corner; 4: its centre inside the box
static void sphere_box(tgtConform *c, int faces, int mesh) {
  double d = mesh ? 2e-3 : 2e-2, k = (.5 - d) / sqrt(faces) + .5;
  Side s = faces == 4 ? at(-.1, 0, 0) : at(-k, faces > 1 ? -k : 0, faces > 2 ? -k : 0);
  bool all = mesh && faces > 2;
  pair(c, at(0, 0, 0), box(1, 1, 1, mesh), s, sphere(.5), .1, all ? .1 : 0, all ? .1 : 0);
}

static void sphere_sphere(tgtConform *c, int unused, int also) {
  (void)unused;
  (void)also;
  pair(c, at(0, 0, 0), sphere(.5), at(-(1.2 - 2e-2), 0, 0), sphere(.7), .1, 0, 0);
}

static void sphere_capsule(tgtConform *c, int side, int unused) {
  (void)unused;
  double k = sqrt(.5) * (.7 - .01);
  pair(c, at(0, 0, 0), capsule(.4, 1), side ? at(.7 - .01, 0, 0) : at(k, 0, .5 + k), sphere(.3), side ? -.01 : 0, 0, side ? 0 : -.01);
}

static void capsule_capsule(tgtConform *c, int letter, int unused) {
  (void)unused;
  double k = sqrt(.5) * (.5 + .7 - .01);
  Side b = letter == 'T' ? turned(at(.7 + .5 - .01, 0, 0), 1, 90) : letter == 'X' ? turned(at(0, .7 - .01, 0), 1, 90)
           : turned(at(k, 0, .5 + k), 1, 45);
  pair(c, at(0, 0, 0), capsule(.4, 1), b, capsule(.3, 1), letter == 'X' ? 0 : -.01, letter == 'X' ? -.01 : 0, letter == 'L' ? -.01 : 0);
}

// the capsule on an edge, across an edge on a face, on a corner, on a face, with its end on a face
enum { ON_EDGE, ON_FACE_AND_EDGE, ON_VERTEX, ON_FACE, END_ON_FACE };
static void pipe_box(tgtConform *c, int how, int mesh) {
  const double r = .5, k = sqrt(.5) * (r - .01), corner = .5 + sqrt(r * r / 3) - sqrt(.01 * .01 / 3), end = sqrt(.5) * (.5 + .5 + r - .01);
  Side a = how == END_ON_FACE ? turned(at(0, 0, 0), 1, 45) : at(0, 0, 0);
  Side b = how == ON_EDGE            ? turned(at(0, .5 + k, .5 + k), 0, 45)
           : how == ON_FACE_AND_EDGE ? at(0, 1 - .01, 1)
           : how == ON_FACE          ? at(0, 1 - .01, 0)
           : how == ON_VERTEX        ? turned(at(corner, corner, corner), 0, 45)
                                     : turned(at(end, 0, end), 1, 45);
  Shape A = how == ON_FACE_AND_EDGE ? box(2, 1, 2, mesh) : how == ON_FACE ? box(10, 1, 10, mesh) : box(1, 1, 1, mesh);
  bool along_x = how == ON_VERTEX || how == END_ON_FACE;
  pair(c, a, A, b, capsule(r, 1), along_x ? -.01 : 0, along_x ? 0 : -.01, 0);
}

const tgtConformScene tgt_conform_pairs[] = {
    {"vertex on face", vertex_face, false, 0, TGT_CONFORM_PAIR},
    {"vertex on face, meshes", vertex_face, true, 0, TGT_CONFORM_PAIR},
    {"edge on edge", edge_edge, false, 0, TGT_CONFORM_PAIR},
    {"edge on edge, meshes", edge_edge, true, 0, TGT_CONFORM_PAIR},
    {"edge on edge, oblique", edge_edge, false, 25, TGT_CONFORM_PAIR},
    {"edge on edge, oblique, meshes", edge_edge, true, 25, TGT_CONFORM_PAIR},
    {"sphere on a face of a box", sphere_box, 1, false, TGT_CONFORM_PAIR},
    {"sphere on an edge of a box", sphere_box, 2, false, TGT_CONFORM_PAIR},
    {"sphere on a corner of a box", sphere_box, 3, false, TGT_CONFORM_PAIR},
    {"sphere with its centre in a box", sphere_box, 4, false, TGT_CONFORM_PAIR},
    {"sphere on sphere", sphere_sphere, 0, 0, TGT_CONFORM_PAIR},
    {"sphere on a face of a mesh", sphere_box, 1, true, TGT_CONFORM_PAIR},
    {"sphere on an edge of a mesh", sphere_box, 2, true, TGT_CONFORM_PAIR},
    {"sphere on a corner of a mesh", sphere_box, 3, true, TGT_CONFORM_PAIR},
    {"sphere on the end of a capsule", sphere_capsule, false, 0, TGT_CONFORM_PAIR},
    {"sphere on the side of a capsule", sphere_capsule, true, 0, TGT_CONFORM_PAIR},
    {"capsules, T", capsule_capsule, 'T', 0, TGT_CONFORM_PAIR},
    {"capsules, X", capsule_capsule, 'X', 0, TGT_CONFORM_PAIR},
    {"capsules, L", capsule_capsule, 'L', 0, TGT_CONFORM_PAIR},
    {"pipe on an edge of a box", pipe_box, ON_EDGE, false, TGT_CONFORM_PAIR},
    {"pipe on a face and an edge of a box", pipe_box, ON_FACE_AND_EDGE, false, TGT_CONFORM_PAIR},
    {"pipe on a corner of a box", pipe_box, ON_VERTEX, false, TGT_CONFORM_PAIR},
    {"pipe on a face of a box", pipe_box, ON_FACE, false, TGT_CONFORM_PAIR},
    {"pipe on an edge of a mesh", pipe_box, ON_EDGE, true, TGT_CONFORM_PAIR},
    {"pipe on a face and an edge of a mesh", pipe_box, ON_FACE_AND_EDGE, true, TGT_CONFORM_PAIR},
    {"pipe on a corner of a mesh", pipe_box, ON_VERTEX, true, TGT_CONFORM_PAIR},
    {"pipe on a face of a mesh", pipe_box, ON_FACE, true, TGT_CONFORM_PAIR},
    {"end of a pipe on a face of a box", pipe_box, END_ON_FACE, false, TGT_CONFORM_PAIR},
    {"end of a pipe on a face of a mesh", pipe_box, END_ON_FACE, true, TGT_CONFORM_PAIR},
    {NULL, NULL, 0, 0, TGT_CONFORM_TOUCHES}};
