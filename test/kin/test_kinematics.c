// test_kinematics.c: frames against closed forms, motion axes and Jacobians against derivatives of the frames.
#include <string.h>

#include "kin/kinematics.h"
#include "math/quat.h"
#include "support/deriv.h"
#include "support/tree.h"
#include "tangere/desc.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-12;
#else
static const double tolerance = 2e-8;
#endif

typedef struct Ctx { tgSim *s; int body; tgReal screw[6], v[256], point[3]; } Ctx;

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Ctx *)ctx)->s->model, x, d, out);
}

// y = position of a material point, rows of the body's rotation
static tgStatus pose_map(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgi_kinematics(&c->s->m, x, &c->s->start);
  tgi_m3_mulv(y, c->s->start.xmat + 9 * c->body, c->point);
  tgi_v3_add(y, y, c->s->start.xpos + 3 * c->body);
  tgi_m3_copy(y + 3, c->s->start.xmat + 9 * c->body);
  return TG_OK;
}

// column j of d(pose)/dq: S_j
static void test_axes(void **state) {
  (void)state;
  for (int k = 0; k < 14; k++) {
    tgModel *m = tgt_random_tree((uint64_t)k, 8, k % 2 == 0 ? TGT_TREE_FREE : 0);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 100};
    tgt_random_state(s, &r, k % 3 == 0);
    int nv = m->nv;
    tgReal *D = test_malloc(12 * (size_t)nv * sizeof *D), *J = test_malloc(6 * (size_t)nv * sizeof *J);
    for (int b = 1; b < m->nbody; b++) {
      Ctx c = {.s = s, .body = b, .point = {0.1, -0.2, 0.3}};
      tgtDeriv d = {.name = "frames", .nx = m->nq, .nt = nv, .ny = 12, .map = pose_map, .retract = retract, .ctx = &c, .tol = tolerance};
      tgReal y[12];
      pose_map(&c, s->qpos, y);
      tgi_point_jacobian(s, &s->start, b, y, J);
      for (int j = 0; j < nv; j++) {
        tgReal w[3] = {J[j], J[nv + j], J[2 * nv + j]}, col[3], t[3];
        for (int i = 0; i < 3; i++) D[i * nv + j] = J[(3 + i) * nv + j];
        for (int a = 0; a < 3; a++) {
          tgi_m3_col(col, y + 3, a);
          tgi_v3_cross(t, w, col);
          for (int i = 0; i < 3; i++) D[(3 + 3 * i + a) * nv + j] = t[i];
        }
        check_true(tgi_dof_moves(m, j, b) || (tgRe(tgi_v3_norm(w)) == 0 && tgRe(J[3 * nv + j]) == 0), "dof %d does not move body %d", j, b);
      }
      if (m->body_lastdof[b] >= 0) tgt_check_jacobian(&d, s->qpos, D);
    }
    test_free(D);
    test_free(J);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

static tgStatus row_map(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgReal V[6];
  tgi_kinematics(&c->s->m, x, &c->s->start);
  tgi_body_velocity(c->s, &c->s->start, c->body, c->v, V);
  y[0] = tgi_sp_dot(V, c->screw);
  return TG_OK;
}

// tgi_add_row: screw' J; tgi_add_row_d: its derivative at fixed v
static void test_rows(void **state) {
  (void)state;
  for (int k = 0; k < 14; k++) {
    tgModel *m = tgt_random_tree((uint64_t)k + 20, 8, k % 2 == 0 ? TGT_TREE_FREE : 0);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 200};
    tgt_random_state(s, &r, k % 3 == 0);
    for (int b = 1; b < m->nbody; b++) {
      if (m->body_lastdof[b] < 0) continue;
      Ctx c = {.s = s, .body = b};
      tgReal row[256] = {0}, D[256] = {0}, y, dot = 0;
      tgt_random_vector(&r, 6, c.screw);
      tgt_random_vector(&r, m->nv, c.v);
      row_map(&c, s->qpos, &y);
      tgi_add_row(s, &s->start, b, c.screw, 1, row);
      for (int j = 0; j < m->nv; j++) dot += row[j] * c.v[j];
      check_close(dot, y, 1e-12);
      tgi_add_row_d(s, &s->start, b, c.screw, c.v, 1, D);
      tgtDeriv d = {.name = "row", .nx = m->nq, .nt = m->nv, .ny = 1, .map = row_map, .retract = retract, .ctx = &c, .tol = 10 * tolerance};
      tgt_check_jacobian(&d, s->qpos, D);
    }
    tg_sim_free(s);
    tg_model_free(m);
  }
}

// hinge on a hinge in the plane, anchors off the frames, with ref: closed form
static void test_two_hinges(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  for (int b = 1; b <= 2; b++) {
    int new_body = tg_desc_add_body(d, b - 1, NULL);
    tgBodyDesc *body = &d->body[new_body];
    body->pos[0] = b == 1 ? 0 : 1;
    body->has_inertial = true;
    body->mass = 1;
    body->com[0] = 0.5;
    body->inertia[0] = body->inertia[1] = body->inertia[2] = 0.1;
    int new_j = tg_desc_add_joint(d, b, TG_JOINT_HINGE, NULL);
    tgJointDesc *j = &d->joint[new_j];
    j->axis[0] = 0; j->axis[1] = 0; j->axis[2] = 1;
    j->pos[0] = b == 1 ? -0.5 : 0.25;
    j->ref = b == 1 ? 0.2 : 0;
  }
  tgError error;
  tgModel *m = tg_model_compile(d, NULL, &error);
  assert_non_null(m);
  tgSim *s = tgt_sim(m);
  tgReal q[2] = {0.7, -0.4};
  tgi_kinematics(&s->m, q, &s->start);
  double a = 0.7 - 0.2, b = -0.4;
  // body 1 turns about (-0.5, 0); body 2's anchor is 1.75 along body 1 from there, its frame 0.25 behind the anchor
  check_close(s->start.xpos[3], -0.5 + 0.5 * cos(a), 1e-15);
  check_close(s->start.xpos[4], 0.5 * sin(a), 1e-15);
  check_close(s->start.xpos[6], -0.5 + 1.75 * cos(a) - 0.25 * cos(a + b), 1e-15);
  check_close(s->start.xpos[7], 1.75 * sin(a) - 0.25 * sin(a + b), 1e-15);
  check_close(s->start.xcom[6], -0.5 + 1.75 * cos(a) + 0.25 * cos(a + b), 1e-15);
  check_close(s->start.xmat[18], cos(a + b), 1e-15);
  tg_sim_free(s);
  tg_model_free(m);
  tg_desc_free(d);
}

// a scaled quaternion means the same rotation
static void test_scaled_quaternion(void **state) {
  (void)state;
  tgModel *m = tgt_random_tree(3, 5, TGT_TREE_FREE);
  tgSim *s = tgt_sim(m);
  tgtRandom r = {5};
  tgt_random_state(s, &r, false);
  tgReal before[64];
  tgi_kinematics(&s->m, s->qpos, &s->start);
  for (int i = 0; i < 3 * m->nbody; i++) before[i] = s->start.xpos[i];
  for (int i = 3; i < 7; i++) s->qpos[i] *= 2.5;
  tgi_kinematics(&s->m, s->qpos, &s->start);
  tgt_check_near(s->start.xpos, before, 3 * m->nbody, 1e-14);
  tg_sim_free(s);
  tg_model_free(m);
}

static tgStatus integrate_w(void *ctx, const tgReal *x, tgReal *y) {  // x = w; tangent from the nominal end
  Ctx *c = ctx;
  tgReal out[256];
  tg_model_integrate(c->s->model, c->s->start.q, x, out);
  tg_model_difference(c->s->model, c->s->qpos, out, y);
  return TG_OK;
}
static tgStatus integrate_q(void *ctx, const tgReal *x, tgReal *y) {  // x = q
  Ctx *c = ctx;
  tgReal out[256];
  tg_model_integrate(c->s->model, x, c->v, out);
  tg_model_difference(c->s->model, c->s->qpos, out, y);
  return TG_OK;
}

// the short form for a step against the general one, on all columns, in both update rules
static void check_own(const tgModel *m, tgtRandom *r, const tgReal *w) {
  int nv = m->nv, n = 2 * nv + 3;
  size_t size = (size_t)nv * (size_t)n;
  tgReal *X = test_calloc(5 * size, sizeof *X), *Y = X + size, *Xw = Y + size, *D = Xw + size, *E = D + size, h = 0.3;
  int *span = test_calloc(2 * (size_t)nv, sizeof *span);
  for (int d = 0; d < nv; d++) {
    X[d * n + d] = 1;
    span[2 * d + 1] = nv;
  }
  tgt_random_vector(r, (int)size, Y);
  for (int rule = 0; rule < 2; rule++) {
    for (size_t i = 0; i < size; i++) {
      Xw[i] = rule == 0 ? h * Y[i] : (int)i % n == nv + (int)i / n ? h : 0;
      E[i] = 0;
    }
    tgi_integrate_jacobian(m, w, n, X, Xw, D);
    tgi_integrate_own_jacobian(m, w, h, n, rule == 0 ? Y : NULL, span, E);
    tgt_check_near(D, E, (int)size, 1e-13);
  }
  test_free(X);
  test_free(span);
}

// q (+) w and its tangent Jacobians, forward and adjoint; (+) and difference undo each other
static void test_integrate(void **state) {
  (void)state;
  for (int k = 0; k < 10; k++) {
    tgModel *m = tgt_random_tree((uint64_t)k + 40, 6, k % 2 == 0 ? TGT_TREE_FREE : 0);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 300};
    tgt_random_state(s, &r, false);
    int nv = m->nv;
    Ctx c = {.s = s};
    double scale = k % 5 == 0 ? 0 : k % 5 == 1 ? 1e-7 : 0.8;
    for (int i = 0; i < m->nq; i++) s->start.q[i] = s->qpos[i];
    tgt_random_vector(&r, nv, c.v);
    for (int i = 0; i < nv; i++) c.v[i] *= scale;
    tg_model_integrate(m, s->start.q, c.v, s->qpos);
    tgReal back[256], *one = test_calloc((size_t)nv * (size_t)nv, sizeof *one), *D = test_malloc((size_t)nv * (size_t)nv * sizeof *D);
    tg_model_difference(m, s->start.q, s->qpos, back);
    tgt_check_near(back, c.v, nv, 1e-14);
    for (int i = 0; i < nv; i++) one[i * nv + i] = 1;
    tgtDeriv d = {.name = "d(q + w)/dw", .nx = nv, .ny = nv, .map = integrate_w, .ctx = &c, .tol = tolerance};
    tgReal w[256], v[256], g[256] = {0};
    tgt_random_vector(&r, nv, w);
    tgt_random_vector(&r, nv, v);
    tgi_integrate_jacobian(m, c.v, nv, NULL, one, D);
    tgt_check_jacobian(&d, c.v, D);
    tgi_integrate_vjp(m, c.v, w, NULL, g);
    tgt_check_adjoint(D, nv, nv, w, v, g);
    tgtDeriv e = {.name = "d(q + w)/dq", .nx = m->nq, .nt = nv, .ny = nv, .map = integrate_q, .retract = retract,
                  .ctx = &c, .tol = tolerance};
    tgi_integrate_jacobian(m, c.v, nv, one, NULL, D);
    tgt_check_jacobian(&e, s->start.q, D);
    for (int i = 0; i < nv; i++) g[i] = 0;
    tgi_integrate_vjp(m, c.v, w, g, NULL);
    tgt_check_adjoint(D, nv, nv, w, v, g);
    check_own(m, &r, c.v);
    test_free(one);
    test_free(D);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

typedef struct Weighted { const tgModel *m; const tgReal *w; } Weighted;

// y = w . q, q as it is or made of unit length first
static tgStatus weighted(void *ctx, const tgReal *q, tgReal *y) {
  const Weighted *c = ctx;
  y[0] = 0;
  for (int i = 0; i < c->m->nq; i++) y[0] += c->w[i] * q[i];
  return TG_OK;
}
static tgStatus weighted_unit(void *ctx, const tgReal *q, tgReal *y) {
  tgReal unit[256];
  tgStatus status = tg_model_normalize(((Weighted *)ctx)->m, q, unit);
  return status != TG_OK ? status : weighted(ctx, unit, y);
}
static void retract_weighted(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Weighted *)ctx)->m, x, d, out);
}

// gradients of a function of q's numbers: along tangents at q of unit length, and entry by entry through the normalisation where it is not
static void test_charts(void **state) {
  (void)state;
  for (int k = 0; k < 12; k++) {
    tgModel *m = tgt_random_tree((uint64_t)k, 8, TGT_TREE_FREE);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 700};
    tgt_random_state(s, &r, k % 3 == 0);
    tgReal w[256], tangent[256], entries[256], long_q[256];
    tgt_random_vector(&r, m->nq, w);
    Weighted c = {m, w};
    tgtDeriv along = {.name = "d(w . q)/d(tangent)", .nx = m->nq, .nt = m->nv, .ny = 1, .map = weighted,
                      .retract = retract_weighted, .ctx = &c, .tol = tolerance};
    tg_model_to_tangent(m, s->qpos, w, tangent);
    tgt_check_jacobian(&along, s->qpos, tangent);
    for (int i = 0; i < m->nq; i++) long_q[i] = (1.5 + 0.1 * k) * s->qpos[i];   // quaternions of another length
    tgtDeriv whole = {.name = "d(w . q/|q|)/dq", .nx = m->nq, .ny = 1, .map = weighted_unit, .ctx = &c, .tol = tolerance};
    tg_model_from_tangent(m, long_q, tangent, entries);
    tgt_check_jacobian(&whole, long_q, entries);
    for (int i = 0; i < m->nq; i++) long_q[i] = 0;
    assert_int_equal(tg_model_normalize(m, long_q, entries), TG_ERR_NOT_FINITE);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

static void some_turn(tgtRandom *r, double quat[4]) {
  tgReal q[4];
  for (int i = 0; i < 4; i++) q[i] = tgt_normal(r);
  tgi_quat_normalize(q);
  for (int i = 0; i < 4; i++) quat[i] = tgRe(q[i]);
}

// What is fixed in a body where the body's own frame is, or turned as that, is placed as the products of frames say, and so is what hangs
// on a parent that it is not turned against.
static void test_own_frames(void **state) {
  (void)state;
  enum { GEOMS = 8 };
  tgDesc *d = tg_desc_create(NULL);
  tgError e = {0};
  tgtRandom r = {31};
  for (int k = 0, parent = 0; k < GEOMS; k++) {
    int b = tg_desc_add_body(d, parent, NULL), g = tg_desc_add_geom(d, b, TG_GEOM_BOX, NULL), s = tg_desc_add_site(d, b, NULL);
    tg_desc_add_joint(d, b, k == 0 ? TG_JOINT_FREE : TG_JOINT_HINGE, NULL);
    for (int i = 0; i < 3; i++) {
      d->geom[g].size[i] = 0.1;
      d->body[b].pos[i] = tgt_normal(&r);
      d->geom[g].pos[i] = k & 1 ? tgt_normal(&r) : 0;
      d->site[s].pos[i] = k & 1 ? 0 : tgt_normal(&r);
    }
    some_turn(&r, k & 2 ? d->geom[g].quat : d->site[s].quat);
    if (k & 4) some_turn(&r, d->body[b].quat);
    parent = b;
  }
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  tgSim *s = tgt_sim(m);
  tgt_random_state(s, &r, false);
  tgi_kinematics(m, s->qpos, &s->start);
  const tgPose *p = &s->start;
  for (int g = 0; g < m->ngeom; g++) {
    int b = m->geom_body[g];
    tgReal x[3], q[4], R[9];
    tgi_m3_mulv(x, p->xmat + 9 * b, m->geom_pos + 3 * g);
    tgi_v3_add(x, x, p->xpos + 3 * b);
    tgi_quat_mul(q, p->xquat + 4 * b, m->geom_quat + 4 * g);
    tgi_quat_to_mat(R, q);
    tgt_check_near(p->geom_xpos + 3 * g, x, 3, 1e-15);
    tgt_check_near(p->geom_xmat + 9 * g, R, 9, 1e-15);
    tgi_m3_mulv(x, p->xmat + 9 * b, m->site_pos + 3 * g);
    tgi_v3_add(x, x, p->xpos + 3 * b);
    tgi_quat_mul(q, p->xquat + 4 * b, m->site_quat + 4 * g);
    tgi_quat_to_mat(R, q);
    tgt_check_near(p->site_xpos + 3 * g, x, 3, 1e-15);
    tgt_check_near(p->site_xmat + 9 * g, R, 9, 1e-15);
    // a hinge turns about its axis, which stays as the parent's frame has it
    int up = m->body_parent[b], j = m->body_jntadr[b];
    tgReal own[4], axis[3], other[3];
    if (up == 0) continue;
    tgi_quat_mul(own, p->xquat + 4 * up, m->body_quat + 4 * b);
    tgi_quat_rotate(axis, own, m->jnt_axis + 3 * j);
    tgi_quat_rotate(other, p->xquat + 4 * b, m->jnt_axis + 3 * j);
    tgt_check_near(axis, other, 3, 1e-14);
    tgt_check_near(p->S + 6 * m->jnt_vadr[j], axis, 3, 1e-14);
  }
  tg_sim_free(s);
  tg_model_free(m);
}

// The part that energies need is the whole pose's to the bit, and leaves geoms alone.
static void test_bodies(void **state) {
  (void)state;
  for (int k = 0; k < 7; k++) {
    tgModel *m = tgt_random_tree((uint64_t)k, 9, TGT_TREE_FREE | TGT_TREE_PASSIVE);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 7};
    tgt_random_state(s, &r, false);
    tgPose *a = &s->start, *b = &s->end;
    tgi_kinematics(m, s->qpos, a);
    memset(b->geom_xpos, 0x55, 3 * (size_t)m->ngeom * sizeof(tgReal));
    tgi_kinematics_bodies(m, s->qpos, b);
    size_t n = (size_t)m->nbody * sizeof(tgReal);
    assert_memory_equal(a->q, b->q, (size_t)m->nq * sizeof(tgReal));
    assert_memory_equal(a->xpos, b->xpos, 3 * n);
    assert_memory_equal(a->xquat, b->xquat, 4 * n);
    assert_memory_equal(a->xmat, b->xmat, 9 * n);
    assert_memory_equal(a->xcom, b->xcom, 3 * n);
    assert_memory_equal(a->S, b->S, 6 * (size_t)m->nv * sizeof(tgReal));
    assert_memory_equal(a->site_xpos, b->site_xpos, 3 * (size_t)m->nsite * sizeof(tgReal));
    assert_memory_equal(a->ten_length, b->ten_length, (size_t)m->ntendon * sizeof(tgReal));
    for (size_t i = 0; i < 3 * (size_t)m->ngeom * sizeof(tgReal); i++) assert_int_equal(((unsigned char *)b->geom_xpos)[i], 0x55);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_axes), cmocka_unit_test(test_rows), cmocka_unit_test(test_two_hinges),
                                     cmocka_unit_test(test_scaled_quaternion), cmocka_unit_test(test_integrate),
                                     cmocka_unit_test(test_charts), cmocka_unit_test(test_own_frames), cmocka_unit_test(test_bodies)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
