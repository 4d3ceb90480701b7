// stress.c: scenes that tempt bodies to pass through each other. See stress.h.
//
// Lengths in metres, z up. Where bodies hold each other the gaps are below 1 mm from the start.
#include "contact/barrier/stress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

// ---- surfaces

// six times the volume
static double volume(const double *x, const int *face, int nface) {
  double sum = 0;
  for (int f = 0; f < nface; f++) {
    const double *a = x + 3 * face[3 * f], *b = x + 3 * face[3 * f + 1], *c = x + 3 * face[3 * f + 2];
    for (int i = 0; i < 3; i++) sum += a[i] * (b[(i + 1) % 3] * c[(i + 2) % 3] - b[(i + 2) % 3] * c[(i + 1) % 3]);
  }
  return sum;
}

// Surface of revolution with a radius that may depend on the angle: `rows` rings of n vertices; radius and height of vertex i of ring j.
// Rings in a loop (a torus), or closed by two fans (their centres at the heights of the first and last ring).
typedef void (*Shape)(const void *data, int i, int j, double *radius, double *height);
static int revolve(tgDesc *d, int n, int rows, bool loop, Shape shape, const void *data) {
  int nvert = n * rows + (loop ? 0 : 2), nface = 2 * n * (loop ? rows : rows - 1) + (loop ? 0 : 2 * n), f = 0;
  double *x = malloc(3 * (size_t)nvert * sizeof *x), z = 0;
  int *face = malloc(3 * (size_t)nface * sizeof *face);
  for (int j = 0; j < rows; j++)
    for (int i = 0; i < n; i++) {
      double r, a = 2 * pi * i / n, *y = x + 3 * (n * j + i);
      shape(data, i, j, &r, &z);
      y[0] = r * cos(a);
      y[1] = r * sin(a);
      y[2] = z;
      if (!loop && i == 0 && (j == 0 || j == rows - 1)) {
        double *centre = x + 3 * (n * rows + (j == 0 ? 0 : 1));
        centre[0] = centre[1] = 0;
        centre[2] = z;
      }
    }
  for (int j = 0; j < (loop ? rows : rows - 1); j++)
    for (int i = 0; i < n; i++) {
      int k = (i + 1) % n, l = (j + 1) % rows;
      int t[6] = {n * j + i, n * j + k, n * l + k, n * j + i, n * l + k, n * l + i};
      memcpy(face + 3 * f, t, sizeof t);
      f += 2;
    }
  for (int i = 0; !loop && i < n; i++) {
    int k = (i + 1) % n, t[6] = {n * rows, k, i, n * rows + 1, n * (rows - 1) + i, n * (rows - 1) + k};
    memcpy(face + 3 * f, t, sizeof t);
    f += 2;
  }
  bool inside_out = volume(x, face, nface) < 0;
  for (int k = 0; k < nface && inside_out; k++) {
    int v = face[3 * k];
    face[3 * k] = face[3 * k + 1];
    face[3 * k + 1] = v;
  }
  int mesh = tg_desc_add_mesh(d, NULL, x, nvert, face, nface);
  free(x);
  free(face);
  return mesh;
}

typedef struct Frustum { double r0, r1, z0, z1; } Frustum;
static void frustum(const void *data, int i, int j, double *r, double *z) {
  const Frustum *f = data;
  (void)i;
  *r = j == 0 ? f->r0 : f->r1;
  *z = j == 0 ? f->z0 : f->z1;
}

enum { TUBE = 6, BALL = 7 };
typedef struct Torus { double R, r; } Torus;
static void torus(const void *data, int i, int j, double *r, double *z) {
  const Torus *t = data;
  (void)i;
  *r = t->R + t->r * cos(2 * pi * j / TUBE);
  *z = t->r * sin(2 * pi * j / TUBE);
}
static void ball(const void *data, int i, int j, double *r, double *z) {
  double a = pi * (j + 0.5) / BALL - pi / 2;
  (void)i;
  *r = *(const double *)data * cos(a);
  *z = *(const double *)data * sin(a);
}

// ---- bodies

static int body(tgDesc *d, double x, double y, double z) {
  int b = tg_desc_add_body(d, 0, NULL);
  double p[3] = {x, y, z};
  memcpy(d->body[b].pos, p, sizeof p);
  return b;
}
static int free_body(tgDesc *d, double x, double y, double z) {
  int b = body(d, x, y, z);
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  return b;
}
// turns body b by an angle about an axis
static void turn(tgDesc *d, int b, double ax, double ay, double az, double angle) {
  double s = sin(angle / 2), q[4] = {cos(angle / 2), ax * s, ay * s, az * s};
  memcpy(d->body[b].quat, q, sizeof q);
}
static int mesh_geom(tgDesc *d, int b, int mesh, double mass, double friction) {
  int g = tg_desc_add_geom(d, b, TG_GEOM_MESH, NULL);
  d->geom[g].mesh = mesh;
  d->geom[g].friction[0] = friction;
  if (mass > 0) d->geom[g].mass = mass;
  return g;
}
static int box(tgDesc *d, int b, double hx, double hy, double hz, double mass, double friction) {
  int g = tg_desc_add_geom(d, b, TG_GEOM_BOX, NULL);
  double size[3] = {hx, hy, hz};
  memcpy(d->geom[g].size, size, sizeof size);
  d->geom[g].friction[0] = friction;
  if (mass > 0) d->geom[g].mass = mass;
  return g;
}
static void ground(tgDesc *d, double friction) {
  int g = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
  d->geom[g].friction[0] = friction;
}

// ---- scenes

static const double gap = 4e-4;

// a tapered peg falls askew into a ring and wedges there
static tgDesc *peg(void) {
  tgDesc *d = tg_desc_create(NULL);
  Torus ring = {0.14, 0.04};
  Frustum f = {0.06, 0.115, -0.15, 0.15};
  mesh_geom(d, 0, revolve(d, 14, TUBE, true, torus, &ring), 0, 0.3);
  int b = free_body(d, 0.002, 0, 0.2);
  turn(d, b, 0.6, 0.8, 0, 0.05);
  mesh_geom(d, b, revolve(d, 9, 2, false, frustum, &f), 0.5, 0.3);
  return d;
}

// two tents of leaning cards, a card across them and a tent on top; cards 1 mm thick
static void tent(tgDesc *d, double x, double z) {
  const double half = 0.05, thick = 0.0005, lean = 0.35;
  for (int s = -1; s <= 1; s += 2) {
    int b = free_body(d, x + s * (half * sin(lean) + thick * cos(lean) + gap), 0, z + half * cos(lean) + thick * sin(lean) + gap);
    turn(d, b, 0, 1, 0, -s * lean);
    box(d, b, thick, 0.03, half, 0.002, 0.9);
  }
}
static tgDesc *cards(void) {
  tgDesc *d = tg_desc_create(NULL);
  const double level = 2 * 0.05 * cos(0.35) + 2 * 0.0005 * sin(0.35) + 2 * gap;
  ground(d, 0.9);
  tent(d, -0.04, 0);
  tent(d, 0.04, 0);
  box(d, free_body(d, 0, 0, level + 0.0005), 0.08, 0.03, 0.0005, 0.002, 0.9);
  tent(d, 0, level + 0.001 + gap);
  return d;
}

// links hang in each other, the first is held; the last is pulled aside by its speed
static tgDesc *chain(void) {
  tgDesc *d = tg_desc_create(NULL);
  Torus ring = {0.05, 0.012};
  int mesh = revolve(d, 12, TUBE, true, torus, &ring);
  for (int k = 0; k < 6; k++) {
    int b = k == 0 ? body(d, 0, 0, 1) : free_body(d, 0, 0, 1 - k * 0.0755);
    // the ring's axis along x or y, a vertex of the tube's inside where the links meet
    if (k % 2 == 0) turn(d, b, 1, 0, 0, pi / 2);
    else turn(d, b, 0, 1, 0, pi / 2);
    mesh_geom(d, b, mesh, 0.2, 0.2);
  }
  return d;
}
static void swing(tgSim *s) {
  for (int k = 0; k < 5; k++) tg_sim_qvel(s)[6 * k] = 0.5 * (k + 1);
}

// three spikes fall into a crack between two slanted blocks
static tgDesc *spikes(void) {
  tgDesc *d = tg_desc_create(NULL);
  for (int s = -1; s <= 1; s += 2) {
    int b = body(d, s * 0.086, 0, -0.1);
    turn(d, b, 0, 1, 0, s * 0.2);
    box(d, b, 0.05, 0.2, 0.12, 0, 0.2);
  }
  Frustum f = {0.0005, 0.04, -0.14, 0};
  int mesh = revolve(d, 6, 2, false, frustum, &f), b = free_body(d, 0.01, 0, 0.13);
  turn(d, b, 1, 0, 0, 0.04);
  for (int k = -1; k <= 1; k++) {
    int g = mesh_geom(d, b, mesh, 0.1, 0.2);
    d->geom[g].pos[1] = 0.09 * k;
  }
  int plate = box(d, b, 0.05, 0.14, 0.01, 0.2, 0.2);
  d->geom[plate].pos[2] = 0.01;
  return d;
}

// a heavy ball on an arm swings into a wall of blocks
static tgDesc *wrecking(void) {
  tgDesc *d = tg_desc_create(NULL);
  double r = 0.15;
  ground(d, 0.6);
  int arm = body(d, -0.35, 0, 1.5);
  tg_desc_add_joint(d, arm, TG_JOINT_BALL, NULL);
  int g = mesh_geom(d, arm, revolve(d, 10, BALL, false, ball, &r), 50, 0.4);
  d->geom[g].pos[2] = -1.2;
  for (int k = 0; k < 6; k++)
    box(d, free_body(d, 0, (k % 2 - 0.5) * (0.2 + gap), 0.1 + gap + (k / 2) * (0.2 + gap)), 0.1, 0.1, 0.1, 4, 0.6);
  return d;
}
static void swing_ball(tgSim *s) { tg_sim_qvel(s)[1] = -6; }

// a small block meets a standing wall of 2 mm at 100 m/s: half the wall's thickness is passed in 10 us
static tgDesc *bullet(void) {
  tgDesc *d = tg_desc_create(NULL);
  ground(d, 0.5);
  box(d, free_body(d, 0, 0, 0.25 + gap), 0.001, 0.25, 0.25, 1, 0.5);
  box(d, body(d, 0.3, 0, 0.3), 0.001, 0.4, 0.3 - gap, 0, 0.5);
  int b = free_body(d, -0.53, 0.01, 0.3);
  turn(d, b, 0.6, 0, 0.8, 0.4);
  box(d, b, 0.01, 0.006, 0.008, 0.02, 0.5);
  return d;
}
static void shoot(tgSim *s) { tg_sim_qvel(s)[6] = 100; }

// a block of a tonne on one of a gram on one of a kilogram
static tgDesc *masses(void) {
  tgDesc *d = tg_desc_create(NULL);
  const double mass[3] = {1, 0.001, 1000};
  ground(d, 0.5);
  for (int k = 0; k < 3; k++) box(d, free_body(d, 0.01 * k, 0, 0.1 + gap + k * (0.2 + gap)), 0.1, 0.1, 0.1, mass[k], 0.5);
  return d;
}

// a half circle of 25 stones that carries itself between two blocks
typedef struct Stone { double r0, r1, y, angle; } Stone;
static int stone(tgDesc *d, const Stone *s) {
  // the corners inside and outside, at both ends of the angle, in front and behind
  double x[24];
  for (int k = 0; k < 8; k++) {
    double r = k & 1 ? s->r1 : s->r0, a = (k & 2 ? 0.5 : -0.5) * s->angle, *p = x + 3 * k;
    p[0] = r * sin(a);
    p[1] = k & 4 ? s->y : -s->y;
    p[2] = r * cos(a) - 0.5 * (s->r0 + s->r1);
  }
  static const int face[36] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 1, 3, 7, 1, 7, 5, 0, 4, 6, 0, 6, 2};
  return tg_desc_add_mesh(d, NULL, x, 8, face, 12);
}
static tgDesc *arch(void) {
  tgDesc *d = tg_desc_create(NULL);
  const int n = 25;
  const double r0 = 1, r1 = 1.3, middle = 0.5 * (r0 + r1), pitch = pi / n;
  Stone s = {r0, r1, 0.15, pitch - 5e-4};
  int mesh = stone(d, &s);
  ground(d, 0.8);
  for (int k = 0; k < n; k++) {
    double a = (k + 0.5) * pitch - pi / 2;
    int b = free_body(d, middle * sin(a), 0, middle * cos(a) + gap);
    turn(d, b, 0, 1, 0, a);
    mesh_geom(d, b, mesh, 2, 0.8);
  }
  return d;
}

// two wheels of 10 teeth in mesh, one driven, one braked
enum { TEETH = 10, STEPS = 5 };   // vertices a tooth: root, tip, tip, root, root
static void gear(const void *data, int i, int j, double *r, double *z) {
  (void)data;
  *r = i % STEPS == 1 || i % STEPS == 2 ? 0.11 : 0.0899;
  *z = j == 0 ? -0.02 : 0.02;
}
static tgDesc *gears(void) {
  tgDesc *d = tg_desc_create(NULL);
  int mesh = revolve(d, STEPS * TEETH, 2, false, gear, NULL);
  for (int k = 0; k < 2; k++) {
    int b = body(d, k * 0.2005, 0, 0), j = tg_desc_add_joint(d, b, TG_JOINT_HINGE, NULL);
    double axis[3] = {0, 0, 1};
    memcpy(d->joint[j].axis, axis, sizeof axis);
    d->joint[j].damping = k == 0 ? 0 : 0.05;
    // the middle of a tip is at 10.8 degrees, of a root at 28.8: a tip at 0 on the left wheel, a root at 180 on the right one
    turn(d, b, 0, 0, 1, (k == 0 ? -10.8 : 7.2) * pi / 180);
    mesh_geom(d, b, mesh, 1, 0.1);
    if (k == 0) {
      int u = tg_desc_add_actuator(d, TG_TRN_JOINT, j, NULL);
      d->actuator[u].gain[0] = 1;
    }
  }
  return d;
}
static void drive(tgSim *s) {
  tg_sim_ctrl(s)[0] = 0.2;
  tg_sim_qvel(s)[0] = 2;
}

// a nut turns down a standing screw by its weight; the same grid of vertices inside the nut and on the screw, `apart`
typedef struct Thread { double r, depth, pitch, z0, apart, outside; int per_pitch, n, inner; } Thread;
static double thread_radius(const Thread *t, int i, int j) {
  double phase = (double)i / t->n - (double)j / t->per_pitch;
  return t->r + t->depth * cos(2 * pi * phase);
}
static void screw_shape(const void *data, int i, int j, double *r, double *z) {
  const Thread *t = data;
  *r = thread_radius(t, i, j);
  *z = t->z0 + j * t->pitch / t->per_pitch;
}
// up inside, down outside
static void nut_shape(const void *data, int i, int j, double *r, double *z) {
  const Thread *t = data;
  int k = j < t->inner ? j : j == t->inner ? t->inner - 1 : 0;
  *r = j < t->inner ? thread_radius(t, i, k) + t->apart : t->outside;
  *z = t->z0 + k * t->pitch / t->per_pitch;
}
static tgDesc *screw(void) {
  tgDesc *d = tg_desc_create(NULL);
  Thread bolt = {.r = 0.04, .depth = 0.008, .pitch = 0.04, .z0 = 0, .per_pitch = 6, .n = 10}, nut = bolt;
  mesh_geom(d, 0, revolve(d, 10, 16, false, screw_shape, &bolt), 0, 0.05);
  nut.inner = 8;
  nut.apart = 9e-4;
  nut.outside = 0.08;
  int b = free_body(d, 0, 0, 0.04);
  mesh_geom(d, b, revolve(d, 10, 2 + nut.inner, true, nut_shape, &nut), 0.5, 0.05);
  return d;
}

// The same of fine threads, 1,920 triangles and 1,296. Facets pass each other, as their chords are off the thread by less than it is apart.
static tgDesc *bolt(void) {
  tgDesc *d = tg_desc_create(NULL);
  enum { AROUND = 24, TURN = 8, TURNS = 5, INSIDE = 3 * TURN + 1 };
  Thread bolt = {.r = 0.01, .depth = 8e-4, .pitch = 3e-3, .per_pitch = TURN, .n = AROUND}, nut = bolt;
  mesh_geom(d, 0, revolve(d, AROUND, TURN * TURNS, false, screw_shape, &bolt), 0, 0.01);
  nut.inner = INSIDE;
  nut.apart = 1.5e-4;
  nut.outside = 0.018;
  int b = free_body(d, 0, 0, bolt.pitch);
  mesh_geom(d, b, revolve(d, AROUND, 2 + INSIDE, true, nut_shape, &nut), 0.05, 0.01);
  return d;
}
static void spin(tgSim *s) { tg_sim_qvel(s)[5] = 5; }

// 16 rings that lie and 24 that stand and join them, a net that hangs from its corners; a ball falls into it
static int net_ring(tgDesc *d, int mesh, double x, double y, int stands) {
  const double z = 0.5;
  int b = stands < 0 ? body(d, x, y, z) : free_body(d, x, y, z);
  if (stands > 0) turn(d, b, stands == 1, stands == 2, 0, pi / 2);
  return mesh_geom(d, b, mesh, stands < 0 ? 0 : 0.02, 0.2);
}
static tgDesc *net(void) {
  tgDesc *d = tg_desc_create(NULL);
  enum { SIDE = 4 };
  Torus ring = {0.03, 0.006};
  const double pitch = 4 * (ring.R - ring.r) - 2 * gap, r = 0.05;
  int mesh = revolve(d, 12, TUBE, true, torus, &ring);
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) {
      net_ring(d, mesh, i * pitch, j * pitch, i % (SIDE - 1) == 0 && j % (SIDE - 1) == 0 ? -1 : 0);
      if (i < SIDE - 1) net_ring(d, mesh, (i + 0.5) * pitch, j * pitch, 1);
      if (j < SIDE - 1) net_ring(d, mesh, i * pitch, (j + 0.5) * pitch, 2);
    }
  mesh_geom(d, free_body(d, 1.5 * pitch, 1.5 * pitch, 0.5 + r + 0.03), revolve(d, 12, BALL, false, ball, &r), 0.3, 0.2);
  return d;
}

// a bicycle's chain of nine links hangs and swings: tubes about pins, between the pins' plates
typedef struct Tube { double inner, outer, half; } Tube;
static void tube(const void *data, int i, int j, double *r, double *z) {
  const Tube *t = data;
  (void)i;
  *r = j == 0 || j == 3 ? t->inner : t->outer;
  *z = j < 2 ? -t->half : t->half;
}
static tgDesc *bicycle(void) {
  tgDesc *d = tg_desc_create(NULL);
  enum { LINKS = 9, AROUND = 12 };
  const double pitch = 0.025, plate = 0.001, beyond = 0.006;
  Tube hole = {0.005, 0.009, 0.008};
  const double at = hole.half + gap + plate;
  Frustum pin = {hole.inner - 1.5 * gap, hole.inner - 1.5 * gap, -at, at};
  int tubes = revolve(d, AROUND, 4, true, tube, &hole), pins = revolve(d, AROUND, 2, false, frustum, &pin);
  for (int k = 0; k < LINKS; k++) {
    int b = k == 0 ? body(d, 0, 0, 1) : free_body(d, 0, 0, 1 - k * pitch);
    turn(d, b, 0, 1, 0, pi / 2);   // along its x down, the pins along the world's x
    for (int end = 0; end < 2; end++) {
      int g = mesh_geom(d, b, k % 2 == 0 ? pins : tubes, 0.004, 0.1);
      d->geom[g].pos[0] = end * pitch;
      if (k % 2 == 1) continue;
      g = box(d, b, pitch / 2 + beyond, beyond, plate, 0.003, 0.1);
      d->geom[g].pos[0] = pitch / 2;
      d->geom[g].pos[2] = end == 0 ? -at : at;
    }
    if (k % 2 == 0) continue;
    int g = box(d, b, pitch / 2 - 0.007, 0.004, 0.8 * hole.half, 0.004, 0.1);
    d->geom[g].pos[0] = pitch / 2;
  }
  return d;
}
static void swing_bicycle(tgSim *s) {
  for (int k = 0; k < 8; k++) {   // as one piece about its upper end
    tg_sim_qvel(s)[6 * k + 1] = 3 * 0.025 * (k + 1);
    tg_sim_qvel(s)[6 * k + 5] = 3;
  }
}

static const tgtStress scenes[TGT_STRESS_SCENES] = {
    {"peg in a torus", 0.01, 1e-7, 0, 60, peg, NULL},         {"card house", 0.005, 1e-9, 0.005, 5, cards, NULL},
    {"chain of links", 0.01, 1e-7, 0, 5, chain, swing},       {"spikes in a crack", 0.01, 1e-7, 0, 60, spikes, NULL},
    {"wrecking ball", 0.01, 1e-7, 0, 20, wrecking, swing_ball}, {"thin wall at 100 m/s", 0.01, 1e-7, 0, 5, bullet, shoot},
    {"large mass ratio", 0.01, 1e-7, 0, 20, masses, NULL},    {"arch of 25 stones", 0.01, 1e-7, 0.03, 20, arch, NULL},
    {"gears", 0.01, 1e-8, 0, 20, gears, drive},               {"screw in a nut", 0.01, 1e-8, 0, 20, screw, NULL},
    {"bolt in a nut", 0.01, 1e-9, 0, 5, bolt, spin},          {"net of rings", 0.01, 1e-7, 0, 5, net, NULL},
    {"bicycle chain", 0.01, 1e-8, 0, 5, bicycle, swing_bicycle},
};

const tgtStress *tgt_stress(int scene) { return scenes + scene; }
