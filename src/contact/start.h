// start.h: classes that the solves of a step have ended with, by the names of their rows, for later solves of it to start from.
#ifndef TG_CONTACT_START_H
#define TG_CONTACT_START_H

#include "sim/sim.h"

/// Of the rows of one solve; arrays are the caller's, of cap.nrow.
typedef struct tgiClasses {
  int n;
  uint64_t *name;
  int *cls;
} tgiClasses;

/// Those of the rows in the sim.
void tgi_classes_note(const tgSim *s, tgiClasses *o);
/// Rows in the sim of which o knows have that class to start from. A frozen memory keeps its own.
void tgi_classes_start(tgSim *s, const tgiClasses *o);

#endif
