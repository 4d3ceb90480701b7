// bench_step.c: one step, its adjoint and its dense Jacobian in microseconds, against central differences of the same step.
//
//   bench_step [--json]     half-cheetah on the ground, contact-free chains of 5, 9, 18 and 32 dofs, a humanoid on both feet, a stack;
//                           free bodies at rest on the ground: 1, 8 and 32 balls, 2 and 8 boxes (four contacts each)
// Means over states reached by simulation of the least of many repeats; each state is stepped again from its own start,
// memory frozen, so that the warm start is the same for the step and for the differences.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "contact/contact.h"   // private: states are those of the tests
#include "scenes/scenes.h"
#include "step/scene_states.h"

enum { STATES = 20, RESTING = TGS_COUNT };   // RESTING: the pose of the model, a few steps later
static const double h = 0.002;

typedef struct Times { double step, vjp, jacobian, central, contacts; } Times;

static void restore(tgSim *s, const tgReal *x) {
  memcpy(s->qpos, x, (size_t)s->m.nq * sizeof *x);
  memcpy(s->qvel, x + s->m.nq, (size_t)s->m.nv * sizeof *x);
}

// all columns of the Jacobian by central differences
static void central(tgSim *s, const tgReal *x, tgReal *D, tgReal *work) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nt = 2 * nv + nu;
  tgReal *w = work, *y[2] = {work + nv, work + 3 * nv}, *q1 = work + 5 * nv;
  const double e = 1e-6;
  restore(s, x);
  tg_sim_step(s, h, NULL);
  memcpy(q1, s->qpos, (size_t)m->nq * sizeof *q1);
  for (int j = 0; j < nt; j++) {
    for (int side = 0; side < 2; side++) {
      double a = side == 0 ? e : -e;
      restore(s, x);
      for (int i = 0; i < nv; i++) w[i] = i == j ? a : 0;
      if (j < nv) tg_model_integrate(s->model, x, w, s->qpos);
      else if (j < 2 * nv) s->qvel[j - nv] += a;
      else s->ctrl[j - 2 * nv] += a;
      tg_sim_step(s, h, NULL);
      if (j >= 2 * nv) s->ctrl[j - 2 * nv] -= a;
      tg_model_difference(s->model, q1, s->qpos, y[side]);
      memcpy(y[side] + nv, s->qvel, (size_t)nv * sizeof *w);
    }
    for (int i = 0; i < 2 * nv; i++) D[i * nt + j] = (y[0][i] - y[1][i]) / (2 * e);
  }
}

// least seconds of one call of what, in batches of `count` calls, within a share of a tenth of a second
#define TIME(result, count, what)                                         \
  do {                                                                    \
    double least_ = 1e30, begin_ = tgb_now(), t_ = begin_;                \
    for (int n_ = 0; n_ < 2 || t_ - begin_ < 0.1 / STATES; n_++) {        \
      double t0_ = t_;                                                    \
      for (int r_ = 0; r_ < (count); r_++) { what; }                      \
      t_ = tgb_now();                                                     \
      if (t_ - t0_ < least_) least_ = t_ - t0_;                           \
    }                                                                     \
    (result) += least_ / (count) / STATES;                                \
  } while (0)

static void time_state(tgSim *s, Times *t) {
  const tgModel *m = &s->m;
  int nv = m->nv, nt = 2 * nv + m->nu;
  tgReal *x = malloc(sizeof(tgReal) * (size_t)(3 * m->nq + 16 * nv + nt + 2 * nv * nt)), *D = x + m->nq + nv, *g = D + 2 * nv * nt,
         *out = g + 2 * nv, *work = out + nt;
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)nv * sizeof *x);
  for (int i = 0; i < 2 * nv; i++) g[i] = 1;
  if (tg_sim_step(s, h, NULL) != TG_OK) fprintf(stderr, "step: %s\n", s->error.text);
  t->contacts += (double)s->info.ncontact / STATES;
  tg_sim_freeze_memory(s, true);
  TIME(t->step, 4, restore(s, x); tg_sim_step(s, h, NULL));
  TIME(t->vjp, 4, tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, NULL, NULL));
  TIME(t->jacobian, 4, tg_sim_step_jacobian(s, D, NULL));
  TIME(t->central, 1, central(s, x, D, work));
  tg_sim_freeze_memory(s, false);
  free(x);
}

static void bench(const char *name, tgDesc *desc, int scene, bool json, bool first) {
  tgError e = {0};
  tgModel *m = tgs_compile(desc, &e);
  tgContact *c = m != NULL ? tg_contact_create(m, "lcp", NULL, &e) : NULL;
  tgSim *s = c != NULL ? tg_sim_create(m, c, NULL, &e) : NULL;
  Times t = {0};
  if (s == NULL) {
    fprintf(stderr, "%s: %s\n", name, e.text);
    return;
  }
  for (int k = 0; k < STATES; k++) {
    tgtRandom r = {.s = (unsigned)k};
    if (scene == RESTING) {
      tg_sim_reset(s);
      for (int i = 0; i < 3; i++)
        if (tg_sim_step(s, h, NULL) == TG_ERR_CAPACITY) tgi_sim_grow(s);
    } else if (scene >= 0) {
      // until it touches
      for (int trial = 0; trial < 50; trial++) {
        if (tgt_scene_state(s, (tgsScene)scene, k + STATES * trial, h) == TG_OK && s->info.ncontact > 0) break;
      }
    } else {
      tg_sim_reset(s);
      tgt_nudge(s, &r, 0.5, 0.5);
    }
    time_state(s, &t);
  }
  if (json)
    printf("%s{\"name\": \"%s\", \"dof\": %d, \"contacts\": %.2f, \"step_us\": %.3f, \"vjp_us\": %.3f, \"jacobian_us\": %.3f, "
           "\"central_us\": %.3f, \"ratio\": %.2f}", first ? "" : ",\n  ", name, m->nv, t.contacts, 1e6 * t.step, 1e6 * t.vjp,
           1e6 * t.jacobian, 1e6 * t.central, t.central / t.jacobian);
  else
    printf("%-10s %4d %9.2f %9.2f %9.2f %9.2f %9.2f %9.1f %9.2f\n", name, m->nv, t.contacts, 1e6 * t.step, 1e6 * t.vjp, 1e6 * t.jacobian,
           1e6 * t.central, t.central / t.jacobian, (t.step + t.vjp) / t.step);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

// count bodies of a kind apart from each other on a plane
static tgDesc *resting(int count, tgGeomType type) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.6);
  for (int i = 0; i < count; i++) tgs_free_body(d, NULL, (double[]){i, 0, 0.1}, type, (double[]){0.1, 0.15, 0.1}, 1, 0.6);
  return d;
}

// Share of steps whose classes those of the step before already were: two seconds from a state of the scene, all controls at random
static void warm_share(tgsScene scene) {
  tgError e = {0};
  tgModel *m = tgs_model(scene, &e);
  tgContact *c = m != NULL ? tg_contact_create(m, "lcp", NULL, &e) : NULL;
  tgSim *s = c != NULL ? tg_sim_create(m, c, NULL, &e) : NULL;
  int rows = 0, warm = 0;
  for (int k = 0; k < STATES && s != NULL; k++) {
    if (tgt_scene_state(s, scene, k, h) != TG_OK) continue;
    for (int i = 0; i < 1000 && tg_sim_step(s, h, NULL) == TG_OK; i++) {
      rows += s->info.nrow > 0;
      warm += s->info.nrow > 0 && s->info.stage == 1;
    }
  }
  printf("last classes right: %-10s %.2f %% of %d steps\n", tgs_name(scene), 100.0 * warm / (rows > 0 ? rows : 1), rows);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
}

int main(int argc, char **argv) {
  bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
  static const int chain[4] = {5, 9, 18, 32};
  static const char *const name[4] = {"chain 5", "chain 9", "chain 18", "chain 32"};
  if (json) printf("{\"id\": \"step\", \"rows\": [\n  ");
  else
    printf("%-10s %4s %9s %9s %9s %9s %9s %9s %9s\n", "", "dof", "contacts", "step us", "vjp us", "Jac. us", "central",
           "c/Jac.", "(s+v)/s");
  bench("cheetah", tgs_desc(TGS_CHEETAH), TGS_CHEETAH, json, true);
  bench("humanoid", tgs_desc(TGS_HUMANOID), TGS_HUMANOID, json, false);
  bench("stack", tgs_desc(TGS_STACK), TGS_STACK, json, false);
  for (int i = 0; i < 4; i++) bench(name[i], tgs_chain(chain[i]), -1, json, false);
  bench("1 ball", resting(1, TG_GEOM_SPHERE), RESTING, json, false);
  bench("8 balls", resting(8, TG_GEOM_SPHERE), RESTING, json, false);
  bench("32 balls", resting(32, TG_GEOM_SPHERE), RESTING, json, false);
  bench("2 boxes", resting(2, TG_GEOM_BOX), RESTING, json, false);
  bench("8 boxes", resting(8, TG_GEOM_BOX), RESTING, json, false);
  if (json) printf("\n]}\n");
  else
    for (int i = 0; i < 3; i++) warm_share((tgsScene[]){TGS_CHEETAH, TGS_HUMANOID, TGS_STACK}[i]);
  return 0;
}
