// softmin.h: the experiments of the soft-minimum paper.
#ifndef TG_REPRO_SOFTMIN_H
#define TG_REPRO_SOFTMIN_H

#include "repro/experiments.h"

bool tgi_reproduce_surfaces(tgRun *run);

#endif
