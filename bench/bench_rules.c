// bench_rules.c: a step of `lcp`, its adjoint and its dense Jacobian by the rules `touching` and `closing`, in one run.
// usage: bench_rules [SCENE]
//
// Scenes that touch all the time, at rest: what is measured is what a flow costs besides the same step by the other rule, no impact.
//   humanoid   models/humanoid33.xml on both feet, 24 contacts
//   quadruped  18 dofs on four round feet, joints held by springs
//   stack      three boxes on each other
//   boxes      eight boxes on a plane, each an island of its own
// The rules take turns in one run; of each the least of many batches is taken, as the thread's time on a core.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "scenes/scenes.h"
#include "tangere/desc.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

enum { RULES = 2, CALLS = 3, SETTLE = 300, BATCHES = 60, BATCH = 10 };
static const double h = 0.002;

typedef struct Case {
  tgContact *contact;
  tgSim *sim;
  double *q, *v;      // the state that is stepped again and again
  double *D, *g;      // dense Jacobian; gradients in and out
  double least[CALLS];
  tgStepInfo info;
} Case;

#define LEG(name, x, y)                                                                                                     \
  "<body pos=\"" x " " y " 0\"><joint type=\"hinge\" axis=\"1 0 0\" stiffness=\"300\" damping=\"6\" armature=\".01\"/>"      \
  "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 0 0 -.05\" mass=\".7\" contype=\"0\" conaffinity=\"0\"/>"              \
  "<body pos=\"0 0 -.05\"><joint type=\"hinge\" axis=\"0 1 0\" stiffness=\"300\" damping=\"6\" armature=\".01\"/>"           \
  "<geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 -.12 0 -.17\" mass=\"1.1\" contype=\"0\" conaffinity=\"0\"/>"          \
  "<body pos=\"-.12 0 -.17\"><joint type=\"hinge\" axis=\"0 1 0\" stiffness=\"300\" damping=\"6\" armature=\".01\"/>"        \
  "<geom type=\"capsule\" size=\".014\" fromto=\"0 0 0 .12 0 -.17\" mass=\".2\" contype=\"0\" conaffinity=\"0\"/>"           \
  "<geom name=\"" name "\" type=\"sphere\" size=\".022\" pos=\".12 0 -.17\" mass=\".05\" friction=\".8\"/></body></body></body>"
static const char quadruped_xml[] =
    "<mujoco><worldbody><geom type=\"plane\" size=\"5 5 1\" friction=\".8\"/><body pos=\"0 0 .4121\"><freejoint/>"
    "<geom type=\"box\" size=\".19 .05 .06\" mass=\"7\"/>" LEG("fl", ".19", ".1") LEG("fr", ".19", "-.1") LEG("bl", "-.19", ".1")
    LEG("br", "-.19", "-.1") "</body></worldbody></mujoco>";

static tgModel *humanoid(tgError *e) { return tg_model_load(TG_SOURCE_DIR "/models/humanoid33.xml", NULL, e); }
static tgModel *quadruped(tgError *e) {
  return tgs_compile(tg_desc_load_memory("quadruped.xml", quadruped_xml, strlen(quadruped_xml), NULL, e), e);
}
static tgModel *stack(tgError *e) { return tgs_model(TGS_STACK, e); }
static tgModel *boxes(tgError *e) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.6);
  for (int i = 0; i < 8; i++)
    tgs_free_body(d, NULL, (double[]){i, 0, 0.1}, TG_GEOM_BOX, (double[]){0.1, 0.15, 0.1}, 1, 0.6);
  return tgs_compile(d, e);
}

typedef struct Scene { const char *name, *key; tgModel *(*make)(tgError *e); } Scene;
static const Scene scenes[] = {{"humanoid", "sunk", humanoid}, {"quadruped", NULL, quadruped}, {"stack", NULL, stack},
                               {"boxes", NULL, boxes}};

static void put_back(const tgModel *m, const Case *c) {
  memcpy(tg_sim_qpos(c->sim), c->q, (size_t)tg_model_nq(m) * sizeof *c->q);
  memcpy(tg_sim_qvel(c->sim), c->v, (size_t)tg_model_nv(m) * sizeof *c->v);
}

// the scene settled by the rule, the state kept, memory frozen
static bool settle(const tgModel *m, const char *key, tgContactRule rule, Case *c) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = rule;
  size_t nq = (size_t)tg_model_nq(m), nv = (size_t)tg_model_nv(m), nt = 2 * nv + (size_t)tg_model_nu(m);
  *c = (Case){.contact = tg_contact_create(m, "lcp", &o.of, NULL), .least = {INFINITY, INFINITY, INFINITY}};
  c->sim = c->contact != NULL ? tg_sim_create(m, c->contact, NULL, NULL) : NULL;
  c->q = calloc(nq + nv + 2 * nv * nt + 2 * nv + nt, sizeof *c->q);
  if (c->sim == NULL || c->q == NULL) return false;
  c->v = c->q + nq;
  c->D = c->v + nv;
  c->g = c->D + 2 * nv * nt;
  for (size_t i = 0; i < 2 * nv; i++) c->g[i] = 1;
  if (key != NULL) tg_sim_reset_key(c->sim, tg_model_find(m, TG_THING_KEY, key));
  for (int t = 0; t < SETTLE; t++)
    if (tg_sim_step_growing(c->sim, h, &c->info) < 0) return false;
  memcpy(c->q, tg_sim_qpos(c->sim), nq * sizeof *c->q);
  memcpy(c->v, tg_sim_qvel(c->sim), nv * sizeof *c->v);
  tg_sim_freeze_memory(c->sim, true);
  return true;
}

static bool call(const tgModel *m, Case *c, int what) {
  double *out = c->g + 2 * tg_model_nv(m), *du = out + 2 * tg_model_nv(m);
  if (what == 0) {
    put_back(m, c);
    return tg_sim_step(c->sim, h, &c->info) == TG_OK;
  }
  if (what == 1) return tg_sim_step_vjp(c->sim, c->g, c->g + tg_model_nv(m), out, out + tg_model_nv(m), du, NULL, NULL) == TG_OK;
  return tg_sim_step_jacobian(c->sim, c->D, NULL) == TG_OK;
}

static bool measure(const tgModel *m, Case *c) {
  bool good = call(m, &c[0], 0) && call(m, &c[1], 0);
  for (int batch = 0; good && batch < BATCHES; batch++)
    for (int what = 0; good && what < CALLS; what++)
      for (int rule = 0; good && rule < RULES; rule++) {
        double began = tgb_core();
        for (int k = 0; good && k < BATCH; k++) good = call(m, &c[rule], what);
        c[rule].least[what] = fmin(c[rule].least[what], (tgb_core() - began) / BATCH);
      }
  return good;
}

static bool bench(const Scene *x) {
  static const char *const what[CALLS] = {"step", "adjoint", "Jacobian"};
  tgError e = {0};
  Case c[RULES] = {{0}};
  tgModel *m = x->make(&e);
  bool good = m != NULL && settle(m, x->key, TG_RULE_TOUCHING, &c[0]) && settle(m, x->key, TG_RULE_CLOSING, &c[1]) && measure(m, c);
  if (good) printf("%-10s %3d dofs, contacts %d, %d:", x->name, tg_model_nv(m), c[0].info.ncontact, c[1].info.ncontact);
  for (int k = 0; good && k < CALLS; k++)
    printf("  %s %7.2f, %7.2f us, ratio %.2f", what[k], 1e6 * c[0].least[k], 1e6 * c[1].least[k], c[1].least[k] / c[0].least[k]);
  if (good) printf("\n");
  else fprintf(stderr, "%s: %s\n", x->name, c[1].sim != NULL ? tg_sim_error(c[1].sim)->text : e.text);
  for (int rule = 0; rule < RULES; rule++) {
    tg_sim_free(c[rule].sim);
    tg_contact_free(c[rule].contact);
    free(c[rule].q);
  }
  tg_model_free(m);
  return good;
}

int main(int argc, char **argv) {
  bool good = true;
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    if (argc < 2 || strcmp(argv[1], scenes[i].name) == 0) good = bench(&scenes[i]) && good;
  return good ? 0 : 1;
}
