// test_solve.c: the frictional LCP: validity on random families, built cases, refusals, ties, determinism, no
// allocation.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/lcp/columns.h"
#include "contact/lcp/families.h"
#include "contact/lcp/scratch.h"

static int problems = 2000;  // set by the command line: the long test asks for 100,000

// ---- allocation counter: interposes malloc for this program, libraries included ----
static size_t allocations;
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTING 1
void *malloc(size_t bytes) {
  allocations++;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  allocations++;
  return __libc_calloc(count, bytes);
}
void *realloc(void *block, size_t bytes) {
  allocations++;
  return __libc_realloc(block, bytes);
}
#else
#define COUNTING 0
#endif

typedef struct Fixture {
  tgiLcp s;
  void *memory;
  tgReal f[MAX_ROWS], w[MAX_ROWS];
  int8_t cls[MAX_ROWS];
  tgiLcpInfo info;
} Fixture;

static void set_up(Fixture *x, int nequality, int nnormal, int nbounded) {
  size_t bytes = tgi_lcp_bytes(nequality, nnormal, nbounded);
  memset(x, 0, sizeof *x);
  x->memory = malloc(bytes);
  memset(x->memory, 0xA5, bytes);
  assert_int_equal(tgi_lcp_init(&x->s, x->memory, bytes, nequality, nnormal, nbounded), TG_OK);
}

static tgStatus solve(Fixture *x, const tgiLcpProblem *p, const int8_t *warm) {
  return tgi_lcp_solve(&x->s, p, warm, x->f, x->w, x->cls, &x->info);
}

// J^T f, all that the motion sees of f
static void generalized(const Scene *s, const tgReal *f, double *out) {
  for (int j = 0; j < s->dof; j++) {
    out[j] = 0;
    for (int i = 0; i < s->n; i++) out[j] += tgRe(s->J[i * s->dof + j]) * tgRe(f[i]);
  }
}

// Cold and warm: at least 99.99 % valid at 1e-8 by an independent check, friction law included in it, cold at least 99 % along a path;
// whatever is not valid says so. Repeated, a solve gives the same bits; warm-started from its own classes it gives the same bits too.
static void test_families(void **state) {
  (void)state;
  Fixture x, y;
  set_up(&x, 0, 16, 32);
  set_up(&y, 0, 16, 32);
  for (int family = 0; family < FAMILIES; family++) {
    tgtRandom r = {1000 + (uint64_t)family};
    int count = problems / FAMILIES, valid = 0, valid_warm = 0, along = 0;
    for (int k = 0; k < count; k++) {
      Scene s;
      make_scene(&s, family, &r);
      tgiLcpProblem p = scene_problem(&s);
      tgStatus status = solve(&x, &p, NULL);
      double residual = independent_residual(&p, x.f);
      check_true((status == TG_OK) == (residual <= 1e-8), "%s %d: status %d but residual %.3g", family_name[family], k,
                 (int)status, residual);
      check_true((x.info.nfailed > 0) == (status != TG_OK), "%s %d: failed rows not named", family_name[family], k);
      valid += status == TG_OK;
      along += x.info.stage == TGI_LCP_PIVOT;
      solve(&y, &p, NULL);
      assert_memory_equal(x.f, y.f, (size_t)s.n * sizeof(tgReal));
      assert_memory_equal(x.cls, y.cls, (size_t)s.n);
      if (status == TG_OK) {
        solve(&y, &p, x.cls);
        assert_int_equal(y.info.stage, TGI_LCP_WARM);
        assert_memory_equal(x.f, y.f, (size_t)s.n * sizeof(tgReal));
      }
      for (int j = 0; j < s.dof; j++) s.v[j] *= 1 + 0.1 * tgt_normal(&r);
      scene_finish(&s);
      status = solve(&x, &p, x.cls);
      residual = independent_residual(&p, x.f);
      check_true((status == TG_OK) == (residual <= 1e-8), "%s %d warm: status %d but residual %.3g",
                 family_name[family], k, (int)status, residual);
      valid_warm += status == TG_OK;
    }
    print_message("%-15s valid cold %d/%d, warm %d/%d\n", family_name[family], valid, count, valid_warm, count);
    check_true(10000 * (long)valid >= 9999 * (long)count && 10000 * (long)valid_warm >= 9999 * (long)count, "%s: fewer than 99.99 %% valid",
               family_name[family]);
    check_true(100 * along >= 99 * count, "%s: %d of %d along a path", family_name[family], along, count);
  }
  free(x.memory);
  free(y.memory);
}

// Equalities (redundant ones too), joint limits, dry friction and contacts in mixed order
static void test_mixed(void **state) {
  (void)state;
  Fixture x;
  int held = 0, dry[6] = {0};
  set_up(&x, 3, 5, 9);
  tgtRandom r = {77};
  for (int k = 0; k < 300; k++) {
    Scene s;
    make_scene(&s, MIXED, &r);
    tgiLcpProblem p = scene_problem(&s);
    assert_int_equal(solve(&x, &p, NULL), TG_OK);
    check_true(independent_residual(&p, x.f) <= 1e-8, "mixed %d: residual %.3g", k, independent_residual(&p, x.f));
    for (int i = 0; i < s.n; i++) {
      if (s.kind[i] == TGI_LCP_EQUALITY) assert_int_equal(x.cls[i], TGI_LCP_C);
      if (s.kind[i] == TGI_LCP_BOX) dry[x.cls[i]]++;
    }
    check_true(x.info.rank < x.info.nk, "the third equality is the sum of the others, yet rank %d = %d", x.info.rank,
               x.info.nk);
    held += x.info.nk;
  }
  check_true(held > 900 && dry[TGI_LCP_F] > 50 && dry[TGI_LCP_H] > 50 && dry[TGI_LCP_L] > 50,
             "the generator does not reach all classes: %d %d %d", dry[TGI_LCP_F], dry[TGI_LCP_H], dry[TGI_LCP_L]);
  free(x.memory);
}

// Lemke's method of a reduced problem, which writes no further than its variables. Where nothing rubs, the forces of the tableau that it
// ends with solve the problem: none pulls, nothing comes closer, and what presses does not move.
static bool lemke_solves(tgiLcpScratch *c, int attempt, bool friction, int *pivots) {
  const tgiLcpReduced *r = &c->red;
  int m = 0;
  for (int i = 0; i < r->n; i++) m += r->kind[i] == TGI_LCP_NORMAL ? 1 : 3;
  c->zval[m] = 77;
  bool done = tgi_lcp_lemke(c, attempt, 0, c->red_cls, pivots);
  assert_true(c->zval[m] == 77);
  double force = 1e-300, speed = 1e-300;
  for (int i = 0; i < r->n; i++) {
    force = fmax(force, fabs(c->f[i]));
    speed = fmax(speed, fabs(r->b[i]));
  }
  for (int i = 0; i < r->n && done && !friction; i++) {
    double f = c->f[i] / force, w = c->w[i] / speed;
    if (r->kind[i] == TGI_LCP_NORMAL) check_true(fmin(f, w) >= -1e-8 && fmin(f, w) <= 1e-8, "row %d: force %g, velocity %g", i, f, w);
  }
  return done;
}

// Without friction v' is unique: pivoting, Lemke with each of its covering vectors and Gauss-Seidel agree in J^T f. With it Lemke and the
// driver agree on a box in at least 99 of 100 cases (wedged sets of forces are not unique).
static void test_stages_agree(void **state) {
  (void)state;
  Fixture x, y;
  set_up(&x, 0, 16, 32);
  set_up(&y, 0, 16, 32);
  enum { STAGES = 8 };
  int stage_ok[STAGES] = {0}, agree = 0, compared = 0;
  for (int family = 0; family < FAMILIES; family++) {
    tgtRandom r = {300 + (uint64_t)family};
    for (int k = 0; k < 60; k++) {
      Scene s;
      bool friction = family == 0 && k % 2 == 1;
      make_scene(&s, family, &r);
      for (int i = 0; i < s.n && !friction; i++) s.bound[i] = 0;
      tgiLcpProblem p = scene_problem(&s);
      assert_int_equal(solve(&x, &p, NULL), TG_OK);
      tgiLcpScratch *c = y.s.scratch;
      for (int stage = 0; stage < STAGES; stage++) {
        int pivots = 0;
        int8_t cls[MAX_ROWS];
        if (friction && stage > 2) continue;
        tgi_lcp_open(c, &p);
        tgi_lcp_reduce(&y.s, &p);
        for (int i = 0; i < c->red.n; i++) c->f[i] = 0;
        bool done = stage == 0   ? tgi_lcp_path(c, 0, 0, 0, c->red_cls, &pivots)
                    : stage == 1 ? tgi_lcp_pgs(c, 20000, c->red_cls) < 20000
                                 : lemke_solves(c, stage - 2, friction, &pivots);
        if (!done || c->red.n != s.n) continue;
        memcpy(cls, c->red_cls, (size_t)s.n);
        if (tgi_lcp_solve_classes(&y.s, &p, cls, y.f, y.w) > 1e-8) continue;
        double a[MAX_DOF], b[MAX_DOF], off = 0, size = 0;
        generalized(&s, x.f, a);
        generalized(&s, y.f, b);
        for (int j = 0; j < s.dof; j++) {
          off = fmax(off, fabs(a[j] - b[j]));
          size = fmax(size, fabs(a[j]));
        }
        if (!friction)
          check_true(off <= 1e-9 * size, "%s %d stage %d: J^T f differs by %.3g", family_name[family], k, stage, off);
        if (!friction) stage_ok[stage]++;
        if (friction) compared++;
        if (friction) agree += off <= 1e-9 * size;
      }
    }
  }
  check_true(stage_ok[0] > 200 && stage_ok[1] > 150, "too few stages finished: %d %d", stage_ok[0], stage_ok[1]);
  for (int k = 2; k < STAGES; k++) check_true(stage_ok[k] > 200, "Lemke with covering vector %d finished %d times", k - 2, stage_ok[k]);
  check_true(compared > 50 && 100 * agree >= 99 * compared, "box with friction: %d of %d agree", agree, compared);
  free(x.memory);
  free(y.memory);
}

// Friction that has no force to hang on slides, by the side of its velocity, at rest too, of the first contact as of the others.
static void test_vertex_without_force(void **state) {
  (void)state;
  Fixture x;
  set_up(&x, 0, 2, 4);
  for (int apart = 0; apart < 2; apart++) {   // the first of two blocks leaves the plane, or the second
    Scene s;
    clear_scene(&s, 6);
    for (int j = 0; j < 6; j++) s.Minv[7 * j] = 1;
    for (int k = 0; k < 2; k++) {
      int normal = s.n;
      s.v[3 * k] = 0.3;
      s.v[3 * k + 1] = 0;
      s.v[3 * k + 2] = k == apart ? 1 : -1;
      for (int j = 0; j < 3; j++) {
        int i = scene_row(&s, j == 0 ? TGI_LCP_NORMAL : TGI_LCP_FRICTION, j == 0 ? -1 : normal, j == 0 ? 0 : 0.5);
        s.J[i * 6 + 3 * k + (j + 2) % 3] = 1;
      }
    }
    scene_finish(&s);
    tgiLcpProblem p = scene_problem(&s);
    tgiLcpScratch *c = x.s.scratch;
    int pivots = 0;
    int8_t cls[6];
    tgi_lcp_open(c, &p);
    tgi_lcp_reduce(&x.s, &p);
    assert_int_equal(c->red.n, 6);
    assert_true(tgi_lcp_lemke(c, 0, 0, c->red_cls, &pivots));
    tgi_lcp_lemke_vertex(c, cls);
    check_true(cls[3 * apart] == TGI_LCP_N && cls[3 * apart + 1] == TGI_LCP_L && cls[3 * apart + 2] == TGI_LCP_H,
               "block %d: classes %d %d %d", apart, cls[3 * apart], cls[3 * apart + 1], cls[3 * apart + 2]);
    check_true(cls[3 - 3 * apart] == TGI_LCP_C, "the other one: class %d", cls[3 - 3 * apart]);
  }
  free(x.memory);
}

// A block on a plane pushed sideways: sticks below mu m g h, slides above with f_t = -mu f_n, closed form
static void test_block_closed_form(void **state) {
  (void)state;
  Fixture x;
  set_up(&x, 0, 1, 2);
  for (int k = 0; k < 40; k++) {
    double push = -2 + 0.1 * k + 0.05, mu = 0.7;
    Scene s;
    clear_scene(&s, 3);
    for (int j = 0; j < 3; j++) s.Minv[4 * j] = 0.5;
    s.v[0] = push;
    s.v[2] = -1;
    for (int j = 0; j < 3; j++) {
      int i = scene_row(&s, j == 0 ? TGI_LCP_NORMAL : TGI_LCP_FRICTION, j == 0 ? -1 : 0, j == 0 ? 0 : mu);
      s.J[i * 3 + (j + 2) % 3] = 1;
    }
    scene_finish(&s);
    tgiLcpProblem p = scene_problem(&s);
    assert_int_equal(solve(&x, &p, NULL), TG_OK);
    bool sticks = fabs(push) < mu;
    check_close(x.f[0], 2, 1e-14);
    check_close(x.f[1], sticks ? -2 * push : push > 0 ? -1.4 : 1.4, 1e-14);
    check_close(x.w[1], sticks ? 0 : push - (push > 0 ? mu : -mu), 1e-14);
    assert_int_equal(x.cls[1], sticks ? TGI_LCP_F : push > 0 ? TGI_LCP_L : TGI_LCP_H);
    assert_int_equal(x.info.nties, 0);
  }
  free(x.memory);
}

// One block in all: normal along z (dof 2), tangents x, y, unit mass
static void block(Scene *s, double vx, double vz, double mu) {
  clear_scene(s, 3);
  for (int j = 0; j < 3; j++) s->Minv[4 * j] = 1;
  s->v[0] = vx;
  s->v[2] = vz;
  for (int j = 0; j < 3; j++) {
    int i = scene_row(s, j == 0 ? TGI_LCP_NORMAL : TGI_LCP_FRICTION, j == 0 ? -1 : 0, j == 0 ? 0 : mu);
    s->J[i * 3 + (j + 2) % 3] = 1;
  }
  scene_finish(s);
}

static bool listed(const int *rows, int count, int row) {
  for (int i = 0; i < count; i++)
    if (rows[i] == row) return true;
  return false;
}

// Built ties: touching without force, friction exactly at its bound; and sets that only look tied
static void test_ties(void **state) {
  (void)state;
  Fixture x;
  Scene s;
  set_up(&x, 0, 16, 32);
  block(&s, 0, 0, 0.5);  // touches, at rest, nothing pushes
  tgiLcpProblem p = scene_problem(&s);
  assert_int_equal(solve(&x, &p, NULL), TG_OK);
  assert_int_equal(x.cls[0], TGI_LCP_N);
  assert_true(listed(x.info.ties, x.info.nties, 0) && x.info.margin == 0);
  const int8_t pressing[3] = {TGI_LCP_C, TGI_LCP_F, TGI_LCP_F};  // the same from a step in which it pressed
  assert_int_equal(solve(&x, &p, pressing), TG_OK);
  assert_int_equal(x.info.stage, TGI_LCP_WARM);
  assert_int_equal(x.cls[0], TGI_LCP_N);
  assert_true(listed(x.info.ties, x.info.nties, 0));
  block(&s, 0.5, -1, 0.5);  // friction needed = friction to be had
  p = scene_problem(&s);
  assert_int_equal(solve(&x, &p, NULL), TG_OK);
  assert_int_equal(x.cls[1], TGI_LCP_F);
  assert_true(x.info.nties == 1 && x.info.ties[0] == 1);
  block(&s, 0.4, -1, 0.5);  // a fifth below it
  p = scene_problem(&s);
  assert_int_equal(solve(&x, &p, NULL), TG_OK);
  assert_int_equal(x.info.nties, 0);
  check_close(x.info.margin, 0.1, 1e-12);
  // a box at rest on four corners: redundant, each corner carries a quarter, no tie
  tgtRandom r = {8};
  for (int k = 0; k < 20; k++) {
    make_scene(&s, 0, &r);
    for (int j = 0; j < 6; j++) s.v[j] = j == 2 ? -0.01 : 0;
    scene_finish(&s);
    p = scene_problem(&s);
    assert_int_equal(solve(&x, &p, NULL), TG_OK);
    assert_int_equal(x.info.nties, 0);
    assert_int_equal(x.info.nk, 12);
    assert_int_equal(x.info.rank, 6);
    for (int c = 0; c < 4; c++) check_close(x.f[3 * c], 0.0025 / s.Minv[0], 1e-12);
    check_true(tgi_lcp_null_action(&x.s) < 1e-12, "null forces move the box: %.3g", tgi_lcp_null_action(&x.s));
  }
  free(x.memory);
}

typedef struct Levers { int n, dof; const double *J; } Levers;

static double levers_apart(void *ctx, tgReal *f, tgReal *g) {
  const Levers *l = ctx;
  double most = 0, apart = 0;
  for (int d = 0; d < l->dof; d++) {
    double u = 0, v = 0;
    for (int i = 0; i < l->n; i++) {
      u += l->J[i * l->dof + d] * tgRe(f[i]);
      v += l->J[i * l->dof + d] * tgRe(g[i]);
    }
    most = fmax(most, fabs(u));
    apart = fmax(apart, fabs(u - v));
  }
  return apart / most;
}

// Two rows of which the second has a small lever more: together they count as one, by forces of least norm. The derivative for many vectors
// at once moves what that does, with zeros in a row only where there is no such lever.
static void test_nearly_redundant_columns(void **state) {
  (void)state;
  static const double lever[] = {0, 1e-7, 3e-6};
  Fixture x;
  set_up(&x, 0, 2, 0);
  for (size_t k = 0; k < sizeof lever / sizeof *lever; k++) {
    double J[4] = {1, 0, 1, lever[k]};
    tgReal A[4] = {1, 1, 1, 1 + lever[k] * lever[k]}, b[2] = {-1, -1}, bound[2] = {0}, X[8], work[64], r[2], f[2], g[2];
    int kind[2] = {TGI_LCP_NORMAL, TGI_LCP_NORMAL}, parent[2] = {-1, -1}, at[2] = {0, 4}, live[2], iwork[16];
    int8_t cls[2] = {TGI_LCP_C, TGI_LCP_C};
    tgiLcpProblem p = {2, A, b, kind, parent, bound, 0, 0, NULL, NULL, NULL, false};
    Levers levers = {2, 2, J};
    tgiLcpMotion motion = {levers_apart, &levers};
    tgi_lcp_solve_classes(&x.s, &p, cls, x.f, x.w);
    assert_int_equal(x.s.rank, 1);
    for (int i = 0; i < 8; i++) X[i] = i + 1;
    assert_true(tgi_lcp_columns_reals(2, 1, 4) <= 64);
    assert_int_equal(tgi_lcp_derivative_columns(&x.s, &motion, 4, at, X, live, work, iwork), lever[k] == 0 ? 1 : 2);
    for (int c = 0; c < 4; c++) {
      for (int i = 0; i < 2; i++) r[i] = 4 * i + c + 1;
      tgi_lcp_derivative(&x.s, r, NULL, f);
      for (int i = 0; i < 2; i++) g[i] = X[4 * i + c];
      check_true(levers_apart(&levers, f, g) < 1e-12, "lever %g: motions apart by %.3g", lever[k], levers_apart(&levers, f, g));
    }
  }
  free(x.memory);
}

// What cannot be solved is refused with its rows
static void test_failures(void **state) {
  (void)state;
  Fixture x;
  set_up(&x, 4, 4, 4);
  tgReal A[9] = {1, -1, 0, -1, 1, 0, 0, 0, 1}, b[3] = {-1, -1, -1}, bound[3] = {0};
  int kind[3] = {TGI_LCP_NORMAL, TGI_LCP_NORMAL, TGI_LCP_NORMAL}, parent[3] = {-1, -1, -1};
  tgiLcpProblem p = {3, A, b, kind, parent, bound, 0, 0, NULL, NULL, NULL, false};
  assert_int_equal(solve(&x, &p, NULL), TG_NOT_CONVERGED);  // a gap that is to open both ways
  assert_int_equal(x.info.stage, TGI_LCP_FAILED);
  assert_true(listed(x.info.failed, x.info.nfailed, 0) || listed(x.info.failed, x.info.nfailed, 1));
  assert_false(listed(x.info.failed, x.info.nfailed, 2));
  check_close(x.f[2], 1, 1e-12);

  kind[0] = kind[1] = TGI_LCP_EQUALITY;  // w1 = -w2, to be 1 and 1
  assert_int_equal(solve(&x, &p, NULL), TG_NOT_CONVERGED);
  assert_true(listed(x.info.failed, x.info.nfailed, 0) && listed(x.info.failed, x.info.nfailed, 1));
  b[1] = 1;  // consistent now
  assert_int_equal(solve(&x, &p, NULL), TG_OK);
  assert_int_equal(x.info.nfailed, 0);

  tgReal A2[4] = {1, 0, 0, 0}, b2[2] = {-1, -1};  // row 1 is fixed to the world
  int kind2[2] = {TGI_LCP_NORMAL, TGI_LCP_NORMAL};
  tgiLcpProblem q = {2, A2, b2, kind2, parent, bound, 0, 0, NULL, NULL, NULL, false};
  assert_int_equal(solve(&x, &q, NULL), TG_OK);   // asked to move: it gets no impulse, and says so
  assert_true(x.info.ninert == 1 && x.info.inert[0] == 1 && x.info.nfailed == 0 && x.cls[1] == TGI_LCP_N);
  check_close(x.f[1], 0, 0);
  b2[1] = 0;  // not asked to move: fine, and no tie, since its class cannot matter
  assert_int_equal(solve(&x, &q, NULL), TG_OK);
  assert_int_equal(x.info.nties, 0);
  assert_int_equal(x.info.ninert, 0);
  b2[1] = 0.5;
  assert_int_equal(solve(&x, &q, NULL), TG_OK);
  assert_int_equal(x.info.ninert, 0);
  kind2[1] = TGI_LCP_BOX;
  bound[1] = 1;
  assert_int_equal(solve(&x, &q, NULL), TG_OK);
  assert_int_equal(x.cls[1], TGI_LCP_D);
  check_close(x.f[1], 0, 0);

  b2[0] = NAN;
  assert_int_equal(solve(&x, &q, NULL), TG_ERR_NOT_FINITE);
  assert_true(x.info.nfailed == 1 && x.info.failed[0] == 0);
  b2[0] = -1;
  kind2[1] = TGI_LCP_FRICTION;
  parent[1] = 1;
  assert_int_equal(solve(&x, &q, NULL), TG_ERR_ARG);
  assert_int_equal(x.info.failed[0], 1);
  parent[1] = 0;
  bound[1] = -0.5;
  assert_int_equal(solve(&x, &q, NULL), TG_ERR_ARG);
  tgiLcp small;
  assert_int_equal(tgi_lcp_init(&small, x.memory, tgi_lcp_bytes(0, 1, 0) - 1, 0, 1, 0), TG_ERR_CAPACITY);
  assert_int_equal(tgi_lcp_init(&small, x.memory, tgi_lcp_bytes(0, 1, 0), 0, 1, 0), TG_OK);
  assert_int_equal(tgi_lcp_solve(&small, &p, NULL, x.f, x.w, x.cls, &x.info), TG_ERR_CAPACITY);
  assert_true(tgi_lcp_bytes(-1, 0, 0) == SIZE_MAX);
  q.n = 0;
  assert_int_equal(solve(&x, &q, NULL), TG_OK);
  free(x.memory);
}

// f along a path from some forces, for all rows, and its classes in y->s. False: the path stops, or rows are left out
static bool along_path(Fixture *y, const tgiLcpProblem *p, int borders, int columns, uint64_t seed, int *pivots) {
  tgiLcpScratch *c = y->s.scratch;
  tgtRandom r = {seed};
  tgi_lcp_open(c, p);
  tgi_lcp_reduce(&y->s, p);
  for (int i = 0; i < c->red.n; i++) c->f[i] = seed == 0 ? 0 : tgt_normal(&r);
  if (c->red.n != p->n || !tgi_lcp_path(c, 0, borders, columns, c->red_cls, pivots)) return false;
  tgi_lcp_lift(c, p);
  memcpy(y->s.cls, c->red_cls, (size_t)p->n);
  return true;
}

// A system that is bordered as rows switch leads along the same path as one that is factorised at each switch: as many pivots, the same
// classes and forces at the end. (Not so where rows are redundant: there rounding decides which of them switches first.)
static void test_borders(void **state) {
  (void)state;
  Fixture x, y;
  set_up(&x, 0, 16, 32);
  set_up(&y, 0, 16, 32);
  tgtRandom r = {61};
  int compared = 0;
  for (int k = 0; k < 400; k++) {
    Scene s;
    make_scene(&s, k % FAMILIES, &r);
    for (int i = 0; i < s.n; i++) s.A[i * s.n + i] *= 1.1;
    tgiLcpProblem p = scene_problem(&s);
    p.rank = 0;
    int plain = 0, bordered = 0;
    if (!along_path(&x, &p, 0, 0, (uint64_t)k, &plain) || plain < 3) continue;
    compared++;
    assert_true(along_path(&y, &p, 1 + k % tgi_lcp_borders(s.n), 0, (uint64_t)k, &bordered));
    double most = 0, off = 0;
    for (int i = 0; i < s.n; i++) {
      most = fmax(most, fmax(fabs(tgRe(x.s.scratch->ftry[i])), fabs(tgRe(s.b[i] / s.A[i * s.n + i]))));
      off = fmax(off, fabs(tgRe(x.s.scratch->ftry[i] - y.s.scratch->ftry[i])));
    }
    assert_int_equal(plain, bordered);
    assert_memory_equal(x.s.cls, y.s.cls, (size_t)s.n);
    check_true(off <= 1e-10 * most, "case %d: forces differ by %.3g of %.3g", k, off, most);
  }
  check_true(compared > 250, "%d compared", compared);
  free(x.memory);
  free(y.memory);
}

// classes by chance; what is not held slides
static void draw_classes(const tgiLcpReduced *r, tgtRandom *random, int8_t *cls) {
  for (int i = 0; i < r->n; i++)
    if (r->kind[i] == TGI_LCP_NORMAL) cls[i] = tgt_normal(random) > -0.5 ? TGI_LCP_C : TGI_LCP_N;
  for (int i = 0; i < r->n; i++) {
    if (r->kind[i] == TGI_LCP_NORMAL) continue;
    double x = tgt_normal(random);
    bool may = r->bound[i] > 0 && (r->parent[i] < 0 || cls[r->parent[i]] == TGI_LCP_C);
    cls[i] = may && fabs(x) > 0.6 ? TGI_LCP_F : x > 0 ? TGI_LCP_H : TGI_LCP_L;
  }
}

// largest (A + e D) f + g of held rows, A as it is
static double left_of(const tgiLcpReduced *r, const int8_t *cls, const double *f, const double *g) {
  double most = 0;
  for (int i = 0; i < r->n; i++) {
    if (cls[i] != TGI_LCP_C && cls[i] != TGI_LCP_F) continue;
    double sum = g[i] + TGI_LCP_SHIFT * r->A[i * r->n + i] * f[i];
    for (int j = 0; j < r->n; j++) sum += r->A[i * r->n + j] * f[j];
    most = fmax(most, fabs(sum));
  }
  return most;
}

static double largest(int n, const double *x) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

// By columns that stand for A the forces of classes solve the system as well as by a factorisation of the held rows, and are the same as
// well as its condition (1e8) lets them be.
static void test_columns(void **state) {
  (void)state;
  Fixture x;
  set_up(&x, 0, 16, 32);
  tgtRandom r = {63};
  for (int k = 0; k < 400; k++) {
    Scene s;
    double f[2][MAX_ROWS], rate[2][MAX_ROWS], g[MAX_ROWS], off = 0;
    int8_t cls[MAX_ROWS];
    make_scene(&s, k % FAMILIES, &r);
    tgiLcpProblem p = scene_problem(&s);
    tgiLcpScratch *c = x.s.scratch;
    tgi_lcp_open(c, &p);
    tgi_lcp_reduce(&x.s, &p);
    draw_classes(&c->red, &r, cls);
    for (int i = 0; i < c->red.n; i++) c->delta[i] = tgt_normal(&r);
    c->system.most = tgi_lcp_borders(MAX_ROWS);
    assert_true(tgi_lcp_bordered_factor(c, cls) && tgi_lcp_bordered_solve(c, cls, f[0], rate[0]));
    c->system.most = s.dof;
    assert_true(tgi_lcp_narrow_open(c, s.dof) && c->system.narrow <= s.dof);
    assert_true(tgi_lcp_narrow_solve(c, cls, f[1], rate[1]));
    for (int i = 0; i < c->red.n; i++) g[i] = c->red.b[i] + c->delta[i];
    double size = largest(c->red.n, f[1]), fast = largest(c->red.n, rate[1]);
    check_true(left_of(&c->red, cls, f[1], g) <= 1e-13 * (size + 1), "case %d: %.3g", k, left_of(&c->red, cls, f[1], g));
    for (int i = 0; i < c->red.n; i++) g[i] = -c->delta[i];
    check_true(left_of(&c->red, cls, rate[1], g) <= 1e-13 * (fast + 1), "case %d: rate %.3g", k, left_of(&c->red, cls, rate[1], g));
    for (int i = 0; i < c->red.n; i++) {
      off = fmax(off, fabs(f[1][i] - f[0][i]) / size);
      off = fmax(off, fabs(rate[1][i] - rate[0][i]) / fmax(fast, 1e-300));
    }
    check_true(off <= 1e-6, "case %d: differ by %.3g", k, off);
  }
  free(x.memory);
}

// The path by columns is that of A itself, where rows are independent; too few columns are refused.
static void test_columns_path(void **state) {
  (void)state;
  Fixture x, y;
  set_up(&x, 0, 16, 32);
  set_up(&y, 0, 16, 32);
  tgtRandom r = {64};
  int compared = 0;
  for (int k = 0; k < 200; k++) {
    Scene s;
    make_scene(&s, 2, &r);
    tgiLcpProblem p = scene_problem(&s);
    int plain = 0, narrow = 0;
    double most = 0, off = 0;
    if (!along_path(&x, &p, 0, 0, (uint64_t)k, &plain) || plain < 3) continue;
    compared++;
    assert_true(along_path(&y, &p, 0, s.dof, (uint64_t)k, &narrow));
    assert_int_equal(y.s.scratch->system.narrow, s.dof);
    assert_int_equal(plain, narrow);
    assert_memory_equal(x.s.cls, y.s.cls, (size_t)s.n);
    for (int i = 0; i < s.n; i++) {
      most = fmax(most, fabs(tgRe(x.s.scratch->ftry[i])));
      off = fmax(off, fabs(tgRe(x.s.scratch->ftry[i] - y.s.scratch->ftry[i])));
    }
    check_true(off <= 1e-7 * most, "case %d: forces differ by %.3g of %.3g", k, off, most);
    assert_true(along_path(&y, &p, 0, s.dof - 1, (uint64_t)k, &narrow));
    assert_int_equal(y.s.scratch->system.narrow, 0);
  }
  check_true(compared > 100, "%d compared", compared);
  free(x.memory);
  free(y.memory);
}

// At a vertex the held rows act independently, and velocities and validity are those of the solution that it was found from
static void test_vertex(void **state) {
  (void)state;
  Fixture x;
  set_up(&x, 0, 16, 32);
  tgtRandom r = {62};
  int found = 0;
  for (int k = 0; k < 200; k++) {
    Scene s;
    make_scene(&s, k % 2, &r);
    tgiLcpProblem p = scene_problem(&s);
    tgReal w[MAX_ROWS], *f = x.s.scratch->ftry;
    int8_t before[MAX_ROWS];
    if (k % 4 == 0)   // at rest, all rows hold
      for (int j = 0; j < s.dof; j++) s.v[j] = j % 6 == 2 ? -0.01 : 0;
    scene_finish(&s);
    assert_int_equal(solve(&x, &p, NULL), TG_OK);
    memcpy(before, x.cls, sizeof before);
    tgi_lcp_solve_classes(&x.s, &p, before, x.f, x.w);
    memcpy(f, x.f, (size_t)s.n * sizeof *f);
    bool moved = tgi_lcp_vertex(&x.s, &p);
    if (!moved) continue;
    found++;
    check_true(independent_residual(&p, f) <= 1e-8, "case %d: residual %.3g", k, independent_residual(&p, f));
    for (int i = 0; i < s.n; i++) {
      w[i] = s.b[i];
      for (int j = 0; j < s.n; j++) w[i] += s.A[i * s.n + j] * f[j];
      check_close(w[i], x.w[i], 1e-9);
    }
    tgReal kept[MAX_ROWS];
    memcpy(kept, f, (size_t)s.n * sizeof *f);
    memcpy(before, x.s.cls, sizeof before);
    tgi_lcp_solve_classes(&x.s, &p, before, x.f, x.w);
    memcpy(f, kept, (size_t)s.n * sizeof *f);
    assert_false(tgi_lcp_vertex(&x.s, &p));
  }
  check_true(found > 50, "%d vertices", found);
  free(x.memory);
}

// A normal that moves no joint but by rounding (a foot that stands under its hip) gets no impulse, cold and from the class in which it
// pressed a step before, and names itself where it closes; the others' answer is that without it
static void test_inert(void **state) {
  (void)state;
  Fixture x, y;
  set_up(&x, 0, 16, 32);
  set_up(&y, 0, 16, 32);
  tgtRandom r = {51};
  for (int k = 0; k < 100; k++) {
    Scene s;
    make_scene(&s, 2, &r);
    tgiLcpProblem p = scene_problem(&s);
    assert_int_equal(solve(&y, &p, NULL), TG_OK);
    int i = scene_row(&s, TGI_LCP_NORMAL, -1, 0);
    for (int j = 0; j < s.dof; j++) s.J[i * s.dof + j] = 1e-31 * tgt_normal(&r);
    scene_finish(&s);
    s.b[i] = k % 2 == 0 ? -0.1 : 1e-18;
    p = scene_problem(&s);
    for (int warm = 0; warm < 2; warm++) {
      int8_t cls[MAX_ROWS];
      memcpy(cls, y.cls, (size_t)i);
      cls[i] = TGI_LCP_C;
      assert_int_equal(solve(&x, &p, warm ? cls : NULL), TG_OK);
      check_close(x.f[i], 0, 0);
      assert_int_equal(x.cls[i], TGI_LCP_N);
      assert_int_equal(x.info.ninert, k % 2 == 0);
      if (k % 2 == 0) assert_int_equal(x.info.inert[0], i);
      for (int j = 0; warm && j < i; j++) check_close(x.f[j], y.f[j], 1e-12 * fmax(1, fabs(tgRe(y.f[j]))));
    }
  }
  free(x.memory);
  free(y.memory);
}

// Overlaps that are to be pushed out, at random: with the question whether normals contradict each other the answers are those without it,
// to the bit, and what it refuses is what the search does not find either
static void test_contradictions(void **state) {
  (void)state;
  Fixture x, y;
  set_up(&x, 3, 16, 32);
  set_up(&y, 3, 16, 32);
  int solved = 0, refused = 0, searched = 0;
  for (int family = 0; family <= MIXED; family++) {
    tgtRandom r = {71 + (uint64_t)family};
    for (int k = 0; k < 60; k++) {
      Scene s;
      make_scene(&s, family, &r);
      bool two_sided = s.n < MAX_ROWS && s.kind[0] == TGI_LCP_NORMAL;
      if (two_sided) scene_row(&s, TGI_LCP_NORMAL, -1, 0);
      for (int j = 0; two_sided && j < s.dof; j++) s.J[(s.n - 1) * s.dof + j] = -0.5 * s.J[j];   // what row 0 presses from the other side
      scene_finish(&s);
      for (int i = 0; i < s.n; i++)
        if (s.kind[i] == TGI_LCP_NORMAL) s.b[i] -= tgt_uniform(&r, -1, 1) * (1 + fabs(tgRe(s.b[i])));
      tgiLcpProblem p = scene_problem(&s), q = p;
      q.doubtful = true;
      tgStatus plain = solve(&x, &p, NULL), asked = solve(&y, &q, NULL);
      assert_int_equal(asked, plain);
      if (plain == TG_OK) {
        solved += x.info.stage > TGI_LCP_WARM;
        for (int i = 0; i < s.n; i++) check_close(y.f[i], x.f[i], 0);
        assert_memory_equal(y.cls, x.cls, (size_t)s.n);
      } else if (y.info.pivots + y.info.sweeps == 0) {
        refused++;
      } else {
        searched++;
      }
    }
  }
  printf("%d solved, %d refused, %d searched for in vain\n", solved, refused, searched);
  check_true(solved > 100 && refused > 30, "%d solved, %d refused", solved, refused);
  free(x.memory);
  free(y.memory);
}

// Links on hinges that begin in each other: contacts that each act on two dofs and are to be pushed out, with an answer or without
static void make_links(Scene *s, tgtRandom *r) {
  int contacts = 3 + (int)tgt_uniform(r, 0, 2.999);
  clear_scene(s, 3 + (int)tgt_uniform(r, 0, 5.999));
  for (int j = 0; j < s->dof; j++) {
    s->Minv[j * s->dof + j] = exp(tgt_normal(r));
    s->v[j] = 0.3 * tgt_normal(r);
  }
  for (int c = 0; c < contacts; c++) {
    int at = (int)tgt_uniform(r, 0, s->dof - 1e-9), other = (at + 1 + (int)tgt_uniform(r, 0, s->dof - 1 - 1e-9)) % s->dof, normal = s->n;
    double mu = tgt_uniform(r, 0, 1.2);
    for (int k = 0; k < 3; k++) {
      int i = scene_row(s, k == 0 ? TGI_LCP_NORMAL : TGI_LCP_FRICTION, k == 0 ? -1 : normal, k == 0 ? 0 : mu);
      s->J[i * s->dof + at] = tgt_normal(r);
      s->J[i * s->dof + other] = tgt_normal(r);
    }
  }
  scene_finish(s);
  for (int i = 0; i < s->n; i += 3) s->b[i] -= tgt_uniform(r, 0, 1);
}

// A path that comes by a place where it has been ends there: hardly any takes all the pivots that it may
static void test_paths_end(void **state) {
  (void)state;
  Fixture x;
  set_up(&x, 0, 16, 32);
  tgtRandom r = {92};
  int all = 0;
  for (int k = 0; k < problems; k++) {
    Scene s;
    int pivots = 0;
    make_links(&s, &r);
    tgiLcpProblem p = scene_problem(&s);
    along_path(&x, &p, 0, 0, (uint64_t)k, &pivots);
    all += pivots >= 4 * s.n + 20;
  }
  printf("%d paths of %d to the last pivot\n", all, problems);
  check_true(200 * all <= problems, "%d paths go on to the last pivot", all);
  free(x.memory);
}

// A normal that acts on nothing and asks to be opened is left closing whatever the answer: what is said before a solve is what it tells
static void test_inert_closes(void **state) {
  (void)state;
  Fixture x;
  set_up(&x, 0, 17, 32);
  tgtRandom r = {93};
  int closes = 0, solved = 0;
  for (int k = 0; k < problems; k++) {
    Scene s;
    make_links(&s, &r);
    bool asks = k % 3 > 0;
    int i = scene_row(&s, TGI_LCP_NORMAL, -1, 0);
    for (int j = 0; j < s.dof; j++) s.J[i * s.dof + j] = k % 3 == 2 ? 0 : 1e-12 * tgt_normal(&r);   // through the hinges, but for rounding
    scene_finish(&s);
    double most = 0;
    for (int a = 0; a < i; a++) most = fmax(most, fabs(tgRe(s.b[a])));
    s.b[i] = asks ? -most * tgt_uniform(&r, 0.01, 1) : most * tgt_uniform(&r, 0, 1);
    tgiLcpProblem p = scene_problem(&s);
    assert_int_equal(tgi_lcp_inert_closes(&p), asks);
    closes += asks;
    if (solve(&x, &p, NULL) != TG_OK) continue;
    solved++;
    assert_int_equal(x.info.ninert, asks);
  }
  check_true(closes > problems / 2 && solved > problems / 3, "%d close, %d solved", closes, solved);
  tgiLcpProblem none = {.n = 0};
  assert_false(tgi_lcp_inert_closes(&none));
  free(x.memory);
}

// A normal of a body so heavy that beside a light one it counts as acting on nothing may still be opened by another one of that body, which
// just acts: nothing is said of it before the solve.
static void test_inert_is_opened(void **state) {
  (void)state;
  Fixture x;
  set_up(&x, 0, 3, 0);
  const tgReal A[] = {1, 0, 0, 0, 1e-9, 2e-11, 0, 2e-11, 9e-13}, b[] = {-1, -1, -0.01};
  const int kind[] = {TGI_LCP_NORMAL, TGI_LCP_NORMAL, TGI_LCP_NORMAL}, parent[] = {-1, -1, -1};
  const tgReal bound[] = {0, 0, 0};
  tgiLcpProblem p = {.n = 3, .A = A, .b = b, .kind = kind, .parent = parent, .bound = bound};
  assert_int_equal(solve(&x, &p, NULL), TG_OK);
  check_close(tgRe(x.f[1]), 1e9, 1e3);
  check_close(tgRe(x.w[2]), 0.01, 1e-8);
  assert_int_equal(x.info.ninert, 0);
  assert_false(tgi_lcp_inert_closes(&p));
  free(x.memory);
}

// A mass between two walls, each pushing it out: by as much as the gap between them leaves, less and more
static void test_narrow_slot(void **state) {
  (void)state;
  static const tgReal A[] = {2, -2, -2, 2}, mu[] = {0, 0};
  static const int kind[] = {TGI_LCP_NORMAL, TGI_LCP_NORMAL}, parent[] = {-1, -1};
  static const double room[] = {1, 1e-7, 0, -1e-3, -1};
  Fixture x;
  set_up(&x, 0, 16, 32);
  for (int k = 0; k < 5; k++) {
    tgReal b[] = {-1, 1 + room[k]};
    tgiLcpProblem p = {2, A, b, kind, parent, mu, 0, 1, NULL, NULL, NULL, true};
    assert_int_equal(solve(&x, &p, NULL), room[k] < 0 ? TG_NOT_CONVERGED : TG_OK);
    if (room[k] < 0) assert_int_equal(x.info.pivots + x.info.sweeps, 0);
    else check_close(x.f[0] - x.f[1], 0.5, 1e-7);
  }
  // among speeds of which what is missing is rounding
  tgReal b[] = {-1, 1 - 1e-3};
  tgiLcpProblem p = {2, A, b, kind, parent, mu, 1e6, 1, NULL, NULL, NULL, true};
  assert_int_equal(solve(&x, &p, NULL), TG_OK);
  free(x.memory);
}

// A warm start that does not fit, or fits badly, costs time only
static void test_bad_warm_start(void **state) {
  (void)state;
  Fixture x, y;
  set_up(&x, 3, 16, 32);
  set_up(&y, 3, 16, 32);
  tgtRandom r = {21};
  for (int k = 0; k < 100; k++) {
    Scene s;
    int8_t warm[MAX_ROWS];
    make_scene(&s, k % (FAMILIES + 1), &r);
    tgiLcpProblem p = scene_problem(&s);
    for (int i = 0; i < s.n; i++) warm[i] = (int8_t)(tgt_next(&r) % 8);
    assert_int_equal(solve(&x, &p, warm), TG_OK);
    for (int i = 0; i < s.n; i++)
      warm[i] = s.kind[i] == TGI_LCP_EQUALITY ? TGI_LCP_C : s.kind[i] == TGI_LCP_NORMAL ? TGI_LCP_N : TGI_LCP_L;
    assert_int_equal(solve(&y, &p, warm), TG_OK);
    check_true(independent_residual(&p, x.f) <= 1e-8 && independent_residual(&p, y.f) <= 1e-8, "case %d", k);
  }
  free(x.memory);
  free(y.memory);
}

static tgStatus resolve(Fixture *x, const tgiLcpProblem *p) {
  return tgi_lcp_resolve(&x->s, &x->s, p, NULL, x->f, x->w, x->cls, &x->info);
}

static void assert_same_answer(const Fixture *x, const Fixture *y, int n) {
  assert_memory_equal(x->f, y->f, (size_t)n * sizeof(tgReal));
  assert_memory_equal(x->w, y->w, (size_t)n * sizeof(tgReal));
  assert_memory_equal(x->cls, y->cls, (size_t)n);
  assert_int_equal(x->info.stage, y->info.stage);
  assert_int_equal(x->info.nties, y->info.nties);
}

// Another b and other limits of dry friction with the same A: the bits of a warm solve, derivative included. A small change costs no
// factorisation; a large one goes through corrections and the stages. In between another problem is solved in the scratch.
static void test_resolve(void **state) {
  (void)state;
  Fixture x, y;
  tgiLcp other;
  set_up(&x, 3, 16, 32);
  set_up(&y, 3, 16, 32);
  void *kept = malloc(tgi_lcp_kept_bytes(MAX_ROWS));
  tgi_lcp_init_apart(&other, kept, MAX_ROWS, x.s.scratch, 3, 16, 32);
  tgtRandom r = {91};
  int free_of_charge = 0, corrected = 0, staged = 0;
  for (int k = 0; k < 600; k++) {
    static Scene s, apart;
    make_scene(&s, k % (FAMILIES + 1), &r);
    make_scene(&apart, (k + 1) % (FAMILIES + 1), &r);
    tgiLcpProblem p = scene_problem(&s), q = scene_problem(&apart);
    assert_int_equal(solve(&x, &p, NULL), TG_OK);
    for (int again = 0; again < 4; again++) {
      tgReal f[MAX_ROWS], w[MAX_ROWS], g[MAX_ROWS], from_x[2][MAX_ROWS], from_y[2][MAX_ROWS];
      int8_t cls[MAX_ROWS], warm[MAX_ROWS];
      tgiLcpInfo info;
      tgi_lcp_solve(&other, &q, NULL, f, w, cls, &info);
      double size = again % 2 == 0 ? 1e-3 : 0.5;
      for (int j = 0; j < s.dof; j++) s.v[j] += size * tgt_normal(&r) * (0.1 + fabs(tgRe(s.v[j])));
      for (int i = 0; i < s.n; i++)
        if (s.kind[i] == TGI_LCP_BOX) s.bound[i] *= tgt_uniform(&r, 0.9, 1.1);
      scene_finish(&s);
      memcpy(warm, x.s.cls, sizeof warm);
      tgStatus status = resolve(&x, &p);
      assert_int_equal(status, solve(&y, &p, warm));
      assert_same_answer(&x, &y, s.n);
      assert_true((status == TG_OK) == (independent_residual(&p, x.f) <= 1e-8));
      assert_int_equal(status, TG_OK);
      for (int i = 0; i < s.n; i++) g[i] = tgt_normal(&r);
      tgi_lcp_derivative_t(&x.s, g, from_x[0], from_x[1]);
      tgi_lcp_derivative_t(&y.s, g, from_y[0], from_y[1]);
      for (int side = 0; side < 2; side++)
        assert_memory_equal(from_x[side], from_y[side], (size_t)x.s.nk * sizeof(tgReal));
      free_of_charge += x.info.factored == 0;
      corrected += x.info.factored > 0 && x.info.stage == TGI_LCP_WARM;
      staged += x.info.stage != TGI_LCP_WARM;
    }
  }
  check_true(free_of_charge > 1000 && corrected > 300 && staged > 20, "without a factorisation %d, corrected %d, by the stages %d",
             free_of_charge, corrected, staged);
  Scene s;
  make_scene(&s, 0, &r);
  tgiLcpProblem p = scene_problem(&s);
  assert_int_equal(solve(&x, &p, NULL), TG_OK);
  s.b[1] = NAN;
  assert_int_equal(resolve(&x, &p), TG_ERR_NOT_FINITE);
  assert_true(x.info.nfailed == 1 && x.info.failed[0] == 1);
  p.n--;
  assert_int_equal(resolve(&x, &p), TG_ERR_ARG);
  free(kept);
  free(x.memory);
  free(y.memory);
}

// A cancelled solve ends at its first pivot, leaves nothing behind that another is changed by, and a warm one whose classes are right has
// its answer before it asks.
static void test_cancelled(void **state) {
  (void)state;
  Fixture x, y;
  set_up(&x, 3, 16, 32);
  set_up(&y, 3, 16, 32);
  tgtRandom r = {17};
  int pivots = 0;
  for (int k = 0; k < 60; k++) {
    static Scene s;
    volatile int cancel = 1;
    make_scene(&s, k % (FAMILIES + 1), &r);
    tgiLcpProblem p = scene_problem(&s), plain = p;
    tgiWatch watch = {.cancel = &cancel};
    p.watch = &watch;
    assert_int_equal(solve(&x, &p, NULL), TG_CANCELLED);
    pivots += x.info.pivots;
    cancel = 0;
    assert_int_equal(solve(&x, &p, NULL), TG_OK);
    assert_int_equal(solve(&y, &plain, NULL), TG_OK);
    assert_same_answer(&x, &y, s.n);
    cancel = 1;
    int8_t warm[MAX_ROWS];
    memcpy(warm, x.cls, sizeof warm);
    assert_int_equal(solve(&x, &p, warm), solve(&y, &plain, warm));
  }
  assert_int_equal(pivots, 0);
  free(x.memory);
  free(y.memory);
}

// Nothing is allocated by a solve or by the derivative calls, in our code or in the libraries under it
static void test_no_allocation(void **state) {
  (void)state;
  if (!COUNTING) skip();
  Fixture x;
  set_up(&x, 3, 16, 32);
  tgtRandom r = {31};
  static Scene scenes[30];
  size_t before = allocations;
  void *(*volatile grab)(size_t) = malloc;
  free(grab(1));
  if (allocations == before) skip();  // a tool (valgrind) has put its own malloc before ours
  for (int k = 0; k < 30; k++) make_scene(&scenes[k], k % (FAMILIES + 1), &r);
  before = allocations;
  for (int k = 0; k < 30; k++) {
    tgiLcpProblem p = scene_problem(&scenes[k]);
    tgReal g[MAX_ROWS] = {1}, a[MAX_ROWS], b[MAX_ROWS];
    solve(&x, &p, NULL);
    solve(&x, &p, x.cls);
    resolve(&x, &p);
    tgi_lcp_derivative(&x.s, g, g, a);
    tgi_lcp_derivative_t(&x.s, g, a, b);
    tgi_lcp_null_action(&x.s);
  }
  assert_int_equal(allocations, before);
  free(x.memory);
}

int main(int argc, char **argv) {
  if (argc > 1) problems = atoi(argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_families),
      cmocka_unit_test(test_mixed),
      cmocka_unit_test(test_stages_agree), cmocka_unit_test(test_vertex_without_force),
      cmocka_unit_test(test_block_closed_form),
      cmocka_unit_test(test_ties),
      cmocka_unit_test(test_nearly_redundant_columns), cmocka_unit_test(test_failures),
      cmocka_unit_test(test_borders), cmocka_unit_test(test_columns), cmocka_unit_test(test_columns_path),
      cmocka_unit_test(test_vertex),
      cmocka_unit_test(test_inert),
      cmocka_unit_test(test_contradictions),
      cmocka_unit_test(test_paths_end), cmocka_unit_test(test_inert_closes),
      cmocka_unit_test(test_inert_is_opened),
      cmocka_unit_test(test_narrow_slot),
      cmocka_unit_test(test_bad_warm_start),
      cmocka_unit_test(test_cancelled), cmocka_unit_test(test_resolve),
      cmocka_unit_test(test_no_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
