// pair_round.c: plane, sphere and capsule against each other, and closest points of segments.
//
// The feature pair is chosen in double from the real parts; the contact follows in closed form (rule.c).
#include "coll/features/pair.h"

tgiSegment tgi_round_segment(const tgShape *S) {
  tgiSegment g = {.line = false};
  double h = S->type == TG_GEOM_CAPSULE ? tgRe(S->size[1]) : 0;
  for (int i = 0; i < 3; i++) {
    double axis = tgRe(S->mat[3 * i + 2]);
    g.x[i] = tgRe(S->pos[i]) - h * axis;
    g.u[i] = 2 * h * axis;
  }
  g.line = h > 0;
  return g;
}

// one of the axes of S's frame, the last unless another is less along u, made normal to u
void tgi_any_normal(double *n, const tgShape *S, const double *u) {
  double best = INFINITY, uu = u ? tgi_d3_dot(u, u) : 0;
  for (int j = 2; j >= 0; j--) {
    double c[3] = {tgRe(S->mat[j]), tgRe(S->mat[3 + j]), tgRe(S->mat[6 + j])};
    double cu = uu > 0 ? tgi_d3_dot(c, u) : 0;
    if (fabs(cu) >= best) continue;
    best = fabs(cu);
    for (int i = 0; i < 3; i++) n[i] = c[i] - (uu > 0 ? cu / uu * u[i] : 0);
  }
  double len = tgi_d3_norm(n);
  for (int i = 0; i < 3; i++) n[i] /= len;
}

tgiClosest tgi_closest_point(const double *x, const tgiSegment *b, double tol) {
  tgiClosest c = {.at_a = TGI_AT_START, .at_b = TGI_AT_START};
  double r[3];
  tgi_d3_sub(r, x, b->x);
  if (b->line) {
    double uu = tgi_d3_dot(b->u, b->u), t = tgi_d3_dot(r, b->u) / uu, band = tol * tol;
    c.tie = t * t * uu < band || (t - 1) * (t - 1) * uu < band;
    c.at_b = t <= 0 ? TGI_AT_START : t >= 1 ? TGI_AT_END : TGI_AT_INSIDE;
    c.t = fmin(fmax(t, 0), 1);
    for (int i = 0; i < 3; i++) r[i] -= c.t * b->u[i];
  }
  c.distance = tgi_d3_norm(r);
  return c;
}

// both inside: the stationary point of the two lines. False when they are parallel; *edge when a parameter is within
// tol of an end and the other within range, so that the least displacement moves the closest point on or off an end.
static bool lines_inside(const tgiSegment *a, const tgiSegment *b, double tol, tgiClosest *c, bool *edge) {
  double r[3], N[3], uu = tgi_d3_dot(a->u, a->u), ww = tgi_d3_dot(b->u, b->u), uw = tgi_d3_dot(a->u, b->u);
  tgi_d3_cross(N, a->u, b->u);
  double det = tgi_d3_dot(N, N);
  *edge = false;
  if (det <= TGI_PARALLEL * uu * ww) return false;
  tgi_d3_sub(r, a->x, b->x);
  double g1 = tgi_d3_dot(a->u, r), g2 = tgi_d3_dot(b->u, r), ea = tol / sqrt(uu), eb = tol / sqrt(ww);
  double s = (uw * g2 - ww * g1) / det, t = (uu * g2 - uw * g1) / det;
  bool near = s > -ea && s < 1 + ea && t > -eb && t < 1 + eb;
  *edge = near && (s < ea || s > 1 - ea || t < eb || t > 1 - eb);
  if (s < 0 || s > 1 || t < 0 || t > 1) return false;
  for (int i = 0; i < 3; i++) r[i] += s * a->u[i] - t * b->u[i];
  *c = (tgiClosest){TGI_AT_INSIDE, TGI_AT_INSIDE, s, t, tgi_d3_norm(r), *edge};
  return true;
}

// takes the candidate when it is nearer; as near elsewhere is a tie, as near in the same place shares its ties
static void take_nearer(tgiClosest *best, tgiClosest c, const tgiSegment *a, const tgiSegment *b, double tol) {
  bool tie = false;
  if (fabs(c.distance - best->distance) < tol) {
    double ds = c.s - best->s, dt = c.t - best->t, far = 1e3 * tol;
    bool elsewhere = ds * ds * tgi_d3_dot(a->u, a->u) > far * far || dt * dt * tgi_d3_dot(b->u, b->u) > far * far;
    tie = elsewhere || c.tie || best->tie;
  }
  if (c.distance < best->distance) *best = c;
  if (tie) best->tie = true;
}

tgiClosest tgi_closest_segments(const tgiSegment *a, const tgiSegment *b, double tol) {
  tgiClosest best = {.distance = INFINITY}, c;
  bool edge = false;
  if (a->line && b->line && lines_inside(a, b, tol, &best, &edge)) return best;
  double x[3];
  for (int k = 0; k <= (a->line ? 1 : 0) && (b->line || !a->line); k++) {
    tgi_d3_along(x, a->x, k, a->u);
    c = tgi_closest_point(x, b, tol);
    c.at_a = k == 0 ? TGI_AT_START : TGI_AT_END;
    c.s = k;
    take_nearer(&best, c, a, b, tol);
  }
  for (int k = 0; k <= (b->line ? 1 : 0) && a->line; k++) {
    tgi_d3_along(x, b->x, k, b->u);
    tgiClosest d = tgi_closest_point(x, a, tol);
    c = (tgiClosest){d.at_b, k == 0 ? TGI_AT_START : TGI_AT_END, d.t, k, d.distance, d.tie};
    take_nearer(&best, c, a, b, tol);
  }
  if (edge) best.tie = true;
  return best;
}

int tgi_pair_plane_round(tgiPair *P) {
  bool plane_is_a = P->A->type == TG_GEOM_PLANE;
  const tgShape *S = plane_is_a ? P->B : P->A;
  tgiFace F;
  tgi_plane_face(&F, plane_is_a ? P->A : P->B, plane_is_a);
  int ends = tgi_round_segment(S).line ? 2 : 1, count = 0;
  P->distance = INFINITY;
  for (int k = 0; k < ends; k++) {
    tgiCore core;
    tgReal y[3];
    tgi_round_core(&core, S, !plane_is_a, k == 0 ? TGI_AT_START : TGI_AT_END, P->want);
    tgi_v3_sub(y, core.x, F.s);
    double gap = tgRe(tgi_v3_dot(F.n, y) - core.r);
    P->distance = fmin(P->distance, gap);
    if (!(gap <= P->margin)) continue;
    tgContactPoint *c = &P->out[count++];
    tgi_rule_face_point(c, &F, &core, P->want);
    c->feature = tgi_feature(TGI_KIND_FACE_POINT, k, 0);
    c->tie = false;
  }
  return count;
}

// two lines: unit(a - b) and +-unit(u x w) are the same; the latter is sharp where the lines meet, the former where they
// are parallel
void tgi_emit_cores(tgiPair *P, const tgiCore *A, const tgiCore *B, double distance, double scale) {
  double r[3], N[3], u[3], w[3];
  for (int i = 0; i < 3; i++) {
    r[i] = tgRe(A->x[i] - B->x[i]);
    u[i] = tgRe(A->u[i]);
    w[i] = tgRe(B->u[i]);
  }
  tgi_d3_cross(N, u, w);
  if (A->line && B->line && tgi_d3_norm(N) * scale > distance * tgi_d3_norm(u) * tgi_d3_norm(w))
    tgi_rule_cores(P->out, A, B, TGI_NORMAL_CROSS, tgi_d3_dot(N, r) >= 0 ? 1 : -1, NULL, P->want);
  else
    tgi_rule_cores(P->out, A, B, TGI_NORMAL_CLOSEST, 0, NULL, P->want);
}

// cores that meet: normal to both axes, on the side of the centres, which needs the least way out; where the axes give
// none, a direction carried by B
static void meeting_cores(tgiPair *P, const tgiCore *A, const tgiCore *B, const tgiSegment *a, const tgiSegment *b) {
  double d[3], n[3], nn, aa = tgi_d3_dot(a->u, a->u), bb = tgi_d3_dot(b->u, b->u);
  for (int i = 0; i < 3; i++) d[i] = tgRe(P->A->pos[i] - P->B->pos[i]);
  tgi_d3_cross(n, a->u, b->u);
  nn = tgi_d3_dot(n, n);
  double side = tgi_d3_dot(n, d) >= 0 ? 1 : -1;
  if (!(nn > TGI_PARALLEL * aa * bb)) {
    tgi_any_normal(n, P->B, a->line ? a->u : b->line ? b->u : NULL);
    tgi_rule_cores(P->out, A, B, TGI_NORMAL_FIXED, 0, n, P->want);
  } else if (A->line && B->line) {
    tgi_rule_cores(P->out, A, B, TGI_NORMAL_CROSS, side, NULL, P->want);
  } else {
    for (int i = 0; i < 3; i++) n[i] *= side / sqrt(nn);
    tgi_rule_cores(P->out, A, B, TGI_NORMAL_FIXED, 0, n, P->want);
  }
}

int tgi_pair_round_round(tgiPair *P) {
  tgiSegment a = tgi_round_segment(P->A), b = tgi_round_segment(P->B);
  double ra = tgRe(P->A->size[0]), rb = tgRe(P->B->size[0]);
  double scale = ra + rb + tgi_d3_norm(a.u) + tgi_d3_norm(b.u);
  tgiClosest c = tgi_closest_segments(&a, &b, TGI_TIE * scale);
  P->distance = c.distance - ra - rb;
  if (!(P->distance <= P->margin)) return 0;
  tgiCore A, B;
  tgi_round_core(&A, P->A, true, c.at_a, P->want);
  tgi_round_core(&B, P->B, false, c.at_b, P->want);
  if (c.distance > TGI_COINCIDE * scale) tgi_emit_cores(P, &A, &B, c.distance, scale);
  else meeting_cores(P, &A, &B, &a, &b);
  P->out->feature = tgi_feature(TGI_KIND_CORES, c.at_a, c.at_b);
  P->out->tie = c.tie || c.distance < TGI_TIE * scale;
  return 1;
}
