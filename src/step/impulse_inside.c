// impulse_inside.c: the impacts of a step by the rule `closing`, and the poses where its flows end. See impulse_parts.h.
#include "sim/row.h"
#include "step/impulse_parts.h"
#include "step/inside.h"

static void add_poses(const tgSim *s, tgiInside *out) {
  const tgRows *r = s->rows;
  double time = 0, last = 0;
  for (int k = 1; k < s->npart; k++) {
    time += tgRe(r->part_dt[k - 1]);
    if (!tgi_inside_apart(s, time, last)) continue;
    tgi_inside_add_pose(s, time, r->part_q + (size_t)k * (size_t)s->m.nq, out);
    last = time;
  }
}

static tgStatus add_impacts(tgSim *s, void *ctx) {
  double time = 0;
  for (int k = 0; k < s->npart; k++) {
    time += tgRe(s->rows->part_dt[k]);
    if (tgi_part_kind(s, k) != TGI_IMPACT) continue;
    size_t mark = tgi_stack_mark(s);
    TG_TRY(tgi_part_load(s, k));
    tgi_inside_add_impact(s, time, ctx);
    tgi_stack_free(s, mark);
  }
  return tgi_part_load(s, s->npart - 1);   // whose contacts are shown
}

tgStatus tgi_parts_inside(tgSim *s, tgiInside *out) {
  if (s->npart < 2) return TG_OK;
  if (!out->impacts) add_poses(s, out);
  return out->impacts ? tgi_parts_revisit(s, add_impacts, out) : TG_OK;
}
