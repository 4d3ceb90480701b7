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
  for (size_t k = (size_t)t->nnode; k-- > 0;) {
    const int *c = t->child + 2 * k;
    tgReal *x = p->centre + 3 * k, d[3];
    if (c[0] < 0) tgi_v3_copy(x, n->centre + 3 * k);
    else
      for (int i = 0; i < 3; i++)
        x[i] = (n->area[c[0]] * p->centre[3 * (size_t)c[0] + (size_t)i] + n->area[c[1]] * p->centre[3 * (size_t)c[1] + (size_t)i]) / n->area[k];
    tgi_v3_sub(d, n->vert + 3 * (size_t)farthest(t, (int)k, n->vert, x), x);
    p->radius[k] = tgi_v3_norm(d);
    p->weight[k] = n->area[k] / n->area[0];
    p->moment[k] = 0;
  }
}

void tgi_plane_numbers_d(const tgiTree *t, const tgiTreeNumbers *n, const tgiTreeNumbers *d, const tgiTreeNumbers *p, tgiTreeNumbers *dp) {
  dp->vert = d->vert;
  dp->area = d->area;
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
    dp->radius[k] = tgi_v3_dot(e, de) / p->radius[k];
    dp->weight[k] = (d->area[k] - p->weight[k] * d->area[0]) / n->area[0];
    dp->moment[k] = 0;
  }
}

// ---- the tree ----

typedef struct Run {
  const tgiWorldTree *A;
  const tgiTreeLaw *law;
  const tgReal *n;
  const tgiForceScatter *scatter;
  tgiForceReverse *reverse;
  tgReal height, H[21];
  bool wide;          // by halfspace_wide.h where it can be, with
  int isa;
  tgiHeightFrame frame;
  tgiHeightSum sum;
  int intersecting;
  double near, far;   // least height of the vertices looked at, of the clusters
  tgiTreeCount count;
} Run;

// Of the terms under a node: value and gradient, and in the reverse pass what T weighs their share by. Of what is above: the share of the total,
// and in the reverse pass what T weighs the value by (74).
enum { SHARE_BAR = 7, OUT = 8 };
typedef struct Above { tgReal share, value_bar; } Above;

// height of the point x and its derivatives in the twist
static tgReal height_of(const Run *r, const tgReal x[3], tgReal v[6], tgReal G[21]) { return r->height + tgi_height(r->n, x, v, G); }

// ---- forces ----

static void foot(const Run *r, const tgReal a[3], tgReal z, tgReal b[3]) {
  tgi_v3_copy(b, a);
  tgi_v3_axpy(b, -z, r->n);
}

// force of size N on node k at a, z above the plane, across d
static void scatter(const Run *r, int k, tgReal N, const tgReal a[3], tgReal z, tgReal d) {
  tgReal F[3], b[3];
  if (r->scatter == NULL) return;
  tgi_v3_scale(F, r->n, N * r->scatter->mu);
  foot(r, a, z, b);
  tgi_scatter(r->scatter, r->A, k, F, a, b, d);
}

static tgiForceWeight weigh(const Run *r, int k, const tgReal a[3], tgReal z, tgReal d) {
  tgReal b[3];
  foot(r, a, z, b);
  return tgi_reverse_weigh(r->reverse, tgi_reverse_patch(r->reverse, k), r->n, a, b, d);
}

// what a force weighs its point a by, of one that stands with its foot on the plane
static void by_place(const Run *r, const tgiForceWeight *q, tgReal N, tgReal f[3]) {
  tgReal up = tgi_v3_dot(r->n, q->of->b);
  for (int i = 0; i < 3; i++) f[i] = N * (q->of->a[i] + q->of->b[i] - up * r->n[i]);
}

// of a node whose value has the slopes c1, c2 in its height z, and of which T has the slope `other` besides
static void reverse_node(Run *r, int k, Above up, const tgiForceWeight *q, tgReal c1, tgReal c2, tgReal other, tgReal out[OUT]) {
  const tgReal *x = r->A->node + (size_t)k * TGI_NODE_SIZE;
  tgReal per = -r->reverse->mu, N = per * up.share * c1, f[3];
  by_place(r, q, N, f);
  tgi_v3_axpy(f, up.value_bar * c1 + other + q->q * per * up.share * c2 + N * q->d, r->n);
  tgi_reverse_at(r->reverse, x, f);
  out[SHARE_BAR] += q->q * per * c1;
}

// of triangle k with the corners x at the heights z, the value f in S
static void force_of_triangle(Run *r, int k, Above up, const tgReal *x[3], const tgReal z[3], const tgiHeightPair *p, const tgReal f[3], tgReal out[OUT]) {
  tgReal a[3] = {0}, za = 0, Y = -(p->d[0] + p->d[1] + p->d[2]), d = 12 / p->S, g[3], bar[3];
  for (int i = 0; i < 3; i++) {
    tgi_v3_axpy(a, -p->d[i] / Y, x[i]);
    za -= p->d[i] / Y * z[i];
  }
  scatter(r, k, up.share * f[1] * Y, a, za, d);
  if (r->reverse == NULL) return;
  tgiForceWeight q = weigh(r, k, a, za, d);
  tgReal per = r->reverse->mu, N = per * up.share * f[1] * Y, slope = up.value_bar * f[1] + q.q * per * up.share * f[2] * Y - N * q.d * d / p->S;
  by_place(r, &q, N, g);
  // of -d_i, which N and a are made of
  for (int i = 0; i < 3; i++) bar[i] = q.q * per * up.share * f[1] + (tgi_v3_dot(g, x[i]) - tgi_v3_dot(g, a)) / Y;
  for (int i = 0; i < 3; i++) {
    tgReal along = slope * p->d[i], w[3];
    for (int l = 0; l < 3; l++) along -= bar[l] * p->D[3 * l + i];
    tgi_v3_scale(w, g, -p->d[i] / Y);
    tgi_v3_axpy(w, along, r->n);
    tgi_reverse_at(r->reverse, x[i], w);
  }
  out[SHARE_BAR] += q.q * per * f[1] * Y;
}

static bool leaf(Run *r, int k, Above up, tgReal out[OUT]) {
  const int *face = r->A->surface->face + 3 * (size_t)r->A->tree->tri[k];
  const tgReal *x[3];
  tgReal z[3], v[3][6], G[3][21], S1[6] = {0}, S2[21] = {0}, f[3];
  tgiHeightPair p;
  for (int i = 0; i < 3; i++) {
    x[i] = r->A->vert + 3 * (size_t)face[i];
    z[i] = height_of(r, x[i], v[i], G[i]);
  }
  r->count.leaves++;
  if (!tgi_height_pair(z, &p)) {
    r->intersecting = r->A->tree->tri[k];
    return false;
  }
  for (int i = 0; i < 3; i++) {
    r->near = fmin(r->near, tgRe(z[i]));
    for (int j = 0; j < 6; j++) S1[j] += p.d[i] * v[i][j];
    tgi_sum_add(S2, p.D[4 * i], v[i], p.d[i], G[i]);
    for (int l = 0; l < i; l++)
      for (int j = 0, m = 0; j < 6; j++)
        for (int o = 0; o <= j; o++, m++) S2[m] += p.D[3 * i + l] * (v[i][j] * v[l][o] + v[l][j] * v[i][o]);
  }
  tgi_law_pair(r->A->node[(size_t)k * TGI_NODE_SIZE + TGI_NODE_W], r->law->base, p.S, f);
  out[0] += f[0];
  for (int j = 0; j < 6; j++) out[1 + j] += f[1] * S1[j];
  tgi_sum_add(r->H, up.share * f[2], S1, up.share * f[1], S2);
  if (r->scatter != NULL || r->reverse != NULL) force_of_triangle(r, k, up, x, z, &p, f, out);
  return true;
}

static bool node(Run *r, int k, Above up, tgReal out[OUT]);

static bool children(Run *r, int k, Above up, tgReal out[OUT]) {
  const int *c = r->A->tree->child + 2 * (size_t)k;
  return node(r, c[0], up, out) && node(r, c[1], up, out);
}

static bool below(Run *r, int k, Above up, tgReal out[OUT]) {
  return r->A->tree->tri[k] >= 0 ? leaf(r, k, up, out) : children(r, k, up, out);
}

// a node as a cluster: place, height and its derivatives, value
typedef struct Height { const tgReal *x; tgReal z, v[6], G[21], f[3]; } Height;

// (43) with the height as coordinate
static bool blended(Run *r, int k, Above up, const Height *h, const tgReal phi[3], tgReal out[OUT]) {
  tgReal A[OUT] = {0};
  Above under = {.share = up.share * (1 - phi[0])};
  tgiForceWeight q = {.q = 0};
  r->count.blends++;
  if (r->reverse != NULL) {
    q = weigh(r, k, h->x, h->z, h->z);
    under.value_bar = up.value_bar * (1 - phi[0]) + q.q * r->reverse->mu * up.share * phi[1];
  }
  if (!below(r, k, under, A)) return false;
  tgReal less = h->f[0] - A[0], c1 = phi[0] * h->f[1] + less * phi[1], c2 = phi[0] * h->f[2] + less * phi[2] + 2 * phi[1] * h->f[1];
  tgi_sum_add(r->H, up.share * c2, h->v, up.share * c1, h->G);
  for (int i = 0, m = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, m++) r->H[m] -= up.share * phi[1] * (h->v[i] * A[1 + j] + A[1 + i] * h->v[j]);
  out[0] += A[0] + phi[0] * less;
  for (int j = 0; j < 6; j++) out[1 + j] += (1 - phi[0]) * A[1 + j] + c1 * h->v[j];
  scatter(r, k, -up.share * c1, h->x, h->z, h->z);
  if (r->reverse == NULL) return true;
  reverse_node(r, k, up, &q, c1, c2, -up.share * A[SHARE_BAR] * phi[1], out);
  out[SHARE_BAR] += (1 - phi[0]) * A[SHARE_BAR];
  return true;
}

// ---- on vectors ----

#if !defined(TG_COMPLEX)

// adds all under node k to out; second derivatives gather in r->sum
static bool node_wide(Run *r, int k, Above up, tgReal out[OUT]) {
  const tgReal *axis = r->frame.axis, *value = r->sum.value;
  TGI_ISA_CALL(r->isa, tgi_height_sum, (&r->frame, k, up.share, &r->sum));
  if (r->sum.intersecting >= 0) {
    r->intersecting = r->A->tree->tri[r->sum.intersecting];
    return false;
  }
  out[0] += value[0];
  for (int i = 0; i < 3; i++) {
    out[1 + i] += value[3] * axis[i] - value[2] * axis[3 + i];
    out[4 + i] += value[1] * axis[6 + i];
  }
  return true;
}

#endif

static void scatter_local(void *ctx, const tgiHeightForce *f) {
  const Run *r = ctx;
  const tgReal *axis = r->frame.axis;
  tgReal a[3];
  for (int i = 0; i < 3; i++) a[i] = f->at[0] * axis[i] + f->at[1] * axis[3 + i] + f->at[2] * axis[6 + i];
  scatter(r, f->node, f->N, a, f->z, f->d);
}

static void open_wide(Run *r) {
  tgReal t[2][3], *axis = r->frame.axis;
  if (!r->wide) return;
  r->frame = (tgiHeightFrame){.A = r->A, .height = r->height, .eps = r->law->eps, .base = r->law->base, .brute = r->law->brute};
  if (r->scatter != NULL) r->frame.scatter = scatter_local, r->frame.ctx = r;
  tgi_plane_tangents(r->n, t);
  tgi_v3_copy(axis, t[0]);
  tgi_v3_cross(axis + 3, r->n, axis);
  tgi_v3_copy(axis + 6, r->n);
}

// H += sum c2 v v' + c1 G of the terms that are in r->sum, v = (-a e2 + b e1; n)
static void close_wide(Run *r) {
  const tgReal *e1 = r->frame.axis, *e2 = e1 + 3, *n = e1 + 6, *s = r->sum.second, *c1 = r->sum.slope;
  tgReal x[3], u[3];
  if (!r->wide) return;
  for (int i = 0; i < 3; i++) {
    x[i] = c1[1] * e1[i] + c1[2] * e2[i] + c1[3] * n[i];
    u[i] = s[3] * e1[i] - s[1] * e2[i];
  }
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j <= i; j++) {
      r->H[TGI_LOWER(i, j)] += s[2] * e2[i] * e2[j] - s[4] * (e1[i] * e2[j] + e2[i] * e1[j]) + s[5] * e1[i] * e1[j];
      r->H[TGI_LOWER(i, j)] += 0.5 * (x[i] * n[j] + n[i] * x[j]) - (i == j ? c1[3] : 0);
      r->H[TGI_LOWER(3 + i, 3 + j)] += s[0] * n[i] * n[j];
    }
    for (int j = 0; j < 3; j++) r->H[TGI_LOWER(3 + i, j)] += n[i] * u[j];
    int j = (i + 1) % 3, k = (i + 2) % 3;   // as in tgi_height
    r->H[TGI_LOWER(3 + k, j)] += 0.5 * c1[0] * n[i];
    r->H[TGI_LOWER(3 + j, k)] -= 0.5 * c1[0] * n[i];
  }
  r->near = fmin(r->near, r->sum.near);
  r->far = fmin(r->far, r->sum.far);
  r->count.visits += r->sum.visits;
  r->count.leaves += r->sum.leaves;
  r->count.clusters += r->sum.clusters;
  r->count.blends += r->sum.blends;
}

// ---- a node ----

// adds node k to out; its second derivatives go to H with its share (42)
static bool node(Run *r, int k, Above up, tgReal out[OUT]) {
#if !defined(TG_COMPLEX)
  if (r->wide && r->A->tree->count[k] <= TGI_HEIGHT_FACES) return node_wide(r, k, up, out);
#endif
  Height h = {.x = r->A->node + (size_t)k * TGI_NODE_SIZE};
  tgReal phi[3], radius = h.x[TGI_NODE_R], width = r->law->eps * radius;
  h.z = height_of(r, h.x, h.v, h.G);
  r->count.visits++;
  if (r->law->brute || tgRe(h.z) <= tgRe(radius)) return below(r, k, up, out);
  tgi_law_height(h.x[TGI_NODE_W], r->law->base, h.z, h.f);
  if (tgRe(h.z) < tgRe(radius + width)) {
    tgi_law_blend((h.z - radius) / width, phi);
    phi[1] /= width;
    phi[2] /= width * width;
    return blended(r, k, up, &h, phi, out);
  }
  r->count.clusters++;
  r->far = fmin(r->far, tgRe(h.z));
  out[0] += h.f[0];
  for (int j = 0; j < 6; j++) out[1 + j] += h.f[1] * h.v[j];
  tgi_sum_add(r->H, up.share * h.f[2], h.v, up.share * h.f[1], h.G);
  scatter(r, k, -up.share * h.f[1], h.x, h.z, h.z);
  if (r->reverse == NULL) return true;
  tgiForceWeight q = weigh(r, k, h.x, h.z, h.z);
  reverse_node(r, k, up, &q, h.f[1], h.f[2], 0, out);
  return true;
}

static bool run(Run *r, tgiPairSum *sum, int *intersecting, tgiClearance *clear, tgiTreeCount *count) {
  tgReal out[OUT] = {0};
  r->near = r->far = r->sum.near = r->sum.far = INFINITY;
  open_wide(r);
  bool separated = node(r, 0, (Above){.share = 1}, out);
  close_wide(r);
  if (count != NULL) *count = r->count;
  if (clear != NULL) *clear = (tgiClearance){.all = fmin(r->near, r->far * r->law->eps / (1 + r->law->eps)), .solved = r->near};
  *intersecting = r->intersecting;
  if (!separated) return false;
  sum->P = out[0];
  memcpy(sum->g, out + 1, sizeof sum->g);
  memcpy(sum->H, r->H, sizeof sum->H);
  return true;
}

static bool sums_wide(void) {
#if defined(TG_COMPLEX)
  return false;
#else
  return true;
#endif
}

bool tgi_half_space_on(int isa, const tgiWorldTree *A, const tgReal n[3], tgReal height, const tgiTreeLaw *law, const tgiForceScatter *scatter, tgiPairSum *sum,
                       int *intersecting, tgiClearance *clear, tgiTreeCount *count) {
  Run r = {.A = A, .law = law, .n = n, .scatter = scatter, .height = height, .wide = sums_wide() && isa >= 0, .isa = isa};
  return run(&r, sum, intersecting, clear, count);
}

bool tgi_half_space_forces(const tgiWorldTree *A, const tgReal n[3], tgReal height, const tgiTreeLaw *law, const tgiForceScatter *scatter, tgiForceReverse *reverse,
                           tgiPairSum *sum, int *intersecting, tgiClearance *clear, tgiTreeCount *count) {
  if (reverse == NULL) return tgi_half_space_on(tgi_isa(), A, n, height, law, scatter, sum, intersecting, clear, count);
  Run r = {.A = A, .law = law, .n = n, .scatter = scatter, .reverse = reverse, .height = height};
  return run(&r, sum, intersecting, clear, count);
}

bool tgi_half_space(const tgiWorldTree *A, const tgReal n[3], tgReal height, const tgiTreeLaw *law, tgiPairSum *sum, int *intersecting, tgiClearance *clear,
                    tgiTreeCount *count) {
  return tgi_half_space_on(tgi_isa(), A, n, height, law, NULL, sum, intersecting, clear, count);
}
