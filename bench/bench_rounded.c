// bench_rounded.c: frames of balls and capsules as cores with a radius beside the same as inscribed triangles, in one run.
//
//   bench_rounded [frames of triangles [how the name of the only case begins]]
//
// Time of this thread a frame of 5 ms: the whole, of which Newton's steps, and of the adjoint. Frames of triangles are fewer (default 5).
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "tangere/contact.h"
#include "tangere/desc.h"
#include "tangere/grad.h"
#include "tangere/step.h"

static int add(tgDesc *d, int body, tgGeomType type, double r, double half) {
  int g = tg_desc_add_geom(d, body, type, NULL);
  d->geom[g].size[0] = r;
  d->geom[g].size[1] = half;
  d->geom[g].density = 1000;
  d->geom[g].friction[0] = 0.5;
  return g;
}

static int free_body(tgDesc *d, double x, double y, double z) {
  int b = tg_desc_add_body(d, 0, NULL);
  d->body[b].pos[0] = x;
  d->body[b].pos[1] = y;
  d->body[b].pos[2] = z;
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  return b;
}

static tgDesc *floor_scene(void) {
  tgDesc *d = tg_desc_create(NULL);
  int g = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
  d->geom[g].size[2] = 1;
  d->geom[g].friction[0] = 0.5;
  return d;
}

// 20 logs in four crossed layers of five, 3 mm apart
static tgDesc *logs(void) {
  const double r = 0.05, half = 0.25, gap = 3e-3;
  tgDesc *d = floor_scene();
  for (int k = 0; k < 20; k++) {
    int layer = k / 5, across = layer % 2;
    double at = (k % 5 - 2) * (2 * r + gap), z = r + gap + layer * (2 * r + gap);
    int b = free_body(d, across ? 0 : at, across ? at : 0, z), g = add(d, b, TG_GEOM_CAPSULE, r, half);
    const double along_y[4] = {sqrt(0.5), sqrt(0.5), 0, 0}, along_x[4] = {sqrt(0.5), 0, sqrt(0.5), 0};
    memcpy(d->geom[g].quat, across ? along_x : along_y, sizeof along_x);
  }
  return d;
}

// 200 balls in a box, dropped
static tgDesc *balls(void) {
  const double r = 0.03, side = 0.25;
  tgDesc *d = floor_scene();
  for (int w = 0; w < 4; w++) {
    int g = tg_desc_add_geom(d, 0, TG_GEOM_BOX, NULL);
    double size[3] = {w < 2 ? 0.02 : side, w < 2 ? side : 0.02, 0.6}, at = (w % 2 ? 1 : -1) * (side + 0.02);
    memcpy(d->geom[g].size, size, sizeof size);
    d->geom[g].pos[0] = w < 2 ? at : 0;
    d->geom[g].pos[1] = w < 2 ? 0 : at;
    d->geom[g].pos[2] = 0.6;
  }
  for (int k = 0; k < 200; k++) {
    int i = k % 7, j = k / 7 % 7, l = k / 49;
    double step = 2 * r + 5e-3, odd = 0.4 * r * (l % 2);
    add(d, free_body(d, (i - 3) * step + odd, (j - 3) * step + odd, r + 5e-3 + l * step), TG_GEOM_SPHERE, r, 0);
  }
  return d;
}

static tgDesc *humanoid(void) {
  tgError e = {0};
  tgDesc *d = tg_desc_load(TG_SOURCE_DIR "/models/humanoid33.xml", NULL, &e);
  if (d == NULL) fprintf(stderr, "%s\n", e.text);
  return d;
}

typedef struct Case { const char *name; tgDesc *(*make)(void); const char *weight[2], *range; int frames; double h, lift; } Case;

static bool offer(tgContactOptions *o, const char *name, const char *value) {
  tgError e = {0};
  if (tg_contact_offer(o, name, value, NULL, &e) == TG_OK) return true;
  fprintf(stderr, "%s\n", e.text);
  return false;
}

static void run(const Case *c, bool rounded, int frames) {
  tgAnyContactOptions o;
  tgError e = {0};
  tgDesc *d = c->make();
  if (d == NULL) return;
  tgModel *m = tg_model_compile(d, NULL, &e);
  tg_desc_free(d);
  tg_contact_default("barrier", &o.of, sizeof o);
  if (!offer(&o.of, "geom_form", rounded ? "rounded" : "mesh") || !offer(&o.of, "weight", c->weight[rounded]) ||
      !offer(&o.of, "long_range", c->range))
    return;
  tgContact *k = m != NULL ? tg_contact_create(m, "barrier", &o.of, &e) : NULL;
  tgSim *s = k != NULL ? tg_sim_create(m, k, NULL, &e) : NULL;
  if (s == NULL) {
    fprintf(stderr, "%s: %s\n", c->name, e.text);
    return;
  }
  int nv = tg_model_nv(m), done = 0;
  double *w = calloc((size_t)nv * 6, sizeof *w), forward = 0, backward = 0, last = 0;
  long newton = 0;
  int last_steps = 0;
  for (int i = 0; i < nv; i++) w[i] = w[nv + i] = 1;
  if (c->lift > 0) tg_sim_qpos(s)[2] += c->lift;
  for (; done < frames; done++) {
    double t = tgb_core();
    tgStatus st = tg_sim_step_growing(s, c->h, NULL);
    if (st < TG_OK) {
      fprintf(stderr, "%s, frame %d: %s\n", c->name, done, tg_sim_error(s)->text);
      break;
    }
    last = tgb_core() - t;
    forward += last;
    newton += last_steps = tg_sim_step_info(s)->iterations;
    t = tgb_core();
    tgGradInfo info;
    memset(w + 2 * nv, 0, (size_t)nv * 4 * sizeof *w);
    if (tg_sim_step_vjp(s, w, w + nv, w + 2 * nv, w + 3 * nv, NULL, NULL, &info) == TG_OK) backward += tgb_core() - t;
  }
  if (done > 0)
    printf("%-28s %-8s weight %-6s %3d frames  %9.3f ms a frame  %5.1f Newton steps  %8.3f ms the adjoint  "
           "last frame %9.3f ms, %d steps\n",
           c->name, rounded ? "rounded" : "mesh", c->weight[rounded], done, 1e3 * forward / done, (double)newton / done,
           1e3 * backward / done,
           1e3 * last, last_steps);
  fflush(stdout);
  free(w);
  tg_sim_free(s);
  tg_contact_free(k);
  tg_model_free(m);
}

int main(int argc, char **argv) {
  int few = argc > 1 ? atoi(argv[1]) : 5;
  const char *only = argc > 2 ? argv[2] : "";
  const Case cases[] = {
      {"20 logs, long range", logs, {"1e-6", "1e-6"}, "both", 60, 5e-3, 0},
      {"humanoid, long range", humanoid, {"1e-5", "1e-5"}, "both", 60, 5e-3, 0.01},
      {"humanoid, near", humanoid, {"1", "1"}, "off", 60, 5e-3, 0.01},
      {"200 balls, near", balls, {"1e-2", "1e-2"}, "off", 200, 5e-3, 0},
      {"200 balls, long range", balls, {"1e-6", "1e-6"}, "both", 3, 5e-3, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (strncmp(cases[i].name, only, strlen(only)) != 0) continue;
    run(&cases[i], true, cases[i].frames);
    if (few > 0) run(&cases[i], false, few);
  }
  return 0;
}
