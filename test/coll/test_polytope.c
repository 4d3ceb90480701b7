// test_polytope.c: boxes and meshes: named cases, ties, memory, manifolds, aligned poses.
#include "coll/coll_brute.h"
#include "support/tessellate.h"

// two equal boxes exactly aligned, one on the other, along each axis: the four corners, n along the axis
static void stacked_boxes(void **state) {
  (void)state;
  for (int axis = 0; axis < 3; axis++)
    for (int up = -1; up <= 1; up += 2) {
      tgtShape a, b;
      tgContactPoint c[TG_PAIR_POINTS];
      tgt_set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
      tgt_set_box(&a, 0.5, 0.5, 0.5, 0, 0, 0);
      a.pos[axis] = up * (1 - 1e-5);
      assert_int_equal(tgt_fresh(&a, &b, c), 4);
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
  tgt_set_box(&b, 1, 1, 0.5, 0, 0, 0);
  tgt_set_box(&a, 0.3, 0.2, 0.1, 0.1, 0.2, 0.59);
  assert_int_equal(tgt_fresh(&a, &b, c), 4);
  for (int j = 0; j < 4; j++) {
    check_close(c[j].gap, -0.01, 1e-15);
    check_close(c[j].p[2], 0.49, 1e-15);             // the vertices of the upper
    check_close(fabs(tgRe(c[j].p[0]) - 0.1), 0.3, 1e-15);
    assert_false(c[j].tie);
  }
  tgt_set_box(&a, 1, 1, 0.5, 0, 0, 0.99);
  tgt_turn(&a, 0, 0, 1, TG_PI / 4);
  assert_int_equal(tgt_fresh(&a, &b, c), 8);
  for (int j = 0; j < 8; j++) {
    double x = fabs(tgRe(c[j].p[0])), y = fabs(tgRe(c[j].p[1]));
    check_close(fmax(x, y), 1, 1e-14);
    check_close(fmin(x, y), sqrt(2) - 1, 1e-14);
    check_close(c[j].gap, -0.01, 1e-14);
  }
  tgt_set_box(&a, 0.5, 0.5, 0.5, 0.8, 0.9, 0.99);        // over a corner: one vertex, two crossings, one corner of the lower
  assert_int_equal(tgt_fresh(&a, &b, c), 4);
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
  tgt_set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
  tgt_set_box(&a, h, h, h, 0.05, 0.1, 0);
  tgt_turn(&a, 1, 0, 0, TG_PI / 4);                // corner (1, 1, 1) sqrt(1/3)/2 has length 1/2
  tgt_turn(&a, 0, 1, 0, atan(sqrt(0.5)) + 1e-3);
  a.pos[2] = 0.5 + 0.5 - 0.02;
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].n[2], 1, 1e-15);
  check_close(c[0].gap, 0.48 - 0.5 * cos(1e-3), 1e-14);
  tgt_set_box(&a, 0.5, 0.5, 0.5, 0, 0, 0);               // A: ridge along y downwards; B: ridge along x upwards
  tgt_turn(&a, 0, 1, 0, TG_PI / 4);
  tgt_turn(&b, 1, 0, 0, TG_PI / 4);
  a.pos[0] = 0.1;
  a.pos[1] = -0.2;
  a.pos[2] = sqrt(2) - 0.01;
  b.pos[0] = 0.02;
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
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
  tgt_set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
  tgt_set_sphere(&a, 0.3, 0.1, 0.2, 0.79);
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-15);
  check_close(c[0].n[2], 1, 1e-15);
  check_close(c[0].p[2], 0.49, 1e-15);
  tgt_set_sphere(&a, 0.3, 0.1, 0.5 + 0.15, 0.5 + 0.2);
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.05, 1e-15);
  check_close(c[0].n[1], 0.6, 1e-14);
  check_close(c[0].n[2], 0.8, 1e-14);
  tgt_set_sphere(&a, 0.3, 0.5 + 0.1, 0.5 + 0.2, 0.5 + 0.2);
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, 0, 1e-15);
  check_close(c[0].n[0], 1 / 3.0, 1e-14);
  tgt_set_sphere(&a, 0.3, 0.1, 0.2, -0.4);
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.4, 1e-15);
  check_close(c[0].n[2], -1, 1e-15);
  assert_false(c[0].tie);
  tgt_set_sphere(&a, 0.3, 0.1, 0.2, 0.5);                // centre on the face: the face's normal, no tie
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.3, 1e-15);
  check_close(c[0].n[2], 1, 1e-15);
  assert_false(c[0].tie);
}

// capsule lying on a face, over its edge, on an edge, on a vertex, standing on its end
static void pipe_box(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  tgt_set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
  tgt_set_capsule(&a, 0.1, 0.3, 0.1, 0, 0.59, 0);        // PIPE_FACE: both ends
  assert_int_equal(tgt_fresh(&a, &b, c), 2);
  for (int j = 0; j < 2; j++) {
    check_close(c[j].gap, -0.01, 1e-15);
    check_close(c[j].p[0], j ? 0.4 : -0.2, 1e-15);
    check_close(c[j].p[2], 0.49, 1e-15);
    assert_false(c[j].tie);
  }
  tgt_set_capsule(&a, 0.1, 0.6, 0.5, 0, 0.59, 0);        // PIPE_FACE_AND_EDGE: one end, one crossing of the side plane x = 0.5
  assert_int_equal(tgt_fresh(&a, &b, c), 2);
  check_close(c[0].p[0] + c[1].p[0], -0.1 + 0.5, 1e-14);
  tgt_set_capsule(&a, 0.1, 0.6, 0.5 + 0.06, 0, 0.5 + 0.08, 1);   // along y beside the edge x = z = 0.5: parallel, a tie
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, 0, 1e-15);
  check_close(c[0].n[0], 0.6, 1e-14);
  assert_true(c[0].tie);
  tgt_set_capsule(&a, 0.1, 0.6, 0.5, 0.1, 0.5, 0);       // PIPE_EDGE: across that edge, in the plane of the two faces' bisector
  tgt_turn(&a, 0, 1, 0, TG_PI / 4);
  a.pos[0] += 0.09 * sqrt(0.5);
  a.pos[2] += 0.09 * sqrt(0.5);
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  check_close(c[0].n[0], sqrt(0.5), 1e-14);
  check_close(c[0].p[1], 0.1, 1e-14);
  assert_false(c[0].tie);
  tgt_set_capsule(&a, 0.1, 0.6, 0, 0, 0, 0);             // PIPE_VERTEX: middle of the axis over the corner, axis (1, -1, 0)
  tgt_turn(&a, 0, 0, 1, -TG_PI / 4);
  for (int i = 0; i < 3; i++) a.pos[i] = 0.5 + 0.09 / sqrt(3);
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  for (int i = 0; i < 3; i++) check_close(c[0].n[i], 1 / sqrt(3), 1e-14);
  tgt_set_capsule(&a, 0.1, 0.3, 0.1, 0.2, 0.89, 2);      // END_SPHERE_FACE
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  check_close(c[0].p[2], 0.49, 1e-14);
}

// one inside the other, same centres, centres on faces, edges, vertices: a contact with a unit normal and finite numbers
static void deep(void **state) {
  (void)state;
  static const double at[4][3] = {{0, 0, 0}, {0, 0, 0.4}, {0, 0.4, 0.4}, {0.4, 0.4, 0.4}};
  tgHullOwned *prism;
  assert_int_equal(tgt_hull_cylinder(0.3, 0.2, 28, NULL, &prism), TG_OK);
  for (int kb = 1; kb < 5; kb++)
    for (int place = 0; place < 4; place++) {
      tgtShape a, b;
      tgContactPoint c[TG_PAIR_POINTS], d[TG_PAIR_POINTS];
      tgt_set_box(&a, 0.4, 0.4, 0.4, 0, 0, 0);
      if (kb == 1) tgt_set_sphere(&b, 0.1, 0, 0, 0);
      else if (kb == 2) tgt_set_capsule(&b, 0.1, 0.2, 0, 0, 0, 0);
      else if (kb == 3) tgt_set_box(&b, 0.4, 0.4, 0.4, 0, 0, 0);
      else { tgt_set_box(&b, 1, 1, 1, 0, 0, 0); b.type = TG_GEOM_MESH; b.hull = &prism->hull; }
      for (int i = 0; i < 3; i++) b.pos[i] = at[place][i];
      int n = tgt_fresh(&a, &b, c);
      check_true(n >= 1 && n <= TG_PAIR_POINTS, "kind %d place %d: %d points", kb, place, n);
      assert_int_equal(tgt_fresh(&a, &b, d), n);
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
  tgi_hull_free(prism);
}

// exactly where the feature changes, a tie; 1e-6 beside it none
static void built_ties(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  for (int k = -1; k <= 1; k++) {
    double e = 1e-6 * k;
    tgt_set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
    tgt_set_sphere(&a, 0.3, 0.1, 0.5 + e, 0.75);         // face, edge
    assert_int_equal(tgt_fresh(&a, &b, c), 1);
    assert_int_equal(c[0].tie, k == 0);
    tgt_set_sphere(&a, 0.3, 0.5 + e, 0.6, 0.6);          // edge, vertex
    assert_int_equal(tgt_fresh(&a, &b, c), 1);
    assert_int_equal(c[0].tie, k == 0);
    tgt_set_sphere(&a, 0.3, 0.1, 0.3, 0.3 + e);          // inside, between two faces
    assert_int_equal(tgt_fresh(&a, &b, c), 1);
    assert_int_equal(c[0].tie, k == 0);
    tgt_set_capsule(&b, 0.1, 0.4, 0, 0, 0, 0);
    tgt_set_sphere(&a, 0.3, 0.4 + e, 0.2, 0.3);          // side, end
    assert_int_equal(tgt_fresh(&a, &b, c), 1);
    assert_int_equal(c[0].tie, k == 0);
    tgt_set_capsule(&a, 0.1, 0.4, 0.4 + e, 0.1, 0.15, 1);
    assert_int_equal(tgt_fresh(&a, &b, c), 1);
    assert_int_equal(c[0].tie, k == 0);
    tgt_set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);             // vertex of a face over the rim of the other
    tgt_set_box(&a, 0.2, 0.2, 0.2, 0.3 + e, 0, 0.69);
    int n = tgt_fresh(&a, &b, c), ties = 0;
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
  tgt_set_box(&b, 0.5, 0.5, 0.5, 0, 0, 0);
  tgt_set_box(&a, 0.2, 0.2, 0.2, 0.4, 0.1, 0.4 + 1e-6);  // depths 0.3 along x, 0.3 - 1e-6 along z
  assert_true(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, memory, c, NULL) > 0);
  check_close(c[0].n[2], 1, 1e-15);
  a.pos[2] = 0.4 - 1e-6;
  assert_true(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, memory, c, NULL) > 0);
  check_close(c[0].n[2], 1, 1e-15);
  assert_false(c[0].tie);
  assert_true(tgt_fresh(&a, &b, c) > 0);
  check_close(c[0].n[0], 1, 1e-15);
  a.pos[2] = 0.4 - 1e-3;
  assert_true(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, memory, c, NULL) > 0);
  check_close(c[0].n[0], 1, 1e-15);
  int32_t junk[TG_PAIR_MEMORY] = {1000000, -1000000};  // of another pair or model: ignored
  assert_true(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, junk, c, NULL) > 0);
  check_close(c[0].n[0], 1, 1e-15);
}

// A rod whose lowest edge lies across an edge of a box turns towards the box's face: its end, which touches next, is a contact as soon as
// it is within the margin, beside the edges or, where these are flush, in their place.
static void turns_flush(void **state) {
  (void)state;
  int32_t memory[TG_PAIR_MEMORY] = {0};
  const double angle[] = {1e-2, 1e-7, 1e-4}, length = 0.4, roll = 0.7, low = 0.02 * (sin(roll) + cos(roll));
  const int count[] = {1, 2, 2};
  for (int k = 0; k < 3; k++) {
    tgtShape a, b;
    tgContactPoint c[TG_PAIR_POINTS];
    double up = 0;
    tgt_set_box(&b, 0.3, 0.3, 0.3, 0, 0, -0.3);
    tgt_set_box(&a, length, 0.02, 0.02, 0, 0, 0);
    tgt_turn(&a, 1, 0, 0, roll);
    tgt_turn(&a, 0, 1, 0, angle[k]);
    // the lowest edge through the box's edge x = 0.3, its middle at 0.5
    a.pos[0] = 0.5 + low * sin(angle[k]);
    a.pos[2] = low * cos(angle[k]) - 0.2 * tan(angle[k]);
    assert_int_equal(tgt_collide(&a, &b, 1e-3, TG_COLLIDE_POINTS, memory, c, NULL), count[k]);
    for (int i = 0; i < count[k]; i++) up = fmax(up, tgRe(c[i].gap));
    if (count[k] == 2) check_close(up, length * sin(angle[k]) - 0.2 * tan(angle[k]), 1e-12);
    assert_false(c[0].tie);
  }
}

// faces of 100 corners on each other and on a plane: eight points, the deepest among them, spread round the rim (eight
// equal sectors reach 2 cos(22.5 deg) = 1.85 across in any direction)
static void many_corners(void **state) {
  (void)state;
  tgHullOwned *rim;
  assert_int_equal(tgt_hull_cylinder(1, 0.2, 100, NULL, &rim), TG_OK);
  for (int other = 0; other < 2; other++)
    for (int tilt = 0; tilt < 2; tilt++) {
      tgtShape a, b;
      tgContactPoint c[TG_PAIR_POINTS];
      double least = 0, lo[2] = {9, 9}, hi[2] = {-9, -9};
      tgt_set_box(&a, 1, 1, 1, 0.01, 0.02, 0.39);
      a.type = TG_GEOM_MESH;
      a.hull = &rim->hull;
      b = a;
      tgi_v3_zero(b.pos);
      tgt_turn(&a, 0, 0, 1, 0.3);
      if (tilt) tgt_turn(&a, 0.3, 1, 0, 2e-3);
      if (other) {
        memset(&b, 0, sizeof b);
        tgi_m3_identity(b.mat);
        b.pos[2] = 0.2;
      }
      assert_int_equal(tgt_fresh(&a, &b, c), 8);
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
  assert_int_equal(tgt_hull_cylinder(0.05, 0.02, 32, NULL, &foot), TG_OK);
  for (int trial = 0; trial < 60; trial++) {
    tgtShape a, b;
    tgContactPoint c[TG_PAIR_POINTS];
    int32_t memory[TG_PAIR_MEMORY] = {0};
    bool on_box = trial >= 30;
    tgt_set_box(&a, 1, 1, 1, 0.3 + tgt_normal(&r) * 1e-3, 0.2, 0.02 + tgt_normal(&r) * 1e-10);
    a.type = TG_GEOM_MESH;
    a.hull = &foot->hull;
    tgt_turn(&a, tgt_normal(&r), tgt_normal(&r), 0, 1e-9);
    tgt_turn(&a, 0, 0, 1, tgt_normal(&r));
    tgt_set_box(&b, 1, 1, 0.5, 0, 0, -0.5);
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
// that overlaps is missed, normals are unit, all numbers finite, the depth is that of the best direction of a sweep, which the first
// point has.
static void lattice(void **state) {
  (void)state;
  const double dirs[13][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, -1, 0}, {1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1},
                              {1, 1, 1}, {1, 1, -1}, {1, -1, 1}, {-1, 1, 1}};
  tgtRandom r = {17};
  tgHullOwned *prism;
  int overlapping = 0;
  assert_int_equal(tgt_hull_cylinder(0.5, 0.5, 32, NULL, &prism), TG_OK);
  for (int trial = 0; trial < 4000; trial++) {
    static tgtCore A, B;
    tgtShape s[2];
    tgContactPoint c[TG_PAIR_POINTS];
    int32_t memory[TG_PAIR_MEMORY] = {0};
    double dist, least = INFINITY, n[3], top = -INFINITY;
    for (int k = 0; k < 2; k++) {
      int kind = (int)(tgt_next(&r) % 4);
      tgt_set_box(&s[k], 0.5, 0.5, 0.5, 0, 0, 0);
      if (kind == 1) { tgi_v3_set(s[k].size, 1, 1, 1); s[k].type = TG_GEOM_MESH; s[k].hull = &prism->hull; }
      if (kind == 2) s[k].type = TG_GEOM_SPHERE;
      if (kind == 3) s[k].type = TG_GEOM_CAPSULE;
      for (int i = 0; i < 3; i++) {
        s[k].pos[i] = 0.25 * (double)(tgt_next(&r) % 5);
        if (tgt_next(&r) % 2) tgt_turn(&s[k], i == 0, i == 1, i == 2, TG_PI / 4 * (double)(tgt_next(&r) % 8));
      }
    }
    tgt_core(&A, &s[0]);
    tgt_core(&B, &s[1]);
    int count = tgt_collide(&s[0], &s[1], 0, TG_COLLIDE_POSE, memory, c, &dist);
    for (int k = 0; k < 13; k++)
      for (int sign = -1; sign <= 1; sign += 2) {
        double len = sqrt(dirs[k][0] * dirs[k][0] + dirs[k][1] * dirs[k][1] + dirs[k][2] * dirs[k][2]);
        for (int i = 0; i < 3; i++) n[i] = sign * dirs[k][i] / len;
        top = fmax(top, tgt_separation(&A, &B, n));
      }
    if (dist < -1e-12) {
      overlapping++;
      check_true(count > 0, "trial %d: overlap %g without a contact", trial, dist);
      check_true(dist >= top - 1e-4, "trial %d: %g, an axis gives %g", trial, dist, top);
    }
    for (int j = 0; j < count; j++) {
      least = fmin(least, tgRe(c[j].gap));
      check_close(tgi_v3_norm(c[j].n), 1, 1e-13);
      for (int k = 0; k < 7 * 12; k++) check_true(tgFinite((&c[j].D[0][0])[k]), "trial %d: D is not finite", trial);
    }
    if (count > 0) {
      for (int i = 0; i < 3; i++) n[i] = tgRe(c[0].n[i]);
      check_close(least, dist, 1e-4);
      check_close(tgt_separation(&A, &B, n), dist, 1e-4);
    } else {
      check_true(tgt_distance_bound(&A, &B) - A.r - B.r > -1e-9, "trial %d: missed", trial);
    }
  }
  check_true(overlapping > 1000, "%d overlap", overlapping);
  tgi_hull_free(prism);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(stacked_boxes), cmocka_unit_test(box_on_box), cmocka_unit_test(vertex_face_edge_edge), cmocka_unit_test(sphere_box),
    cmocka_unit_test(pipe_box), cmocka_unit_test(deep), cmocka_unit_test(built_ties), cmocka_unit_test(memory_holds),
    cmocka_unit_test(turns_flush), cmocka_unit_test(many_corners), cmocka_unit_test(resting_foot), cmocka_unit_test(lattice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
