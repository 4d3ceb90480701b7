// impulse_deep.c: flows that end in overlap, which their rows, made at the end of the free motion, do not tell of. See impulse_flow.h.
//
// Based on: [math/lcp Impacts].
#include <math.h>

#include "coll/moved.h"
#include "kin/kinematics.h"
#include "sim/row.h"
#include "step/impulse_flow.h"

// Of what a push takes away in the time of a flow, how much deeper that may end than it began: a step of several has as much in all.
#define DEEP 0.1
// How far its joints have turned from the free motion together [rad or m], below which that is nowhere so much.
#define TURNED 0.01
// Within which of these numbers a step has its derivative from one side alone.
#define EDGE 1e-9

typedef struct Ends {
  double limit;   // [m]
  bool deep, tied;
} Ends;

// least gap of a pair that overlaps at a pose, 0 of one that does not
static tgStatus overlap(tgSim *s, const tgPose *pose, int pair, double *gap) {
  tgContactPoint point[TG_PAIR_POINTS];
  double distance;
  int count = tgi_contacts_of_pair(s, pose, pair, tgRe(s->clearance), point, &distance);
  for (int k = 0; k < count; k++) distance = fmin(distance, tgRe(point[k].gap));
  *gap = fmin(distance - tgRe(s->clearance), 0);
  return count < 0 ? (tgStatus)count : TG_OK;
}

// A pair is no deeper at the end than at the start by more than its points have moved. One that is apart at the end, or overlaps by less
// than the limit along a direction that is tried, is not deep, wherever it was.
static bool surely_not_deep(const tgSim *s, int pair, double limit) {
  double clear = tgRe(s->clearance), preferred = tgi_pair_preference(s, pair);
  int32_t memory[TG_PAIR_MEMORY];
  bool asked = !s->all_pairs, near = tgi_contacts_memory(s, pair, memory);
  if (asked && !near && tgi_pair_boxes_apart(s, &s->end, pair, clear)) return true;
  if (tgi_pair_moved(s, &s->start, &s->end, pair) + preferred <= limit - EDGE) return true;
  return asked && near && tgi_pair_along_face(s, &s->end, pair) - clear - preferred > -limit + EDGE;
}

static tgStatus see_pair(tgSim *s, int pair, void *with) {
  Ends *e = with;
  double end, start;
  if (e->deep || tgi_pair_is_clear(s, &s->end, pair, tgRe(s->clearance)) || surely_not_deep(s, pair, e->limit)) return TG_OK;
  TG_TRY(overlap(s, &s->end, pair, &end));
  if (end > -e->limit + EDGE) return TG_OK;
  TG_TRY(overlap(s, &s->start, pair, &start));
  e->tied = e->tied || fabs(end - start + e->limit) <= EDGE;
  e->deep = end < start - e->limit;
  return TG_OK;
}

// How far the motion has turned from the free one, at whose end rows are made.
static double turned_by(const tgSim *s) {
  double turned = 0;
  for (int d = 0; d < s->m.nv; d++) turned += fabs(tgRe(s->rows->mean[d] - s->start.vel[d]));
  return tgRe(s->dt) * turned;
}

tgStatus tgi_flow_ends_deep(tgSim *s, bool *deep) {
  // what touches is no overlap, however short the flow and slow a push
  Ends e = {.limit = DEEP * tgi_impulse_options(s)->push_speed * tgRe(s->dt) + 2 * TG_TOUCH};
  double turned = turned_by(s);
  bool left = s->info.nleft > 0;
  *deep = false;
  if (!left && turned < TURNED - EDGE) return TG_OK;
  TG_TRY(tgi_flow_end(s));
  tgi_kinematics(&s->m, s->end.q, &s->end);
  TG_TRY(tgi_pairs_near(s, &s->end, (tgiPairs){see_pair, &e}));
  if (e.deep && !left && turned <= TURNED + EDGE) e.tied = true;   // a little less turned, it would not be asked
  if (e.tied) tgi_rows_edge(s, "an overlap from which on the step is made in shorter flows", -1);
  *deep = e.deep && (left || turned >= TURNED);
  return TG_OK;
}
