// test_minimise.c: the step of potential models on random trees with every kind of joint, actuators and tendons, with a
// made-up potential: the objective's derivatives, the step's Jacobian and adjoint in (q, v, u) and in parameters, by
// complex step and by Ridders.
#include <stdio.h>
#include <stdlib.h>

#include "math/ldl.h"
#include "step/made_up.h"
#include "step/objective.h"
#include "support/deriv.h"
#include "tangere/barrier.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-8;
#else
static const double tolerance = 1e-6;
#endif
static const double h = 0.01;
enum { TREES = 12, FLAGS = TGT_TREE_PASSIVE | TGT_TREE_ACTUATED | TGT_TREE_ENERGY | TGT_TREE_TIED };

// a random state within the joints' limits
static void random_state(tgSim *s, tgtRandom *r) {
  tgReal step[128];
  const tgModel *m = &s->m;
  tgt_random_state(s, r, false);
  for (int i = 0; i < m->nq; i++) s->qpos[i] = m->qpos0[i];
  for (int d = 0; d < m->nv; d++) step[d] = tgt_uniform(r, -0.7, 0.7);
  for (int j = 0; j < m->njnt; j++) {
    int d = m->jnt_vadr[j], a = m->jnt_qadr[j];
    if (!m->jnt_limited[j]) continue;
    // some near a limit, some on either side of where it begins to push
    double near = j % 3 == 0 ? 0.02 : j % 3 == 1 ? 0.31 : 0.9;
    if (m->jnt_type[j] == TG_JOINT_BALL) {
      double angle = tgRe(m->jnt_range[2 * j + 1]) - near * 0.7;
      step[d] = angle * 0.6, step[d + 1] = angle * 0.8, step[d + 2] = 0;
    } else {
      step[d] = (j % 2 == 0 ? m->jnt_range[2 * j] + near : m->jnt_range[2 * j + 1] - near) - m->qpos0[a];
    }
  }
  tg_model_integrate(m, s->qpos, step, s->qpos);
  // a tendon near its lower limit, and one where its upper limit begins to push
  tgReal *range = tg_sim_param(s, "ten_range", NULL, NULL);
  for (int t = 0; t < m->ntendon; t++) {
    tgReal length = tgi_tendon_length(m, t, s->qpos);
    range[2 * t] = length - (t == 0 ? 0.03 : 2.7);
    range[2 * t + 1] = length + (t == 0 ? 1 : 0.31);
  }
}

typedef struct Case { tgModel *m; tgContact contact; tgSim *s; } Case;

static Case make_case(int k, bool touching) {
  Case c = {.m = tgt_random_tree((uint64_t)(100 + k), 5, FLAGS | (k % 2 == 0 ? TGT_TREE_FREE : 0))};
  tgError e = {0};
  check_true(tgi_minimise_supports(c.m, &e) == TG_OK, "%s", e.text);
  c.contact = made_contact(c.m, touching);
  // springs of equalities that a random state stretches far
  made_options.equality_opening = 0.3;
  check_true(tgi_joint_inertias(&c.contact, true, &e) == TG_OK, "%s", e.text);
  return c;
}
static void make_sim(Case *c) {
  tgError e = {0};
  c->s = tg_sim_create(c->m, &c->contact, NULL, &e);
  check_true(c->s != NULL, "%s", e.text);
}
static void free_case(Case *c) {
  tg_sim_free(c->s);
  c->contact.alloc.free(c->contact.alloc.ctx, c->contact.limit_inertia);
  tg_model_free(c->m);
}

// ---- the objective ----

typedef struct Objective { tgSim *s; tgiObjective o; } Objective;

// the objective at coordinates q
static tgStatus evaluate_at(tgSim *s, const tgReal *q, tgiObjective *o) {
  tgi_kinematics(&s->m, q, &s->end);
  return tgi_objective_evaluate(s, &s->end, false, o);
}

static void retract_q(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(&((Objective *)ctx)->s->m, x, d, out);
}
static tgStatus energy(void *ctx, const tgReal *q, tgReal *y) {
  Objective *c = ctx;
  tgStatus status = evaluate_at(c->s, q, &c->o);
  *y = c->o.energy;
  return status;
}
static tgStatus gradient(void *ctx, const tgReal *q, tgReal *y) {
  Objective *c = ctx;
  tgStatus status = evaluate_at(c->s, q, &c->o);
  memcpy(y, c->o.g, (size_t)c->s->m.nv * sizeof *y);
  return status;
}

// The second derivative along exp is the symmetric part of that of the gradient in tangents at the moved point.
static void test_objective(void **state) {
  (void)state;
  for (int k = 0; k < TREES; k++) {
    tgtRandom r = {.s = (uint64_t)k};
    Case c = make_case(k, true);
    make_sim(&c);
    tgSim *s = c.s;
    const tgModel *m = &s->m;
    int nv = m->nv;
    random_state(s, &r);
    memcpy(s->start.q, s->qpos, (size_t)m->nq * sizeof(tgReal));
    memcpy(s->start.vel, s->qvel, (size_t)nv * sizeof(tgReal));
    Objective x = {.s = s};
    tgiPattern pattern = tgi_pattern_dense(nv);
    assert_true(tgi_objective_take(s, h, &x.o));
    x.o.pattern = &pattern;
    tgi_kinematics(&s->m, s->start.q, &s->start);
    assert_int_equal(made_begin(s, h), TG_OK);
    assert_int_equal(tgi_objective_begin(s, h), TG_OK);
    tgReal step[128], q[128], g[128], *H = malloc(sizeof(tgReal) * (size_t)(nv * nv)), *D = malloc(sizeof(tgReal) * (size_t)(nv * nv));
    // small in limited joints, so as to stay inside
    for (int d = 0; d < nv; d++) step[d] = tgt_uniform(&r, -0.005, 0.005);
    tg_model_integrate(m, s->start.q, step, q);
    assert_int_equal(evaluate_at(s, q, &x.o), TG_OK);
    assert_true(tgRe(x.o.energy) < INFINITY);
    memcpy(g, x.o.g, (size_t)nv * sizeof *g);
    tgi_objective_hessian(s, &s->end, &x.o, H);
    tgtDeriv d = {.name = "energy", .nx = m->nq, .nt = nv, .ny = 1, .map = energy, .retract = retract_q, .ctx = &x,
                  .tol = tolerance, .step = 1e-4};
    tgt_check_jacobian(&d, q, g);
    tgReal *work = malloc(sizeof(tgReal) * (size_t)(nv * nv + 8 * nv + 512));
    double *column = malloc(sizeof(double) * 2 * (size_t)nv), worst = 0, largest = 0;
    for (int j = 0; j < nv; j++) {
      tgiNumDiff n = {.nx = m->nq, .nt = nv, .ny = nv, .map = gradient, .retract = retract_q, .ctx = &x, .step = 1e-6, .analytic = true};
      tgReal *room = malloc(sizeof(tgReal) * tgi_numdiff_work(&n)), t[128];
      for (int i = 0; i < nv; i++) t[i] = i == j;
      assert_int_equal(tgi_numdiff(&n, q, t, TGI_SIDE_BOTH, column, column + nv, room), TG_OK);
      for (int i = 0; i < nv; i++) D[i * nv + j] = column[i];
      free(room);
    }
    for (int i = 0; i < nv; i++)
      for (int j = 0; j < nv; j++) {
        worst = fmax(worst, fabs(tgRe(H[i * nv + j] - H[j * nv + i])));
        largest = fmax(largest, fabs(tgRe(H[i * nv + j])));
        worst = fmax(worst, fabs(tgRe(H[i * nv + j] - (D[i * nv + j] + D[j * nv + i]) / 2)));
      }
    check_true(worst <= tolerance * largest, "tree %d: second derivative off by %.3g of %.3g", k, worst, largest);
    free(work);
    free(column);
    free(H);
    free(D);
    free_case(&c);
  }
}

// Free bodies at rest about their centres of mass: their tangents are the coordinates of definite.c, so that what it leaves of the pairs,
// H - M/h^2, is nowhere negative, but for curvatures below a thousandth of the inertia, which it leaves alone; before it was.
static void test_definite(void **state) {
  (void)state;
  int negative = 0;
  for (int k = 0; k < 20; k++) {
    tgtRandom r = {.s = (uint64_t)(40 + k)};
    tgDesc *desc = tg_desc_create(NULL);
    double reach[8] = {0};
    for (int b = 0; b < 5; b++) {
      int body = tg_desc_add_body(desc, 0, NULL);
      desc->body[body].has_inertial = true;
      desc->body[body].mass = 0.01;
      reach[body] = tgt_uniform(&r, 0.05, 0.4);
      for (int i = 0; i < 3; i++) {
        desc->body[body].inertia[i] = 0.01;
        desc->body[body].pos[i] = 5 + tgt_uniform(&r, -0.2, 0.2);
      }
      tg_desc_add_joint(desc, body, TG_JOINT_FREE, NULL);
    }
    for (int i = 0; i < 3; i++) desc->option.gravity[i] = 0;
    tgModel *m = tg_model_compile(desc, NULL, NULL);
    assert_non_null(m);
    tg_desc_free(desc);
    Case c = {.m = m, .contact = made_contact(m, true)};
    make_sim(&c);
    tgSim *s = c.s;
    int nv = m->nv;
    Objective x = {.s = s};
    tgiPattern pattern = tgi_pattern_dense(nv);
    assert_true(tgi_objective_take(s, h, &x.o));
    x.o.pattern = &pattern;
    memcpy(s->start.q, s->qpos, (size_t)m->nq * sizeof(tgReal));
    for (int d = 0; d < nv; d++) s->start.vel[d] = 0;
    tgi_kinematics(&s->m, s->start.q, &s->start);
    assert_int_equal(made_begin(s, h), TG_OK);
    for (int i = 0; i < made_terms(&c.contact); i++) ((MadeStart *)s->solver)[i].N = 0;   // friction is nowhere negative, and hides what is
    assert_int_equal(tgi_objective_begin(s, h), TG_OK);
    assert_int_equal(evaluate_at(s, s->start.q, &x.o), TG_OK);
    tgi_inertias(s, &s->start);
    tgi_mass_matrix(s, &s->start);
    tgReal *H = malloc(sizeof(tgReal) * (size_t)(2 * nv * nv)), *U = H + nv * nv;
    double largest = 0;
    tgi_objective_hessian(s, &s->end, &x.o, H);
    for (int i = 0; i < nv * nv; i++) largest = fmax(largest, fabs(tgRe(H[i])));
    for (int pass = 0; pass < 2; pass++) {
      for (int i = 0; i < nv * nv; i++) U[i] = H[i] + (i % (nv + 1) == 0 ? 1e-9 * largest : 0);
      tgi_block_add(&s->m, -0.998 / (h * h), s->M, U);
      bool definite = tgi_ldl_factor(nv, U, U);
      negative += pass == 0 && !definite;
      if (pass == 1) check_true(definite, "case %d", k);
      if (pass == 0) assert_true(tgi_objective_definite(s, &s->end, h, reach, &(tgiPatterned){&pattern, H}) || definite);
    }
    free(H);
    free_case(&c);
  }
  assert_true(negative == 20);
}

// ---- the step ----

typedef struct Map { tgSim *s; tgReal q1[128]; } Map;

static void set_state(tgSim *s, const tgReal *x) {
  const tgModel *m = &s->m;
  memcpy(s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(s->qvel, x + m->nq, (size_t)m->nv * sizeof *x);
  memcpy(s->ctrl, x + m->nq + m->nv, (size_t)m->nu * sizeof *x);
}
static void get_state(const tgSim *s, tgReal *x) {
  const tgModel *m = &s->m;
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)m->nv * sizeof *x);
  memcpy(x + m->nq + m->nv, s->ctrl, (size_t)m->nu * sizeof *x);
}
static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Map *k = ctx;
  tgSim *s = k->s;
  set_state(s, x);
  tgStatus status = tg_sim_step(s, h, NULL);
  if (status != TG_OK) return status;
  tg_model_difference(&s->m, k->q1, s->qpos, y);
  for (int d = 0; d < s->m.nv; d++) y[s->m.nv + d] = s->qvel[d];
  return TG_OK;
}
static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((Map *)ctx)->s->m;
  tg_model_integrate(m, x, d, out);
  for (int i = 0; i < m->nv + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

static void check_step(Case *c, tgtRandom *r) {
  tgSim *s = c->s;
  const tgModel *m = &s->m;
  int nv = m->nv, nt = 2 * nv + m->nu;
  Map k = {.s = s};
  tgReal x[384], g[128], v[192], out[192], *D = malloc(sizeof(tgReal) * (size_t)(2 * nv * nt));
  tgStepInfo info;
  get_state(s, x);
  tgStatus status = tg_sim_step(s, h, &info);
  check_true(status == TG_OK, "%s", s->error.text);
  assert_true(info.residual < 1e-12);
  assert_true(tgi_minimise_own(s)->shift == 0);
  memcpy(k.q1, s->qpos, (size_t)m->nq * sizeof(tgReal));
  tgGradInfo label;
  assert_int_equal(tg_sim_step_jacobian(s, D, &label), TG_OK);
  assert_int_equal(label.label, TG_GRAD_EXACT);
  for (int trial = 0; trial < 3; trial++) {
    tgt_random_vector(r, 2 * nv, g);
    tgt_random_vector(r, nt, v);
    assert_int_equal(tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, NULL, NULL), TG_OK);
    tgt_check_adjoint(D, 2 * nv, nt, g, v, out);
    // the stepper's own adds to what is there
    int clamps = 0;
    for (int i = 0; i < nt; i++) v[i] = 1;
    assert_int_equal(tgi_minimise_vjp(s, g, g + nv, v, v + nv, v + 2 * nv, NULL, &clamps), TG_OK);
    for (int i = 0; i < nt; i++) v[i] -= 1;
    tgt_check_near(v, out, nt, 1e-12);
    assert_int_equal(clamps, 0);
  }
  // frames are those of the start, whatever was asked
  tgReal frames[60];
  assert_true(3 * m->nbody <= 60);
  memcpy(frames, s->start.xpos, 3 * (size_t)m->nbody * sizeof *frames);
  int clamps = 0;
  assert_int_equal(tgi_stack_reserve_dense(s), TG_OK);
  assert_int_equal(tgi_minimise_jacobian(s, D, &clamps), TG_OK);
  tgt_check_near(s->start.xpos, frames, 3 * m->nbody, 0);
  tgi_kinematics(&s->m, x, &s->start);
  tgt_check_near(s->start.xpos, frames, 3 * m->nbody, 0);
  const int rows[2] = {nv, nv}, cols[3] = {nv, nv, m->nu};
  tgtDeriv d = {.name = "step", .nx = m->nq + nv + m->nu, .nt = nt, .ny = 2 * nv, .map = map, .retract = retract,
                .ctx = &k, .tol = tolerance, .step = 2e-4, .rows = rows, .nrows = 2, .cols = cols, .ncols = 3};
  tgt_check_jacobian(&d, x, D);
  free(D);
}

static void test_step(void **state) {
  (void)state;
  for (int k = 0; k < 2 * TREES; k++) {
    tgtRandom r = {.s = (uint64_t)(1000 + k)};
    Case c = make_case(k / 2, k % 2 == 0);
    make_sim(&c);
    random_state(c.s, &r);
    check_step(&c, &r);
    free_case(&c);
  }
}

// ---- with the barrier ----

// a box that falls on the floor and is struck by a jointed arm of two boxes
static tgModel *struck_box(void) {
  tgDesc *d = tg_desc_create(NULL);
  tgError e = {0};
  tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
  int box = tg_desc_add_body(d, 0, NULL), upper = tg_desc_add_body(d, 0, NULL), lower = tg_desc_add_body(d, upper, NULL), g;
  tg_desc_add_joint(d, box, TG_JOINT_FREE, NULL);
  tg_desc_add_joint(d, upper, TG_JOINT_BALL, NULL);
  int hinge = tg_desc_add_joint(d, lower, TG_JOINT_HINGE, NULL);
  d->joint[hinge].axis[0] = 0;
  d->joint[hinge].axis[1] = 1;
  d->joint[hinge].axis[2] = 0;
  const int body[3] = {box, upper, lower};
  const double size[3][3] = {{0.1, 0.13, 0.08}, {0.03, 0.04, 0.15}, {0.05, 0.03, 0.1}},
               pos[3][3] = {{0, 0, 0.11}, {-0.22, 0, 0.55}, {0, 0, -0.32}};
  for (int i = 0; i < 3; i++) {
    g = tg_desc_add_geom(d, body[i], TG_GEOM_BOX, NULL);
    for (int k = 0; k < 3; k++) {
      d->geom[g].size[k] = size[i][k];
      d->body[body[i]].pos[k] = pos[i][k];
    }
    d->geom[g].pos[2] = i == 0 ? 0 : -0.1;
  }
  int a = tg_desc_add_actuator(d, TG_TRN_JOINT, hinge, NULL);
  d->actuator[a].gear[0] = 1;
  d->actuator[a].gain[0] = 1;
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  return m;
}

static void test_barrier(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    tgBarrierOptions o = tg_barrier_default();
    tgError e = {0};
    tgtRandom r = {.s = (uint64_t)k};
    Case c = {.m = struck_box()};
    o.hierarchy = k == 1 ? TG_HIERARCHY_PAPER : TG_HIERARCHY_MOMENT;
    o.weight = k == 2 ? 1e-5 : 1e-4;
    tgContact *contact = tg_contact_create(c.m, "barrier", &o.of, &e);
    check_true(contact != NULL, "%s", e.text);
    c.s = tg_sim_create(c.m, contact, NULL, &e);
    check_true(c.s != NULL, "%s", e.text);
    c.s->qvel[0] = 0.4;
    c.s->qvel[4] = 0.3;
    c.s->qvel[7] = -3;
    c.s->ctrl[0] = -0.5;
    double nearest = INFINITY;
    for (int step = 0; step < 30; step++) {
      tgStatus status = tg_sim_step(c.s, h, NULL);
      check_true(status == TG_OK, "step %d: %s", step, c.s->error.text);
      nearest = fmin(nearest, c.s->info.least_distance);
      if (step % 15 != 14) continue;
      tgReal x[64];
      get_state(c.s, x);
      check_step(&c, &r);
      set_state(c.s, x);
    }
    check_true(nearest < 0.01, "nothing came near: %g", nearest);
    tg_sim_free(c.s);
    tg_contact_free(contact);
    tg_model_free(c.m);
  }
}

// ---- parameters ----

typedef struct Param { tgSim *s; tgReal x[384], q1[128], w[256], *dir, *nominal; const char *name; bool timestep; } Param;

static tgStatus loss_of_param(void *ctx, const tgReal *x, tgReal *y) {
  Param *c = ctx;
  tgSim *s = c->s;
  int rows, cols, nv = s->m.nv;
  tgReal out[256], *value = tgi_sim_param(s, c->name, &rows, &cols);
  for (int i = 0; i < rows * cols; i++) value[i] = c->nominal[i] + x[0] * c->dir[i];
  set_state(s, c->x);
  tgStatus status = TG_OK;
#ifdef TG_COMPLEX
  if (c->timestep) return TG_ERR_UNSUPPORTED;
#endif
  status = tg_sim_step(s, c->timestep ? h + tgRe(x[0]) : h, NULL);
  tg_model_difference(&s->m, c->q1, s->qpos, out);
  for (int d = 0; d < nv; d++) out[nv + d] = s->qvel[d];
  *y = 0;
  for (int i = 0; i < 2 * nv; i++) *y += c->w[i] * out[i];
  for (int i = 0; i < rows * cols; i++) value[i] = c->nominal[i];
  return status;
}

// is the parameter one that moves the step
static bool check_param(Case *c, const char *name, tgtRandom *r) {
  tgSim *s = c->s;
  const tgModel *m = &s->m;
  int nv = m->nv, rows, cols;
  tgReal *value = tgi_sim_param(s, name, &rows, &cols);
  if (rows * cols == 0) return false;
  int n = rows * cols;
  Param k = {.s = s, .name = name, .timestep = strcmp(name, "opt_timestep") == 0, .dir = malloc(sizeof(tgReal) * (size_t)n),
             .nominal = malloc(sizeof(tgReal) * (size_t)n)};
#ifdef TG_COMPLEX
  if (k.timestep) {
    free(k.dir);
    free(k.nominal);
    return false;
  }
#endif
  memcpy(k.nominal, value, sizeof(tgReal) * (size_t)n);
  // a contact model's numbers by a share of themselves, as they are positive
  bool number = strncmp(name, "contact.", 8) == 0;
  for (int i = 0; i < n; i++) k.dir[i] = number ? value[i] : tgt_normal(r);
  tgi_param_tangent(m, name, rows, cols, value, k.dir);
  if (k.timestep) k.dir[0] = 1;
  get_state(s, k.x);
  tgt_random_vector(r, 2 * nv, k.w);
  tgStatus status = tg_sim_step(s, h, NULL);
  check_true(status == TG_OK, "%s: %d %s", name, status, s->error.text);
  memcpy(k.q1, s->qpos, (size_t)m->nq * sizeof(tgReal));
  tgError e = {0};
  tgParamGrad *p = tg_param_grad_create_contact(s->contact_model, &name, 1, NULL, &e);
  check_true(p != NULL, "%s: %s", name, e.text);
  status = tg_sim_step_vjp(s, k.w, k.w + nv, NULL, NULL, NULL, p, NULL);
  check_true(status == TG_OK, "%s: %d %s", name, status, s->error.text);
  tgReal ours = 0, zero[1] = {0}, *g = tg_param_grad_values(p, NULL);
  for (int i = 0; i < n; i++) ours += g[i] * k.dir[i];
  tgiNumDiff d = {.nx = 1, .nt = 1, .ny = 1, .map = loss_of_param, .ctx = &k, .step = k.timestep ? 1e-5 : 1e-4, .analytic = true};
  tgReal work[64], one[1] = {1};
  double D, error;
  assert_true(tgi_numdiff_work(&d) <= 64);
  check_true(tgi_numdiff(&d, zero, one, TGI_SIDE_BOTH, &D, &error, work) == TG_OK, "%s: %s", name, s->error.text);
  check_true(fabs(tgRe(ours) - D) <= 10 * tolerance * fmax(fabs(D), 1e-2), "%s: %.15g, differences give %.15g (%.2g)",
             name, tgRe(ours), D, error);
  tg_param_grad_free(p);
  set_state(s, k.x);
  free(k.dir);
  free(k.nominal);
  return fabs(D) > 1e-7;
}

static void test_parameters(void **state) {
  (void)state;
  static const char *const must[] = {"eq_anchor", "eq_relpos", "eq_polycoef", "ten_range", "ten_stiffness",
                                     "ten_damping", "ten_frictionloss", "ten_lengthspring", "jnt_range",
                                     "jnt_stiffness", "jnt_actfrcrange", "dof_damping", "dof_frictionloss",
                                     "dof_armature", "act_gear", "act_gain", "act_bias", "act_ctrlrange",
                                     "act_forcerange", "contact.equality_opening", "contact.limit_range",
                                     "contact.slip_speed", "contact.weight"};
  int acts[sizeof must / sizeof *must] = {0};
  for (int k = 0; k < 7; k++) {
    tgtRandom r = {.s = (uint64_t)(2000 + k)};
    Case c = make_case(k, k % 2 == 0 || k == 3);
    make_sim(&c);
    *tg_sim_param(c.s, "contact.weight", NULL, NULL) = 1;   // so that limits push
    random_state(c.s, &r);
    int models = 0;
    while (tg_param_name(models) != NULL) models++;
    for (int i = 0; i < models || tg_contact_param_name(&c.contact, i - models) != NULL; i++) {
      const char *name = i < models ? tg_param_name(i) : tg_contact_param_name(&c.contact, i - models);
      bool moves = check_param(&c, name, &r);
      for (size_t n = 0; n < sizeof must / sizeof *must; n++) acts[n] += moves && strcmp(must[n], name) == 0;
    }
    free_case(&c);
  }
  for (size_t n = 0; n < sizeof must / sizeof *must; n++) check_true(acts[n] > 0, "no state moves with %s", must[n]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_objective), cmocka_unit_test(test_definite),
                                     cmocka_unit_test(test_step), cmocka_unit_test(test_barrier),
                                     cmocka_unit_test(test_parameters)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
