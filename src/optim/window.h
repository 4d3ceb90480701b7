// window.h: a window of a receding horizon: a stretch of a task that is planned from a state, by the task's own method.
#ifndef TG_OPTIM_WINDOW_H
#define TG_OPTIM_WINDOW_H

#include "optim/aim.h"
#include "optim/optimize.h"

/// Running terms keep their share of the whole horizon, terms at the end look at the window's end, terms at a time count in the windows
/// that hold it. So a window that reaches to the end of the task asks for what is left of the whole problem.
typedef struct tgWindow {
  const tgTask *whole;
  tgAllocator alloc;
  double *q, *v;          // where it begins
  double *plan;           // its controls: task.n variables
  tgTask task;            // the stretch as a task
  tgAim aim;              // where the task has one: which of its terms count
  tgOptimum out;          // of its optimisation
  tgOptRun run;
  double *work;           // 4 n
  int stalled, searches;  // plans on end that stall, and searches so far
  double least;           // loss of those plans
  int searched;           // iterations of the search that the last plan had; 0: none
  double unsearched;      // its loss before that
  void *block;
} tgWindow;

/// A window of at most the whole's steps. False: no memory.
bool tgi_window_make(tgWindow *w, const tgTask *whole, const tgAllocator *alloc);
void tgi_window_free(tgWindow *w);
/// The stretch of `steps` steps from step `from`, its box and a clean account. w->q, w->v and w->plan are the caller's to fill.
void tgi_window_open(tgWindow *w, int from, int steps);
/// No plan has stalled yet.
void tgi_window_forget(tgWindow *w);
/// Plans from w->plan, which becomes the best plan. Evaluations go through the journal of `r`, times count from its beginning.
/// Status as of tgi_opt_eval; w->out tells the rest. Where plans stall, the task's search goes on from the best of the method: they promise
/// less than they should, and so many on end have not come nearer.
tgStatus tgi_window_plan(tgWindow *w, tgOptRun *r, const tgOptimizeOptions *o);

#endif
