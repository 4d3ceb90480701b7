// moved.c: bounds on the gap of a pair of convex shapes that cost less than a look at it. See moved.h.
#include "coll/moved.h"

#include "coll/features/narrow.h"

static bool flat_or_round(const tgModel *m, int g) {
  return m->geom_type[g] != TG_GEOM_CYLINDER && m->geom_type[g] != TG_GEOM_ELLIPSOID;
}

// By shapes that are convex.
static bool by_shapes(const tgSim *s, int pair) {
  bool soft = s->contact_model != NULL && s->contact_model->soft != NULL;
  return !soft && !tgi_contacts_of_facets(s, pair);
}

// Gaps of other pairs need not be depths: points of surfaces and of clouds, and curved bodies deep in one another.
static bool tells_depth(const tgSim *s, int pair) {
  const tgModel *m = &s->m;
  return by_shapes(s, pair) && flat_or_round(m, m->pair_geom1[pair]) && flat_or_round(m, m->pair_geom2[pair]);
}

// geom a in the axes of geom b
static void relative(const tgPose *pose, int a, int b, double R[9], double t[3]) {
  const tgReal *A = pose->geom_xmat + 9 * a, *B = pose->geom_xmat + 9 * b;
  double d[3];
  for (int k = 0; k < 3; k++) d[k] = tgRe(pose->geom_xpos[3 * a + k] - pose->geom_xpos[3 * b + k]);
  for (int i = 0; i < 3; i++) {
    t[i] = 0;
    for (int k = 0; k < 3; k++) t[i] += tgRe(B[3 * k + i]) * d[k];
    for (int j = 0; j < 3; j++) {
      R[3 * i + j] = 0;
      for (int k = 0; k < 3; k++) R[3 * i + j] += tgRe(B[3 * k + i]) * tgRe(A[3 * k + j]);
    }
  }
}

// How far a point of a, within its bound, has moved in the axes of b: |dt| + |dR| r, the norm of a difference of two rotations being
// its entries' over the root of 2.
static double motion(const tgSim *s, const tgPose *from, const tgPose *to, int a, int b) {
  double R[2][9], t[2][3], turned = 0, moved = 0;
  if (s->m.geom_type[a] == TG_GEOM_PLANE) return INFINITY;
  relative(from, a, b, R[0], t[0]);
  relative(to, a, b, R[1], t[1]);
  for (int i = 0; i < 9; i++) turned += (R[1][i] - R[0][i]) * (R[1][i] - R[0][i]);
  for (int i = 0; i < 3; i++) moved += (t[1][i] - t[0][i]) * (t[1][i] - t[0][i]);
  return sqrt(moved) + sqrt(0.5 * turned) * tgRe(s->geom_bound[a]);
}

double tgi_pair_preference(const tgSim *s, int pair) {
  const tgModel *m = &s->m;
  double a = tgRe(s->geom_bound[m->pair_geom1[pair]]), b = tgRe(s->geom_bound[m->pair_geom2[pair]]);
  return 2 * TGI_HYSTERESIS * fmin(a, b);
}

double tgi_pair_moved(const tgSim *s, const tgPose *from, const tgPose *to, int pair) {
  int a = s->m.pair_geom1[pair], b = s->m.pair_geom2[pair];
  return tells_depth(s, pair) ? fmin(motion(s, from, to, a, b), motion(s, from, to, b, a)) : INFINITY;
}

// ---- boxes ----

// The least box of a geom along its own axes; false: it has none.
static bool box_of(const tgModel *m, int g, double centre[3], double half[3]) {
  const tgReal *z = m->geom_size + 3 * g, *scale = m->geom_scale + 3 * g;
  bool mesh = m->geom_type[g] == TG_GEOM_MESH, round = m->geom_type[g] == TG_GEOM_SPHERE || m->geom_type[g] == TG_GEOM_CAPSULE;
  if (m->geom_type[g] == TG_GEOM_PLANE || (mesh && m->geom_hull[g] < 0)) return false;
  if (mesh) {
    const double (*box)[3] = m->hull[m->geom_hull[g]].box;
    for (int i = 0; i < 3; i++) {
      centre[i] = 0.5 * tgRe(scale[i]) * (box[0][i] + box[1][i]);
      half[i] = 0.5 * tgRe(scale[i]) * (box[1][i] - box[0][i]);
    }
    return true;
  }
  for (int i = 0; i < 3; i++) {
    centre[i] = 0;
    half[i] = tgRe(z[round ? 0 : i]);
  }
  if (m->geom_type[g] == TG_GEOM_CAPSULE) half[2] += tgRe(z[1]);
  if (m->geom_type[g] == TG_GEOM_CYLINDER) {
    half[1] = half[0];
    half[2] = tgRe(z[1]);
  }
  return true;
}

// By more than gap along an axis of the second, or of the first: d from centre to centre in axes of the second, R the first's axes there.
static bool apart_along_faces(const double R[9], const double d[3], const double ha[3], const double hb[3], double gap) {
  for (int i = 0; i < 3; i++) {
    double a = 0, b = 0, along = 0;
    for (int k = 0; k < 3; k++) {
      a += fabs(R[3 * i + k]) * ha[k];
      b += fabs(R[3 * k + i]) * hb[k];
      along += R[3 * k + i] * d[k];
    }
    if (fabs(d[i]) - hb[i] - a > gap || fabs(along) - ha[i] - b > gap) return true;
  }
  return false;
}

// The same along n = e_i x r_j, axes of the second and of the first, of |n|^2 = 1 - R_ij^2.
static bool apart_along_edges(const double R[9], const double d[3], const double ha[3], const double hb[3], double gap) {
  static const double parallel = 1e-6;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      double n1 = -R[3 * i2 + j], n2 = R[3 * i1 + j], nn = 1 - R[3 * i + j] * R[3 * i + j];
      double by = fabs(n1 * d[i1] + n2 * d[i2]) - hb[i1] * fabs(n1) - hb[i2] * fabs(n2) - ha[j1] * fabs(R[3 * i + j2]) -
                  ha[j2] * fabs(R[3 * i + j1]);
      if (nn > parallel && by > 0 && by * by > gap * gap * nn) return true;
    }
  return false;
}

bool tgi_pair_boxes_apart(const tgSim *s, const tgPose *pose, int pair, double margin) {
  static const double rounding = 1e-9;   // of their sizes, as for ties
  const tgModel *m = &s->m;
  int a = m->pair_geom1[pair], b = m->pair_geom2[pair];
  double ca[3], cb[3], ha[3], hb[3], R[9], d[3], size = 0;
  bool mesh = m->geom_type[a] == TG_GEOM_MESH || m->geom_type[b] == TG_GEOM_MESH;
  if (!mesh || !by_shapes(s, pair) || !box_of(m, a, ca, ha) || !box_of(m, b, cb, hb)) return false;
  relative(pose, a, b, R, d);
  for (int i = 0; i < 3; i++) {
    d[i] += R[3 * i] * ca[0] + R[3 * i + 1] * ca[1] + R[3 * i + 2] * ca[2] - cb[i];
    size += fabs(d[i]) + ha[i] + hb[i];
  }
  double gap = fmax(margin, 0) + tgi_pair_preference(s, pair) + rounding * size;
  return apart_along_faces(R, d, ha, hb, gap) || apart_along_edges(R, d, ha, hb, gap);
}

double tgi_pair_along_face(const tgSim *s, const tgPose *pose, int pair) {
  int32_t memory[TG_PAIR_MEMORY];
  tgHull hull[2];
  if (!tells_depth(s, pair) || !tgi_contacts_memory(s, pair, memory)) return -INFINITY;
  tgShape A = tgi_geom_shape(s, pose, s->m.pair_geom1[pair], 0, &hull[0]), B = tgi_geom_shape(s, pose, s->m.pair_geom2[pair], 1, &hull[1]);
  return tgi_remembered_separation(&A, &B, memory);
}

bool tgi_contact_then(const tgSim *s, const tgPose *pose, const tgContactRow *c, double *gap) {
  tgHull hull[2];
  tgContactPoint point;
  if (!tells_depth(s, c->pair)) return false;
  tgShape A = tgi_geom_shape(s, pose, c->geom1, 0, &hull[0]), B = tgi_geom_shape(s, pose, c->geom2, 1, &hull[1]);
  if (!tgi_same_features(&A, &B, c->feature, c->memory, c->n, &point)) return false;
  *gap = tgRe(point.gap);
  return true;
}
