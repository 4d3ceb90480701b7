// view.h: a task seen under another contact model or with shorter steps: its verification and the stages of its refinement.
#ifndef TG_OPTIM_VIEW_H
#define TG_OPTIM_VIEW_H

#include "optim/task.h"

/// What a view changes.
typedef struct tgiViewAsk {
  const char *contact;      ///< word of its contact model; NULL: the task's
  const tgSettings *settings;   ///< of contact models, after the task's; NULL: none
  const char *option;       ///< an option of that model, and its value; NULL: as the settings have it
  const char *value;
  int sub;                  ///< steps for one of the task's, at least 1
  bool gradient;            ///< gradients may be asked for: with the task's own contact model they are of the task's `gradient`
} tgiViewAsk;

/// The task under another contact model or with steps of h/sub. Decision variables mean the same: a block of controls, a window of a
/// receding horizon and a term's time keep their seconds. It shares what it does not change, which the task has to outlive; tg_task_free
/// frees the rest. NULL: error says what the contact model does not support.
tgTask *tgi_task_view(const tgTask *task, const tgiViewAsk *ask, tgError *error);
/// Stage k (1 .. nrefine) of the task's refinement, with its own options of contact models, iterations and rate.
tgTask *tgi_task_stage(const tgTask *task, int k, tgError *error);
/// Steps of stage k for one of the task's; 0: its step size does not divide the task's.
int tgi_stage_sub(const tgTask *task, const YamlStage *stage);
/// Frees what a view owns.
void tgi_task_view_free(tgTask *view);

#endif
