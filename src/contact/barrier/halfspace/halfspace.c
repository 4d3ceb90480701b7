// halfspace.c: see halfspace.h.
#include "contact/barrier/halfspace/halfspace.h"

#include <string.h>

#include "contact/barrier/halfspace/halfspace_wide.h"
#include "contact/barrier/pair/height.h"
#include "contact/barrier/pair/law.h"
#include "contact/barrier/pair/plane.h"
#include "math/vec3.h"

// ---- numbers ----

static int farthest(const tgiTree *t, int k, const tgReal *vert, const tgReal *x) {
  double most = -1;
  int far = -1;
  for (int i = t->vert_adr[k]; i < t->vert_adr[k + 1]; i++) {
    tgReal d[3];
    tgi_v3_sub(d, vert + 3 * (size_t)t->vert[i], x);
    double r = tgRe(tgi_v3_dot(d, d));
    if (r > most) {
      most = r;
      far = t->vert[i];
    }
  }
  return far;
}

void tgi_plane_numbers(const tgiTree *t, const tgiTreeNumbers *n, tgiTreeNumbers *p) {
  p->vert = n->vert;
  p->area = n->area;
  p->round = n->round;
  for (size_t k = (size_t)t->nnode; k-- > 0;) {
    const int *c = t->child + 2 * k;
    tgReal *x = p->centre + 3 * k, d[3];
    if (c[0] < 0) tgi_v3_copy(x, n->centre + 3 * k);
    else
      for (int i = 0; i < 3; i++)
        x[i] = (n->area[c[0]] * p->centre[3 * (size_t)c[0] + (size_t)i] +
                n->area[c[1]] * p->centre[3 * (size_t)c[1] + (size_t)i]) / n->area[k];
    tgi_v3_sub(d, n->vert + 3 * (size_t)farthest(t, (int)k, n->vert, x), x);
    p->radius[k] = t->nnode > 1 ? tgi_v3_norm(d) + *n->round : n->radius[k];   // one leaf has the same centre, and may hold an ellipsoid
    p->weight[k] = n->area[k] / n->area[0];
    p->moment[k] = 0;
  }
}

void tgi_plane_numbers_d(const tgiTree *t, const tgiTreeNumbers *n, const tgiTreeNumbers *d, const tgiTreeNumbers *p, tgiTreeNumbers *dp) {
  dp->vert = d->vert;
  dp->area = d->area;
  dp->round = d->round;
  for (size_t k = (size_t)t->nnode; k-- > 0;) {
    const int *c = t->child + 2 * k;
    tgReal *dx = dp->centre + 3 * k, e[3], de[3];
    if (c[0] < 0) tgi_v3_copy(dx, d->centre + 3 * k);
    else
      for (size_t i = 0; i < 3; i++) {
        dx[i] = -d->area[k] * p->centre[3 * k + i];
        for (int j = 0; j < 2; j++) {
          size_t at = 3 * (size_t)c[j] + i;
          dx[i] += d->area[c[j]] * p->centre[at] + n->area[c[j]] * dp->centre[at];
        }
        dx[i] /= n->area[k];
      }
    size_t far = (size_t)farthest(t, (int)k, n->vert, p->centre + 3 * k);
    tgi_v3_sub(e, n->vert + 3 * far, p->centre + 3 * k);
    tgi_v3_sub(de, d->vert + 3 * far, dx);
    dp->radius[k] = t->nnode > 1 ? tgi_v3_dot(e, de) / (p->radius[k] - *n->round) + *d->round : d->radius[k];
    dp->weight[k] = (d->area[k] - p->weight[k] * d->area[0]) / n->area[0];
    dp->moment[k] = 0;
  }
}

// ---- memory ----

static void place(tgLayout *l, int faces, tgiHeightWork *w) {
  size_t n = (size_t)faces;   // one place more each, which writing before counting needs
  for (int i = 0; i < 2; i++) w->next[i] = tgi_place(l, n + 2, sizeof *w->next[i]);
  w->far = tgi_place(l, n + 1, sizeof *w->far);
  w->leaf = tgi_place(l, n + 1, sizeof *w->leaf);
  w->blend = tgi_place(l, 2 * n + 1, sizeof *w->blend);
  w->inner = tgi_place(l, 2 * n + 1, sizeof *w->inner);
  w->acc = tgi_place(l, 2 * n + 1, sizeof *w->acc);
  w->level = tgi_place(l, n + 2, sizeof *w->level);
  w->value_bar = tgi_place(l, 2 * n + 1, sizeof *w->value_bar);
  w->share_bar = tgi_place(l, 2 * n + 1, sizeof *w->share_bar);
}

size_t tgi_height_work_bytes(int faces) {
  tgLayout l = {.base = NULL};
  tgiHeightWork w;
  tgi_place(&l, 1, sizeof w);
  place(&l, faces, &w);
  return l.used;
}

tgiHeightWork *tgi_height_work_place(void *memory, int faces) {
  tgLayout l = {.base = memory};
  tgiHeightWork *w = tgi_place(&l, 1, sizeof *w);
  memset(w, 0, sizeof *w);
  place(&l, faces, w);
  return w;
}

// ---- the sum ----

// a half-space and the axes of its kernel
typedef struct Receiver { const tgiHalfSpace *t; const tgReal *axis; } Receiver;

static void scatter(void *ctx, const tgiHeightForce *f) {
  const Receiver *r = ctx;
  const tgiHalfSpace *t = r->t;
  tgReal a[3], b[3], F[3];
  for (int i = 0; i < 3; i++) a[i] = f->at[0] * r->axis[i] + f->at[1] * r->axis[3 + i] + f->at[2] * r->axis[6 + i];
  tgi_v3_copy(b, a);
  tgi_v3_axpy(b, -f->z, t->n);
  tgi_v3_scale(F, t->n, f->N * t->scatter->mu);
  tgi_scatter(t->scatter, t->A, f->node, F, a, b, f->d);
}

// sum c2 v v' + c1 G of the terms, v = (-a e2 + b e1; n)
static void second_derivatives(const tgReal axis[9], const tgiHeightSum *sum, tgReal H[21]) {
  const tgReal *e1 = axis, *e2 = axis + 3, *n = axis + 6, *s = sum->second, *c1 = sum->slope;
  tgReal x[3], u[3];
  for (int i = 0; i < 3; i++) {
    x[i] = c1[1] * e1[i] + c1[2] * e2[i] + c1[3] * n[i];
    u[i] = s[3] * e1[i] - s[1] * e2[i];
  }
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j <= i; j++) {
      H[TGI_LOWER(i, j)] = s[2] * e2[i] * e2[j] - s[4] * (e1[i] * e2[j] + e2[i] * e1[j]) + s[5] * e1[i] * e1[j];
      H[TGI_LOWER(i, j)] += 0.5 * (x[i] * n[j] + n[i] * x[j]) - (i == j ? c1[3] : 0);
      H[TGI_LOWER(3 + i, 3 + j)] = s[0] * n[i] * n[j];
    }
    for (int j = 0; j < 3; j++) H[TGI_LOWER(3 + i, j)] = n[i] * u[j];
  }
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;   // as in tgi_height
    H[TGI_LOWER(3 + k, j)] += 0.5 * c1[0] * n[i];
    H[TGI_LOWER(3 + j, k)] -= 0.5 * c1[0] * n[i];
  }
}

static tgiHeightFrame frame_of(const tgiHalfSpace *t) {
  tgiHeightFrame f = {.A = t->A, .height = t->height, .eps = t->law->eps, .base = t->law->base, .more = t->law->more,
                      .brute = t->law->brute};
  tgReal tangent[2][3];
  tgi_plane_tangents(t->n, tangent);
  tgi_v3_copy(f.axis, tangent[0]);
  tgi_v3_cross(f.axis + 3, t->n, f.axis);
  tgi_v3_copy(f.axis + 6, t->n);
  return f;
}

// A; of an ellipsoid with its point with the plane's normal in place of its centre
static const tgiWorldTree *lowered(const tgiHalfSpace *t, tgReal axes[9], tgReal lowest[3], tgiWorldTree *moved) {
  if (!t->A->surface->oval) return t->A;
  *moved = *t->A;
  tgi_world_axes(moved->vert, axes);
  tgi_oval_point(axes, t->n, lowest);
  tgi_v3_sub(lowest, moved->vert, lowest);
  moved->vert = lowest;
  return moved;
}

static const tgReal *corner(const tgiWorldTree *A, int node, int k) {
  return A->vert + 3 * (size_t)A->surface->face[3 * (size_t)A->tree->tri[node] + (size_t)k];
}

static tgReal weight_of(const tgiWorldTree *A, int node) { return A->node[(size_t)node * TGI_NODE_SIZE + TGI_NODE_W]; }

// by the lowest of their corners, as far as it may be from the plane
static void note_hard(const tgiWorldTree *A, const tgiHalfSpace *t) {
  const tgiHeightWork *w = t->work;
  for (int i = 0; i < w->nleaf; i++) {
    int node = w->leaf[i].node;
    tgReal low = INFINITY;
    for (int k = 0; k < 3; k++) {
      tgReal z = t->height + tgi_v3_dot(t->n, corner(A, node, k)) - A->round;
      if (tgRe(z) < tgRe(low)) low = z;
    }
    const tgReal share = w->inner[w->leaf[i].owner], S = 12 / low;
    const double growth = tgi_hard_growth(t->log, share, weight_of(A, node), S);
    if (!tgi_hard_wanted(t->log, growth)) continue;
    tgi_hard_note(t->log, &(tgiHardLeaf){.a = node, .gap = (float)tgRe(low), .growth = growth, .share = share});
  }
}

// one triangle: its value of S* with derivatives, f those of the law in S*
static void add_heights(const tgiHeightPair *r, const tgReal f[3], tgReal share, tgReal v[3][6], tgReal G[3][21], tgiPairSum *sum) {
  tgReal slope[6] = {0};
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 6; i++) slope[i] += r->d[k] * v[k][i];
  sum->P += share * f[0];
  for (int i = 0; i < 6; i++) sum->g[i] += share * f[1] * slope[i];
  tgi_sum_add(sum->H, share * f[2], slope, 0, G[0]);
  for (int k = 0; k < 3; k++) {
    tgReal row[6] = {0};
    for (int l = 0; l < 3; l++)
      for (int i = 0; i < 6; i++) row[i] += r->D[3 * k + l] * v[l][i];
    for (int i = 0, n = 0; i < 6; i++)
      for (int j = 0; j <= i; j++, n++) sum->H[n] += share * f[1] * (v[k][i] * row[j] + r->d[k] * G[k][n]);
  }
}

bool tgi_half_space_hard(const tgiHalfSpace *t, tgiPairSum *sum) {
  tgiWorldTree moved;
  tgReal axes[9], lowest[3];
  const tgiWorldTree *A = lowered(t, axes, lowest, &moved);
  memset(sum, 0, sizeof *sum);
  for (int i = 0; i < t->hard->n; i++) {
    const tgiHardLeaf *leaf = &t->hard->at[i];
    tgReal v[3][6], G[3][21], z[3], f[3];
    tgiHeightPair r;
    for (int k = 0; k < 3; k++) z[k] = t->height - A->round + tgi_height(t->n, corner(A, leaf->a, k), v[k], G[k]);
    if (!tgi_height_pair(z, A->surface->segment, &r)) return false;
    tgi_law_pair(weight_of(A, leaf->a), t->law->base, t->law->more, r.S, f);
    add_heights(&r, f, leaf->share, v, G, sum);
    if (A->surface->oval) tgi_oval_turn(axes, t->n, leaf->share * f[1] * (r.d[0] + r.d[1] + r.d[2]), sum->H);
  }
  return true;
}

bool tgi_half_space_on(int isa, const tgiHalfSpace *t, tgiPairSum *sum, int *intersecting, tgiClearance *clear, tgiTreeCount *count) {
  tgiHeightFrame f = frame_of(t);
  tgiHeightWork *w = t->work;
  tgiWorldTree moved;
  tgReal axes[9], lowest[3];
  f.A = lowered(t, axes, lowest, &moved);
  tgiHeightSum s;
  double share = t->law->eps / (1 + t->law->eps);   // beyond d2 = (1 + eps) R a cluster's surface is eps R high at least
  Receiver receiver = {.t = t, .axis = f.axis};
  if (t->scatter != NULL) f.scatter = scatter, f.ctx = &receiver;
  TGI_ISA_CALL(isa, tgi_height_sum, (&f, w, &s));
  if (count != NULL) *count = (tgiTreeCount){.visits = s.visits, .leaves = w->nleaf, .clusters = w->nfar, .blends = w->nblend - 1};
  if (clear != NULL) *clear = (tgiClearance){.all = fmin(s.near, s.far * share), .solved = s.near};
  if (s.intersecting >= 0) {
    *intersecting = t->A->tree->tri[s.intersecting];
    return false;
  }
  sum->P = s.value[0];
  for (int i = 0; i < 3; i++) {
    sum->g[i] = s.value[3] * f.axis[i] - s.value[2] * f.axis[3 + i];
    sum->g[3 + i] = s.value[1] * t->n[i];
  }
  second_derivatives(f.axis, &s, sum->H);
  if (t->A->surface->oval) tgi_oval_turn(axes, t->n, s.slope[0], sum->H);
  if (t->reverse != NULL) tgi_height_reverse(&f, w, t->reverse);
  if (t->log != NULL) note_hard(f.A, t);
  return true;
}

bool tgi_half_space(const tgiHalfSpace *t, tgiPairSum *sum, int *intersecting, tgiClearance *clear, tgiTreeCount *count) {
  return tgi_half_space_on(tgi_isa(), t, sum, intersecting, clear, count);
}
