// rate.c: see rate.h.
#include "coll/features/rate.h"

// rates in column k of a point x and a direction u that belong to body A or B; face: they are a face's
static void rates(tgReal *dx, tgReal *du, const tgReal *x, const tgReal *u, bool is_a, bool face, const tgiSizeRates *size, int k) {
  int own = TGI_SIZES + 12 * !is_a + 6 * face;
  if (k < TGI_TWIST && is_a) {
    tgi_rate_point(dx, x, k);
    tgi_rate_dir(du, u, k);
  } else if (tgi_rate_size(is_a, k) >= 0) {
    tgi_v3_copy(dx, size->x[k % 3]);
    tgi_v3_copy(du, size->u[k % 3]);
  } else {
    tgi_v3_zero(dx);
    tgi_v3_zero(du);
    if (k >= own && k < own + 6) (k < own + 3 ? dx : du)[(k - own) % 3] = 1;
  }
}
// of a core: also its radius, which is returned; du is 0 for a point
tgReal tgi_rate_core(tgReal *dx, tgReal *du, const tgiCore *C, int k) {
  static const tgReal none[3] = {0};
  rates(dx, du, C->x, C->line ? C->u : none, C->is_a, false, &C->size, k);
  if (!C->line) tgi_v3_zero(du);
  return tgi_rate_size(C->is_a, k) >= 0 ? C->size.r[k % 3] : 0;
}
void tgi_rate_face(tgReal *ds, tgReal *dn, const tgiFace *F, int k) { rates(ds, dn, F->s, F->n, F->is_a, true, &F->size, k); }

void tgi_rate_parts(tgContactPoint *c, const tgiCore *C, const tgiCore *D, const tgiFace *F, const tgiFace *G) {
  for (int i = 0; i < 4; i++) c->part[i] = 0;
  if (C != NULL) c->part[C->is_a ? 0 : 2] = C->part;
  if (D != NULL) c->part[D->is_a ? 0 : 2] = D->part;
  if (F != NULL) c->part[F->is_a ? 1 : 3] = F->part;
  if (G != NULL) c->part[G->is_a ? 1 : 3] = G->part;
}

// stores column k, of A's twist with B's completed
void tgi_rate_store(tgContactPoint *c, int k, const tgReal *dp, const tgReal *dn, tgReal dgap) {
  tgReal tp[3], tn[3];
  if (k >= TGI_SIZES) {
    for (int i = 0; i < 3; i++) {
      c->Dp[i][k - TGI_SIZES] = dp[i];
      c->Dp[3 + i][k - TGI_SIZES] = dn[i];
    }
    c->Dp[6][k - TGI_SIZES] = dgap;
    return;
  }
  if (k >= TGI_TWIST) {
    for (int i = 0; i < 3; i++) {
      c->Ds[i][k - TGI_TWIST] = dp[i];
      c->Ds[3 + i][k - TGI_TWIST] = dn[i];
    }
    c->Ds[6][k - TGI_TWIST] = dgap;
    return;
  }
  tgi_rate_point(tp, c->p, k);
  tgi_rate_dir(tn, c->n, k);
  for (int i = 0; i < 3; i++) {
    c->D[i][k] = dp[i];
    c->D[i][6 + k] = tp[i] - dp[i];
    c->D[3 + i][k] = dn[i];
    c->D[3 + i][6 + k] = tn[i] - dn[i];
  }
  c->D[6][k] = dgap;
  c->D[6][6 + k] = -dgap;
}

// point x over the face, radius r around it
void tgi_rate_on_face(tgContactPoint *c, const tgiFace *F, const tgReal *x, tgReal r) {
  tgReal y[3];
  tgi_v3_sub(y, x, F->s);
  tgi_v3_scale(c->n, F->n, F->is_a ? -1 : 1);     // from B to A
  c->gap = tgi_v3_dot(F->n, y) - r;
  for (int i = 0; i < 3; i++) c->p[i] = x[i] - r * F->n[i];
}
// its column k for rates ds, dn of the face and dx, dr of the point
void tgi_rate_store_on_face(tgContactPoint *c, const tgiFace *F, int k, const tgReal *x, tgReal r, const tgReal *ds, tgReal *dn,
                          const tgReal *dx, tgReal dr) {
  tgReal y[3], v[3], dp[3];
  tgi_v3_sub(y, x, F->s);
  tgi_v3_sub(v, dx, ds);
  tgReal dgap = tgi_v3_dot(dn, y) + tgi_v3_dot(F->n, v) - dr;
  for (int i = 0; i < 3; i++) dp[i] = dx[i] - r * dn[i] - dr * F->n[i];
  if (F->is_a) tgi_v3_scale(dn, dn, -1);
  tgi_rate_store(c, k, dp, dn, dgap);
}
