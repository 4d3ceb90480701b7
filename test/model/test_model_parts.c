// test_model_parts.c: sites, keyframes, pairs and mass rules of a model from text; every allocation on the way to a simulation may fail.
#include <string.h>

#include "model/model.h"
#include "support/alloc.h"
#include "support/check.h"
#include "tangere/sim.h"

static const char *const text =
    "<mujoco><compiler settotalmass='7' balanceinertia='true'/><worldbody>"
    "<geom name='floor' type='plane' size='5 5 0.1' friction='0.5'/>"
    "<body name='a' pos='0 0 1'><freejoint name='root'/><geom name='ga' type='box' size='0.1 0.1 0.1' mass='1'/>"
    "<site name='s' pos='1 2 3' quat='0 1 0 0'/>"
    "<body name='b' pos='0 0 0.5'><joint name='hinge' axis='0 1 0' damping='0.1'/>"
    "<geom name='gb' type='sphere' size='0.1' mass='1'/></body></body>"
    "<body name='c' pos='2 0 1'><joint name='ball' type='ball'/><inertial pos='0 0 0' mass='2' diaginertia='1 1 4'/>"
    "<geom name='gc' type='capsule' size='0.1 0.2'/></body>"
    "<body name='d' pos='3 0 1'><joint name='rail' type='slide' springdamper='0.5 2'/>"
    "<geom name='gd' type='mesh' mesh='tet' mass='1'/></body>"
    "</worldbody><asset><mesh name='tet' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>"
    "<contact><exclude body1='b' body2='c'/><pair geom1='floor' geom2='gb' friction='0.9 0.9 0.1 0 0' condim='1'/></contact>"
    "<tendon><fixed name='ten'><joint joint='hinge' coef='2'/><joint joint='rail' coef='-1'/></fixed></tendon>"
    "<equality><joint joint1='hinge' joint2='rail'/></equality>"
    "<actuator><motor name='m' joint='hinge' gear='3'/><position joint='rail' gear='2' kp='9' dampratio='0.7'/></actuator>"
    "<keyframe><key name='k' qpos='1 2 3 0 1 0 0 0.5 0 0 1 0 -1' qvel='1 2 3 4 5 6 7 8 9 10 11' ctrl='0.75 0.5'/></keyframe></mujoco>";

typedef struct World { tgDesc *d; tgModel *m; tgContact *c; tgSim *s; } World;

static bool build(World *w, const tgAllocator *hooks, tgError *error) {
  tgLoadOptions o = tg_load_default();
  o.allocator = hooks;
  *w = (World){.d = tg_desc_load_memory("m.xml", text, strlen(text), &o, error)};
  if (w->d != NULL) w->m = tg_model_compile(w->d, hooks, error);
  if (w->m != NULL) w->c = tg_contact_create(w->m, "lcp", NULL, error);
  if (w->c != NULL) w->s = tg_sim_create(w->m, w->c, hooks, error);
  return w->s != NULL;
}

static void drop(World *w) {
  tg_sim_free(w->s);
  tg_contact_free(w->c);
  tg_model_free(w->m);
  tg_desc_free(w->d);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  bool built = false;
  long k = 0;
  while (!built) {
    tgtAlloc a;
    World w;
    tgError error = {0};
    tgt_alloc_init(&a);
    a.fail_at = ++k;
    built = build(&w, &a.hooks, &error);
    if (!built)
      check_true(error.status == TG_ERR_MEMORY && strlen(error.text) > strlen("out of memory"),
                 "allocation %ld: status %d: %s", k, error.status, error.text);
    else check_true(a.calls < k, "allocation %ld failed and nobody noticed", k);
    drop(&w);
    check_true(a.blocks == 0, "allocation %ld: %ld blocks are left", k, a.blocks);
    assert_true(k < 5000);
  }
  check_true(k > 80, "only %ld allocations", k);
}

static void parts_are_where_they_belong(void **state) {
  (void)state;
  World w;
  tgError error = {0};
  check_true(build(&w, NULL, &error), "%s", error.text);
  const tgModel *m = w.m;
  // seven kilograms in all, shared as 1 : 1 : 2 : 1
  static const double mass[] = {0, 1.4, 1.4, 2.8, 1.4};
  for (int b = 1; b < 5; b++) check_close(m->body_mass[b], mass[b], 1e-14);
  // 1 + 1 < 4: the mean of the three, scaled with the mass
  for (int i = 0; i < 3; i++) check_close(m->body_inertia[6 * 3 + i], 2 * 1.4, 1e-13);
  assert_int_equal(tg_model_count(m, TG_THING_SITE), 1);
  assert_int_equal(m->site_body[0], 1);
  for (int i = 0; i < 3; i++) check_close(m->site_pos[i], i + 1, 0);
  check_close(m->site_quat[1], 1, 0);
  int g[4] = {tg_model_find(m, TG_THING_GEOM, "floor"), tg_model_find(m, TG_THING_GEOM, "ga"), tg_model_find(m, TG_THING_GEOM, "gb"),
              tg_model_find(m, TG_THING_GEOM, "gc")};
  int floor_b = 0, floor_c = 0;
  for (int p = 0; p < m->npair; p++) {
    int x = m->pair_geom1[p], y = m->pair_geom2[p];
    check_true(!((x == g[2] && y == g[3]) || (x == g[3] && y == g[2])), "bodies b and c may touch although excluded");
    floor_c += (x == g[0] && y == g[3]) || (x == g[3] && y == g[0]);
    if (!((x == g[0] && y == g[2]) || (x == g[2] && y == g[0]))) continue;
    floor_b++;
    assert_int_equal(m->pair_condim[p], 1);
    assert_int_equal(m->pair_own[p], 0);
    check_close(tgi_pair_friction(m, p, 0, NULL), 0.9, 0);
  }
  assert_int_equal(floor_b, 1);
  assert_int_equal(floor_c, 1);
  tgJointType type;
  int body, qadr, vadr;
  assert_int_equal(tg_model_joint(m, tg_model_find(m, TG_THING_JOINT, "ball"), &type, &body, &qadr, &vadr), TG_OK);
  check_true(type == TG_JOINT_BALL && body == 3 && qadr == 8 && vadr == 7, "ball: type %d of body %d at %d, %d", type, body, qadr, vadr);
  assert_int_equal(tg_model_joint(m, 4, NULL, NULL, NULL, NULL), TG_ERR_ARG);
  drop(&w);
}

static void a_keyframe_sets_the_whole_state(void **state) {
  (void)state;
  World w;
  tgError error = {0};
  check_true(build(&w, NULL, &error), "%s", error.text);
  static const double q[] = {1, 2, 3, 0, 1, 0, 0, 0.5, 0, 0, 1, 0, -1};
  tg_sim_qfrc_applied(w.s)[0] = 9;
  assert_int_equal(tg_sim_reset_key(w.s, tg_model_find(w.m, TG_THING_KEY, "k")), TG_OK);
  for (int i = 0; i < 13; i++) check_close(tg_sim_qpos(w.s)[i], q[i], 0);
  for (int i = 0; i < 11; i++) check_close(tg_sim_qvel(w.s)[i], i + 1, 0);
  check_close(tg_sim_ctrl(w.s)[0], 0.75, 0);
  check_close(tg_sim_qfrc_applied(w.s)[0], 0, 0);
  for (int key = -1; key < 2; key += 2) {
    assert_int_equal(tg_sim_reset_key(w.s, key), TG_ERR_ARG);
    assert_non_null(strstr(tg_sim_error(w.s)->text, "keyframe"));
    check_close(tg_sim_qpos(w.s)[0], 1, 0);
  }
  drop(&w);
}

// of a body on a rail: its mass is what springs and servos meet
static void damping_is_made_of_the_mass(void **state) {
  (void)state;
  World w;
  tgError error = {0};
  check_true(build(&w, NULL, &error), "%s", error.text);
  int j = tg_model_find(w.m, TG_THING_JOINT, "rail"), body = tg_model_find(w.m, TG_THING_BODY, "d");
  double mass = w.m->body_mass[body], T = 0.5, z = 2;
  check_close(w.m->jnt_stiffness[j], mass / (T * T * z * z), 1e-14);
  check_close(w.m->dof_damping[w.m->jnt_vadr[j]], 2 * mass / T, 1e-14);
  check_close(w.m->act_bias[3 + 1], -9, 0);
  check_close(w.m->act_bias[3 + 2], -2 * 0.7 * sqrt(9 * mass / 4), 1e-14);
  drop(&w);
}

// a chain and a loose body whose joints stand between the chain's: its mass matrix is not in one block
static void damping_where_trees_alternate(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  tgError error = {0};
  int a = tg_desc_add_body(d, 0, "a"), loose = tg_desc_add_body(d, 0, "loose"), b = tg_desc_add_body(d, a, "b");
  int body[] = {a, loose, b};
  for (int i = 0; i < 3; i++) {
    int j = tg_desc_add_joint(d, body[i], TG_JOINT_SLIDE, NULL), g = tg_desc_add_geom(d, body[i], TG_GEOM_SPHERE, NULL);
    d->geom[g].size[0] = 0.1;
    d->geom[g].mass = i + 1;
    d->joint[j].springdamper[0] = d->joint[j].springdamper[1] = 1;
  }
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  // M of the chain is (4 3; 3 3): its inverse has 1 and 4/3 on the diagonal
  check_close(m->jnt_stiffness[0], 1, 1e-14);
  check_close(m->jnt_stiffness[1], 2, 1e-14);
  check_close(m->jnt_stiffness[2], 0.75, 1e-14);
  tg_model_free(m);
  tg_desc_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail), cmocka_unit_test(parts_are_where_they_belong),
                                     cmocka_unit_test(a_keyframe_sets_the_whole_state), cmocka_unit_test(damping_is_made_of_the_mass),
                                     cmocka_unit_test(damping_where_trees_alternate)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
