// islands.h: which dofs a row acts on, and which rows and trees act on each other.
//
// A tree is a set of dofs that the mass matrix, a tendon or a sheet couples (dof_set): a movable body fixed to nothing and all it
// carries; what hangs on bodies that cannot move is in different trees. Rows (contacts, equalities) join trees to islands; bodies that
// cannot move join nothing. A = J Mh^-1 J' is block diagonal over islands, and so is every derivative of the step: each is solved and
// differentiated by itself, at a cost that grows with the number of islands and not with its cube.
// Islands are numbered by their first row; within one, rows and dofs keep their order.
#ifndef TG_CONTACT_ISLANDS_H
#define TG_CONTACT_ISLANDS_H

#include "sim/sim.h"

/// row_span of a row whose kind, owner and part are set.
void tgi_row_find_span(tgSim *s, int row);
/// From the rows: row_island, row_place, island_*, dof_island, s->nisland. With s->one_island all rows and dofs are
/// one. TG_ERR_CAPACITY: no room for the islands' blocks.
tgStatus tgi_islands(tgSim *s);

/// span (2 nv): of each dof the range of dofs that its row of a step's derivative may have numbers for, its island's or its tree's.
void tgi_island_spans(const tgSim *s, int *span);

/// An island of more rows has no block of row_A: its solver takes J and Mh as they are (contact/lcp/sparse.h). One in which dofs of
/// one set lie between those of another has its block all the same, and one of up to TGI_NARROW_ROWS rows, TGI_NARROW or more to each of
/// its dofs: an arm whose links are deep in each other.
enum { TGI_DENSE_ROWS = 150, TGI_NARROW_ROWS = 300, TGI_NARROW = 8 };
static inline bool tgi_island_is_sparse(const tgSim *s, int island) { return s->rows->island_at[island] < 0; }

/// Rows of an island.
static inline int tgi_island_rows(const tgSim *s, int island) { return s->rows->island_adr[island + 1] - s->rows->island_adr[island]; }
/// A_ii.
tgReal tgi_row_diagonal(const tgSim *s, int i);
/// The number of row_A, where the island has a block of it, for rows i and k of one island.
static inline tgReal *tgi_row_A(const tgSim *s, int i, int k) {
  int island = s->rows->island[i];
  return s->rows->A + s->rows->island_at[island] + (size_t)s->rows->place[i] * (size_t)tgi_island_rows(s, island) +
         (size_t)s->rows->place[k];
}

#endif
