// work.h: private to contact/lcp: the workspace that the model keeps in a sim, and its parts: islands solved (island.c), differentiated
// (derivative.c), their non-smooth points (nonsmooth.c).
#ifndef TG_CONTACT_LCP_WORK_H
#define TG_CONTACT_LCP_WORK_H

#include "contact/islands.h"
#include "contact/lcp/cone.h"
#include "contact/lcp/sparse.h"
#include "contact/rows.h"

/// One island: its rows in their own numbering, and the factorisation that its derivative needs
typedef struct tgiLcpIsland {
  tgiLcp lcp;
  tgiLcpProblem problem;
  tgiLcpSparse sparse;       // of an island without a block of A; that of the first problem is the second one's too
  int *kind, *parent;
  tgReal *b, *bound, *f, *w;
  tgiCone cone;              // of friction in cones: what lcp has solved is cone.turned
  double *kept;              // of an island without a block of A: impulses by the forces of the step before
  int damped;                // how often its restitution was taken back
  int left;                  // errors left as they were
  bool agreed;               // b is without what its equalities cannot be given together
  int rung;                  // of friction taken back where there was no answer: whole, a half, a quarter, none
  int tries;                 // solves so far
  int stage;                 // tgiLcpStage that gave the answer, TGI_LCP_FAILED: none did, or it is from a record
  bool moved;                // its classes are others than the solve began with
  bool again;                // the next solve or recall is of the same problem but for b
  double fastest;            // of the terms of J vhat
} tgiLcpIsland;

/// tgStepInfo.fallback.
enum { TGI_FALLBACK_FRICTION = 1, TGI_FALLBACK_RESIDUAL = 2 };

/// The workspace in a sim.
typedef struct tgiLcpWork {
  tgiLcpIsland *island;      // as many as the step has
  int8_t *cls, *island_cls;  // cap.nrow: classes in and out, all and of one island
  int8_t *tie, *failed;      // cap.nrow: what the solver said of the row
  int8_t *aware;             // cap.nrow: island with classes of the aware gradient in the last adjoint
  tgReal *K;                 // three vectors of cap.nrow
  tgReal *other;             // cap.nrow: adjoint of the aware gradient
  void *scratch;             // of the solver, shared by the islands
  // of islands without a block of A; NULL where there is no room for any
  void *sparse_scratch;
  tgReal *dof, *own, *hung;  // work of tgiLcpSparse
  double *krylov;
  char *patterns;            // their rows and patterns
  size_t patterns_bytes;
  tgReal *factors;           // 2 cap.nfactor: of this problem
  char *pool;                // what the islands keep
  size_t pool_bytes, pool_used;
} tgiLcpWork;

/// One for each problem over the rows (tgi_rows_select), with the scratch in common.
static inline tgiLcpWork *tgi_lcp_work_of(const tgSim *s, int problem) { return ((tgiLcpWork *const *)s->solver)[problem]; }
static inline tgiLcpWork *tgi_lcp_work(const tgSim *s) { return tgi_lcp_work_of(s, s->problem); }

/// The velocities' solve of an island, whose matrix is that of the positions' problem too; NULL in the velocities' own, where either has
/// less friction than the other, and with s->nothing_shared.
static inline const tgiLcp *tgi_lcp_velocities_solve(const tgSim *s, int index) {
  const tgiLcpIsland *first = &tgi_lcp_work_of(s, 0)->island[index];
  bool same = s->problem == 1 && !s->nothing_shared && !tgi_has_cones(s) && first->rung == tgi_lcp_work(s)->island[index].rung;
  return same ? &first->lcp : NULL;
}

/// Solves one island from the classes of work->cls, which become those of the answer.
tgStatus tgi_lcp_solve_island(tgSim *s, int index);

/// What is recorded of an island (2 bytes, one for each row, and so many doubles for each row: without a block of A one, with cones two),
/// and its impulses and factorisation from that.
size_t tgi_lcp_island_record_bytes(int n, int doubles);
static inline int tgi_lcp_recorded(const tgSim *s, int index) { return tgi_has_cones(s) ? 2 : tgi_island_is_sparse(s, index) ? 1 : 0; }
void tgi_lcp_record_island(const tgSim *s, int index, uint8_t *to);
void tgi_lcp_recall_island(tgSim *s, int index, const uint8_t *from);

/// Has the island's problem another answer? The row of the sim at which they differ; -1: none is known.
int tgi_lcp_other_answer(tgSim *s, int problem, int index);

/// The rows of an island as a problem of its own; its answer to its rows.
void tgi_lcp_extract(tgSim *s, int index, tgiLcpIsland *k);
void tgi_lcp_spread(tgSim *s, int index);

/// Takes out of k->b what its equalities ask for and cannot be given together (agree.c). False: there is no such part, and nothing is
/// changed; so it is of an island without a block of A.
bool tgi_lcp_agree(tgiLcpIsland *k);

/// The second phase of an impact by Poisson's law, of one island, from what b says (rebound.c). from: its record; NULL: it is solved for.
tgStatus tgi_lcp_rebound_island(tgSim *s, int index, const uint8_t *from);

/// Room for the matrix of an island without a block of A, n x n, and for its solve. TG_ERR_CAPACITY: there is none.
tgStatus tgi_lcp_room_for_matrix(tgSim *s, int index, tgiLcp *dense, tgReal **A);

/// The island has no block of A, or turned friction, and how its redundant rows share their forces moves its bodies; the derivative holds
/// that as it is.
bool tgi_lcp_holds_split(const tgSim *s, int index);
/// Friction in cones turns rows of the island's problem.
static inline bool tgi_lcp_turns(const tgSim *s, int index) { return tgi_has_cones(s) && tgi_lcp_work(s)->island[index].cone.any; }
/// x (of the island's rows) along the tangents as they are to those of its problem, and from them; the adjoint of the one is the other.
static inline void tgi_lcp_turn(const tgSim *s, int index, tgReal *x) {
  if (tgi_lcp_turns(s, index)) tgi_cone_turn(&tgi_lcp_work(s)->island[index].cone, x);
}
static inline void tgi_lcp_turn_back(const tgSim *s, int index, tgReal *x) {
  if (tgi_lcp_turns(s, index)) tgi_cone_back(&tgi_lcp_work(s)->island[index].cone, x);
}

// entries of tgRowSolver
void tgi_lcp_tangent(const tgSim *s, const tgReal *r, tgReal *df);
tgStatus tgi_lcp_solve_columns(tgSim *s, int island, bool forces, int n, const int *at, tgReal *X, int *live, int *nlive);
void tgi_lcp_adjoint(const tgSim *s, const tgReal *g, tgReal *rbar);
void tgi_lcp_aware_adjoint(tgSim *s, const tgReal *z, const tgReal *lambda, const tgReal *g, tgReal *y);
bool tgi_lcp_null_part(const tgSim *s, bool forces, tgReal *beta);
void tgi_lcp_null_tangent(const tgSim *s, const tgReal *x, tgReal *df);
void tgi_lcp_null_adjoint(const tgSim *s, const tgReal *g, tgReal *alpha);
bool tgi_lcp_null_has_bounds(const tgSim *s, int row);
tgReal tgi_lcp_side(const tgSim *s, int row);

#endif
