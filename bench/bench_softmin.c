// bench_softmin.c: the cost of the softmin model.
//
//   bench_softmin [--json]   soft distance over the points that count against all of them,
//     near a surface and in the middle of a ball; a step by RK4 of a
//                            T (two boxes, about 4000 points) on a plane beside a small spherical finger;
//                              the scene of SM-R3 (models/push_t.xml), its finger
//                            against the stem; a step of 50 balls of which 1 to 50 touch.
// Least times of many repeats.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "coll/clouds/ssdf_tree.h"   // private: the soft distance is timed by itself
#include "contact/contact.h"
#include "geom/cloud.h"
#include "tangere/desc.h"
#include "tangere/softmin.h"
#include "tangere/step.h"

static bool json;

static void report(const char *name, double value, const char *unit) {
  if (json) printf("{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"}\n", name, value, unit);
  else printf("%-58s %10.4g %s\n", name, value, unit);
  fflush(stdout);
}

static void *must(void *p) {
  if (p == NULL) {
    fprintf(stderr, "bench_softmin: out of memory\n");
    exit(1);
  }
  return p;
}

// ---- one point against a cloud ----

enum { PLACES = 64 };
typedef struct Field { tgiSsdf s; tgiSsdfTree tree; tgiSsdfNumbers z; int *kept; tgReal x[PLACES][3]; bool pruned; double sum; } Field;

static bool call(Field *f, void *work) {
  (void)work;
  for (int i = 0; i < PLACES; i++) {
    tgReal g[3];
    f->sum += f->pruned ? tgi_ssdf_pruned(&f->s, &f->tree, &f->z, 1e-13, f->kept, f->x[i], g, NULL) : tgi_ssdf(&f->s, f->x[i], g, NULL);
  }
  return true;
}

static void bench_field(void) {
  static const double size[3] = {0.15, 0, 0};
  const double spacing = 0.0084;
  tgCloud c;
  Field f = {.pruned = false};
  if (tgi_cloud_primitive(TG_GEOM_SPHERE, size, spacing, NULL, &c, NULL) < 0 || tgi_ssdf_tree_make(c.n, c.p, c.normal, NULL, &f.tree) < 0)
    exit(1);
  f.s = (tgiSsdf){.n = c.n, .p = c.p, .normal = c.normal, .eps = spacing * spacing};
  f.z.node = must(malloc((size_t)f.tree.nnode * sizeof *f.z.node));
  f.z.block = must(malloc((size_t)f.tree.nblock * sizeof *f.z.block));
  f.kept = must(malloc((size_t)c.n * sizeof *f.kept));
  tgi_ssdf_tree_numbers(&f.tree, c.p, c.normal, &f.z);
  report("points of a ball", c.n, "");
  for (int middle = 0; middle < 2; middle++) {
    double time[2];
    for (int i = 0; i < PLACES; i++)
      for (int k = 0; k < 3; k++) f.x[i][k] = middle ? 0 : c.p[3 * (i * (c.n / PLACES)) + k] * (0.95 + 0.1 * i / PLACES);
    for (int pruned = 0; pruned < 2; pruned++) {
      f.pruned = pruned == 1;
      time[pruned] = tgb_least(&f, NULL) / PLACES * 1e-3;
    }
    report(middle ? "distance and gradient in its middle, all points" : "distance and gradient near it, all points", time[0], "us");
    report(middle ? "the same, points that count (here all)" : "the same, points that count", time[1], "us");
    report("ratio", time[0] / time[1], "");
  }
  free(f.z.node);
  free(f.z.block);
  free(f.kept);
  tgi_ssdf_tree_free(&f.tree);
  tgi_cloud_free(&c);
}

// ---- steps ----

typedef struct Bench { tgModel *m; tgContact *c; tgSim *s; double h; tgReal *q, *v; } Bench;

static bool step(Bench *b) {
  memcpy(tg_sim_qpos(b->s), b->q, (size_t)b->s->m.nq * sizeof *b->q);
  memcpy(tg_sim_qvel(b->s), b->v, (size_t)b->s->m.nv * sizeof *b->v);
  return tg_sim_step(b->s, b->h, NULL) == TG_OK;
}

static double least(Bench *b) {
  double best = 1e30, first = tgb_now();
  for (int k = 0; k < 2 || (k < 2000 && tgb_now() - first < 1); k++) {
    double start = tgb_now();
    if (!step(b)) return -1;
    best = fmin(best, tgb_now() - start);
  }
  return best * 1e6;
}

// the model (NULL: the error says why) with a simulation of it
static Bench bind(tgModel *m, const tgContactOptions *o, double h, tgError *error) {
  Bench b = {.m = m, .h = h};
  b.c = b.m != NULL ? tg_contact_create(b.m, "softmin", o, error) : NULL;
  b.s = b.c != NULL ? tg_sim_create(b.m, b.c, NULL, error) : NULL;
  if (b.s == NULL) {
    fprintf(stderr, "bench_softmin: %s\n", error->text);
    exit(1);
  }
  b.q = must(malloc((size_t)b.s->m.nq * sizeof *b.q));
  b.v = must(calloc((size_t)b.s->m.nv, sizeof *b.v));
  memcpy(b.q, tg_sim_qpos(b.s), (size_t)b.s->m.nq * sizeof *b.q);
  return b;
}

static Bench start(tgDesc *d, double spacing, tgIntegrator integrator, double prune, double h) {
  tgError error = {0};
  tgSoftminOptions o = tg_softmin_default();
  o.spacing = spacing;
  o.integrator = integrator;
  o.prune = prune;
  tgModel *m = tg_model_compile(d, NULL, &error);
  tg_desc_free(d);
  return bind(m, &o.of, h, &error);
}

static void end(Bench *b) {
  tg_sim_free(b->s);
  tg_contact_free(b->c);
  tg_model_free(b->m);
  free(b->q);
  free(b->v);
}

static int add(tgDesc *d, int body, tgGeomType type, const char *name, double x, double y, double a, double b, double c, double mass) {
  int g = tg_desc_add_geom(d, body, type, name);
  double size[3] = {a, b, c}, pos[3] = {x, y, 0};
  memcpy(d->geom[g].size, size, sizeof size);
  memcpy(d->geom[g].pos, pos, sizeof pos);
  d->geom[g].mass = mass;
  return g;
}

// bar 25 x 5 cm, stem 5 x 15 cm, 5 cm high; the finger (radius 1.25 cm) touches the bar's side
static tgDesc *pushing(double lift) {
  tgDesc *d = must(tg_desc_create(NULL));
  add(d, 0, TG_GEOM_PLANE, "floor", 0, 0, 1, 1, 0.1, 0);
  int t = tg_desc_add_body(d, 0, "T"), f = tg_desc_add_body(d, 0, "finger");
  d->body[t].pos[2] = 0.025 + lift;
  tg_desc_add_joint(d, t, TG_JOINT_FREE, "T");
  add(d, t, TG_GEOM_BOX, "bar", 0, 0, 0.125, 0.025, 0.025, 0.3);
  add(d, t, TG_GEOM_BOX, "stem", 0, -0.1, 0.025, 0.075, 0.025, 0.2);
  d->body[f].pos[0] = 0.04;
  d->body[f].pos[1] = 0.025 + 0.0125;
  d->body[f].pos[2] = 0.025;
  for (int k = 0; k < 2; k++) {
    int j = tg_desc_add_joint(d, f, TG_JOINT_SLIDE, k == 0 ? "finger_x" : "finger_y");
    for (int i = 0; i < 3; i++) d->joint[j].axis[i] = i == k;
  }
  add(d, f, TG_GEOM_SPHERE, "tip", 0, 0, 0.0125, 0, 0, 0.1);
  return d;
}

static void bench_push(void) {
  static const double prune[] = {1e-13, 1e-11, 0};
  for (int k = 0; k < 3; k++) {
    char name[80];
    Bench b = start(pushing(0), 0.00475, TG_INTEGRATOR_RK4, prune[k], 0.002);
    snprintf(name, sizeof name, "RK4 step of the T, finger touching, prune %g", prune[k]);
    report(name, least(&b), "us");
    end(&b);
    if (k == 2) continue;
    b = start(pushing(0), 0.00475, TG_INTEGRATOR_EULER, prune[k], 0.002);
    snprintf(name, sizeof name, "Euler step of the same, prune %g", prune[k]);
    report(name, least(&b), "us");
    end(&b);
  }
}

// the scene of SM-R3 with its options (repro/push_t.c), after two seconds of pushing the stem, as bench/mjx_ratio.py has it in MuJoCo
static void bench_scene(void) {
  static const tgIntegrator integrator[] = {TG_INTEGRATOR_RK4, TG_INTEGRATOR_EULER};
  for (int k = 0; k < 2; k++) {
    tgError error = {0};
    tgSoftminOptions o = tg_softmin_default();
    o.eps2 = o.eps3 = 0.5 * 9.81 * 0.016 * 0.016;
    o.slip_speed = 9.81 * 0.016 / 4;
    o.prune = 1e-11;
    o.spacing = 0.0045;
    o.eps1 = 0.5 * o.spacing * o.spacing;
    o.integrator = integrator[k];
    Bench b = bind(tg_model_load(TG_SOURCE_DIR "/models/push_t.xml", NULL, &error), &o.of, 0.002, &error);
    for (int i = 0; i < 1000; i++) {
      tg_sim_ctrl(b.s)[1] = 0.08;
      if (tg_sim_step(b.s, b.h, NULL) != TG_OK) exit(1);
    }
    memcpy(b.q, tg_sim_qpos(b.s), (size_t)b.s->m.nq * sizeof *b.q);
    memcpy(b.v, tg_sim_qvel(b.s), (size_t)b.s->m.nv * sizeof *b.v);
    report(k == 0 ? "RK4 step of push_t.xml, finger pushing" : "Euler step of push_t.xml, finger pushing", least(&b), "us");
    end(&b);
  }
}

// balls in a row over a plane, the first `touching` on it, the others a millimetre above
static void bench_many(void) {
  double first = 0;
  static const int touching[] = {1, 10, 25, 50};
  for (int k = 0; k < 4; k++) {
    tgDesc *d = must(tg_desc_create(NULL));
    char name[80];
    int plane = add(d, 0, TG_GEOM_PLANE, "floor", 0, 0, 1, 1, 0.1, 0);
    for (int i = 0; i < 50; i++) {
      snprintf(name, sizeof name, "ball%d", i);
      int b = tg_desc_add_body(d, 0, name);
      d->body[b].pos[0] = 0.3 * i;
      d->body[b].pos[2] = i < touching[k] ? 0.05 : 0.051;
      tg_desc_add_joint(d, b, TG_JOINT_FREE, name);
      add(d, b, TG_GEOM_SPHERE, name, 0, 0, 0.05, 0, 0, 0.1);
      tg_desc_add_pair(d, i + 1, plane, NULL);
      d->geom[i + 1].contype = d->geom[i + 1].conaffinity = 0;
    }
    Bench b = start(d, 0.01, TG_INTEGRATOR_EULER, 1e-13, 0.002);
    double time = least(&b);
    if (k == 0) first = time;
    snprintf(name, sizeof name, "Euler step of 50 balls, %d touching", touching[k]);
    report(name, time, "us");
    snprintf(name, sizeof name, "ratio to one");
    report(name, time / first, "");
    end(&b);
  }
}

int main(int argc, char **argv) {
  json = argc > 1 && strcmp(argv[1], "--json") == 0;
  bench_field();
  bench_push();
  bench_scene();
  bench_many();
  return 0;
}
