// contacts.c: see contacts.h.
//
// Near pairs are those whose bounding spheres come near (broad.h), in the order of the model's list. Everything
// discrete (reference feature, tangent axis) comes from the sim's memory, so that the points are a function of
// the pose for given memory.
#include "coll/contacts.h"

#include <string.h>

#include "coll/broad.h"
#include "coll/clouds/soft_contacts.h"
#include "coll/moved.h"
#include "coll/surfaces/facets.h"
#include "kin/kinematics.h"
#include "math/spatial.h"
#include "sim/row.h"

// keep a remembered axis while |k.n| is below this; choose z for a new contact below the second
static const double keep_axis = 0.95, new_axis = 0.8;

static bool is_one(tgReal x) { return tgRe(x) == 1 && tgIm(x) == 0; }

tgShape tgi_geom_shape(const tgSim *s, const tgPose *pose, int g, int side, tgHull *scaled) {
  const tgModel *m = &s->m;
  tgShape S = {.type = (tgGeomType)m->geom_type[g], .size = m->geom_size + 3 * g, .pos = pose->geom_xpos + 3 * g,
               .mat = pose->geom_xmat + 9 * g};
  int hull = m->geom_hull[g];
  if (hull < 0) return S;
  S.hull = &m->hull[hull];
  if (S.type != TG_GEOM_MESH) return S;
  S.size = m->geom_scale + 3 * g;
  if (is_one(S.size[0]) && is_one(S.size[1]) && is_one(S.size[2])) return S;
  *scaled = tgi_hull_scale(S.hull, S.size, s->scaled_hull[side], s->scaled_hull[side] + 3 * S.hull->nvert);
  S.hull = scaled;
  return S;
}

// radius about the geom's origin that holds it at its present size
static double bound_of(const tgModel *m, int g) {
  const tgReal *z = m->geom_size + 3 * g, *scale = m->geom_scale + 3 * g;
  double a = tgRe(z[0]), b = tgRe(z[1]), c = tgRe(z[2]);
  switch ((tgGeomType)m->geom_type[g]) {
    case TG_GEOM_PLANE: return 0;
    case TG_GEOM_SPHERE: return a;
    case TG_GEOM_CAPSULE: return a + b;
    case TG_GEOM_CYLINDER: return sqrt(a * a + b * b);
    case TG_GEOM_ELLIPSOID: return fmax(a, fmax(b, c));
    case TG_GEOM_BOX: return sqrt(a * a + b * b + c * c);
    case TG_GEOM_MESH: break;
  }
  double r = m->geom_hull[g] >= 0 ? m->hull[m->geom_hull[g]].radius : tgRe(m->geom_rbound[g]);
  return r * fmax(tgRe(scale[0]), fmax(tgRe(scale[1]), tgRe(scale[2])));
}

// fills geom_bound; sizes are parameters that the caller may have changed since the last step
static tgStatus bounds(tgSim *s) {
  static const int used[] = {[TG_GEOM_PLANE] = 0, [TG_GEOM_SPHERE] = 1, [TG_GEOM_CAPSULE] = 2, [TG_GEOM_CYLINDER] = 2,
                             [TG_GEOM_ELLIPSOID] = 3, [TG_GEOM_BOX] = 3, [TG_GEOM_MESH] = 3};
  const tgModel *m = &s->m;
  char label[96];
  for (int g = 0; g < m->ngeom; g++) {
    bool mesh = m->geom_type[g] == TG_GEOM_MESH;
    const tgReal *z = (mesh ? m->geom_scale : m->geom_size) + 3 * g;
    for (int k = 0; k < used[m->geom_type[g]]; k++)
      if (!(tgRe(z[k]) > 0))
        return tgi_error(&s->error, TG_ERR_INVALID, "%s: %s[%d] is %g, it has to be positive.",
                         tgi_model_label(m, TG_THING_GEOM, g, label, sizeof label), mesh ? "geom_scale" : "geom_size", k, tgRe(z[k]));
    s->geom_bound[g] = bound_of(m, g);
  }
  return TG_OK;
}

// the first of n records, sorted by the pair that each begins with, that is not of a pair before this one
static int first_from(const int *record, int stride, int n, int pair) {
  int low = 0, high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (record[middle * stride] < pair) low = middle + 1;
    else high = middle;
  }
  return low;
}

// first remembered contact of the pair
static int first_of_pair(const tgSim *s, int pair) { return first_from(s->rows->mem_contact, TG_MEM_CONTACT, s->rows->mem_count[0], pair); }

static int *remembered(const tgSim *s, int pair, int feature) {
  for (int k = first_of_pair(s, pair); k < s->rows->mem_count[0]; k++) {
    int *r = s->rows->mem_contact + k * TG_MEM_CONTACT;
    if (r[0] != pair) return NULL;
    if (r[1] == feature) return r;
  }
  return NULL;
}

static int choose_axis(const tgSim *s, int pair, const tgContactPoint *p) {
  const int *r = remembered(s, pair, p->feature);
  if (r != NULL && fabs(tgRe(p->n[r[2]])) < keep_axis) return r[2];
  return fabs(tgRe(p->n[2])) < new_axis ? 2 : 0;
}

static void fill(const tgSim *s, int pair, const tgContactPoint *p, double margin, const int in[2], const int32_t out[2], tgContactRow *c) {
  const tgModel *m = &s->m;
  c->pair = pair;
  c->geom1 = m->pair_geom1[pair];
  c->geom2 = m->pair_geom2[pair];
  c->feature = p->feature;
  c->tie = p->tie;
  c->gap = p->gap;
  c->margin = margin;
  tgi_v3_copy(c->p, p->p);
  tgi_v3_copy(c->n, p->n);
  c->axis = choose_axis(s, pair, p);
  tgi_tangents(c->n, c->axis, c->t1, c->t2);
  for (int t = 0; t < 5; t++) c->friction[t] = tgi_pair_friction(m, pair, t, NULL);
  c->restitution = tgi_pair_restitution(m, pair, NULL);
  c->row = -1;
  c->nrow = 0;
  for (int i = 0; i < 7; i++) c->bar[i] = 0;
  for (int i = 0; i < 2; i++) {
    c->memory_in[i] = in[i];
    c->memory[i] = out[i];
  }
}

// vertices of hulls are parameters too
static tgStatus not_convex(tgSim *s, int i, const tgHullFault *x) {
  const tgModel *m = &s->m;
  const int *id = m->hull_vertid + m->hull_vertadr[i], *loop = m->hull[i].face_vert + m->hull[i].face_adr[x->face];
  char label[96];
  tgi_model_label(m, TG_THING_MESH, m->hull_mesh[i], label, sizeof label);
  if (x->by == 0)
    return tgi_error(&s->error, TG_ERR_INVALID,
                     "The moved vertices of %s do not make a convex hull: face %d (vertices %d, %d, %d of the mesh) "
                     "has no area.", label, x->face, id[loop[0]], id[loop[1]], id[loop[2]]);
  return tgi_error(&s->error, TG_ERR_INVALID,
                   "The moved vertices of %s do not make a convex hull: vertex %d of the mesh is %.3g m %s face %d "
                   "(vertices %d, %d, %d%s).", label, id[x->vertex], fabs(x->by), x->by < 0 ? "below" : "above",
                   x->face, id[loop[0]], id[loop[1]], id[loop[2]],
                   m->hull[i].face_adr[x->face + 1] - m->hull[i].face_adr[x->face] > 3 ? ", ..., which stay in a plane" : "");
}

tgStatus tgi_hulls_update(tgSim *s) {
  const tgModel *m = &s->m;
  tgReal *plane = s->hull_plane;
  tgHullFault fault;
  for (int i = 0; i < m->nhull && s->hulls_given; i++) {
    const tgHull *like = &s->model->hull[i];
    const tgReal *vert = m->hull_vert + 3 * m->hull_vertadr[i];
    if (memcmp(vert, like->vert, 3 * (size_t)like->nvert * sizeof *vert) == 0) s->hull[i] = *like;
    else if (!tgi_hull_move(like, vert, plane, &s->hull[i], &fault)) return not_convex(s, i, &fault);
    plane += 4 * (size_t)like->nface;
  }
  return TG_OK;
}

static tgStatus no_points(tgSim *s, int status, int g1, int g2) {
  char a[96], b[96];
  return tgi_error(&s->error, (tgStatus)status, "%s and %s cannot collide: one of them has no convex hull.",
                   tgi_model_label(&s->m, TG_THING_GEOM, g1, a, sizeof a), tgi_model_label(&s->m, TG_THING_GEOM, g2, b, sizeof b));
}

// soft contact points, if the contact model has them, else those of features
static bool soft(const tgSim *s) { return s->contact_model != NULL && s->contact_model->soft != NULL; }

static const tgiFacetTable *facets(const tgSim *s) { return s->contact_model != NULL ? s->contact_model->facets : NULL; }

bool tgi_contacts_of_facets(const tgSim *s, int pair) { return tgi_facets_pair(facets(s), &s->m, pair); }

void tgi_contacts_facets(const tgSim *s, const tgPose *pose, int pair, tgiFacetBody *A, tgiFacetBody *B) {
  tgi_facets_place(A, facets(s), &s->m, pose, s->m.pair_geom1[pair]);
  tgi_facets_place(B, facets(s), &s->m, pose, s->m.pair_geom2[pair]);
  A->list = tgi_face_list(tgi_face_lists_make(s->face_lists, facets(s)), pair);
}

// the hull of a mesh, whose faces touch as they were when the contact model was made
static tgStatus moved_hull(tgSim *s, int g) {
  int hull = s->m.geom_hull[g];
  char label[96];
  if (hull < 0 || s->m.hull[hull].vert == s->model->hull[hull].vert) return TG_OK;
  return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "hull_vert of %s was changed, which touches by the faces of its mesh.",
                   tgi_model_label(&s->m, TG_THING_GEOM, g, label, sizeof label));
}

static tgStatus place_facets(tgSim *s, const tgPose *pose, int pair, tgiFacetBody *A, tgiFacetBody *B) {
  TG_TRY(moved_hull(s, s->m.pair_geom1[pair]));
  TG_TRY(moved_hull(s, s->m.pair_geom2[pair]));
  tgi_contacts_facets(s, pose, pair, A, B);
  return TG_OK;
}

tgStatus tgi_faces_distance(tgSim *s, const tgPose *pose, int pair, double cap, double *distance) {
  tgiFacetBody A, B;
  TG_TRY(place_facets(s, pose, pair, &A, &B));
  *distance = tgi_facets_distance(&A, &B, cap);
  return TG_OK;
}

// points of a pair within the margin; negative with the error set
static int collide(tgSim *s, const tgPose *pose, int pair, double margin, tgCollide want, int32_t memory[TG_PAIR_MEMORY],
                   tgContactPoint point[TG_PAIR_POINTS], double *distance) {
  int g1 = s->m.pair_geom1[pair], g2 = s->m.pair_geom2[pair];
  tgHull hull[2];
  char label[96];
  if (soft(s) && want > TG_COLLIDE_POSE)
    return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "Soft contact points have no derivative in the sizes of %s.",
                     tgi_model_label(&s->m, TG_THING_GEOM, g1, label, sizeof label));
  if (soft(s)) return tgi_soft_collide(s, pose, pair, margin, want == TG_COLLIDE_POSE, point, distance);
  if (tgi_contacts_of_facets(s, pair)) {
    tgiFacetBody a, b;
    TG_TRY(place_facets(s, pose, pair, &a, &b));
    return tgi_facets_collide(&a, &b, fmin(margin, tgi_contact_margin(s)), tgRe(s->clearance) / 16, want, point, distance);
  }
  tgShape A = tgi_geom_shape(s, pose, g1, 0, &hull[0]), B = tgi_geom_shape(s, pose, g2, 1, &hull[1]);
  int count = tgi_collide(&A, &B, margin, tgRe(s->clearance) / 16, want, memory, point, distance);
  return count < 0 ? no_points(s, count, g1, g2) : count;
}

// gaps nearer than this are equal [m]: those of parallel faces differ by their round-off
static const double EQUAL = 1e-12;

// the points with the least gap, in front, the very least first; how many
static int least_gap(tgContactPoint *point, int count) {
  int best = 0, n = 1;
  for (int i = 1; i < count; i++)
    if (tgRe(point[i].gap) < tgRe(point[best].gap)) best = i;
  tgContactPoint first = point[0];
  point[0] = point[best];
  point[best] = first;
  for (int i = 1; i < count; i++)
    if (tgRe(point[i].gap) <= tgRe(point[0].gap) + EQUAL) point[n++] = point[i];
  return n;
}

// the same of two geoms that have facets, of which one is not convex
static int facets_nearest(tgSim *s, const tgPose *pose, int geom1, int geom2, double fine, tgCollide want,
                          tgContactPoint point[TG_PAIR_POINTS]) {
  tgiFacetBody A, B;
  double distance;
  TG_TRY(moved_hull(s, geom1));
  TG_TRY(moved_hull(s, geom2));
  tgi_facets_place(&A, facets(s), &s->m, pose, geom1);
  tgi_facets_place(&B, facets(s), &s->m, pose, geom2);
  double least = fmax(0, tgi_facets_distance(&A, &B, INFINITY));
  int count = tgi_facets_collide(&A, &B, least + fine, fine, want, point, &distance);
  return count == 0 ? no_points(s, TG_ERR_INVALID, geom1, geom2) : least_gap(point, count);
}

int tgi_geoms_nearest(tgSim *s, const tgPose *pose, int geom1, int geom2, tgCollide want, tgContactPoint point[TG_PAIR_POINTS]) {
  tgHull hull[2];
  tgReal apart[3];
  int32_t memory[TG_PAIR_MEMORY] = {0};
  tgShape A = tgi_geom_shape(s, pose, geom1, 0, &hull[0]), B = tgi_geom_shape(s, pose, geom2, 1, &hull[1]);
  tgi_v3_sub(apart, A.pos, B.pos);
  // what is farther than origins and bounds say is not there; the least preference between features, so that the gap hardly jumps
  double most = tgRe(tgi_v3_norm(apart)) + bound_of(&s->m, geom1) + bound_of(&s->m, geom2), fine = 1e-9 * most;
  if (tgi_facets_two(facets(s), &s->m, geom1, geom2)) return facets_nearest(s, pose, geom1, geom2, fine, want, point);
  int count = tgi_collide(&A, &B, most, fine, want, memory, point, NULL);
  return count <= 0 ? no_points(s, count < 0 ? count : TG_ERR_INVALID, geom1, geom2) : least_gap(point, count);
}

// What one search for contacts has found; far: NULL, all pairs are looked for within one margin; k: place in mem_pair. apart: pairs whose
// boxes show that they have no contacts, which are looked at, for how near they are, if it turns out that nothing is nearer.
enum { TGI_APART = 64 };
typedef struct Search { const tgiFar *far; int n, k; double nearest; int napart, apart[TGI_APART]; } Search;

static bool is_far(const tgiFar *far, int pair) {
  for (int k = 0; far != NULL && k < far->n; k++)
    if (far->pair[2 * k] == pair) return true;
  return false;
}

// up to which gap the pair has contacts
static double margin_of(const tgSim *s, const tgiFar *far, int pair) {
  double margin = tgi_contact_margin(s);
  return is_far(far, pair) ? fmax(margin, far->gap + tgRe(s->clearance)) : margin;
}

static tgStatus look(tgSim *s, const tgPose *pose, int pair, const int in[2], Search *f) {
  tgContactPoint point[TG_PAIR_POINTS];
  int32_t memory[TG_PAIR_MEMORY] = {in[0], in[1]};
  double distance = INFINITY, margin = margin_of(s, f->far, pair);
  int count = collide(s, pose, pair, margin, TG_COLLIDE_POINTS, memory, point, &distance);
  if (count < 0) return (tgStatus)count;
  if (distance < f->nearest) f->nearest = distance;
  for (int i = 0; i < count; i++, f->n++)
    if (f->n < s->cap.ncon) fill(s, pair, &point[i], margin, in, memory, &s->contact[f->n]);
  return TG_OK;
}

static bool put_aside(const tgSim *s, const tgPose *pose, int pair, Search *f) {
  if (s->all_pairs || f->napart == TGI_APART || !tgi_pair_boxes_apart(s, pose, pair, margin_of(s, f->far, pair))) return false;
  f->apart[f->napart++] = pair;
  return true;
}

static tgStatus look_at(tgSim *s, const tgPose *pose, int pair, Search *f) {
  while (f->k < s->rows->mem_count[1] && s->rows->mem_pair[f->k * TG_MEM_PAIR] < pair) f->k++;
  const int *known = s->rows->mem_pair + f->k * TG_MEM_PAIR;
  if (f->k < s->rows->mem_count[1] && known[0] == pair) return look(s, pose, pair, known + 1, f);
  return put_aside(s, pose, pair, f) ? TG_OK : look(s, pose, pair, (int[2]){0, 0}, f);
}

static tgStatus no_room_for_pairs(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the pairs of %d geoms; reserve more and repeat.", s->m.ngeom);
}

// the contacts of all pairs that are near, in the order of the pairs
static tgStatus search(tgSim *s, const tgPose *pose, Search *f) {
  const tgModel *m = &s->m;
  tgiBroad broad;
  double margin = tgi_contact_margin(s);
  if (f->far != NULL && f->far->n > 0) margin = fmax(margin, f->far->gap + tgRe(s->clearance));
  TG_TRY(tgi_broad_begin(s, pose, margin, &broad));
  int *pair = tgi_stack_bytes(s, ((size_t)tgi_broad_most(m) + 1) * sizeof *pair);
  if (pair == NULL) return no_room_for_pairs(s);
  for (int g = 0; g < m->ngeom; g++)
    for (int k = 0, n = tgi_broad_pairs(&broad, g, pair); k < n; k++) TG_TRY(look_at(s, pose, pair[k], f));
  for (int k = 0; k < f->napart && f->nearest > tgi_contact_margin(s); k++) TG_TRY(look(s, pose, f->apart[k], (int[2]){0, 0}, f));
  return TG_OK;
}

tgStatus tgi_contacts_and_far(tgSim *s, const tgPose *pose, const tgiFar *far, double *least) {
  Search f;   // whose list is left as it is
  f.far = far;
  f.n = f.k = f.napart = 0;
  f.nearest = INFINITY;
  TG_TRY(tgi_hulls_update(s));
  TG_TRY(bounds(s));
  s->contact_d = false;
  s->ncon = 0;
  size_t mark = tgi_stack_mark(s);
  TG_TRY(search(s, pose, &f));
  tgi_stack_free(s, mark);
  if (least != NULL) *least = f.nearest;
  if (f.n > s->cap.ncon) {
    if (f.n > s->wanted.ncon) s->wanted.ncon = f.n;
    return tgi_error(&s->error, TG_ERR_CAPACITY, "%d contact points found, room for %d; reserve more and repeat the step.",
                     f.n, s->cap.ncon);
  }
  s->ncon = f.n;
  return TG_OK;
}

tgStatus tgi_contacts(tgSim *s, const tgPose *pose, double *least) { return tgi_contacts_and_far(s, pose, NULL, least); }

// distance of the centre of geom h from the axis of geom g, a capsule
static double from_axis(const tgSim *s, const tgPose *pose, int g, int h) {
  const tgReal *R = pose->geom_xmat + 9 * g, *x = pose->geom_xpos + 3 * g, *y = pose->geom_xpos + 3 * h;
  double along = 0, half = tgRe(s->m.geom_size[3 * g + 1]), d[3], square = 0;
  for (int i = 0; i < 3; i++) {
    d[i] = tgRe(y[i] - x[i]);
    along += tgRe(R[3 * i + 2]) * d[i];
  }
  if (along > half) along = half;
  if (along < -half) along = -half;
  for (int i = 0; i < 3; i++) {
    d[i] -= along * tgRe(R[3 * i + 2]);
    square += d[i] * d[i];
  }
  return sqrt(square);
}

bool tgi_pair_is_clear(const tgSim *s, const tgPose *pose, int pair, double margin) {
  static const double loose = 1e-9;   // of the sizes, for rounding
  const tgModel *m = &s->m;
  int g[2] = {m->pair_geom1[pair], m->pair_geom2[pair]};
  if (soft(s)) return false;   // whose points are nearer than the bodies
  for (int i = 0; i < 2; i++) {
    double sphere = tgRe(s->geom_bound[g[1 - i]]), all = (1 + loose) * (tgRe(m->geom_size[3 * g[i]]) + sphere);
    if (m->geom_type[g[i]] != TG_GEOM_CAPSULE || m->geom_type[g[1 - i]] == TG_GEOM_PLANE) continue;
    if (from_axis(s, pose, g[i], g[1 - i]) > all + margin) return true;
  }
  return false;
}

// spheres about the geoms, as large as what they hold moves in t at V; by how much each is larger, and the largest of it
static double grow(const tgSim *s, const tgPose *pose, double t, const tgReal *V, double *centre, double *radius, double *by) {
  double most = 0;
  for (int g = 0; g < s->m.ngeom; g++) {
    const tgReal *U = V + 6 * s->m.geom_body[g];
    tgReal at[3];
    double turn = tgRe(tgi_v3_norm(U)), bound = tgRe(s->geom_bound[g]);
    tgi_sp_point_velocity(at, U, pose->geom_xpos + 3 * g);
    by[g] = t * (tgRe(tgi_v3_norm(at)) + (turn > 0 ? turn * bound : 0));
    for (int i = 0; i < 3; i++) centre[3 * g + i] = tgRe(pose->geom_xpos[3 * g + i]);
    radius[g] = bound + by[g];
    most = fmax(most, by[g]);
  }
  return most;
}

typedef struct Beyond {
  const tgPose *pose;
  const double *by;   // how far each geom moves
  const tgiFar *far;
  tgiSees sees;
} Beyond;

// the points of a pair that are farther apart than it is listed from, and no farther than it moves
static tgStatus see_pair(tgSim *s, int pair, const Beyond *b) {
  tgContactPoint point[TG_PAIR_POINTS];
  tgContactRow c;
  double distance, listed = margin_of(s, b->far, pair);
  double margin = b->by[s->m.pair_geom1[pair]] + b->by[s->m.pair_geom2[pair]] + tgRe(s->clearance);
  if (margin <= listed || tgi_pair_is_clear(s, b->pose, pair, margin)) return TG_OK;
  if (!s->all_pairs && tgi_pair_boxes_apart(s, b->pose, pair, margin)) return TG_OK;
  int count = tgi_contacts_of_pair(s, b->pose, pair, margin, point, &distance);
  for (int i = 0; i < count; i++) {
    if (tgRe(point[i].gap) <= listed) continue;
    fill(s, pair, &point[i], margin, (int[2]){0}, (int32_t[2]){0}, &c);
    b->sees.see(s, &c, b->sees.with);
  }
  return count < 0 ? (tgStatus)count : TG_OK;
}

static tgStatus see_pairs(tgSim *s, const Beyond *b, const tgiSpheres *spheres) {
  tgiBroad broad;
  TG_TRY(tgi_broad_spheres(s, b->pose, spheres, tgRe(s->clearance), &broad));
  int *pair = tgi_stack_bytes(s, ((size_t)tgi_broad_most(&s->m) + 1) * sizeof *pair);
  if (pair == NULL) return no_room_for_pairs(s);
  for (int g = 0; g < s->m.ngeom; g++)
    for (int k = 0, n = tgi_broad_pairs(&broad, g, pair); k < n; k++) TG_TRY(see_pair(s, pair[k], b));
  return TG_OK;
}

tgStatus tgi_contacts_beyond(tgSim *s, const tgPose *pose, double t, const tgReal *v, const tgiFar *far, tgiSees sees) {
  size_t mark = tgi_stack_mark(s), n = (size_t)s->m.ngeom;
  tgReal *V = tgi_stack_real(s, 6 * (size_t)s->m.nbody);
  double *centre = tgi_stack_bytes(s, (5 * n + 1) * sizeof *centre), *radius = centre + 3 * n, *by = radius + n;
  if (V == NULL || centre == NULL) return no_room_for_pairs(s);
  tgi_body_velocities(&s->m, pose, v, V);
  double most = grow(s, pose, t, V, centre, radius, by);
  if (2 * most > TG_CONTACT_MARGIN) TG_TRY(see_pairs(s, &(Beyond){pose, by, far, sees}, &(tgiSpheres){centre, radius}));
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_pairs_near(tgSim *s, const tgPose *pose, tgiPairs pairs) {
  tgiBroad broad;
  size_t mark = tgi_stack_mark(s);
  TG_TRY(tgi_broad_begin(s, pose, tgRe(s->clearance), &broad));
  int *pair = tgi_stack_bytes(s, ((size_t)tgi_broad_most(&s->m) + 1) * sizeof *pair);
  if (pair == NULL) return no_room_for_pairs(s);
  for (int g = 0; g < s->m.ngeom; g++)
    for (int k = 0, n = tgi_broad_pairs(&broad, g, pair); k < n; k++) TG_TRY(pairs.see(s, pair[k], pairs.with));
  tgi_stack_free(s, mark);
  return TG_OK;
}

int tgi_contacts_pair_d(tgSim *s, const tgPose *pose, int i, tgCollide want, tgContactPoint point[TG_PAIR_POINTS]) {
  // the same poses and the same memory: the same points in the same order
  const tgContactRow *c = &s->contact[i];
  int32_t memory[TG_PAIR_MEMORY] = {c->memory_in[0], c->memory_in[1]};
  double distance;
  return collide(s, pose, c->pair, c->margin, want, memory, point, &distance);
}

// place of a pair in mem_pair; -1: it is not remembered
static int remembered_pair(const tgSim *s, int pair) {
  int low = first_from(s->rows->mem_pair, TG_MEM_PAIR, s->rows->mem_count[1], pair);
  return low < s->rows->mem_count[1] && s->rows->mem_pair[low * TG_MEM_PAIR] == pair ? low : -1;
}

bool tgi_contacts_memory(const tgSim *s, int pair, int32_t memory[TG_PAIR_MEMORY]) {
  int k = remembered_pair(s, pair);
  for (int i = 0; i < TG_PAIR_MEMORY; i++) memory[i] = k >= 0 ? s->rows->mem_pair[k * TG_MEM_PAIR + 1 + i] : 0;
  return k >= 0;
}

int tgi_contacts_of_pair(tgSim *s, const tgPose *pose, int pair, double margin, tgContactPoint point[TG_PAIR_POINTS], double *distance) {
  return tgi_contacts_of_pair_with(s, pose, pair, margin, TG_COLLIDE_POINTS, point, distance);
}

int tgi_contacts_of_pair_with(tgSim *s, const tgPose *pose, int pair, double margin, tgCollide want,
                              tgContactPoint point[TG_PAIR_POINTS], double *distance) {
  int32_t memory[TG_PAIR_MEMORY];
  tgi_contacts_memory(s, pair, memory);
  *distance = INFINITY;
  return collide(s, pose, pair, margin, want, memory, point, distance);
}

void tgi_contacts_d(tgSim *s, const tgPose *pose) {
  tgContactPoint point[TG_PAIR_POINTS];
  if (s->contact_d) return;
  for (int i = 0; i < s->ncon;) {
    int pair = s->contact[i].pair, end = i;
    bool active = false;
    for (; end < s->ncon && s->contact[end].pair == pair; end++) active = active || s->contact[end].row >= 0;
    if (active) {
      int count = tgi_contacts_pair_d(s, pose, i, TG_COLLIDE_POSE, point);
      for (int k = 0; k < count && i + k < end; k++)
        for (int r = 0; r < 7; r++)
          for (int c = 0; c < 12; c++) s->contact[i + k].D[r][c] = point[k].D[r][c];
    }
    i = end;
  }
  s->contact_d = true;
}

// t1 = r/|r| with r = k - (k.n) n
void tgi_tangents(const tgReal n[3], int axis, tgReal t1[3], tgReal t2[3]) {
  tgReal r[3] = {0, 0, 0};
  r[axis] = 1;
  tgi_v3_axpy(r, -n[axis], n);
  tgi_v3_unit(t1, r);
  tgi_v3_cross(t2, n, t1);
}

// dr = -(k.dn) n - (k.n) dn, dt1 = (1 - t1 t1') dr/|r|, |r|^2 = 1 - (k.n)^2
void tgi_tangents_d(const tgContactRow *c, const tgReal dn[3], tgReal dt1[3], tgReal dt2[3]) {
  tgReal kn = c->n[c->axis], inverse = 1 / tgSqrt(1 - kn * kn), dr[3], x[3];
  for (int i = 0; i < 3; i++) dr[i] = -dn[c->axis] * c->n[i] - kn * dn[i];
  tgReal along = tgi_v3_dot(c->t1, dr);
  for (int i = 0; i < 3; i++) dt1[i] = (dr[i] - along * c->t1[i]) * inverse;
  tgi_v3_cross(dt2, dn, c->t1);
  tgi_v3_cross(x, c->n, dt1);
  tgi_v3_add(dt2, dt2, x);
}

void tgi_tangents_vjp(const tgContactRow *c, const tgReal g1[3], const tgReal g2[3], tgReal gn[3]) {
  tgReal kn = c->n[c->axis], inverse = 1 / tgSqrt(1 - kn * kn), g[3], x[3];
  // g2.(dn x t1 + n x dt1) = dn.(t1 x g2) + dt1.(g2 x n)
  tgi_v3_cross(x, c->t1, g2);
  tgi_v3_add(gn, gn, x);
  tgi_v3_cross(g, g2, c->n);
  tgi_v3_add(g, g, g1);
  tgReal along = tgi_v3_dot(c->t1, g);
  for (int i = 0; i < 3; i++) g[i] = (g[i] - along * c->t1[i]) * inverse;
  gn[c->axis] -= tgi_v3_dot(g, c->n);
  tgi_v3_axpy(gn, -kn, g);
}

// The memory of the contact, in mem_contact, takes the classes of its rows, and the forces of those at the same place.
static void remember_rows(tgSim *s, const tgContactRow *c, int *memory) {
  tgReal *force = s->rows->mem_force + (memory - s->rows->mem_contact) / TG_MEM_CONTACT * TG_MEM_FORCE;
  for (int k = 0; k < 6; k++) {
    bool open = c->row >= 0 && k < c->nrow;
    memory[3 + k] = open ? tgi_row_to_remember(s, c->row + k) : 0;
    force[k] = open ? s->rows->kept[c->row + k] : 0;
    force[6 + k] = open ? s->rows->kept2[c->row + k] : 0;
  }
}

void tgi_contacts_remember(tgSim *s) {
  int npair = 0;
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    int *r = s->rows->mem_contact + i * TG_MEM_CONTACT;
    r[0] = c->pair;
    r[1] = c->feature;
    r[2] = c->axis;
    remember_rows(s, c, r);
    if (i > 0 && s->contact[i - 1].pair == c->pair) continue;
    int *p = s->rows->mem_pair + npair++ * TG_MEM_PAIR;
    p[0] = c->pair;
    p[1] = c->memory[0];
    p[2] = c->memory[1];
  }
  s->rows->mem_count[0] = s->ncon;
  s->rows->mem_count[1] = npair;
}

void tgi_contacts_warm(tgSim *s, const tgContactRow *c) {
  int *r = remembered(s, c->pair, c->feature);
  if (r != NULL) remember_rows(s, c, r);
}

void tgi_contacts_recall(const tgSim *s, const tgContactRow *c, int cls[6]) {
  const int *r = remembered(s, c->pair, c->feature);
  for (int k = 0; k < 6; k++) cls[k] = r != NULL ? r[3 + k] : 0;
}

void tgi_contacts_recall_forces(tgSim *s, const tgContactRow *c) {
  const int *r = remembered(s, c->pair, c->feature);
  if (r == NULL) return;
  const tgReal *force = s->rows->mem_force + (r - s->rows->mem_contact) / TG_MEM_CONTACT * TG_MEM_FORCE;
  for (int k = 0; k < c->nrow && c->row + k < s->cap.nrow; k++) {
    s->rows->kept[c->row + k] = force[k];
    s->rows->kept2[c->row + k] = force[6 + k];
  }
}
