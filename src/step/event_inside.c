// event_inside.c: the impacts of a step in pieces, and the poses where these end. See event.h.
#include "step/event.h"
#include "step/impulse_parts.h"
#include "step/inside.h"

static void add_poses(const tgSim *s, tgiInside *out) {
  const tgiEvents *e = tgi_events(s);
  double time = 0, last = 0;
  for (int k = 1; k < e->n; k++) {
    time += tgRe(e->t[k - 1]);
    if (!tgi_inside_apart(s, time, last)) continue;
    tgi_inside_add_pose(s, time, tgi_piece_q(s, k), out);
    last = time;
  }
}

static tgStatus add_impacts(tgSim *s, void *ctx) {
  const tgiEvents *e = tgi_events(s);
  double time = 0;
  for (int k = 0; k < e->n; k++) {
    time += tgRe(e->t[k]);
    if (e->piece[k].kind != TGI_PIECE_IMPACT) continue;
    size_t mark = tgi_stack_mark(s);
    TG_TRY(tgi_piece_load(s, k));
    tgi_inside_add_impact(s, time, ctx);
    tgi_stack_free(s, mark);
  }
  return TG_OK;
}

tgStatus tgi_event_inside(tgSim *s, tgiInside *out) {
  if (!out->impacts) add_poses(s, out);
  if (!out->impacts || tgi_events(s)->n < 2) return TG_OK;
  TG_TRY(tgi_event_revisit(s, add_impacts, out));
  tgi_parts_start_at(s, tgi_piece_q(s, 0), tgi_piece_v(s, 0));
  return TG_OK;
}
