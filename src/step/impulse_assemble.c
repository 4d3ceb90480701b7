// impulse_assemble.c: what the rows of a step answer to their impulses: A = J Mh^-1 J', and row_MiJ = J Mh^-1. See impulse_part.h.
#include "step/impulse_part.h"

#include <string.h>

#include "contact/islands.h"
#include "dyn/dynamics.h"
#include "math/combine.h"
#include "sim/row.h"
#include "step/step.h"

// Work of assembling an island, one set of coupled dofs after the other: the rows that act on the set stand as
// columns, padded to full vectors.
typedef struct Assembly {
  tgReal *X, *w, *product;   // dofs of the set x rows, numbers of one row, its row of A
  int *at, *used;            // places in X of a dof's row (by dof), of those that a row has numbers for
  int *dof, *row, *own;      // of the set; rows by their place in the island, and their place of the set's first dof
  int *run, nrun;            // rows that follow each other in the island: where each such run begins among the set's, then the end
} Assembly;

static bool take_assembly(tgSim *s, int rows, Assembly *w) {
  size_t nv = (size_t)s->m.nv, set = (size_t)s->m.set_width, width = (size_t)(rows + TGI_LANES - 1) / TGI_LANES * TGI_LANES;
  w->X = tgi_stack_real(s, set * width + TGI_LANES);   // a run's last vector goes beyond its rows
  w->product = tgi_stack_real(s, width + 1);
  w->w = tgi_stack_real(s, set + 1);
  w->at = tgi_stack_bytes(s, (nv + 2 * set + 3 * (size_t)rows + 2) * sizeof *w->at);
  w->used = w->at + nv;
  w->dof = w->used + set;
  w->row = w->dof + set;
  w->own = w->row + rows;
  w->run = w->own + rows;
  return w->X != NULL && w->product != NULL && w->w != NULL && w->at != NULL;
}

static void find_runs(Assembly *w, int rows) {
  w->nrun = 0;
  for (int b = 0; b < rows; b++)
    if (b == 0 || w->row[b] != w->row[b - 1] + 1) w->run[w->nrun++] = b;
  w->run[w->nrun] = rows;
}

// A's row b += w X on the set's rows up to end, wherever they are
static void add_apart(const Assembly *w, int end, int terms, tgReal *Ab) {
  int width = (end + TGI_LANES - 1) / TGI_LANES * TGI_LANES;
  for (int e = 0; e < width; e++) w->product[e] = e < end ? Ab[w->row[e]] : 0;
  tgi_combine(terms, w->w, w->used, w->X, width, w->product);
  for (int e = 0; e < end; e++) Ab[w->row[e]] = w->product[e];
}

// The same of those from k up to end, which follow each other, in place. beyond: how many numbers after them may be written to.
static void add_run(const Assembly *w, int k, int end, int beyond, int terms, tgReal *Ab) {
  int count = end - k, up = (count + TGI_LANES - 1) / TGI_LANES * TGI_LANES;
  int in_place = up - count <= beyond ? up : count / TGI_LANES * TGI_LANES;
  tgi_combine(terms, w->w, w->used, w->X + k, in_place, Ab + w->row[k]);
  for (int e = k + in_place; e < end; e++)
    for (int t = 0; t < terms; t++) Ab[w->row[e]] += w->w[t] * w->X[w->used[t] + e];
}

// A's row b of the set up to its diagonal += w X; what is beyond in memory is mirrored later
static void add_products(const Assembly *w, int b, int terms, tgReal *Ab, int n) {
  enum { LONG = 2 * TGI_LANES };   // runs that are worth it
  if (w->nrun * LONG > w->run[w->nrun]) {
    add_apart(w, b + 1, terms, Ab);
    return;
  }
  for (int r = 0; r < w->nrun && w->run[r] <= b; r++) {
    bool last = b < w->run[r + 1];
    add_run(w, w->run[r], last ? b + 1 : w->run[r + 1], last ? n - 1 - w->row[b] : 0, terms, Ab);
  }
}

// row_MiJ = J Mh^-1 on the set that begins with dof `first`, and its share of A = J Mh^-1 J'
static void assemble_set(tgSim *s, int island, int first, Assembly *w) {
  const int *range = s->m.dof_set + 3 * first, *row = s->rows->island_row + s->rows->island_adr[island];
  int n = tgi_island_rows(s, island), rows = 0, count = 0;
  tgReal *A = s->rows->A + s->rows->island_at[island];
  for (int a = 0; a < n; a++) {
    int own = tgi_row_place(s, row[a], first);
    // not on it, or on a set that lies across
    if (own < 0 || tgi_row_place(s, row[a], range[2] - 1) != own + range[2] - 1 - first) continue;
    w->row[rows] = a;
    w->own[rows++] = own;
  }
  find_runs(w, rows);
  int width = (rows + TGI_LANES - 1) / TGI_LANES * TGI_LANES;
  for (int d = range[1]; d < range[2]; d++) {
    if (s->m.dof_set[3 * d] != first) continue;
    w->dof[count] = d;
    w->at[d] = count++ * width;
  }
  for (int b = 0; b < width; b++) {
    const tgReal *J = b < rows ? tgi_row(s, s->rows->J, row[w->row[b]]) + w->own[b] : NULL;
    for (int k = 0; k < count; k++) w->X[k * width + b] = J != NULL ? J[w->dof[k] - first] : 0;
  }
  tgi_factor_solve_rows_at(&s->m, s->L, count, w->dof, w->at, width, w->X);
  for (int b = 0; b < rows; b++) {
    const tgReal *J = tgi_row(s, s->rows->J, row[w->row[b]]) + w->own[b];
    tgReal *MiJ = tgi_row(s, s->rows->MiJ, row[w->row[b]]) + w->own[b];
    int terms = 0;
    for (int k = 0; k < count; k++) {
      int d = w->dof[k] - first;
      MiJ[d] = w->X[k * width + b];
      if (J[d] == 0) continue;
      w->w[terms] = J[d];
      w->used[terms++] = k * width;
    }
    add_products(w, b, terms, A + (size_t)w->row[b] * (size_t)n, n);
  }
}

// the trees' sets of an island in ascending order; A is summed below its diagonal, then mirrored
static tgStatus assemble_island(tgSim *s, int island) {
  size_t mark = tgi_stack_mark(s), n = (size_t)tgi_island_rows(s, island);
  tgReal *A = s->rows->A + s->rows->island_at[island];
  Assembly w;
  if (!take_assembly(s, (int)n, &w)) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for a step; reserve more and repeat.");
  for (size_t i = 0; i < n; i++) {
    size_t up = i + TGI_LANES;   // what vectors up to the diagonal read
    memset(A + i * n, 0, (up < n ? up : n) * sizeof *A);
    int row = s->rows->island_row[(size_t)s->rows->island_adr[island] + i];
    memset(tgi_row(s, s->rows->MiJ, row), 0, (size_t)tgi_row_length(s, row) * sizeof *s->rows->MiJ);
  }
  for (int k = s->rows->island_dofadr[island]; k < s->rows->island_dofadr[island + 1]; k++)
    if (s->m.dof_set[3 * s->rows->island_dof[k]] == s->rows->island_dof[k]) assemble_set(s, island, s->rows->island_dof[k], &w);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < i; k++) A[k * n + i] = A[i * n + k];
  tgi_stack_free(s, mark);
  return TG_OK;
}

// row_MiJ of an island whose block of A is not formed
static tgStatus respond_rows(tgSim *s, int island) {
  size_t mark = tgi_stack_mark(s);
  tgReal *x = tgi_stack_real(s, (size_t)s->m.nv);
  if (x == NULL) return tgi_no_room(s, "rows");
  for (int a = s->rows->island_adr[island]; a < s->rows->island_adr[island + 1]; a++) {
    int i = s->rows->island_row[a];
    const int *span = s->rows->span + 4 * i;
    const tgReal *J = tgi_row(s, s->rows->J, i);
    tgReal *MiJ = tgi_row(s, s->rows->MiJ, i);
    for (int side = 0; side < 4; side += 2) {
      if (span[side] == span[side + 1]) continue;
      for (int d = span[side]; d < span[side + 1]; d++) x[d] = *J++;
      tgi_factor_solve_range(&s->m, s->L, span[side], span[side + 1], x);
      for (int d = span[side]; d < span[side + 1]; d++) *MiJ++ = x[d];
    }
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_impulse_assemble(tgSim *s) {
  for (int island = 0; island < s->nisland; island++)
    TG_TRY(tgi_island_is_sparse(s, island) ? respond_rows(s, island) : assemble_island(s, island));
  return TG_OK;
}
