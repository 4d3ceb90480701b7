// aim.h: `aim: nearest` of a receding horizon: one thing is brought home at a time. Position terms with a tolerance are what can be home.
#ifndef TG_OPTIM_AIM_H
#define TG_OPTIM_AIM_H

#include "optim/terms.h"

/// What a window aims at. All NULL: at every term.
typedef struct tgAim {
  tgTerm *term;           ///< nterm: the task's, as they count in the window
  int at;                 ///< the one that is brought home, -1: none
  tgSim *sim;             ///< in which the state is looked at
  tgTermRows rows;
  tgAllocator alloc;
  void *block;
} tgAim;

/// Can the term be home?
bool tgi_aim_can(const tgTerm *term);
/// For windows of the task, which has `aim`. False: no memory.
bool tgi_aim_make(tgAim *a, const tgTask *task, const tgAllocator *alloc);
void tgi_aim_free(tgAim *a);
/// a->term for a window from the coordinates q. True: it aims at another term than before.
bool tgi_aim_take(tgAim *a, const tgTask *task, const double *q);

#endif
