// test_classes.c: the class solve and its derivative: identities, adjoint against forward, complex step against the
// formula.
#include <stdlib.h>
#include <string.h>

#include "contact/lcp/families.h"

typedef struct Fixture {
  tgiLcp s;
  void *memory;
  tgReal f[MAX_ROWS], w[MAX_ROWS];
  int8_t cls[MAX_ROWS];
  tgiLcpInfo info;
} Fixture;

static void set_up(Fixture *x) {
  size_t bytes = tgi_lcp_bytes(8, 24, 32);
  x->memory = malloc(bytes);
  memset(x->memory, 0x5A, bytes);
  assert_int_equal(tgi_lcp_init(&x->s, x->memory, bytes, 8, 24, 32), TG_OK);
}

static double size_of(const tgReal *x, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(tgRe(x[i])));
  return most;
}

// Q x with Q built here from the definition: (A P x)_K
static void apply_q(const tgiLcp *s, const tgReal *x, tgReal *y) {
  tgReal f[MAX_ROWS];
  tgi_lcp_expand(s, x, f);
  for (int a = 0; a < s->nk; a++) {
    y[a] = 0;
    for (int j = 0; j < s->n; j++) y[a] += s->problem->A[s->k[a] * s->n + j] * f[j];
  }
}

// Q^T y = P^T A_:K y
static void apply_q_t(const tgiLcp *s, const tgReal *y, tgReal *x) {
  tgReal g[MAX_ROWS];
  for (int j = 0; j < s->n; j++) {
    g[j] = 0;
    for (int a = 0; a < s->nk; a++) g[j] += s->problem->A[s->k[a] * s->n + j] * y[a];
  }
  tgi_lcp_gather(s, g, x);
}

// Q Q^+ Q = Q and the same transposed, Q^+ Q symmetric and = I - project; f_K in the range of Q^+
static void test_pseudo_inverse(void **state) {
  (void)state;
  Fixture x;
  set_up(&x);
  int deficient = 0;
  for (int family = 0; family <= MIXED; family++) {
    tgtRandom r = {50 + (uint64_t)family};
    for (int k = 0; k < 60; k++) {
      Scene sc;
      make_scene(&sc, family, &r);
      tgiLcpProblem p = scene_problem(&sc);
      assert_int_equal(tgi_lcp_solve(&x.s, &p, NULL, x.f, x.w, x.cls, &x.info), TG_OK);
      int nk = x.s.nk;
      tgReal u[MAX_ROWS], v[MAX_ROWS], a[MAX_ROWS], b[MAX_ROWS], c[MAX_ROWS];
      tgReal uv = 0, vu = 0;
      deficient += x.info.rank < nk;
      for (int i = 0; i < nk; i++) {
        u[i] = tgt_normal(&r);
        v[i] = tgt_normal(&r);
      }
      apply_q(&x.s, u, a);
      tgi_lcp_apply(&x.s, a, b);  // Q^+ Q u
      apply_q(&x.s, b, c);
      for (int i = 0; i < nk; i++) check_close(c[i], a[i], 1e-10 * size_of(a, nk));
      tgi_lcp_project(&x.s, u, c);
      for (int i = 0; i < nk; i++) check_close(u[i] - b[i], c[i], 1e-7 * (size_of(u, nk) + size_of(b, nk)));
      apply_q(&x.s, v, c);
      tgi_lcp_apply(&x.s, c, c);
      for (int i = 0; i < nk; i++) {
        uv += u[i] * c[i];
        vu += v[i] * b[i];
      }
      check_close(uv, vu, 1e-7 * (1 + fabs(tgRe(uv))));
      apply_q_t(&x.s, u, a);
      tgi_lcp_apply_t(&x.s, a, b);
      apply_q_t(&x.s, b, c);
      for (int i = 0; i < nk; i++) check_close(c[i], a[i], 1e-10 * size_of(a, nk));
      tgi_lcp_project(&x.s, x.s.fk, c);  // least norm: nothing of f_K in the null space
      for (int i = 0; i < nk; i++) check_close(c[i], 0, 1e-9 * (1 + size_of(x.s.fk, nk)));
    }
  }
  check_true(deficient > 30, "only %d deficient cases", deficient);
  free(x.memory);
}

// The null part of f_K acts exactly where some null vector moves a row: against all of them, one unit vector at a time
static void test_null_action(void **state) {
  (void)state;
  Fixture x;
  set_up(&x);
  int acts = 0, idle = 0;
  for (int family = 0; family <= MIXED; family++) {
    tgtRandom r = {60 + (uint64_t)family};
    for (int k = 0; k < 80; k++) {
      Scene sc;
      make_scene(&sc, family, &r);
      tgiLcpProblem p = scene_problem(&sc);
      assert_int_equal(tgi_lcp_solve(&x.s, &p, NULL, x.f, x.w, x.cls, &x.info), TG_OK);
      double worst = 0, most = size_of(sc.A, sc.n * sc.n);
      for (int a = 0; a < x.s.nk; a++) {
        tgReal u[MAX_ROWS] = {0}, f[MAX_ROWS], w[MAX_ROWS];
        u[a] = 1;
        tgi_lcp_project(&x.s, u, u);
        tgi_lcp_expand(&x.s, u, f);
        for (int i = 0; i < sc.n; i++) {
          w[i] = 0;
          for (int j = 0; j < sc.n; j++) w[i] += sc.A[i * sc.n + j] * f[j];
        }
        worst = fmax(worst, size_of(w, sc.n) / most);
      }
      double action = tgi_lcp_null_action(&x.s);
      check_true((worst > 1e-10) == (action > 1e-10), "%s %d: null vectors act by %.3g, reported %.3g",
                 family_name[family], k, worst, action);
      if (x.s.rank < x.s.nk) *(worst > 1e-10 ? &acts : &idle) += 1;
    }
  }
  print_message("null part acts in %d, idle in %d deficient cases\n", acts, idle);
  check_true(idle > 50, "only %d idle cases", idle);
  free(x.memory);
}

typedef struct Direction {
  tgReal J[MAX_ROWS * MAX_DOF], Minv[MAX_DOF * MAX_DOF], v[MAX_DOF], bound[MAX_ROWS];
} Direction;

// A direction that keeps every linear dependence of the rows: dJ = J X; d(M^-1) symmetric; common relative change of
// all friction coefficients (when asked), separate ones of the constant limits
static void random_direction(const Scene *s, tgtRandom *r, bool mu, Direction *d) {
  double X[MAX_DOF * MAX_DOF], common = tgt_normal(r);
  int n = s->dof;
  for (int i = 0; i < n * n; i++) X[i] = tgt_normal(r);
  for (int i = 0; i < n; i++) {
    d->v[i] = tgt_normal(r);
    for (int j = 0; j <= i; j++) d->Minv[i * n + j] = d->Minv[j * n + i] = 0.3 * tgt_normal(r);
  }
  for (int i = 0; i < s->n; i++) {
    d->bound[i] = s->kind[i] == TGI_LCP_BOX ? tgt_normal(r) : mu ? common * s->bound[i] : 0;
    for (int j = 0; j < n; j++) {
      d->J[i * n + j] = 0;
      for (int k = 0; k < n; k++) d->J[i * n + j] += s->J[i * n + k] * X[k * n + j];
    }
  }
}

static void moved(const Scene *s, const Direction *d, tgReal e, Scene *out) {
  *out = *s;
  for (int i = 0; i < s->n * s->dof; i++) out->J[i] += e * d->J[i];
  for (int i = 0; i < s->dof * s->dof; i++) out->Minv[i] += e * d->Minv[i];
  for (int i = 0; i < s->dof; i++) out->v[i] += e * d->v[i];
  for (int i = 0; i < s->n; i++) out->bound[i] += e * d->bound[i];
  scene_finish(out);
}

// dA, db by the product rule
static void product_rule(const Scene *s, const Direction *d, tgReal *dA, tgReal *db) {
  int n = s->n, m = s->dof;
  for (int i = 0; i < n; i++) {
    tgReal a[MAX_DOF], b[MAX_DOF];  // J_i Minv and J_i dMinv + dJ_i Minv
    db[i] = 0;
    for (int j = 0; j < m; j++) {
      db[i] += d->J[i * m + j] * s->v[j] + s->J[i * m + j] * d->v[j];
      a[j] = b[j] = 0;
      for (int k = 0; k < m; k++) {
        a[j] += s->J[i * m + k] * s->Minv[k * m + j];
        b[j] += s->J[i * m + k] * d->Minv[k * m + j] + d->J[i * m + k] * s->Minv[k * m + j];
      }
    }
    for (int c = 0; c < n; c++) {
      dA[i * n + c] = 0;
      for (int j = 0; j < m; j++) dA[i * n + c] += a[j] * d->J[c * m + j] + b[j] * s->J[c * m + j];
    }
  }
}

// r and t of solve.h for the direction
static void right_sides(const Fixture *x, const Scene *sc, const Direction *d, tgReal *r, tgReal *t) {
  const tgiLcp *s = &x->s;
  int n = sc->n;
  tgReal dA[MAX_ROWS * MAX_ROWS];
  tgReal db[MAX_ROWS], df[MAX_ROWS], w[MAX_ROWS], g[MAX_ROWS] = {0}, h[MAX_ROWS] = {0}, z[MAX_ROWS];
  product_rule(sc, d, dA, db);
  tgi_lcp_null_force(s, z);
  for (int i = 0; i < n; i++) {  // dP f_K + df0
    double sign = x->cls[i] == TGI_LCP_H ? 1 : x->cls[i] == TGI_LCP_L ? -1 : 0;
    df[i] = sc->kind[i] == TGI_LCP_FRICTION ? sign * d->bound[i] * x->f[sc->parent[i]]
            : sc->kind[i] == TGI_LCP_BOX    ? sign * d->bound[i]
                                            : 0;
  }
  for (int i = 0; i < n; i++) {
    w[i] = db[i];
    g[i] = h[i] = 0;
    for (int j = 0; j < n; j++) w[i] += dA[i * n + j] * x->f[j] + sc->A[i * n + j] * df[j];
    for (int a = 0; a < s->nk; a++) {
      g[i] += dA[s->k[a] * n + i] * z[a];
      h[i] += sc->A[s->k[a] * n + i] * z[a];
    }
  }
  tgi_lcp_gather(s, g, t);  // P^T dA_:K z
  for (int i = 0; i < n; i++) {  // dP^T A_:K z
    double sign = x->cls[i] == TGI_LCP_H ? 1 : x->cls[i] == TGI_LCP_L ? -1 : 0;
    if (sc->kind[i] == TGI_LCP_FRICTION && s->kpos[sc->parent[i]] >= 0)
      t[s->kpos[sc->parent[i]]] += sign * d->bound[i] * h[i];
  }
  for (int a = 0; a < s->nk; a++) r[a] = w[s->k[a]];
}

// dL along a direction, forward and by the adjoint
static void test_adjoint(void **state) {
  (void)state;
  Fixture x;
  set_up(&x);
  for (int family = 0; family <= MIXED; family++) {
    tgtRandom rnd = {70 + (uint64_t)family};
    for (int k = 0; k < 40; k++) {
      Scene sc;
      Direction d;
      make_scene(&sc, family, &rnd);
      tgiLcpProblem p = scene_problem(&sc);
      assert_int_equal(tgi_lcp_solve(&x.s, &p, NULL, x.f, x.w, x.cls, &x.info), TG_OK);
      tgReal r[MAX_ROWS], t[MAX_ROWS], df[MAX_ROWS], g[MAX_ROWS], rbar[MAX_ROWS], tbar[MAX_ROWS];
      memset(g, 0, sizeof g);
      random_direction(&sc, &rnd, true, &d);
      right_sides(&x, &sc, &d, r, t);
      tgi_lcp_derivative(&x.s, r, t, df);
      for (int a = 0; a < x.s.nk; a++) g[a] = tgt_normal(&rnd);
      tgi_lcp_derivative_t(&x.s, g, rbar, tbar);
      tgReal forward = 0, adjoint = 0;
      double scale = 0;
      for (int a = 0; a < x.s.nk; a++) {
        forward += g[a] * df[a];
        adjoint += rbar[a] * r[a] + tbar[a] * t[a];
        scale += fabs(tgRe(rbar[a] * r[a])) + fabs(tgRe(tbar[a] * t[a]));
      }
      check_close(forward, adjoint, 1e-11 * scale);
    }
  }
  free(x.memory);
}

// f_K at the classes of x along d: by complex step in the complex build, else by central differences of two steps,
// extrapolated.
static void numeric(const Scene *sc, const Direction *d, const Fixture *x, Fixture *y, tgReal *df) {
  Scene probe = *sc;
  tgiLcpProblem q = scene_problem(&probe);
#ifdef TG_COMPLEX
  const double e = 1e-30;
  moved(sc, d, CMPLX(0, e), &probe);
  tgi_lcp_solve_classes(&y->s, &q, x->cls, y->f, y->w);
  for (int a = 0; a < x->s.nk; a++) df[a] = tgIm(y->s.fk[a]) / e;
#else
  static const double step[4] = {2e-4, -2e-4, 1e-4, -1e-4}, weight[4] = {-1 / 6., 1 / 6., 4 / 3., -4 / 3.};
  for (int a = 0; a < x->s.nk; a++) df[a] = 0;
  for (int k = 0; k < 4; k++) {
    moved(sc, d, step[k], &probe);
    tgi_lcp_solve_classes(&y->s, &q, x->cls, y->f, y->w);
    for (int a = 0; a < x->s.nk; a++) df[a] += weight[k] * y->s.fk[a] / 2e-4;
  }
#endif
  assert_int_equal(y->s.rank, x->s.rank);
}

// The formula [math/lcp (7)] against a numeric derivative of the class solve, at full rank and deficient, relative to the
// largest entry of df_K and f_K.
static void test_derivative(void **state) {
  (void)state;
  Fixture x, y;
  set_up(&x);
  set_up(&y);
  int deficient = 0, full = 0, with_mu = 0;
#ifdef TG_COMPLEX
  const double tolerance = 1e-10;
#else
  const double tolerance = 1e-6;
#endif
  double worst = 0;
  for (int family = 0; family <= MIXED; family++) {
    tgtRandom rnd = {90 + (uint64_t)family};
    for (int k = 0; k < 60; k++) {
      Scene sc, probe;
      Direction d;
      make_scene(&sc, family, &rnd);
      probe = sc;
      tgiLcpProblem p = scene_problem(&sc), q = scene_problem(&probe);
      assert_int_equal(tgi_lcp_solve(&x.s, &p, NULL, x.f, x.w, x.cls, &x.info), TG_OK);
      if (x.s.nk == 0) continue;
      tgtRandom again = rnd;
      random_direction(&sc, &rnd, true, &d);
      moved(&sc, &d, 1e-3, &probe);
      tgi_lcp_solve_classes(&y.s, &q, x.cls, y.f, y.w);
      bool mu = y.s.rank == x.s.rank;  // with the friction coefficients the rank may change: no derivative there
      if (!mu) random_direction(&sc, &again, false, &d);
      tgReal r[MAX_ROWS], t[MAX_ROWS], df[MAX_ROWS], ref[MAX_ROWS];
      numeric(&sc, &d, &x, &y, ref);
      right_sides(&x, &sc, &d, r, t);
      tgi_lcp_derivative(&x.s, r, t, df);
      double size = size_of(df, x.s.nk) + size_of(x.s.fk, x.s.nk), off = 0;
      for (int a = 0; a < x.s.nk; a++) off = fmax(off, fabs(tgRe(ref[a]) - tgRe(df[a])) / size);
      worst = fmax(worst, off);
      check_true(off < tolerance, "%s %d: rank %d of %d: df_K off by %.3g", family_name[family], k, x.s.rank, x.s.nk,
                 off);
      deficient += x.s.rank < x.s.nk;
      full += x.s.rank == x.s.nk;
      with_mu += mu;
    }
  }
  print_message("derivative: %d at full rank, %d deficient, %d with friction coefficients, worst %.2g\n", full,
                deficient, with_mu, worst);
  check_true(full >= 60 && deficient >= 60 && with_mu >= 200, "too few cases: %d, %d, %d", full, deficient, with_mu);
  free(x.memory);
  free(y.memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pseudo_inverse),
      cmocka_unit_test(test_null_action),
      cmocka_unit_test(test_adjoint),
      cmocka_unit_test(test_derivative),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
