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

// 1/(M^-1)_dd, what a force on joint j alone meets at qpos0; of a ball 1/trace, at most what the lightest of its directions meets
static double inertia_of(const tgSim *s, int j, tgReal *x) {
  const tgModel *m = &s->m;
  int d = m->jnt_vadr[j], n = m->jnt_type[j] == TG_JOINT_BALL ? 3 : 1;
  double sum = 0;
  for (int i = d; i < d + n; i++) {
    for (int k = 0; k < m->nv; k++) x[k] = k == i;
    tgi_factor_solve(m, s->L, x);
    sum += tgRe(x[i]);
  }
  return 1 / sum;
}

tgStatus tgi_force_limits(tgContact *c, tgError *error) {
  const tgModel *m = c->model;
  c->limit_inertia = c->alloc.alloc(c->alloc.ctx, ((size_t)m->njnt + 1) * sizeof *c->limit_inertia);
  tgSim *s = tgi_sim_create(m, NULL, NULL, &c->alloc, error);
  if (c->limit_inertia == NULL || s == NULL) {
    tg_sim_free(s);
    return tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d joint limits.", m->njnt);
  }
  tgi_kinematics(&s->m, m->qpos0, &s->start);
  tgi_inertias(s, &s->start);
  tgi_mass_matrix(s, &s->start);
  bool definite = tgi_factor(m, s->M, s->L);
  for (int j = 0; j < m->njnt && definite; j++) c->limit_inertia[j] = inertia_of(s, j, s->vhat);
  tg_sim_free(s);
  if (definite) return TG_OK;
  return tgi_error(error, TG_ERR_INVALID, "The mass matrix is not positive definite at qpos0; look for bodies without mass or inertia that a joint moves.");
}
