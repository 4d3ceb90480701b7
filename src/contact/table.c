// table.c: the contact models, one line each.
#include "contact/contact.h"

#include "contact/barrier/barrier.h"
#include "contact/lcp/lcp.h"
#include "contact/softmin/softmin.h"

static const tgContactModel *const table[] = {
    &tgi_lcp_model,   // frictional linear complementarity at velocity level
    &tgi_barrier_model,   // a potential of all pairs of triangles, minimised over each step
    &tgi_sdrs_model,      // the same with a potential of compact support, a baseline
    &tgi_softmin_model,   // a force field in closed form between oriented points
};

const tgContactModel *tgi_contact_table(int i) {
  return i >= 0 && i < (int)(sizeof table / sizeof *table) ? table[i] : NULL;
}
