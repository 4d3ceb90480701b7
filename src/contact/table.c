// table.c: the contact models, one line each. The first is what programs take by default.
#include "contact/contact.h"

#define MODELS(X) \
  X(lcp)       /* frictional linear complementarity at velocity level */ \
  X(toi)       /* the same rows, solved at the times of impact, between which motions are free of contact */ \
  X(barrier)   /* a potential of all pairs of triangles, minimised over each step */ \
  X(sdrs)      /* the same with a potential of compact support, a baseline */ \
  X(ipc)       /* the same with the barrier of distances of vertices, faces and edges, a baseline */ \
  X(softmin)   /* a force field in closed form between oriented points */ \
  X(damped)    /* points in the smooth fields of other geoms, all of them at all times */

#define DECLARED(word) extern const tgContactModel tgi_##word##_model;
#define ENTRY(word) &tgi_##word##_model,
MODELS(DECLARED)

static const tgContactModel *const table[] = {MODELS(ENTRY)};

const tgContactModel *tgi_contact_table(int i) {
  return i >= 0 && i < (int)(sizeof table / sizeof *table) ? table[i] : NULL;
}
