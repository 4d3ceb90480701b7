// bench_advance.c: time of the step bound (tgi_advance): two balls 0.1 mm apart, sixteen balls (120 pairs), against the size of the step.
// Usage: bench_advance [chord]      chord of the balls' tessellation, default 0.0015: 2,800 triangles
#include <stdio.h>

#include "bench/clock.h"
#include "coll/advance_scene.h"   // private: the step bound is timed by itself
#include "tangere/step.h"

static void balls(tgtScene *c, int n, double chord) {
  tgDesc *d = tg_desc_create(NULL);
  for (int k = 0; k < n; k++) {
    int b = tg_desc_add_body(d, 0, NULL);
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
    d->body[b].pos[0] = 0.2001 * (k % 4);
    d->body[b].pos[1] = 0.2001 * (k / 4);
    int g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL);
    d->geom[g].size[0] = 0.1;
  }
  tgt_scene_open(c, d, chord);
}

// iterations of one step: steps d of the given size that shrink tenfold, memory from one to the next
static void measure(tgtScene *c, const char *what, double size, int iterations) {
  tgtRandom r = {1};
  tgReal q[7 * 16], d[6 * 16];
  double begin, first = 0, rest = 0, part = 0;
  int queries = 0, sweeps = 0, repeats = 20;
  for (int k = 0; k < repeats; k++) {
    for (int i = 0; i < c->model->nq; i++) q[i] = c->model->qpos0[i];
    for (int it = 0; it < iterations; it++) {
      double s = size * pow(0.1, it);
      for (int i = 0; i < c->model->nv; i++) d[i] = s * tgt_normal(&r) * (i % 6 < 3 ? 1 : 10);
      begin = tgb_core();
      double f = tgt_advance(c, q, d, false, it == 0);
      *(it == 0 ? &first : &rest) += tgb_core() - begin;
      if (it == 0) part += f;
      queries += c->advance.queries;
      sweeps += c->advance.sweeps;
      for (int i = 0; i < c->model->nv; i++) d[i] *= 0.9 * f;
      tg_model_integrate(c->model, q, d, q);
    }
  }
  printf("%-22s step %.0e m: first %8.1f us, each later %8.1f us; fraction %.3f, %.1f queries and %.1f sweeps in %d\n", what, size,
         1e6 * first / repeats, 1e6 * rest / repeats / (iterations - 1), part / repeats, (double)queries / repeats,
         (double)sweeps / repeats, iterations);
}

int main(int argc, char **argv) {
  double chord = argc > 1 ? atof(argv[1]) : 0.0015;
  for (int n = 2; n <= 16; n += 14) {
    tgtScene c = {0};
    balls(&c, n, chord);
    printf("%d balls, %d triangles each, %d pairs\n", n, c.solid[0].surface->nface, c.model->npair);
    for (double size = 1e-2; size > 1e-8; size *= 0.1) measure(&c, n == 2 ? "two balls" : "sixteen balls", size, 6);
    tgt_scene_close(&c);
  }
  return 0;
}
