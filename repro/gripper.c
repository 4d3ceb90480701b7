// gripper.c: TO-R1, the plate gripper of [toi] under `toi`: two fingers close on a thin plate, lift it and let it fall; then a plate that
// friction just holds, and one that slides by what is missing, with its derivative in friction.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repro/experiments.h"
#include "tangere/desc.h"
#include "tangere/geometry.h"
#include "tangere/rollout.h"
#include "tangere/toi.h"

enum { NQ = 10, NV = 9, NU = 3, LIFT = 100, DROP = 30, HOLD = 40, PLATE_Z = 2, BASE_Z = 7 };
static const double h = 0.01, g = 8, mu = 0.8, plate_mass = 0.1, hand_mass = 0.6, gap = 1e-6;

typedef struct Gripper {
  tgModel *model;
  tgContact *contact;
} Gripper;

// plate: friction of the plate, of which less than mu does not count
static bool make(double thickness, double plate, Gripper *k) {
  char xml[2000];
  tgError e = {0};
  double x = thickness / 2 + 0.03;
  snprintf(xml, sizeof xml,
           "<mujoco><option gravity=\"0 0 -%g\"/><default><geom friction=\"%g\"/></default><worldbody><geom type=\"plane\" size=\"1 1 1\"/>"
           "<body pos=\"0 0 %.9g\"><freejoint/><geom type=\"box\" size=\"%g .05 .05\" mass=\"%g\" friction=\"%g\"/></body>"
           "<body pos=\"0 0 .05\"><joint name=\"lift\" type=\"slide\" axis=\"0 0 1\"/>"
           "<geom size=\".01\" pos=\"0 0 .3\" mass=\".5\" contype=\"0\" conaffinity=\"0\"/>"
           "<body pos=\"%g 0 0\"><joint name=\"right\" type=\"slide\" axis=\"-1 0 0\"/>"
           "<geom type=\"box\" size=\".01 .01 .02\" mass=\".05\"/></body>"
           "<body pos=\"%g 0 0\"><joint name=\"left\" type=\"slide\" axis=\"1 0 0\"/>"
           "<geom type=\"box\" size=\".01 .01 .02\" mass=\".05\"/></body></body></worldbody>"
           "<actuator><motor joint=\"lift\"/><motor joint=\"right\"/><motor joint=\"left\"/></actuator></mujoco>",
           g, mu, 0.05 + gap, thickness / 2, plate_mass, plate, x, -x);
  tgDesc *d = tg_desc_load_memory("gripper.xml", xml, strlen(xml), NULL, &e);
  *k = (Gripper){.model = d != NULL ? tg_model_compile(d, NULL, &e) : NULL};
  tg_desc_free(d);
  k->contact = k->model != NULL ? tg_contact_create(k->model, "toi", NULL, &e) : NULL;
  if (k->contact == NULL) tgi_cli_say("%s", e.text);
  return k->contact != NULL;
}

static void drop(Gripper *k) {
  tg_contact_free(k->contact);
  tg_model_free(k->model);
}

static tgStatus plate_height(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx;
  (void)gv;
  (void)gu;
  if (t < steps) return TG_OK;
  *value = tg_sim_qpos(sim)[PLATE_Z];
  if (gq != NULL) gq[PLATE_Z] = 1;
  return TG_OK;
}

// a motion from q0, v0 (NULL: the model's) by controls u; dp may be NULL. q: (steps + 1) x NQ
static bool run_motion(const Gripper *k, int steps, const double *q0, const double *v0, const double *u, double *q, tgStepInfo *info,
                       tgParamGrad *dp) {
  tgError e = {0};
  tgRolloutOptions o = tg_rollout_default();
  tgRolloutResult result = {.status = TG_ERR_MEMORY};
  o.h = h;
  o.steps = steps;
  tgRollout *r = tg_rollout_create(k->model, k->contact, &o, &e);
  tgRolloutRun run = {.q0 = q0, .v0 = v0, .u = u, .q = q, .info = info, .loss = plate_height, .dp = dp,
                      .loss_param = tg_loss_without_parameters};
  if (r == NULL || tg_rollout_run(r, &run, &result) != TG_OK) tgi_cli_say("%s", r != NULL ? result.error.text : e.text);
  tg_rollout_free(r);
  return result.status == TG_OK;
}

// the hand stands by its weight while the fingers close, then goes up and comes to rest, 8 cm higher, and lets go
static bool lift_rows(tgRun *run, const char *name, double thickness, double force, int *stalled, int *impacts) {
  Gripper k;
  double u[(LIFT + DROP) * NU], q[(LIFT + DROP + 1) * NQ], slip = 0;
  tgStepInfo info[LIFT + DROP];
  char row[64];
  for (int t = 0; t < LIFT + DROP; t++) {
    u[t * NU] = t < 20 || t >= LIFT ? hand_mass * g : (hand_mass + plate_mass) * (t < 60 ? g + 0.5 : g - 0.5);
    u[t * NU + 1] = u[t * NU + 2] = t < 20 ? force : t < LIFT ? 1 : -1;
  }
  bool good = make(thickness, mu, &k) && run_motion(&k, LIFT + DROP, NULL, NULL, u, q, info, NULL);
  long overlaps = good ? tg_intersections_of_motion(k.model, q, LIFT + DROP) : -1;
  drop(&k);
  if (overlaps < 0) return false;
  for (int t = 0; t < LIFT + DROP; t++) {
    *stalled += info[t].nstalled;
    *impacts += info[t].nimpact;
  }
  const double *from = q + 20 * NQ, *top = q + LIFT * NQ, *landed = q + (LIFT + 20) * NQ;
  for (const double *x = from; x <= top; x += NQ) slip = fmax(slip, fabs(x[PLATE_Z] - x[BASE_Z] - from[PLATE_Z] + from[BASE_Z]));
  snprintf(row, sizeof row, "%s.intersections", name);
  tgi_run_row(run, row, (double)overlaps, "pairs of geoms with a point in common, exact, at the ends of %d steps", LIFT + DROP);
  snprintf(row, sizeof row, "%s.slip_m", name);
  tgi_run_row(run, row, slip, "of the plate in the fingers while lifted");
  snprintf(row, sizeof row, "%s.rise_error_m", name);
  tgi_run_row(run, row, fabs(top[PLATE_Z] - from[PLATE_Z] - 0.08), "against 8 cm");
  snprintf(row, sizeof row, "%s.drop_m", name);
  tgi_run_row(run, row, landed[PLATE_Z] - 0.05, "the plate's bottom over the floor 0.2 s after the fingers open");
  return true;
}

// Held in the air, the hand at 0.1 m/s: the plate stays behind by *slip; by_mu (may be NULL): its derivative in the fingers' friction.
static bool hold(double force, double *slip, double *by_mu) {
  static const char *const name[] = {"geom_friction"};
  Gripper k;
  tgError e = {0};
  double q0[NQ] = {0, 0, 0.35, 1, 0, 0, 0, 0.3, 0.02 - gap, 0.02 - gap}, v0[NV] = {0, 0, 0.1, 0, 0, 0, 0.1}, u[HOLD * NU],
         q[(HOLD + 1) * NQ];
  for (int t = 0; t < HOLD; t++) {
    u[t * NU] = hand_mass * g + 2 * mu * force;
    u[t * NU + 1] = u[t * NU + 2] = force;
  }
  tgParamGrad *p = NULL;
  bool good = make(0.02, mu / 2, &k);
  if (good && by_mu != NULL) p = tg_param_grad_create(k.model, name, 1, NULL, &e);
  good = good && (by_mu == NULL || p != NULL) && run_motion(&k, HOLD, q0, v0, u, q, NULL, p);
  if (good) *slip = 0.1 * HOLD * h - (q[HOLD * NQ + PLATE_Z] - q0[PLATE_Z]);
  if (good && by_mu != NULL) {
    int count;
    const double *bar = tg_param_grad_values(p, &count);
    *by_mu = 0;
    for (int i = 0; i < count; i++) *by_mu -= bar[i];
  }
  tg_param_grad_free(p);
  drop(&k);
  return good;
}

// 2 mu F = m g holds; with less, a = g - 2 mu F/m for the 0.4 s, and da/dmu = -2 F/m
static bool hold_rows(tgRun *run) {
  double balance, slip, by_mu, T = HOLD * h, force = 0.499, a = g - 2 * mu * force / plate_mass;
  if (!hold(0.5, &balance, NULL) || !hold(force, &slip, &by_mu)) return false;
  tgi_run_row(run, "balance.slip_m", fabs(balance), "in 0.4 s, friction at its bound");
  tgi_run_row(run, "weak.slip_error_m", fabs(slip - 0.5 * a * T * T), "against %.4g m, of 0.499 N", 0.5 * a * T * T);
  tgi_run_report(run, "balance.dslip_dmu", by_mu, "m", NAN, "of 0.499 N, by the adjoint of the motion");
  tgi_run_row(run, "weak.dslip_dmu_error", fabs(by_mu + force / plate_mass * T * T), "against %.4f m", -force / plate_mass * T * T);
  return true;
}

bool tgi_reproduce_gripper(tgRun *run) {
  static const char *const name[] = {"thick.1N", "thick.10N", "thin.1N", "thin.10N"};
  int stalled = 0, impacts = 0;
  for (int i = 0; i < 4; i++)
    if (!lift_rows(run, name[i], i < 2 ? 0.02 : 0.002, i % 2 == 0 ? 1 : 10, &stalled, &impacts)) return false;
  tgi_run_row(run, "stalled", stalled, "islands held where they were, of %d impacts", impacts);
  return hold_rows(run);
}
