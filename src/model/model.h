// model.h: the compiled model as the engine sees it: plain const arrays, one block.
//
// body_*, jnt_*, dof_* follow MuJoCo's layout of q and v. A simulation keeps a shallow copy of this struct whose real
// arrays point to its own numbers, so kernels read structure and parameters through one `const tgModel *`.
#ifndef TG_MODEL_MODEL_H
#define TG_MODEL_MODEL_H

#include "geom/hull.h"
#include "math/real.h"
#include "tangere/model.h"

enum { TGI_KEPT_KEY = 6 };
/// Something made of a model alone, which whatever is bound to the model shares: it never changes, and is freed with the model.
typedef struct tgiKept {
  const char *kind;                  // what it is
  double key[TGI_KEPT_KEY];          // of what it is made, 0 where less tells it
  void (*release)(struct tgiKept *kept, const tgAllocator *alloc);
  struct tgiKept *next;
} tgiKept;
typedef struct tgiKeep { tgAllocator alloc; tgiKept *first; } tgiKeep;

struct tgModel {
  tgAllocator alloc;
  tgiKeep *keep;       // shared with copies of this struct
  int nq, nv, nu, na, nbody, njnt, ngeom, nsite, nmesh, nmeshvert, nmeshface, nhull, nhullvert, ntendon, nwrap, nstrand, neq, npair,
      npairown, nkey;
  int nflex, nflexvert, nflexelem, nflexhinge;
  int nsensor, nsensordata;
  int nM;              // numbers of a matrix stored by trees (model/blocks.h)
  int row_width;       // dofs at most that a constraint row acts on: of two sets (dof_set)
  int friction_most;   // numbers of friction of a contact at most, 2 at least
  int nset, set_width, set_least;   // sets of coupled dofs (dof_set), and dofs of the widest and of the least
#define TG_MODEL_INT(name, rows, cols, unit, text) const int *name;
#define TG_MODEL_REAL(name, rows, cols, unit, text) const tgReal *name;
#define TG_MODEL_SHARED(name, rows, cols, unit, text) const tgReal *name;
#include "model/model_fields.def"
#undef TG_MODEL_INT
#undef TG_MODEL_REAL
#undef TG_MODEL_SHARED
  const tgHull *hull;                             // nhull, indexed by geom_hull; arrays inside the block, vertices those of hull_vert
  const char *name;                               // model name, may be ""
  const char *const *thing_name[TG_THING_COUNT];  // names by kind, "" when none
  void *block;
};

/// Length of what stands for velocities in a state: those, then the activations.
static inline int tgi_nw(const tgModel *m) { return m->nv + m->na; }
/// A joint or tendon equality, which ties coordinates or lengths; else a connect or weld, of bodies.
static inline bool tgi_is_tie(const tgModel *m, int eq) { return m->eq_type[eq] == TG_EQ_JOINT || m->eq_type[eq] == TG_EQ_TENDON; }
/// Friction t of pair p, sliding along two tangents (0, 1), torsional (2), rolling about two (3, 4) [m]: of the pair element, else
/// of the geom of higher priority, else the larger of the two geoms'. `geom` (may be NULL) gets the geom whose number it is, -1 for
/// the pair's own.
tgReal tgi_pair_friction(const tgModel *m, int p, int t, int *geom);
/// Number t of a geom, likewise.
tgReal tgi_geom_friction(const tgModel *m, int g, int t);
/// Number k of a pair's own numbers `own` (pair_friction, pair_restitution), `width` to a pair; -1 where it has none.
static inline tgReal tgi_pair_number(const tgModel *m, int p, const tgReal *own, int width, int k) {
  return m->pair_own[p] >= 0 ? own[width * m->pair_own[p] + k] : -1;
}
/// Pair of two geoms, -1: they never touch.
int tgi_pair_of(const tgModel *m, int geom1, int geom2);
/// Restitution of pair p: the pair's own, else the larger of the two geoms'. geom as above.
tgReal tgi_pair_restitution(const tgModel *m, int p, int *geom);
/// What the model keeps of that kind and key, NULL: nothing yet. Threads may ask and give at once.
tgiKept *tgi_model_kept(const tgModel *m, const char *kind, const double key[TGI_KEPT_KEY]);
/// Gives it to the model, or releases it where there is one alike by now. Returns the one that is kept.
tgiKept *tgi_model_keep(const tgModel *m, tgiKept *made);
/// Frees all.
void tgi_model_keep_free(const tgModel *m);
/// Kind of thing that the rows of the array `name` belong to, by its prefix; false when there is none. Dofs belong
/// to joints, hulls to meshes.
bool tgi_model_rows_kind(const char *name, tgKindOfThing *kind);
/// The thing of that kind that row `row` belongs to.
int tgi_model_row_thing(const tgModel *m, const char *name, int row);
/// "geom 'name'" or "geom 3 (of body 'name')" written into text, for messages. Returns text.
const char *tgi_model_label(const tgModel *m, tgKindOfThing kind, int i, char *text, size_t size);

#endif
