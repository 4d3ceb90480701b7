// fuzz_desc.h: what must hold of every description that a loader returns.
#ifndef TG_FUZZ_DESC_H
#define TG_FUZZ_DESC_H

#include <stdlib.h>
#include <string.h>

#include "tangere/desc.h"

static bool tgt_in(int i, int n) { return i >= 0 && i < n; }

// every index lies inside its array, every note says something
static inline void tgt_check_desc(const tgDesc *d) {
  for (int i = 1; i < d->nbody; i++)
    if (!tgt_in(d->body[i].parent, i)) abort();
  for (int i = 0; i < d->njoint; i++)
    if (d->joint[i].body < 1 || d->joint[i].body >= d->nbody) abort();
  for (int i = 0; i < d->ngeom; i++)
    if (!tgt_in(d->geom[i].body, d->nbody) || d->geom[i].mesh >= d->nmesh) abort();
  for (int i = 0; i < d->nactuator; i++)
    if (!tgt_in(d->actuator[i].target, d->actuator[i].transmission == TG_TRN_JOINT ? d->njoint : d->ntendon)) abort();
  for (int i = 0; i < d->nequality; i++) {
    int n = d->equality[i].type == TG_EQ_JOINT ? d->njoint : d->nbody;
    if (!tgt_in(d->equality[i].a, n) || d->equality[i].b >= n) abort();
  }
  for (int i = 0; i < d->nmesh; i++)
    for (int k = 0; k < 3 * d->mesh[i].nface; k++)
      if (!tgt_in(d->mesh[i].face[k], d->mesh[i].nvert)) abort();
  for (int i = 0; i < d->nnote; i++)
    if (strlen(d->note[i].text) == 0) abort();
}

#endif
