// table.h: the steppers by name.
#ifndef TG_STEP_TABLE_H
#define TG_STEP_TABLE_H

#include "sim/stepper.h"

/// NULL: there is none of that name.
const tgStepper *tgi_stepper_named(const char *name);
/// Of a simulation in which nothing touches.
const tgStepper *tgi_stepper_without_contact(void);

#endif
