// motion.c: motions of frames and their changes. See sensor.h.
#include "math/quat.h"
#include "sensor/sensor.h"

void tgi_sensing_accelerations(tgiSensing *x, const tgReal *qacc) {
  const tgModel *m = &x->s->m;
  const tgPose *pose = &x->pose;
  tgi_sp_zero(x->A);
  for (int k = 0; k < 3; k++) x->A[3 + k] = -m->opt_gravity[k];
  for (int b = 1; b < m->nbody; b++) {
    tgReal *A = x->A + 6 * b;
    tgi_sp_copy(A, x->A + 6 * m->body_parent[b]);
    for (int d = m->body_dofadr[b], end = d + m->body_dofnum[b]; d < end; d++) {
      int g = m->dof_grpadr[d];
      tgi_sp_copy(x->Ap + 6 * d, g == d ? A : x->Ap + 6 * g);
      tgi_sp_axpy(A, qacc[d], pose->S + 6 * d);
      tgi_sp_axpy(A, pose->vel[d], pose->Sd + 6 * d);
      tgi_sp_copy(x->Va + 6 * d, pose->Vp + 6 * d);
      for (int k = g; k < g + m->dof_grpnum[d]; k++) tgi_sp_axpy(x->Va + 6 * d, pose->vel[k], pose->S + 6 * k);
    }
  }
}

// r += a x b
static void add_cross(tgReal *r, const tgReal *a, const tgReal *b) {
  tgReal c[3];
  tgi_v3_cross(c, a, b);
  tgi_v3_add(r, r, c);
}

void tgi_point_motion(const tgiSensing *x, int body, const tgReal p[3], tgiMotion *of) {
  const tgReal *V = x->pose.V + 6 * body, *A = x->A + 6 * body;
  tgi_v3_copy(of->p, p);
  tgi_v3_copy(of->w, V);
  tgi_v3_copy(of->v, V + 3);
  add_cross(of->v, V, p);
  tgi_v3_copy(of->al, A);
  tgi_v3_copy(of->a, A + 3);
  add_cross(of->a, A, p);
  add_cross(of->a, V, of->v);
}

// twists of a change by dof j: of the place, of the velocity, of the acceleration
static void change_twists(const tgiSensing *x, int body, int j, tgiBy by, tgReal *T, tgReal *dV, tgReal *dA) {
  const tgPose *pose = &x->pose;
  const tgReal *S = pose->S + 6 * j, *V = pose->V + 6 * body;
  tgReal after[6], more[6], Sd[6];
  tgi_sp_zero(T);
  tgi_sp_zero(dV);
  tgi_sp_cross_m(Sd, pose->Vp + 6 * j, S);
  if (by == TGI_BY_A) {
    tgi_sp_copy(dA, S);
    return;
  }
  if (by == TGI_BY_V) {
    tgi_sp_copy(dV, S);
    tgi_sp_sub(after, V, x->Va + 6 * j);
    tgi_sp_cross_m(dA, S, after);
    tgi_sp_add(dA, dA, Sd);
    return;
  }
  tgi_sp_copy(T, S);
  tgi_sp_sub(after, V, pose->Vp + 6 * j);
  tgi_sp_cross_m(dV, S, after);
  tgi_sp_cross_m(more, Sd, after);
  tgi_sp_sub(after, x->A + 6 * body, x->Ap + 6 * j);
  tgi_sp_cross_m(dA, S, after);
  tgi_sp_add(dA, dA, more);
}

bool tgi_point_change(const tgiSensing *x, int body, const tgiMotion *of, int j, tgiBy by, tgiChange *c) {
  *c = (tgiChange){.turn = {0}};
  if (!tgi_dof_moves(&x->s->m, j, body)) return false;
  tgReal T[6], dV[6], dA[6];
  change_twists(x, body, j, by, T, dV, dA);
  tgi_v3_copy(c->turn, T);
  tgi_v3_copy(c->p, T + 3);
  add_cross(c->p, T, of->p);
  tgi_v3_copy(c->w, dV);
  tgi_v3_copy(c->v, dV + 3);          // v = V + w x p
  add_cross(c->v, dV, of->p);
  add_cross(c->v, of->w, c->p);
  tgi_v3_copy(c->al, dA);
  tgi_v3_copy(c->a, dA + 3);          // a = A + al x p + w x v
  add_cross(c->a, dA, of->p);
  add_cross(c->a, of->al, c->p);
  add_cross(c->a, dV, of->v);
  add_cross(c->a, of->w, c->v);
  return true;
}

int tgi_frame_body(const tgModel *m, tgFrameKind kind, int i) {
  return kind == TG_FRAME_NONE ? 0 : kind == TG_FRAME_GEOM ? m->geom_body[i] : kind == TG_FRAME_SITE ? m->site_body[i] : i;
}

void tgi_frame_motion(const tgiSensing *x, tgFrameKind kind, int i, tgiMotion *of) {
  const tgModel *m = &x->s->m;
  const tgPose *pose = &x->pose;
  int body = tgi_frame_body(m, kind, i);
  const tgReal *p = pose->xpos + 3 * body, *R = pose->xmat + 9 * body, *own = NULL;
  *of = (tgiMotion){.quat = {1}, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  if (kind == TG_FRAME_NONE) return;
  if (kind == TG_FRAME_COM) p = pose->xcom + 3 * body;
  if (kind == TG_FRAME_GEOM) {
    p = pose->geom_xpos + 3 * i;
    R = pose->geom_xmat + 9 * i;
    own = m->geom_quat + 4 * i;
  }
  if (kind == TG_FRAME_SITE) {
    p = pose->site_xpos + 3 * i;
    R = pose->site_xmat + 9 * i;
    own = m->site_quat + 4 * i;
  }
  tgi_point_motion(x, body, p, of);
  tgi_m3_copy(of->R, R);
  if (own != NULL) tgi_quat_mul(of->quat, pose->xquat + 4 * body, own);
  else for (int k = 0; k < 4; k++) of->quat[k] = pose->xquat[4 * body + k];
}
