// islands.c: see islands.h. Union-find over the first dofs of the trees, smaller number first, so that the result does
// not depend on the order of the unions.
#include "contact/islands.h"
#include "contact/contact.h"
#include "joint/joint.h"

#include "sim/row.h"

enum { FIRST, FROM, TO };   // columns of dof_set

// the paths on the way are halved: what they lead to stays
static int root_of(int *parent, int d) {
  while (parent[d] != d) d = parent[d] = parent[parent[d]];
  return d;
}

static void join(int *parent, int a, int b) {
  a = root_of(parent, a);
  b = root_of(parent, b);
  parent[a] = parent[b] = a < b ? a : b;
}

// ---- what a row acts on: a dof of each tree, -1 where there is none ----

static int body_dof(const tgModel *m, int body) { return m->body_lastdof[body]; }

static void row_trees(const tgSim *s, int row, int tree[2]) {
  const tgModel *m = &s->m;
  int owner = s->rows->owner[row], part = s->rows->part[row];
  tree[0] = tree[1] = -1;
  switch ((tgRowKind)s->rows->kind[row]) {
    case TG_ROW_NORMAL: case TG_ROW_TANGENT:
      tree[0] = body_dof(m, m->geom_body[s->contact[owner].geom1]);
      tree[1] = body_dof(m, m->geom_body[s->contact[owner].geom2]);
      break;
    case TG_ROW_LIMIT: tree[0] = part < 2 ? m->jnt_vadr[owner] : tgi_tendon_lead(m, owner); break;
    case TG_ROW_FRICTION: tree[0] = part == 0 ? owner : tgi_tendon_lead(m, owner); break;
    case TG_ROW_EQUALITY:
      for (int k = 0; k < 2; k++)
        tree[k] = tgi_is_tie(m, owner) ? tgi_tie_lead(m, owner, k) : body_dof(m, k == 0 ? m->eq_a[owner] : m->eq_b[owner]);
      break;
  }
  for (int k = 0; k < 2; k++)
    if (tree[k] >= 0) tree[k] = s->m.dof_set[3 * tree[k] + FIRST];
}

// The ranges of both trees, ascending; one range where they overlap.
void tgi_row_find_span(tgSim *s, int row) {
  int tree[2], *span = s->rows->span + 4 * row;
  row_trees(s, row, tree);
  int a = tree[0], b = tree[1];
  if (a < 0 || (b >= 0 && s->m.dof_set[3 * b + FROM] < s->m.dof_set[3 * a + FROM])) {
    a = tree[1];
    b = tree[0];
  }
  span[0] = a < 0 ? 0 : s->m.dof_set[3 * a + FROM];
  span[1] = a < 0 ? 0 : s->m.dof_set[3 * a + TO];
  span[2] = span[3] = span[1];
  if (b < 0 || a == b) return;
  int from = s->m.dof_set[3 * b + FROM], to = s->m.dof_set[3 * b + TO];
  if (from >= span[1]) {
    span[2] = from;
    span[3] = to;
  } else if (to > span[1]) {
    span[1] = span[2] = span[3] = to;
  }
}

// Has every set of the island's dofs neighbouring dofs?
static bool sets_are_whole(const tgSim *s, int island) {
  for (int d = 0; d < s->m.nv; d++) {
    const int *set = s->m.dof_set + 3 * d;
    if (s->rows->dof_island[d] != island || set[FIRST] != d) continue;
    for (int e = set[FROM]; e < set[TO]; e++)
      if (s->m.dof_set[3 * e] != d) return false;
  }
  return true;
}

static bool has_block(const tgSim *s, int island, int n) {
  int dofs = s->rows->island_dofadr[island + 1] - s->rows->island_dofadr[island], most = s->dense_rows;
  if (most == 0) most = n <= TGI_NARROW_ROWS && TGI_NARROW * dofs <= n ? TGI_NARROW_ROWS : TGI_DENSE_ROWS;
  return n <= most || tgi_has_cones(s) || s->one_island || !sets_are_whole(s, island);
}

// island_adr, island_row, island_at and row_place from row_island and island_dofadr; false: there is no room for their blocks
static bool list_rows(tgSim *s) {
  int *adr = s->rows->island_adr;
  for (int k = 0; k <= s->nisland; k++) adr[k] = 0;
  for (int i = 0; i < s->nrow; i++) s->rows->place[i] = adr[s->rows->island[i] + 1]++;
  size_t at = 0;
  int widest = 0;
  for (int k = 0; k < s->nisland; k++) {
    int n = adr[k + 1];
    bool block = has_block(s, k, n);
    s->rows->island_at[k] = block ? (int)at : -1;
    if (block) at += (size_t)n * (size_t)n;
    if (block && n > widest) widest = n;
    adr[k + 1] += adr[k];
  }
  if (at > s->wanted.nA) s->wanted.nA = at;
  if (widest > s->wanted.widest) s->wanted.widest = widest;
  for (int i = 0; i < s->nrow; i++) s->rows->island_row[adr[s->rows->island[i]] + s->rows->place[i]] = i;
  return at <= s->cap.nA && widest <= s->cap.widest;
}

static void list_dofs(tgSim *s) {
  int *adr = s->rows->island_dofadr, nv = s->m.nv;
  for (int k = 0; k <= s->nisland; k++) adr[k] = 0;
  for (int d = 0; d < nv; d++)
    if (s->rows->dof_island[d] >= 0) adr[s->rows->dof_island[d] + 1]++;
  for (int k = 0; k < s->nisland; k++) adr[k + 1] += adr[k];
  for (int d = 0; d < nv; d++)
    if (s->rows->dof_island[d] >= 0) s->rows->island_dof[adr[s->rows->dof_island[d]]++] = d;
  for (int k = s->nisland; k > 0; k--) adr[k] = adr[k - 1];
  adr[0] = 0;
}

tgStatus tgi_islands(tgSim *s) {
  int nv = s->m.nv, *root = s->rows->dof_island, *first = s->rows->island_dof;
  s->nisland = 0;
  for (int d = 0; d < nv; d++) {
    root[d] = s->one_island ? 0 : s->m.dof_set[3 * d];
    first[d] = -1;    // island whose first dof is d
  }
  int loose = -1;   // island of the rows that act on nothing
  for (int i = 0; i < s->nrow; i++) {
    int tree[2];
    row_trees(s, i, tree);
    int any = tree[0] >= 0 ? tree[0] : tree[1];
    s->rows->island[i] = any;
    if (any >= 0 && tree[1] >= 0) join(root, any, tree[1]);
  }
  for (int i = 0; i < s->nrow; i++) {
    int *island = s->rows->island[i] < 0 ? (s->one_island && nv > 0 ? &first[0] : &loose) : &first[root_of(root, s->rows->island[i])];
    if (*island < 0) *island = s->nisland++;
    s->rows->island[i] = *island;
  }
  // roots are the least dofs of their sets, so those of earlier dofs are final when a dof is reached from above
  for (int d = 0; d < nv; d++) root[d] = root_of(root, d);
  for (int d = 0; d < nv; d++) root[d] = first[root[d]];
  list_dofs(s);
  bool room = list_rows(s);
  s->info.nisland = s->nisland;
  if (room) return TG_OK;
  return tgi_error(&s->error, TG_ERR_CAPACITY,
                   "Rows that act on each other need room for %zu numbers, there is some for %zu; reserve more and "
                   "repeat the step.", s->wanted.nA, s->cap.nA);
}

tgReal tgi_row_diagonal(const tgSim *s, int i) {
  const tgReal *J = tgi_row(s, s->rows->J, i), *MiJ = tgi_row(s, s->rows->MiJ, i);
  tgReal sum = 0;
  if (!tgi_island_is_sparse(s, s->rows->island[i])) return *tgi_row_A(s, i, i);
  for (int d = 0; d < tgi_row_length(s, i); d++) sum += J[d] * MiJ[d];
  return sum;
}

void tgi_island_spans(const tgSim *s, int *span) {
  for (int d = 0; d < s->m.nv; d++) {
    int island = s->nrow > 0 ? s->rows->dof_island[d] : -1;
    const int *tree = s->m.dof_set + 3 * s->m.dof_set[3 * d];
    span[2 * d] = island >= 0 ? s->rows->island_dof[s->rows->island_dofadr[island]] : tree[1];
    span[2 * d + 1] = island >= 0 ? s->rows->island_dof[s->rows->island_dofadr[island + 1] - 1] + 1 : tree[2];
  }
}
