// schedule.h: where to keep states so that a run of steps can be gone through backwards with few of them.
//
// Based on: [revolve]. With c states kept and every step computed at most r times,
// beta(c, r) = (c + r choose c) steps can be reversed.
#ifndef TG_ROLLOUT_SCHEDULE_H
#define TG_ROLLOUT_SCHEDULE_H

#include "tangere/base.h"

/// n >= 1 steps are to be reversed, their first state is kept, `spare` more can be. Returns how many steps further the next
/// state should be kept, 1 .. n - 1, so that the fewest steps are done again; n when none should be (n = 1 or spare = 0).
int tgi_schedule_split(int n, int spare);

#endif
