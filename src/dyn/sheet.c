// sheet.c: see sheet.h.
#include "dyn/sheet.h"

#include "math/spatial.h"

bool tgi_has_sheet(const tgModel *m) {
  for (int f = 0; f < m->nflex; f++)
    if (m->flex_stretch[f] || m->flex_bend[f]) return true;
  return false;
}

static void place_vertices(const tgSim *s, const tgPose *pose, tgiPatch *k) {
  const tgModel *m = &s->m;
  for (int i = 0; i < k->n; i++) {
    int b = m->flex_vertbody[k->vert[i]];
    tgReal *x = k->x + 3 * i;
    tgi_m3_mulv(x, pose->xmat + 9 * b, m->flex_vertpos + 3 * k->vert[i]);
    tgi_v3_add(x, x, pose->xpos + 3 * b);
    tgi_sp_point_velocity(k->v + 3 * i, pose->V + 6 * b, x);
  }
}

static void side(const tgReal *x, int i, tgReal *r) { tgi_v3_sub(r, x + 3 * i, x); }

static void rest_side(const tgModel *m, const tgiPatch *k, int i, tgReal *r) {
  tgi_v3_sub(r, m->flex_rest + 3 * k->vert[i], m->flex_rest + 3 * k->vert[0]);
}

// x_i of the patch += r, that of vertex 0 -= r: what a side's gradient is for its ends
static void add_side(tgReal *g, int i, const tgReal *r) {
  tgi_v3_add(g + 3 * i, g + 3 * i, r);
  tgi_v3_sub(g, g, r);
}

// ---- triangles ----

// tr(G^-1 E) of E = (e11, e22, e12)
static tgReal trace(const tgiTriangle *t, const tgReal *e) { return t->p * e[0] + t->r * e[1] + 2 * t->q * e[2]; }

// tr(G^-1 E G^-1 D)
static tgReal product(const tgiTriangle *t, const tgReal *e, const tgReal *d) {
  tgReal p = t->p, q = t->q, r = t->r;
  return p * p * e[0] * d[0] + r * r * e[1] * d[1] + q * q * (e[0] * d[1] + e[1] * d[0]) + 2 * p * q * (e[0] * d[2] + e[2] * d[0]) +
         2 * q * r * (e[1] * d[2] + e[2] * d[1]) + 2 * (p * r + q * q) * e[2] * d[2];
}

// e . H d, of unit modulus
static tgReal form(const tgiTriangle *t, const tgReal *e, const tgReal *d) {
  return t->scale * (t->nu * trace(t, e) * trace(t, d) + (1 - t->nu) * product(t, e, d));
}

static void metric(const tgModel *m, const tgiPatch *k, tgiTriangle *t) {
  int f = k->flex;
  rest_side(m, k, 1, t->A);
  rest_side(m, k, 2, t->B);
  t->G[0] = tgi_v3_dot(t->A, t->A);
  t->G[1] = tgi_v3_dot(t->B, t->B);
  t->G[2] = tgi_v3_dot(t->A, t->B);
  t->det = t->G[0] * t->G[1] - t->G[2] * t->G[2];
  t->p = t->G[1] / t->det;
  t->r = t->G[0] / t->det;
  t->q = -t->G[2] / t->det;
  t->nu = m->flex_poisson[f];
  t->scale = tgSqrt(t->det) / 2 * m->flex_thickness[f] / (1 - t->nu * t->nu);
  t->young = m->flex_young[f];
  for (int i = 0; i < 3; i++)
    for (int c = 0; c <= i; c++)
      t->H[3 * i + c] = t->H[3 * c + i] = t->young * form(t, (tgReal[3]){i == 0, i == 1, i == 2}, (tgReal[3]){c == 0, c == 1, c == 2});
}


// how the strain grows as the sides a, b move by da, db
static void growth(const tgReal *a, const tgReal *b, const tgReal *da, const tgReal *db, tgReal *e) {
  e[0] = tgi_v3_dot(a, da);
  e[1] = tgi_v3_dot(b, db);
  e[2] = (tgi_v3_dot(a, db) + tgi_v3_dot(b, da)) / 2;
}

// the transpose of that in da and db: added to what vertices get
static void add_growth(const tgReal *a, const tgReal *b, const tgReal *s, tgReal by, tgReal *g) {
  tgReal da[3], db[3];
  for (int i = 0; i < 3; i++) {
    da[i] = by * (s[0] * a[i] + s[2] * b[i] / 2);
    db[i] = by * (s[1] * b[i] + s[2] * a[i] / 2);
  }
  add_side(g, 1, da);
  add_side(g, 2, db);
}

static void strain(const tgModel *m, const tgiPatch *k, tgiTriangle *n) {
  side(k->x, 1, n->a);
  side(k->x, 2, n->b);
  side(k->v, 1, n->da);
  side(k->v, 2, n->db);
  growth(n->a, n->b, n->a, n->b, n->e);
  growth(n->a, n->b, n->da, n->db, n->rate);
  for (int i = 0; i < 3; i++) {
    n->e[i] = (n->e[i] - n->G[i]) / 2;
    n->sum[i] = n->e[i] + m->flex_damping[k->flex] * n->rate[i];
  }
  tgi_m3_mulv(n->s, n->H, n->sum);
}

static void triangle_force(const tgiPatch *k, tgReal *f) {
  const tgiTriangle *t = &k->is.triangle;
  for (int i = 0; i < 9; i++) f[i] = 0;
  add_growth(t->a, t->b, t->s, -1, f);
}

// The gradient of e . H d in G, of which H is made; of unit modulus.
static void form_by_rest(const tgiTriangle *t, const tgReal *e, const tgReal *d, tgReal *gG) {
  tgReal p = t->p, q = t->q, r = t->r, nu = t->nu, te = trace(t, e), td = trace(t, d), phi = form(t, e, d);
  tgReal d01 = e[0] * d[1] + e[1] * d[0], d02 = e[0] * d[2] + e[2] * d[0], d12 = e[1] * d[2] + e[2] * d[1];
  tgReal gp = nu * (e[0] * td + te * d[0]) + (1 - nu) * 2 * (p * e[0] * d[0] + q * d02 + r * e[2] * d[2]);
  tgReal gr = nu * (e[1] * td + te * d[1]) + (1 - nu) * 2 * (r * e[1] * d[1] + q * d12 + p * e[2] * d[2]);
  tgReal gq = 2 * nu * (e[2] * td + te * d[2]) + (1 - nu) * 2 * (q * d01 + p * d02 + r * d12 + 2 * q * e[2] * d[2]);
  tgReal gdet = (phi / 2 - t->scale * (gp * p + gr * r + gq * q)) / t->det;
  gG[0] = t->scale * gr / t->det + gdet * t->G[1];
  gG[1] = t->scale * gp / t->det + gdet * t->G[0];
  gG[2] = -t->scale * gq / t->det - 2 * gdet * t->G[2];
}

// L = y . f = -d . H sum, d the growth along y
static void triangle_parameters(const tgModel *m, const tgiPatch *k, const tgReal *d, const tgReal *Hd, tgParamGrad *p) {
  const tgiTriangle *t = &k->is.triangle;
  int f = k->flex;
  tgReal unit = -form(t, d, t->sum), nu = t->nu, both = trace(t, d) * trace(t, t->sum) - product(t, d, t->sum);
  if (p->flex_young != NULL) p->flex_young[f] += unit;
  if (p->flex_thickness != NULL) p->flex_thickness[f] += t->young * unit / m->flex_thickness[f];
  if (p->flex_damping != NULL) p->flex_damping[f] -= t->young * form(t, d, t->rate);
  if (p->flex_poisson != NULL) p->flex_poisson[f] += t->young * (unit * 2 * nu / (1 - nu * nu) - t->scale * both);
  if (p->flex_rest == NULL) return;
  tgReal gG[3];
  form_by_rest(t, d, t->sum, gG);
  for (int i = 0; i < 3; i++) gG[i] = Hd[i] / 2 - t->young * gG[i];
  for (int i = 0; i < 3; i++) {
    tgReal gA = 2 * gG[0] * t->A[i] + gG[2] * t->B[i], gB = 2 * gG[1] * t->B[i] + gG[2] * t->A[i];
    p->flex_rest[3 * k->vert[1] + i] += gA;
    p->flex_rest[3 * k->vert[2] + i] += gB;
    p->flex_rest[3 * k->vert[0] + i] -= gA + gB;
  }
}

static void triangle_vjp(const tgModel *m, const tgiPatch *k, const tgReal *y, tgReal *gx, tgReal *gv, tgParamGrad *p) {
  const tgiTriangle *t = &k->is.triangle;
  tgReal ya[3], yb[3], d[3], Hd[3], damping = m->flex_damping[k->flex];
  side(y, 1, ya);
  side(y, 2, yb);
  growth(t->a, t->b, ya, yb, d);
  tgi_m3_mulv(Hd, t->H, d);
  for (int i = 0; i < 9; i++) gx[i] = gv[i] = 0;
  add_growth(ya, yb, t->s, -1, gx);
  add_growth(t->a, t->b, Hd, -1, gx);
  add_growth(t->da, t->db, Hd, -damping, gx);
  add_growth(t->a, t->b, Hd, -damping, gv);
  if (p != NULL) triangle_parameters(m, k, d, Hd, p);
}

// D (3 x 9) = how the strain grows as the vertices move: by the sides a, b
static void growth_matrix(const tgReal *a, const tgReal *b, tgReal *D) {
  for (int i = 0; i < 3; i++) {
    const tgReal col[2][3] = {{a[i], 0, b[i] / 2}, {0, b[i], a[i] / 2}};
    for (int e = 0; e < 3; e++) {
      D[9 * e + 3 + i] = col[0][e];
      D[9 * e + 6 + i] = col[1][e];
      D[9 * e + i] = -col[0][e] - col[1][e];
    }
  }
}

// -(D' H (D + damping D_rate)), and the stress that turns with the sides
static void triangle_derivative(const tgModel *m, const tgiPatch *k, tgReal *K, tgReal *C) {
  const tgiTriangle *t = &k->is.triangle;
  tgReal D[27], rate[27], HD[27], damping = m->flex_damping[k->flex];
  const tgReal s0 = t->s[0], s1 = t->s[1], half = t->s[2] / 2;
  const tgReal turn[9] = {s0 + s1 + 2 * half, -s0 - half, -s1 - half, -s0 - half, s0, half, -s1 - half, half, s1};
  growth_matrix(t->a, t->b, D);
  growth_matrix(t->da, t->db, rate);
  for (int e = 0; e < 3; e++)
    for (int c = 0; c < 9; c++) HD[9 * e + c] = t->H[3 * e] * D[c] + t->H[3 * e + 1] * D[9 + c] + t->H[3 * e + 2] * D[18 + c];
  for (int r = 0; r < 9; r++)
    for (int c = 0; c < 9; c++) {
      tgReal held = HD[r] * D[c] + HD[9 + r] * D[9 + c] + HD[18 + r] * D[18 + c];
      tgReal moving = HD[r] * rate[c] + HD[9 + r] * rate[9 + c] + HD[18 + r] * rate[18 + c];
      C[9 * r + c] = -damping * held;
      K[9 * r + c] = -held - damping * moving - (r % 3 == c % 3 ? turn[3 * (r / 3) + c / 3] : 0);
    }
}

// ---- edges ----

static void edge(const tgModel *m, const tgiPatch *p, tgiEdge *h) {
  tgReal n[3], nu = m->flex_poisson[p->flex], t = m->flex_thickness[p->flex];
  rest_side(m, p, 1, h->e);
  rest_side(m, p, 2, h->f);
  rest_side(m, p, 3, h->g);
  h->L2 = tgi_v3_dot(h->e, h->e);
  h->ef = tgi_v3_dot(h->e, h->f);
  h->eg = tgi_v3_dot(h->e, h->g);
  h->fg = tgi_v3_dot(h->f, h->g);
  h->ff = tgi_v3_dot(h->f, h->f);
  h->gg = tgi_v3_dot(h->g, h->g);
  tgi_v3_cross(n, h->e, h->f);
  h->det = tgi_v3_dot(n, h->g);
  h->n1 = tgSqrt(tgi_v3_dot(n, n));
  tgi_v3_cross(n, h->g, h->e);
  h->n2 = tgSqrt(tgi_v3_dot(n, n));
  h->sum = (h->n1 + h->n2) / 2;
  h->cross = h->ef * h->eg - h->L2 * h->fg;
  h->stiff = t * t * t / (12 * (1 - nu * nu));
  h->k = h->stiff * h->cross / (h->sum * h->n1 * h->n2);
  h->b = -h->stiff * h->det * h->L2 * h->L2 / (h->sum * h->n1 * h->n1 * h->n2 * h->n2);
  h->c[0] = (h->L2 - h->ef) / h->n1 + (h->L2 - h->eg) / h->n2;
  h->c[1] = h->ef / h->n1 + h->eg / h->n2;
  h->c[2] = -h->L2 / h->n1;
  h->c[3] = -h->L2 / h->n2;
}

static void weigh(const tgReal *c, const tgReal *x, tgReal *r) {
  tgi_v3_zero(r);
  for (int i = 0; i < 4; i++) tgi_v3_axpy(r, c[i], x + 3 * i);
}

// out += by times the gradient of [x1 - x0, x2 - x0, x3 - x0]
static void add_volume(const tgReal *x, tgReal by, tgReal *out) {
  tgReal s[3][3], r[3];
  for (int i = 0; i < 3; i++) side(x, i + 1, s[i]);
  for (int i = 0; i < 3; i++) {
    tgi_v3_cross(r, s[(i + 1) % 3], s[(i + 2) % 3]);
    tgi_v3_scale(r, r, by);
    add_side(out, i + 1, r);
  }
}

// the same times the second derivative, along y
static void add_volume_along(const tgReal *x, const tgReal *y, tgReal by, tgReal *out) {
  tgReal s[3][3], t[3][3], r[3], q[3];
  for (int i = 0; i < 3; i++) {
    side(x, i + 1, s[i]);
    side(y, i + 1, t[i]);
  }
  for (int i = 0; i < 3; i++) {
    tgi_v3_cross(r, t[(i + 1) % 3], s[(i + 2) % 3]);
    tgi_v3_cross(q, s[(i + 1) % 3], t[(i + 2) % 3]);
    tgi_v3_add(r, r, q);
    tgi_v3_scale(r, r, by);
    add_side(out, i + 1, r);
  }
}

// u = sum c_i (x_i + damping v_i)
static void bend(const tgModel *m, const tgiPatch *k, tgiEdge *h) {
  tgReal rate[3];
  weigh(h->c, k->x, h->u);
  weigh(h->c, k->v, rate);
  tgi_v3_axpy(h->u, m->flex_damping[k->flex], rate);
}

static void edge_force(const tgModel *m, const tgiPatch *k, tgReal *f) {
  const tgiEdge *h = &k->is.edge;
  tgReal young = m->flex_young[k->flex];
  for (int i = 0; i < 4; i++) tgi_v3_scale(f + 3 * i, h->u, -young * h->k * h->c[i]);
  if (!tgZero(h->b)) add_volume(k->x, -young * h->b, f);
}

// gradients in what the sides at rest make: by_.. of c, k and b
static void edge_by_rest(const tgiEdge *h, const tgReal *by_c, tgReal by_k, tgReal by_b, const int *vert, tgReal *rest) {
  tgReal m1 = h->n1 * h->n1, m2 = h->n2 * h->n2, kd = by_k * h->stiff / (h->sum * h->n1 * h->n2), both = by_k * h->k + by_b * h->b;
  tgReal n1 = -by_c[0] * (h->L2 - h->ef) / m1 - by_c[1] * h->ef / m1 + by_c[2] * h->L2 / m1 - both / (2 * h->sum) -
              (both + by_b * h->b) / h->n1;
  tgReal n2 = -by_c[0] * (h->L2 - h->eg) / m2 - by_c[1] * h->eg / m2 + by_c[3] * h->L2 / m2 - both / (2 * h->sum) -
              (both + by_b * h->b) / h->n2;
  n1 /= 2 * h->n1;   // in m1 = L2 ff - ef^2
  n2 /= 2 * h->n2;
  tgReal L2 = by_c[0] * (1 / h->n1 + 1 / h->n2) - by_c[2] / h->n1 - by_c[3] / h->n2 - kd * h->fg + 2 * by_b * h->b / h->L2 + n1 * h->ff +
              n2 * h->gg;
  tgReal ef = (by_c[1] - by_c[0]) / h->n1 + kd * h->eg - 2 * n1 * h->ef, eg = (by_c[1] - by_c[0]) / h->n2 + kd * h->ef - 2 * n2 * h->eg;
  tgReal fg = -kd * h->L2, ff = n1 * h->L2, gg = n2 * h->L2, det = -by_b * h->stiff * h->L2 * h->L2 / (h->sum * m1 * m2), t[3];
  tgReal g[12] = {0};
  for (int i = 0; i < 3; i++) {
    t[0] = 2 * L2 * h->e[i] + ef * h->f[i] + eg * h->g[i];
    t[1] = 2 * ff * h->f[i] + ef * h->e[i] + fg * h->g[i];
    t[2] = 2 * gg * h->g[i] + eg * h->e[i] + fg * h->f[i];
    for (int j = 0; j < 3; j++) g[3 * (j + 1) + i] = t[j];
    g[i] = -t[0] - t[1] - t[2];
  }
  tgReal x[12] = {0};
  for (int i = 0; i < 3; i++) {
    x[3 + i] = h->e[i];
    x[6 + i] = h->f[i];
    x[9 + i] = h->g[i];
  }
  add_volume(x, det, g);
  for (int j = 0; j < 4; j++) tgi_v3_add(rest + 3 * vert[j], rest + 3 * vert[j], g + 3 * j);
}

// L = y . f = -young (k u . w + b y . grad volume)
static void edge_parameters(const tgModel *m, const tgiPatch *p, const tgReal *y, const tgReal *w, tgParamGrad *grad) {
  const tgiEdge *h = &p->is.edge;
  const tgReal *u = h->u;
  int f = p->flex;
  tgReal volume[12] = {0}, along = 0, rate[3], young = m->flex_young[f], nu = m->flex_poisson[f];
  add_volume(p->x, 1, volume);
  for (int i = 0; i < 12; i++) along += y[i] * volume[i];
  weigh(h->c, p->v, rate);
  tgReal unit = -h->k * tgi_v3_dot(u, w) - h->b * along;
  if (grad->flex_young != NULL) grad->flex_young[f] += unit;
  if (grad->flex_thickness != NULL) grad->flex_thickness[f] += 3 * young * unit / m->flex_thickness[f];
  if (grad->flex_poisson != NULL) grad->flex_poisson[f] += young * unit * 2 * nu / (1 - nu * nu);
  if (grad->flex_damping != NULL) grad->flex_damping[f] -= young * h->k * tgi_v3_dot(rate, w);
  if (grad->flex_rest == NULL) return;
  tgReal by_c[4];
  for (int i = 0; i < 4; i++)
    by_c[i] = -young * h->k * (tgi_v3_dot(w, p->x + 3 * i) + m->flex_damping[f] * tgi_v3_dot(w, p->v + 3 * i) + tgi_v3_dot(u, y + 3 * i));
  edge_by_rest(h, by_c, -young * tgi_v3_dot(u, w), -young * along, p->vert, grad->flex_rest);
}

static void edge_vjp(const tgModel *m, const tgiPatch *k, const tgReal *y, tgReal *gx, tgReal *gv, tgParamGrad *p) {
  const tgiEdge *h = &k->is.edge;
  tgReal w[3], young = m->flex_young[k->flex];
  weigh(h->c, y, w);
  for (int i = 0; i < 4; i++) {
    tgi_v3_scale(gx + 3 * i, w, -young * h->k * h->c[i]);
    tgi_v3_scale(gv + 3 * i, gx + 3 * i, m->flex_damping[k->flex]);
  }
  if (!tgZero(h->b)) add_volume_along(k->x, y, -young * h->b, gx);
  if (p != NULL) edge_parameters(m, k, y, w, p);
}

static void edge_derivative(const tgModel *m, const tgiPatch *p, tgReal *K, tgReal *C) {
  const tgiEdge *h = &p->is.edge;
  tgReal young = m->flex_young[p->flex], damping = m->flex_damping[p->flex];
  for (int i = 0; i < 144; i++) K[i] = C[i] = 0;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      tgReal x = -young * h->k * h->c[i] * h->c[j];
      for (int e = 0; e < 3; e++) {
        K[12 * (3 * i + e) + 3 * j + e] = x;
        C[12 * (3 * i + e) + 3 * j + e] = damping * x;
      }
    }
  for (int r = 0; r < 12 && !tgZero(h->b); r++) {
    tgReal y[12] = {0};
    y[r] = 1;
    add_volume_along(p->x, y, -young * h->b, K + 12 * r);
  }
}

// ---- both ----

void tgi_patch_update(const tgSim *s, tgiPatch *k) {
  if (k->n == 3) {
    metric(&s->m, k, &k->is.triangle);
    strain(&s->m, k, &k->is.triangle);
  } else {
    edge(&s->m, k, &k->is.edge);
    bend(&s->m, k, &k->is.edge);
  }
}

bool tgi_next_patch(const tgSim *s, const tgPose *pose, tgiPatch *k) {
  const tgModel *m = &s->m;
  k->at++;
  for (; k->flex < m->nflex; k->flex++, k->at = 0) {
    if (k->flex < 0) continue;
    int triangles = m->flex_stretch[k->flex] ? m->flex_elemnum[k->flex] : 0, edges = m->flex_bend[k->flex] ? m->flex_hingenum[k->flex] : 0;
    if (k->at >= triangles + edges) continue;
    k->n = k->at < triangles ? 3 : 4;
    k->vert = k->n == 3 ? m->flex_elem + 3 * (m->flex_elemadr[k->flex] + k->at)
                        : m->flex_hinge + 4 * (m->flex_hingeadr[k->flex] + k->at - triangles);
    place_vertices(s, pose, k);
    tgi_patch_update(s, k);
    return true;
  }
  return false;
}

void tgi_patch_force(const tgSim *s, const tgiPatch *k, tgReal *f) {
  if (k->n == 3) triangle_force(k, f);
  else edge_force(&s->m, k, f);
}

void tgi_patch_vjp(const tgSim *s, const tgiPatch *k, const tgReal *y, tgReal *gx, tgReal *gv, tgParamGrad *p) {
  if (k->n == 3) triangle_vjp(&s->m, k, y, gx, gv, p);
  else edge_vjp(&s->m, k, y, gx, gv, p);
}

void tgi_patch_derivative(const tgSim *s, const tgiPatch *k, tgReal *K, tgReal *C) {
  if (k->n == 3) triangle_derivative(&s->m, k, K, C);
  else edge_derivative(&s->m, k, K, C);
}

tgReal tgi_patch_energy(const tgSim *s, const tgiPatch *k) {
  if (k->n == 3) return k->is.triangle.young * form(&k->is.triangle, k->is.triangle.e, k->is.triangle.e) / 2;
  const tgiEdge *h = &k->is.edge;
  tgReal u[3], a[3], b[3], c[3], n[3];
  weigh(h->c, k->x, u);
  side(k->x, 1, a);
  side(k->x, 2, b);
  side(k->x, 3, c);
  tgi_v3_cross(n, a, b);
  return s->m.flex_young[k->flex] * (h->k * tgi_v3_dot(u, u) / 2 + h->b * tgi_v3_dot(n, c));
}
