// pair_kernel.c: the best plane between two triangles by Newton's steps on the sphere, one pair a lane. See pair.h.
// Compiled for every width of lanes.h.
//
// A step goes along a parabola: Newton's own, and beside it the third derivative's answer, with which steps converge
// cubically. [math/barrier Newton on the sphere] It leaves a tenth of every margin, and is halved until S falls by what
// Armijo asks; when Newton's decrement is small the step is the last. Nothing passes from lane to lane but "one of you
// is not done": what is done is kept as it is, bit by bit.
#include "contact/barrier/pair/pair_kernel.h"

#include "contact/barrier/pair/pair_newton_lanes.h"

#ifdef TG_COMPLEX
// whole steps bring the imaginary parts to where the real parts are
static void polish(Plane *p) {
  for (int pass = 0; pass < 2; pass++) {
    Step s;
    factor(p);
    prepare(p, &s);
    s.alpha = v_all(1);
    attempt(p, &s, m_from(0));
  }
}
#endif

TGI_LANE Mask start(Plane *p, tgiPairBlock *b, int lane) {
  unsigned all = (1u << TGI_WIDTH) - 1, asked = b->warm >> lane & all;
  Mask good = m_from(0);
  for (int i = 0; i < 3; i++) p->u[i] = v_all(0);
  p->delta = v_all(0);
  if (asked != 0) {
    V u[3] = {v_load(b->u[0] + lane), v_load(b->u[1] + lane), v_load(b->u[2] + lane)}, n2 = v_dot(u, u), n = 1.0 / v_sqrt(n2);
    Mask warm = m_and(m_from(asked), v_less(v_all(0.25), n2));
    for (int i = 0; i < 3; i++) p->u[i] = v_pick(warm, turned(p, u[i] * n), p->u[i]);
    p->delta = v_pick(warm, turned(p, v_load(b->delta + lane) * n) + v_dot(p->u, p->centre), p->delta);
    Mask positive = look(p);
    good = m_and(m_and(warm, positive), v_less(v_all(TGI_PAIR_SIGNIFICANT) * p->size * p->most, v_all(1)));
  }
  if (m_bits(good) == all) return good;
  good = m_or(good, cold(p, m_not(good)));
  look(p);
  return good;
}

// ---- derivatives, see plane.c

TGI_LANE void put(tgReal *to, V a, Mask separated) { v_store(to, v_pick(separated, a, v_all(0))); }

// sums over A, and the two tangents of the diagonal variables: t1 and t2 - shear t1
typedef struct Sums { V Y, ZA, za, zb, M[3], zx[3], zax[3], zbx[3], t2[3], aa, ab, bb, perA; } Sums;

TGI_LANE void sums(const Plane *p, Sums *s) {
  s->Y = p->y[0] + p->y[1] + p->y[2];
  s->ZA = p->z[0] + p->z[1] + p->z[2];
  V za[3], zb[3], per = 1.0 / s->ZA;
  s->perA = per;
  for (int k = 0; k < 3; k++) {
    za[k] = p->z[k] * p->a[k];
    zb[k] = p->z[k] * p->b[k];
  }
  s->za = za[0] + za[1] + za[2];
  s->zb = zb[0] + zb[1] + zb[2];
  for (int i = 0; i < 3; i++) {
    s->M[i] = p->y[0] * p->p[0][i] + p->y[1] * p->p[1][i] + p->y[2] * p->p[2][i];
    s->zx[i] = p->z[0] * p->p[0][i] + p->z[1] * p->p[1][i] + p->z[2] * p->p[2][i];
    s->zax[i] = za[0] * p->p[0][i] + za[1] * p->p[1][i] + za[2] * p->p[2][i];
    s->zbx[i] = zb[0] * p->p[0][i] + zb[1] * p->p[1][i] + zb[2] * p->p[2][i];
    s->t2[i] = p->t2[i] - p->shear * p->t1[i];
  }
  V ma = s->za * per, mb = s->zb * per;
  s->aa = s->ab = s->bb = v_all(0);
  for (int k = 0; k < 3; k++) {
    V a = p->a[k] - ma, b = p->b[k] - mb, z = p->z[k] * a;
    s->aa += z * a;
    s->ab += z * b;
    s->bb += p->z[k] * b * b;
  }
}

// f = (zx x u - M x t, z u - Y t), moved from the centre to the pivot
TGI_LANE void wrench(const Plane *p, const V zx[3], V z, const Sums *s, const V *t, V f[6]) {
  V turn[3];
  v_cross(f, zx, p->u);
  for (int i = 0; i < 3; i++) f[3 + i] = z * p->u[i];
  if (t != NULL) {
    v_cross(turn, s->M, t);
    for (int i = 0; i < 3; i++) {
      f[i] -= turn[i];
      f[3 + i] -= s->Y * t[i];
    }
  }
  v_cross(turn, p->centre, f + 3);
  for (int i = 0; i < 3; i++) f[i] += turn[i];
}

// What an ellipsoid of the first half adds: its support turns with it. W_ww gains y (u x b)(u x b)'/h, b the rows of bow, and the mixed
// derivatives along t lose y (u x b)(b.t)/h.
TGI_LANE void turn_oval(const Plane *p, const Sums *s, V f[][6], V H[6]) {
  V per = s->Y * per_support(p, 0);
  for (int r = 0; r < 3; r++) {
    V b[3], q[3], along[2];
    for (int i = 0; i < 3; i++) b[i] = p->axes[0][3 * r + i] - p->e[0][r] * p->at[0][i];
    v_cross(q, p->u, b);
    along[0] = per * v_dot(b, p->t1);
    along[1] = per * v_dot(b, s->t2);
    for (int i = 0; i < 3; i++) {
      for (int v = 0; v < 2; v++) f[v][i] -= along[v] * q[i];
      for (int j = 0; j <= i; j++) H[TGI_LOWER(i, j)] += per * q[i] * q[j];
    }
  }
}

TGI_LANE void derivatives(Plane *p, tgiPairBlock *b, int lane, Mask separated) {
  Sums s;
  for (int k = 0; k < 3 && p->oval; k++)
    for (int i = 0; i < 3; i++) p->p[k][i] -= p->at[0][i];   // where the plane's force acts
  V f[3][6], scaled[3][6], M[3], torque[3], H[21];
  sums(p, &s);
  wrench(p, s.zax, s.za, &s, p->t1, f[0]);
  wrench(p, s.zbx, s.zb, &s, s.t2, f[1]);
  wrench(p, s.zx, s.ZA, &s, NULL, f[2]);
  V own[6];
  for (int i = 0; i < 6; i++) own[i] = v_all(0);
  if (p->oval) turn_oval(p, &s, f, own);
  V scale[3] = {-p->per[0], -p->per[1], (p->z[3] + p->z[4] + p->z[5]) * s.perA * p->per[2]};
  for (int v = 0; v < 3; v++)
    for (int i = 0; i < 6; i++) scaled[v][i] = scale[v] * f[v][i];
  for (int i = 0; i < 6; i++)
    for (int j = 0; j <= i; j++) H[TGI_LOWER(i, j)] = scaled[0][i] * f[0][j] + scaled[1][i] * f[1][j] + scaled[2][i] * f[2][j];
  for (int i = 0; i < 6 && p->oval; i++) H[i] += own[i];
  for (int i = 0; i < 3; i++) M[i] = s.M[i] + s.Y * p->centre[i];
  V Mu = v_dot(M, p->u);
  for (int i = 0; i < 3; i++) {
    V along1 = s.bb * p->t1[i] - s.ab * s.t2[i], along2 = s.aa * s.t2[i] - s.ab * p->t1[i];
    for (int j = 0; j <= i; j++)
      H[TGI_LOWER(i, j)] += along1 * p->t1[j] + along2 * s.t2[j] - 0.5 * (M[i] * p->u[j] + M[j] * p->u[i]);
    H[TGI_LOWER(i, i)] += Mu;
    int j = (i + 1) % 3, k = (i + 2) % 3;
    H[TGI_LOWER(3 + k, j)] -= 0.5 * s.Y * p->u[i];
    H[TGI_LOWER(3 + j, k)] += 0.5 * s.Y * p->u[i];
  }
  for (int i = 0; i < 21; i++) put(b->H[i] + lane, H[i], separated);
  v_cross(torque, p->u, M);
  for (int i = 0; i < 3; i++) {
    put(b->g[i] + lane, turned(p, torque[i]), separated);
    put(b->g[3 + i] + lane, turned(p, -s.Y * p->u[i]), separated);
  }
}

static void solve(tgiPairBlock *b, int lane) {
  Plane p;
  V steps;
  place(&p, b, lane);
  Mask separated = descend(&p, start(&p, b, lane), &steps);
#ifdef TG_COMPLEX
  if (m_any(separated)) polish(&p);
#endif
  factor(&p);
  v_store(b->S + lane, v_pick(separated, p.S, v_all(INFINITY)));
  for (int i = 0; i < 3; i++) put(b->u[i] + lane, turned(&p, p.u[i]), separated);
  put(b->delta + lane, turned(&p, p.delta - v_dot(p.u, p.centre)), separated);
  derivatives(&p, b, lane, separated);
  for (int l = 0; l < TGI_WIDTH; l++) b->steps[lane + l] = (int)tgRe(v_lane(steps, l));
  b->separated |= m_bits(separated) << lane;
}

void KERNEL(tgi_pair_kernel)(tgiPairBlock *b) {
  for (int lane = 0; lane < TGI_PAIR_LANES && lane < b->count; lane += TGI_WIDTH) solve(b, lane);
}

#if TGI_WIDTH == 1
bool tgi_pair_start(const tgReal x[18], double round, const tgReal *axes, tgReal u[3], tgReal *delta) {
  tgiPairBlock b = {.count = 1, .oval = axes != NULL};
  b.radius[0][0] = b.radius[1][0] = round;
  Plane p;
  V steps;
  for (int i = 0; i < 18; i++) b.x[i][0] = x[i];
  for (int i = 0; i < 18 && axes != NULL; i++) b.axes[i / 9][i % 9][0] = axes[i];
  place(&p, &b, 0);
  if (!start(&p, &b, 0)) return false;
  if (axes != NULL && !descend(&p, true, &steps)) return false;
  for (int i = 0; i < 3; i++) u[i] = turned(&p, p.u[i]);
  *delta = turned(&p, p.delta - v_dot(p.u, p.centre));
  return true;
}
#endif
