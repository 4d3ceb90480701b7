// test_pair_wide.c: every width that the machine has against that of one pair; the same bits in every column.
// Arguments: test_pair_wide [pairs of the torture]
#include "contact/barrier/pair/pair_wide.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/barrier/pair_rates.h"

static long torture = 100000;

static void put_cores(tgiPairBlock *b, int lane, const tgiPairCores *c) {
  for (int half = 0; half < 2; half++) {
    b->radius[half][lane] = c->radius[half];
    b->segment[half][lane] = c->segment[half];
  }
  b->oval = false;
}
static void put(tgiPairBlock *b, int lane, const double x[18]) {
  const tgiPairCores none = {.radius = {0, 0}};
  put_cores(b, lane, &none);
  for (int i = 0; i < 18; i++) b->x[i][lane] = x[i];
}
static void put_plane(tgiPairBlock *b, int lane, const tgiPair *r) {
  for (int i = 0; i < 3; i++) b->u[i][lane] = r->u[i];
  b->delta[lane] = r->delta;
}
static void get(const tgiPairBlock *b, int lane, tgiPair *r) {
  memset(r, 0, sizeof *r);  // padding too, for memcmp
  r->S = b->S[lane];
  for (int i = 0; i < 6; i++) r->g[i] = b->g[i][lane];
  for (int i = 0; i < 21; i++) r->H[i] = b->H[i][lane];
  for (int i = 0; i < 3; i++) r->u[i] = b->u[i][lane];
  r->delta = b->delta[lane];
  r->iterations = b->steps[lane];
}

static double extent(const double x[18]) {
  double m = 0;
  for (int k = 0; k < 18; k++) m = fmax(m, fabs(x[k]));
  return m;
}
static double distance(const tgReal *a, const tgReal *b, int n) {
  double m = 0;
  for (int k = 0; k < n; k++) m = fmax(m, fabs(tgRe(a[k] - b[k])));
  return m;
}

// wide and plain agree: to 1e-12 (3e-12 in H) and what rounding of the vertices makes of it at this gap
static void compare_pairs(const char *isa, const double x[18], double gap, const tgiPair *plain, const tgiPair *wide) {
  double tol = 1e-13 + 3e-15 * extent(x) / gap;
  check_true(distance(&plain->S, &wide->S, 1) <= tol * tgRe(plain->S), "%s gap %g: S %.17g, plain %.17g", isa, gap,
             tgRe(wide->S), tgRe(plain->S));
  double force = largest(plain->g + 3, 3), torque = force * extent(x), scale = largest(plain->H, 21);
  check_true(distance(plain->g + 3, wide->g + 3, 3) <= 10 * tol * force, "%s gap %g extent %g: force differs by %g", isa, gap, extent(x),
             distance(plain->g + 3, wide->g + 3, 3) / force);
  check_true(distance(plain->g, wide->g, 3) <= 10 * tol * torque, "%s gap %g extent %g: torque differs by %g", isa, gap, extent(x),
             distance(plain->g, wide->g, 3) / torque);
  check_true(distance(plain->H, wide->H, 21) <= 30 * tol * scale, "%s gap %g extent %g: H differs by %g", isa, gap,
             extent(x), distance(plain->H, wide->H, 21) / scale);
}

static void each_isa(void (*check)(int isa, const char *name)) {
  for (int isa = 0; isa < tgi_isas(); isa++)
    if (tgi_isa_present(isa)) check(isa, tgi_isa_name(isa));
}

// triangles, or cores with radii (cores_make); x, gap, cores: of a block
enum { LANES = TGI_PAIR_LANES };
typedef struct Block { double x[LANES][18], gap[LANES], extent[LANES]; tgiPairCores cores[LANES]; } Block;

static void draw(tgtRandom *r, int n, bool cores, tgiPairBlock *b, Block *e) {
  double size[2] = {1, tgt_uniform(r, 0.2, 5)};
  for (int l = 0; l < n; l++) {
    int kind = (int)(tgt_next(r) % PAIR_KINDS);
    e->gap[l] = pow(10, tgt_uniform(r, -5, 1));
    e->cores[l] = (tgiPairCores){.radius = {0, 0}};
    if (cores) e->cores[l] = cores_make(r, kind, e->gap[l], size, 1, e->x[l]);
    else pair_make(r, kind, e->gap[l], size, 1, 1, e->x[l]);
    put(b, l, e->x[l]);
    put_cores(b, l, &e->cores[l]);
  }
}

static void check_plain(int isa, const char *name) {
  tgtRandom r = {21};
  static tgiPairBlock b;
  for (int trial = 0; trial < 2000; trial++) {
    Block e;
    tgiPair plain, wide;
    draw(&r, LANES, trial % 2 == 1, &b, &e);
    b.count = LANES;
    b.warm = 0;
    tgi_pair_block_on(isa, &b);
    assert_int_equal(b.separated, (1u << LANES) - 1);
    for (int l = 0; l < LANES; l++) {
      tgReal y[18];
      for (int i = 0; i < 18; i++) y[i] = e.x[l][i];
      assert_true(tgi_pair_solve(y, &e.cores[l], false, &plain));
      get(&b, l, &wide);
      compare_pairs(name, e.x[l], e.gap[l] / (1 + tgRe(e.cores[l].radius[0] + e.cores[l].radius[1])), &plain, &wide);
    }
  }
}
static void test_plain(void **state) {
  (void)state;
  each_isa(check_plain);
}

static void check_numbers(const char *isa, const char *what, double gap, const tgReal *wide, const tgReal *plain, int n,
                          double scale, double tol) {
  check_true(distance(wide, plain, n) <= tol * scale, "%s gap %g: %s differs by %g of %g", isa, gap, what, distance(wide, plain, n), scale);
}

// forces and their weighed rates, at the planes that the block found; blocks that are not full
static void check_forces(int isa, const char *name) {
  tgtRandom r = {25};
  static tgiPairBlock b;
  for (int trial = 0; trial < 1000; trial++) {
    Block e;
    tgiPairForces f, bar;
    tgReal *weight[10], twist[6][TGI_PAIR_LANES];
    b.count = 1 + (int)(tgt_next(&r) % LANES);
    b.warm = 0;
    for (int i = 0; i < 10; i++) weight[i] = bar.N + i * TGI_PAIR_LANES;
    draw(&r, b.count, trial % 2 == 1, &b, &e);
    for (int l = 0; l < b.count; l++)
      for (int i = 0; i < 10; i++) weight[i][l] = tgt_normal(&r);
    tgi_pair_block_on(isa, &b);
    tgi_pair_block_force_on(isa, &b, &f);
    if (isa == tgi_isa()) tgi_pair_block_force_vjp(&b, &bar, twist);
    else tgi_pair_block_force_vjp_on(isa, &b, &bar, twist);
    for (int l = 0; l < b.count; l++) {
      const double *x = e.x[l], gap = e.gap[l], size = extent(x) + tgRe(e.cores[l].radius[0] + e.cores[l].radius[1]);
      double tol = 1e-13 + 1e-14 * size / gap, most = 0;
      tgReal y[18], want[6] = {0}, got[6], each[6];
      tgiPair at;
      tgiPairForce plain, one = {.N = bar.N[l]};
      for (int i = 0; i < 18; i++) y[i] = x[i];
      get(&b, l, &at);
      tgi_pair_force(y, &e.cores[l], &at, &plain);
      const tgReal u[3] = {f.u[0][l], f.u[1][l], f.u[2][l]}, a[3] = {f.a[0][l], f.a[1][l], f.a[2][l]},
                   c[3] = {f.b[0][l], f.b[1][l], f.b[2][l]};
      check_numbers(name, "N", gap, &f.N[l], &plain.N, 1, tgRe(plain.N), tol);
      check_numbers(name, "u", gap, u, plain.u, 3, 1, tol);
      check_numbers(name, "a", gap, a, plain.a, 3, size, tol);
      check_numbers(name, "b", gap, c, plain.b, 3, size, tol);
      for (int i = 0; i < 3; i++) {
        one.u[i] = bar.u[i][l];
        one.a[i] = bar.a[i][l];
        one.b[i] = bar.b[i][l];
      }
      tgi_pair_force_vjp(y, &e.cores[l], &at, &one, want);
      // the size of its parts, which may cancel
      const tgiPairForce part[4] = {{.N = one.N}, {.u = {one.u[0], one.u[1], one.u[2]}},
                                    {.a = {one.a[0], one.a[1], one.a[2]}}, {.b = {one.b[0], one.b[1], one.b[2]}}};
      for (int k = 0; k < 4; k++) {
        memset(each, 0, sizeof each);
        tgi_pair_force_vjp(y, &e.cores[l], &at, &part[k], each);
        most = fmax(most, largest(each, 6));
      }
      for (int i = 0; i < 6; i++) got[i] = twist[i][l];
      check_numbers(name, "weighed rates", gap, got, want, 6, most, 10 * tol);
    }
  }
}
static void test_forces(void **state) {
  (void)state;
  each_isa(check_forces);
}

// a pair alone, in another column, beside others, beside one that touches
static void check_columns(int isa, const char *name) {
  (void)name;
  tgtRandom r = {22};
  static tgiPairBlock b, c;
  for (int trial = 0; trial < 500; trial++) {
    double x[LANES][18];
    tgiPair together, alone;
    for (int l = 0; l < LANES; l++) {
      pair_any(&r, x[l]);
      if (l == 3)
        for (int i = 0; i < 18; i++) x[l][i] = i < 9 ? x[0][i] : x[0][i - 9];  // touches itself
      put(&b, l, x[l]);
    }
    b.count = LANES;
    b.warm = 0;
    tgi_pair_block_on(isa, &b);
    assert_int_equal(b.separated, ((1u << LANES) - 1) & ~(1u << 3));
    assert_true(isinf(tgRe(b.S[3])) && tgRe(b.g[0][3]) == 0 && tgRe(b.H[20][3]) == 0 && tgRe(b.u[0][3]) == 0);
    int l = (int)(tgt_next(&r) % LANES);
    c.count = 1 + (int)(tgt_next(&r) % LANES);
    c.warm = 0;
    int at = (int)(tgt_next(&r) % (uint64_t)c.count);
    for (int k = 0; k < c.count; k++) put(&c, k, x[(int)(tgt_next(&r) % LANES)]);
    put(&c, at, x[l]);
    tgi_pair_block_on(isa, &c);
    get(&b, l, &together);
    get(&c, at, &alone);
    assert_int_equal(b.separated >> l & 1, c.separated >> at & 1);
    assert_int_equal(c.separated >> c.count, 0);
    assert_true(memcmp(&together, &alone, sizeof together) == 0);
    // warm, beside cold ones
    if (l == 3) continue;
    put(&c, at, x[l]);
    put_plane(&c, at, &together);
    c.warm = 1u << at;
    tgi_pair_block_on(isa, &c);
    get(&c, at, &alone);
    c.count = 1;
    c.warm = 1;
    put(&c, 0, x[l]);
    put_plane(&c, 0, &together);
    tgi_pair_block_on(isa, &c);
    get(&c, 0, &together);
    assert_true(memcmp(&together, &alone, sizeof together) == 0);
  }
}
static void test_columns(void **state) {
  (void)state;
  each_isa(check_columns);
}

// triangles that are points or segments: two points have S* = 12 over their distance; not a number touches
static void check_degenerate(int isa, const char *name) {
  tgtRandom r = {24};
  static tgiPairBlock b;
  for (int trial = 0; trial < 200; trial++) {
    double x[LANES][18], p[2][3], distance2 = 0;
    tgReal y[18];
    tgiPair plain;
    for (int i = 0; i < 3; i++) {
      p[0][i] = tgt_normal(&r);
      p[1][i] = tgt_normal(&r) + 10;
      distance2 += (p[1][i] - p[0][i]) * (p[1][i] - p[0][i]);
    }
    for (int l = 0; l < LANES; l++)
      for (int k = 0; k < 18; k++) x[l][k] = p[k / 9][k % 3];
    for (int l = 1; l < 4; l++)
      for (int i = 0; i < 3; i++) x[l][9 * (l % 2) + i] += tgt_normal(&r);  // a segment
    x[4][tgt_next(&r) % 18] = (double)NAN;
    for (int l = 0; l < LANES; l++) put(&b, l, x[l]);
    b.count = LANES;
    b.warm = 0;
    tgi_pair_block_on(isa, &b);
    assert_int_equal(b.separated, ((1u << LANES) - 1) & ~(1u << 4));
    check_close(b.S[0] * sqrt(distance2), 12, 1e-13);
    for (int l = 0; l < 5; l++) {
      tgiPair wide;
      for (int i = 0; i < 18; i++) y[i] = x[l][i];
      assert_int_equal(tgi_pair_solve(y, NULL, false, &plain), l != 4);
      get(&b, l, &wide);
      if (l != 4) compare_pairs(name, x[l], 1, &plain, &wide);
    }
  }
}
static void test_degenerate(void **state) {
  (void)state;
  each_isa(check_degenerate);
}

// the one that the environment asks for where the processor has it, else the widest
static void test_choice(void **state) {
  (void)state;
  const char *wanted = getenv("TANGERE_ISA");
  int widest = 0, asked = -1;
  for (int isa = 0; isa < tgi_isas(); isa++) {
    if (!tgi_isa_present(isa)) continue;
    widest = isa;
    if (wanted != NULL && strcmp(wanted, tgi_isa_name(isa)) == 0) asked = isa;
  }
  assert_int_equal(tgi_isa(), asked >= 0 ? asked : widest);
  assert_null(tgi_isa_name(-1));
  assert_null(tgi_isa_name(tgi_isas()));
}

#ifndef TG_COMPLEX
// pairs of every kind, size, gap and scale: none touches, none runs out of steps
static void check_torture(int isa, const char *name) {
  tgtRandom r = {23};
  static tgiPairBlock b;
  long failures = 0, steps = 0, worst = 0, blocks = torture / TGI_PAIR_LANES;
  for (long block = 0; block < blocks; block++) {
    double x[LANES][18], gap[LANES];
    long most = 0;
    for (int l = 0; l < LANES; l++) {
      gap[l] = pair_any(&r, x[l]);
      put(&b, l, x[l]);
    }
    b.count = LANES;
    b.warm = 0;
    tgi_pair_block_on(isa, &b);
    for (int l = 0; l < LANES; l++) {
      double D = 12 / b.S[l], noise = 1e-13 * extent(x[l]);
      bool good = (b.separated >> l & 1) != 0 && D >= gap[l] * (1 - 1e-6) - noise && isfinite(b.H[0][l]);
      if (!good && failures++ < 5)
        printf("%s: gap %g extent %g: apart %u, distance %g, %d steps\n", name, gap[l], extent(x[l]), b.separated >> l & 1, D, b.steps[l]);
      if (b.steps[l] > most) most = b.steps[l];
    }
    steps += most;
    if (most > worst) worst = most;
    if (block % 50 == 0)
      for (int l = 0; l < LANES; l++) {
        tgiPair plain, wide;
        check_true(tgi_pair_solve(x[l], NULL, false, &plain), "plain: gap %g", gap[l]);
        get(&b, l, &wide);
        compare_pairs(name, x[l], gap[l], &plain, &wide);
      }
  }
  printf("%s: %ld pairs, %ld failures, steps of a block: mean %.2f, most %ld\n", name, LANES * blocks, failures,
         (double)steps / (double)blocks, worst);
  assert_int_equal(failures, 0);
}
static void test_torture(void **state) {
  (void)state;
  each_isa(check_torture);
}
#endif

int main(int argc, char **argv) {
  if (argc > 1) torture = atol(argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain),
      cmocka_unit_test(test_forces),
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_choice),
      cmocka_unit_test(test_degenerate),
#ifndef TG_COMPLEX
      cmocka_unit_test(test_torture),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
