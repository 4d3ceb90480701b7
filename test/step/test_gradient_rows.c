// test_gradient_rows.c: the step's derivative through every kind of row that the six scenes lack, and through the options: ball
// and tendon limits, dry friction, connect, weld, joint equality, restitution, the explicit rules, redundant contacts that spin.
#include "gradient_check.h"
#include "scenes/scenes.h"

#include <math.h>

#include "rods.h"
#include "scene_states.h"
#include "tangere/lcp.h"

static const double h = 0.004;
enum { STATES = 30 };

static int link(tgDesc *d, int parent, double x, tgJointType type, const char *name) {
  int b = tg_desc_add_body(d, parent, name), j = tg_desc_add_joint(d, b, type, name), g = tg_desc_add_geom(d, b, TG_GEOM_BOX, NULL);
  d->body[b].pos[0] = x;
  d->joint[j].axis[0] = 0.3;
  d->joint[j].axis[1] = 0.9;
  d->joint[j].axis[2] = sqrt(1 - 0.9);
  d->geom[g].size[0] = 0.15;
  d->geom[g].size[1] = 0.04;
  d->geom[g].size[2] = 0.06;
  d->geom[g].pos[0] = 0.15;
  d->geom[g].contype = d->geom[g].conaffinity = 0;
  return b;
}

// a ball joint beyond its limit, a hinge beyond one, dry friction on both
static tgDesc *ball_limit(void) {
  tgDesc *d = tg_desc_create(NULL);
  int a = link(d, 0, 0, TG_JOINT_BALL, "shoulder");
  link(d, a, 0.3, TG_JOINT_HINGE, "elbow");
  for (int j = 0; j < 2; j++) {
    d->joint[j].limited = TG_LIMITED_YES;
    d->joint[j].range[0] = j == 0 ? 0 : -0.01;
    d->joint[j].range[1] = j == 0 ? 0.02 : 0.01;
    d->joint[j].frictionloss = 0.2;
    d->joint[j].stiffness = 3;
    d->joint[j].damping = 0.05;
  }
  return d;
}

// tendons with limits, springs and dry friction; a joint that follows another by a polynomial
static tgDesc *tendons(void) {
  tgDesc *d = tg_desc_create(NULL);
  int a = link(d, 0, 0, TG_JOINT_HINGE, "a"), b = link(d, a, 0.3, TG_JOINT_HINGE, "b"), c = link(d, b, 0.3, TG_JOINT_SLIDE, "c");
  link(d, c, 0.3, TG_JOINT_HINGE, "d");
  int t = tg_desc_add_tendon(d, "cable", (int[]){0, 1, 2}, (double[]){1, -0.7, 2}, 3);
  d->tendon[t].limited = TG_LIMITED_YES;
  d->tendon[t].range[0] = -0.01;
  d->tendon[t].range[1] = 0.01;
  d->tendon[t].stiffness = 4;
  d->tendon[t].damping = 0.2;
  t = tg_desc_add_tendon(d, "rope", (int[]){1, 3}, (double[]){0.5, 1.5}, 2);
  d->tendon[t].frictionloss = 0.3;
  int e = tg_desc_add_equality(d, TG_EQ_JOINT, 3, 0, "gear");
  double poly[5] = {0.01, 0.8, 0.5, -0.3, 0.2};
  for (int k = 0; k < 5; k++) d->equality[e].polycoef[k] = poly[k];
  e = tg_desc_add_equality(d, TG_EQ_TENDON, 1, 0, "pulley");
  for (int k = 0; k < 5; k++) d->equality[e].polycoef[k] = poly[k] / 2;
  return d;
}

// a four-bar loop closed by connect, a free body welded to its end, another connected to that
static tgDesc *bonds(void) {
  tgDesc *d = tg_desc_create(NULL);
  int a = link(d, 0, 0, TG_JOINT_BALL, "a"), b = link(d, a, 0.3, TG_JOINT_HINGE, "b");
  int c = link(d, 0, 0.6, TG_JOINT_FREE, "c"), e = link(d, 0, 1.0, TG_JOINT_FREE, "e");
  int q = tg_desc_add_equality(d, TG_EQ_WELD, b, c, "weld");
  d->equality[q].anchor[0] = 0.05;
  d->equality[q].anchor[1] = 0.02;
  q = tg_desc_add_equality(d, TG_EQ_CONNECT, c, e, "pin");
  d->equality[q].anchor[0] = 0.35;
  d->equality[q].anchor[2] = 0.1;
  return d;
}

// balls that bounce on the floor and on each other, with friction
static tgDesc *bounces(void) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.4);
  tgs_free_body(d, "ball", (double[]){0, 0, 0.1999}, TG_GEOM_SPHERE, (double[]){0.2, 0, 0}, 1, 0.4);
  tgs_free_body(d, "top", (double[]){0.1, 0.05, 0.5}, TG_GEOM_SPHERE, (double[]){0.15, 0, 0}, 0.7, 0.2);
  for (int g = 1; g < 3; g++) d->geom[g].restitution = 0.3 * g;
  d->body[2].pos[2] = 0.1999 + sqrt(0.3499 * 0.3499 - 0.1 * 0.1 - 0.05 * 0.05);
  return d;
}

// a box flat on the floor that spins and slides: the split of the normal forces decides
static tgDesc *spinner(void) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.4);
  tgs_free_body(d, "box", (double[]){0, 0, 0.0999}, TG_GEOM_BOX, (double[]){0.3, 0.2, 0.1}, 2, 0.4);
  return d;
}

typedef struct Case {
  const char *name;
  tgDesc *(*desc)(void);
  double dq, dv;         // spread of the states
  tgsScene scene;        // used when desc is NULL
  tgLcpOptions o;
  int need;              // rows of this kind must be met, -1: none in particular
} Case;

// throws the state of a case; the first is the pose itself
static void throw_state(tgSim *s, const Case *c, int k) {
  tgtRandom r = {.s = (unsigned)k + 99};
  tg_sim_reset(s);
  tgt_nudge(s, &r, c->dq, c->dv);
  for (int i = 0; i < s->m.nv; i++) s->qfrc_applied[i] = tgt_normal(&r);
  if (c->desc == bounces) {
    tgt_nudge(s, &r, -c->dq, 0);
    s->qvel[2] -= tgt_uniform(&r, 0.2, 2);
    s->qvel[8] -= tgt_uniform(&r, 1, 4);
    s->qpos[2] -= 0.001;
  }
  if (c->desc == tgt_rods) tgt_throw_rods(s, &r, h);
  if (c->desc == spinner) {
    // flat: only place, heading and the motions in the plane differ
    tgReal w[6] = {tgt_normal(&r), tgt_normal(&r), -0.002, 0, 0, tgt_normal(&r)};
    tg_sim_reset(s);
    tg_model_integrate(s->model, s->qpos, w, s->qpos);
    s->qvel[0] = 0.3 * tgt_normal(&r);
    s->qvel[1] = 0.3 * tgt_normal(&r);
    s->qvel[5] = 2 * tgt_normal(&r);
  }
}

static void check_case(const Case *c) {
  tgError e = {0};
  tgModel *m = c->desc != NULL ? tgs_compile(c->desc(), &e) : tgs_model(c->scene, &e);
  check_true(m != NULL, "%s: %s", c->name, e.text);
  tgContact *contact = tg_contact_create(m, "lcp", &c->o.of, &e);
  check_true(contact != NULL, "%s", e.text);
  tgSim *s = tg_sim_create(m, contact, NULL, &e);
  Count count = {0};
  int met = 0, bounced = 0, guarded = 0;
  for (int k = 0; k < STATES; k++) {
    if (c->desc != NULL) throw_state(s, c, k);
    else assert_int_equal(tgt_scene_state(s, c->scene, k, h), TG_OK);
    check_state(s, c->name, k, h, &count);
    bool here = s->info.nimpact > 0;   // it may have let go since
    for (int i = 0; i < s->nrow; i++) {
      here = here || (s->rows->kind[i] == c->need && tgRe(s->rows->f[i]) != 0);
      bounced += tgRe(s->rows->bounce[i]) != 0;
    }
    met += here;
    guarded += s->info.ndamped > 0;
  }
  check_true(c->desc != tgt_rods || guarded == STATES, "%s: %d of %d guarded", c->name, guarded, STATES);
  print_count(c->name, &count);
  check_true(count.failed == 0, "%s: %d not solved", c->name, count.failed);
  check_true(c->need < 0 || 2 * met >= STATES, "%s: only %d of %d states have the row", c->name, met, STATES);
  bool closing = c->o.contact_rule == TG_RULE_CLOSING;
  if (c->desc == bounces) check_true((closing ? count.impacts : bounced) > STATES / 2, "%d bounces, %d impacts", bounced, count.impacts);
  if (c->desc == spinner) check_true(count.null > STATES / 2, "%d splits that act", count.null);
  tg_sim_free(s);
  tg_contact_free(contact);
  tg_model_free(m);
}

static tgLcpOptions explicit_rules(void) {
  tgLcpOptions o = tg_lcp_default();
  o.symplectic = false;
  o.explicit_damping = true;
  o.erp = 0.05;
  return o;
}

static tgLcpOptions closing_rule(void) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_CLOSING;
  return o;
}

static tgLcpOptions touching_rule(void) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_TOUCHING;
  return o;
}

#define CASE(function, label, builder, spread_q, spread_v, place, options, kind)                                                 \
  static void function(void **state) {                                                                                           \
    (void)state;                                                                                                                 \
    check_case(&(Case){.name = label, .desc = builder, .dq = spread_q, .dv = spread_v, .scene = place, .o = options, .need = kind}); \
  }
CASE(test_ball_limit, "ball limit", ball_limit, 0.05, 0.5, TGS_BLOCK, tg_lcp_default(), TG_ROW_LIMIT)
CASE(test_dry_friction, "dry friction", ball_limit, 0.005, 0.01, TGS_BLOCK, tg_lcp_default(), TG_ROW_FRICTION)
CASE(test_tendons, "tendons", tendons, 0.1, 0.3, TGS_BLOCK, tg_lcp_default(), TG_ROW_LIMIT)
CASE(test_gear, "joint equality", tendons, 0.1, 0.3, TGS_BLOCK, explicit_rules(), TG_ROW_EQUALITY)
CASE(test_bonds, "bonds", bonds, 0.1, 0.5, TGS_BLOCK, tg_lcp_default(), TG_ROW_EQUALITY)
CASE(test_touching_bonds, "touching bonds", bonds, 0.1, 0.5, TGS_BLOCK, touching_rule(), TG_ROW_EQUALITY)
CASE(test_touching_bonds_met, "touching bonds that meet", bonds, 0, 0.5, TGS_BLOCK, touching_rule(), TG_ROW_EQUALITY)
CASE(test_touching_bonds_next, "touching bonds 1e-5 off", bonds, 1e-5, 0.5, TGS_BLOCK, touching_rule(), TG_ROW_EQUALITY)
CASE(test_touching_bonds_near, "touching bonds 1e-3 off", bonds, 1e-3, 0.5, TGS_BLOCK, touching_rule(), TG_ROW_EQUALITY)
CASE(test_closing_bonds_met, "closing bonds that meet", bonds, 0, 0.5, TGS_BLOCK, closing_rule(), TG_ROW_EQUALITY)
CASE(test_closing_bonds_next, "closing bonds 1e-5 off", bonds, 1e-5, 0.5, TGS_BLOCK, closing_rule(), TG_ROW_EQUALITY)
CASE(test_closing_bonds_near, "closing bonds 1e-3 off", bonds, 1e-3, 0.5, TGS_BLOCK, closing_rule(), TG_ROW_EQUALITY)
CASE(test_bounces, "restitution", bounces, 0.003, 0.1, TGS_BLOCK, tg_lcp_default(), TG_ROW_NORMAL)
CASE(test_spinner, "spinning box", spinner, 0, 0, TGS_BLOCK, tg_lcp_default(), TG_ROW_NORMAL)
CASE(test_closing_ball_limit, "closing limit", ball_limit, 0.05, 0.5, TGS_BLOCK, closing_rule(), TG_ROW_LIMIT)
CASE(test_closing_dry_friction, "closing dry", ball_limit, 0.005, 0.01, TGS_BLOCK, closing_rule(), TG_ROW_FRICTION)
CASE(test_closing_tendons, "closing tendons", tendons, 0.1, 0.3, TGS_BLOCK, closing_rule(), TG_ROW_FRICTION)
CASE(test_closing_gear, "closing equality", tendons, 0.1, 0.3, TGS_BLOCK, closing_rule(), TG_ROW_EQUALITY)
CASE(test_closing_bonds, "closing bonds", bonds, 0.1, 0.5, TGS_BLOCK, closing_rule(), TG_ROW_EQUALITY)
CASE(test_closing_bounces, "closing bounces", bounces, 0.003, 0.1, TGS_BLOCK, closing_rule(), TG_ROW_NORMAL)
CASE(test_closing_spinner, "closing spinner", spinner, 0, 0, TGS_BLOCK, closing_rule(), TG_ROW_NORMAL)
CASE(test_closing_rods, "closing guarded", tgt_rods, 0, 0, TGS_BLOCK, closing_rule(), TG_ROW_NORMAL)
CASE(test_closing_cheetah, "closing cheetah", NULL, 0, 0, TGS_CHEETAH, closing_rule(), -1)
CASE(test_closing_block, "closing block", NULL, 0, 0, TGS_BLOCK, closing_rule(), -1)
CASE(test_explicit_cheetah, "explicit rules", NULL, 0, 0, TGS_CHEETAH, explicit_rules(), -1)
CASE(test_explicit_block, "explicit block", NULL, 0, 0, TGS_BLOCK, explicit_rules(), -1)

// the ablation: the derivative of a step whose contact impulses are numbers, by an independent formula for a sphere on a
// plane: v' = v + h (g + u/m) + f/m, so dv'/dv = 1 on the linear part whatever the contact does
static void test_ablation(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  o.zero_contact_gradient = true;
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.4);
  tgs_free_body(d, "ball", (double[]){0, 0, 0.099}, TG_GEOM_SPHERE, (double[]){0.1, 0, 0}, 1, 0.4);
  tgError e = {0};
  tgModel *m = tgs_compile(d, &e);
  tgContact *contact = tg_contact_create(m, "lcp", &o.of, &e);
  tgSim *s = tg_sim_create(m, contact, NULL, &e);
  s->qvel[0] = 0.3;
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  assert_true(tgRe(s->rows->f[0]) > 0);
  tgReal D[12 * 12], g[12] = {0}, out[12];
  tgGradInfo info;
  assert_int_equal(tg_sim_step_jacobian(s, D, &info), TG_OK);
  assert_int_equal(info.label, TG_GRAD_SURROGATE);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      check_close(D[(6 + i) * 12 + 6 + j], i == j, 1e-14);
      check_close(D[(6 + i) * 12 + j], 0, 1e-14);
    }
  g[6 + 2] = 1;
  assert_int_equal(tg_sim_step_vjp(s, g, g + 6, out, out + 6, NULL, NULL, &info), TG_OK);
  for (int j = 0; j < 12; j++) check_close(out[j], D[8 * 12 + j], 1e-14);
  tg_sim_free(s);
  tg_contact_free(contact);
  tg_model_free(m);
}

// a sim without a contact model: free motion of a chain
static void test_free_chain(void **state) {
  (void)state;
  tgError e = {0};
  tgModel *m = tgs_compile(tgs_chain(9), &e);
  tgSim *s = tg_sim_create(m, NULL, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  Count count = {0};
  for (int k = 0; k < 5; k++) {
    tgtRandom r = {.s = (unsigned)k};
    tg_sim_reset(s);
    tgt_nudge(s, &r, 0.5, 1);
    for (int i = 0; i < m->nu; i++) s->ctrl[i] = tgt_normal(&r);
    check_state(s, "free chain", k, h, &count);
  }
  print_count("free chain", &count);
  assert_int_equal(count.total, 5);
  tg_sim_free(s);
  tg_model_free(m);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_ball_limit), cmocka_unit_test(test_dry_friction),
                                      cmocka_unit_test(test_tendons), cmocka_unit_test(test_gear),
                                      cmocka_unit_test(test_bonds), cmocka_unit_test(test_bounces),
                                      cmocka_unit_test(test_spinner), cmocka_unit_test(test_explicit_cheetah),
                                      cmocka_unit_test(test_explicit_block), cmocka_unit_test(test_ablation),
                                      cmocka_unit_test(test_closing_ball_limit), cmocka_unit_test(test_closing_dry_friction),
                                      cmocka_unit_test(test_closing_tendons), cmocka_unit_test(test_closing_gear),
                                      cmocka_unit_test(test_closing_bonds), cmocka_unit_test(test_closing_bounces),
                                      cmocka_unit_test(test_closing_spinner), cmocka_unit_test(test_closing_rods),
                                      cmocka_unit_test(test_touching_bonds), cmocka_unit_test(test_touching_bonds_met),
                                      cmocka_unit_test(test_touching_bonds_next), cmocka_unit_test(test_touching_bonds_near),
                                      cmocka_unit_test(test_closing_bonds_met), cmocka_unit_test(test_closing_bonds_next),
                                      cmocka_unit_test(test_closing_bonds_near),
                                      cmocka_unit_test(test_closing_cheetah),
                                      cmocka_unit_test(test_closing_block),
                                      cmocka_unit_test(test_free_chain)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
