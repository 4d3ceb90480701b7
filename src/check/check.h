// check.h: what the checks of a step and of a rollout share.
#ifndef TG_CHECK_CHECK_H
#define TG_CHECK_CHECK_H

#include "check/mode.h"
#include "check/numdiff.h"
#include "tangere/grad.h"

/// Appends a block with its name and tolerance; NULL when the list is full.
tgGradBlock *tgi_check_block(tgGradCheck *check, const char *name, double tolerance);
/// Settles block->pass from its error, and the whole check's.
void tgi_check_verdict(tgGradCheck *check, tgGradBlock *block);
/// Joint of dof i, with the dof's place in the joint when it has several: "root[3]".
void tgi_check_dof_name(const tgModel *m, int dof, char *text, size_t size);
/// Of the part w = (v, act) of a state: joint of a dof, or actuator of an activation.
void tgi_check_rate_name(const tgModel *m, int i, char *text, size_t size);
void tgi_check_actuator_name(const tgModel *m, int actuator, char *text, size_t size);

#endif
