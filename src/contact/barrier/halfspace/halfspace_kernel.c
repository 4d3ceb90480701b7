// halfspace_kernel.c: see halfspace_wide.h. Compiled for every width of lanes.h.
//
// Down the tree level by level into lists of clusters, leaves and blends, each of which is then done one term a lane;
// blends end from the deepest level up, those of a level do not depend on each other. (42), (43)
#include <string.h>

#include "contact/barrier/halfspace/halfspace_wide.h"
#include "contact/barrier/pair/law_lanes.h"

// ---- rows of four numbers, one for each lane, to columns and back ----

#if TGI_WIDTH > 1
typedef double Row __attribute__((vector_size(32), aligned(8), may_alias));   // value, gradient in p
#endif

#if TGI_WIDTH == 8 && defined(__AVX512F__)
TGI_LANE V two(const double *a, const double *b) {
  return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(a)), _mm256_loadu_pd(b), 1);
}
TGI_LANE void columns(const double *const row[8], V c[4]) {
  V even[2] = {two(row[0], row[2]), two(row[4], row[6])}, odd[2] = {two(row[1], row[3]), two(row[5], row[7])};
  for (int half = 0; half < 2; half++) {
    __m512i pick = _mm512_add_epi64(_mm512_set_epi64(13, 12, 9, 8, 5, 4, 1, 0), _mm512_set1_epi64(2 * half));
    V a = _mm512_permutex2var_pd(even[0], pick, even[1]), b = _mm512_permutex2var_pd(odd[0], pick, odd[1]);
    c[2 * half] = _mm512_unpacklo_pd(a, b);
    c[2 * half + 1] = _mm512_unpackhi_pd(a, b);
  }
}
TGI_LANE void rows(const V c[4], Row r[8]) {
  for (int odd = 0; odd < 2; odd++) {
    V a = odd ? _mm512_unpackhi_pd(c[0], c[1]) : _mm512_unpacklo_pd(c[0], c[1]),
      b = odd ? _mm512_unpackhi_pd(c[2], c[3]) : _mm512_unpacklo_pd(c[2], c[3]);
    V low = _mm512_permutex2var_pd(a, _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), b);
    V high = _mm512_permutex2var_pd(a, _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4), b);
    r[odd] = _mm512_castpd512_pd256(low);
    r[2 + odd] = _mm512_extractf64x4_pd(low, 1);
    r[4 + odd] = _mm512_castpd512_pd256(high);
    r[6 + odd] = _mm512_extractf64x4_pd(high, 1);
  }
}
#elif TGI_WIDTH == 4 && defined(__AVX2__)
TGI_LANE void columns(const double *const row[4], V c[4]) {
  for (int l = 0; l < 4; l++) c[l] = v_load(row[l]);
  v_turn(c);
}
TGI_LANE void rows(const V c[4], Row r[4]) {
  V t[4] = {c[0], c[1], c[2], c[3]};
  v_turn(t);
  for (int l = 0; l < 4; l++) r[l] = t[l];
}
#else
TGI_LANE void columns(const tgReal *const row[TGI_WIDTH], V c[4]) {
  tgReal t[TGI_WIDTH];
  for (int i = 0; i < 4; i++) {
    for (int l = 0; l < TGI_WIDTH; l++) t[l] = row[l][i];
    c[i] = v_load(t);
  }
}
#if TGI_WIDTH > 1
TGI_LANE void rows(const V c[4], Row r[TGI_WIDTH]) {
  for (int l = 0; l < TGI_WIDTH; l++) r[l] = (Row){c[0][l], c[1][l], c[2][l], c[3][l]};
}
#endif
#endif

// ---- terms ----

// a point: its places along e1, e2 and n, its height
typedef struct Point { V a, b, c, z; } Point;

// frame on all lanes
typedef struct Frame { V axis[9], height; } Frame;

TGI_LANE Frame spread(const tgiHeightFrame *f) {
  Frame s;
  for (int i = 0; i < 9; i++) s.axis[i] = v_all(f->axis[i]);
  s.height = v_all(f->height);
  return s;
}

TGI_LANE Point point(const Frame *s, const V x[3]) {
  Point p = {v_dot(s->axis, x), v_dot(s->axis + 3, x), v_dot(s->axis + 6, x), v_all(0)};
  p.z = s->height + p.c;
  return p;
}

// the sums of halfspace_wide.h, by lane
typedef struct Sums { V second[6], slope[4]; } Sums;

// p k' + k p', and c1 (p, c)
TGI_LANE void add(Sums *s, const Point *p, const V k[3], V c1) {
  s->second[0] += 2.0 * k[0];
  s->second[1] += p->a * k[0] + k[1];
  s->second[2] += 2.0 * p->a * k[1];
  s->second[3] += p->b * k[0] + k[2];
  s->second[4] += p->b * k[1] + p->a * k[2];
  s->second[5] += 2.0 * p->b * k[2];
  s->slope[0] += c1;
  s->slope[1] += c1 * p->a;
  s->slope[2] += c1 * p->b;
  s->slope[3] += c1 * p->c;
}

// at most a vector of items; lanes beyond are copies of the last, without a share
typedef struct Lanes { tgiHeightItem at[TGI_WIDTH]; int count; V share, weight; } Lanes;

TGI_LANE void take(const tgiHeightFrame *f, const tgiHeightWork *w, const tgiHeightItem *list, int left, Lanes *t) {
  tgReal share[TGI_WIDTH], weight[TGI_WIDTH];
  t->count = left < TGI_WIDTH ? left : TGI_WIDTH;
  for (int l = 0; l < TGI_WIDTH; l++) {
    t->at[l] = list[l < t->count ? l : t->count - 1];
    share[l] = l < t->count ? w->inner[t->at[l].owner] : 0;
    weight[l] = f->A->node[(size_t)t->at[l].node * TGI_NODE_SIZE + TGI_NODE_W];
  }
  t->share = v_load(share);
  t->weight = v_load(weight);
}

TGI_LANE void centres(const tgiHeightFrame *f, const Frame *s, const tgiHeightItem at[TGI_WIDTH], Point *p, V *radius) {
  const tgReal *row[TGI_WIDTH];
  V c[4];
  for (int l = 0; l < TGI_WIDTH; l++) row[l] = f->A->node + (size_t)at[l].node * TGI_NODE_SIZE;
  columns(row, c);
  *p = point(s, c);
  *radius = c[TGI_NODE_R];
}

TGI_LANE void add_values(tgiHeightWork *w, const Lanes *t, const V c[4]) {
#if TGI_WIDTH == 1
  for (int i = 0; i < 4; i++) w->acc[t->at[0].owner][i] += c[i];
#else
  Row r[TGI_WIDTH];
  rows(c, r);
  for (int l = 0; l < t->count; l++) *(Row *)w->acc[t->at[l].owner] += r[l];
#endif
}

// forces N at the places `at`, z above the plane, across d
TGI_LANE void scatter(const tgiHeightFrame *f, const Lanes *t, V N, const V at[3], V z, V d) {
  if (f->scatter == NULL) return;
  for (int l = 0; l < t->count; l++) {
    tgiHeightForce force = {.node = t->at[l].node, .N = v_lane(N, l),
                            .at = {v_lane(at[0], l), v_lane(at[1], l), v_lane(at[2], l)}, .z = v_lane(z, l),
                            .d = v_lane(d, l)};
    f->scatter(f->ctx, &force);
  }
}

// (53)
TGI_LANE void law(const tgiHeightFrame *f, V weight, V z, V C[3]) {
  V i = 1.0 / z, r = (1 + f->more) * v_sqrt(i), wi = weight * i;
  C[0] = weight * (f->base + 24.0 * r + 12.0 * i);
  C[1] = -12.0 * wi * (r + i);
  C[2] = wi * i * (18.0 * r + 24.0 * i);
}

static void clusters(const tgiHeightFrame *f, const Frame *s, tgiHeightWork *w, Sums *sums, V *far) {
  for (int at = 0; at < w->nfar; at += TGI_WIDTH) {
    Lanes t;
    Point p;
    V radius, C[3], k[3];
    take(f, w, w->far + at, w->nfar - at, &t);
    centres(f, s, t.at, &p, &radius);
    law(f, t.weight, p.z, C);
    add_values(w, &t, (V[4]){C[0], C[1], C[1] * p.a, C[1] * p.b});
    k[0] = 0.5 * t.share * C[2];
    k[1] = k[0] * p.a;
    k[2] = k[0] * p.b;
    add(sums, &p, k, t.share * C[1]);
    scatter(f, &t, -t.share * C[1], (V[3]){p.a, p.b, p.c}, p.z, p.z);
    *far = v_min(*far, p.z);
  }
}

// Reciprocals of three lengths with one division.
TGI_LANE void reciprocals(const V x[3], V i[3]) {
  V xy = x[0] * x[1], all = 1.0 / (xy * x[2]), z = all * x[2];
  i[0] = z * x[1];
  i[1] = z * x[0];
  i[2] = all * xy;
}

// c of a triangle's corners, or of a segment's (pair.h)
typedef struct Times { double two, third; } Times;
static Times times_of(const tgiHeightFrame *f) { return f->A->surface->segment ? (Times){1.5, 0} : (Times){1, 1}; }
TGI_LANE V weighed(Times c, const V x[3]) { return c.two * (x[0] + x[1]) + c.third * x[2]; }

// rho(t) = (sum c_k (z_k - t)^-2)^-1/2 is concave and falls, so Newton on rho(t) = t/sqrt 3 comes down from the right of
// the root without passing it; it starts where the lowest vertex alone would put the plane. What is left of t
// depends on two ratios of the heights alone: at most 3.2e-8 t after two steps, 5.6e-17 t after three; imaginary
// parts follow a step later.
TGI_LANE V separating_height(const V z[3], Times c, V least) {
  #ifdef TG_COMPLEX
  enum { STEPS = 5 };
#else
  enum { STEPS = 3 };
#endif
  const double root = 1.7320508075688772, f = 1 / root;
  V t = least * (root / (sqrt(c.two) + root));
  for (int step = 0; step < STEPS; step++) {
    V d[3] = {z[0] - t, z[1] - t, z[2] - t}, i[3];
    reciprocals(d, i);
    V i2[3] = {i[0] * i[0], i[1] * i[1], i[2] * i[2]}, i3[3] = {i2[0] * i[0], i2[1] * i[1], i2[2] * i[2]};
    V y = weighed(c, i2), q = v_sqrt(y);
    t -= y * (f * t * q - 1.0) / (weighed(c, i3) + f * q * y);
  }
  return t;
}

// The first of the tree's order among the lanes that `which` names, unless `first`, a leaf or -1, is before it.
static int earlier(const tgiHeightFrame *f, const Lanes *t, unsigned which, int first) {
  const int *order = f->A->tree->first;
  for (int l = 0; l < t->count; l++)
    if ((which >> l & 1) != 0 && (first < 0 || order[t->at[l].node] < order[first])) first = t->at[l].node;
  return first;
}

// z: of the lowest point of the ball around a corner, of a core
TGI_LANE void corners(const tgiHeightFrame *f, const Frame *s, const tgiHeightItem at[TGI_WIDTH], Point p[3]) {
  tgReal x[9][TGI_WIDTH];
  for (int l = 0; l < TGI_WIDTH; l++) {
    const int *face = f->A->surface->face + 3 * (size_t)f->A->tree->tri[at[l].node];
    for (int i = 0; i < 9; i++) x[i][l] = f->A->vert[3 * (size_t)face[i / 3] + (size_t)(i % 3)];
  }
  for (int k = 0; k < 3; k++) {
    p[k] = point(s, (V[3]){v_load(x[3 * k]), v_load(x[3 * k + 1]), v_load(x[3 * k + 2])});
    p[k].z -= v_all(f->A->round);
  }
}

// y: weights of the corners; c1: slope in S of the total
TGI_LANE void scatter_triangles(const tgiHeightFrame *f, const Lanes *t, const Point p[3], const V y[3], V c1, V S) {
  V sum = y[0] + y[1] + y[2], at[3] = {v_all(0), v_all(0), v_all(0)}, z = v_all(0);
  if (f->scatter == NULL) return;
  for (int n = 0; n < 3; n++) {
    V part = y[n] / sum;
    at[0] += part * p[n].a;
    at[1] += part * p[n].b;
    at[2] += part * (p[n].c - f->A->round);
    z += part * p[n].z;
  }
  scatter(f, t, c1 * sum, at, z, 12.0 / S);
}

// of triangles at height t of their separating planes (52)
TGI_LANE void triangles(const tgiHeightFrame *f, tgiHeightWork *w, const Lanes *l, const Point p[3], V t, Sums *sums) {
  V d[3] = {p[0].z - t, p[1].z - t, p[2].z - t}, i[3], low = 1.0 / t;
  Times times = times_of(f);
  reciprocals(d, i);
  V S = 3.0 * low + weighed(times, i), y[3], r = (1 + f->more) * v_sqrt(12.0 * S), per = r / S, c1 = l->weight * (1.0 + per),
    c2 = -0.5 * l->weight * per / S;
  V g[3] = {v_all(0), v_all(0), v_all(0)}, C[3] = {v_all(0), v_all(0), v_all(0)}, k[3], share = l->share * c1;
  for (int n = 0; n < 3; n++) {
    y[n] = (n < 2 ? times.two : times.third) * (i[n] * i[n]);
    V c = 2.0 * y[n] * i[n], half = 0.5 * share * c;
    g[0] -= y[n];
    g[1] -= y[n] * p[n].a;
    g[2] -= y[n] * p[n].b;
    C[0] += c;
    C[1] += c * p[n].a;
    C[2] += c * p[n].b;
    add(sums, p + n, (V[3]){half, half * p[n].a, half * p[n].b}, -share * y[n]);
  }
  // c2 g g' - c1 C C'/(c_0 + sum c)
  V own = 6.0 * low * low * low, less = share / (own + C[0]), bend = l->share * c2;
  for (int n = 0, m = 0; n < 3; n++)
    for (int j = 0; j <= n; j++, m++) sums->second[m] += bend * g[n] * g[j] - less * C[n] * C[j];
  scatter_triangles(f, l, p, y, share, S);
  for (int n = 0; n < 3; n++) k[n] = c1 * g[n];
  add_values(w, l, (V[4]){l->weight * (f->base + S + 2.0 * r), k[0], k[1], k[2]});
}

// the first leaf that touches, -1: none
static int leaves(const tgiHeightFrame *f, const Frame *s, tgiHeightWork *w, Sums *sums, V *near) {
  int intersecting = -1;
  for (int at = 0; at < w->nleaf; at += TGI_WIDTH) {
    Lanes t;
    Point p[3];
    take(f, w, w->leaf + at, w->nleaf - at, &t);
    corners(f, s, t.at, p);
    V z[3] = {p[0].z, p[1].z, p[2].z}, least = v_min(v_min(z[0], z[1]), z[2]);
    Mask separated = m_and(v_less(v_all(0), z[0]), m_and(v_less(v_all(0), z[1]), v_less(v_all(0), z[2])));
    intersecting = earlier(f, &t, ~m_bits(separated), intersecting);
    if (intersecting >= 0) continue;
    triangles(f, w, &t, p, separating_height(z, times_of(f), least), sums);
    *near = v_min(*near, least);
  }
  return intersecting;
}

// ---- blends ----

// share of the cluster and its derivatives in the height
TGI_LANE void shares(double eps, V z, V radius, V phi[3]) {
  V i = 1.0 / (eps * radius);
  blend((z - radius) * i, phi);
  phi[1] *= i;
  phi[2] *= i * i;
}

// the blends from first on, up to but not `end`, all of one level
static void close_level(const tgiHeightFrame *f, const Frame *s, tgiHeightWork *w, int first, int end, Sums *sums) {
  for (int at = first; at < end; at += TGI_WIDTH) {
    Lanes t;
    Point p;
    const tgReal *row[TGI_WIDTH];
    V radius, C[3], A[4], k[3], phi[3];
    take(f, w, w->blend + at, end - at, &t);
    centres(f, s, t.at, &p, &radius);
    law(f, t.weight, p.z, C);
    shares(f->eps, p.z, radius, phi);
    for (int l = 0; l < TGI_WIDTH; l++) row[l] = w->acc[at + (l < t.count ? l : t.count - 1)];
    columns(row, A);
    V less = C[0] - A[0], c1 = phi[0] * C[1] + less * phi[1], c2 = phi[0] * C[2] + less * phi[2] + 2.0 * phi[1] * C[1], rest = 1.0 - phi[0];
    k[0] = t.share * (0.5 * c2 - phi[1] * A[1]);
    k[1] = t.share * (0.5 * c2 * p.a - phi[1] * A[2]);
    k[2] = t.share * (0.5 * c2 * p.b - phi[1] * A[3]);
    add(sums, &p, k, t.share * c1);
    scatter(f, &t, -t.share * c1, (V[3]){p.a, p.b, p.c}, p.z, p.z);
    add_values(w, &t, (V[4]){A[0] + phi[0] * less, rest * A[1] + c1, rest * A[2] + c1 * p.a, rest * A[3] + c1 * p.b});
  }
}

// ---- going down ----

// which of the nodes are clusters, which blends, and the share that these leave to what is below
TGI_LANE void sort(const tgiHeightFrame *f, const Frame *s, const tgiHeightItem at[TGI_WIDTH], unsigned *far,
                   unsigned *between, tgReal rest[TGI_WIDTH]) {
  Point p;
  V radius, phi[3];
  centres(f, s, at, &p, &radius);
  Mask near = v_less(p.z, radius + f->eps * radius);
  *far = f->brute ? 0 : ~m_bits(near);
  *between = f->brute ? 0 : m_bits(m_and(near, v_less(radius, p.z)));
  shares(f->eps, p.z, radius, phi);
  v_store(rest, 1.0 - phi[0]);
}

// Puts every node into its lists. All is written and what is due is counted, for no one could foresee the branches.
static long descend(const tgiHeightFrame *f, const Frame *s, tgiHeightWork *w) {
  const int *child = f->A->tree->child;
  int here = 1, far = 0, leaf = 0, blends = 1, level = 0;
  long visits = 0;
  w->next[0][0] = (tgiHeightItem){0, 0};
  for (; here > 0; level++) {
    const tgiHeightItem *from = w->next[level % 2];
    tgiHeightItem *to = w->next[1 - level % 2], at[TGI_WIDTH];
    int n = 0;
    w->level[level] = blends;
    visits += here;
    for (int k = 0; k < here; k += TGI_WIDTH) {
      unsigned beyond, between;
      tgReal rest[TGI_WIDTH];
      int count = here - k < TGI_WIDTH ? here - k : TGI_WIDTH;
      for (int l = 0; l < TGI_WIDTH; l++) at[l] = from[k + (l < count ? l : count - 1)];
      sort(f, s, at, &beyond, &between, rest);
      for (int l = 0; l < count; l++) {
        int below = child[2 * (size_t)at[l].node], down = (int)(~beyond >> l & 1), mixed = (int)(between >> l & 1);
        w->far[far] = w->blend[blends] = at[l];
        w->inner[blends] = w->inner[at[l].owner] * rest[l];
        far += !down;
        int owner = mixed ? blends : at[l].owner;
        blends += mixed;
        w->leaf[leaf] = (tgiHeightItem){at[l].node, owner};
        leaf += down & (below < 0);
        to[n] = (tgiHeightItem){below, owner};
        to[n + 1] = (tgiHeightItem){below + 1, owner};
        n += 2 * (down & (below >= 0));
      }
    }
    here = n;
  }
  w->level[level] = blends;
  w->nfar = far;
  w->nleaf = leaf;
  w->nblend = blends;
  w->nlevel = level;
  return visits;
}

// ---- all ----

TGI_LANE tgReal across(V x) {
  tgReal sum = 0;
  for (int l = 0; l < TGI_WIDTH; l++) sum += v_lane(x, l);
  return sum;
}

TGI_LANE double least_of(V x) {
  double least = INFINITY;
  for (int l = 0; l < TGI_WIDTH; l++) least = fmin(least, tgRe(v_lane(x, l)));
  return least;
}

void KERNEL(tgi_height_sum)(const tgiHeightFrame *f, tgiHeightWork *w, tgiHeightSum *sum) {
  Frame s = spread(f);
  Sums sums;
  V near = v_all(INFINITY), far = near;
  memset(&sums, 0, sizeof sums);
  sum->near = sum->far = INFINITY;
  w->inner[0] = 1;
  sum->visits = descend(f, &s, w);
  memset(w->acc, 0, (size_t)w->nblend * sizeof *w->acc);
  clusters(f, &s, w, &sums, &far);
  sum->intersecting = leaves(f, &s, w, &sums, &near);
  if (sum->intersecting >= 0) return;
  for (int k = w->nlevel; k-- > 0;) close_level(f, &s, w, w->level[k], w->level[k + 1], &sums);
  for (int i = 0; i < 4; i++) sum->value[i] = w->acc[0][i];
  for (int i = 0; i < 6; i++) sum->second[i] = across(sums.second[i]);
  for (int i = 0; i < 4; i++) sum->slope[i] = across(sums.slope[i]);
  sum->near = least_of(near);
  sum->far = least_of(far);
}
