// moved.c: bounds on the gap of a pair of convex shapes that cost less than a look at it. See moved.h.
#include "coll/moved.h"

#include "coll/features/narrow.h"

static bool flat_or_round(const tgModel *m, int g) {
  return m->geom_type[g] != TG_GEOM_CYLINDER && m->geom_type[g] != TG_GEOM_ELLIPSOID;
}

// Gaps of other pairs need not be depths: points of surfaces and of clouds, and curved bodies deep in one another.
static bool tells_depth(const tgSim *s, int pair) {
  const tgModel *m = &s->m;
  bool soft = s->contact_model != NULL && s->contact_model->soft != NULL;
  return !soft && !tgi_contacts_of_facets(s, pair) && flat_or_round(m, m->pair_geom1[pair]) && flat_or_round(m, m->pair_geom2[pair]);
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

bool tgi_contact_then(const tgSim *s, const tgPose *pose, const tgContactRow *c, double *gap) {
  tgHull hull[2];
  tgContactPoint point;
  if (!tells_depth(s, c->pair)) return false;
  tgShape A = tgi_geom_shape(s, pose, c->geom1, 0, &hull[0]), B = tgi_geom_shape(s, pose, c->geom2, 1, &hull[1]);
  if (!tgi_same_features(&A, &B, c->feature, c->memory, c->n, &point)) return false;
  *gap = tgRe(point.gap);
  return true;
}
