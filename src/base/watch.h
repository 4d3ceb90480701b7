// watch.h: the one place where work that may be long asks, once an iteration, whether anybody still wants its result.
#ifndef TG_BASE_WATCH_H
#define TG_BASE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

/// Of one sim, for the length of a step. All solvers inside the step share it.
typedef struct tgiWatch {
  const volatile int *cancel;  ///< not 0: stop. NULL: nobody does that
  long asked;                  ///< iterations that have begun, of all solvers
  long until;                  ///< as if cancelled from that iteration on; 0: never (tests measure by it how soon a solver stops)
  int cap;                     ///< with `capped`: no iteration makes more than so many rounds (for tests of what then happens)
  bool capped;
} tgiWatch;

/// An iteration begins. true: nobody wants the result, leave it.
static inline bool tgi_watch_stops(tgiWatch *w) {
  if (w == NULL) return false;
  w->asked++;
  return (w->until > 0 && w->asked >= w->until) || (w->cancel != NULL && __atomic_load_n(w->cancel, __ATOMIC_RELAXED) != 0);
}
/// The same without an iteration that begins.
static inline bool tgi_watch_stopped(const tgiWatch *w) {
  return w != NULL && ((w->until > 0 && w->asked >= w->until) || (w->cancel != NULL && __atomic_load_n(w->cancel, __ATOMIC_RELAXED) != 0));
}
/// How many rounds an iteration may make that is given `most`.
static inline int tgi_watch_cap(const tgiWatch *w, int most) { return w != NULL && w->capped && w->cap < most ? w->cap : most; }

#endif
