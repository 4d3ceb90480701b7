// test_damped.c: what the model makes of a scene: fields of meshes kept with the model, the numbers that forces go by, and parameters
// that have no derivative.
#include <stdlib.h>

#include "base/memory.h"
#include "base/threads.h"
#include "contact/damped/damped.h"
#include "contact/damped/proxy.h"
#include "math/quat.h"
#include "sim/param.h"
#include "support/alloc.h"
#include "support/deriv.h"
#include "support/rig.h"

// two geoms of one mesh and scale, one of another scale
static const char *const meshes =
    "<mujoco><asset><mesh name='m' vertex='-.1 -.08 -.05 .1 -.08 -.05 .1 .08 -.05 -.1 .08 -.05 -.03 -.05 .06 .05 .02 .07'/>"
    "<mesh name='n' vertex='-.1 -.08 -.05 .1 -.08 -.05 .1 .08 -.05 -.1 .08 -.05 -.03 -.05 .06 .05 .02 .07' scale='2 2 2'/></asset>"
    "<worldbody><geom type='plane' size='5 5 .1'/><geom name='a' type='mesh' mesh='m' pos='0 0 .3'/>"
    "<body pos='0 0 1'><freejoint/><geom name='b' type='mesh' mesh='m'/></body>"
    "<body pos='0 0 2'><freejoint/><geom name='c' type='mesh' mesh='n'/></body>"
    "<body pos='0 1 2'><freejoint/><geom name='d' size='.1'/></body></worldbody></mujoco>";

static const tgiMeshField *field_of(const tgContact *c, const char *name) {
  return ((const tgiDamped *)c->data)->mesh[tg_model_find(c->model, TG_THING_GEOM, name)];
}

static tgContact *make(const tgModel *m, const char *settings) {
  tgAnyContactOptions o = options_of("damped", settings);
  tgError e = {0};
  tgContact *c = tg_contact_create(m, "damped", &o.of, &e);
  check_true(c != NULL, "%s", e.text);
  return c;
}

// One field for all geoms and contact models that want the same; another for other cells. It is what a model of its own makes.
static void test_kept(void **state) {
  (void)state;
  Rig rig = rig_of_text(meshes, "damped", NULL), own = rig_of_text(meshes, "damped", NULL);
  tgContact *same = make(rig.m, "law=penalty spacing=.03"), *other = make(rig.m, "mesh_cells=12"), *hull = make(rig.m, "mesh=hull");
  assert_ptr_equal(field_of(rig.c, "a"), field_of(rig.c, "b"));
  assert_ptr_not_equal(field_of(rig.c, "a"), field_of(rig.c, "c"));
  assert_ptr_equal(field_of(rig.c, "a"), field_of(same, "a"));
  assert_ptr_equal(field_of(rig.c, "c"), field_of(same, "c"));
  assert_ptr_not_equal(field_of(rig.c, "a"), field_of(other, "a"));
  assert_ptr_not_equal(field_of(rig.c, "a"), field_of(hull, "a"));
  assert_int_equal(field_of(hull, "a")->proxies.n, 0);
  // kept beyond who made it
  const tgiMeshField *kept = field_of(rig.c, "a");
  tg_contact_free(same);
  same = make(rig.m, "");
  assert_ptr_equal(field_of(same, "a"), kept);
  const tgiMeshField *fresh = field_of(own.c, "a");
  assert_ptr_not_equal(fresh, kept);
  assert_int_equal(tgi_distance_grid_bytes(&fresh->grid), tgi_distance_grid_bytes(&kept->grid));
  assert_memory_equal(fresh->grid.coef, kept->grid.coef, tgi_distance_grid_bytes(&kept->grid));
  tg_contact_free(same);
  tg_contact_free(other);
  tg_contact_free(hull);
  drop(&rig);
  drop(&own);
}

enum { THREADS = 4, MADE = 12 };
typedef struct Many { const tgModel *m; tgContact *c[MADE]; } Many;

static void make_one(void *ctx, int worker, int i) {
  (void)worker;
  Many *k = ctx;
  k->c[i] = tg_contact_create(k->m, "damped", NULL, NULL);
}

// threads that make contact models of one model at once have one field
static void test_threads(void **state) {
  (void)state;
  Rig rig = rig_of_text(meshes, "lcp", NULL);
  tgAllocator a = tgi_allocator(NULL);
  tgiPool *pool = tgi_pool_create(THREADS, &a);
  Many k = {.m = rig.m};
  assert_int_equal(tgi_pool_run(pool, MADE, make_one, &k), TG_OK);
  for (int i = 0; i < MADE; i++) {
    assert_non_null(k.c[i]);
    assert_ptr_equal(field_of(k.c[i], "a"), field_of(k.c[0], "b"));
    assert_ptr_equal(field_of(k.c[i], "c"), field_of(k.c[0], "c"));
  }
  for (int i = 0; i < MADE; i++) tg_contact_free(k.c[i]);
  tgi_pool_free(pool);
  drop(&rig);
}

// grids are told once each, with the memory that they take
static void test_grids(void **state) {
  (void)state;
  Rig rig = rig_of_text(meshes, "damped", NULL);
  tgContactGrid g[3];
  assert_true(tg_contact_grid(rig.c, 0, &g[0]) && tg_contact_grid(rig.c, 1, &g[1]));
  assert_false(tg_contact_grid(rig.c, 2, &g[2]));
  assert_int_equal(g[0].geom, tg_model_find(rig.m, TG_THING_GEOM, "a"));
  assert_int_equal(g[1].geom, tg_model_find(rig.m, TG_THING_GEOM, "c"));
  // 32 cells of 0.2 m and of 0.4 m
  for (int i = 0; i < 2; i++) {
    check_close(g[i].spacing, (i + 1) * 0.2 / 32, 1e-12);
    assert_int_equal(g[i].nodes[0], 32 + 1 + 2 * TGI_GRID_MARGIN);
    assert_int_equal(g[i].bytes, 8 * (size_t)g[i].nodes[0] * (size_t)g[i].nodes[1] * (size_t)g[i].nodes[2]);
    check_true(g[i].error > 0 && g[i].error < g[i].spacing, "%g", g[i].error);
    check_true(g[i].depth > 0.02 && g[i].depth < 0.1 * (i + 1), "%g", g[i].depth);
  }
  drop(&rig);
  rig = rig_of_text(meshes, "lcp", NULL);
  assert_false(tg_contact_grid(rig.c, 0, &g[0]));
  drop(&rig);
}

// sigma, k and tau of a ball on a plane, by [math/damped Laws]
static void test_laws(void **state) {
  (void)state;
  static const char *const ball =
      "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 1'><freejoint/><geom size='.1' mass='2'/></body></worldbody>"
      "</mujoco>";
  const double N = 2 * 9.80665, gap = 0.002, h = 0.01, tau = 2 * sqrt(gap / 9.80665);
  static const char *const settings[] = {"resting_gap=.002", "resting_gap=.002 rule=midpoint damping_ratio=.5",
                                         "resting_gap=.002 law=penalty", "law=penalty resting_gap=.002 stiffness=800",
                                         "resting_gap=.002 damping_time=.3", "resting_gap=.002 law=barrier_c2 onset=.01",
                                         "resting_gap=.002 law=signorini"};
  // barrier_c2: N = c (l - g)^2 log(l/g)/l, and minus its slope
  const double u = 0.008, c2 = N * 0.01 / (u * u * log(5)), k2 = c2 * (2 * u * log(5) + u * u / gap) / 0.01;
  const double strength[] = {N * gap, N * gap, N / gap, 800, N * gap, c2, 1e-4 * N * gap},
               stiffness[] = {N / gap, N / gap, NAN, NAN, N / gap, k2, 1e4 * N / gap},
               time[] = {tau, 0.5 * tau - h / 2, tau, 2 * sqrt(2 / 800.0), 0.3, 2 * sqrt(2 / k2), tau};
  for (int i = 0; i < 7; i++) {
    tgAnyContactOptions o = options_of("damped", settings[i]);
    Rig rig = rig_of_text(ball, "damped", &o.of);
    tgContactLaw x;
    assert_true(tg_contact_law(rig.c, 0, h, &x));
    check_close(x.weight, N, 1e-12);
    check_close(x.resting_gap, i == 6 ? 1e-4 * gap : gap, 1e-12);
    check_close(x.strength, strength[i], 1e-12);
    if (!isnan(stiffness[i])) check_close(x.stiffness / stiffness[i], 1, 1e-12);
    check_close(x.damping_time, time[i], 1e-12);
    assert_true(x.left_out == 0 && x.reach == (i == 5 ? 0.01 : INFINITY));   // nothing is left out without a reach
    assert_false(tg_contact_law(rig.c, 1, h, &x));
    drop(&rig);
  }
  Rig rig = rig_of_text(ball, "lcp", NULL);
  tgContactLaw x;
  assert_false(tg_contact_law(rig.c, 0, h, &x));
  drop(&rig);
}

// Undamped, `signorini` is the closed form of a thing that falls freely, stands, and slides until friction has stopped it.
static void test_signorini(void **state) {
  (void)state;
  const double h = 0.005, g = 9.80665, gap = 1e-4, mu = 0.4;
  tgAnyContactOptions o = options_of("damped", "law=signorini resting_gap=1e-4 damping_ratio=0 slip_speed=1e-5");
  Rig rig = rig_of_text("<mujoco><option gravity='0 0 -9.80665'/><worldbody><geom name='floor' type='plane' size='5 5 .1' friction='.4'/>"
                        "<body pos='0 0 .3'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
                        "<geom name='ball' size='.1' mass='2' friction='.4'/></body></worldbody></mujoco>", "damped", &o.of);
  tgSim *s = rig.s;
  tgGradInfo info;
  double z = 0.3, vz = 0, vx = 1, x = 0, D[16];
  s->qvel[0] = vx;
  for (int k = 0; k < 120; k++) {
    double fall = vz - g * h, stand = (0.1 - z) / h;
    assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
    double push = fmax(0, stand - fall);   // normal impulse over the mass
    vz = fmax(fall, stand);
    vx = fmax(0, vx - mu * push);
    z += h * vz;
    x += h * vx;
    // what pushes while it falls, 1e-4 of the weight a resting gap away, and the gap at which it stands
    check_close(s->qpos[1] + 0.3, z, 1e-7);
    check_close(s->qpos[0], x, 1e-4);
    assert_int_equal(tg_sim_step_jacobian(s, D, &info), TG_OK);
    check_true(info.label == TG_GRAD_EXACT, "step %d: %s", k, info.reason);
  }
  check_true(vx == 0 && fabs(s->qvel[0]) <= 1e-4, "slides at %g", s->qvel[0]);
  check_close(s->qpos[1] + 0.2, 1e-4 * gap, 1e-4 * gap * 1e-2);
  // a hundredth of the resting gap away, without weight: pushed by a hundredth of it
  s->qfrc_applied[1] = 2 * g;
  s->qpos[1] = -0.2 + 0.01 * gap;
  s->qvel[0] = s->qvel[1] = 0;
  assert_int_equal(tg_sim_step(s, 1e-5, NULL), TG_OK);
  assert_int_equal(tg_sim_step_jacobian(s, D, &info), TG_OK);
  check_true(info.label == TG_GRAD_ONE_SIDED && info.ties == 1 && strstr(info.reason, "ball") != NULL,
             "label %d, %d ties: %s", info.label, info.ties, info.reason);
  drop(&rig);
}

// ---- reach ----

// The window lets the force fall to 0 without a jump of its slope, and takes no more of it than is told.
static void test_window(void **state) {
  (void)state;
  Rig rig = rig_of_text("<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 1'><freejoint/><geom size='.1' mass='2'/>"
                        "</body></worldbody></mujoco>", "damped", NULL);
  const tgiDampedPair *pair = &((const tgiDamped *)rig.c->data)->pair[0];
  for (int law = 0; law < 5; law++) {
    static const char *const settings[] = {"reach=.1 resting_gap=.002", "reach=.1 resting_gap=.002 law=penalty",
                                           "reach=.016 resting_gap=.002 law=barrier", "reach=.016 resting_gap=.002 law=barrier_c2",
                                           "reach=.1 resting_gap=.002 law=signorini"};
    const double reach = law == 2 || law == 3 ? 0.016 : 0.1;
    tgContact *c = make(rig.m, settings[law]);
    tgReal from[6] = {0.002, 1, 0, 0, 0, 0.01};
    tgiDampedNumbers n, whole;
    tgContactLaw told;
    tgi_damped_numbers_of(c, pair, from, (tgiJets){0, 1}, &n);
    whole = n;
    whole.reach = 0;
    assert_true(tg_contact_law(c, 0, 0.01, &told));
    check_close(told.reach, reach, 1e-12);
    double last = INFINITY, most = 0;
    for (int i = 1; i <= 400; i++) {
      double g = reach * i / 320, w = reach * 1e-6, slope, turn[2];
      tgiDampedForce at, before, after, law_at;
      tgi_damped_force(&n, g, &at);
      tgi_damped_force(&n, g - w, &before);
      tgi_damped_force(&n, g + w, &after);
      tgi_damped_force(&whole, g, &law_at);
      check_true(tgRe(at.f) <= last, "rises at %g", g);
      last = tgRe(at.f);
      most = fmax(most, tgRe(law_at.f - at.f));
      check_true(g > reach / 2 || tgRe(law_at.f - at.f) == 0, "%g", g);
      check_true(g < reach || (tgRe(at.f) == 0 && tgRe(at.slope) == 0), "%g", g);
      slope = tgRe(after.f - before.f) / (2 * w);
      check_true(fabs(slope - tgRe(at.slope)) <= 1e-6 * fabs(slope) + 1e-9 * told.stiffness, "%g of %g at %g", tgRe(at.slope), slope, g);
      // the second derivative has no jump, which would be of several left_out/reach^2
      turn[0] = tgRe(at.slope - before.slope) / w;
      turn[1] = tgRe(after.slope - at.slope) / w;
      check_true(g < 0.45 * reach || fabs(turn[1] - turn[0]) <= 0.02 * told.left_out / (reach * reach), "%g, %g at %g", turn[0], turn[1],
                 g);
      // and its inverse
      if (tgRe(at.f) > 0 && law != 1) {
        tgiDampedForce back;
        tgi_damped_force(&n, tgi_damped_gap(&n, tgRe(at.f), 2 * reach), &back);
        check_true(fabs(tgRe(back.f - at.f)) <= 1e-6 * tgRe(at.f) + 1e-12, "%g at %g", tgRe(back.f), g);
      }
    }
    check_true(most <= told.left_out * (1 + 1e-12) && most > 0.1 * told.left_out, "%g of %g", most, told.left_out);
    tg_contact_free(c);
  }
  tgAnyContactOptions o = options_of("damped", "reach=.005 resting_gap=.002");
  tgError e = {0};
  assert_null(tg_contact_create(rig.m, "damped", &o.of, &e));
  check_true(e.status == TG_ERR_INVALID && strstr(e.text, "reach is 0.005") != NULL && strstr(e.text, "geom") != NULL, "'%s'", e.text);
  drop(&rig);
}

// no gradient of a field is longer than its steepness
static void test_steepness(void **state) {
  (void)state;
  static const double size[3] = {0.1, 0.06, 0.08};
  Rig rig = rig_of_text(meshes, "damped", NULL);
  tgtRandom r = {.s = 7};
  const tgGeomType types[] = {TG_GEOM_SPHERE, TG_GEOM_CAPSULE, TG_GEOM_BOX, TG_GEOM_CYLINDER, TG_GEOM_ELLIPSOID, TG_GEOM_MESH};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    bool mesh = types[t] == TG_GEOM_MESH;
    const double one[3] = {1, 1, 1};
    tgReal now[3] = {size[0], size[1], size[2]}, scale[3] = {1.2, 0.9, 1};
    tgiField f = tgi_field_make(types[t], mesh ? one : size, mesh ? &field_of(rig.c, "a")->grid : NULL);
    f.size = mesh ? scale : now;
    double most = 0, is = tgi_field_steepness(&f);
    for (int k = 0; k < 20000; k++) {
      tgReal y[3];
      tgiJet G;
      for (int i = 0; i < 3; i++) y[i] = tgt_uniform(&r, -0.2, 0.2);
      tgi_field(&f, y, (tgiJets){3, 1}, &G);
      // within an ellipsoid beyond its focal set nearest points jump
      if (types[t] == TG_GEOM_ELLIPSOID && tgRe(G.f) < -0.03) continue;
      most = fmax(most, sqrt(tgRe(G.d[0] * G.d[0] + G.d[1] * G.d[1] + G.d[2] * G.d[2])));
    }
    check_true(most <= is * (1 + 1e-9) && (mesh || most > 0.9 * is), "type %d: %g of at most %g", types[t], most, is);
  }
  drop(&rig);
}

// bodies near and far, of which some come nearer in the step
static const char *const spread =
    "<mujoco><asset><mesh name='m' vertex='-.1 -.08 -.05 .1 -.08 -.05 .1 .08 -.05 -.1 .08 -.05 -.03 -.05 .06 .05 .02 .07'/></asset>"
    "<default><geom density='2000'/></default><worldbody><geom type='plane' size='5 5 .1'/>"
    "<body pos='0 0 .12'><freejoint/><geom type='mesh' mesh='m'/></body>"
    "<body pos='.3 0 .12'><freejoint/><geom type='box' size='.06 .08 .1'/></body>"
    "<body pos='.6 .1 .15'><freejoint/><geom type='capsule' size='.05 .07' euler='40 10 0'/></body>"
    "<body pos='.5 -.3 .3'><freejoint/><geom type='cylinder' size='.07 .06'/></body>"
    "<body pos='0 .35 .4'><freejoint/><geom type='ellipsoid' size='.09 .06 .07'/></body>"
    "<body pos='0 0 .45'><freejoint/><geom size='.08'/></body></worldbody></mujoco>";

// Passing over what is far changes nothing: against all proxies of all pairs, in step, derivatives and parameters.
static void test_plain_twin(void **state) {
  (void)state;
  static const char *const settings[] = {"reach=.1 resting_gap=.003", "reach=.15 law=penalty resting_gap=.003 rule=midpoint",
                                         "law=barrier resting_gap=.003", "", "law=barrier_c2 resting_gap=.003",
                                         "law=signorini reach=.1 resting_gap=.003"};
  tgtRandom r = {.s = 11};
  int less = 0, compared = 0;
  for (int k = 0; k < 6; k++) {
    tgAnyContactOptions o = options_of("damped", settings[k]);
    Rig fast = rig_of_text(spread, "damped", &o.of), plain = rig_of_text(spread, "damped", &o.of);
    ((tgiDamped *)plain.c->data)->plain = true;
    int nv = fast.m->nv, np;
    const double close = k == 5 ? 1e-6 : 1e-8;   // the last is 1e4 times as stiff
    double *D[2] = {malloc(sizeof(double) * (size_t)(4 * nv * nv)), malloc(sizeof(double) * (size_t)(4 * nv * nv))}, g[72];
    tgParamGrad *p[2] = {tg_param_grad_create_contact(fast.c, NULL, 0, NULL, NULL),
                         tg_param_grad_create_contact(plain.c, NULL, 0, NULL, NULL)};
    for (int trial = 0; trial < 6; trial++) {
      double step[36];
      for (int d = 0; d < nv; d++) {
        step[d] = tgt_uniform(&r, -0.02, 0.02);
        fast.s->qvel[d] = plain.s->qvel[d] = tgt_uniform(&r, -1, 1) * (trial < 3 ? 1 : 2);
      }
      tg_model_integrate(fast.m, fast.m->qpos0, step, fast.s->qpos);
      memcpy(plain.s->qpos, fast.s->qpos, (size_t)fast.m->nq * sizeof *step);
      tgStatus status = tg_sim_step(fast.s, 0.01, NULL);
      check_true(tg_sim_step(plain.s, 0.01, NULL) == status, "%s; %s", fast.s->error.text, plain.s->error.text);
      if (status != TG_OK) continue;
      compared++;
      less += fast.s->nterm < plain.s->nterm;
      check_true(k != 3 || fast.s->nterm == plain.s->nterm, "%d of %d", fast.s->nterm, plain.s->nterm);
      for (int i = 0; i < nv; i++) check_close(fast.s->qvel[i], plain.s->qvel[i], 1e-11);
      assert_int_equal(tg_sim_step_jacobian(fast.s, D[0], NULL), TG_OK);
      assert_int_equal(tg_sim_step_jacobian(plain.s, D[1], NULL), TG_OK);
      for (int i = 0; i < 4 * nv * nv; i++) check_close(D[0][i], D[1][i], close * fmax(1, fabs(D[1][i])));
      for (int i = 0; i < 2 * nv; i++) g[i] = sin(1 + i);
      tg_param_grad_clear(p[0]);
      tg_param_grad_clear(p[1]);
      assert_int_equal(tg_sim_step_vjp(fast.s, g, g + nv, NULL, NULL, NULL, p[0], NULL), TG_OK);
      assert_int_equal(tg_sim_step_vjp(plain.s, g, g + nv, NULL, NULL, NULL, p[1], NULL), TG_OK);
      const double *a = tg_param_grad_values(p[0], &np), *b = tg_param_grad_values(p[1], NULL);
      for (int i = 0; i < np; i++) check_close(a[i], b[i], close * fmax(1, fabs(b[i])));
    }
    for (int i = 0; i < 2; i++) {
      free(D[i]);
      tg_param_grad_free(p[i]);
    }
    drop(&fast);
    drop(&plain);
  }
  print_message("%d steps compared, %d with pairs passed over\n", compared, less);
  check_true(compared >= 20 && less >= 15, "%d, %d", compared, less);
}

// ---- planes that move ----

// a plane on two joints, and a box on it that slides on a joint of its own
static const char *const lifted =
    "<mujoco><worldbody><body name='floor'><inertial pos='0 0 0' mass='100' diaginertia='100 100 100'/>"
    "<joint type='slide' axis='0 0 1'/><joint type='hinge' axis='0 1 0'/><geom name='ground' type='plane' size='1 1 1'/></body>"
    "<body name='box' pos='.3 0 .102'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body></worldbody></mujoco>";

// Other contact models refuse a plane that moves, by name; two planes never meet, and what a plane moves with it does not.
static void test_moving_planes(void **state) {
  (void)state;
  tgError e = {0};
  Rig rig = rig_of_text(lifted, "damped", NULL);
  for (int i = 0; tg_contact_words(i) != NULL; i++) {
    const char *word = tg_contact_words(i);
    tgContact *c = tg_contact_create(rig.m, word, NULL, &e);
    if (strcmp(word, "damped") != 0) {
      check_true(c == NULL && e.status == TG_ERR_UNSUPPORTED, "%s", word);
      check_true(strstr(e.text, "ground") != NULL && strstr(e.text, "floor") != NULL && strstr(e.text, word) != NULL, "'%s'", e.text);
    }
    tg_contact_free(c);
  }
  // it lifts the box, whose weight it feels
  for (int k = 0; k < 100; k++) {
    rig.s->qfrc_applied[0] = 101 * 9.81 + 101 * 0.5;   // both up at 0.5 m/s^2
    rig.s->qfrc_applied[1] = 9.81 * -0.3;
    check_true(tg_sim_step(rig.s, 0.01, NULL) == TG_OK, "%s", rig.s->error.text);
  }
  check_true(rig.s->qvel[0] > 0.4 && fabs(rig.s->qvel[4] - rig.s->qvel[0]) < 0.05, "%g and %g", rig.s->qvel[0], rig.s->qvel[4]);
  drop(&rig);
}

// ---- parameters ----

static bool left_out(const tgParamGrad *p, const char *name, tgError *why) {
  const char *is;
  for (int i = 0; (is = tg_param_grad_left_out(p, i, why)) != NULL; i++)
    if (strcmp(is, name) == 0) return true;
  return false;
}

// A request for all has what has a derivative, as each of them by itself; what has none is told, with the reason.
static void test_all_parameters(void **state) {
  (void)state;
  static const struct { const char *settings; bool vert, gap; } cases[] = {
      {"", false, false}, {"resting_gap=.001 onset=.001 stiffness=1", false, true}};
  for (int i = 0; i < 2; i++) {
    tgAnyContactOptions o = options_of("damped", cases[i].settings);
    Rig rig = rig_of_text(meshes, "damped", &o.of);
    tgError e = {0};
    tgParamGrad *all = tg_param_grad_create_contact(rig.c, NULL, 0, NULL, &e);
    check_true(all != NULL, "%s", e.text);
    assert_int_equal(left_out(all, "contact.resting_gap", &e), !cases[i].gap);
    if (!cases[i].gap) check_true(strstr(e.text, "contact.resting_gap is 0") != NULL, "'%s'", e.text);
    assert_true(left_out(all, "hull_vert", &e));
    check_true(strstr(e.text, "grid") != NULL, "'%s'", e.text);
    assert_null(tg_param_grad_field(all, "hull_vert", NULL, NULL));
    assert_false(left_out(all, "geom_scale", &e));
    tgReal g[64];
    int nv = rig.m->nv, rows, cols, asked = 0;
    for (int k = 0; k < 2 * nv; k++) g[k] = sin(k + 1);
    check_true(tg_sim_step(rig.s, 0.01, NULL) == TG_OK, "%s", rig.s->error.text);
    check_true(tg_sim_step_vjp(rig.s, g, g + nv, NULL, NULL, NULL, all, NULL) == TG_OK, "%s", rig.s->error.text);
    for (int k = 0; tgi_param_name(rig.c, k) != NULL; k++) {
      const char *name = tgi_param_name(rig.c, k);
      tgParamGrad *one = tg_param_grad_create_contact(rig.c, &name, 1, NULL, &e);
      assert_null(tg_param_grad_left_out(one, 0, NULL));
      tgStatus status = tg_sim_step_vjp(rig.s, g, g + nv, NULL, NULL, NULL, one, NULL);
      const tgReal *a = tg_param_grad_field(one, name, &rows, &cols), *b = tg_param_grad_field(all, name, NULL, NULL);
      assert_int_equal(status, b != NULL ? TG_OK : TG_ERR_UNSUPPORTED);
      for (int n = 0; b != NULL && n < rows * cols; n++) check_close(b[n], a[n], 1e-12);
      asked += b != NULL;
      tg_param_grad_free(one);
    }
    check_true(asked > 20, "%d", asked);
    tg_param_grad_free(all);
    drop(&rig);
  }
  // without a grid vertices have one
  tgAnyContactOptions o = options_of("damped", "");
  Rig rig = rig_of_text("<mujoco><asset><mesh name='m' vertex='-.1 -.1 0 .1 -.1 0 0 .1 0 0 0 .1'/></asset><worldbody>"
                        "<geom type='plane' size='1 1 1'/><body pos='0 0 1'><freejoint/><geom type='mesh' mesh='m'/></body></worldbody>"
                        "</mujoco>", "damped", &o.of);
  tgParamGrad *all = tg_param_grad_create_contact(rig.c, NULL, 0, NULL, NULL);
  assert_non_null(tg_param_grad_field(all, "hull_vert", NULL, NULL));
  assert_false(left_out(all, "hull_vert", NULL));
  tg_param_grad_free(all);
  drop(&rig);
}

// The midpoint rule's derivative in the step size, of bodies that accelerate: a block that spins about no axis of its own, on an arm.
static tgStatus after(void *ctx, const tgReal *x, tgReal *y) {
  Rig *r = ctx;
  tg_sim_reset(r->s);
  for (int i = 0; i < r->m->nv; i++) r->s->qvel[i] = 0.5 + 0.3 * i;
  tgStatus status = tg_sim_step(r->s, x[0], NULL);
  for (int i = 0; i < r->m->nv; i++) y[i] = r->s->qvel[i];
  return status;
}

static void test_midpoint_of_h(void **state) {
  (void)state;
  static const char *const arm =
      "<mujoco><worldbody><body><joint axis='0 1 0'/><joint axis='1 0 0'/><geom type='box' size='.1 .2 .3' mass='2' pos='.4 0 .1'/>"
      "<body pos='.8 0 0'><joint axis='0 0 1'/><geom type='box' size='.3 .1 .05' mass='1' pos='.2 .1 0'/></body></body></worldbody>"
      "</mujoco>";
  static const char *const name[] = {"opt_timestep"};
  tgAnyContactOptions o = options_of("damped", "rule=midpoint");
  Rig r = rig_of_text(arm, "damped", &o.of);
  tgParamGrad *p = tg_param_grad_create(r.m, name, 1, NULL, NULL);
  assert_non_null(p);
  tgReal h = 0.05, y[3], D[3], g[2][3] = {{0}};
  assert_int_equal(after(&r, &h, y), TG_OK);
  for (int i = 0; i < 3; i++) {
    memset(g, 0, sizeof g);
    g[1][i] = 1;
    tg_param_grad_clear(p);
    assert_int_equal(tg_sim_step_vjp(r.s, g[0], g[1], NULL, NULL, NULL, p, NULL), TG_OK);
    D[i] = tg_param_grad_field(p, "opt_timestep", NULL, NULL)[0];
  }
  tgtDeriv d = {.name = "h", .nx = 1, .ny = 3, .map = after, .ctx = &r, .tol = 1e-8};
  tgt_check_jacobian(&d, &h, D);
  tg_param_grad_free(p);
  drop(&r);
}

// weights of a capsule's proxies are shares of its surface: 2 pi r of each length, and 2 pi r^2 of each end's half ball
static void test_proxies(void **state) {
  (void)state;
  Rig rig = rig_of_text("<mujoco><worldbody><body><freejoint/><geom type='capsule' size='.1 .3'/></body></worldbody></mujoco>", "lcp",
                        NULL);
  tgAllocator a = tgi_allocator(NULL);
  tgiProxies p;
  assert_int_equal(tgi_proxies_make(rig.m, 0, false, 0.1, NULL, &a, &p), TG_OK);
  assert_int_equal(p.n, 7);
  for (int i = 0; i < 7; i++) {
    check_close(p.place[3 * i + 2], -1 + i / 3.0, 1e-12);
    check_close(p.weight[i], (i == 0 || i == 6 ? 0.05 + 0.1 : 0.1) / (0.6 + 0.2), 1e-12);
  }
  tgi_proxies_free(&a, &p);
  drop(&rig);
}

// each allocation fails in turn: there is no contact model, and the error says why
static void test_no_memory(void **state) {
  (void)state;
  static const char *const scene =
      "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 1'><freejoint/><geom type='capsule' size='.1 .3'/></body>"
      "<body pos='0 1 1'><freejoint/><geom type='box' size='.1 .2 .3'/></body></worldbody></mujoco>";
  static const char *const kind[][2] = {{"damped", ""}, {"lcp", "detection=soft spacing=0.2"}, {"toi", ""}, {"barrier", ""}};
  for (int k = 0; k < 4; k++) {
    tgtAlloc a;
    tgError e = {0};
    tgt_alloc_init(&a);
    tgDesc *d = tg_desc_load_memory("scene.xml", scene, strlen(scene), NULL, &e);
    tgModel *m = tg_model_compile(d, &a.hooks, &e);
    check_true(m != NULL, "%s", e.text);
    tgAnyContactOptions o = options_of(kind[k][0], kind[k][1]);
    tgContact *c = NULL;
    int failed = 0;
    for (; c == NULL; failed++) {
      e = (tgError){0};
      a.fail_at = a.calls + failed + 1;
      c = tg_contact_create(m, kind[k][0], &o.of, &e);
      check_true(c != NULL || (e.status == TG_ERR_MEMORY && e.text[0] != 0), "%s, allocation %d: %d '%s'", kind[k][0], failed,
                 e.status, e.text);
    }
    assert_true(failed > 1);
    check_true(a.calls < a.fail_at, "%s: made in spite of allocation %ld", kind[k][0], a.fail_at);
    a.fail_at = 0;
    tg_contact_free(c);
    tg_model_free(m);
    tg_desc_free(d);
    assert_int_equal(a.blocks, 0);
  }
}

// ---- what passes between proxies ----

// a geom at a place, turned
typedef struct Placed { tgReal R[9], p[3]; } Placed;

static double field_at(const tgSim *s, const tgiDampedSide *side, const Placed at[2], const double x[3]) {
  tgReal t[3], y[3];
  tgiJet G;
  tgiField f = side->field;
  for (int k = 0; k < 3; k++) t[k] = x[k] - at[!side->second].p[k];
  tgi_m3_tmulv(y, at[!side->second].R, t);
  f.size = tgi_damped_size(s, side->in);
  tgi_field(&f, y, (tgiJets){0, 0}, &G);
  return tgRe(G.f);
}

// least gap of a side's proxies
static double least_gap(const tgSim *s, const tgiDampedSide *side, const Placed at[2]) {
  const tgiProxies *p = side->proxies;
  const tgReal *size = tgi_damped_size(s, side->of), *vert = p->place == NULL ? s->m.hull[s->m.geom_hull[side->of]].vert : NULL;
  double least = INFINITY;
  for (int i = 0; i < p->n; i++) {
    tgReal r[3], x[3];
    for (int k = 0; k < 3; k++) r[k] = (vert != NULL ? vert[3 * i + k] : p->place[3 * i + k]) * size[p->axis[k]];
    tgi_m3_mulv(x, at[side->second].R, r);
    tgi_v3_add(x, x, at[side->second].p);
    double w[3] = {tgRe(x[0]), tgRe(x[1]), tgRe(x[2])};
    least = fmin(least, field_at(s, side, at, w) - (p->round ? tgRe(size[0]) : 0));
  }
  return least;
}

// Depth of the deepest of a geom's surface points in the other's field, of 41 x 41 on each of six faces of a box of two times its size,
// moved to its surface along rays to the middle; edges: of those on edges of a box alone.
static double deepest(const tgSim *s, const tgiDampedSide *side, const Placed at[2], bool edges) {
  enum { N = 41 };
  int g = side->of, type = s->m.geom_type[g];
  const double size[3] = {tgRe(s->m.geom_size[3 * g]), tgRe(s->m.geom_size[3 * g + 1]), tgRe(s->m.geom_size[3 * g + 2])};
  double most = -INFINITY;
  for (int i = 0; i < 6 * N * N; i++) {
    double u[3], x[3];
    int k = i % 3;
    u[k] = i % 6 < 3 ? -1 : 1;
    u[(k + 1) % 3] = -1 + 2.0 * (i / 6 % N) / (N - 1);
    u[(k + 2) % 3] = -1 + 2.0 * (i / 6 / N) / (N - 1);
    int on = (fabs(u[0]) == 1) + (fabs(u[1]) == 1) + (fabs(u[2]) == 1);
    if (edges && on < 2) continue;
    double across = hypot(u[0], u[1]), length = hypot(across, u[2]), axis = fmax(across, 1e-9);
    for (int c = 0; c < 3; c++) {
      if (type == TG_GEOM_BOX) x[c] = u[c] * size[c];
      else if (type == TG_GEOM_CYLINDER) x[c] = c < 2 ? u[c] * size[0] / fmax(axis, fabs(u[2])) : u[2] * size[1] / fmax(axis, fabs(u[2]));
      else if (type == TG_GEOM_CAPSULE) x[c] = u[c] / length * size[0] + (c == 2 ? (u[2] > 0 ? size[1] : -size[1]) : 0);
      else x[c] = u[c] / length * size[c];   // ellipsoid
    }
    // of a capsule every other point to its side
    if (type == TG_GEOM_CAPSULE && i % 2 == 0) {
      x[0] = u[0] / axis * size[0], x[1] = u[1] / axis * size[0], x[2] = u[2] * size[1];
    }
    tgReal r[3] = {x[0], x[1], x[2]}, w[3];
    tgi_m3_mulv(w, at[side->second].R, r);
    for (int c = 0; c < 3; c++) x[c] = tgRe(w[c] + at[side->second].p[c]);
    most = fmax(most, -field_at(s, side, at, x));
  }
  return most;
}

static void turn_any(tgtRandom *r, tgReal *R) {
  tgReal q[4];
  for (int i = 0; i < 4; i++) q[i] = tgt_normal(r);
  tgi_quat_normalize(q);
  tgi_quat_to_mat(R, q);
}

typedef struct Meeting { const char *a, *b, *settings; double worst; bool edges; } Meeting;

enum { ACROSS = 5 };

// Trial number n of how two geoms are turned and which way the second comes from; beside: how far it is off that way. Of crossing edges the
// first ACROSS^2 trials have an edge along x down on an edge along y, here and there on both.
static void turn_pair(const Meeting *pair, bool plane, int n, tgtRandom *r, Placed at[2], tgReal way[3], double beside[2]) {
  static const double c = 0.92387953251128674, s = 0.38268343236508977;   // of 22.5 degrees
  const tgReal turned[2][4] = {{c, 0, s, 0}, {c, s, 0, 0}};
  bool crossing = pair->edges && n < ACROSS * ACROSS;
  beside[0] = crossing ? -0.05 * (n % ACROSS) / (ACROSS - 1) : 0;
  beside[1] = crossing ? 0.05 * (n / ACROSS) / (ACROSS - 1) : 0;
  for (int j = 0; j < 2; j++) {
    turn_any(r, at[j].R);
    if (crossing) tgi_quat_to_mat(at[j].R, turned[j]);
  }
  for (int k = 0; k < 3; k++) way[k] = tgt_normal(r);
  for (int k = 0; k < 9 && plane; k++) at[0].R[k] = k % 4 == 0;   // the plane is the world's
  if (plane || crossing) way[0] = way[1] = 0, way[2] = 1;
  tgi_v3_unit(way, way);
}

static void put_pair(Placed at[2], const tgReal way[3], const double beside[2], double distance) {
  for (int k = 0; k < 3; k++) {
    at[0].p[k] = 0;
    at[1].p[k] = distance * way[k] + (k < 2 ? beside[k] : 0);
  }
}

// Overlap of the two where they come to just before a proxy is in a field: of the side that overlaps less, or of edges.
static double overlap_of(const tgSim *s, const Meeting *pair, Placed at[2], const tgReal way[3], const double beside[2]) {
  const tgiDamped *k = tgi_damped(s);
  double low = 0, high = 0.4, least = INFINITY, edges = -INFINITY;
  for (int n = 0; n < 40; n++) {
    double middle = (low + high) / 2, gap = INFINITY;
    put_pair(at, way, beside, middle);
    for (int j = 0; j < k->nside; j++) gap = fmin(gap, least_gap(s, &k->side[j], at));
    *(gap > 0 ? &high : &low) = middle;
  }
  put_pair(at, way, beside, high);
  for (int j = 0; j < k->nside; j++) {
    least = fmin(least, deepest(s, &k->side[j], at, false));
    if (pair->edges) edges = fmax(edges, deepest(s, &k->side[j], at, true));
  }
  return pair->edges ? fmin(least, edges) : least;
}

// Two geoms come together from random sides until a proxy is in a field: the overlap there is told, and nearly as large as it may be where
// edges cross.
static void check_meeting(const Meeting *pair, unsigned seed) {
  char text[600];
  bool plane = strstr(pair->b, "plane") != NULL;
  snprintf(text, sizeof text, "<mujoco><worldbody><geom type='%s'/><body pos='0 0 2'><freejoint/><geom type='%s' mass='1'/></body>"
           "</worldbody></mujoco>", pair->b, pair->a);
  tgAnyContactOptions o = options_of("damped", pair->settings);
  Rig rig = rig_of_text(text, "damped", &o.of);
  tgContactLaw law;
  tgtRandom r = {.s = seed};
  double worst = 0;
  assert_true(tg_contact_law(rig.c, 0, 0.01, &law) && tgi_damped(rig.s)->pair[0].nside == (plane ? 1 : 2));
  for (int trial = 0; trial < tgt_cases(100, 10); trial++) {
    Placed at[2];
    tgReal way[3];
    double beside[2];
    turn_pair(pair, plane, trial, &r, at, way, beside);
    double overlap = overlap_of(rig.s, pair, at, way, beside);
    check_true(overlap <= law.missed + 1e-12, "%s and %s: overlap %g, told %g", pair->a, pair->b, overlap, law.missed);
    worst = fmax(worst, overlap);
  }
  print_message("%s and %s, %s: told %.3g, found %.3g\n", pair->a, pair->b, pair->settings, law.missed, worst);
  check_true(worst >= pair->worst * law.missed || tgt_cases(100, 10) < 100, "%s and %s: at most %g of %g", pair->a, pair->b, worst,
             law.missed);
  drop(&rig);
}

static void test_missed(void **state) {
  (void)state;
  static const Meeting pair[] = {
      {"box' size='.1 .06 .06", "box' size='.07 .1 .07", "", 0.6, true},
      {"box' size='.1 .06 .06", "box' size='.07 .1 .07", "spacing=.03", 0.5, true},
      {"capsule' size='.03 .08", "box' size='.09 .1 .07", "", 0, false},
      {"cylinder' size='.08 .06", "box' size='.09 .1 .07", "", 0.1, false},
      {"ellipsoid' size='.1 .08 .06", "ellipsoid' size='.06 .09 .07", "", 0.05, false},
      {"cylinder' size='.08 .06", "plane' size='1 1 1", "", 0.3, false},
      {"ellipsoid' size='.1 .08 .06", "plane' size='1 1 1", "spacing=.03", 0.05, false},
      {"box' size='.1 .08 .06", "plane' size='1 1 1", "", 0, false}};
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) check_meeting(&pair[i], 11 + (unsigned)i);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept), cmocka_unit_test(test_threads), cmocka_unit_test(test_grids),
                                     cmocka_unit_test(test_laws), cmocka_unit_test(test_signorini),
                                     cmocka_unit_test(test_window), cmocka_unit_test(test_steepness),
                                     cmocka_unit_test(test_plain_twin), cmocka_unit_test(test_moving_planes),
                                     cmocka_unit_test(test_all_parameters), cmocka_unit_test(test_midpoint_of_h),
                                     cmocka_unit_test(test_proxies), cmocka_unit_test(test_no_memory), cmocka_unit_test(test_missed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
