// test_cone.c: friction in Coulomb's cone, as a function on arrays: the law on random families by a check of its own, projected relaxation
// as the plain twin, axes that do not matter, warm starts, recall to the bit, and the derivative by the complex step. Argument: problems.
#include <stdlib.h>
#include <string.h>

#include "contact/lcp/cone.h"
#include "contact/lcp/families.h"

static int problems = 500;

typedef struct Fixture {
  tgiLcp s;
  void *memory;
  tgiLcpProblem p;
  tgiCone c;
  tgReal turn[MAX_ROWS], A[MAX_ROWS * MAX_ROWS], b[MAX_ROWS], bound[MAX_ROWS], Z[MAX_ROWS * MAX_ROWS], share[MAX_ROWS], work[4 * MAX_ROWS];
  int8_t chosen[MAX_ROWS], cls[MAX_ROWS];
  tgReal f[MAX_ROWS], w[MAX_ROWS];
  tgiLcpInfo info;
} Fixture;

static void set_up(Fixture *x) {
  size_t bytes = tgi_lcp_bytes(3, 16, 32);
  memset(x, 0, sizeof *x);
  x->memory = malloc(bytes);
  memset(x->memory, 0xA5, bytes);
  assert_int_equal(tgi_lcp_init(&x->s, x->memory, bytes, 3, 16, 32), TG_OK);
}

static tgStatus solve(Fixture *x, const Scene *s, const int8_t *warm, const tgReal *before) {
  x->p = scene_problem(s);
  x->c = (tgiCone){.of = &x->p, .turn = x->turn, .A = x->A, .b = x->b, .bound = x->bound, .Z = x->Z, .share = x->share, .work = x->work,
                   .chosen = x->chosen};
  return tgi_cone_solve(&x->s, &x->c, warm, before, x->f, x->w, x->cls, &x->info);
}

// Worst violation of the law by f, from A, b and f alone: forces over max|f|, velocities over max|b|
static double violation(const tgiLcpProblem *p, const tgReal *f) {
  double sf = 1e-300, sw = 1e-300, worst = 0, w[MAX_ROWS];
  for (int i = 0; i < p->n; i++) {
    sf = fmax(sf, fabs(tgRe(f[i])));
    sw = fmax(sw, fabs(tgRe(p->b[i])));
    w[i] = tgRe(p->b[i]);
    for (int j = 0; j < p->n; j++) w[i] += tgRe(p->A[i * p->n + j]) * tgRe(f[j]);
  }
  for (int i = 0; i < p->n; i++) {
    if (p->kind[i] != TGI_LCP_NORMAL) continue;
    double fn = tgRe(f[i]) / sf, wn = w[i] / sw, m = tgRe(p->bound[i + 1]) * fn;
    double f1 = tgRe(f[i + 1]) / sf, f2 = tgRe(f[i + 2]) / sf, speed = hypot(w[i + 1], w[i + 2]);
    worst = fmax(worst, fmin(fmax(fabs(fn), -wn), fmax(fabs(wn), -fn)));
    double sticks = fmax(speed / sw, hypot(f1, f2) - m);
    double slides = speed > 0 ? hypot(f1 + m * w[i + 1] / speed, f2 + m * w[i + 2] / speed) : INFINITY;
    worst = fmax(worst, fmin(sticks, slides));
  }
  return worst;
}

// all that the motion sees of f
static void generalized(const Scene *s, const tgReal *f, double *out) {
  for (int j = 0; j < s->dof; j++) {
    out[j] = 0;
    for (int i = 0; i < s->n; i++) out[j] += tgRe(s->J[i * s->dof + j]) * tgRe(f[i]);
  }
}

static double apart(const Scene *s, const tgReal *f, const tgReal *g) {
  double x[MAX_DOF], y[MAX_DOF], worst = 0, size = 1e-300;
  generalized(s, f, x);
  generalized(s, g, y);
  for (int j = 0; j < s->dof; j++) {
    worst = fmax(worst, fabs(x[j] - y[j]));
    size = fmax(size, fabs(x[j]));
  }
  return worst / size;
}

static void test_families(void **state) {
  (void)state;
  Fixture x;
  set_up(&x);
  for (int family = 0; family < FAMILIES; family++) {
    tgtRandom r = {2000 + (uint64_t)family};
    int count = problems / FAMILIES, valid = 0, slid = 0, placed = 0, split = 0, steps = 0, cold = 0;
    for (int k = 0; k < count; k++) {
      Scene s;
      make_scene(&s, family, &r);
      tgStatus status = solve(&x, &s, NULL, NULL);
      double off = violation(&x.p, x.f);
      valid += status == TG_OK;
      slid += x.c.any;
      placed += x.c.placed;
      split += x.c.split;
      cold += x.info.factored;
      check_true(status != TG_OK || off <= 1.001e-8, "%s %d: the law is off by %.3g", family_name[family], k, off);
      check_true((status == TG_OK) == (x.info.nfailed == 0), "%s %d: status %d, %d rows failed", family_name[family], k, (int)status,
                 x.info.nfailed);
      if (status != TG_OK) continue;
      tgReal f[MAX_ROWS], w[MAX_ROWS];
      int8_t cls[MAX_ROWS];
      memcpy(f, x.f, sizeof f);
      memcpy(w, x.w, sizeof w);
      memcpy(cls, x.cls, sizeof cls);
      // to the bit from its classes, directions and forces
      int8_t solved[MAX_ROWS];
      memcpy(solved, x.s.cls, sizeof solved);
      tgi_cone_recall(&x.s, &x.c, solved, x.s.deficient, x.f, x.w);
      for (int i = 0; i < s.n; i++)
        check_true(x.f[i] == f[i] && x.w[i] == w[i], "%s %d: row %d is recalled otherwise", family_name[family], k, i);
      // and again from its own classes and velocities
      check_true(solve(&x, &s, cls, w) == TG_OK, "%s %d: not from its own classes", family_name[family], k);
      steps += x.info.factored;
      bool unique = family == 2;
      check_true(!unique || apart(&s, x.f, f) < 1e-8, "%s %d: another answer from its own classes", family_name[family], k);
    }
    print_message("%-14s %d problems: %d solved, %d slide, %d with placed forces, %d with shared normals; factorisations %.1f, warm %.1f\n",
                  family_name[family], count, valid, slid, placed, split, cold / (double)count, steps / (double)count);
    check_true(valid >= count - 1 - count / 1000, "%s: %d of %d solved", family_name[family], valid, count);
    check_true(3 * slid >= count / 3, "%s: only %d slide", family_name[family], slid);
  }
  free(x.memory);
}

// The twin: one row or pair of tangents after the other by its own part of the law, until nothing moves.
static bool relax(const tgiLcpProblem *p, tgReal *f) {
  double w[MAX_ROWS], change = 1;
  for (int i = 0; i < p->n; i++) {
    f[i] = 0;
    w[i] = tgRe(p->b[i]);
  }
  for (int sweep = 0; sweep < 20000 && change > 1e-14; sweep++) {
    change = 0;
    for (int i = 0; i < p->n; i += 3) {
      double next[3], m, d = fmax(tgRe(p->A[(i + 1) * (p->n + 1)]), tgRe(p->A[(i + 2) * (p->n + 1)])) * 1.5;
      for (int pass = 0; pass < 2; pass++) {
        if (pass == 0) next[0] = fmax(0, tgRe(f[i]) - w[i] / tgRe(p->A[i * (p->n + 1)]));
        m = tgRe(p->bound[i + 1]) * next[0];
        if (pass == 1) {
          for (int k = 1; k < 3; k++) next[k] = tgRe(f[i + k]) - w[i + k] / d;
          double length = hypot(next[1], next[2]);
          for (int k = 1; k < 3 && length > m; k++) next[k] *= m / length;
        }
        for (int k = pass == 0 ? 0 : 1; k < (pass == 0 ? 1 : 3); k++) {
          double step = next[k] - tgRe(f[i + k]);
          f[i + k] = next[k];
          change = fmax(change, fabs(step));
          for (int j = 0; j < p->n; j++) w[j] += step * tgRe(p->A[(i + k) * p->n + j]);
        }
      }
    }
  }
  return change <= 1e-14;
}

// little friction, for which there is one answer
static void make_unique(Scene *s, tgtRandom *r) {
  make_scene(s, 2, r);
  for (int i = 0; i < s->n; i++)
    if (s->kind[i] == TGI_LCP_FRICTION) s->bound[i] *= 0.25;
}

static void test_twin(void **state) {
  (void)state;
  Fixture x;
  set_up(&x);
  tgtRandom r = {77};
  int met = 0, count = problems / 5;
  for (int k = 0; k < count; k++) {
    Scene s;
    tgReal f[MAX_ROWS];
    make_unique(&s, &r);
    assert_int_equal(solve(&x, &s, NULL, NULL), TG_OK);
    if (!relax(&x.p, f)) continue;
    met++;
    double off = apart(&s, x.f, f);
    check_true(off < 1e-10, "%d: %.3g from the twin", k, off);
  }
  check_true(10 * met >= 9 * count, "the twin has answers to %d of %d", met, count);
  free(x.memory);
}

static void test_axes(void **state) {
  (void)state;
  Fixture x;
  set_up(&x);
  tgtRandom r = {78};
  for (int k = 0; k < problems / 5; k++) {
    Scene s, t;
    tgReal f[MAX_ROWS];
    make_unique(&s, &r);
    t = s;
    for (int i = 0; i < s.n; i += 3) {
      double turn = tgt_uniform(&r, 0, 2 * TG_PI);
      for (int j = 0; j < s.dof; j++) {
        tgReal a = s.J[(i + 1) * s.dof + j], b = s.J[(i + 2) * s.dof + j];
        t.J[(i + 1) * s.dof + j] = cos(turn) * a + sin(turn) * b;
        t.J[(i + 2) * s.dof + j] = cos(turn) * b - sin(turn) * a;
      }
    }
    scene_finish(&t);
    assert_int_equal(solve(&x, &s, NULL, NULL), TG_OK);
    memcpy(f, x.f, sizeof f);
    double one[MAX_DOF], other[MAX_DOF], size = 0;
    generalized(&s, f, one);
    assert_int_equal(solve(&x, &t, NULL, NULL), TG_OK);
    generalized(&t, x.f, other);
    for (int j = 0; j < s.dof; j++) size = fmax(size, fabs(one[j]));
    for (int j = 0; j < s.dof; j++) check_true(fabs(one[j] - other[j]) <= 1e-10 * size, "%d: %.15g and %.15g", k, one[j], other[j]);
  }
  free(x.memory);
}

#ifdef TG_COMPLEX
// df of a change of A and b, by the complex step of the whole search and by its formula
static void test_derivative(void **state) {
  (void)state;
  Fixture x;
  set_up(&x);
  tgtRandom r = {79};
  static const double eps = 1e-30;
  int slid = 0;
  for (int k = 0; k < problems / 5; k++) {
    Scene s;
    tgReal res[MAX_ROWS], df[MAX_ROWS], fk[MAX_ROWS], dJ[MAX_ROWS * MAX_DOF];
    make_scene(&s, 2, &r);
    Scene moved = s;
    for (int i = 0; i < s.n * s.dof; i++) {
      dJ[i] = tgt_normal(&r);
      moved.J[i] += dJ[i] * CMPLX(0, eps);
    }
    for (int j = 0; j < s.dof; j++) moved.v[j] += tgt_normal(&r) * CMPLX(0, eps);
    scene_finish(&moved);
    assert_int_equal(solve(&x, &s, NULL, NULL), TG_OK);
    for (int i = 0; i < s.n; i++) {
      res[i] = tgIm(moved.b[i]) / eps;
      for (int j = 0; j < s.n; j++) res[i] += tgIm(moved.A[i * s.n + j]) / eps * x.f[j];
    }
    tgi_cone_turn(&x.c, res);
    for (int a = 0; a < x.s.nk; a++) fk[a] = res[x.s.k[a]];
    tgi_lcp_derivative(&x.s, fk, NULL, fk);
    tgi_lcp_expand(&x.s, fk, df);
    tgi_cone_back(&x.c, df);
    slid += x.c.any;
    if (x.info.margin < 1e-6) continue;
    assert_int_equal(solve(&x, &moved, NULL, NULL), TG_OK);
    double size = 0;
    for (int i = 0; i < s.n; i++) size = fmax(size, fabs(tgRe(df[i])));
    for (int i = 0; i < s.n; i++)
      check_true(fabs(tgIm(x.f[i]) / eps - tgRe(df[i])) <= 1e-8 * size, "%d: df[%d] %.12g, complex step %.12g", k, i, tgRe(df[i]),
                 tgIm(x.f[i]) / eps);
  }
  check_true(slid > problems / 20, "%d slide", slid);
  free(x.memory);
}
#endif

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_families), cmocka_unit_test(test_twin), cmocka_unit_test(test_axes),
#ifdef TG_COMPLEX
                                     cmocka_unit_test(test_derivative),
#endif
  };
  if (argc > 1) problems = atoi(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
