// test_stress.c: the scenes of stress.h stepped by the `barrier` model: no two surfaces meet after any step, by exact predicates,
// and what stands at the start stays where it is.
// Usage: test_stress [steps [scene]]      default 10, all scenes
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll/advance_scene.h"
#include "contact/barrier/stress.h"
#include "tangere/barrier.h"
#include "tangere/step.h"

static int steps = 10, only = -1;

// least distance over all pairs, at the frames of tgt_scene_place
static double least_gap(const tgtScene *c) {
  double best = INFINITY;
  for (int p = 0; p < c->model->npair; p++) {
    int g = c->model->pair_geom1[p], h = c->model->pair_geom2[p];
    if (c->vert[g] == NULL || c->vert[h] == NULL) {
      int plane = c->vert[g] == NULL ? g : h;
      tgiRigid P = tgt_scene_pose(c, plane), B = tgt_scene_pose(c, plane == g ? h : g);
      tgiPlane half = {.p = {P.p[0], P.p[1], P.p[2]}, .n = {P.R[2], P.R[5], P.R[8]}};
      best = tgi_solid_height(&c->solid[plane == g ? h : g], &B, &half, best);
    } else {
      tgiRigid P = tgt_scene_pose(c, g), Q = tgt_scene_pose(c, h);
      best = tgi_solid_distance(&c->solid[g], &P, &c->solid[h], &Q, best);
    }
  }
  return best;
}

// a body that has got wholly inside another meets no face of it: is the first vertex of either inside the other?
static int inside(const tgtScene *c) {
  for (int p = 0; p < c->model->npair; p++) {
    int g[2] = {c->model->pair_geom1[p], c->model->pair_geom2[p]};
    if (c->vert[g[0]] == NULL || c->vert[g[1]] == NULL) continue;
    for (int s = 0; s < 2; s++)
      if (tgi_surface_winding(&c->exact[g[s]], c->vert[g[1 - s]]) > 0.5) return p;
  }
  return -1;
}

static double largest_force(const tgSim *s) {
  double most = 0;
  for (int t = 0; t < s->nterm; t++) {
    const tgReal *w = s->term[t].w;
    most = fmax(most, sqrt(tgRe(w[3] * w[3] + w[4] * w[4] + w[5] * w[5])));
  }
  return most;
}

// the farthest that a free body is from its start q
static double farthest(const tgSim *s, const double *q) {
  double most = 0;
  for (int j = 0; j < s->m.njnt; j++) {
    int a = s->m.jnt_qadr[j];
    if (s->m.jnt_type[j] == TG_JOINT_FREE)
      most = fmax(most, hypot(hypot(s->qpos[a] - q[a], s->qpos[a + 1] - q[a + 1]), s->qpos[a + 2] - q[a + 2]));
  }
  return most;
}

static void check_free(tgtScene *c, const tgSim *s, const tgtStress *scene, int step) {
  tgt_scene_place(c, s->qpos);
  int p = tgt_scene_touching(c);
  check_true(p < 0, "%s: geoms %d and %d meet after step %d", scene->name, c->model->pair_geom1[p], c->model->pair_geom2[p], step);
  if (step % 10 != 0) return;
  p = inside(c);
  check_true(p < 0, "%s: of geoms %d and %d one is inside the other after step %d", scene->name, c->model->pair_geom1[p],
             c->model->pair_geom2[p], step);
}

static void check_contact(const tgtStress *scene, double gap, double force) {
  check_true(gap < 1e-3, "%s: no contact, the least gap is %g", scene->name, gap);
  check_true(force > 1e-6, "%s: no force at a gap of %g", scene->name, gap);
}

static void run(int k) {
  const tgtStress *scene = tgt_stress(k);
  tgtScene c = {0};
  tgError e = {0};
  tgt_scene_open(&c, scene->make(), 0.01);
  tgBarrierOptions o = tg_barrier_default();
  o.weight = scene->mu;
  tgContact *contact = tg_contact_create(c.model, "barrier", &o.of, &e);
  check_true(contact != NULL, "%s: %s", scene->name, e.text);
  tgSim *s = tg_sim_create(c.model, contact, NULL, &e);
  check_true(s != NULL, "%s: %s", scene->name, e.text);
  if (scene->start != NULL) scene->start(s);
  check_free(&c, s, scene, 0);
  double gap = INFINITY, force = 0, away = 0, *first = malloc((size_t)c.model->nq * sizeof *first);
  assert_non_null(first);
  memcpy(first, s->qpos, (size_t)c.model->nq * sizeof *first);
  int iterations = 0, most = 0;
  clock_t stepping = 0;
  for (int i = 1; i <= steps; i++) {
    tgStepInfo info;
    clock_t begin = clock();
    tgStatus status = tg_sim_step_growing(s, scene->h, &info);
    stepping += clock() - begin;
    check_true(status == TG_OK, "%s, step %d: %d, %s", scene->name, i, status, s->error.text);
    iterations += info.iterations;
    if (info.iterations > most) most = info.iterations;
    check_free(&c, s, scene, i);
    away = fmax(away, farthest(s, first));
    check_true(!(scene->stays > 0) || away <= scene->stays, "%s: a body is %g m from its start after step %d", scene->name, away, i);
    double now = least_gap(&c);
    check_true(now > 0, "%s: gap %g after step %d", scene->name, now, i);
    if (now < gap) {
      gap = now;
      force = largest_force(s);
    }
  }
  printf("%-22s %7.2f ms a step of %d, %d geoms, %d pairs, %5.1f iterations, %d at most; least gap %.2e m with %.3g N; moved %.3g m\n",
         scene->name, 1e3 * (double)stepping / CLOCKS_PER_SEC / steps, steps, c.model->ngeom, c.model->npair, (double)iterations / steps,
         most, gap, force, away);
  fflush(stdout);
  if (steps >= scene->contact_from) check_contact(scene, gap, force);
  free(first);
  tg_sim_free(s);
  tg_contact_free(contact);
  tgt_scene_close(&c);
}

static void scenes(void **state) {
  (void)state;
  for (int k = 0; k < TGT_STRESS_SCENES; k++)
    if (only < 0 || only == k) run(k);
}

int main(int argc, char **argv) {
  steps = argc > 1 ? atoi(argv[1]) : tgt_cases(steps, 4);
  if (argc > 2) only = atoi(argv[2]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(scenes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
