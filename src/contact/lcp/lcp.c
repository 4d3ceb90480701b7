// lcp.c: the contact model `lcp`: its workspace, the impulses of a step island by island, its entries.
//
// Based on: [lcp]; [math/lcp The step], [math/lcp Derivative]. The solver (solve.h) is a function on arrays; here it is given the
// sim's rows and a workspace inside the sim.
#include "contact/lcp/lcp.h"

#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "coll/clouds/soft_contacts.h"
#include "coll/contacts.h"
#include "contact/lcp/work.h"
#include "tangere/lcp.h"

// numbers of each row in a record with cones: how it is turned, and its force
enum { RECORDED = 2 };

// Rows of each sort at most in an island, for a capacity. Both ends of a range have rows at once where it is narrow, or where both are near
// for speeds that could close them.
static void most_rows(const tgModel *m, const tgCapacity *z, int n[3]) {
  n[0] = n[1] = n[2] = 0;
  for (int e = 0; e < m->neq; e++) n[0] += m->eq_type[e] == TG_EQ_WELD ? 6 : m->eq_type[e] == TG_EQ_CONNECT ? 3 : 1;
  for (int j = 0; j < m->njnt; j++) n[1] += !m->jnt_limited[j] ? 0 : m->jnt_type[j] == TG_JOINT_BALL ? 1 : 2;
  for (int t = 0; t < m->ntendon; t++) n[1] += m->ten_limited[t] ? 2 : 0;
  n[1] += z->ncon;
  n[2] = z->ndry + m->friction_most * z->ncon;
  for (int k = 0; k < 3; k++)
    if (n[k] > z->widest) n[k] = z->widest;
}

// what an island of n rows keeps; returns the memory of its factorisation
static void *place_island(tgLayout *l, int n, bool sparse, bool cones, tgiLcpIsland *k) {
  size_t rows = (size_t)n, coned = cones ? rows : 0;
  void *kept = tgi_place(l, sparse ? tgi_lcp_sparse_kept_bytes(n) : tgi_lcp_kept_bytes(n), 1);
  k->kind = tgi_place(l, rows, sizeof(int));
  k->parent = tgi_place(l, rows, sizeof(int));
  k->b = tgi_place(l, rows, sizeof(tgReal));
  k->bound = tgi_place(l, rows, sizeof(tgReal));
  k->f = tgi_place(l, rows, sizeof(tgReal));
  k->w = tgi_place(l, rows, sizeof(tgReal));
  k->kept = tgi_place(l, sparse ? rows : 0, sizeof(double));
  k->cone = (tgiCone){.turn = tgi_place(l, coned, sizeof(tgReal)), .b = tgi_place(l, coned, sizeof(tgReal)),
                      .bound = tgi_place(l, coned, sizeof(tgReal)), .work = tgi_place(l, 4 * coned, sizeof(tgReal)),
                      .share = tgi_place(l, coned, sizeof(tgReal)), .chosen = tgi_place(l, coned, 1),
                      .A = tgi_place(l, coned * coned, sizeof(tgReal)), .Z = tgi_place(l, coned * coned, sizeof(tgReal))};
  return kept;
}

static size_t island_bytes(int n, bool cones) {
  tgLayout l = {.base = NULL};
  tgiLcpIsland k;
  place_island(&l, n, false, cones, &k);
  return l.used;
}

// What islands keep together: of n rows q n^2 + l n bytes and rounding up, of which one row has l and the rounding, and
// one of many rows more than q n^2.
static size_t pool_bytes(const tgCapacity *z, bool cones) {
  enum { MANY = 256 };
  size_t rows = tgi_size_mul((size_t)z->nrow + 1, island_bytes(1, cones)),
         squares = tgi_size_mul(z->nA, island_bytes(MANY, cones) / (MANY * MANY) + 1);
  return rows > SIZE_MAX / 4 || squares > SIZE_MAX / 4 ? SIZE_MAX : rows + squares;
}

// the problem of velocities, and that of positions where the rule has one
enum { PROBLEMS = 2 };
static int problems(const tgContact *c) { return tgi_contact_closes(c) || c->kind->two_problems ? PROBLEMS : 1; }

// What islands without a block of A have of the first problem, where there is room for any.
static void place_sparse(const tgModel *m, const tgCapacity *z, tgLayout *l, tgiLcpWork *w) {
  size_t n = (size_t)z->nrow, nv = (size_t)m->nv;
  tgiPattern all;
  tgLayout count = {.base = NULL};
  tgi_pattern_place(&all, m->nv, m->nset, m->set_least, z->nfactor, &count);
  w->sparse_scratch = tgi_place(l, tgi_lcp_sparse_scratch_bytes(z->nrow), 1);
  w->dof = tgi_place(l, 5 * nv, sizeof(tgReal));
  w->own = tgi_place(l, 8 * n, sizeof(tgReal));
  w->krylov = tgi_place(l, tgi_size_mul(n + nv, TGI_KRYLOV + 3), sizeof(double));
  w->hung = tgi_place(l, n * (size_t)m->row_width, sizeof(tgReal));
  // islands take what they need one after another; bytes for rounding up besides
  enum { ROUNDING = 24 * 64 };
  size_t rows = n * (3 * sizeof(int) + sizeof(tgReal)) + 3 * nv * sizeof(int), islands = (size_t)m->nset * ROUNDING;
  w->patterns_bytes = count.used > SIZE_MAX / 8 ? SIZE_MAX / 4 : 2 * count.used + rows + islands;
  w->patterns = tgi_place(l, w->patterns_bytes, 1);
}

// all but the solver's scratch
static void place_work(const tgContact *contact, const tgCapacity *z, bool first, tgLayout *l, tgiLcpWork **work) {
  size_t n = (size_t)z->nrow;
  const tgModel *m = contact->model;
  tgiLcpWork w;
  *work = tgi_place(l, 1, sizeof w);
  w.island = tgi_place(l, n, sizeof *w.island);
  int8_t **bytes[] = {&w.cls, &w.island_cls, &w.tie, &w.failed, &w.aware};
  for (int i = 0; i < 5; i++) *bytes[i] = tgi_place(l, n, 1);
  w.K = tgi_place(l, 3 * n, sizeof(tgReal));
  w.other = tgi_place(l, n, sizeof(tgReal));
  w.scratch = NULL;
  w.patterns = NULL;
  w.patterns_bytes = 0;
  if (z->nfactor > 0 && first) place_sparse(m, z, l, &w);
  w.factors = tgi_place(l, tgi_size_mul(2, z->nfactor), sizeof(tgReal));
  w.pool_bytes = pool_bytes(z, tgi_contact_has_cones(contact));
  w.pool = tgi_place(l, w.pool_bytes, 1);
  if (*work != NULL) **work = w;
}

static void place(const tgContact *c, const tgCapacity *z, tgLayout *l, tgiLcpWork *work[PROBLEMS]) {
  int count[3];
  most_rows(c->model, z, count);
  tgiLcpWork **head = tgi_place(l, PROBLEMS, sizeof *head);
  void *scratch = tgi_place(l, tgi_lcp_scratch_bytes(count[0], count[1], count[2]), 1);
  for (int i = 0; i < PROBLEMS; i++) {
    work[i] = i > 0 ? work[0] : NULL;
    if (i < problems(c)) place_work(c, z, i == 0, l, &work[i]);
    if (head == NULL) continue;
    head[i] = work[i];
    work[i]->scratch = scratch;
  }
}

size_t tgi_lcp_solver_bytes(const tgContact *c, const tgCapacity *z) {
  tgLayout l = {.base = NULL};
  tgiLcpWork *w[PROBLEMS];
  place(c, z, &l, w);
  return l.used;
}

static tgStatus prepare(tgContact *c, tgError *error) {
  const tgLcpOptions *o = (const tgLcpOptions *)(const void *)c->options;
  if (o->bounce_gradient && tgi_contact_closes(c))
    tgi_contact_warn(c, "bounce_gradient does nothing by contact_rule closing, where the gradient goes through the times of impacts");
  if (o->restitution_law == TG_RESTITUTION_POISSON && !tgi_contact_closes(c))
    return tgi_error(error, TG_ERR_ARG, "restitution_law: poisson takes impacts by themselves, which contact_rule: touching does not; use "
                     "contact_rule: closing.");
  TG_TRY(tgi_lcp_cones_supported(c, error));
  if (o->detection != TG_DETECTION_SOFT) return TG_OK;   // every geom of a model is a plane, a sphere, a capsule or has a convex hull
  TG_TRY(tgi_soft_clouds_make(c->model, o->spacing, o->eps1, o->eps2, &c->alloc, &c->soft, error));
  c->scratch = c->soft->scratch;
  return TG_OK;
}

tgStatus tgi_lcp_cones_supported(tgContact *c, tgError *error) {
  const tgImpulseOptions *o = (const tgImpulseOptions *)(const void *)c->options;
  if (o->friction_cone != TG_CONE_ELLIPTIC) return TG_OK;
  if (o->restitution_law == TG_RESTITUTION_POISSON)
    return tgi_error(error, TG_ERR_UNSUPPORTED, "friction_cone: elliptic has no second phase of an impact; use restitution_law: newton, or "
                     "friction_cone: pyramid with poisson.");
  c->recorded = RECORDED;
  for (int p = 0; p < c->model->npair; p++) TG_TRY(tgi_pair_one_friction(c->model, p, error));
  return TG_OK;
}

static void release(tgContact *c) {
  tgi_soft_clouds_free(c->soft);
  c->soft = NULL;
}

// the deepest overlap, which is the usual reason for conditions that contradict each other
static const char *deepest(const tgSim *s, char *text, size_t size) {
  const tgContactRow *worst = NULL;
  for (int i = 0; i < s->ncon; i++)
    if (worst == NULL || tgRe(s->contact[i].gap) < tgRe(worst->gap)) worst = &s->contact[i];
  if (worst == NULL || tgRe(worst->gap) >= -1e-6) {
    snprintf(text, size, " Look for constraints that contradict each other.");
    return text;
  }
  char a[128], b[128];
  snprintf(text, size,
           " The deepest overlap is %.2g m, of %s and %s: move them apart, or exclude contact between their bodies.",
           -tgRe(worst->gap), tgi_model_label(&s->m, TG_THING_GEOM, worst->geom1, a, sizeof a),
           tgi_model_label(&s->m, TG_THING_GEOM, worst->geom2, b, sizeof b));
  return text;
}

// names the first rows that do not fit
static tgStatus report_failure(tgSim *s) {
  const tgiLcpWork *w = tgi_lcp_work(s);
  char label[200] = "no row", overlap[400];
  int failed = 0;
  for (int i = s->nrow - 1; i >= 0; i--) {
    if (!w->failed[i]) continue;
    int body[2];
    failed++;
    tgi_row_label(s, i, label, sizeof label);
    tgi_row_bodies(s, i, body);
    s->info.body1 = body[0];
    s->info.body2 = body[1];
  }
  return tgi_error(&s->error, TG_NOT_CONVERGED,
                   "The contact solve left %d of %d rows with a residual above 1e-8 (worst %.2g), first the %s; the state is unchanged.%s",
                   failed, s->nrow, s->info.residual, label, deepest(s, overlap, sizeof overlap));
}

// numbers of a pattern for each dof that the first try of a step has room for
enum { FIRST_NUMBERS = 64 };

static tgStatus no_room(tgSim *s, size_t wanted) {
  if (wanted > s->wanted.nfactor) s->wanted.nfactor = wanted;
  return tgi_error(&s->error, TG_ERR_CAPACITY, "The factors of islands of many rows need room for %zu numbers, there is some for %zu; "
                   "reserve more and repeat the step.", wanted, s->cap.nfactor);
}

// rows of an island without a block of A by the sets of dofs on which they act
static void list_sparse_rows(const tgSim *s, int index, tgiLcpSparse *a) {
  const tgModel *m = &s->m;
  const int *row = s->rows->island_row + s->rows->island_adr[index], *dof = s->rows->island_dof + s->rows->island_dofadr[index];
  int n = tgi_island_rows(s, index), block = -1;
  int *of = a->at;   // blocks of the dofs, before what it is for
  for (int i = 0; i < a->nd; i++) of[i] = m->dof_set[3 * dof[i]] == dof[i] ? ++block : block;
  tgi_pattern_blocks(&a->pattern, of);
  tgi_pattern_open(&a->pattern);
  for (int i = 0; i < n; i++) {
    const int *span = s->rows->span + 4 * row[i];
    a->row[i] = row[i];
    for (int side = 0; side < 2; side++) {
      int low = 0, high = a->nd;   // the place of the first dof among the island's
      while (low + 1 < high && span[2 * side] < span[2 * side + 1]) {
        int middle = (low + high) / 2;
        if (dof[middle] <= span[2 * side]) low = middle;
        else high = middle;
      }
      a->block[2 * i + side] = span[2 * side] < span[2 * side + 1] ? a->pattern.block[low] : -1;
    }
    a->diagonal[i] = tgi_row_diagonal(s, row[i]);
    if (a->block[2 * i] >= 0 && a->block[2 * i + 1] >= 0) tgi_pattern_couple(&a->pattern, a->block[2 * i], a->block[2 * i + 1]);
  }
  for (int i = 0; i < a->nd; i++) {
    int shift = dof[i] - i;   // that of all dofs of a set
    a->at[3 * i] = m->dof_block[dof[i]] + shift;
    a->at[3 * i + 1] = m->dof_tree[2 * dof[i]] - shift;
    a->at[3 * i + 2] = m->dof_tree[2 * dof[i] + 1] - shift;
  }
}

// sparse of an island; *used: numbers of the matrices of those before, and of this one
static tgStatus open_sparse(tgSim *s, int index, tgLayout *pool, size_t *used) {
  tgiLcpWork *w = tgi_lcp_work_of(s, 0);
  tgiLcpSparse *a = &w->island[index].sparse;
  const int *dof = s->rows->island_dof + s->rows->island_dofadr[index];
  int n = tgi_island_rows(s, index), nd = s->rows->island_dofadr[index + 1] - s->rows->island_dofadr[index], sets = 0;
  if (w->patterns == NULL) return no_room(s, (size_t)s->m.nv * FIRST_NUMBERS);
  for (int i = 0; i < nd; i++) sets += s->m.dof_set[3 * dof[i]] == dof[i];
  size_t nr = (size_t)n;
  *a = (tgiLcpSparse){.nd = nd, .width = s->m.row_width, .J = s->rows->J, .MiJ = s->rows->MiJ, .M = s->Mh,
                       .hung = w->hung, .krylov = w->krylov,
                       .krylov_dof = w->krylov + (size_t)(TGI_KRYLOV + 3) * (size_t)s->cap.nrow};
  tgLayout before = *pool;
  for (int pass = 0; pass < 2; pass++) {   // counted, then placed
    tgLayout l = before;
    if (pass == 0) l.base = NULL;
    a->block = tgi_place(&l, 2 * nr, sizeof(int));
    a->row = tgi_place(&l, nr, sizeof(int));
    a->diagonal = tgi_place(&l, nr, sizeof(tgReal));
    a->at = tgi_place(&l, 3 * (size_t)nd, sizeof(int));
    tgi_pattern_place(&a->pattern, nd, sets, s->m.set_least, s->cap.nfactor - *used, &l);
    if (l.used > w->patterns_bytes) return no_room(s, 2 * s->cap.nfactor);
    *pool = l;
  }
  a->pattern.panels = true;
  for (int k = 0; k < 5; k++) a->dof[k] = w->dof + (size_t)k * (size_t)s->m.nv;
  for (int k = 0; k < 8; k++) a->own[k] = w->own + (size_t)k * (size_t)s->cap.nrow;
  list_sparse_rows(s, index, a);
  bool fits = tgi_pattern_close(&a->pattern);
  *used += a->pattern.size;
  return fits ? TG_OK : no_room(s, *used);
}

// the workspace of the step's islands, nothing solved
static tgStatus open_islands(tgSim *s, tgiLcpWork **of) {
  tgiLcpWork *work[PROBLEMS], *w;
  const tgiLcp *dense = NULL;   // one that has laid out the scratch
  tgLayout l = {.base = s->solver}, pool, patterns;
  size_t used = 0, factors = 0;
  int count[3];
  if (s->problem == 0) place(s->contact_model, &s->cap, &l, work);   // both: the first problem is opened first
  w = tgi_lcp_work_of(s, s->problem);
  pool = (tgLayout){.base = w->pool};
  patterns = (tgLayout){.base = w->patterns};
  for (int index = 0; index < s->nisland && s->problem > 0 && dense == NULL; index++)
    if (!tgi_island_is_sparse(s, index)) dense = &tgi_lcp_work_of(s, 0)->island[index].lcp;
  for (int i = 0; i < s->nrow; i++) {
    w->cls[i] = (int8_t)s->rows->class[i];
    w->tie[i] = w->failed[i] = w->aware[i] = 0;
  }
  for (int index = 0; index < s->nisland; index++) {
    tgiLcpIsland *k = &w->island[index];
    int n = tgi_island_rows(s, index);
    bool sparse = tgi_island_is_sparse(s, index);
    void *kept = place_island(&pool, n, sparse, tgi_has_cones(s), k);
    k->damped = k->left = k->tries = k->stage = 0;
    k->agreed = false;
    k->moved = false;
    k->again = false;
    k->rung = s->problem > 0 ? tgi_lcp_work_of(s, 0)->island[index].rung : 0;
    if (sparse) {
      if (s->problem == 0) TG_TRY(open_sparse(s, index, &patterns, &used));
      const tgiLcpWork *first = tgi_lcp_work_of(s, 0);
      tgi_lcp_init_sparse(&k->lcp, kept, n, first->sparse_scratch, s->cap.nrow, w->factors + factors);
      factors += 2 * first->island[index].sparse.pattern.size;
    } else if (dense != NULL) {
      tgi_lcp_init_beside(&k->lcp, kept, n, dense);
    } else {
      most_rows(s->model, &s->cap, count);
      tgi_lcp_init_apart(&k->lcp, kept, n, w->scratch, count[0], count[1], count[2]);
      dense = &k->lcp;
    }
  }
  w->pool_used = pool.used;
  *of = w;
  return TG_OK;
}

tgStatus tgi_lcp_room_for_matrix(tgSim *s, int index, tgiLcp *dense, tgReal **A) {
  tgiLcpWork *w = tgi_lcp_work(s);
  int n = tgi_island_rows(s, index), count[3];
  size_t used = 0, nn = (size_t)n * (size_t)n;
  for (int k = 0; k < s->nisland; k++) {
    size_t rows = (size_t)tgi_island_rows(s, k);
    if (!tgi_island_is_sparse(s, k)) used += rows * rows;
  }
  if (used + nn > s->wanted.nA) s->wanted.nA = used + nn;
  if (n > s->wanted.widest) s->wanted.widest = n;
  if (used + nn > s->cap.nA || n > s->cap.widest)
    return tgi_error(&s->error, TG_ERR_CAPACITY, "The contact solve needs the matrix of an island of %d rows; reserve more and repeat the "
                     "step.", n);
  tgLayout pool = {.base = w->pool, .used = w->pool_used};
  most_rows(s->model, &s->cap, count);
  tgi_lcp_init_apart(dense, tgi_place(&pool, tgi_lcp_kept_bytes(n), 1), n, w->scratch, count[0], count[1], count[2]);
  *A = s->rows->A + used;
  return TG_OK;
}

// the islands' classes to their rows; worst: of their solves
static tgStatus answered(tgSim *s, const tgiLcpWork *w, tgStatus worst) {
  for (int i = 0; i < s->nrow; i++) s->rows->class[i] = w->cls[i];
  if (worst != TG_OK && tgi_impulse_options(s)->unsolved == TG_UNSOLVED_GO_ON && isfinite(s->info.residual)) worst = TG_OK;
  return worst == TG_OK ? TG_OK : report_failure(s);
}

static tgStatus impulses(tgSim *s) {
  tgiLcpWork *w;
  tgStatus worst = TG_OK;
  if (s->problem == 0) s->info.rank = 0;
  TG_TRY(open_islands(s, &w));
  for (int index = 0; index < s->nisland; index++) {
    tgStatus status = tgi_lcp_solve_island(s, index);
    if (status < 0 || status == TG_CANCELLED) return status;
    if (status != TG_OK) worst = status;
  }
  return s->pinned ? TG_OK : answered(s, w, worst);
}

// islands have a row at least
static size_t record_bytes(const tgSim *s) {
  return (size_t)s->cap.nrow * tgi_lcp_island_record_bytes(1, tgi_has_cones(s) ? RECORDED : s->cap.nfactor > 0);
}

static void record(const tgSim *s, void *to) {
  uint8_t *at = to;
  for (int index = 0; index < s->nisland; index++) {
    tgi_lcp_record_island(s, index, at);
    at += tgi_lcp_island_record_bytes(tgi_island_rows(s, index), tgi_lcp_recorded(s, index));
  }
}

static tgStatus recall(tgSim *s, const void *from) {
  tgiLcpWork *w;
  const uint8_t *at = from;
  if (s->problem == 0) s->info.rank = 0;
  TG_TRY(open_islands(s, &w));
  for (int index = 0; index < s->nisland; index++) {
    tgi_lcp_recall_island(s, index, at);
    s->info.rank += w->island[index].lcp.rank;
    at += tgi_lcp_island_record_bytes(tgi_island_rows(s, index), tgi_lcp_recorded(s, index));
  }
  for (int i = 0; i < s->nrow; i++) s->rows->class[i] = w->cls[i];
  return TG_OK;
}

// Islands whose factorisation the solver keeps as it is: those with a block of A and without cones.
static tgStatus again(tgSim *s, const void *from) {
  tgiLcpWork *w = tgi_lcp_work(s);
  const uint8_t *at = from;
  tgStatus worst = TG_OK;
  bool kept = !tgi_has_cones(s) && !s->nothing_shared;
  for (int index = 0; index < s->nisland && from == NULL; index++) s->info.rank -= w->island[index].lcp.rank;   // that of this time counts
  for (int index = 0; index < s->nisland && kept; index++) kept = !tgi_island_is_sparse(s, index) && w->island[index].rung == 0;
  if (!kept) return from != NULL ? recall(s, from) : impulses(s);
  for (int i = 0; i < s->nrow; i++) {
    w->cls[i] = (int8_t)s->rows->class[i];
    w->tie[i] = w->failed[i] = w->aware[i] = 0;
  }
  for (int index = 0; index < s->nisland; index++) {
    tgiLcpIsland *k = &w->island[index];
    k->damped = k->left = k->stage = 0;
    k->agreed = false;
    k->moved = false;
    k->again = true;
    if (from == NULL) {
      tgStatus status = tgi_lcp_solve_island(s, index);
      if (status < 0 || status == TG_CANCELLED) return status;
      if (status != TG_OK) worst = status;
      continue;
    }
    tgi_lcp_recall_island(s, index, at);
    at += tgi_lcp_island_record_bytes(tgi_island_rows(s, index), tgi_lcp_recorded(s, index));
  }
  return s->pinned ? TG_OK : answered(s, w, worst);
}

static tgStatus rebound(tgSim *s, const void *from) {
  tgiLcpWork *w;
  const uint8_t *at = from;
  TG_TRY(open_islands(s, &w));
  for (int index = 0; index < s->nisland; index++) {
    tgStatus status = tgi_lcp_rebound_island(s, index, at);
    if (status != TG_OK) return status;
    if (at != NULL) at += tgi_lcp_island_record_bytes(tgi_island_rows(s, index), tgi_lcp_recorded(s, index));
  }
  for (int i = 0; i < s->nrow; i++) s->rows->class[i] = w->cls[i];
  return TG_OK;
}

static int ambiguous(tgSim *s, bool two, int *row) {
  int count = 0;
  for (int index = 0; index < s->nisland; index++) {
    int at = tgi_lcp_other_answer(s, 0, index);
    if (at < 0 && two) at = tgi_lcp_other_answer(s, 1, index);
    if (at >= 0 && count++ == 0) *row = at;
  }
  return count;
}

#define LCP(kind, ...) TGI_OPTION_##kind(tgLcpOptions, __VA_ARGS__)
static const tgiOption option[] = {TG_IMPULSE_OPTIONS(LCP) TG_LCP_OPTIONS(LCP)};

static bool presses(int cls) { return cls == TGI_LCP_C; }
static int holding(int kind) { return kind == TG_ROW_TANGENT ? TGI_LCP_F : TGI_LCP_C; }

const tgRowSolver tgi_lcp_rows = {
    .solve = impulses,
    .record_bytes = record_bytes,
    .record = record,
    .recall = recall,
    .again = again,
    .rebound = rebound,
    .ambiguous = ambiguous,
    .solve_jvp = tgi_lcp_tangent,
    .solve_columns = tgi_lcp_solve_columns,
    .solve_vjp = tgi_lcp_adjoint,
    .aware_adjoint = tgi_lcp_aware_adjoint,
    .null_part = tgi_lcp_null_part,
    .null_jvp = tgi_lcp_null_tangent,
    .null_vjp = tgi_lcp_null_adjoint,
    .null_has_bounds = tgi_lcp_null_has_bounds,
    .side = tgi_lcp_side,
    .presses = presses,
    .holding = holding,
};

// of a step that is cut, summed over its parts
static int touches(const tgSim *s) { return s->npart > 1 ? tgi_touches_summed(s) : tgi_rows_touches(s); }
static bool touch(const tgSim *s, int i, tgContactInfo *out) {
  return s->npart > 1 ? tgi_touch_summed(s, i, out) : tgi_rows_touch(s, i, out);
}

// friction along two axes by itself is up to 1.4 times as strong between them
const tgContactDoubt tgi_lcp_doubts[] = {
    {.name = "cone", .option = "friction_cone", .word = "elliptic", .asked = true},
    {.name = NULL}};

const tgContactModel tgi_lcp_model = {
    .word = "lcp",
    .stepper = "impulse",
    .options = TGI_OPTION_LIST(option, tgLcpOptions),
    .solver_bytes = tgi_lcp_solver_bytes,
    .prepare = prepare,
    .release = release,
    .nonsmooth = tgi_lcp_nonsmooth,
    .touches = touches,
    .touch = touch,
    .doubts = tgi_lcp_doubts,
    .rigid = true,
    .rows = &tgi_lcp_rows,
};
