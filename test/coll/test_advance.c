// test_advance.c: step bounds against the exact checker along the path, against their plain twin, with and without memory.
#include <string.h>

#include "coll/advance_scene.h"
#include "coll/surfaces/ccd.h"
#include "coll/surfaces/triangle.h"
#include "math/quat.h"

static double brute_distance(const tgtScene *c, int p) {
  int g = c->model->pair_geom1[p], h = c->model->pair_geom2[p];
  double best = INFINITY;
  if (c->vert[g] == NULL || c->vert[h] == NULL) {
    int plane = c->vert[g] == NULL ? g : h, body = plane == g ? h : g;
    for (int k = 0; k < c->solid[body].surface->nvert; k++) {
      double z = 0;
      for (int i = 0; i < 3; i++)
        z += tgRe(c->sim->start.geom_xmat[9 * plane + 3 * i + 2]) * (c->vert[body][3 * k + i] -
                                                                     tgRe(c->sim->start.geom_xpos[3 * plane + i]));
      best = fmin(best, z);
    }
    return best;
  }
  const tgiSurface *s = c->solid[g].surface, *t = c->solid[h].surface;
  for (int f = 0; f < s->nface; f++)
    for (int e = 0; e < t->nface; e++) {
      double x[9], y[9];
      for (int i = 0; i < 9; i++) {
        x[i] = c->vert[g][3 * s->face[3 * f + i / 3] + i % 3];
        y[i] = c->vert[h][3 * t->face[3 * e + i / 3] + i % 3];
      }
      best = fmin(best, tgi_triangle_triangle(x, y).distance);
    }
  return best;
}

// the same by the trees, which `distances` checks
static double tree_distance(const tgtScene *c, int p) {
  int g[2] = {c->model->pair_geom1[p], c->model->pair_geom2[p]};
  if (c->vert[g[0]] == NULL || c->vert[g[1]] == NULL) return brute_distance(c, p);
  tgiRigid P[2] = {tgt_scene_pose(c, g[0]), tgt_scene_pose(c, g[1])};
  return tgi_solid_distance(&c->solid[g[0]], P, &c->solid[g[1]], P + 1, INFINITY);
}

// ---- models

static int add(tgDesc *d, int body, tgGeomType type, double a, double b, double c) {
  int g = tg_desc_add_geom(d, body, type, NULL);
  double size[3] = {a, b, c};
  memcpy(d->geom[g].size, size, sizeof size);
  return g;
}

enum { NT = 14, NR = 8 };
static int torus(tgDesc *d, double R, double r) {
  double vert[3 * NT * NR];
  int face[6 * NT * NR];
  for (int i = 0; i < NT; i++)
    for (int j = 0; j < NR; j++) {
      double a = 2 * TG_PI * i / NT, b = 2 * TG_PI * j / NR, *x = vert + 3 * (NR * i + j);
      x[0] = (R + r * cos(b)) * cos(a);
      x[1] = (R + r * cos(b)) * sin(a);
      x[2] = r * sin(b);
      int q[4] = {NR * i + j, NR * ((i + 1) % NT) + j, NR * ((i + 1) % NT) + (j + 1) % NR, NR * i + (j + 1) % NR};
      int f[6] = {q[0], q[1], q[2], q[0], q[2], q[3]};
      memcpy(face + 6 * (NR * i + j), f, sizeof f);
    }
  return tg_desc_add_mesh(d, NULL, vert, NT * NR, face, 2 * NT * NR);
}

static void free_bodies(tgtScene *c) {
  tgDesc *d = tg_desc_create(NULL);
  add(d, 0, TG_GEOM_PLANE, 0, 0, 0);
  int ring = torus(d, 0.5, 0.15);
  for (int k = 0; k < 4; k++) {
    int b = tg_desc_add_body(d, 0, NULL);
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
    int g = k == 0 ? add(d, b, TG_GEOM_MESH, 0, 0, 0) : -1;
    if (k == 0) d->geom[g].mesh = ring;
    if (k == 1) add(d, b, TG_GEOM_BOX, 0.6, 0.1, 0.2);
    if (k == 2) add(d, b, TG_GEOM_CAPSULE, 0.1, 0.5, 0);
    if (k == 3) add(d, b, TG_GEOM_SPHERE, 0.2, 0, 0);
  }
  tgt_scene_open(c, d, 0.1);
}

// a base that slides and turns freely, a chain with every kind of joint on it, another chain beside it, a free box, walls
static void arms(tgtScene *c) {
  tgDesc *d = tg_desc_create(NULL);
  add(d, 0, TG_GEOM_PLANE, 0, 0, 0);
  int wall = add(d, 0, TG_GEOM_BOX, 0.05, 2, 2);
  d->geom[wall].pos[0] = 1.8;
  int base = tg_desc_add_body(d, 0, NULL);
  tg_desc_add_joint(d, base, TG_JOINT_FREE, NULL);
  add(d, base, TG_GEOM_BOX, 0.3, 0.3, 0.1);
  for (int side = 0; side < 2; side++) {
    int parent = base;
    for (int k = 0; k < 3; k++) {
      int b = tg_desc_add_body(d, parent, NULL);
      d->body[b].pos[0] = k == 0 ? 0.5 * (2 * side - 1) : 0;
      d->body[b].pos[2] = k == 0 ? 0.3 : 0.7;
      tgJointType type = side == 0 ? (k == 1 ? TG_JOINT_BALL : TG_JOINT_HINGE) : (k == 1 ? TG_JOINT_SLIDE : TG_JOINT_HINGE);
      int j = tg_desc_add_joint(d, b, type, NULL);
      double axis[3] = {type == TG_JOINT_SLIDE ? 0 : k == 2, type == TG_JOINT_SLIDE ? 0 : k != 2, type == TG_JOINT_SLIDE};
      memcpy(d->joint[j].axis, axis, sizeof axis);
      if (k == 2) d->joint[j].pos[2] = -0.1;
      int g = add(d, b, TG_GEOM_CAPSULE, 0.08, 0.2, 0);
      d->geom[g].pos[2] = 0.35;
      parent = b;
    }
  }
  int box = tg_desc_add_body(d, 0, NULL);
  tg_desc_add_joint(d, box, TG_JOINT_FREE, NULL);
  add(d, box, TG_GEOM_BOX, 0.2, 0.3, 0.1);
  tgt_scene_open(c, d, 0.1);
}

static void random_q(tgtRandom *r, const tgModel *m, tgReal *q) {
  for (int j = 0; j < m->njnt; j++) {
    tgReal *x = q + m->jnt_qadr[j];
    if (m->jnt_type[j] == TG_JOINT_FREE) {
      for (int i = 0; i < 2; i++) x[i] = tgt_uniform(r, -1, 1);
      x[2] = tgt_uniform(r, 0.5, 2);
      x += 3;
    }
    if (m->jnt_type[j] == TG_JOINT_FREE || m->jnt_type[j] == TG_JOINT_BALL) {
      for (int i = 0; i < 4; i++) x[i] = tgt_normal(r);
      tgi_quat_normalize(x);
    } else {
      x[0] = m->jnt_type[j] == TG_JOINT_SLIDE ? tgt_uniform(r, -0.2, 0.5) : tgt_uniform(r, -2, 2);
    }
  }
}

// ---- tests

typedef struct Count { int trials, free, whole, cut; double rounds, part, plain; } Count;

static void check_path(tgtScene *c, tgtRandom *r, const tgReal *q, const tgReal *d, Count *n) {
  const tgModel *m = c->model;
  double before[64], f, g;
  tgReal w[64], x[64];
  for (int p = 0; p < m->npair; p++) before[p] = tree_distance(c, p);
  g = tgt_advance(c, q, d, true, true);
  f = tgt_advance(c, q, d, false, true);
  int rounds = c->advance.rounds;
  check_true(f > 0 && f <= 1 && g > 0 && g <= 1, "fractions %g, %g", f, g);
  check_true(f >= 0.6 * g, "%g in %d rounds, by bounds alone %g", f, rounds, g);
  for (int k = 0; k <= 40; k++) {
    double alpha = f * (k == 40 ? 1 : k == 39 ? 0.999 : k / 39.0);
    for (int i = 0; i < m->nv; i++) w[i] = alpha * d[i];
    tg_model_integrate(m, q, w, x);
    tgt_scene_place(c, x);
    int p = tgt_scene_touching(c);
    check_true(p < 0, "pair %d touches at %g of %g", p, alpha, f);
  }
  double least = INFINITY;
  for (int p = 0; p < m->npair; p++) {
    double now = tree_distance(c, p);
    least = fmin(least, now / before[p]);
    if (rounds <= 1) check_true(now >= 0.0999 * before[p], "pair %d: %g of %g is left", p, now, before[p]);
  }
  if (f < 1 && rounds < TGI_ADVANCE_ROUNDS) check_true(least < 0.5, "stopped at %g with %g left after %d rounds", f, least, rounds);
  (void)r;
  n->free++;
  n->whole += f >= 1;
  n->cut += f < 1;
  n->rounds += rounds;
  n->part += f;
  n->plain += g;
}

static void paths(void (*make)(tgtScene *), uint64_t seed, int trials) {
  tgtScene c = {0};
  Count n = {0};
  tgtRandom r = {seed};
  make(&c);
  assert_true(c.model->nq <= 64 && c.model->npair <= 64);
  for (int trial = 0; trial < trials; trial++) {
    tgReal q[64], d[64];
    random_q(&r, c.model, q);
    double size = pow(10, tgt_uniform(&r, -2, 0.5));
    for (int i = 0; i < c.model->nv; i++) d[i] = size * tgt_normal(&r);
    tgt_scene_place(&c, q);
    n.trials++;
    if (tgt_scene_touching(&c) < 0) check_path(&c, &r, q, d, &n);
  }
  print_message("%d of %d free, %d whole steps, %d cut; %.2f rounds on average; mean fraction %.3f, by bounds alone %.3f\n", n.free,
                n.trials, n.whole, n.cut,
                n.rounds / n.free, n.part / n.free, n.plain / n.free);
  check_true(n.free > 20 && n.whole > 5 && n.cut > 5, "cases");
  tgt_scene_close(&c);
}

static void bodies(void **state) {
  (void)state;
  paths(free_bodies, 3, 120);
}
static void articulated(void **state) {
  (void)state;
  paths(arms, 4, 120);
}

// solid g has the radius r around its faces
static void thicken(tgtScene *c, int g, double r) {
  tgReal more = r - *c->number[g].round;
  *c->number[g].round = r;
  for (int k = 0; k < c->solid[g].tree->nnode; k++) c->number[g].radius[k] += more;
}

// the trees against all pairs of faces, with every cap, of faces alone and of such with a radius
static void distances(void **state) {
  (void)state;
  tgtScene c = {0};
  tgtRandom r = {9};
  free_bodies(&c);
  tgiRigid P[2];
  for (int trial = 0; trial < 10; trial++) {
    tgReal q[64];
    random_q(&r, c.model, q);
    tgt_scene_place(&c, q);
    for (int p = 0; p < c.model->npair; p++) {
      int g[2] = {c.model->pair_geom1[p], c.model->pair_geom2[p]};
      if (c.vert[g[0]] == NULL || c.vert[g[1]] == NULL) continue;
      for (int s = 0; s < 2; s++) P[s] = tgt_scene_pose(&c, g[s]);
      double faces = brute_distance(&c, p), round = trial % 2 * 0.1 * faces, b = faces - 2 * round, cap = b * tgt_uniform(&r, 0.5, 1.5);
      for (int s = 0; s < 2; s++) thicken(&c, g[s], round);
      check_close(tgi_solid_distance(&c.solid[g[0]], P, &c.solid[g[1]], P + 1, INFINITY), b, 1e-12);
      check_close(tgi_solid_distance(&c.solid[g[0]], P, &c.solid[g[1]], P + 1, cap), fmin(b, cap), 1e-12);
      for (int s = 0; s < 2; s++) thicken(&c, g[s], 0);
    }
  }
  tgt_scene_close(&c);
}

// the first contact of all pairs of faces, by itself
static double brute_sweep(const tgtScene *c, const int g[2], const tgiRigid P[2][2], double gap, double tol) {
  double first = 1;
  for (int f = 0; f < c->solid[g[0]].surface->nface; f++)
    for (int e = 0; e < c->solid[g[1]].surface->nface; e++) {
      double x[2][18];
      for (int end = 0; end < 2; end++)
        for (int k = 0; k < 6; k++) {
          const tgiSolid *s = &c->solid[g[k / 3]];
          const tgReal *y = s->number->vert + 3 * s->surface->face[3 * (k < 3 ? f : e) + k % 3];
          const tgiRigid *at = &P[k / 3][end];
          for (int i = 0; i < 3; i++) {
            x[end][3 * k + i] = at->p[i];
            for (int j = 0; j < 3; j++) x[end][3 * k + i] += at->R[3 * i + j] * tgRe(y[j]);
          }
        }
      tgiCcd hit = tgi_ccd(x[0], x[1], 3, 3, gap, tol);
      if (hit.hit) first = fmin(first, hit.t);
    }
  return first;
}

// The part f of the way from P[0] to P[1]: of the straight lines of all vertices, so no turn.
static tgiRigid part_of_way(const tgiRigid P[2], double f) {
  tgiRigid at;
  for (int i = 0; i < 9; i++) at.R[i] = P[0].R[i] + f * (P[1].R[i] - P[0].R[i]);
  for (int i = 0; i < 3; i++) at.p[i] = P[0].p[i] + f * (P[1].p[i] - P[0].p[i]);
  return at;
}

// The trees, and the directions that keep triangles apart, against all pairs of faces, also such with a radius: bodies that turn and pass
// each other, and meet; those also on a way that ends right after, where what forgets the radii still finds the gap kept.
static void sweeps(void **state) {
  (void)state;
  tgtScene c = {0};
  tgtRandom r = {12};
  int met = 0, passed = 0;
  free_bodies(&c);
  for (int trial = 0; trial < 8; trial++) {
    tgReal q[64], d[64], ends[2][64];
    tgiRigid P[2][2];
    random_q(&r, c.model, q);
    memcpy(ends[0], q, sizeof q);
    for (int i = 0; i < c.model->nv; i++) d[i] = 0.4 * tgt_normal(&r);
    tg_model_integrate(c.model, q, d, ends[1]);
    for (int p = 0; p < c.model->npair; p++) {
      int g[2] = {c.model->pair_geom1[p], c.model->pair_geom2[p]};
      if (c.vert[g[0]] == NULL || c.vert[g[1]] == NULL || c.solid[g[0]].surface->nface * c.solid[g[1]].surface->nface > 20000) continue;
      for (int end = 1; end >= 0; end--) {
        tgt_scene_place(&c, ends[end]);
        for (int s = 0; s < 2; s++) P[s][end] = tgt_scene_pose(&c, g[s]);
      }
      double apart = brute_distance(&c, p), round = trial % 2 * 0.1 * apart, gap = 0.3 * apart, tol = 1e-9;
      if (!(apart > 1e-3)) continue;
      for (int s = 0; s < 2; s++) thicken(&c, g[s], round);
      double want = brute_sweep(&c, g, P, gap + 2 * round, tol);
      double got = tgi_solid_sweep(&c.solid[g[0]], P[0], &c.solid[g[1]], P[1], gap, tol, 0, 1);
      check_true(fabs(got - want) <= 1e-5, "geoms %d and %d, %g apart: %.9g, all pairs %.9g", g[0], g[1], apart, got, want);
      if (got < 1) met++;
      else passed++;
      double f = fmin(1, 1.01 * want);
      for (int s = 0; s < 2; s++) P[s][1] = part_of_way(P[s], f);
      got = f * tgi_solid_sweep(&c.solid[g[0]], P[0], &c.solid[g[1]], P[1], gap, tol, 0, 1);
      check_true(fabs(got - want) <= 1e-5, "geoms %d and %d, %g apart, cut: %.9g, all pairs %.9g", g[0], g[1], apart, got, want);
      for (int s = 0; s < 2; s++) thicken(&c, g[s], 0);
    }
  }
  print_message("%d meet, %d pass each other\n", met, passed);
  check_true(met > 3 && passed > 3, "%d, %d", met, passed);
  tgt_scene_close(&c);
}

// nine tenths of the distances of all pairs
static void tell(const tgtScene *c, const tgReal *q, double *apart) {
  tgi_kinematics(&c->sim->m, q, &c->sim->start);
  for (int p = 0; p < c->advance.npair; p++) {
    int g = c->advance.geom1[p], h = c->advance.geom2[p];
    if (c->solid[g].surface == NULL) g = c->advance.geom2[p], h = c->advance.geom1[p];
    tgiRigid G = tgt_scene_pose(c, g), H = tgt_scene_pose(c, h);
    tgiPlane plane = {.p = {H.p[0], H.p[1], H.p[2]}, .n = {H.R[2], H.R[5], H.R[8]}};
    apart[p] = 0.9 * (c->solid[h].surface != NULL ? tgi_solid_distance(&c->solid[g], &G, &c->solid[h], &H, INFINITY)
                                                  : fmax(0, tgi_solid_height(&c->solid[g], &G, &plane, INFINITY)));
  }
}

// a chain of small steps: the same fractions whether bounds are remembered, or told, or not, and fewer distances asked for
static void memory(void **state) {
  (void)state;
  tgtScene c = {0};
  tgtRandom r = {10};
  int asked[3] = {0, 0, 0};
  static double apart[256];
  arms(&c);
  assert_true(c.advance.npair <= 256);
  for (int trial = 0; trial < 30; trial++) {
    tgReal q[64], d[64], x[64];
    random_q(&r, c.model, q);
    tgt_scene_place(&c, q);
    if (tgt_scene_touching(&c) >= 0) continue;
    for (int pass = 0; pass < 3; pass++) {
      static double fraction[12];
      tgtRandom s = {(uint64_t)trial};
      memcpy(x, q, sizeof x);
      c.advance.known = false;
      for (int k = 0; k < 12; k++) {
        for (int i = 0; i < c.model->nv; i++) d[i] = tgt_normal(&s) * pow(10, -1 - 0.5 * k);
        if (pass == 2) tell(&c, x, apart);
        c.advance.apart = pass == 2 ? apart : NULL;
        double f = tgt_advance(&c, x, d, false, pass >= 1);
        if (pass >= 1)
          check_true(f == fraction[k], "step %d: %.17g, %s %.17g", k, fraction[k], pass == 1 ? "without memory" : "told distances", f);
        fraction[k] = f;
        asked[pass] += c.advance.queries;
        for (int i = 0; i < c.model->nv; i++) d[i] *= k % 3 == 0 ? 0.5 * f : f;
        tg_model_integrate(c.model, x, d, x);
      }
    }
  }
  print_message("distances asked for: %d with memory, %d without, %d where bounds are told\n", asked[0], asked[1], asked[2]);
  check_true(asked[0] < asked[1] && asked[2] < asked[1], "%d, %d, %d", asked[0], asked[1], asked[2]);
  tgt_scene_close(&c);
}

// a bullet of 1 mm at 100 m/s in a step of 10 ms against a wall of 1 mm; a sheet that slides 1 um over another for a metre
static void fast_and_thin(void **state) {
  (void)state;
  tgtScene c = {0};
  tgDesc *d = tg_desc_create(NULL);
  add(d, 0, TG_GEOM_BOX, 0.0005, 1, 1);
  int b = tg_desc_add_body(d, 0, NULL);
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  add(d, b, TG_GEOM_BOX, 0.0005, 0.0005, 0.0005);
  tgt_scene_open(&c, d, 0.1);
  tgReal q[7] = {-0.5, 0, 0, 1, 0, 0, 0}, v[6] = {1, 0, 0, 0, 0, 0};
  double f = tgt_advance(&c, q, v, false, true), gap = 0.5 - 0.001;
  check_true(f < gap && f > 0.8 * gap, "%g of %g", f, gap);
  q[0] = -0.001 - 1e-6;
  q[1] = -0.5;
  v[0] = 0;
  v[1] = 1;
  f = tgt_advance(&c, q, v, false, true);
  check_true(f == 1 && c.advance.rounds <= 1, "slides %g in %d rounds", f, c.advance.rounds);
  q[0] = -0.001;   // touching: refused
  check_true(tgt_advance(&c, q, v, false, true) <= 1e-6, "touching");
  tgt_scene_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(distances), cmocka_unit_test(sweeps), cmocka_unit_test(bodies),
                                     cmocka_unit_test(articulated), cmocka_unit_test(memory), cmocka_unit_test(fast_and_thin)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
