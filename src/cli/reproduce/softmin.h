// softmin.h: the experiments of the soft-minimum paper.
#ifndef TG_CLI_REPRODUCE_SOFTMIN_H
#define TG_CLI_REPRODUCE_SOFTMIN_H

#include "cli/experiments.h"

bool tgi_reproduce_surfaces(tgRun *run);

#endif
