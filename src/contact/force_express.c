// force_express.c: what the step of force models cannot express, refused by name, and the inertias that its joint limits go by.
//
// Its forces are functions of positions and velocities with two continuous derivatives; constraints that hold exactly are none.
#include "contact/contact.h"
#include "dyn/dynamics.h"

static tgStatus refuse(const tgModel *m, tgKindOfThing kind, int i, const char *what, tgError *error) {
  char label[160];
  return tgi_error(error, TG_ERR_UNSUPPORTED, "%s has %s, which a contact model of forces cannot express; remove it or take another contact model.",
                   tgi_model_label(m, kind, i, label, sizeof label), what);
}

tgStatus tgi_force_express(const tgModel *m, tgError *error) {
  for (int e = 0; e < m->neq; e++)
    if (m->eq_active[e]) return refuse(m, TG_THING_EQUALITY, e, "an equality", error);
  for (int t = 0; t < m->ntendon; t++)
    if (m->ten_limited[t]) return refuse(m, TG_THING_TENDON, t, "a limit", error);
  return TG_OK;
}

tgStatus tgi_force_limits(tgContact *c, tgError *error) {
  const tgModel *m = c->model;
  c->limit_inertia = c->alloc.alloc(c->alloc.ctx, ((size_t)m->njnt + 1) * sizeof *c->limit_inertia);
  tgSim *s = tg_sim_create(m, NULL, &c->alloc, error);
  if (c->limit_inertia == NULL || s == NULL) {
    tg_sim_free(s);
    return tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d joint limits.", m->njnt);
  }
  tgi_kinematics(s, m->qpos0);
  tgi_inertias(s);
  tgi_mass_matrix(s);
  for (int j = 0; j < m->njnt; j++) {
    int d = m->jnt_vadr[j], n = m->jnt_type[j] == TG_JOINT_BALL ? 3 : 1;
    double sum = 0;
    for (int i = d; i < d + n; i++) sum += tgRe(s->M[i * m->nv + i]) / n;
    c->limit_inertia[j] = sum;
  }
  tg_sim_free(s);
  return TG_OK;
}
