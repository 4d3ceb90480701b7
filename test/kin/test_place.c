// test_place.c: from adjoints of axes and poses to the parameters that place bodies and joints, and to q: for a functional
// L = sum S_bar . S_d + sum g_b . x_b with x_b a point of each body, against complex step (real build: Ridders) of the kinematics alone.
#include <stdlib.h>
#include <string.h>

#include "kin/kinematics.h"
#include "math/quat.h"
#include "support/deriv.h"
#include "support/tree.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-11;
#else
static const double tolerance = 1e-8;
#endif

typedef struct Ctx { tgSim *s; const tgReal *S, *g, *local; tgReal *param; int n; const tgReal *q; } Ctx;

static tgReal functional(const Ctx *c, const tgReal *q) {
  tgSim *s = c->s;
  tgReal sum = 0, x[3];
  tgi_kinematics(&s->m, q, &s->start);
  for (int i = 0; i < 6 * s->m.nv; i++) sum += c->S[i] * s->start.S[i];
  for (int b = 1; b < s->m.nbody; b++) {
    tgi_m3_mulv(x, s->start.xmat + 9 * b, c->local + 3 * b);
    tgi_v3_add(x, x, s->start.xpos + 3 * b);
    sum += tgi_v3_dot(x, c->g + 3 * b);
  }
  return sum;
}
static tgStatus of_q(void *ctx, const tgReal *x, tgReal *y) {
  y[0] = functional(ctx, x);
  return TG_OK;
}
static tgStatus of_param(void *ctx, const tgReal *x, tgReal *y) {
  const Ctx *c = ctx;
  memcpy(c->param, x, (size_t)c->n * sizeof *x);
  y[0] = functional(c, c->q);
  return TG_OK;
}
static void retract_q(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) { tg_model_integrate(((Ctx *)ctx)->s->model, x, d, out); }
// rows of 4: quaternions, turned; of 3 unit axes: turned; else moved
static void retract_quat(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  for (int r = 0; 4 * r < ((Ctx *)ctx)->n; r++) {
    tgReal w[4];
    tgi_quat_exp(w, d + 3 * r);
    tgi_quat_mul(out + 4 * r, x + 4 * r, w);
  }
}
static void retract_axis(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  for (int r = 0; 3 * r < ((Ctx *)ctx)->n; r++) {
    tgReal w[4];
    tgi_quat_exp(w, d + 3 * r);
    tgi_quat_rotate(out + 3 * r, w, x + 3 * r);
  }
}

// the gradient in turns delta of each row
static void turns(const tgReal *x, const tgReal *g, int rows, bool quat, tgReal *out) {
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < 3; k++) {
      tgReal e[3] = {k == 0, k == 1, k == 2}, w[4] = {0, e[0] / 2, e[1] / 2, e[2] / 2}, d[4];
      if (quat) tgi_quat_mul(d, x + 4 * r, w);
      else tgi_v3_cross(d, e, x + 3 * r);
      out[3 * r + k] = 0;
      for (int i = 0; i < (quat ? 4 : 3); i++) out[3 * r + k] += g[(quat ? 4 : 3) * r + i] * d[i];
    }
}

static void check_field(Ctx *c, tgParamGrad *p, const char *name) {
  int rows, cols;
  const tgReal *g = tg_param_grad_field(p, name, &rows, &cols);
  int n = rows * cols;
  bool quat = cols == 4, axis = strcmp(name, "jnt_axis") == 0;
  if (n == 0) return;
  tgReal *x = malloc(sizeof(tgReal) * (size_t)(3 * n + 3)), *turned = x + n;
  c->param = tg_sim_param(c->s, name, NULL, NULL);
  c->n = n;
  memcpy(x, c->param, (size_t)n * sizeof *x);
  tgtDeriv d = {.name = name, .nx = n, .nt = quat || axis ? 3 * rows : n, .ny = 1, .map = of_param, .ctx = c, .tol = tolerance,
                .retract = quat ? retract_quat : axis ? retract_axis : NULL};
  if (quat || axis) turns(x, g, rows, quat, turned);
  tgt_check_jacobian(&d, x, quat || axis ? turned : g);
  memcpy(c->param, x, (size_t)n * sizeof *x);
  free(x);
}

static void check_tree(int k, bool flat) {
  tgModel *m = tgt_random_tree((uint64_t)k, 3 + k % 8, k % 2 == 0 ? TGT_TREE_FREE : 0);
  tgSim *s = tgt_sim(m);
  tgtRandom r = {(uint64_t)k + 77};
  int nv = m->nv, nb = m->nbody;
  tgReal *S = malloc(sizeof(tgReal) * (size_t)(7 * nv + 6 * nb)), *g = S + 6 * nv, *local = g + 3 * nb, *gq = local + 3 * nb, t[6];
  tgt_random_vector(&r, 6 * nv + 6 * nb, S);
  tgt_random_state(s, &r, flat);
  Ctx c = {.s = s, .S = S, .g = g, .local = local, .q = s->qpos};
  tgParamGrad *p = tg_param_grad_create(m, NULL, 0, NULL, NULL);
  functional(&c, s->qpos);
  for (int d = 0; d < nv; d++) tgi_param_axis(p, d, S + 6 * d);
  for (int b = 1; b < nb; b++) {
    tgReal x[3];
    tgi_m3_mulv(x, s->start.xmat + 9 * b, local + 3 * b);
    tgi_v3_add(x, x, s->start.xpos + 3 * b);
    tgi_sp_screw(t, x, g + 3 * b);
    tgi_param_pose(p, b, t);
  }
  for (int i = 0; i < nv; i++) gq[i] = 0;
  tgi_place_vjp(s, &s->start, p, gq);
  tgtDeriv d = {.name = "q", .nx = m->nq, .nt = nv, .ny = 1, .map = of_q, .retract = retract_q, .ctx = &c, .tol = tolerance};
  tgt_check_jacobian(&d, s->qpos, gq);
  const char *fields[] = {"body_pos", "body_quat", "jnt_pos", "jnt_axis"};
  for (int f = 0; f < 4; f++) check_field(&c, p, fields[f]);
  tg_param_grad_free(p);
  free(S);
  tg_sim_free(s);
  tg_model_free(m);
}

static void test_place(void **state) {
  (void)state;
  for (int k = 0; k < 24; k++) check_tree(k, k % 3 == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
