// friction.c: friction points, their energy, and its derivatives in the poses now and at the start of the step. [math/barrier Friction]
#include "contact/barrier/friction/friction.h"

#include "contact/barrier/friction/friction_twist.h"
#include "contact/barrier/friction/friction_wide.h"
#include "contact/barrier/pair/law.h"

static void full(tgReal A[9], const tgReal M[6]) {
  for (int i = 0; i < 6; i++) A[3 * tgi_friction_row[i] + tgi_friction_col[i]] = A[3 * tgi_friction_col[i] + tgi_friction_row[i]] = M[i];
}

void tgi_friction_add(tgiFrictionSum *s, const tgiFrictionForce *f) {
  s->N += f->N;
  tgi_v3_axpy(s->a, f->N, f->a);
  tgi_v3_axpy(s->b, f->N, f->b);
  for (int i = 0; i < 6; i++) s->M[i] += f->N * f->n[tgi_friction_row[i]] * f->n[tgi_friction_col[i]];
}

void tgi_friction_add_d(int nd, tgiFrictionSum *d, const tgiFrictionForce *f, const tgiFrictionForce *df) {
  for (int j = 0; j < nd; j++) {
    d[j].N += df[j].N;
    for (int i = 0; i < 3; i++) {
      d[j].a[i] += df[j].N * f->a[i] + f->N * df[j].a[i];
      d[j].b[i] += df[j].N * f->b[i] + f->N * df[j].b[i];
    }
    for (int i = 0; i < 6; i++) {
      tgReal p = f->n[tgi_friction_row[i]], q = f->n[tgi_friction_col[i]];
      d[j].M[i] += df[j].N * p * q + f->N * (df[j].n[tgi_friction_row[i]] * q + p * df[j].n[tgi_friction_col[i]]);
    }
  }
}

// phi(d) of (72) and its slope
static void nearby(double range, tgReal d, tgReal phi[2]) {
  tgReal b[3], t = d / (0.5 * range) - 1;
  phi[0] = tgRe(t) < 1 ? 1 : 0;
  phi[1] = 0;
  if (!(tgRe(t) > 0 && tgRe(t) < 1)) return;
  tgi_law_blend(t, b);
  phi[0] -= b[0];
  phi[1] = -b[1] / (0.5 * range);
}

void tgi_friction_share(tgiFrictionShare *s, double range, tgReal N, tgReal d) {
  tgReal phi[2];
  nearby(range, d, phi);
  s->all += N;
  s->near += phi[0] * N;
}

void tgi_friction_share_d(int nd, tgiFrictionShare *ds, double range, tgReal N, tgReal d, const tgReal *dN, const tgReal *dd) {
  tgReal phi[2];
  nearby(range, d, phi);
  for (int j = 0; j < nd; j++) {
    ds[j].all += dN[j];
    ds[j].near += phi[0] * dN[j] + phi[1] * dd[j] * N;
  }
}

// (73)
tgReal tgi_friction_factor(const tgiFrictionShare *s, int nd, const tgiFrictionShare *ds, tgReal *df) {
  for (int j = 0; j < nd; j++) df[j] = 0;
  if (!(tgRe(s->near) > 0)) return 0;
  tgReal share = s->near / s->all, t = 1 - 2 * share;
  if (!(tgRe(t) > 0)) return 1;
  for (int j = 0; j < nd; j++) df[j] = t * t * (1 + 40 * share) * (ds[j].near - share * ds[j].all) / s->all;
  return 1 - t * t * t * (1 + 5 * share);
}

bool tgi_friction_point(const tgiFrictionSum *s, tgiFrictionPoint *p) {
  if (!(tgRe(s->N) > 0)) return false;
  p->N = s->N;
  tgi_v3_scale(p->a, s->a, 1 / s->N);
  tgi_v3_scale(p->b, s->b, 1 / s->N);
  for (int i = 0; i < 6; i++) p->Q[i] = (i < 3 ? 1 : 0) - s->M[i] / s->N;
  return true;
}

void tgi_friction_point_d(const tgiFrictionSum *s, const tgiFrictionPoint *p, int nd, const tgiFrictionSum *ds, tgiFrictionPoint *dp) {
  for (int j = 0; j < nd; j++) {
    tgReal dN = ds[j].N;
    dp[j].N = dN;
    for (int i = 0; i < 3; i++) {
      dp[j].a[i] = (ds[j].a[i] - dN * p->a[i]) / s->N;
      dp[j].b[i] = (ds[j].b[i] - dN * p->b[i]) / s->N;
    }
    for (int i = 0; i < 6; i++) dp[j].Q[i] = -(ds[j].M[i] - dN * (s->M[i] / s->N)) / s->N;   // 0 where n does not turn
  }
}

void tgi_friction_motion(const tgReal *x0, const tgReal *R0, const tgReal *x, const tgReal *R, tgiFrictionMotion *m) {
  tgReal turn[9];
  for (int i = 0; i < 9; i++) turn[i] = R[i] - R0[i];
  tgi_m3_mult(m->E, turn, R0);
  tgi_v3_copy(m->from, x0);
  tgi_v3_sub(m->d, x, x0);
}

// a point with its velocities: places now, V, Q, QV, s
typedef struct tgiSlip { tgReal xa[3], xb[3], V[3], Q[9], QV[3], s; } tgiSlip;

static void slip(const tgiFrictionPoint *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2], tgiSlip *v) {
  tgReal da[3], db[3];
  tgi_friction_moved(da, &m[0], p->a);
  tgi_friction_moved(db, &m[1], p->b);
  tgi_v3_add(v->xa, p->a, da);
  tgi_v3_add(v->xb, p->b, db);
  for (int i = 0; i < 3; i++) v->V[i] = (da[i] - db[i]) / law->h;
  full(v->Q, p->Q);
  tgi_m3_mulv(v->QV, v->Q, v->V);
  v->s = tgSqrt(tgi_v3_dot(v->V, v->QV) + law->eps * law->eps);
}

void tgi_friction_total_on(int isa, int n, const tgiFrictionPoint *p, const tgiFrictionLaw *law,
                           const tgiFrictionMotion m[2], tgiFrictionTotal *t) {
  TGI_ISA_CALL(isa, tgi_friction_total, (n, p, law, m, t));
}

// g of a body += sign (sum x cross f; sum f)
static void add_wrench(tgReal *g, double sign, const tgReal fx[9], const tgReal f[3]) {
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    g[i] += sign * (fx[3 * k + j] - fx[3 * j + k]);
    g[3 + i] += sign * f[i];
  }
}

// H (symmetric) += x in the row and column i, j
static void add_entry(tgReal H[144], int i, int j, tgReal x) {
  H[12 * i + j] += x;
  if (i != j) H[12 * j + i] += x;
}

// H += the block of the body whose rows begin with `first`: J' K J with J = (-[x] 1), and sign times the second-order
// part of sum f . exp(xi) x, f . (w cross (w cross x + v))
static void add_own(tgReal H[144], int first, double sign, const tgReal turn[6], const tgReal KX[9], const tgReal K[6], const tgReal fx[9],
                    const tgReal f[3]) {
  tgReal trace = fx[0] + fx[4] + fx[8];
  for (int n = 0; n < 6; n++) {
    int i = tgi_friction_row[n], j = tgi_friction_col[n];
    add_entry(H, first + i, first + j, turn[n] + sign * (0.5 * (fx[3 * i + j] + fx[3 * j + i]) - (i == j ? trace : 0)));
    add_entry(H, first + 3 + i, first + 3 + j, K[n]);
  }
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    // f . (w cross v) = -w' [f] v, half of it on each side of the diagonal
    add_entry(H, first + i, first + 3 + i, KX[4 * i]);
    add_entry(H, first + i, first + 3 + j, KX[3 * j + i] + 0.5 * sign * f[k]);
    add_entry(H, first + i, first + 3 + k, KX[3 * k + i] - 0.5 * sign * f[j]);
  }
}

// H += the blocks between the bodies
static void add_between(tgReal H[144], const tgiFrictionTotal *t) {
  tgReal K[9];
  full(K, t->K);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      add_entry(H, i, 6 + j, -t->AKB[3 * i + j]);
      add_entry(H, i, 9 + j, -t->KA[3 * j + i]);
      add_entry(H, 3 + i, 6 + j, -t->KB[3 * i + j]);
      add_entry(H, 3 + i, 9 + j, -K[3 * i + j]);
    }
}

tgReal tgi_friction_energy(int n, const tgiFrictionPoint *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2],
                           tgReal *g, tgReal *H) {
  tgiFrictionTotal t;
  tgi_friction_total_on(tgi_isa(), n, p, law, m, &t);
  if (g != NULL) {
    add_wrench(g, 1, t.fx, t.f);
    add_wrench(g + 6, -1, t.fy, t.f);
  }
  if (H == NULL) return t.energy;
  add_own(H, 0, 1, t.AKA, t.KA, t.K, t.fx, t.f);
  add_own(H, 6, -1, t.BKB, t.KB, t.K, t.fy, t.f);
  add_between(H, &t);
  return t.energy;
}

// change of g when the point's N and Q change by d, its material points slip by ma and mb (start axes) over their
// bodies, and its places at the start move by ca and cb besides, poses now held
static void change(const tgiFrictionPoint *p, const tgiSlip *v, const tgiFrictionLaw *law, const tgiFrictionMotion m[2],
                   const tgiFrictionPoint *d, const tgReal ma[3], const tgReal mb[3], const tgReal ca[3],
                   const tgReal cb[3], tgReal dg[12]) {
  tgReal dxa[3], dxb[3], dV[3], dQ[9], dQV[3], QdV[3], f[3], df[3];
  tgi_m3_mulv(dxa, m[0].E, ma);
  tgi_m3_mulv(dxb, m[1].E, mb);
  for (int i = 0; i < 3; i++) {
    dV[i] = ((dxa[i] - ca[i]) - (dxb[i] - cb[i])) / law->h;
    dxa[i] += ma[i];
    dxb[i] += mb[i];
  }
  full(dQ, d->Q);
  tgi_m3_mulv(dQV, dQ, v->V);
  tgi_m3_mulv(QdV, v->Q, dV);
  tgReal ds = (tgi_v3_dot(v->QV, dV) + 0.5 * tgi_v3_dot(v->V, dQV)) / v->s;
  for (int i = 0; i < 3; i++) {
    f[i] = law->lambda * p->N * v->QV[i] / v->s;
    df[i] = law->lambda / v->s * (d->N * v->QV[i] + p->N * (dQV[i] + QdV[i] - v->QV[i] * ds / v->s));
  }
  for (int i = 0; i < 12; i++) dg[i] = 0;
  tgi_friction_wrench(dg, v->xa, 1, df);
  tgi_friction_wrench(dg + 6, v->xb, -1, df);
  tgReal lever[3];
  tgi_v3_cross(lever, dxa, f);
  tgi_v3_axpy(dg, 1, lever);
  tgi_v3_cross(lever, dxb, f);
  tgi_v3_axpy(dg + 6, -1, lever);
}

void tgi_friction_mixed(const tgiFrictionPoint *p, const tgiFrictionPoint dp[6], const tgiFrictionLaw *law, const tgiFrictionMotion m[2],
                        tgReal B[144]) {
  const tgReal zero[3] = {0};
  tgiSlip v;
  slip(p, law, m, &v);
  for (int j = 0; j < 6; j++) {
    // body 1 alone: b lies still on its body, a's material point is not carried along by what the twist moves
    tgReal carried[3], ma[3], relative[12], common[12];
    tgi_friction_velocity(carried, j, p->a);
    tgi_v3_sub(ma, dp[j].a, carried);
    change(p, &v, law, m, &dp[j], ma, dp[j].b, carried, zero, relative);
    // both bodies alike: the point goes along rigidly
    tgiFrictionPoint rigid = {.N = 0};
    tgi_friction_velocity(rigid.b, j, p->b);
    tgi_friction_turned(rigid.Q, j, v.Q);
    change(p, &v, law, m, &rigid, zero, zero, carried, rigid.b, common);
    for (int i = 0; i < 12; i++) {
      B[12 * i + j] += relative[i];
      B[12 * i + 6 + j] += common[i] - relative[i];
    }
  }
}

// What Z . (dg of change) weighs N, ma, mb and Q by, in bar, and cb by, in place; ca by its opposite.
static void change_vjp(const tgiFrictionPoint *p, const tgiSlip *v, const tgiFrictionLaw *law,
                       const tgiFrictionMotion m[2], const tgReal Z[12], tgiFrictionPoint *bar, tgReal place[3]) {
  tgReal scale = law->lambda / v->s, e[3], t[3], f[3], dQV[3], dV[3], xa[3], xb[3];
  // velocities of the two points under Z, and what turns the levers
  tgi_v3_cross(e, Z, v->xa);
  tgi_v3_add(e, e, Z + 3);
  tgi_v3_cross(t, Z + 6, v->xb);
  for (int i = 0; i < 3; i++) {
    e[i] -= t[i] + Z[9 + i];
    f[i] = scale * p->N * v->QV[i];
  }
  tgi_v3_cross(xa, f, Z);
  tgi_v3_cross(xb, Z + 6, f);
  bar->N = scale * tgi_v3_dot(e, v->QV);
  tgReal ds = -p->N * bar->N / v->s;
  tgi_m3_mulv(dV, v->Q, e);
  for (int i = 0; i < 3; i++) {
    dQV[i] = scale * p->N * e[i] + 0.5 * ds * v->V[i] / v->s;
    place[i] = (scale * p->N * dV[i] + ds * v->QV[i] / v->s) / law->h;
  }
  for (int i = 0; i < 6; i++) {
    int r = tgi_friction_row[i], c = tgi_friction_col[i];
    bar->Q[i] = dQV[r] * v->V[c] + (r == c ? 0 : dQV[c] * v->V[r]);
  }
  // E' (lever + place) + lever
  tgi_v3_add(t, xa, place);
  tgi_m3_tmulv(bar->a, m[0].E, t);
  tgi_v3_add(bar->a, bar->a, xa);
  tgi_v3_sub(t, xb, place);
  tgi_m3_tmulv(bar->b, m[1].E, t);
  tgi_v3_add(bar->b, bar->b, xb);
}

// velocities of a point x under the unit twists, weighed by w
static void carried(tgReal out[6], const tgReal x[3], const tgReal w[3]) {
  tgi_v3_cross(out, x, w);
  tgi_v3_copy(out + 3, w);
}

void tgi_friction_mixed_vjp(const tgiFrictionPoint *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2], const tgReal Z[12],
                            tgiFrictionPoint *bar, tgReal out[12]) {
  tgReal place[3];
  tgiSlip v;
  slip(p, law, m, &v);
  change_vjp(p, &v, law, m, Z, bar, place);
  // Q turns by W Q - Q W, W the cross matrix of a unit rotation; bar->Q weighs that as S does, its matrix with halves beside the diagonal:
  // tr(S (W Q - Q W)) = 2 tr(W Q S)
  tgReal slips[6], moves[6], turns[6], S2[9], QS2[9];
  carried(slips, p->a, bar->a);
  carried(moves, p->a, place);
  carried(turns, p->b, place);
  full(S2, bar->Q);
  for (int i = 0; i < 3; i++) S2[4 * i] *= 2;
  tgi_m3_mul(QS2, v.Q, S2);
  for (int i = 0; i < 3; i++) {
    int k = (i + 1) % 3, l = (i + 2) % 3;
    turns[i] += QS2[3 * k + l] - QS2[3 * l + k];
  }
  for (int j = 0; j < 6; j++) {
    out[j] -= slips[j] + moves[j];
    out[6 + j] += slips[j] + turns[j];
  }
}

void tgi_friction_rate(const tgiFrictionPoint *p, const tgiFrictionPoint *dp, const tgiFrictionLaw *law,
                       const tgiFrictionMotion m[2], tgReal dg[12]) {
  tgiSlip v;
  slip(p, law, m, &v);
  const tgReal zero[3] = {0};
  change(p, &v, law, m, dp, dp->a, dp->b, zero, zero, dg);
}

// V goes like 1/h: QV/s by -QV/(h s) eps^2/s^2
void tgi_friction_step_rate(const tgiFrictionPoint *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2], tgReal dg[12]) {
  tgiSlip v;
  tgReal f[3];
  slip(p, law, m, &v);
  tgi_v3_scale(f, v.QV, -law->lambda * p->N * law->eps * law->eps / (law->h * v.s * v.s * v.s));
  for (int i = 0; i < 12; i++) dg[i] = 0;
  tgi_friction_wrench(dg, v.xa, 1, f);
  tgi_friction_wrench(dg + 6, v.xb, -1, f);
}
