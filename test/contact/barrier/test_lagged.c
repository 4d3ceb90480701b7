// test_lagged.c: friction in the terms of a simulation: derivatives now, in the start of the step and in the numbers of
// geoms, by complex steps or differences of what the contact model itself says, also where it sets in with distance;
// its limit for coarse and fine meshes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/barrier/barrier.h"
#include "contact/contact.h"
#include "kin/kinematics.h"
#include "math/quat.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "tangere/barrier.h"
#include "test/contact/barrier/grid.h"

enum { BODIES = 2, TERMS = 3, NZ = 6 * BODIES };
static const double h = 0.01;

static int add_geom(tgDesc *d, int body, tgGeomType type, double x, double y, double z, double mu) {
  int g = tg_desc_add_geom(d, body, type, NULL);
  d->geom[g].size[0] = x;
  d->geom[g].size[1] = y;
  d->geom[g].size[2] = z;
  d->geom[g].friction[0] = mu;
  if (type != TG_GEOM_MESH) d->geom[g].mass = 0.1;
  return g;
}

// a floor and a wall; two boxes whose geoms stand off their bodies' frames
static Rig make_rig(const char *word, const tgContactOptions *o) {
  tgDesc *d = tg_desc_create(NULL);
  int g = add_geom(d, 0, TG_GEOM_PLANE, 0, 0, 1, 0.5);
  g = add_geom(d, 0, TG_GEOM_BOX, 0.1, 0.4, 0.37, 0.8);
  d->geom[g].pos[0] = -0.4;
  for (int k = 0; k < BODIES; k++) {
    int b = tg_desc_add_body(d, 0, k == 0 ? "box" : "brick");
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
    g = k == 0 ? add_geom(d, b, TG_GEOM_BOX, 0.1, 0.12, 0.08, 0.6) : add_geom(d, b, TG_GEOM_BOX, 0.07, 0.09, 0.11, 0.3);
    d->geom[g].pos[0] = 0.02;
    d->geom[g].pos[2] = -0.01;
    double q[4] = {0.97, 0.1, -0.15, 0.12}, n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++) d->geom[g].quat[i] = q[i] / n;
  }
  return rig_of_desc(d, word, o);
}

// free bodies' coordinates moved by world twists
static void move(const tgReal *from, const tgReal *z, tgReal *q) {
  for (int b = 0; b < BODIES; b++) {
    tgReal e[4], E[9], x[3];
    tgi_quat_exp(e, z + 6 * b);
    tgi_quat_to_mat(E, e);
    tgi_m3_mulv(x, E, from + 7 * b);
    tgi_v3_add(q + 7 * b, x, z + 6 * b + 3);
    tgi_quat_mul(q + 7 * b + 3, e, from + 7 * b + 3);
  }
}

typedef struct State { Rig *rig; tgReal q0[7 * BODIES], q1[7 * BODIES]; } State;

static void random_state(Rig *rig, tgtRandom *r, double gap, double step, State *x) {
  x->rig = rig;
  for (int b = 0; b < BODIES; b++) {
    tgReal w[3];
    for (int i = 0; i < 3; i++) w[i] = 0.3 * tgt_normal(r);
    tgi_quat_exp(x->q0 + 7 * b + 3, w);
    tgi_v3_set(x->q0 + 7 * b, b == 0 ? -0.1 : 0.2 + gap, 0.02 * b, 0.185 + gap);
  }
  tgReal z[NZ];
  for (int i = 0; i < NZ; i++) z[i] = step * tgt_normal(r);
  move(x->q0, z, x->q1);
}

// begins at q0 moved by z0 and evaluates at q1 moved by z1; either may be NULL
static tgStatus run(const State *x, const tgReal *z0, const tgReal *z1) {
  tgSim *s = x->rig->s;
  const tgLaw *k = s->contact_model->kind->law;
  const tgReal none[NZ] = {0};
  tgReal q[7 * BODIES];
  tgStatus status;
  do {
    s->h = h;
    tgi_stack_free(s, 0);
    move(x->q0, z0 != NULL ? z0 : none, q);
    tgi_kinematics(&s->m, q, &s->start);
    status = k->begin(s, h);
  } while (status == TG_ERR_CAPACITY && tg_sim_grow(s) == TG_OK);
  if (status < 0) return status;
  move(x->q1, z1 != NULL ? z1 : none, q);
  tgi_kinematics(&s->m, q, &s->start);
  return k->evaluate(s, &s->start, TG_LAW_ENERGY | TG_LAW_POSE);
}

typedef struct Map {
  State x;
  bool start, energy;
  tgReal *param;      // numbers of an array, n of them or of quaternions, and what they are
  const tgReal *at;
  int n;
  bool turns;
  const tgReal *Z;    // nbody x 6
} Map;

static tgReal along(const tgSim *s, const tgReal *Z) {
  tgReal sum = 0;
  for (int t = 0; t < s->nterm; t++)
    for (int i = 0; i < 12; i++) sum += s->term[t].w[i] * Z[6 * (i < 6 ? s->term[t].body1 : s->term[t].body2) + i % 6];
  return sum;
}

static tgStatus map(void *ctx, const tgReal *z, tgReal *y) {
  Map *m = ctx;
  tgSim *s = m->x.rig->s;
  TG_TRY(run(&m->x, m->start ? z : NULL, m->start ? NULL : z));
  if (m->energy) {
    y[0] = s->energy;
    return TG_OK;
  }
  for (int t = 0; t < TERMS; t++) memcpy(y + 12 * t, s->term[t].w, 12 * sizeof *y);
  return TG_OK;
}

#ifdef TG_COMPLEX
static const double tolerance = 1e-8;
#else
static const double tolerance = 2e-5;
#endif

// B' Z made without B, against B of the terms at hand
static void check_product(tgSim *s, const char *name) {
  tgtRandom r = {91};
  tgReal Z[6 * (BODIES + 1)], out[6 * (BODIES + 1)] = {0}, want[6 * (BODIES + 1)] = {0};
  double most = 0;
  for (int i = 0; i < 6 * (BODIES + 1); i++) Z[i] = tgt_normal(&r);
  for (int t = 0; t < s->nterm; t++) {
    const int body[2] = {s->term[t].body1, s->term[t].body2};
    for (int i = 0; i < 12; i++)
      for (int j = 0; j < 12; j++) want[6 * body[j / 6] + j % 6] += Z[6 * body[i / 6] + i % 6] * s->term[t].B[12 * i + j];
  }
  for (int i = 0; i < 6 * (BODIES + 1); i++) most = fmax(most, fabs(tgRe(want[i])));
  assert_int_equal(tgi_lagged_mixed_vjp(s, &s->start, Z, out), TG_OK);
  for (int i = 0; i < 6 * (BODIES + 1); i++)
    check_true(fabs(tgRe(out[i] - want[i])) <= 1e-10 * most, "%s: product %d is %.15g, not %.15g", name, i, tgRe(out[i]), tgRe(want[i]));
}

static void check_twists(const State *x, const char *name) {
  tgSim *s = x->rig->s;
  const tgReal at[NZ] = {0};
  tgReal g[NZ] = {0}, B[12 * TERMS * NZ] = {0};
  check_true(run(x, NULL, NULL) == TG_OK, "%s: %s", name, s->error.text);
  assert_int_equal(s->nterm, TERMS);
  for (int t = 0; t < TERMS; t++)
    for (int i = 0; i < 12; i++) {
      int body = i < 6 ? s->term[t].body1 : s->term[t].body2;
      if (body > 0) g[6 * (body - 1) + i % 6] -= s->term[t].w[i];
    }
  Map m = {.x = *x, .energy = true};
  double step = 1e-3 * 1e-3 * h;
  tgtDeriv d = {.name = name, .nx = NZ, .ny = 1, .map = map, .ctx = &m, .tol = tolerance, .step = step};
  tgt_check_jacobian(&d, at, g);
  assert_int_equal(s->contact_model->kind->law->start_d(s, &s->start), TG_OK);
  for (int t = 0; t < TERMS; t++)
    for (int i = 0; i < 12; i++)
      for (int j = 0; j < 12; j++) {
        int body = j < 6 ? s->term[t].body1 : s->term[t].body2;
        if (body > 0) B[(12 * t + i) * NZ + 6 * (body - 1) + j % 6] += s->term[t].B[12 * i + j];
      }
  m.energy = false;
  m.start = true;
  d.ny = 12 * TERMS;
  check_product(s, name);
  tgt_check_jacobian(&d, at, B);
}

static const char *const names[] = {"geom_friction", "geom_pos", "geom_quat", "geom_size"};

// all numbers of an array at once; of quaternions their turns
static tgStatus param_map(void *ctx, const tgReal *z, tgReal *y) {
  Map *m = ctx;
  for (int i = 0; i < m->n; i++) {
    tgReal e[4];
    if (m->turns) {
      tgi_quat_exp(e, z + 3 * i);
      tgi_quat_mul(m->param + 4 * i, m->at + 4 * i, e);
    } else m->param[i] = z[i];
  }
  tgStatus status = run(&m->x, NULL, NULL);
  y[0] = along(m->x.rig->s, m->Z);
  return status;
}

static void check_parameters(const State *x, tgtRandom *r, const char *name) {
  tgSim *s = x->rig->s;
  tgReal Z[6 * (BODIES + 1)];
  for (int i = 0; i < 6 * (BODIES + 1); i++) Z[i] = i < 6 ? 0 : tgt_normal(r);
  tgError e = {0};
  tgParamGrad *p = tg_param_grad_create(x->rig->m, names, 4, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  assert_int_equal(run(x, NULL, NULL), TG_OK);
  tg_param_grad_clear(p);
  tgStatus status = s->contact_model->kind->law->parameters(s, &s->start, Z, -1, p);
  while (status == TG_ERR_CAPACITY && tg_sim_grow(s) == TG_OK) {
    assert_int_equal(run(x, NULL, NULL), TG_OK);
    tg_param_grad_clear(p);
    status = s->contact_model->kind->law->parameters(s, &s->start, Z, -1, p);
  }
  check_true(status == TG_OK, "%s", s->error.text);
  for (int k = 0; k < 4; k++) {
    int rows, cols;
    tgReal *value = tg_sim_param(s, names[k], &rows, &cols), *grad = tg_param_grad_field(p, names[k], NULL, NULL);
    Map m = {.x = *x, .param = value, .turns = cols == 4, .n = cols == 4 ? rows : rows * cols, .Z = Z};
    tgReal keep[64], at[64] = {0}, D[64] = {0};
    assert_true(rows * cols <= 64);
    memcpy(keep, value, (size_t)(rows * cols) * sizeof *keep);
    m.at = keep;
    for (int i = 0; i < m.n; i++) {
      if (!m.turns) {
        at[i] = keep[i];
        D[i] = grad[i];
        continue;
      }
      for (int j = 0; j < 3; j++) {
        tgReal w[4] = {0}, dq[4];
        w[1 + j] = 0.5;
        tgi_quat_mul(dq, keep + 4 * i, w);
        for (int l = 0; l < 4; l++) D[3 * i + j] += grad[4 * i + l] * dq[l];
      }
    }
    char what[120];
    snprintf(what, sizeof what, "%s, %s", name, names[k]);
    tgtDeriv d = {.name = what, .nx = m.turns ? 3 * rows : m.n, .ny = 1, .map = param_map, .ctx = &m, .tol = 10 * tolerance, .step = 1e-4};
    tgt_check_jacobian(&d, at, D);
    memcpy(value, keep, (size_t)(rows * cols) * sizeof *keep);
  }
  tg_param_grad_free(p);
}

static void derivatives(void **state) {
  (void)state;
  tgtRandom r = {21};
  for (int form = 0; form < 5; form++) {
    tgBarrierOptions o = tg_barrier_default();
    o.weight = 1e-3;
    o.friction = form % 2 == 0 ? TG_FRICTION_SLIP : TG_FRICTION_PLANE;
    o.hierarchy = form < 2 ? TG_HIERARCHY_MOMENT : TG_HIERARCHY_PAPER;
    o.friction_range = 1e3;
    tgAnyContactOptions local = options_of("sdrs", "weight=1e-3 local_range=0.1");
    Rig rig = form < 4 ? make_rig("barrier", &o.of) : make_rig("sdrs", &local.of);
    // the last state is out of the local barrier's reach
    for (int k = 0; k < (form < 4 ? 3 : 2); k++) {
      State x;
      char name[80];
      random_state(&rig, &r, (double[]){0.01, 0.05, 0.5}[k], (double[]){1e-5, 1e-4, 1e-3}[k], &x);
      snprintf(name, sizeof name, "form %d, state %d", form, k);
#ifndef TG_COMPLEX
      if ((form + k) % 3 > 0) continue;  // differences take long
#endif
      check_twists(&x, name);
#ifndef TG_COMPLEX
      if (form > 0 || k > 0) continue;  // differences of everything take too long
#endif
      check_parameters(&x, &r, name);
    }
    drop(&rig);
  }
}

// ---- where friction sets in with distance ----

// force of a pair's friction
static double scattered(tgSim *s, int pair) {
  const tgiLagged *lagged = &tgi_barrier_work(s)->lagged;
  double N = 0;
  for (int i = 0; i < lagged->start.npoint[pair]; i++) N += tgRe(lagged->start.point[lagged->start.first[pair] + i].N);
  for (int i = lagged->first_plane[pair]; i < lagged->first_plane[pair + 1]; i++)
    for (int v = 0; v < 3; v++) N += tgRe(lagged->plane[i].f[v]);
  return N;
}

// range of friction in which the pair has `share` of it
static double range_of(const State *x, int pair, double share) {
  double *range = &((tgiBarrier *)x->rig->c->data)->options.friction_range, low = 1e-3, high = 10;
  *range = 1e3;
  assert_int_equal(run(x, NULL, NULL), TG_OK);
  double all = scattered(x->rig->s, pair);
  assert_true(all > 0);
  for (int i = 0; i < 40; i++) {
    *range = sqrt(low * high);
    assert_int_equal(run(x, NULL, NULL), TG_OK);
    if (scattered(x->rig->s, pair) > share * all) high = *range; else low = *range;
  }
  return sqrt(low * high);
}

// on the way from none to all of it, near both ends and between; other pairs then have another part
static void reach(void **state) {
  (void)state;
  tgtRandom r = {22};
  const double share[] = {0.02, 0.5, 0.98};
  for (int form = 0; form < 4; form++) {
    tgBarrierOptions o = tg_barrier_default();
    o.weight = 1e-3;
    o.friction = form % 2 == 0 ? TG_FRICTION_SLIP : TG_FRICTION_PLANE;
    o.hierarchy = form < 2 ? TG_HIERARCHY_MOMENT : TG_HIERARCHY_PAPER;
    Rig rig = make_rig("barrier", &o.of);
    for (int k = 0; k < 3; k++) {
      State x;
      char name[80];
      random_state(&rig, &r, (double[]){0.02, 0.05, 0.15}[k], 1e-4, &x);
      int npair = tgi_barrier(rig.s)->npair, pair = (form + k) % npair;
      if (form % 2 == 1)   // only surfaces have planes
        while (tgi_barrier(rig.s)->pair[pair].plane) pair = (pair + 1) % npair;
      ((tgiBarrier *)rig.c->data)->options.friction_range = range_of(&x, pair, share[k]);
      snprintf(name, sizeof name, "form %d, pair %d with %g of its friction", form, pair, share[k]);
#ifndef TG_COMPLEX
      if (form != k) continue;   // differences take long
#endif
      check_twists(&x, name);
#ifndef TG_COMPLEX
      if (form > 0) continue;
#endif
      check_parameters(&x, &r, name);
    }
    drop(&rig);
  }
}

// ---- the limit of friction ----

// a box of 12 n^2 triangles over the floor, or over a box of 12 m^2
static Rig resting(int n, int m, double lambda, tgHierarchy hierarchy) {
  tgDesc *d = tg_desc_create(NULL);
  const double half[3] = {0.1, 0.1, 0.05}, below[3] = {0.5, 0.5, 0.05};
  int g = add_geom(d, 0, m == 0 ? TG_GEOM_PLANE : TG_GEOM_MESH, 0, 0, 1, lambda);
  if (m > 0) {
    d->geom[g].mesh = tgt_add_grid(d, "below", below, m);
    d->geom[g].pos[2] = -0.05;
  }
  int b = tg_desc_add_body(d, 0, "box");
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  d->body[b].has_inertial = true;
  d->body[b].mass = 1;
  for (int i = 0; i < 3; i++) d->body[b].inertia[i] = 0.01;
  g = add_geom(d, b, TG_GEOM_MESH, 0, 0, 0, lambda);
  d->geom[g].mesh = tgt_add_grid(d, "box", half, n);
  tgBarrierOptions o = tg_barrier_default();
  o.hierarchy = hierarchy;
  return rig_of_desc(d, "barrier", &o.of);
}

// force on the box at q1 = q0 moved along x: x and z
static void forces(int n, int m, double lambda, double gap, double slide, tgHierarchy hierarchy, double *fx, double *fz) {
  Rig rig = resting(n, m, lambda, hierarchy);
  tgSim *s = rig.s;
  const tgLaw *k = s->contact_model->kind->law;
  tgReal q[7] = {0, 0, 0.05 + gap, 1, 0, 0, 0};
  tgStatus status;
  do {
    s->h = h;
    tgi_stack_free(s, 0);
    tgi_kinematics(&s->m, q, &s->start);
    status = k->begin(s, h);
  } while (status == TG_ERR_CAPACITY && tg_sim_grow(s) == TG_OK);
  check_true(status == TG_OK, "%s", s->error.text);
  q[0] = slide;
  tgi_kinematics(&s->m, q, &s->start);
  assert_int_equal(k->evaluate(s, &s->start, TG_LAW_ENERGY | TG_LAW_POSE), TG_OK);
  assert_int_equal(s->nterm, 1);
  int at = s->term[0].body1 == 1 ? 0 : 6;
  *fx = tgRe(s->term[0].w[at + 3]);
  *fz = tgRe(s->term[0].w[at + 5]);
  drop(&rig);
}

// far above the slip speed friction is the coefficient times the normal force, however many triangles carry it
static void refinement(void **state) {
  (void)state;
  const double lambda = 0.6;
  for (int hierarchy = TG_HIERARCHY_MOMENT; hierarchy <= TG_HIERARCHY_PAPER; hierarchy++)
    for (int k = 0; k < 3; k++) {
      int n = (int[]){1, 7, 13}[k];
      for (int g = 0; g < 2; g++) {
        double gap = g == 0 ? 1e-3 : 1e-2, fx, fz, free_x, free_z;
        // the floor is the same everywhere: normal force at the start and after the slide are one
        forces(n, 0, lambda, gap, 1, (tgHierarchy)hierarchy, &fx, &fz);
        check_close(fx, -lambda * fz, 1e-10 * lambda * fz);
        if (n > 7) continue;
        // before a box the force that counts is that at the start; sideways forces of its edges are left out
        forces(n, n > 1 ? 5 : 1, lambda, gap, 2e-3, (tgHierarchy)hierarchy, &fx, &fz);
        forces(n, n > 1 ? 5 : 1, 0, gap, 2e-3, (tgHierarchy)hierarchy, &free_x, &free_z);
        forces(n, n > 1 ? 5 : 1, 0, gap, 0, (tgHierarchy)hierarchy, &fz, &fz);
        print_message("%d triangles, form %d, gap %g: %.6f of the coefficient times the normal force\n", 12 * n * n, hierarchy, gap,
                      (free_x - fx) / (lambda * fz));
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(refinement), cmocka_unit_test(derivatives), cmocka_unit_test(reach)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
