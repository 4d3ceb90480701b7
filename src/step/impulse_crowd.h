// impulse_crowd.h: what closes fast in a flow of the rule `closing` and is stopped over the whole flow all the same, without an impact
// of its own: in islands of many rows, and where more meet at different times than a step has impacts for.
//
// What bounces always has its impact, as a flow stops without a bounce.
// Based on: [math/lcp Impacts].
#ifndef TG_STEP_IMPULSE_CROWD_H
#define TG_STEP_IMPULSE_CROWD_H

#include "coll/features/narrow.h"
#include "sim/sim.h"

/// Marks (nrow) those of the flow's rows that are in islands of more than TGI_CROWD rows, all that closes among these; *any: there are.
/// s->ncrowd counts those that close fast and are open at the start.
tgStatus tgi_crowd_islands(tgSim *s, int8_t *crowd, bool *any);
/// fast (nrow): rows that are to have impacts. Takes the marks away where nothing bounces and they meet at more than `most` times, as the
/// free motion tells them; s->ncrowd counts those.
void tgi_crowd_times(tgSim *s, int most, int8_t *fast);
/// Counts in s->ncrowd what closes fast in a flow that stops everything.
void tgi_crowd_all(tgSim *s);
/// Does the flow have an island of more than TGI_CROWD rows.
bool tgi_crowd_any(const tgSim *s);

#endif
