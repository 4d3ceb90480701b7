// narrow.c: dispatch of one pair by the kinds of its shapes.
#include "coll/pair.h"
#include <string.h>

static bool is_round(const tgShape *S) { return S->type == TG_GEOM_SPHERE || S->type == TG_GEOM_CAPSULE; }

int tgi_collide(const tgShape *A, const tgShape *B, double margin, bool derivatives, int32_t memory[TG_PAIR_MEMORY],
                tgContactPoint out[TG_PAIR_POINTS], double *distance) {
  tgiPair P = {A, B, margin, derivatives, memory, out, INFINITY};
  bool plane_a = A->type == TG_GEOM_PLANE, plane_b = B->type == TG_GEOM_PLANE;
  int count = 0;
  if (plane_a && plane_b) {
    count = 0;                                     // two half-spaces have no contact points
  } else if (plane_a || plane_b) {
    count = is_round(plane_a ? B : A) ? tgi_pair_plane_round(&P) : TG_ERR_UNSUPPORTED;
  } else if (is_round(A) && is_round(B)) {
    count = tgi_pair_round_round(&P);
  } else {
    count = TG_ERR_UNSUPPORTED;
  }
  if (distance) *distance = P.distance;
  return count;
}
