// test_narrow.c: contact points of every ordered pair: derivatives, swap, equivariance, gaps by brute force, named cases.
#include "coll/coll_support.h"

enum { KINDS = 7, POSES = 300, MESHES = 6 };
static const char *const kind_name[] = {"plane", "sphere", "capsule", "box", "mesh", "cylinder", "ellipsoid"};
static tgHullOwned *mesh[MESHES], *cylinder[MESHES], *ellipsoid[MESHES];

static int build_hulls(void **state) {
  (void)state;
  tgtRandom r = {1};
  tgError why;
  for (int k = 0; k < MESHES; k++) {
    double x[3 * 300], semi[3];
    int n = k < 5 ? 4 + 4 * k : 300;                 // up to those that go through GJK
    for (int i = 0; i < 3 * n; i++) x[i] = tgt_uniform(&r, -0.4, 0.4);
    if (tgi_hull_from_points(x, n, NULL, &mesh[k], &why) < 0) return -1;
    if (tgi_hull_cylinder(tgt_uniform(&r, 0.1, 0.4), tgt_uniform(&r, 0.05, 0.5), 3 + 5 * k, NULL, &cylinder[k]) < 0) return -1;
    for (int i = 0; i < 3; i++) semi[i] = tgt_uniform(&r, 0.15, 0.4);
    if (tgi_hull_ellipsoid(semi, 12, 24, NULL, &ellipsoid[k]) < 0) return -1;
  }
  return 0;
}
static int free_hulls(void **state) {
  (void)state;
  for (int k = 0; k < MESHES; k++) {
    tgi_hull_free(mesh[k]);
    tgi_hull_free(cylinder[k]);
    tgi_hull_free(ellipsoid[k]);
  }
  return 0;
}

static void make_shape(tgtShape *s, int kind, tgtRandom *r) {
  memset(s, 0, sizeof *s);
  tgi_m3_identity(s->mat);
  switch (kind) {
    case 0: s->type = TG_GEOM_PLANE; break;
    case 1: s->type = TG_GEOM_SPHERE; s->size[0] = tgt_uniform(r, 0.1, 0.5); break;
    case 2:
      s->type = TG_GEOM_CAPSULE;
      s->size[0] = tgt_uniform(r, 0.05, 0.3);
      s->size[1] = tgt_uniform(r, 0.1, 0.6);
      break;
    case 3:
      s->type = TG_GEOM_BOX;
      for (int i = 0; i < 3; i++) s->size[i] = tgt_uniform(r, 0.1, 0.5);
      break;
    case 4:
      s->type = TG_GEOM_MESH;
      for (int i = 0; i < 3; i++) s->size[i] = tgt_uniform(r, 0.7, 1.3);
      s->hull = &mesh[tgt_next(r) % MESHES]->hull;
      break;
    case 5:
      s->type = TG_GEOM_CYLINDER;
      s->hull = &cylinder[tgt_next(r) % MESHES]->hull;
      break;
    default:
      s->type = TG_GEOM_ELLIPSOID;
      s->hull = &ellipsoid[tgt_next(r) % MESHES]->hull;
      break;
  }
}

// random poses; when near, A is moved along the line of centres (or the plane's normal) to a gap in [-0.05, 0.03]
static void place_pair(tgtShape *a, tgtShape *b, tgtRandom *r, bool near) {
  double dir[3], gap = 0, want = tgt_uniform(r, -0.05, 0.03);
  tgContactPoint out[TG_PAIR_POINTS];
  tgt_random_pose(r, a, 0.5);
  tgt_random_pose(r, b, 0.5);
  for (int i = 0; i < 3; i++) {
    dir[i] = tgRe(a->pos[i] - b->pos[i]);
    if (a->type == TG_GEOM_PLANE) dir[i] = -tgRe(a->mat[3 * i + 2]);
    if (b->type == TG_GEOM_PLANE) dir[i] = tgRe(b->mat[3 * i + 2]);
  }
  double len = sqrt(dir[0] * dir[0] + dir[1] * dir[1] + dir[2] * dir[2]);
  for (int it = 0; it < 30 && near; it++) {
    int32_t memory[TG_PAIR_MEMORY] = {0};
    tgt_collide(a, b, 0, TG_COLLIDE_POINTS, memory, out, &gap);
    for (int i = 0; i < 3; i++) a->pos[i] += (want - gap) * dir[i] / len;
  }
}

// the seven numbers of one point
static void seven(tgReal *y, const tgContactPoint *c) {
  tgi_v3_copy(y, c->p);
  tgi_v3_copy(y + 3, c->n);
  y[6] = c->gap;
}
static tgReal derivative(const tgContactPoint *c, int i, int k) { return k < 12 ? c->D[i][k] : c->Ds[i][k - 12]; }
enum { COLUMNS = 18 };
// the tessellated hulls of cylinders and ellipsoids have no size
static bool has_column(const tgtShape *a, const tgtShape *b, int k) {
  tgGeomType t = (k < 15 ? a : b)->type;
  return k < 12 || (t != TG_GEOM_CYLINDER && t != TG_GEOM_ELLIPSOID);
}

// the pair displaced along twist component k (0..5 A, 6..11 B) or size k - 12 (0..2 A, 3..5 B)
static int displaced(const tgtShape *a, const tgtShape *b, int k, tgReal h, const int32_t *memory, double margin,
                     tgContactPoint *out) {
  tgtShape x = *a, y = *b;
  double m[6] = {0};
  int32_t mem[TG_PAIR_MEMORY];
  memcpy(mem, memory, sizeof mem);
  m[k % 6] = 1;
  if (k < 12) tgt_move(k < 6 ? &x : &y, m, h);
  else (k < 15 ? &x : &y)->size[k % 3] += h;
  return tgt_collide(&x, &y, margin, TG_COLLIDE_POINTS, mem, out, NULL);
}

// a block's error is max |dD| / max |D|; the unit columns of p make the latter at least 1 but for rounding
static double largest(const tgContactPoint *c) {
  double m = 1;
  for (int i = 0; i < 7 * 12; i++) m = fmax(m, fabs(tgRe(c->D[i / 12][i % 12])));
  return m;
}

#ifdef TG_COMPLEX
// imaginary parts of a step 1e-30 i: exact to rounding; no point is set aside
static int derivative_error(const tgtShape *a, const tgtShape *b, const int32_t *memory, double margin, int count,
                            const tgContactPoint *c, double *worst) {
  tgContactPoint d[TG_PAIR_POINTS];
  for (int k = 0; k < COLUMNS; k++) {
    if (!has_column(a, b, k)) continue;
    int n = displaced(a, b, k, CMPLX(0, 1e-30), memory, margin, d);
    assert_int_equal(n, count);
    for (int j = 0; j < n; j++) {
      tgReal y[7];
      assert_int_equal(d[j].feature, c[j].feature);
      seven(y, &d[j]);
      for (int i = 0; i < 7; i++) {
        double e = fabs(tgIm(y[i]) / 1e-30 - tgRe(derivative(&c[j], i, k))) / largest(&c[j]);
        if (!(e <= *worst)) *worst = e;
      }
    }
  }
  return 0;
}
static const double derivative_tolerance = 1e-10;
#else
// Ridders: extrapolated central differences from h 2e-4 down, less where D is large, as near the poles of unit(a - b),
// whose distance is the radius of convergence; 1 when the features change inside the stencil
static int ridders(const tgtShape *a, const tgtShape *b, int k, const int32_t *memory, double margin, int count,
                   const tgContactPoint *c, double *worst) {
  enum { ROWS = 7 };
  double T[ROWS][TG_PAIR_POINTS][7], best[TG_PAIR_POINTS][7], err[TG_PAIR_POINTS][7], h = 2e-4;
  for (int j = 0; j < count; j++) h = fmin(h, 2e-3 / largest(&c[j]));
  tgContactPoint plus[TG_PAIR_POINTS], minus[TG_PAIR_POINTS];
  for (int row = 0; row < ROWS; row++, h /= 2) {
    if (displaced(a, b, k, h, memory, margin, plus) != count) return 1;
    if (displaced(a, b, k, -h, memory, margin, minus) != count) return 1;
    for (int j = 0; j < count; j++) {
      tgReal yp[7], ym[7];
      if (plus[j].feature != c[j].feature || minus[j].feature != c[j].feature) return 1;
      seven(yp, &plus[j]);
      seven(ym, &minus[j]);
      for (int i = 0; i < 7; i++) {
        double x = (yp[i] - ym[i]) / (2 * h), f = 4;
        if (row == 0) { best[j][i] = x; err[j][i] = INFINITY; }
        for (int s = 0; s < row; s++, f *= 4) {         // T(row, s+1) from T(row, s) and T(row-1, s)
          double y = (f * x - T[s][j][i]) / (f - 1), e = fmax(fabs(y - x), fabs(y - T[s][j][i]));
          T[s][j][i] = x;
          x = y;
          if (e < err[j][i]) { err[j][i] = e; best[j][i] = y; }
        }
        T[row][j][i] = x;
      }
    }
  }
  for (int j = 0; j < count; j++)
    for (int i = 0; i < 7; i++) {
      double e = fabs(best[j][i] - derivative(&c[j], i, k)) / largest(&c[j]);
      if (!(e <= *worst)) *worst = e;
    }
  return 0;
}
static int derivative_error(const tgtShape *a, const tgtShape *b, const int32_t *memory, double margin, int count,
                            const tgContactPoint *c, double *worst) {
  for (int k = 0; k < COLUMNS; k++)
    if (has_column(a, b, k) && ridders(a, b, k, memory, margin, count, c, worst)) return 1;
  return 0;
}
static const double derivative_tolerance = 1e-7;
#endif

// D against the independent derivative, over both near and deep poses of all ordered pairs
static void derivatives(void **state) {
  (void)state;
  tgtRandom r = {11};
  for (int ka = 0; ka < KINDS; ka++)
    for (int kb = 0; kb < KINDS; kb++) {
      int touching = 0, aside = 0;
      double worst = 0;
      if (ka == 0 && kb == 0) continue;
      for (int trial = 0; trial < POSES; trial++) {
        tgtShape a, b;
        tgContactPoint c[TG_PAIR_POINTS];
        int32_t memory[TG_PAIR_MEMORY] = {0};
        make_shape(&a, ka, &r);
        make_shape(&b, kb, &r);
        place_pair(&a, &b, &r, trial % 2 == 0);
        tgt_collide(&a, &b, 0.05, TG_COLLIDE_POINTS, memory, c, NULL);  // sets the memory, which then stays
        int32_t frozen[TG_PAIR_MEMORY];
        memcpy(frozen, memory, sizeof frozen);
        int count = tgt_collide(&a, &b, 0.05, TG_COLLIDE_SIZE, memory, c, NULL);
        if (count > 0) touching++;
        double e = 0;
        if (derivative_error(&a, &b, frozen, 0.05, count, c, &e)) aside++;
        else if (e > worst) worst = e;
        check_true(e <= derivative_tolerance, "%s-%s pose %d: derivative error %g", kind_name[ka], kind_name[kb], trial, e);
      }
      check_true(touching > POSES / 2, "%s-%s: only %d of %d touch", kind_name[ka], kind_name[kb], touching, POSES);
      check_true(aside <= POSES / 10, "%s-%s: %d set aside", kind_name[ka], kind_name[kb], aside);
      print_message("%s-%s: %d touch, %d set aside, worst %.2g\n", kind_name[ka], kind_name[kb], touching, aside, worst);
    }
}

// (B, A) gives the points of (A, B) with n turned and the twists swapped
static void swap(void **state) {
  (void)state;
  tgtRandom r = {12};
  for (int ka = 0; ka < KINDS; ka++)
    for (int kb = 0; kb < KINDS; kb++)
      for (int trial = 0; trial < POSES / 3; trial++) {
        tgtShape a, b;
        tgContactPoint c[TG_PAIR_POINTS], d[TG_PAIR_POINTS];
        int32_t m1[TG_PAIR_MEMORY] = {0}, m2[TG_PAIR_MEMORY] = {0};
        double dist1, dist2;
        make_shape(&a, ka, &r);
        make_shape(&b, kb, &r);
        place_pair(&a, &b, &r, trial % 2 == 0);
        int n1 = tgt_collide(&a, &b, 0.05, TG_COLLIDE_SIZE, m1, c, &dist1), n2 = tgt_collide(&b, &a, 0.05, TG_COLLIDE_SIZE, m2, d, &dist2);
        assert_int_equal(n1, n2);
        if (dist1 <= 0.05 || dist2 <= 0.05) check_close(dist1, dist2, 1e-12);  // beyond the margin: only a bound
        for (int j = 0; j < n1; j++) {
          check_close(c[j].gap, d[j].gap, 1e-12);
          for (int i = 0; i < 3; i++) {
            check_close(c[j].p[i], d[j].p[i], 1e-11);
            check_close(c[j].n[i], -d[j].n[i], 1e-11);
          }
          for (int i = 0; i < 7; i++)
            for (int k = 0; k < 12; k++) {
              double x = tgRe(c[j].D[i][k]), y = tgRe(d[j].D[i][(k + 6) % 12]) * (i >= 3 && i < 6 ? -1 : 1);
              check_close(x, y, 1e-9 * (1 + fabs(x)));
            }
          for (int i = 0; i < 7; i++)
            for (int k = 12; k < COLUMNS; k++) {
              double x = tgRe(derivative(&c[j], i, k)), y = tgRe(derivative(&d[j], i, 12 + (k - 9) % 6)) * (i >= 3 && i < 6 ? -1 : 1);
              if (has_column(&a, &b, k)) check_close(x, y, 1e-9 * (1 + fabs(x)));
            }
        }
      }
}

// the same motion of both bodies moves p and n along and leaves the gap; the normal is a unit vector
static void equivariance(void **state) {
  (void)state;
  tgtRandom r = {13};
  for (int ka = 0; ka < KINDS; ka++)
    for (int kb = 0; kb < KINDS; kb++)
      for (int trial = 0; trial < POSES / 3; trial++) {
        tgtShape a, b;
        tgContactPoint c[TG_PAIR_POINTS], d[TG_PAIR_POINTS];
        int32_t m1[TG_PAIR_MEMORY] = {0}, m2[TG_PAIR_MEMORY] = {0};
        tgReal q[4], R[9], t[3], p[3], n[3];
        make_shape(&a, ka, &r);
        make_shape(&b, kb, &r);
        place_pair(&a, &b, &r, trial % 2 == 0);
        int n1 = tgt_collide(&a, &b, 0.05, TG_COLLIDE_POINTS, m1, c, NULL);
        tgt_random_quat(&r, q);
        tgi_quat_to_mat(R, q);
        for (int i = 0; i < 3; i++) t[i] = tgt_uniform(&r, -1, 1);
        tgt_apply(&a, R, t);
        tgt_apply(&b, R, t);
        int n2 = tgt_collide(&a, &b, 0.05, TG_COLLIDE_POINTS, m2, d, NULL);
        assert_int_equal(n1, n2);
        for (int j = 0; j < n1; j++) {
          tgi_m3_mulv(p, R, c[j].p);
          tgi_v3_add(p, p, t);
          tgi_m3_mulv(n, R, c[j].n);
          check_close(c[j].gap, d[j].gap, 1e-12);
          check_close(tgi_v3_norm(d[j].n), 1, 1e-14);
          for (int i = 0; i < 3; i++) {
            check_close(p[i], d[j].p[i], 1e-11);
            check_close(n[i], d[j].n[i], 1e-11);
          }
        }
      }
}

// distance of two segments by projected gradient, an independent way: minimise |a + s u - b - t w|^2 over the unit square
static double segment_oracle(const double *a, const double *u, const double *b, const double *w) {
  double r[3], uu = 0, ww = 0, s = 0.5, t = 0.5, d = 0;
  for (int i = 0; i < 3; i++) { uu += u[i] * u[i]; ww += w[i] * w[i]; }
  for (int it = 0; it < 20000; it++) {
    double gs = 0, gt = 0;
    d = 0;
    for (int i = 0; i < 3; i++) {
      r[i] = a[i] + s * u[i] - b[i] - t * w[i];
      d += r[i] * r[i];
      gs += r[i] * u[i];
      gt -= r[i] * w[i];
    }
    s = fmin(fmax(s - gs / (uu + ww + 1e-9), 0), 1);
    t = fmin(fmax(t - gt / (uu + ww + 1e-9), 0), 1);
  }
  return sqrt(d);
}
static void capsule_gap(void **state) {
  (void)state;
  tgtRandom r = {14};
  for (int trial = 0; trial < 100; trial++) {
    tgtShape s[2];
    double x[2][3], u[2][3], dist;
    for (int k = 0; k < 2; k++) {
      make_shape(&s[k], 2, &r);
      tgt_random_pose(&r, &s[k], 0.6);
      for (int i = 0; i < 3; i++) {
        double h = tgRe(s[k].size[1] * s[k].mat[3 * i + 2]);
        x[k][i] = tgRe(s[k].pos[i]) - h;
        u[k][i] = 2 * h;
      }
    }
    int32_t memory[TG_PAIR_MEMORY] = {0};
    tgContactPoint c[TG_PAIR_POINTS];
    int n = tgt_collide(&s[0], &s[1], 10, TG_COLLIDE_POSE, memory, c, &dist);
    assert_int_equal(n, 1);
    check_close(dist + tgRe(s[0].size[0] + s[1].size[0]), segment_oracle(x[0], u[0], x[1], u[1]), 1e-6);
    check_close(dist, c[0].gap, 1e-14);
    for (int k = 0; k < 6; k++) {  // envelope: d gap = n.(w cross p + v) for A
      tgReal e[6] = {0}, v[3];
      e[k] = 1;
      tgi_sp_point_velocity(v, e, c[0].p);
      check_close(tgi_v3_dot(c[0].n, v), c[0].D[6][k], 1e-12);
      check_close(-tgi_v3_dot(c[0].n, v), c[0].D[6][6 + k], 1e-12);
    }
  }
}

static void set_capsule(tgtShape *s, double r, double h, double x, double y, double z, int axis) {
  memset(s, 0, sizeof *s);
  s->type = TG_GEOM_CAPSULE;
  s->size[0] = r;
  s->size[1] = h;
  tgi_v3_set(s->pos, x, y, z);
  for (int k = 0; k < 3; k++) s->mat[3 * ((axis + 1 + k) % 3) + k] = 1;   // geom z along the world axis
}
// crossing (X), end against side (T), corner (L): known points
static void capsule_capsule(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  int32_t memory[TG_PAIR_MEMORY] = {0};
  set_capsule(&b, 0.1, 0.5, 0, 0, 0, 0);
  set_capsule(&a, 0.2, 0.5, 0.1, 0, 0.29, 1);                             // X
  assert_int_equal(tgt_collide(&a, &b, 0, TG_COLLIDE_POSE, memory, c, NULL), 1);
  check_close(c[0].gap, -0.01, 1e-15);
  check_close(c[0].n[2], 1, 1e-15);
  check_close(c[0].p[0], 0.1, 1e-15);
  check_close(c[0].p[2], 0.29 / 3, 1e-15);
  set_capsule(&a, 0.2, 0.5, 0.1, 0, 0.79, 2);                             // T
  assert_int_equal(tgt_collide(&a, &b, 0, TG_COLLIDE_POSE, memory, c, NULL), 1);
  check_close(c[0].gap, -0.01, 1e-15);
  check_close(c[0].n[2], 1, 1e-15);
  set_capsule(&a, 0.2, 0.5, 0.6, 0, 0.6, 2);                              // L: ends (0.5,0,0) and (0.6,0,0.1)
  assert_int_equal(tgt_collide(&a, &b, 0, TG_COLLIDE_POSE, memory, c, NULL), 1);
  check_close(c[0].gap, 0.1 * sqrt(2) - 0.3, 1e-15);
  check_close(c[0].n[0], sqrt(0.5), 1e-15);
  check_close(c[0].n[2], sqrt(0.5), 1e-15);
  assert_false(c[0].tie);
}

// nothing has a direction here: a unit normal all the same, called a tie, finite derivatives, the same each time
static void coincident(void **state) {
  (void)state;
  tgtShape s[3], b;
  tgContactPoint c[TG_PAIR_POINTS], d[TG_PAIR_POINTS];
  memset(s, 0, sizeof s);
  s[0].type = TG_GEOM_SPHERE;
  s[0].size[0] = 0.3;
  tgi_m3_identity(s[0].mat);
  set_capsule(&s[1], 0.1, 0.4, 0, 0, 0, 0);
  set_capsule(&s[2], 0.2, 0.4, 0, 0, 0, 1);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int32_t memory[TG_PAIR_MEMORY] = {0};
      b = s[j];
      assert_int_equal(tgt_collide(&s[i], &b, 0, TG_COLLIDE_POSE, memory, c, NULL), 1);
      assert_int_equal(tgt_collide(&s[i], &b, 0, TG_COLLIDE_POSE, memory, d, NULL), 1);
      assert_memory_equal(c[0].D, d[0].D, sizeof c[0].D);
      check_true(c[0].tie, "coincident %d %d is a tie", i, j);
      check_close(tgi_v3_norm(c[0].n), 1, 1e-14);
      check_close(c[0].gap, -tgRe(s[i].size[0] + s[j].size[0]), 1e-14);
      for (int k = 0; k < 7 * 12; k++) assert_true(tgFinite((&c[0].D[0][0])[k]));
    }
}

// two ends on a plane, in the order start, end, each with its own depth; a plane has no end
static void plane_capsule(void **state) {
  (void)state;
  tgtShape plane, a;
  tgContactPoint c[TG_PAIR_POINTS];
  int32_t memory[TG_PAIR_MEMORY] = {0};
  double dist;
  memset(&plane, 0, sizeof plane);
  plane.type = TG_GEOM_PLANE;
  tgi_m3_identity(plane.mat);
  set_capsule(&a, 0.1, 0.5, 1e6, 0, 0.1, 0);
  assert_int_equal(tgt_collide(&a, &plane, 0, TG_COLLIDE_POSE, memory, c, &dist), 2);
  check_close(c[0].p[0], 1e6 - 0.5, 1e-9);
  check_close(c[1].p[0], 1e6 + 0.5, 1e-9);
  check_close(c[0].n[2], 1, 0);
  check_close(dist, 0, 1e-15);
  a.pos[2] = -1e3;                                 // deep is still a contact
  assert_int_equal(tgt_collide(&plane, &a, 0, TG_COLLIDE_POSE, memory, c, &dist), 2);
  check_close(c[0].gap, -1000.1, 1e-9);
  check_close(c[0].n[2], -1, 0);
}

// ---- independent views of a body: its core by support function, radius apart

typedef struct Core { double v[400][3]; int n; double r; const tgtShape *s; } Core;
static void core_of(Core *c, const tgtShape *s) {
  c->s = s;
  c->r = 0;
  c->n = 0;
  if (s->type == TG_GEOM_SPHERE || s->type == TG_GEOM_CAPSULE) {
    double h = s->type == TG_GEOM_CAPSULE ? tgRe(s->size[1]) : 0;
    c->r = tgRe(s->size[0]);
    c->n = 2;
    for (int k = 0; k < 2; k++)
      for (int i = 0; i < 3; i++) c->v[k][i] = tgRe(s->pos[i]) + (k ? h : -h) * tgRe(s->mat[3 * i + 2]);
    return;
  }
  int n = s->type == TG_GEOM_BOX ? 8 : s->hull->nvert;
  assert_true(n <= 400);
  for (int k = 0; k < n; k++) {
    tgReal x[3], y[3];
    for (int i = 0; i < 3; i++) {
      if (s->type == TG_GEOM_BOX) x[i] = (k >> i & 1 ? 1 : -1) * s->size[i];
      else x[i] = s->hull->vert[3 * k + i];
    }
    for (int i = 0; i < 3 && s->type == TG_GEOM_MESH; i++) x[i] *= s->size[i];
    tgi_m3_mulv(y, s->mat, x);
    for (int i = 0; i < 3; i++) c->v[k][i] = tgRe(y[i] + s->pos[i]);
  }
  c->n = n;
}
static double support(const Core *c, const double *d, double sign, double *x) {
  double best = INFINITY;
  for (int k = 0; k < c->n; k++) {
    double s = sign * (d[0] * c->v[k][0] + d[1] * c->v[k][1] + d[2] * c->v[k][2]);
    if (s < best) {
      best = s;
      if (x) memcpy(x, c->v[k], sizeof c->v[k]);
    }
  }
  return best;
}
// largest gap that a plane normal to the unit vector n leaves between the bodies, n from B to A
static double separation(const Core *a, const Core *b, const double *n) {
  return support(a, n, 1, NULL) + support(b, n, -1, NULL) - a->r - b->r;
}
// upper bound on the distance of the cores: Frank-Wolfe on the Minkowski difference, line search each step
static double distance_bound(const Core *a, const Core *b) {
  double x[3], s[3], y[3];
  for (int i = 0; i < 3; i++) x[i] = a->v[0][i] - b->v[0][i];
  for (int it = 0; it < 3000; it++) {
    double num = 0, den = 0;
    support(a, x, 1, s);
    support(b, x, -1, y);
    for (int i = 0; i < 3; i++) {
      s[i] -= y[i];
      num += x[i] * (x[i] - s[i]);
      den += (x[i] - s[i]) * (x[i] - s[i]);
    }
    if (!(num > 0)) break;
    double t = fmin(1, num / den);
    for (int i = 0; i < 3; i++) x[i] += t * (s[i] - x[i]);
  }
  return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}
// how far x is outside the body: planes of a polytope, distance to the segment of a round one
static double outside(const tgtShape *s, const double *x) {
  double d[3], y[3], worst = -INFINITY;
  for (int i = 0; i < 3; i++) d[i] = x[i] - tgRe(s->pos[i]);
  for (int i = 0; i < 3; i++) y[i] = tgRe(s->mat[i]) * d[0] + tgRe(s->mat[3 + i]) * d[1] + tgRe(s->mat[6 + i]) * d[2];
  if (s->type == TG_GEOM_SPHERE || s->type == TG_GEOM_CAPSULE) {
    double h = s->type == TG_GEOM_CAPSULE ? tgRe(s->size[1]) : 0, z = y[2] - fmin(fmax(y[2], -h), h);
    return sqrt(y[0] * y[0] + y[1] * y[1] + z * z) - tgRe(s->size[0]);
  }
  if (s->type == TG_GEOM_BOX) {
    for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(y[i]) - tgRe(s->size[i]));
    return worst;
  }
  static tgtScaled room;
  const tgHull *h = tgt_shape(s, &room).hull;
  for (int f = 0; f < h->nface; f++) {
    const tgReal *p = h->face_plane + 4 * f;
    worst = fmax(worst, y[0] * tgRe(p[0]) + y[1] * tgRe(p[1]) + y[2] * tgRe(p[2]) - tgRe(p[3]));
  }
  return worst;
}

// Against support functions. The plane of the contact's own normal leaves exactly the least gap; no other direction of a
// sweep leaves more (so the depth is the least, and a positive gap the distance); every point lies on or in both bodies;
// nothing that overlaps is missed; a distance is exact, or beyond the margin a lower bound. The slack is the hysteresis.
static void gaps(void **state) {
  (void)state;
  enum { SWEEP = 2000 };
  const double margin = 0.1, slack = 1.01e-4 * 0.6;
  tgtRandom r = {15};
  double dir[SWEEP][3];
  int exact = 0, all = 0;
  for (int k = 0; k < SWEEP; k++) {
    double z = 1 - (2 * k + 1.0) / SWEEP, w = sqrt(1 - z * z), t = 2.399963229728653 * k;
    dir[k][0] = w * cos(t);
    dir[k][1] = w * sin(t);
    dir[k][2] = z;
  }
  for (int ka = 1; ka < KINDS; ka++)
    for (int kb = 1; kb < KINDS; kb++)
      for (int trial = 0; trial < 60; trial++) {
        static Core A, B;
        tgtShape a, b;
        tgContactPoint c[TG_PAIR_POINTS];
        int32_t memory[TG_PAIR_MEMORY] = {0};
        double dist, least = INFINITY, n[3] = {0};
        make_shape(&a, ka, &r);
        make_shape(&b, kb, &r);
        place_pair(&a, &b, &r, trial % 2 == 0);
        core_of(&A, &a);
        core_of(&B, &b);
        int count = tgt_collide(&a, &b, margin, TG_COLLIDE_POINTS, memory, c, &dist);
        double bound = distance_bound(&A, &B) - A.r - B.r;
        check_true(dist <= bound + 1e-9 || count > 0, "%s-%s: distance %g above %g", kind_name[ka], kind_name[kb], dist, bound);
        check_true(count > 0 || bound > margin - 1e-9, "%s-%s %d: missed at %g", kind_name[ka], kind_name[kb], trial, bound);
        if (count == 0) continue;
        for (int j = 0; j < count; j++) {
          least = fmin(least, tgRe(c[j].gap));
          bool in_both = false;
          for (int side = 0; side < 3; side++) {       // p on A, half-way, on B
            double pa[3], pb[3], g = tgRe(c[j].gap);
            for (int i = 0; i < 3; i++) {
              pa[i] = tgRe(c[j].p[i]) + 0.5 * side * g * tgRe(c[j].n[i]);
              pb[i] = pa[i] - g * tgRe(c[j].n[i]);
            }
            in_both = in_both || (outside(&a, pa) < 1e-5 && outside(&b, pb) < 1e-5);
          }
          // two round bodies: p divides the gap in the ratio of the radii
          if (A.r > 0 && B.r > 0) in_both = true;
          check_true(in_both, "%s-%s %d: point %d is on neither body", kind_name[ka], kind_name[kb], trial, j);
        }
        for (int i = 0; i < 3; i++) n[i] = tgRe(c[0].n[i]);
        double own = separation(&A, &B, n), top = -INFINITY;
        check_close(own, least, slack);
        check_close(dist, least, slack);
        if (fabs(own - least) < 1e-9) exact++;
        all++;
        for (int k = 0; k < SWEEP; k++) top = fmax(top, separation(&A, &B, dir[k]));
        check_true(top <= own + slack, "%s-%s %d: separation %g, a sweep finds %g", kind_name[ka], kind_name[kb], trial, own, top);
        if (least > 0) check_true(bound >= least - slack, "%s-%s: gap %g, distance %g", kind_name[ka], kind_name[kb], least, bound);
      }
  check_true(exact >= 0.98 * all, "exact %d of %d", exact, all);
  print_message("gap equals the separation along n to 1e-9 in %d of %d\n", exact, all);
}

// ---- named cases

static void set_box(tgtShape *s, double hx, double hy, double hz, double x, double y, double z) {
  memset(s, 0, sizeof *s);
  s->type = TG_GEOM_BOX;
  tgi_v3_set(s->size, hx, hy, hz);
  tgi_v3_set(s->pos, x, y, z);
  tgi_m3_identity(s->mat);
}
static void turn_shape(tgtShape *s, double ax, double ay, double az, double angle) {
  tgReal q[4], R[9], M[9], axis[3];
  double len = sqrt(ax * ax + ay * ay + az * az);
  tgi_v3_set(axis, ax / len, ay / len, az / len);
  tgi_quat_axis_angle(q, axis, angle);
  tgi_quat_to_mat(R, q);
  tgi_m3_mul(M, R, s->mat);
  tgi_m3_copy(s->mat, M);
}
static void set_sphere(tgtShape *s, double radius, double x, double y, double z) {
  memset(s, 0, sizeof *s);
  s->type = TG_GEOM_SPHERE;
  s->size[0] = radius;
  tgi_v3_set(s->pos, x, y, z);
  tgi_m3_identity(s->mat);
}
static int fresh(const tgtShape *a, const tgtShape *b, tgContactPoint *c) {
  int32_t memory[TG_PAIR_MEMORY] = {0};
  return tgt_collide(a, b, 0, TG_COLLIDE_POSE, memory, c, NULL);
}

// two equal boxes exactly aligned, one on the other, along each axis: the four corners, n along the axis
static void stacked_boxes(void **state) {
  (void)state;
  for (int axis = 0; axis < 3; axis++)
    for (int up = -1; up <= 1; up += 2) {
      tgtShape a, b;
      tgContactPoint c[TG_PAIR_POINTS];
      set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
      set_box(&a, 0.5, 0.5, 0.5, 0, 0, 0);
      a.pos[axis] = up * (1 - 1e-5);
      assert_int_equal(fresh(&a, &b, c), 4);
      double sum[3] = {0};
      for (int j = 0; j < 4; j++) {
        check_close(c[j].gap, -1e-5, 1e-15);
        for (int i = 0; i < 3; i++) {
          check_close(c[j].n[i], i == axis ? up : 0, 1e-15);
          if (i != axis) check_close(fabs(tgRe(c[j].p[i])), 0.5, 1e-15);
          sum[i] += tgRe(c[j].p[i]);
        }
        check_true(c[j].tie, "corner on corner is a tie");
      }
      for (int i = 0; i < 3; i++)
        if (i != axis) check_close(sum[i], 0, 1e-15);
    }
}
// a smaller box on a larger, in from its edges, is no tie and keeps its own corners; turned by 45 degrees on an equal one
// the common octagon has eight
static void box_on_box(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  set_box(&b, 1, 1, 0.5, 0, 0, 0);
  set_box(&a, 0.3, 0.2, 0.1, 0.1, 0.2, 0.59);
  assert_int_equal(fresh(&a, &b, c), 4);
  for (int j = 0; j < 4; j++) {
    check_close(c[j].gap, -0.01, 1e-15);
    check_close(c[j].p[2], 0.49, 1e-15);             // the vertices of the upper
    check_close(fabs(tgRe(c[j].p[0]) - 0.1), 0.3, 1e-15);
    assert_false(c[j].tie);
  }
  set_box(&a, 1, 1, 0.5, 0, 0, 0.99);
  turn_shape(&a, 0, 0, 1, TG_PI / 4);
  assert_int_equal(fresh(&a, &b, c), 8);
  for (int j = 0; j < 8; j++) {
    double x = fabs(tgRe(c[j].p[0])), y = fabs(tgRe(c[j].p[1]));
    check_close(fmax(x, y), 1, 1e-14);
    check_close(fmin(x, y), sqrt(2) - 1, 1e-14);
    check_close(c[j].gap, -0.01, 1e-14);
  }
  set_box(&a, 0.5, 0.5, 0.5, 0.8, 0.9, 0.99);        // over a corner: one vertex, two crossings, one corner of the lower
  assert_int_equal(fresh(&a, &b, c), 4);
  double area[2] = {0};
  for (int j = 0; j < 4; j++)
    for (int i = 0; i < 2; i++) area[i] += tgRe(c[j].p[i]) / 4;
  check_close(area[0], (0.3 + 1) / 2, 1e-14);
  check_close(area[1], (0.4 + 1) / 2, 1e-14);
}
// a cube corner down into a face; two cubes, edge across edge
static void vertex_face_edge_edge(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  double h = sqrt(1 / 3.0) / 2;
  set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
  set_box(&a, h, h, h, 0.05, 0.1, 0);
  turn_shape(&a, 1, 0, 0, TG_PI / 4);                // corner (1, 1, 1) sqrt(1/3)/2 has length 1/2
  turn_shape(&a, 0, 1, 0, atan(sqrt(0.5)) + 1e-3);
  a.pos[2] = 0.5 + 0.5 - 0.02;
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].n[2], 1, 1e-15);
  check_close(c[0].gap, 0.48 - 0.5 * cos(1e-3), 1e-14);
  set_box(&a, 0.5, 0.5, 0.5, 0, 0, 0);               // A: ridge along y downwards; B: ridge along x upwards
  turn_shape(&a, 0, 1, 0, TG_PI / 4);
  turn_shape(&b, 1, 0, 0, TG_PI / 4);
  a.pos[0] = 0.1;
  a.pos[1] = -0.2;
  a.pos[2] = sqrt(2) - 0.01;
  b.pos[0] = 0.02;
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  check_close(c[0].n[2], 1, 1e-14);
  check_close(c[0].p[0], 0.1, 1e-14);
  check_close(c[0].p[1], 0, 1e-14);
  check_close(c[0].p[2], sqrt(0.5) - 0.005, 1e-14);
  assert_false(c[0].tie);
}
// sphere against face, edge, vertex of a box, and with its centre inside
static void sphere_box(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
  set_sphere(&a, 0.3, 0.1, 0.2, 0.79);
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-15);
  check_close(c[0].n[2], 1, 1e-15);
  check_close(c[0].p[2], 0.49, 1e-15);
  set_sphere(&a, 0.3, 0.1, 0.5 + 0.15, 0.5 + 0.2);
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.05, 1e-15);
  check_close(c[0].n[1], 0.6, 1e-14);
  check_close(c[0].n[2], 0.8, 1e-14);
  set_sphere(&a, 0.3, 0.5 + 0.1, 0.5 + 0.2, 0.5 + 0.2);
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].gap, 0, 1e-15);
  check_close(c[0].n[0], 1 / 3.0, 1e-14);
  set_sphere(&a, 0.3, 0.1, 0.2, -0.4);
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.4, 1e-15);
  check_close(c[0].n[2], -1, 1e-15);
  assert_false(c[0].tie);
  set_sphere(&a, 0.3, 0.1, 0.2, 0.5);                // centre on the face: the face's normal, no tie
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.3, 1e-15);
  check_close(c[0].n[2], 1, 1e-15);
  assert_false(c[0].tie);
}
// capsule lying on a face, over its edge, on an edge, on a vertex, standing on its end
static void pipe_box(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
  set_capsule(&a, 0.1, 0.3, 0.1, 0, 0.59, 0);        // PIPE_FACE: both ends
  assert_int_equal(fresh(&a, &b, c), 2);
  for (int j = 0; j < 2; j++) {
    check_close(c[j].gap, -0.01, 1e-15);
    check_close(c[j].p[0], j ? 0.4 : -0.2, 1e-15);
    check_close(c[j].p[2], 0.49, 1e-15);
    assert_false(c[j].tie);
  }
  set_capsule(&a, 0.1, 0.6, 0.5, 0, 0.59, 0);        // PIPE_FACE_AND_EDGE: one end, one crossing of the side plane x = 0.5
  assert_int_equal(fresh(&a, &b, c), 2);
  check_close(c[0].p[0] + c[1].p[0], -0.1 + 0.5, 1e-14);
  set_capsule(&a, 0.1, 0.6, 0.5 + 0.06, 0, 0.5 + 0.08, 1);   // along y beside the edge x = z = 0.5: parallel, a tie
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].gap, 0, 1e-15);
  check_close(c[0].n[0], 0.6, 1e-14);
  assert_true(c[0].tie);
  set_capsule(&a, 0.1, 0.6, 0.5, 0.1, 0.5, 0);       // PIPE_EDGE: across that edge, in the plane of the two faces' bisector
  turn_shape(&a, 0, 1, 0, TG_PI / 4);
  a.pos[0] += 0.09 * sqrt(0.5);
  a.pos[2] += 0.09 * sqrt(0.5);
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  check_close(c[0].n[0], sqrt(0.5), 1e-14);
  check_close(c[0].p[1], 0.1, 1e-14);
  assert_false(c[0].tie);
  set_capsule(&a, 0.1, 0.6, 0, 0, 0, 0);             // PIPE_VERTEX: middle of the axis over the corner, axis (1, -1, 0)
  turn_shape(&a, 0, 0, 1, -TG_PI / 4);
  for (int i = 0; i < 3; i++) a.pos[i] = 0.5 + 0.09 / sqrt(3);
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  for (int i = 0; i < 3; i++) check_close(c[0].n[i], 1 / sqrt(3), 1e-14);
  set_capsule(&a, 0.1, 0.3, 0.1, 0.2, 0.89, 2);      // END_SPHERE_FACE
  assert_int_equal(fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  check_close(c[0].p[2], 0.49, 1e-14);
}

// one inside the other, same centres, centres on faces, edges, vertices: a contact with a unit normal and finite numbers
static void deep(void **state) {
  (void)state;
  static const double at[4][3] = {{0, 0, 0}, {0, 0, 0.4}, {0, 0.4, 0.4}, {0.4, 0.4, 0.4}};
  for (int kb = 1; kb < 5; kb++)
    for (int place = 0; place < 4; place++) {
      tgtShape a, b;
      tgContactPoint c[TG_PAIR_POINTS], d[TG_PAIR_POINTS];
      set_box(&a, 0.4, 0.4, 0.4, 0, 0, 0);
      if (kb == 1) set_sphere(&b, 0.1, 0, 0, 0);
      else if (kb == 2) set_capsule(&b, 0.1, 0.2, 0, 0, 0, 0);
      else if (kb == 3) set_box(&b, 0.4, 0.4, 0.4, 0, 0, 0);
      else { set_box(&b, 0, 0, 0, 0, 0, 0); b.type = TG_GEOM_CYLINDER; b.hull = &cylinder[5]->hull; }
      for (int i = 0; i < 3; i++) b.pos[i] = at[place][i];
      int n = fresh(&a, &b, c);
      check_true(n >= 1 && n <= TG_PAIR_POINTS, "kind %d place %d: %d points", kb, place, n);
      assert_int_equal(fresh(&a, &b, d), n);
      double least = 0;
      for (int j = 0; j < n; j++) {
        check_close(tgi_v3_norm(c[j].n), 1, 1e-14);
        least = fmin(least, tgRe(c[j].gap));
        assert_memory_equal(c[j].D, d[j].D, sizeof c[j].D);
        for (int k = 0; k < 7 * 12; k++) assert_true(tgFinite((&c[j].D[0][0])[k]));
        // several faces are equally near but for a centre on a face, and a cylinder is as thick in one direction only
        if (place == 0 || (place > 1 && kb < 4)) check_true(c[j].tie, "kind %d place %d is a tie", kb, place);
      }
      check_true(least < -0.05, "kind %d place %d: least gap %g", kb, place, least);
    }
}

// exactly where the feature changes, a tie; 1e-6 beside it none
static void built_ties(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  for (int k = -1; k <= 1; k++) {
    double e = 1e-6 * k;
    set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
    set_sphere(&a, 0.3, 0.1, 0.5 + e, 0.75);         // face, edge
    assert_int_equal(fresh(&a, &b, c), 1);
    assert_int_equal(c[0].tie, k == 0);
    set_sphere(&a, 0.3, 0.5 + e, 0.6, 0.6);          // edge, vertex
    assert_int_equal(fresh(&a, &b, c), 1);
    assert_int_equal(c[0].tie, k == 0);
    set_sphere(&a, 0.3, 0.1, 0.3, 0.3 + e);          // inside, between two faces
    assert_int_equal(fresh(&a, &b, c), 1);
    assert_int_equal(c[0].tie, k == 0);
    set_capsule(&b, 0.1, 0.4, 0, 0, 0, 0);
    set_sphere(&a, 0.3, 0.4 + e, 0.2, 0.3);          // side, end
    assert_int_equal(fresh(&a, &b, c), 1);
    assert_int_equal(c[0].tie, k == 0);
    set_capsule(&a, 0.1, 0.4, 0.4 + e, 0.1, 0.15, 1);
    assert_int_equal(fresh(&a, &b, c), 1);
    assert_int_equal(c[0].tie, k == 0);
    set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);             // vertex of a face over the rim of the other
    set_box(&a, 0.2, 0.2, 0.2, 0.3 + e, 0, 0.69);
    int n = fresh(&a, &b, c), ties = 0;
    for (int j = 0; j < n; j++) ties += c[j].tie;
    assert_int_equal(n, 4);
    assert_int_equal(ties, k == 0 ? 2 : 0);
  }
}

// the remembered face stays through a near-tie that a fresh choice decides the other way, and gives way beyond it
static void memory_holds(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  int32_t memory[TG_PAIR_MEMORY] = {0};
  set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
  set_box(&a, 0.2, 0.2, 0.2, 0.4, 0.1, 0.4 + 1e-6);  // depths 0.3 along x, 0.3 - 1e-6 along z
  assert_true(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, memory, c, NULL) > 0);
  check_close(c[0].n[2], 1, 1e-15);
  a.pos[2] = 0.4 - 1e-6;
  assert_true(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, memory, c, NULL) > 0);
  check_close(c[0].n[2], 1, 1e-15);
  assert_false(c[0].tie);
  assert_true(fresh(&a, &b, c) > 0);
  check_close(c[0].n[0], 1, 1e-15);
  a.pos[2] = 0.4 - 1e-3;
  assert_true(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, memory, c, NULL) > 0);
  check_close(c[0].n[0], 1, 1e-15);
  int32_t junk[TG_PAIR_MEMORY] = {1000000, -1000000};  // of another pair or model: ignored
  assert_true(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, junk, c, NULL) > 0);
  check_close(c[0].n[0], 1, 1e-15);
}

// faces of 100 corners on each other and on a plane: eight points, the deepest among them, spread round the rim (eight
// equal sectors reach 2 cos(22.5 deg) = 1.85 across in any direction)
static void many_corners(void **state) {
  (void)state;
  tgHullOwned *rim;
  assert_int_equal(tgi_hull_cylinder(1, 0.2, 100, NULL, &rim), TG_OK);
  for (int other = 0; other < 2; other++)
    for (int tilt = 0; tilt < 2; tilt++) {
      tgtShape a, b;
      tgContactPoint c[TG_PAIR_POINTS];
      double least = 0, lo[2] = {9, 9}, hi[2] = {-9, -9};
      set_box(&a, 0, 0, 0, 0.01, 0.02, 0.39);
      a.type = TG_GEOM_CYLINDER;
      a.hull = &rim->hull;
      b = a;
      tgi_v3_zero(b.pos);
      turn_shape(&a, 0, 0, 1, 0.3);
      if (tilt) turn_shape(&a, 0.3, 1, 0, 2e-3);
      if (other) {
        memset(&b, 0, sizeof b);
        tgi_m3_identity(b.mat);
        b.pos[2] = 0.2;
      }
      assert_int_equal(fresh(&a, &b, c), 8);
      for (int j = 0; j < 8; j++) {
        least = fmin(least, tgRe(c[j].gap));
        for (int i = 0; i < 2; i++) {
          lo[i] = fmin(lo[i], tgRe(c[j].p[i]));
          hi[i] = fmax(hi[i], tgRe(c[j].p[i]));
        }
      }
      check_close(least, tilt ? -0.01 - 2e-3 : -0.01, 4e-5);
      for (int i = 0; i < 2; i++) check_true(hi[i] - lo[i] > 1.8, "spread %g", hi[i] - lo[i]);
    }
  tgi_hull_free(rim);
}

// at rest the gaps of a round foot are round-off of either sign: the same points each time, spread round the rim
static void resting_foot(void **state) {
  (void)state;
  tgtRandom r = {16};
  tgHullOwned *foot;
  int first[TG_PAIR_POINTS] = {0};
  assert_int_equal(tgi_hull_cylinder(0.05, 0.02, 32, NULL, &foot), TG_OK);
  for (int trial = 0; trial < 60; trial++) {
    tgtShape a, b;
    tgContactPoint c[TG_PAIR_POINTS];
    int32_t memory[TG_PAIR_MEMORY] = {0};
    bool on_box = trial >= 30;
    set_box(&a, 0, 0, 0, 0.3 + tgt_normal(&r) * 1e-3, 0.2, 0.02 + tgt_normal(&r) * 1e-10);
    a.type = TG_GEOM_CYLINDER;
    a.hull = &foot->hull;
    turn_shape(&a, tgt_normal(&r), tgt_normal(&r), 0, 1e-9);
    turn_shape(&a, 0, 0, 1, tgt_normal(&r));
    set_box(&b, 1, 1, 0.5, 0, 0, -0.5);
    if (!on_box) {
      b.type = TG_GEOM_PLANE;
      b.pos[2] = 0;
    }
    assert_int_equal(tgt_collide(&a, &b, 1e-3, TG_COLLIDE_POINTS, memory, c, NULL), 8);
    double reach[2] = {0};
    for (int j = 0; j < 8; j++) {
      if (trial % 30 == 0) first[j] = c[j].feature;
      assert_int_equal(c[j].feature, first[j]);
      for (int k = 0; k < 8; k++) reach[0] = fmax(reach[0], fabs(tgRe(c[j].p[0] - c[k].p[0])));
      for (int k = 0; k < 8; k++) reach[1] = fmax(reach[1], fabs(tgRe(c[j].p[1] - c[k].p[1])));
    }
    check_true(reach[0] > 0.09 && reach[1] > 0.09, "spread %g %g", reach[0], reach[1]);
  }
  tgi_hull_free(foot);
}

// poses on a lattice, turned by multiples of 45 degrees: aligned, touching, concentric and parallel at every turn. Nothing
// that overlaps is missed, normals are unit, all numbers finite, the depth is that of the best direction of a sweep.
static void lattice(void **state) {
  (void)state;
  const double dirs[13][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, -1, 0}, {1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1},
                              {1, 1, 1}, {1, 1, -1}, {1, -1, 1}, {-1, 1, 1}};
  tgtRandom r = {17};
  tgHullOwned *prism;
  int overlapping = 0;
  assert_int_equal(tgi_hull_cylinder(0.5, 0.5, 32, NULL, &prism), TG_OK);
  for (int trial = 0; trial < 4000; trial++) {
    static Core A, B;
    tgtShape s[2];
    tgContactPoint c[TG_PAIR_POINTS];
    int32_t memory[TG_PAIR_MEMORY] = {0};
    double dist, least = INFINITY, n[3], top = -INFINITY;
    for (int k = 0; k < 2; k++) {
      int kind = (int)(tgt_next(&r) % 4);
      set_box(&s[k], 0.5, 0.5, 0.5, 0, 0, 0);
      if (kind == 1) { s[k].type = TG_GEOM_CYLINDER; s[k].hull = &prism->hull; }
      if (kind == 2) s[k].type = TG_GEOM_SPHERE;
      if (kind == 3) s[k].type = TG_GEOM_CAPSULE;
      for (int i = 0; i < 3; i++) {
        s[k].pos[i] = 0.25 * (double)(tgt_next(&r) % 5);
        if (tgt_next(&r) % 2) turn_shape(&s[k], i == 0, i == 1, i == 2, TG_PI / 4 * (double)(tgt_next(&r) % 8));
      }
    }
    core_of(&A, &s[0]);
    core_of(&B, &s[1]);
    int count = tgt_collide(&s[0], &s[1], 0, TG_COLLIDE_POSE, memory, c, &dist);
    for (int k = 0; k < 13; k++)
      for (int sign = -1; sign <= 1; sign += 2) {
        double len = sqrt(dirs[k][0] * dirs[k][0] + dirs[k][1] * dirs[k][1] + dirs[k][2] * dirs[k][2]);
        for (int i = 0; i < 3; i++) n[i] = sign * dirs[k][i] / len;
        top = fmax(top, separation(&A, &B, n));
      }
    if (dist < -1e-12) {
      overlapping++;
      check_true(count > 0, "trial %d: overlap %g without a contact", trial, dist);
      check_true(dist >= top - 1e-4, "trial %d: %g, an axis gives %g", trial, dist, top);
    }
    for (int j = 0; j < count; j++) {
      least = fmin(least, tgRe(c[j].gap));
      check_close(tgi_v3_norm(c[j].n), 1, 1e-13);
      for (int i = 0; i < 3; i++) n[i] = tgRe(c[j].n[i]);
      for (int k = 0; k < 7 * 12; k++) check_true(tgFinite((&c[j].D[0][0])[k]), "trial %d: D is not finite", trial);
    }
    if (count > 0) {
      check_close(least, dist, 1e-4);
      check_close(separation(&A, &B, n), dist, 1e-4);
    } else {
      check_true(distance_bound(&A, &B) - A.r - B.r > -1e-9, "trial %d: missed", trial);
    }
  }
  check_true(overlapping > 1000, "%d overlap", overlapping);
  tgi_hull_free(prism);
}

// what cannot collide says so
static void no_hull(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  set_box(&a, 1, 1, 1, 0, 0, 0);
  b = a;
  b.type = TG_GEOM_MESH;
  assert_int_equal(fresh(&a, &b, c), TG_ERR_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(derivatives), cmocka_unit_test(swap), cmocka_unit_test(equivariance),
    cmocka_unit_test(capsule_gap), cmocka_unit_test(capsule_capsule), cmocka_unit_test(coincident),
    cmocka_unit_test(plane_capsule), cmocka_unit_test(gaps), cmocka_unit_test(stacked_boxes),
    cmocka_unit_test(box_on_box), cmocka_unit_test(vertex_face_edge_edge), cmocka_unit_test(sphere_box),
    cmocka_unit_test(pipe_box), cmocka_unit_test(deep), cmocka_unit_test(built_ties), cmocka_unit_test(memory_holds), cmocka_unit_test(many_corners),
    cmocka_unit_test(resting_foot), cmocka_unit_test(lattice),
    cmocka_unit_test(no_hull),
  };
  return cmocka_run_group_tests(tests, build_hulls, free_hulls);
}
