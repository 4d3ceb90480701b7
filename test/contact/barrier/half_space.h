// half_space.h: the sum over a surface and a plane with memory of its own.
#ifndef TG_TEST_CONTACT_BARRIER_HALF_SPACE_H
#define TG_TEST_CONTACT_BARRIER_HALF_SPACE_H

#include <stdlib.h>

#include "contact/barrier/halfspace/halfspace.h"

static inline bool tgt_half_space(const tgiWorldTree *A, const tgReal n[3], tgReal height, const tgiTreeLaw *law,
                                  tgiPairSum *sum, int *intersecting) {
  void *memory = malloc(tgi_height_work_bytes(A->surface->nface));
  tgiHalfSpace t = {.A = A, .n = n, .height = height, .law = law, .work = tgi_height_work_place(memory, A->surface->nface)};
  bool separated = tgi_half_space(&t, sum, intersecting, NULL, NULL);
  free(memory);
  return separated;
}

#endif
