// test_hard.c: the leaves that are kept as the hardest, against a plain choice from the list of all, with logs that overflow many
// times; the same ones in the same order for any number of threads and any share of the pairs among them.
#include <stdlib.h>
#include <string.h>

#include "contact/barrier/pair/hard.h"
#include "support/check.h"

enum { PAIRS = 40, MOST = 150, KEEP = 100, LOGS = 5, ROOM = 32 * PAIRS + KEEP };

typedef struct Scene { int n[PAIRS]; double growth[PAIRS][MOST]; float gap[PAIRS][MOST]; } Scene;

// growths of 2^-span to 1, all different
static void make(Scene *s, int span, unsigned seed) {
  tgtRandom random = {seed};
  for (int p = 0; p < PAIRS; p++) {
    s->n[p] = p % 7 == 3 ? 0 : (int)tgt_uniform(&random, 1, MOST);
    for (int i = 0; i < s->n[p]; i++) {
      s->growth[p][i] = exp2(tgt_uniform(&random, -0.999 * span, -1e-9));
      s->gap[p][i] = (float)tgt_uniform(&random, 0, 1);
    }
  }
}

typedef struct Kept { tgiHardLeaves pair[PAIRS]; tgiHardLeaf at[ROOM]; } Kept;

// with the pairs summed by `nlog` threads, each by one drawn at random
static Kept *keep(const Scene *s, int few, int nlog, unsigned seed) {
  tgtRandom random = {seed};
  Kept *kept = calloc(1, sizeof *kept);
  tgiHardLeaf *own = calloc(32 * PAIRS, sizeof *own), *room = calloc(LOGS * 2 * KEEP, sizeof *room);
  tgiHardLog *memory = calloc(LOGS, sizeof *memory), *log[LOGS];
  for (int t = 0; t < nlog; t++) {
    log[t] = &memory[t];
    *log[t] = (tgiHardLog){.few = few, .keep = KEEP, .at = room + 2 * KEEP * t};
    tgi_hard_begin(log[t]);
  }
  for (int p = 0; p < PAIRS; p++) {
    tgiHardLog *h = log[(int)tgt_uniform(&random, 0, nlog - 1e-9)];
    h->pair = p;
    h->own = (tgiHardLeaves){.at = own + 32 * p};
    for (int i = 0; i < s->n[p]; i++)
      if (tgi_hard_wanted(h, s->growth[p][i])) tgi_hard_note(h, &(tgiHardLeaf){.a = i, .gap = s->gap[p][i], .growth = s->growth[p][i]});
    kept->pair[p] = h->own;
  }
  tgi_hard_gather(log, nlog, kept->pair, PAIRS, kept->at);
  free(own);
  free(room);
  free(memory);
  return kept;
}

static void check_same(const Kept *a, const Kept *b) {
  for (int p = 0; p < PAIRS; p++) {
    assert_int_equal(a->pair[p].n, b->pair[p].n);
    assert_int_equal(a->pair[p].own, b->pair[p].own);
    if (a->pair[p].n > 0) assert_memory_equal(a->pair[p].at, b->pair[p].at, (size_t)a->pair[p].n * sizeof *a->at);
  }
}

// of each leaf its power of two, and whether fewer than `few` of its pair grow more
typedef struct Plain { int power[PAIRS][MOST]; bool own[PAIRS][MOST]; } Plain;

static void sort_out(const Scene *s, int few, Plain *f) {
  for (int p = 0; p < PAIRS; p++)
    for (int i = 0; i < s->n[p]; i++) {
      int harder = 0;
      for (int k = 0; k < s->n[p]; k++) harder += s->growth[p][k] > s->growth[p][i];
      f->own[p][i] = harder < few;
      f->power[p][i] = ilogb(s->growth[p][i]);
    }
}

// how many that are not their pairs' own have a larger power of two than i of pair p, or the same in an earlier pair or earlier in p
static int before(const Scene *s, const Plain *f, int p, int i) {
  int n = 0, power = f->power[p][i];
  for (int r = 0; r < PAIRS; r++)
    for (int k = 0; k < s->n[r]; k++)
      n += !f->own[r][k] && (f->power[r][k] > power || (f->power[r][k] == power && (r < p || (r == p && k < i))));
  return n;
}

static bool has(const Kept *kept, int p, int i, bool own) {
  const tgiHardLeaves *h = &kept->pair[p];
  for (int k = own ? 0 : h->own; k < (own ? h->own : h->n); k++)
    if (h->at[k].a == i && h->at[k].pair == p) return true;
  return false;
}

// those of each pair; of the others those that fewer than KEEP precede. With few of a pair, its others are noted in another order, so that
// of the power of two that ends the list only their number is known.
static void check_choice(const Scene *s, const Kept *kept, int few) {
  int all = 0, others = 0;
  Plain *f = calloc(1, sizeof *f);
  sort_out(s, few, f);
  for (int p = 0; p < PAIRS; p++) {
    int want = 0, got = kept->pair[p].n - kept->pair[p].own;
    for (int i = 0; i < s->n[p]; i++) {
      bool own = f->own[p][i], chosen = !own && before(s, f, p, i) < KEEP;
      assert_int_equal(has(kept, p, i, true), own);
      if (few == 0) assert_int_equal(has(kept, p, i, false), chosen);
      want += chosen;
      others += !own;
    }
    assert_int_equal(got, want);
    all += got;
  }
  assert_int_equal(all, KEEP);
  assert_true(others > 8 * KEEP);   // logs overflow
  free(f);
}

static void chosen(void **state) {
  (void)state;
  static const int span[] = {1, 4, 60, 900};   // 1: all of one power of two
  static const int few[] = {0, 5, 32};
  Scene *s = calloc(1, sizeof *s);
  for (int k = 0; k < 4; k++)
    for (int f = 0; f < 3; f++) {
      make(s, span[k], 11 + (unsigned)k);
      Kept *one = keep(s, few[f], 1, 1);
      check_choice(s, one, few[f]);
      for (int n = 2; n <= LOGS; n++) {
        Kept *more = keep(s, few[f], n, (unsigned)n);
        check_same(one, more);
        free(more);
      }
      free(one);
    }
  free(s);
}

// numbers that have no power of two are kept last, and do no harm
static void odd_numbers(void **state) {
  (void)state;
  static const double odd[] = {0, -1, 1e-320, INFINITY, -INFINITY, NAN};
  Scene *s = calloc(1, sizeof *s);
  make(s, 4, 3);
  for (int p = 0; p < PAIRS; p += 2)
    for (int i = 0; i < s->n[p]; i++) s->growth[p][i] = odd[i % 6];
  for (int few = 0; few <= 32; few += 32) {
    Kept *one = keep(s, few, 1, 1), *more = keep(s, few, 3, 1);
    int n = 0;
    check_same(one, more);
    for (int p = 0; p < PAIRS; p++) {
      n += one->pair[p].n - one->pair[p].own;
      if (p % 2 == 0) assert_int_equal(one->pair[p].n, one->pair[p].own);
    }
    assert_int_equal(n, KEEP);
    free(one);
    free(more);
  }
  free(s);
}

static void near_ones(void **state) {
  (void)state;
  Scene *s = calloc(1, sizeof *s);
  make(s, 3, 5);
  for (long most = 0; most <= 250; most += 50) {
    Kept *all = keep(s, 5, 1, 1), *near = keep(s, 5, 1, 1);
    long n = tgi_hard_within(near->pair, PAIRS, 0.5, most), own = 0, others = 0, sum = 0;
    double least = INFINITY, left_out = 0;
    for (int p = 0; p < PAIRS; p++) {
      const tgiHardLeaves *h = &all->pair[p];
      int mine = 0;
      sum += near->pair[p].n;
      for (int k = 0; k < h->n; k++) {
        bool is_own = k < h->own, stays = has(near, p, h->at[k].a, is_own), close = h->at[k].gap < 0.5;
        double power = exp2(ilogb(h->at[k].growth));
        if (!close) assert_false(stays);
        if (is_own) assert_int_equal(stays, close);
        own += is_own && close;
        mine += is_own && close;
        others += !is_own && close;
        if (is_own || !close) continue;
        if (stays) least = fmin(least, power);
        else left_out = fmax(left_out, power);
      }
      assert_int_equal(near->pair[p].own, mine);
    }
    assert_int_equal(n, sum);
    assert_int_equal(n, own + (most <= own ? 0 : most - own < others ? most - own : others));
    assert_true(least >= left_out);
    free(all);
    free(near);
  }
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(chosen), cmocka_unit_test(odd_numbers), cmocka_unit_test(near_ones)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
