// explicit.c: a step of an explicit law. See explicit.h.
#include "step/explicit.h"

#include <string.h>

#include "dyn/dynamics.h"
#include "math/quat.h"

static const tgiTableau one = {.n = 1, .share = {1}};
static const tgiTableau four = {.n = 4, .at = {0, 0.5, 0.5, 1}, .share = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}};

const tgiTableau *tgi_explicit_tableau(const tgSim *s) {
  return tgi_explicit_options(s->contact_model)->integrator == TG_INTEGRATOR_RK4 ? &four : &one;
}

static tgStatus no_room(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
}

// ---- rate of the chart ----

void tgi_explicit_rate(const tgModel *m, const tgReal *w, const tgReal *v, tgReal *out) {
  for (int d = 0; d < m->nv; d++) out[d] = v[d];
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = tgi_rotation_dof(m, j, &adr);
    tgReal J[9];
    if (d < 0) continue;
    tgi_so3_jr_inv(J, w + d);
    tgi_m3_mulv(out + d, J, v + d);
  }
}

void tgi_explicit_rate_vjp(const tgModel *m, const tgReal *w, const tgReal *v, const tgReal *x, tgReal *gw, tgReal *gv) {
  for (int d = 0; d < m->nv; d++)
    if (m->dof_grpnum[d] == 1) gv[d] += x[d];
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = tgi_rotation_dof(m, j, &adr);
    tgReal J[9], t[3];
    if (d < 0) continue;
    tgi_so3_jr_inv(J, w + d);
    tgi_m3_tmulv(t, J, x + d);
    tgi_v3_add(gv + d, gv + d, t);
    tgi_so3_jr_inv_d(t, w + d, x + d, v + d);
    tgi_v3_add(gw + d, gw + d, t);
  }
}

void tgi_explicit_rate_jacobian(const tgModel *m, const tgReal *w, const tgReal *v, int n, const tgReal *W, const tgReal *V, tgReal *out) {
  memcpy(out, V, (size_t)m->nv * (size_t)n * sizeof *out);
  for (int j = 0; j < m->njnt; j++) {
    int adr, d = tgi_rotation_dof(m, j, &adr);
    tgReal J[9], D[9];
    if (d < 0) continue;
    tgi_so3_jr_inv(J, w + d);
    for (int r = 0; r < 3; r++) {
      tgReal e[3] = {0};
      e[r] = 1;
      tgi_so3_jr_inv_d(D + 3 * r, w + d, e, v + d);
    }
    for (int c = 0; c < n; c++)
      for (int r = 0; r < 3; r++) {
        tgReal sum = 0;
        for (int k = 0; k < 3; k++) sum += J[3 * r + k] * V[(d + k) * n + c] + D[3 * r + k] * W[(d + k) * n + c];
        out[(d + r) * n + c] = sum;
      }
  }
}

// ---- stages ----

static void add_wrenches(const tgPairTerm *f, tgReal *wrench) {
  tgi_sp_axpy(wrench + 6 * f->body1, 1, f->w);
  tgi_sp_axpy(wrench + 6 * f->body2, 1, f->w + 6);
}

void tgi_explicit_wrenches(const tgSim *s, const tgPose *pose, tgReal *wrench) {
  for (int i = 0; i < 6 * s->m.nbody; i++) wrench[i] = 0;
  for (int i = 0; i < s->nterm; i++) add_wrenches(&s->term[i], wrench);
  for (int e = 0; e < s->m.neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(&s->m, e)) continue;
    tgi_bond_force(s, pose, e, &bond);
    add_wrenches(&bond, wrench);
  }
}

// smooth dynamics and factor at stage i, whose pose is made
static tgStatus smooth_stage(tgSim *s, int i) {
  const tgModel *m = &s->m;
  tgPose *pose = tgi_explicit_pose(s, i);
  tgi_inertias(s, pose);
  tgi_mass_matrix(s, pose);
  tgi_velocities(s, pose, tgi_explicit_own(s)->stage_v + i * m->nv);
  tgi_bias(s, pose);
  tgi_actuation(s, pose);
  tgi_passive(s, pose);
  for (int d = 0; d < m->nv; d++) s->tau[d] = s->qfrc_applied[d] + s->qfrc_actuator[d] + s->qfrc_passive[d];
  tgi_step_matrix(s, s->h, tgi_explicit_implicit_damping(s));
  return tgi_factor(m, s->Mh, s->L) ? TG_OK : tgi_no_factor(s, pose, "");
}

tgStatus tgi_explicit_stage(tgSim *s, int i, bool derivative) {
  tgPose *pose = tgi_explicit_pose(s, i);
  tgi_kinematics(&s->m, tgi_explicit_own(s)->stage_q + i * s->m.nq, pose);
  TG_TRY(smooth_stage(s, i));
  return s->contact_model->kind->law->evaluate(s, pose, derivative ? TG_LAW_POSE | TG_LAW_VELOCITY : 0);
}

// a of stage i, whose pose and forces are at hand
static tgStatus acceleration(tgSim *s, int i) {
  const tgModel *m = &s->m;
  const tgPose *pose = tgi_explicit_pose(s, i);
  const tgReal *v = tgi_explicit_own(s)->stage_v + i * m->nv;
  tgReal *a = tgi_explicit_own(s)->stage_a + i * m->nv;
  size_t mark = tgi_stack_mark(s);
  tgReal *sum = tgi_stack_real(s, 6 * (size_t)m->nbody);
  if (sum == NULL) return no_room(s);
  tgi_explicit_wrenches(s, pose, sum);
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(sum + 6 * m->body_parent[b], 1, sum + 6 * b);
  bool implicit = tgi_explicit_implicit_damping(s);
  for (int d = 0; d < m->nv; d++) {
    a[d] = s->tau[d] - s->bias[d] + tgi_sp_dot(pose->S + 6 * d, sum + 6 * m->dof_body[d]);
    if (implicit) a[d] -= s->h * m->jnt_stiffness[m->dof_jnt[d]] * v[d];
  }
  tgi_joint_forces(s, pose, v, a);
  tgi_factor_solve(m, s->L, a);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// coordinates and velocities of stage i > 0 from the stage before
static void next_stage(tgSim *s, int i, double at) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  tgReal *w = tgi_explicit_own(s)->stage_w + i * nv, *v = tgi_explicit_own(s)->stage_v + i * nv;
  const tgReal *a = tgi_explicit_own(s)->stage_a + (i - 1) * nv;
  tgi_explicit_rate(m, tgi_explicit_own(s)->stage_w + (i - 1) * nv, tgi_explicit_own(s)->stage_v + (i - 1) * nv, w);
  for (int d = 0; d < nv; d++) {
    w[d] *= at * s->h;
    v[d] = s->start.vel[d] + at * s->h * a[d];
  }
  tg_model_integrate(m, s->start.q, w, tgi_explicit_own(s)->stage_q + i * m->nq);
}

static tgStatus finish(tgSim *s, const tgiTableau *t) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  size_t mark = tgi_stack_mark(s);
  tgReal *rate = tgi_stack_real(s, (size_t)nv);
  if (rate == NULL) return no_room(s);
  for (int d = 0; d < nv; d++) {
    s->end.vel[d] = s->start.vel[d];
    tgi_explicit_own(s)->step_w[d] = 0;
  }
  for (int i = 0; i < t->n; i++) {
    tgi_explicit_rate(m, tgi_explicit_own(s)->stage_w + i * nv, tgi_explicit_own(s)->stage_v + i * nv, rate);
    for (int d = 0; d < nv; d++) {
      s->end.vel[d] += s->h * t->share[i] * tgi_explicit_own(s)->stage_a[i * nv + d];
      tgi_explicit_own(s)->step_w[d] += s->h * t->share[i] * rate[d];
    }
  }
  for (int d = 0; d < nv && tgi_explicit_symplectic(s); d++) tgi_explicit_own(s)->step_w[d] = s->h * s->end.vel[d];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// wrenches of all pairs, kept while later stages are evaluated
static void copy_wrenches(tgSim *s, tgReal *kept, bool back) {
  for (int i = 0; i < s->nterm; i++)
    for (int k = 0; k < 12; k++) *(back ? &s->term[i].w[k] : &kept[12 * i + k]) = *(back ? &kept[12 * i + k] : &s->term[i].w[k]);
}

// stage 0: where the step starts
static void first_stage(tgSim *s, double h) {
  tgiExplicit *own = tgi_explicit_own(s);
  s->h = h;
  s->ncon = s->nrow = s->nisland = 0;
  memcpy(own->stage_q, s->start.q, (size_t)s->m.nq * sizeof(tgReal));
  memcpy(own->stage_v, s->start.vel, (size_t)s->m.nv * sizeof(tgReal));
  memset(own->stage_w, 0, (size_t)s->m.nv * sizeof(tgReal));
}

tgStatus tgi_explicit_step(tgSim *s, double h) {
  const tgModel *m = &s->m;
  const tgiTableau *t = tgi_explicit_tableau(s);
  size_t mark = tgi_stack_mark(s);
  tgReal *kept = tgi_stack_real(s, 12 * (size_t)s->cap.nterm + 1);
  if (kept == NULL) return no_room(s);
  first_stage(s, h);
  TG_TRY(s->contact_model->kind->law->begin(s, s->h));
  for (int i = 0; i < t->n; i++) {
    if (i > 0) next_stage(s, i, t->at[i]);
    TG_TRY(tgi_explicit_stage(s, i, false));
    if (i == 0) copy_wrenches(s, kept, false);
    TG_TRY(acceleration(s, i));
  }
  TG_TRY(finish(s, t));
  if (t->n > 1) TG_TRY(smooth_stage(s, 0));
  copy_wrenches(s, kept, true);
  tg_model_integrate(m, s->start.q, tgi_explicit_own(s)->step_w, s->end.q);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- on a tape ----

// Forces are not asked for again: the derivatives evaluate each stage anew, the first of them last.
size_t tgi_explicit_record_bytes(const tgSim *s) { return (size_t)tgi_explicit_tableau(s)->n * (size_t)s->m.nv * sizeof(tgReal); }

void tgi_explicit_record(const tgSim *s, void *to) { memcpy(to, tgi_explicit_own(s)->stage_a, tgi_explicit_record_bytes(s)); }

tgStatus tgi_explicit_revisit(tgSim *s, double h, const void *from) {
  const tgiTableau *t = tgi_explicit_tableau(s);
  first_stage(s, h);
  memcpy(tgi_explicit_own(s)->stage_a, from, tgi_explicit_record_bytes(s));
  tgi_kinematics(&s->m, s->start.q, &s->start);
  for (int i = 1; i < t->n; i++) next_stage(s, i, t->at[i]);
  TG_TRY(finish(s, t));
  tg_model_integrate(&s->m, s->start.q, tgi_explicit_own(s)->step_w, s->end.q);
  return TG_OK;
}
