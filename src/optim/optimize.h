// optimize.h: what the methods share: evaluations through the journal, the best iterate, progress.
#ifndef TG_OPTIM_OPTIMIZE_H
#define TG_OPTIM_OPTIMIZE_H

#include "optim/journal.h"
#include "optim/task.h"

/// One optimisation under way.
typedef struct tgOptRun {
  const tgTask *task;
  const tgOptimizeOptions *o;
  tgAllocator alloc;
  tgEvaluator *evaluator;
  struct tgEnsemble *ensemble;   // replays that the loss takes in; NULL: none
  tgJournal *journal;
  tgOptimum *out;
  double began, until;    // [s]; no iteration begins after `until`, 0: no limit
  int stage, stages;      // of the task's refinement
  int live_iterations;    // iterations that were computed, not replayed, and when the first of them began
  double live_began;
  double best_distance;
  bool from_journal;      // the last evaluation was
  double *low, *high;     // n: box of the decision variables
} tgOptRun;

/// Loss (and gradient when g is not NULL) at x, from the journal or computed and recorded; keeps the best. TG_OK; TG_CANCELLED;
/// a numerical outcome or error: out->error says what, nothing is kept.
tgStatus tgi_opt_eval(tgOptRun *r, const double *x, double *f, double *g);
/// Takes note of a loss that was computed elsewhere (a batch), as tgi_opt_eval does.
void tgi_opt_note(tgOptRun *r, const double *x, const tgEvaluation *e);
/// Rolls out for x, which `ask` says how to run, and takes note of it: loss *f (infinite when it failed), the label of Jacobians asked for.
tgStatus tgi_opt_roll(tgOptRun *r, const double *x, const tgRollAsk *ask, double *f, tgRolloutResult *result);

/// A method that keeps a state of its own and journals iterations, not evaluations.
typedef struct tgOptIterates {
  void *ctx;
  /// One iteration from x with loss *f, both of which it moves on; *done: there is nothing more to gain.
  tgStatus (*iterate)(void *ctx, double *x, double *f, bool *done);
  double *state;          // count numbers that iterations hand on
  int count;
  double *from, *saved;   // work: n, count + TG_OPT_SAVED + 2 n
} tgOptIterates;
enum { TG_OPT_SAVED = 5 };
/// Iterates from x until the method is done or the task's iterations or loss are reached; what the journal holds is not computed again.
tgStatus tgi_opt_iterate(tgOptRun *r, const tgOptIterates *m, double *x);
/// True for a motion that went wrong, not the program: not converged, blown up, or no positive mass matrix at the pose reached.
bool tgi_opt_numerical(tgStatus status);

/// Seconds on a clock that only goes forward.
double tgi_opt_now(void);
/// Ends an iteration whose loss is f: curve, progress. True: the best meets stop_loss or stop_distance, or time is up: the method may stop.
bool tgi_opt_iteration(tgOptRun *r, double f);
/// x into its box.
void tgi_opt_clamp(const tgOptRun *r, double *x);

/// The methods. x (n) is the start on entry. Status as of tgi_opt_eval; TG_OK when they ran to their end.
tgStatus tgi_opt_first_order(tgOptRun *r, double *x, double *work);   ///< Adam, gradient descent, also on smoothed gradients; work: 4 n
tgStatus tgi_opt_lbfgs(tgOptRun *r, double *x);                       ///< NLopt's L-BFGS in the box
bool tgi_lbfgs_available(void);                                       ///< false in a build without NLopt
tgStatus tgi_opt_sampling(tgOptRun *r, double *x);                    ///< random search and CEM
tgStatus tgi_opt_ilqr(tgOptRun *r, double *x);                        ///< iterative LQR, and ddp
tgStatus tgi_opt_gauss_newton(tgOptRun *r, double *x);                ///< Gauss-Newton with Levenberg-Marquardt damping
tgStatus tgi_opt_shooting(tgOptRun *r, double *x);                    ///< multiple shooting with Ipopt

/// What the task's method cannot do is refused by name.
tgStatus tgi_opt_refuse(const tgTask *task, tgError *error);
/// An empty outcome with the curve of the task's iterations, and the work of a run. NULL: no memory.
tgOptimum *tgi_optimum_make(const tgTask *task, tgOptRun *r, double **x, double **work);
/// One stage: the task's own method on the task as it is, and the replays of what it found. NULL: no memory.
tgOptimum *tgi_optimize(const tgTask *task, const tgOptimizeOptions *options, int stage);
/// Runs the method of r's task.
tgStatus tgi_opt_run_method(tgOptRun *r, double *x, double *work);
/// The same over windows of `task`, of which r's task is a copy whose iterations are tgi_receding_windows(task).
tgStatus tgi_opt_receding(tgOptRun *r, const tgTask *task, double *x);

#endif
