// planks.c: the stack of planks of BA-R1. See planks.h.
#include "repro/planks.h"

#include <math.h>
#include <string.h>

#include "repro/barrier.h"
#include "tangere/barrier.h"
#include "tangere/force.h"
#include "tangere/step.h"

// slides in place of the free joints, along the last n of the axes x, y and z
static bool hang(tgDesc *desc, int n) {
  desc->njoint = 0;
  for (int b = 1; b < desc->nbody; b++)
    for (int axis = 3 - n; axis < 3; axis++) {
      int j = tg_desc_add_joint(desc, b, TG_JOINT_SLIDE, NULL);
      if (j < 0) return false;
      for (int i = 0; i < 3; i++) desc->joint[j].axis[i] = i == axis;
    }
  return true;
}

static bool change(tgDesc *desc, const tgPlanks *p) {
  if (p->cells != NULL && !tgi_mesh_box(desc, 0, (const double[3]){1, 0.2, tgi_plank_height / 2}, p->cells)) return false;
  if (p->hold == TG_PLANKS_SINK)
    for (int g = 0; g < desc->ngeom; g++) desc->geom[g].friction[0] = 0;
  return p->hold == TG_PLANKS_FREE || hang(desc, p->hold == TG_PLANKS_SINK ? 1 : 3);
}

bool tgi_planks_open(tgPlanks *p, const char *file, tgError *error) {
  tgBarrierOptions o = tg_barrier_default();
  o.weight = p->mu;
  o.hierarchy = p->form;
  if (p->slip > 0) o.slip_speed = p->slip;
  tgDesc *desc = tg_desc_load(file, NULL, error);
  if (desc != NULL && change(desc, p)) p->model = tg_model_compile(desc, NULL, error);
  tg_desc_free(desc);
  p->contact = p->model != NULL ? tg_contact_create(p->model, "barrier", &o.of, error) : NULL;
  p->sim = p->contact != NULL ? tg_sim_create(p->model, p->contact, NULL, error) : NULL;
  return p->sim != NULL;
}

void tgi_planks_close(tgPlanks *p) {
  tg_sim_free(p->sim);
  tg_contact_free(p->contact);
  tg_model_free(p->model);
}

static const double *drawn(const tgPlanks *p, int plank) { return tgi_cli_reals(p->model, "body_pos", NULL) + 3 * (plank + 1); }

void tgi_planks_pose(const tgPlanks *p, const double *q, int plank, double x[3], double quat[4]) {
  int n = tg_model_nq(p->model) / TG_PLANKS;
  const double *at = q + n * plank, unturned[4] = {1, 0, 0, 0};
  memcpy(x, n == 7 ? at : drawn(p, plank), 3 * sizeof *x);
  memcpy(quat, n == 7 ? at + 3 : unturned, sizeof unturned);
  for (int i = 0; n != 7 && i < n; i++) x[3 - n + i] += at[i];
}

void tgi_planks_lift(tgPlanks *p, const double z[TG_PLANKS]) {
  int n = tg_model_nq(p->model) / TG_PLANKS;
  tg_sim_reset(p->sim);
  for (int b = 0; b < TG_PLANKS; b++) tg_sim_qpos(p->sim)[n * b + (n == 7 ? 2 : n - 1)] = z[b] - (n == 7 ? 0 : drawn(p, b)[2]);
}

double tgi_planks_weight(const tgPlanks *p, int plank) {
  return -tgi_cli_reals(p->model, "body_mass", NULL)[plank + 1] * tgi_cli_reals(p->model, "opt_gravity", NULL)[2];
}

double tgi_planks_push(const tgPlanks *p, int plank, int other) {
  double up = 0;
  tgContactInfo f;
  for (int i = 0; tg_sim_next_contact(p->sim, &i, &f);) {   // body b + 1 is plank b
    if (f.body2 == plank + 1 && f.body1 == other + 1) up += f.world[2];
    if (f.body1 == plank + 1 && f.body2 == other + 1) up -= f.world[2];
  }
  return up;
}

double tgi_planks_imbalance(const tgPlanks *p) {
  double most = 0;
  for (int b = 0; b < TG_PLANKS; b++) {
    double up = -tgi_planks_weight(p, b);
    for (int other = -1; other < TG_PLANKS; other++)
      if (other != b) up += tgi_planks_push(p, b, other);
    most = fmax(most, fabs(up));
  }
  return most;
}

tgStatus tgi_planks_sink(tgPlanks *p, double enough, int most, double *imbalance) {
  tgStatus st = TG_OK;
  *imbalance = INFINITY;
  for (int k = 0; k < most && st == TG_OK && !(*imbalance <= enough); k++) {
    memset(tg_sim_qvel(p->sim), 0, (size_t)tg_model_nv(p->model) * sizeof(double));
    st = tg_sim_step_growing(p->sim, tg_model_timestep(p->model), NULL);
    if (st == TG_OK) *imbalance = tgi_planks_imbalance(p);
  }
  return st;
}
