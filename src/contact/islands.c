// islands.c: see islands.h. Two passes of union-find over the first dofs of the trees, smaller number first, so that the result
// does not depend on the order of the unions.
#include "contact/islands.h"

enum { FIRST, FROM, TO };   // columns of s->tree

static int root_of(const int *parent, int stride, int d) {
  while (parent[stride * d] != d) d = parent[stride * d];
  return d;
}

static int joined(int *parent, int stride, int a, int b) {
  a = root_of(parent, stride, a);
  b = root_of(parent, stride, b);
  int least = a < b ? a : b;
  parent[stride * a] = parent[stride * b] = least;
  return least;
}

void tgi_trees(tgSim *s) {
  const tgModel *m = &s->m;
  int *tree = s->tree;
  for (int d = 0; d < m->nv; d++) tree[3 * d] = m->dof_parent[d] < 0 ? d : tree[3 * m->dof_parent[d]];
  for (int t = 0; t < m->ntendon; t++)
    for (int k = m->ten_adr[t] + 1; k < m->ten_adr[t] + m->ten_num[t]; k++)
      joined(tree, 3, m->jnt_vadr[m->wrap_jnt[k - 1]], m->jnt_vadr[m->wrap_jnt[k]]);
  for (int d = 0; d < m->nv; d++) {
    int first = root_of(tree, 3, d);
    tree[3 * d] = first;
    if (first == d) tree[3 * d + FROM] = d;
    tree[3 * first + TO] = d + 1;
  }
}

// ---- what a row acts on: a dof of each tree, -1 where there is none ----

static int body_dof(const tgModel *m, int body) { return m->body_lastdof[body]; }

static void row_trees(const tgSim *s, int row, int tree[2]) {
  const tgModel *m = &s->m;
  int owner = s->row_owner[row], part = s->row_part[row];
  tree[0] = tree[1] = -1;
  switch ((tgRowKind)s->row_kind[row]) {
    case TG_ROW_NORMAL: case TG_ROW_TANGENT:
      tree[0] = body_dof(m, m->geom_body[s->contact[owner].geom1]);
      tree[1] = body_dof(m, m->geom_body[s->contact[owner].geom2]);
      break;
    case TG_ROW_LIMIT: tree[0] = m->jnt_vadr[part < 2 ? owner : m->wrap_jnt[m->ten_adr[owner]]]; break;
    case TG_ROW_FRICTION: tree[0] = part == 0 ? owner : m->jnt_vadr[m->wrap_jnt[m->ten_adr[owner]]]; break;
    case TG_ROW_EQUALITY:
      if (m->eq_type[owner] == TG_EQ_JOINT) {
        tree[0] = m->jnt_vadr[m->eq_a[owner]];
        if (m->eq_b[owner] >= 0) tree[1] = m->jnt_vadr[m->eq_b[owner]];
      } else {
        tree[0] = body_dof(m, m->eq_a[owner]);
        tree[1] = body_dof(m, m->eq_b[owner]);
      }
      break;
  }
  for (int k = 0; k < 2; k++)
    if (tree[k] >= 0) tree[k] = s->tree[3 * tree[k] + FIRST];
}

// The ranges of both trees, ascending; one range where they overlap.
static void fill_span(const tgSim *s, const int tree[2], int span[4]) {
  int a = tree[0], b = tree[1];
  if (a < 0 || (b >= 0 && s->tree[3 * b + FROM] < s->tree[3 * a + FROM])) {
    a = tree[1];
    b = tree[0];
  }
  span[0] = a < 0 ? 0 : s->tree[3 * a + FROM];
  span[1] = a < 0 ? 0 : s->tree[3 * a + TO];
  span[2] = span[3] = span[1];
  if (b < 0 || a == b) return;
  int from = s->tree[3 * b + FROM], to = s->tree[3 * b + TO];
  if (from >= span[1]) {
    span[2] = from;
    span[3] = to;
  } else if (to > span[1]) {
    span[1] = span[2] = span[3] = to;
  }
}

// island_adr, island_row and row_place from row_island
static void list_rows(tgSim *s) {
  int *adr = s->island_adr;
  for (int k = 0; k <= s->nisland; k++) adr[k] = 0;
  for (int i = 0; i < s->nrow; i++) s->row_place[i] = adr[s->row_island[i] + 1]++;
  for (int k = 0, at = 0; k < s->nisland; k++) {
    s->island_at[k] = at;
    at += adr[k + 1] * adr[k + 1];
    adr[k + 1] += adr[k];
  }
  for (int i = 0; i < s->nrow; i++) s->island_row[adr[s->row_island[i]] + s->row_place[i]] = i;
}

static void list_dofs(tgSim *s) {
  int *adr = s->island_dofadr, nv = s->m.nv;
  for (int k = 0; k <= s->nisland; k++) adr[k] = 0;
  for (int d = 0; d < nv; d++)
    if (s->dof_island[d] >= 0) adr[s->dof_island[d] + 1]++;
  for (int k = 0; k < s->nisland; k++) adr[k + 1] += adr[k];
  for (int d = 0; d < nv; d++)
    if (s->dof_island[d] >= 0) s->island_dof[adr[s->dof_island[d]]++] = d;
  for (int k = s->nisland; k > 0; k--) adr[k] = adr[k - 1];
  adr[0] = 0;
}

void tgi_islands(tgSim *s) {
  int nv = s->m.nv, *root = s->dof_island, *first = s->island_dof;
  s->nisland = 0;
  for (int d = 0; d < nv; d++) {
    root[d] = s->one_island ? 0 : s->tree[3 * d];
    first[d] = -1;    // island whose first dof is d
  }
  int loose = -1;   // island of the rows that act on nothing
  for (int i = 0; i < s->nrow; i++) {
    int tree[2];
    row_trees(s, i, tree);
    fill_span(s, tree, s->row_span + 4 * i);
    int any = tree[0] >= 0 ? tree[0] : tree[1];
    s->row_island[i] = any;
    if (any >= 0 && tree[1] >= 0) joined(root, 1, any, tree[1]);
  }
  for (int i = 0; i < s->nrow; i++) {
    int *island = s->row_island[i] < 0 ? (s->one_island && nv > 0 ? &first[0] : &loose) : &first[root_of(root, 1, s->row_island[i])];
    if (*island < 0) *island = s->nisland++;
    s->row_island[i] = *island;
  }
  // roots are the least dofs of their sets, so those of earlier dofs are final when a dof is reached from above
  for (int d = 0; d < nv; d++) root[d] = root_of(root, 1, d);
  for (int d = 0; d < nv; d++) root[d] = first[root[d]];
  list_rows(s);
  list_dofs(s);
  s->info.nisland = s->nisland;
}
