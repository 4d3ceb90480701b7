// test_foreseen.c: terms that a step's minimisation foresees against those of the pose itself: where all leaves are foreseen as they
// are, to rounding; where none is, to the third order of the motion in energy and to the second in forces.
#include <stdlib.h>
#include <string.h>

#include "contact/barrier/barrier.h"
#include "kin/kinematics.h"
#include "support/rig.h"
#include "tangere/barrier.h"

// two free bodies turned against each other, above a plane
static const char scene[] =
    "<mujoco><asset><mesh name='t' vertex='.06 0 -.03 -.03 .05 -.03 -.03 -.05 -.03 0 0 .06'/></asset><worldbody>"
    "<geom type='plane' size='1 1 1' pos='0 0 -.05' euler='4 7 0'/>"
    "<body pos='0 0 .02' euler='10 20 5'><freejoint/><geom type='mesh' mesh='t' friction='.5'/></body>"
    "<body pos='.01 .02 .11' euler='60 0 30'><freejoint/><geom %s friction='.5'/></body>"
    "</worldbody></mujoco>";

static Rig begin(const char *geom, tgHierarchy form) {
  char text[1024];
  tgBarrierOptions o = tg_barrier_default();
  o.hierarchy = form;
  snprintf(text, sizeof text, scene, geom);
  Rig r = rig_of_text(text, "barrier", &o.of);
  tgi_kinematics(&r.s->m, r.s->qpos, &r.s->start);
  const tgLaw *law = r.c->kind->law;
  check_true(law->begin(r.s, 0.01) == TG_OK, "%s", r.s->error.text);
  assert_int_equal(law->evaluate(r.s, &r.s->start, TG_LAW_ENERGY | TG_LAW_POSE), TG_OK);
  return r;
}

enum { MOST = 8 };
typedef struct Terms { double energy, w[MOST][12], X[MOST][144], size; int n; } Terms;

// with s->end at the start moved by `far` times a motion of its own for each dof
static Terms at(Rig *r, double far, unsigned want) {
  tgtRandom random = {7};
  tgReal *d = calloc((size_t)r->m->nv, sizeof *d), *q = calloc((size_t)r->m->nq, sizeof *q);
  for (int i = 0; i < r->m->nv; i++) d[i] = far * (i % 6 < 3 ? 1 : 10) * tgt_uniform(&random, -1, 1);
  tg_model_integrate(&r->s->m, r->s->qpos, d, q);
  tgi_kinematics(&r->s->m, q, &r->s->end);
  assert_int_equal(r->c->kind->law->evaluate(r->s, &r->s->end, TG_LAW_ENERGY | TG_LAW_POSE | want), TG_OK);
  Terms t = {.energy = tgRe(r->s->energy), .n = r->s->nterm};
  assert_true(t.n > 0 && t.n <= MOST);
  for (int k = 0; k < t.n; k++) {
    for (int i = 0; i < 12; i++) {
      t.w[k][i] = tgRe(r->s->term[k].w[i]);
      t.size = fmax(t.size, fabs(t.w[k][i]));
    }
    for (int i = 0; i < 144; i++) t.X[k][i] = tgRe(r->s->term[k].X[i]);
  }
  free(d);
  free(q);
  return t;
}

static double forces_apart(const Terms *a, const Terms *b) {
  double most = 0;
  assert_int_equal(a->n, b->n);
  for (int k = 0; k < a->n; k++)
    for (int i = 0; i < 12; i++) most = fmax(most, fabs(a->w[k][i] - b->w[k][i]));
  return most;
}

static double curvatures_apart(const Terms *a, const Terms *b) {
  double most = 0, size = 0;
  for (int k = 0; k < a->n; k++)
    for (int i = 0; i < 144; i++) {
      most = fmax(most, fabs(a->X[k][i] - b->X[k][i]));
      size = fmax(size, fabs(b->X[k][i]));
    }
  return most / size;
}

static void all_leaves(void **state) {
  (void)state;
  Rig r = begin("type='mesh' mesh='t'", TG_HIERARCHY_BRUTE);
  for (int k = 0; k < 2; k++) {
    double far = k == 0 ? 0 : 1e-3;
    Terms foreseen = at(&r, far, TG_LAW_FORESEEN), own = at(&r, far, 0);
    check_close(foreseen.energy, own.energy, 1e-10 * fabs(own.energy));
    check_true(forces_apart(&foreseen, &own) < 1e-9 * own.size, "forces %g of %g apart", forces_apart(&foreseen, &own), own.size);
    check_true(curvatures_apart(&foreseen, &own) < 1e-9, "curvatures %g apart", curvatures_apart(&foreseen, &own));
    assert_int_equal(r.c->kind->law->evaluate(r.s, &r.s->start, TG_LAW_ENERGY | TG_LAW_POSE), TG_OK);   // all are of these again
  }
  drop(&r);
}

static void no_leaf(void **state) {
  (void)state;
  Rig r = begin("type='box' size='.03 .04 .05'", TG_HIERARCHY_MOMENT);
  double energy[2], force[2];
  for (int k = 0; k < 2; k++) {
    double far = 2e-4 / (1 << k);
    assert_int_equal(r.c->kind->law->evaluate(r.s, &r.s->start, TG_LAW_ENERGY | TG_LAW_POSE), TG_OK);
    assert_false(r.c->kind->law->foresees(r.s, 0));   // no leaf is that near, and there are as few as would be foreseen
    Terms foreseen = at(&r, far, TG_LAW_FORESEEN), own = at(&r, far, 0);
    energy[k] = fabs(foreseen.energy - own.energy);
    force[k] = forces_apart(&foreseen, &own);
  }
  check_true(energy[0] > 6.5 * energy[1], "energy: %g, at half the way %g", energy[0], energy[1]);
  check_true(force[0] > 3.4 * force[1], "forces: %g, at half the way %g", force[0], force[1]);
  drop(&r);
}

// the nearest as they are: nearer to the truth than parabolas of all
static void some_leaves(void **state) {
  (void)state;
  Rig r = begin("type='cylinder' size='.045 .03'", TG_HIERARCHY_MOMENT);
  double force[2];
  for (int k = 0; k < 2; k++) {
    assert_int_equal(r.c->kind->law->evaluate(r.s, &r.s->start, TG_LAW_ENERGY | TG_LAW_POSE), TG_OK);
    assert_true(r.c->kind->law->foresees(r.s, k == 0 ? 0 : 1e9));
    Terms foreseen = at(&r, 1e-3, TG_LAW_FORESEEN), own = at(&r, 1e-3, 0);
    force[k] = forces_apart(&foreseen, &own);
  }
  check_true(force[1] < 0.2 * force[0], "forces off by %g, without leaves by %g", force[1], force[0]);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_leaves), cmocka_unit_test(no_leaf), cmocka_unit_test(some_leaves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
