// impulse_jacobian.c: the dense derivative of an impulse step, exact, by the formulas at the head of impulse_vjp.c, written apart.
//
// Based on: [math/lcp Derivative].
// What no mass, tendon or row couples has no entry in common: the derivative falls into parts, one for each island and one for each tree
// that nothing touches. Each part is a block of its own dofs' rows and of the columns of their q, v and controls, padded to full vectors.
#include <string.h>

#include "contact/islands.h"
#include "math/combine.h"
#include "contact/rows.h"
#include "sim/row.h"
#include "step/impulse.h"

typedef struct Part { int ndof, nact, width; const int *dof, *act; } Part;   // width: 2 ndof + nact and padding

typedef struct Parts {
  int n;
  Part *part;
  int *of_dof;       // part of a dof; islands first, in their order
  tgiPlaces to;      // places in G
  int *row_at;       // places of the rows in R
  size_t size, row_size;
  int *at, *live;    // work: nrow or nv entries, whichever is more
  tgReal *w;         // the same
  tgReal *G, *R;     // blocks of dofs, of rows
} Parts;

static tgStatus short_scratch(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's Jacobian; reserve more and repeat.");
}

// part of each dof; returns the number of parts
static int number_parts(tgSim *s, bool rows, int *of_dof) {
  int nv = s->m.nv, n = rows ? s->nisland : 0;
  for (int d = 0; d < nv; d++) {
    int tree = s->m.dof_set[3 * d];
    if (rows && s->rows->dof_island[d] >= 0) of_dof[d] = s->rows->dof_island[d];
    else of_dof[d] = tree == d ? n++ : of_dof[tree];
  }
  return n;
}

static bool take_parts(tgSim *s, bool rows, Parts *p) {
  const tgModel *m = &s->m;
  size_t nv = (size_t)m->nv, nu = (size_t)m->nu, most = nv > (size_t)s->nrow ? nv : (size_t)s->nrow;
  *p = (Parts){.of_dof = tgi_stack_bytes(s, (nv + 1) * sizeof(int))};
  if (p->of_dof == NULL) return false;
  p->n = number_parts(s, rows, p->of_dof);
  int *at = tgi_stack_bytes(s, (4 * nv + 3 * nu + (size_t)s->nrow + 2 * most + 1) * sizeof(int));
  p->part = tgi_stack_bytes(s, ((size_t)p->n + 1) * sizeof *p->part);
  p->w = tgi_stack_real(s, most + 1);
  if (at == NULL || p->part == NULL || p->w == NULL) return false;
  int *row = at, *q = row + nv, *v = q + nv, *dof = v + nv, *u = dof + nv, *act = u + nu, *of_act = act + nu;
  p->to = (tgiPlaces){.row = row, .q = q, .v = v, .urow = row, .u = u};
  p->row_at = of_act + nu;
  p->at = p->row_at + s->nrow;
  p->live = p->at + most;
  memset(p->part, 0, ((size_t)p->n + 1) * sizeof *p->part);
  for (int i = 0; i < m->nu; i++)
    of_act[i] = p->of_dof[m->jnt_vadr[m->act_trn[i] == TG_TRN_TENDON ? m->wrap_jnt[m->ten_adr[m->act_target[i]]] : m->act_target[i]]];
  for (int d = 0; d < m->nv; d++) q[d] = p->part[p->of_dof[d]].ndof++;
  for (int i = 0; i < m->nu; i++) u[i] = p->part[of_act[i]].nact++;
  int *next = dof, *next_act = act;
  for (int k = 0; k < p->n; k++) {
    Part *part = &p->part[k];
    part->dof = next;
    part->act = next_act;
    next += part->ndof;
    next_act += part->nact;
    part->width = (2 * part->ndof + part->nact + TGI_LANES - 1) / TGI_LANES * TGI_LANES;
  }
  for (int d = 0; d < m->nv; d++) dof[p->part[p->of_dof[d]].dof - dof + q[d]] = d;
  for (int i = 0; i < m->nu; i++) act[p->part[of_act[i]].act - act + u[i]] = i;
  for (int d = 0; d < m->nv; d++) {
    const Part *part = &p->part[p->of_dof[d]];
    v[d] = part->ndof + q[d];
    row[d] = (int)p->size;
    p->size += (size_t)part->width;
  }
  for (int i = 0; i < m->nu; i++) u[i] += 2 * p->part[of_act[i]].ndof;
  for (int i = 0; rows && i < s->nrow; i++) {
    p->row_at[i] = (int)p->row_size;
    p->row_size += (size_t)p->part[s->rows->island[i]].width;
  }
  p->G = tgi_stack_real(s, p->size + 1);
  p->R = tgi_stack_real(s, p->row_size + 1);
  return p->G != NULL && p->R != NULL;
}

// G: dv of the balance at held impulses for the motion v (v1 with the rows' forces, or vhat without)
static tgStatus balance_jacobian(tgSim *s, const tgReal *v, const tgReal *f, const Parts *p, tgReal *G, int *clamps) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  double h = s->h;
  size_t mark = tgi_stack_mark(s);
  tgReal *a = tgi_stack_real(s, (size_t)nv), *X = NULL;
  if (a == NULL) return short_scratch(s);
  tgi_mean_acceleration(s, v, a);
  if (f != NULL) {
    X = tgi_stack_real(s, 6 * (size_t)m->nbody);
    tgReal *f_h = tgi_stack_real(s, (size_t)s->nrow);
    if (X == NULL || f_h == NULL) return short_scratch(s);
    for (int i = 0; i < s->nrow; i++) f_h[i] = f[i] / h;
    tgi_rows_wrench(s, &s->start, f_h, X);
  }
  memset(G, 0, p->size * sizeof *G);
  tgStatus status = tgi_inverse_d_into(s, &s->start, a, X, -h, &p->to, G, G);
  if (status >= 0) status = tgi_forces_d_into(s, &s->start, s->start.q, s->start.vel, h, &p->to, G, G, G, clamps);
  if (status == TG_ERR_CAPACITY) return short_scratch(s);
  TG_TRY(status);
  for (int d = 0; d < nv; d++) G[p->to.row[d] + p->to.v[d]] -= h * h * tgi_implicit_stiffness(s, d);
  if (f != NULL) tgi_rows_force_jacobian(s, &s->start, f, &p->to, G);
  for (int k = 0; k < p->n; k++) tgi_factor_solve_rows_at(m, s->L, p->part[k].ndof, p->part[k].dof, p->to.row, p->part[k].width, G);
  for (int d = 0; d < nv; d++) G[p->to.row[d] + p->to.v[d]] += 1;
  tgi_stack_free(s, mark);
  return TG_OK;
}

// X (nrow x nv) = (dA) beta for each dof, A = J Mh^-1 J', M from inverse dynamics with and without the acceleration
static tgStatus response_jacobian(tgSim *s, const tgReal *beta, tgReal *X) {
  const tgModel *m = &s->m;
  int nv = m->nv, n = s->nrow;
  size_t mark = tgi_stack_mark(s), nn = (size_t)nv * (size_t)nv;
  tgReal *a = tgi_stack_real(s, (size_t)nv), *zero = tgi_stack_real(s, (size_t)nv), *R = tgi_stack_real(s, nn),
         *R0 = tgi_stack_real(s, nn), *wrench = tgi_stack_real(s, 6 * (size_t)m->nbody);
  const tgiPlaces *dense = tgi_places_dense(s);
  int *at = tgi_stack_bytes(s, ((size_t)n + 1) * sizeof *at);
  if (a == NULL || zero == NULL || R == NULL || R0 == NULL || wrench == NULL || dense == NULL || at == NULL) return short_scratch(s);
  for (int i = 0; i < n; i++) at[i] = i * nv;
  tgi_rows_tmul(s, beta, a);
  tgi_impulse_solve(s, a, a);
  for (int d = 0; d < nv; d++) zero[d] = 0;
  tgi_rows_wrench(s, &s->start, beta, wrench);
  TG_TRY(tgi_inverse_d(s, &s->start, a, wrench, R, NULL));
  TG_TRY(tgi_inverse_d(s, &s->start, zero, NULL, R0, NULL));
  // R = d(J' beta) - dM a
  for (size_t i = 0; i < nn; i++) R[i] = R0[i] - R[i];
  tgi_rows_force_jacobian(s, &s->start, beta, dense, R);
  memset(X, 0, (size_t)n * (size_t)nv * sizeof *X);
  TG_TRY(tgi_rows_jacobian(s, &s->start, a, NULL, dense, at, X));
  for (int j = 0; j < nv; j++) {
    for (int d = 0; d < nv; d++) a[d] = R[d * nv + j];
    tgi_factor_solve(m, s->L, a);
    for (int i = 0; i < n; i++) X[i * nv + j] += tgi_row_dot(s, s->rows->J, i, a);
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// R_i += scale_i J_i G, over the dofs where J_i is not 0
static void add_row_products(tgSim *s, const tgReal *scale, const tgReal *G, const Parts *p) {
  for (int i = 0; i < s->nrow; i++) {
    const tgReal *J = tgi_row(s, s->rows->J, i), e = scale != NULL ? scale[i] : 1;
    const int *span = s->rows->span + 4 * i;
    int count = 0;
    if (e == 0) continue;
    for (int d = span[0]; d < span[3]; d = d + 1 == span[1] ? span[2] : d + 1, J++) {
      if (*J == 0) continue;
      p->w[count] = e * *J;
      p->at[count++] = p->to.row[d];
    }
    tgi_combine(count, p->w, p->at, G, p->part[s->rows->island[i]].width, p->R + p->row_at[i]);
  }
}

// R = dr for all columns
static tgStatus residual_jacobian(tgSim *s, const Parts *p, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  memset(p->R, 0, p->row_size * sizeof *p->R);
  add_row_products(s, NULL, p->G, p);
  TG_TRY(tgi_rows_jacobian(s, &s->start, s->end.vel, NULL, &p->to, p->row_at, p->R));
  TG_TRY(tgi_rows_gap_jacobian(s, &s->start, s->rows->rate, &p->to, p->row_at, p->R));
  if (tgi_any_bounce(s)) {
    tgReal *free_motion = tgi_stack_real(s, p->size);
    if (free_motion == NULL) return short_scratch(s);
    TG_TRY(balance_jacobian(s, s->vhat, NULL, p, free_motion, clamps));
    add_row_products(s, s->rows->bounce, free_motion, p);
    TG_TRY(tgi_rows_jacobian(s, &s->start, s->vhat, s->rows->bounce, &p->to, p->row_at, p->R));
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// what the split of redundant impulses adds to df, column by column
static void add_null_part(tgSim *s, const Parts *p, const tgReal *X, tgReal *r, tgReal *df) {
  int n = s->nrow, nv = s->m.nv;
  for (int j = 0; j < nv; j++) {
    for (int i = 0; i < n; i++) {
      r[i] = X[i * nv + j];
      df[i] = 0;
    }
    s->contact_model->kind->rows->null_jvp(s, r, df);
    for (int i = 0; i < n; i++)
      if (s->rows->island[i] == p->of_dof[j]) p->R[p->row_at[i] + p->to.q[j]] += df[i];
  }
}

// G += Mh^-1 J' df of an island, of its rows `live`
static void add_response(tgSim *s, const Parts *p, int island, const int *live, int nlive) {
  const Part *part = &p->part[island];
  const int *row = s->rows->island_row + s->rows->island_adr[island];
  for (int k = 0; k < part->ndof; k++) {
    int d = part->dof[k], count = 0;
    for (int a = 0; a < nlive; a++) {
      int own = tgi_row_place(s, row[live[a]], d);
      if (own < 0) continue;
      p->w[count] = tgi_row(s, s->rows->MiJ, row[live[a]])[own];
      p->at[count++] = p->row_at[row[live[a]]];
    }
    tgi_combine(count, p->w, p->at, p->R, part->width, p->G + p->to.row[d]);
  }
}

// G += Mh^-1 J' df
static tgStatus add_impulse_change(tgSim *s, const Parts *p, int *clamps) {
  const tgRowSolver *k = s->contact_model->kind->rows;
  size_t n = (size_t)s->nrow;
  tgReal *r = tgi_stack_real(s, 2 * n), *X = NULL;
  if (r == NULL) return short_scratch(s);
  TG_TRY(residual_jacobian(s, p, clamps));
  if (k->null_part(s, r)) {
    X = tgi_stack_real(s, n * (size_t)s->m.nv);
    if (X == NULL) return short_scratch(s);
    TG_TRY(response_jacobian(s, r, X));
  }
  for (int island = 0; island < s->nisland; island++) {
    const int *row = s->rows->island_row + s->rows->island_adr[island];
    int count = tgi_island_rows(s, island), nlive;
    for (int a = 0; a < count; a++) p->at[a] = p->row_at[row[a]];
    TG_TRY(k->solve_columns(s, island, p->part[island].width, p->at, p->R, p->live, &nlive));
    if (X == NULL) add_response(s, p, island, p->live, nlive);
  }
  if (X == NULL) return TG_OK;
  add_null_part(s, p, X, r, r + n);
  for (int island = 0; island < s->nisland; island++) {
    int count = tgi_island_rows(s, island);
    for (int a = 0; a < count; a++) p->live[a] = a;
    add_response(s, p, island, p->live, count);
  }
  return TG_OK;
}

// the blocks into the dense matrix
static void scatter(const tgSim *s, const Parts *p, tgReal *D) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu;
  if (p->n > 1) memset(D, 0, (size_t)nv * (size_t)nc * sizeof *D);
  for (int d = 0; d < nv; d++) {
    const Part *part = &p->part[p->of_dof[d]];
    const tgReal *g = p->G + p->to.row[d];
    tgReal *out = D + (size_t)d * (size_t)nc;
    if (part->ndof == nv) {
      memcpy(out, g, (size_t)nc * sizeof *out);
      continue;
    }
    for (int k = 0; k < part->ndof; k++) {
      out[part->dof[k]] = g[k];
      out[nv + part->dof[k]] = g[part->ndof + k];
    }
    for (int k = 0; k < part->nact; k++) out[2 * nv + part->act[k]] = g[2 * part->ndof + k];
  }
}

tgStatus tgi_impulse_jacobian(tgSim *s, tgReal *D, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  bool rows = s->nrow > 0 && !tgi_no_contact_gradient(s);
  Parts p;
  tgStatus status = take_parts(s, rows, &p) ? TG_OK : short_scratch(s);
  if (status >= 0) status = balance_jacobian(s, s->end.vel, rows ? s->rows->f : NULL, &p, p.G, clamps);
  if (status >= 0 && rows) status = add_impulse_change(s, &p, clamps);
  if (status >= 0) scatter(s, &p, D);
  tgi_stack_free(s, mark);
  return status;
}
