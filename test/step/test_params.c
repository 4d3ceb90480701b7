// test_params.c: dL/dp of a step for every parameter with a derivative: trees with every kind of joint, spring and actuator; every kind of
// constraint row with every pair of shapes, bouncing or not, implicit and explicit damping, both update rules; scenes with redundant
// contacts. A parameter that no state moves fails the test.
#include "contact/zoo.h"
#include "step/param_check.h"
#include "step/rods.h"
#include "step/scene_states.h"
#include "support/rig.h"
#include "tangere/lcp.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-8, zero_block = 1e-4;
#else
static const double tolerance = 1e-5, zero_block = 1e-2;
#endif
static const double h = 0.004;
static tgtParamSeen all;

static void report(const char *name, const tgtParamSeen *seen) {
  double worst = 0;
  int moved = 0, total = 0;
  for (int k = 0; tg_param_name(k) != NULL; k++) {
    worst = fmax(worst, seen->worst[k]);
    moved += seen->acts[k] > 0;
    total++;
    all.acts[k] += seen->acts[k];
    all.ends[k] += seen->ends[k];
  }
  print_message("%-12s %d states, %d of %d parameters move something, %d comparisons set aside, %d spoilt by ties, worst %.2g\n", name,
                seen->states, moved, total, seen->aside, seen->tied, worst);
  check_true(8 * seen->tied <= seen->states, "%s: %d comparisons in %d states spoilt by ties", name, seen->tied, seen->states);
  check_true(20 * seen->aside <= seen->states * total, "%s: %d comparisons set aside", name, seen->aside);
}

static void test_trees(void **state) {
  (void)state;
  tgtParamSeen seen = {0};
  for (int k = 0; k < tgt_cases(16, 8); k++) {
    tgModel *m = tgt_random_tree((uint64_t)k, 3 + k % 8, (k % 2 == 0 ? TGT_TREE_FREE : 0) | (k % 4 < 2 ? TGT_TREE_ACTIVATED : 0) |
                                                                 TGT_TREE_PASSIVE | TGT_TREE_ACTUATED);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 900};
    char what[64];
    snprintf(what, sizeof what, "tree %d", k);
    tgt_random_state(s, &r, false);
    assert_true(tgt_check_params(s, h, &r, tolerance, zero_block, what, &seen));
    tg_sim_free(s);
    tg_model_free(m);
  }
  report("trees", &seen);
}

#ifdef TG_COMPLEX
enum { ZOO_STATES = 3 };   // entry by entry
#else
enum { ZOO_STATES = 1 };   // the first of these, by differences along a direction
#endif

static void check_zoo(const char *name, const tgContactOptions *o, double restitution) {
  tgtParamSeen seen = {0};
  for (int pair = 0; pair < TGT_ZOO_PAIRS; pair++)
    for (int k = 0; k < tgt_cases(ZOO_STATES, 1); k++) {
      char what[64];
      snprintf(what, sizeof what, "%s pair %d state %d", name, pair, k);
      tgtZoo z = tgt_zoo(pair, (uint64_t)k + 40, o, restitution);
      tgtRandom r = {.s = 100u * (unsigned)pair + (unsigned)k};
      tgt_zoo_state(&z, &r, false, 0.05, 0.002);
      tgt_unequal(z.s);
      assert_true(tgt_check_params(z.s, h, &r, tolerance, zero_block, what, &seen));
      tgt_zoo_free(&z);
    }
  report(name, &seen);
}

static void test_rows(void **state) {
  (void)state;
  check_zoo("rows", NULL, 0);
}
static void test_rows_explicit(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  o.explicit_damping = true;
  o.symplectic = false;
  o.erp = 0.05;
  check_zoo("explicit", &o.of, 0);
}
static void test_rows_bounce(void **state) {
  (void)state;
  check_zoo("bounce", NULL, 0.6);
}

static void test_rows_closing(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_CLOSING;
  check_zoo("closing", &o.of, 0);
  check_zoo("closing, bouncing", &o.of, 0.6);
}

// impacts whose energy is bounded
static void test_rods(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_CLOSING;
  tgtParamSeen seen = {0};
  tgError e = {0};
  tgModel *m = tgs_compile(tgt_rods(), &e);
  tgContact *contact = tg_contact_create(m, "lcp", &o.of, &e);
  tgSim *s = tg_sim_create(m, contact, NULL, &e);
  for (int k = 0; k < 6; k++) {
    char what[32];
    snprintf(what, sizeof what, "rods %d", k);
    tgtRandom r = {.s = (unsigned)k + 7};
    tgt_throw_rods(s, &r, h);
    assert_true(tgt_check_params(s, h, &r, tolerance, zero_block, what, &seen));
  }
  report("rods", &seen);
  tg_sim_free(s);
  tg_contact_free(contact);
  tg_model_free(m);
}

static void test_scenes(void **state) {
  (void)state;
  tgtParamSeen seen = {0};
  for (int scene = 0; scene < TGS_COUNT; scene++) {
    tgError e;
    tgModel *m = tgs_model((tgsScene)scene, &e);
    tgContact *contact = tg_contact_create(m, "lcp", NULL, &e);
    tgSim *s = tg_sim_create(m, contact, NULL, &e);
    assert_non_null(s);
    assert_int_equal(tg_sim_reserve(s, 64, 256), TG_OK);
    for (int k = 0; k < tgt_cases(6, 2); k++) {
      tgtRandom r = {.s = 31u * (unsigned)scene + (unsigned)k};
      char what[64];
      snprintf(what, sizeof what, "%s state %d", tgs_name((tgsScene)scene), k);
      if (tgt_scene_state(s, (tgsScene)scene, k, h) != TG_OK) continue;
      tgt_unequal(s);
      assert_true(tgt_check_params(s, h, &r, tolerance, zero_block, what, &seen));
    }
    tg_sim_free(s);
    tg_contact_free(contact);
    tg_model_free(m);
  }
  report("scenes", &seen);
}

// an explicit pair's own friction and restitution, sliding and bouncing; with the geoms' equal numbers the label says one-sided
static void test_pair(void **state) {
  (void)state;
  tgtParamSeen seen = {0};
  for (int explicit = 0; explicit < 2; explicit++) {
    tgDesc *d = tg_desc_create(NULL);
    int plane = tgs_plane(d, 0.4), ball;
    tgs_free_body(d, "ball", (double[3]){0, 0, 0.1}, TG_GEOM_SPHERE, (double[3]){0.1, 0, 0}, 1, 0.4);
    ball = d->ngeom - 1;
    d->geom[ball].restitution = d->geom[plane].restitution = 0.5;
    if (explicit) {
      int k = tg_desc_add_pair(d, plane, ball, NULL);
      d->pair[k].friction[0] = 0.3;
      d->pair[k].friction[1] = 0.2;
      d->pair[k].condim = 6;
      for (int i = 2; i < 5; i++) d->pair[k].friction[i] = 0.01 * i;
      d->pair[k].restitution = 0.7;
    }
    tgError e;
    tgModel *m = tgs_compile(d, &e);
    tgContact *contact = tg_contact_create(m, "lcp", NULL, &e);
    tgSim *s = tg_sim_create(m, contact, NULL, &e);
    assert_non_null(s);
    tgReal velocity[6] = {8, 6, -1, 30, 20, 10}, g[6] = {1, 1, 1, 1, 1, 1};
    memcpy(s->qvel, velocity, sizeof velocity);
    s->qpos[2] = 0.0999;
    if (explicit) {
      tgtRandom r = {7};
      assert_true(tgt_check_params(s, h, &r, tolerance, zero_block, "pair", &seen));
      report("pair", &seen);
    } else {
      tgGradInfo info;
      tgParamGrad *p = tg_param_grad_create(m, (const char *[]){"geom_friction"}, 1, NULL, &e);
      assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
      assert_int_equal(tg_sim_step_vjp(s, g, g, NULL, NULL, NULL, NULL, &info), TG_OK);
      assert_int_equal(info.label, TG_GRAD_EXACT);
      assert_int_equal(tg_sim_step_vjp(s, g, g, NULL, NULL, NULL, p, &info), TG_OK);
      assert_int_equal(info.label, TG_GRAD_ONE_SIDED);
      assert_non_null(strstr(info.reason, "equal friction"));
      tg_param_grad_free(p);
    }
    tg_sim_free(s);
    tg_contact_free(contact);
    tg_model_free(m);
  }
}

// a pyramid tipped on its edge or vertex, thrown onto a plane, a sphere, a box and another pyramid, both with their own scales
static void test_meshes(void **state) {
  (void)state;
  static const double vert[5][3] = {{-.1, -.1, 0}, {.1, -.1, 0}, {.1, .1, 0}, {-.1, .1, 0}, {.02, .01, .2}};
  static const int face[6][3] = {{0, 2, 1}, {0, 3, 2}, {0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4}};
  static const tgGeomType under[4] = {TG_GEOM_PLANE, TG_GEOM_SPHERE, TG_GEOM_BOX, TG_GEOM_MESH};
  tgtParamSeen seen = {0};
  for (int k = 0; k < 4; k++)
    for (int pose = 0; pose < 4; pose++) {
      tgDesc *d = tg_desc_create(NULL);
      int mesh = tg_desc_add_mesh(d, NULL, vert[0], 5, face[0], 6), body = tg_desc_add_body(d, 0, NULL),
          still = tg_desc_add_body(d, 0, NULL);
      int g[2] = {tg_desc_add_geom(d, body, TG_GEOM_MESH, NULL), tg_desc_add_geom(d, k == 0 ? 0 : still, under[k], NULL)};
      tg_desc_add_joint(d, body, TG_JOINT_FREE, NULL);
      tg_desc_add_joint(d, still, TG_JOINT_SLIDE, NULL);
      d->body[still].has_inertial = true;
      d->body[still].mass = d->body[still].inertia[0] = d->body[still].inertia[1] = d->body[still].inertia[2] = 2;
      for (int i = 0; i < 2; i++) {
        d->geom[g[i]].friction[0] = 0.5 - 0.1 * i;
        for (int c = 0; c < 3; c++) d->geom[g[i]].size[c] = k == 0 ? 1 : 0.2 - 0.02 * c;
        if (d->geom[g[i]].type == TG_GEOM_MESH) d->geom[g[i]].mesh = mesh;
      }
      tgError e = {0};
      tgModel *m = tgs_compile(d, &e);
      check_true(m != NULL, "%s", e.text);
      tgContact *contact = tg_contact_create(m, "lcp", NULL, &e);
      tgSim *s = tg_sim_create(m, contact, NULL, &e);
      assert_non_null(s);
      assert_int_equal(tg_sim_reserve(s, 16, 64), TG_OK);
      tgtRandom r = {.s = 10u * (unsigned)k + (unsigned)pose};
      for (int i = 0; i < 6; i++) tg_sim_param(s, "geom_scale", NULL, NULL)[i] = tgt_uniform(&r, 0.8, 1.2);
      tgReal w[7] = {0.01 * pose, -0.02, 0.5, 0.4 * pose, 0.3, 0.2 * (pose - 1), 0};
      tg_model_integrate(m, s->qpos, w, s->qpos);
      for (int i = 0; i < 6; i++) s->qvel[i] = tgt_uniform(&r, -1, 1);
      // down until it touches
      tgStepInfo info;
      for (int i = 0; i < 4000; i++) {
        s->qpos[2] -= 2e-4;
        tgReal keep[8];
        memcpy(keep, s->qpos, sizeof keep);
        tgReal v[7];
        memcpy(v, s->qvel, sizeof v);
        assert_int_equal(tg_sim_step(s, 1e-9, &info), TG_OK);
        memcpy(s->qpos, keep, (size_t)m->nq * sizeof *keep);
        memcpy(s->qvel, v, (size_t)m->nv * sizeof *v);
        if (info.ncontact > 0) break;
      }
      assert_true(info.ncontact > 0);
      char what[64];
      snprintf(what, sizeof what, "mesh on %d pose %d", k, pose);
      assert_true(tgt_check_params(s, h, &r, tolerance, zero_block, what, &seen));
      tg_sim_free(s);
      tg_contact_free(contact);
      tg_model_free(m);
    }
  report("meshes", &seen);
}

// vertices that make no convex hull: the step says which, and goes on once they are put back
static void test_dented(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  static const double vert[6][3] = {{0, 0, .05}, {.2, 0, 0}, {-.2, 0, .01}, {0, .2, .02}, {0, -.2, 0}, {0, 0, .2}};
  static const int face[8][3] = {{1, 3, 5}, {3, 2, 5}, {2, 4, 5}, {4, 1, 5}, {3, 1, 4}, {2, 3, 4}, {0, 0, 0}, {0, 0, 0}};
  int mesh = tg_desc_add_mesh(d, "gem", vert[0], 6, face[0], 6), body = tg_desc_add_body(d, 0, NULL),
      g = tg_desc_add_geom(d, body, TG_GEOM_MESH, NULL);
  tgs_plane(d, 0.4);
  d->geom[g].mesh = mesh;
  tg_desc_add_joint(d, body, TG_JOINT_FREE, NULL);
  tgError e = {0};
  tgModel *m = tgs_compile(d, &e);
  check_true(m != NULL, "%s", e.text);
  tgContact *contact = tg_contact_create(m, "lcp", NULL, &e);
  tgSim *s = tg_sim_create(m, contact, NULL, &e);
  int rows, tip = -1;
  tgReal *x = tg_sim_param(s, "hull_vert", &rows, NULL);
  assert_int_equal(rows, 5);
  for (int i = 0; i < rows; i++)
    if (m->hull_vertid[i] == 5) tip = i;
  assert_true(tip >= 0 && m->hull_mesh[0] == mesh && m->hull_vertnum[0] == 5);
  x[3 * tip + 2] = -0.1;
  assert_int_equal(tg_sim_step(s, h, NULL), TG_ERR_INVALID);
  check_true(strstr(tg_sim_error(s)->text, "mesh 'gem'") != NULL && strstr(tg_sim_error(s)->text, "vertex ") != NULL &&
             strstr(tg_sim_error(s)->text, "face ") != NULL, "%s", tg_sim_error(s)->text);
  x[3 * tip + 2] = 0.25;
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  check_close(s->m.hull[0].radius, 0.25, 1e-15);
  x[3 * tip] = NAN;
  assert_int_equal(tg_sim_step(s, h, NULL), TG_ERR_NOT_FINITE);
  check_true(strstr(tg_sim_error(s)->text, "hull_vert") != NULL && strstr(tg_sim_error(s)->text, "mesh 'gem'") != NULL,
             "%s", tg_sim_error(s)->text);
  tg_sim_reset(s);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  check_close(s->m.hull[0].radius, sqrt(0.2 * 0.2 + 0.02 * 0.02), 1e-15);
  tg_sim_free(s);
  tg_contact_free(contact);
  tg_model_free(m);
}

// a sheet by explicit forces, two of whose vertices meet a plane
static void test_sheet(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><geom type='plane' size='1 1 1' friction='.5'/><body pos='0 0 .1'><joint type='hinge' axis='.2 1 0'/>"
      "<geom size='.1' mass='4' contype='0' conaffinity='0'/><flexcomp name='c' type='direct' dim='2' mass='.5' radius='.02' "
      "point='0 0 .02  .2 0 0  0 .21 -.0805  -.22 .01 0  .01 -.2 -.0802' element='0 1 2 0 2 3 0 3 4 0 4 1'>"
      "<elasticity young='6' poisson='.3' thickness='.6' damping='.01' elastic2d='both'/>"
      "<contact selfcollide='none' friction='.3'/><pin id='3'/></flexcomp></body></worldbody></mujoco>";
  tgtParamSeen seen = {0};
  for (int k = 0; k < 2; k++) {
    tgError e = {0};
    tgDesc *d = tg_desc_load_memory("sheet", text, sizeof text - 1, NULL, &e);
    check_true(d != NULL, "%s", e.text);
    tgModel *m = tgs_compile(d, &e);
    check_true(m != NULL, "%s", e.text);
    tgContact *contact = tg_contact_create(m, "lcp", NULL, &e);
    tgSim *s = tg_sim_create(m, contact, NULL, &e);
    assert_non_null(s);
    assert_int_equal(tg_sim_reserve(s, 16, 64), TG_OK);
    tgtRandom r = {.s = 3u + (unsigned)k};
    for (int i = 0; i < m->nv; i++) {
      s->qvel[i] = tgt_uniform(&r, -0.5, 0.5) - (tgRe(m->jnt_axis[3 * i + 2]) > 0.5 ? 0.6 : 0);
      s->qpos[i] += k * tgt_uniform(&r, -0.01, 0.01);
    }
    assert_true(tgt_check_params(s, h, &r, tolerance, zero_block, "sheet", &seen));
    tg_sim_free(s);
    tg_contact_free(contact);
    tg_model_free(m);
  }
  report("sheet", &seen);
  for (int k = 0; tg_param_name(k) != NULL; k++)
    check_true(strncmp(tg_param_name(k), "flex_", 5) != 0 || seen.acts[k] > 0, "%s moves nothing", tg_param_name(k));
}

// an arm that hangs by a spring between two sites, one of the world and one of its own
static void test_strand(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><site name='w' pos='.1 .4 1.3'/><body pos='0 0 1'><joint axis='0 1 0' damping='.1'/><joint axis='1 0 0'/>"
      "<geom size='.1' pos='.2 0 0' mass='.5'/><site name='s' pos='.3 .05 .02'/></body></worldbody>"
      "<tendon><spatial stiffness='5' damping='.2' springlength='.1'><site site='w'/><site site='s'/></spatial></tendon></mujoco>";
  tgtParamSeen seen = {0};
  Rig rig = rig_of_text(text, "lcp", NULL);
  tgtRandom r = {.s = 3};
  for (int k = 0; k < 2; k++) {
    tgt_random_state(rig.s, &r, false);
    assert_true(tgt_check_params(rig.s, h, &r, tolerance, zero_block, "strand", &seen));
  }
  drop(&rig);
  report("strand", &seen);
}

// what no state of the tests before moves is not tested
static void test_all_moved(void **state) {
  (void)state;
  for (int k = 0; tg_param_name(k) != NULL; k++)
    check_true(all.acts[k] > 0, "no state of this test moves with parameter %s", tg_param_name(k));
}

static void test_refused(void **state) {
  (void)state;
  tgModel *m = tgt_random_tree(1, 3, 0);
  tgError e;
  const char *none[] = {"body_weight"}, *without[] = {"qpos0"}, *integer[] = {"body_parent"}, *twice[] = {"body_mass", "body_mass"};
  assert_null(tg_param_grad_create(m, none, 1, NULL, &e));
  assert_int_equal(e.status, TG_ERR_ARG);
  assert_non_null(strstr(e.text, "body_weight"));
  assert_null(tg_param_grad_create(m, without, 1, NULL, &e));
  assert_int_equal(e.status, TG_ERR_UNSUPPORTED);
  assert_non_null(strstr(e.text, "qpos0"));
  assert_null(tg_param_grad_create(m, integer, 1, NULL, &e));
  assert_int_equal(e.status, TG_ERR_ARG);
  assert_null(tg_param_grad_create(m, twice, 2, NULL, &e));
  assert_non_null(strstr(e.text, "twice"));
  tg_model_free(m);
}

// a medium's force depends on mass and inertia in a way that has no derivative here: refused by name, the others work
static void test_medium(void **state) {
  (void)state;
  tgModel *m = tgt_random_tree(3, 4, TGT_TREE_FLUID);
  tgSim *s = tgt_sim(m);
  tgtRandom r = {5};
  tgError e;
  const char *geometry[] = {"body_pos", "jnt_axis", "opt_gravity"}, *mass[] = {"body_mass"};
  tgParamGrad *p = tg_param_grad_create(m, geometry, 3, NULL, &e), *q = tg_param_grad_create(m, mass, 1, NULL, &e);
  assert_true(p != NULL && q != NULL);
  tgt_random_state(s, &r, false);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  assert_int_equal(tg_sim_step_vjp(s, s->start.vel, s->start.vel, NULL, NULL, NULL, p, NULL), TG_OK);
  assert_int_equal(tg_sim_step_vjp(s, s->start.vel, s->start.vel, NULL, NULL, NULL, q, NULL), TG_ERR_UNSUPPORTED);
  assert_non_null(strstr(tg_sim_error(s)->text, "body_mass"));
  tg_param_grad_free(p);
  tg_param_grad_free(q);
  tg_sim_free(s);
  tg_model_free(m);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees),       cmocka_unit_test(test_rows),
                                      cmocka_unit_test(test_rows_explicit), cmocka_unit_test(test_rows_bounce),
                                      cmocka_unit_test(test_rows_closing), cmocka_unit_test(test_rods),
                                      cmocka_unit_test(test_scenes), cmocka_unit_test(test_pair),
                                      cmocka_unit_test(test_meshes), cmocka_unit_test(test_dented), cmocka_unit_test(test_sheet),
                                      cmocka_unit_test(test_strand),
                                      cmocka_unit_test(test_all_moved), cmocka_unit_test(test_refused),
                                          cmocka_unit_test(test_medium)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
