// derivative.c: the derivative of the solve, island by island, and the complementarity-aware choice of classes.
//
// Based on: [lcp]; [math/lcp Derivative].
#include <string.h>

#include "contact/lcp/columns.h"
#include "contact/lcp/work.h"

// the aware gradient takes other classes where the true ones let through less than this share of what those do
#define TOLD_APART 1e-6

// vectors over rows are gathered to K and scattered back

typedef struct Part { const tgSim *s; int index; const tgiLcp *lcp; const int *row; int n; tgReal *x, *y, *z; } Part;

static Part part(const tgSim *s, int index) {
  const tgiLcpWork *w = tgi_lcp_work(s);
  size_t n = (size_t)s->cap.nrow;
  return (Part){s, index, &w->island[index].lcp, s->rows->island_row + s->rows->island_adr[index], tgi_island_rows(s, index),
                w->K, w->K + n, w->K + 2 * n};
}

static void take_rows(const Part *p, const tgReal *all, tgReal *own) {
  for (int a = 0; a < p->n; a++) own[a] = all[p->row[a]];
  tgi_lcp_turn(p->s, p->index, own);
}
static void put_rows(const Part *p, tgReal *own, tgReal *all) {
  tgi_lcp_turn_back(p->s, p->index, own);
  for (int a = 0; a < p->n; a++) all[p->row[a]] = own[a];
}
// from K to the rows of the island, 0 on the others
static void put_held(const Part *p, const tgReal *own, tgReal *all) {
  for (int a = 0; a < p->n; a++) p->y[a] = p->lcp->kpos[a] >= 0 ? own[p->lcp->kpos[a]] : 0;
  put_rows(p, p->y, all);
}

void tgi_lcp_tangent(const tgSim *s, const tgReal *r, tgReal *df) {
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    take_rows(&p, r, p.y);
    for (int a = 0; a < p.lcp->nk; a++) p.x[a] = p.y[p.lcp->k[a]];
    tgi_lcp_derivative(p.lcp, p.x, NULL, p.x);
    tgi_lcp_expand(p.lcp, p.x, p.y);
    put_rows(&p, p.y, df);
  }
}

static void solve_island_vjp(const Part *p, const tgReal *g, tgReal *rbar) {
  take_rows(p, g, p->y);
  tgi_lcp_gather(p->lcp, p->y, p->x);
  tgi_lcp_derivative_t(p->lcp, p->x, p->x, NULL);
  put_held(p, p->x, rbar);
}

// live: the rows whose n numbers are not all 0; returns how many
static int rows_that_live(int rows, int n, const int *at, const tgReal *X, int *live) {
  int count = 0;
  for (int a = 0; a < rows; a++) {
    bool zero = true;
    for (int c = 0; c < n && zero; c++) zero = X[at[a] + c] == 0;
    if (!zero) live[count++] = a;
  }
  return count;
}

// two forces on the rows of an island; u: twice nv
typedef struct Motions { const tgSim *s; int island; tgReal *u; } Motions;

static double motions_apart(void *ctx, tgReal *f, tgReal *g) {
  const Motions *m = ctx;
  const tgSim *s = m->s;
  const int *row = s->rows->island_row + s->rows->island_adr[m->island];
  int nv = s->m.nv;
  double most = 0, apart = 0;
  for (int d = 0; d < 2 * nv; d++) m->u[d] = 0;
  tgi_lcp_turn_back(s, m->island, f);
  tgi_lcp_turn_back(s, m->island, g);
  for (int a = 0; a < tgi_island_rows(s, m->island); a++) {
    tgi_row_add(s, s->rows->MiJ, row[a], f[a], m->u);
    tgi_row_add(s, s->rows->MiJ, row[a], g[a], m->u + nv);
  }
  for (int d = 0; d < nv; d++) {
    most = fmax(most, fabs(tgRe(m->u[d])));
    apart = fmax(apart, fabs(tgRe(m->u[d] - m->u[nv + d])));
  }
  return most > 0 ? apart / most : apart > 0 ? INFINITY : 0;
}

tgStatus tgi_lcp_solve_columns(tgSim *s, int island, bool forces, int n, const int *at, tgReal *X, int *live, int *nlive) {
  const tgiLcp *l = &tgi_lcp_work(s)->island[island].lcp;
  size_t mark = tgi_stack_mark(s);
  tgReal *work = tgi_stack_real(s, tgi_lcp_columns_reals(l->nk, l->rank, n) + 1);
  int *iwork = tgi_stack_bytes(s, (tgi_lcp_columns_ints(l->nk) + 1) * sizeof *iwork);
  Motions motions = {s, island, tgi_stack_real(s, 2 * (size_t)s->m.nv)};
  tgiLcpMotion motion = {motions_apart, &motions};
  if (work == NULL || iwork == NULL || motions.u == NULL)
    return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's Jacobian; reserve more and repeat.");
  const tgiCone *cone = &tgi_lcp_work(s)->island[island].cone;
  bool turns = tgi_lcp_turns(s, island);
  if (turns) tgi_cone_turn_columns(cone, false, n, at, X);
  *nlive = tgi_lcp_derivative_columns(l, forces ? NULL : &motion, n, at, X, live, work, iwork);
  if (turns) tgi_cone_turn_columns(cone, true, n, at, X);
  if (turns) *nlive = rows_that_live(l->n, n, at, X, live);
  tgi_stack_free(s, mark);
  return TG_OK;
}

void tgi_lcp_adjoint(const tgSim *s, const tgReal *g, tgReal *rbar) {
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    tgi_lcp_work(s)->aware[index] = 0;
    solve_island_vjp(&p, g, rbar);
  }
}

static bool acts_by_null(const tgiLcp *l) { return l->rank < l->nk && tgi_lcp_null_action(l) >= TGI_LCP_NULL; }
// Without A (sparse.h), and with friction that turns by the split too, it is held as it is: nonsmooth.c says so.
static bool split_is_held(const tgSim *s, int index) { return tgi_island_is_sparse(s, index) || tgi_lcp_turns(s, index); }
bool tgi_lcp_holds_split(const tgSim *s, int index) {
  const tgiLcp *l = &tgi_lcp_work(s)->island[index].lcp;
  return split_is_held(s, index) && acts_by_null(l);
}

bool tgi_lcp_null_part(const tgSim *s, bool forces, tgReal *beta) {
  bool any = false;
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    const tgiCone *cone = &tgi_lcp_work(s)->island[index].cone;
    bool split = (forces && p.lcp->rank < p.lcp->nk) || acts_by_null(p.lcp), shared = tgi_has_cones(s) && cone->split;
    bool acts = !tgi_lcp_work(s)->aware[index] && (shared || (split && !split_is_held(s, index)));
    any = any || acts;
    if (acts && shared) {
      for (int a = 0; a < p.n; a++) beta[p.row[a]] = cone->share[a];
      continue;
    }
    if (acts) tgi_lcp_null_force(p.lcp, p.x);
    for (int a = 0; a < p.lcp->nk && !acts; a++) p.x[a] = 0;
    put_held(&p, p.x, beta);
  }
  return any;
}

// own <- expand(project(gather(own rows of g)))
static void project_rows(const Part *p, const tgReal *g) {
  take_rows(p, g, p->y);
  tgi_lcp_gather(p->lcp, p->y, p->x);
  tgi_lcp_project(p->lcp, p->x, p->z);
  tgi_lcp_expand(p->lcp, p->z, p->y);
}

// own <- df of what the split of normals adds to the residual where its rows are x
static void split_rows(const Part *p, const tgiCone *cone, const tgReal *x) {
  for (int a = 0; a < p->n; a++) p->z[a] = x[p->row[a]];
  tgi_cone_split(cone, p->z, p->y);
  for (int k = 0; k < p->lcp->nk; k++) p->x[k] = p->y[p->lcp->k[k]];
  tgi_lcp_derivative(p->lcp, p->x, NULL, p->x);
  tgi_lcp_expand(p->lcp, p->x, p->y);
}

void tgi_lcp_null_tangent(const tgSim *s, const tgReal *x, tgReal *df) {
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    const tgiCone *cone = &tgi_lcp_work(s)->island[index].cone;
    bool shared = tgi_has_cones(s) && cone->split;
    if (!shared && (p.lcp->rank == p.lcp->nk || split_is_held(s, index))) continue;
    if (shared) split_rows(&p, cone, x);
    else project_rows(&p, x);
    tgi_lcp_turn_back(s, index, p.y);
    for (int a = 0; a < p.n; a++) df[p.row[a]] += p.y[a];
  }
}

void tgi_lcp_null_adjoint(const tgSim *s, const tgReal *g, tgReal *alpha) {
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    const tgiCone *cone = &tgi_lcp_work(s)->island[index].cone;
    if (tgi_has_cones(s) && cone->split) {
      solve_island_vjp(&p, g, alpha);
      for (int a = 0; a < p.n; a++) p.z[a] = alpha[p.row[a]];
      tgi_cone_split(cone, p.z, p.y);
      for (int a = 0; a < p.n; a++) alpha[p.row[a]] = p.y[a];
      continue;
    }
    bool held = split_is_held(s, index);
    if (!held) project_rows(&p, g);
    for (int a = 0; a < p.n && held; a++) p.y[a] = 0;
    put_rows(&p, p.y, alpha);
  }
}

bool tgi_lcp_null_has_bounds(const tgSim *s, int row) {
  return !tgi_has_cones(s) || !tgi_lcp_work(s)->island[s->rows->island[row]].cone.split;
}

static int side_of(int cls) { return cls == TGI_LCP_H ? 1 : cls == TGI_LCP_L ? -1 : 0; }

tgReal tgi_lcp_side(const tgSim *s, int row) {
  int part = s->rows->part[row], own = side_of(s->rows->class[row]);
  if (!tgi_has_cones(s) || s->rows->kind[row] != TG_ROW_TANGENT || part > 2) return own;
  const tgiLcpIsland *k = &tgi_lcp_work(s)->island[s->rows->island[row]];
  int a = s->rows->place[row] - part;
  return tgi_cone_at(&k->problem, a) ? side_of(s->rows->class[row + 1 - part]) * k->cone.turn[a + part] : own;
}

// ---- the complementarity-aware choice [math/lcp Complementarity-aware gradient] ----

// What of dL/dv' reaches the velocities before: x' Mh^-1 x over the island, x = z + J' y
static double passed(const tgSim *s, int index, const tgReal *z, const tgReal *lambda, const tgReal *y) {
  double sum = 0;
  for (int e = s->rows->island_dofadr[index]; e < s->rows->island_dofadr[index + 1]; e++) {
    int d = s->rows->island_dof[e];
    double x = tgRe(z[d]), l = tgRe(lambda[d]);
    for (int a = s->rows->island_adr[index]; a < s->rows->island_adr[index + 1]; a++) {
      int i = s->rows->island_row[a];
      x += tgRe(tgi_row_number(s, s->rows->J, i, d)) * tgRe(y[i]);
      l += tgRe(tgi_row_number(s, s->rows->MiJ, i, d)) * tgRe(y[i]);
    }
    sum += x * l;
  }
  return sum;
}

// Contacts that the loss wants to part are parted, the others press, all without friction. The first row that is not as it was, or -1.
static int wanted_classes(const tgSim *s, const Part *p, const tgReal *z, int8_t *cls) {
  int first = -1;
  for (int a = 0; a < p->n; a++) {
    int i = p->row[a], kind = s->rows->kind[i];
    cls[a] = p->lcp->cls[a];
    if (kind != TG_ROW_NORMAL && kind != TG_ROW_TANGENT) continue;
    double slope = tgRe(tgi_row_dot(s, s->rows->J, i, z));
    bool pressed = cls[a] == TGI_LCP_C || cls[a] == TGI_LCP_F;
    cls[a] = kind == TG_ROW_TANGENT ? TGI_LCP_D : slope < 0 ? TGI_LCP_N : TGI_LCP_C;
    if (first < 0 && pressed != (cls[a] == TGI_LCP_C)) first = i;
  }
  return first;
}

// The classes of the step are those of the factorisation again afterwards.
void tgi_lcp_aware_adjoint(tgSim *s, const tgReal *z, const tgReal *lambda, const tgReal *g, tgReal *y) {
  tgiLcpWork *w = tgi_lcp_work(s);
  for (int index = 0; index < s->nisland; index++) {
    Part p = part(s, index);
    tgiLcpIsland *k = &w->island[index];
    tgReal *other = w->other;
    int first = wanted_classes(s, &p, z, w->island_cls);
    if (first < 0) continue;
    memcpy(w->cls, k->lcp.cls, (size_t)p.n);
    tgi_lcp_solve_classes(&k->lcp, k->lcp.problem, w->island_cls, p.x, p.y);
    for (int a = 0; a < p.n; a++) other[p.row[a]] = 0;
    solve_island_vjp(&p, g, other);
    if (passed(s, index, z, lambda, y) < TOLD_APART * TOLD_APART * passed(s, index, z, lambda, other)) {
      for (int a = 0; a < p.n; a++) y[p.row[a]] = other[p.row[a]];
      w->aware[index] = 1;
      if (s->aware_row < 0) s->aware_row = first;
    }
    tgi_lcp_solve_classes(&k->lcp, k->lcp.problem, w->cls, p.x, p.y);
  }
}
