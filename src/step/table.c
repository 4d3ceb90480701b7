// table.c: the steppers, one line each.
#include "step/table.h"

#include <string.h>

#include "step/event.h"
#include "step/explicit.h"
#include "step/minimise.h"
#include "step/impulse.h"
#include "step/midpoint.h"

static const tgStepper *const table[] = {
    &tgi_impulse,    // velocities jump by the impulses of constraint rows
    &tgi_event,      // the same between first contacts, which are found along paths
    &tgi_minimise,   // coordinates after the step minimise inertia and potentials
    &tgi_explicit,   // forces in closed form: Euler, Runge-Kutta
    &tgi_midpoint,   // the mean velocity of a step is the root of a residual
};

const tgStepper *tgi_stepper_named(const char *name) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strcmp(table[i]->name, name) == 0) return table[i];
  return NULL;
}

const tgStepper *tgi_stepper_without_contact(void) { return &tgi_impulse; }
