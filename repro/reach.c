// reach.c: the head of the half-cheetah to its target by gradient, beside two baselines with as many simulations.
#include "repro/experiments.h"

bool tgi_reproduce_reach(tgRun *run) {
  tgTaskRun how = {.file = "half_cheetah_reach.yaml"};
  tgTask *task = NULL;
  tgOptimum *ours = tgi_run_task(run, &how, &task);
  how.zero_contact = true;
  tgOptimum *zero = ours != NULL ? tgi_run_task(run, &how, NULL) : NULL;
  how = (tgTaskRun){.file = how.file, .method = "random"};
  if (ours != NULL) how.iterations = (int)((ours->simulations + 15) / 16);
  tgOptimum *random = zero != NULL ? tgi_run_task(run, &how, NULL) : NULL;
  bool done = random != NULL;
  if (done) {
    tgi_run_row(run, "reach.distance", tgi_cli_distance(task, ours->best, NULL), "%d iterations", ours->iterations);
    tgi_run_row(run, "reach.seconds", ours->seconds, "wall clock");
    tgi_run_row(run, "no_contact_gradient.loss_ratio", zero->best_loss / ours->best_loss, "contact forces held constant in the gradient");
    done = tgi_run_leave_task(run, "reach", task, ours);
    tgi_run_row(run, "random_search.loss_ratio", random->best_loss / ours->best_loss,
                "%ld simulations, as many as ours", random->simulations);
  }
  tg_optimum_free(ours);
  tg_optimum_free(zero);
  tg_optimum_free(random);
  tg_task_free(task);
  return done;
}
