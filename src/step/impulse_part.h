// impulse_part.h: shared by the files that make the parts of an impulse step (impulse.h) alone: their free motion, their rows' matrix, the
// two problems of a flow, and the search for the actuators that are held in a part.
#ifndef TG_STEP_IMPULSE_PART_H
#define TG_STEP_IMPULSE_PART_H

#include "step/impulse.h"

/// vhat of a part of h, with those actuators held that it holds at its end.
tgStatus tgi_part_free_velocity(tgSim *s, tgReal h);
/// vhat of the part in the sim with actuators held as they are; in the middle of a flow what goes by velocity is then taken of the velocity
/// there.
tgStatus tgi_part_held_velocity(tgSim *s);

/// Which forces of actuators are held, from their record. True: others than were.
bool tgi_servo_recall(tgSim *s, const void *record);

/// A part with rows, whose impulses may change which actuators are held: it is solved until both agree.
typedef struct tgiAgreement { int search, nedge; } tgiAgreement;
tgiAgreement tgi_agreement_begin(const tgSim *s);
/// After a solve: *again where it has to be made anew, as if it had not been.
tgStatus tgi_agree(tgSim *s, tgiAgreement *a, bool *again);

/// row_MiJ, and A island by island where its block is formed.
tgStatus tgi_impulse_assemble(tgSim *s);
/// b = (1 + bounce) J vhat + rate gap - drift J v0 of the problem that is selected.
void tgi_impulse_fill_bias(tgSim *s);

/// Both problems of the flow in the sim: v1 by that of velocities, then V by that of positions, whose biases `bias` gives once it is
/// selected. remembered: positions start from their classes in the memory where those of velocities have stayed, as in a step of one flow;
/// else, as pieces of the event stepper follow each other with other rows, from those of velocities. record: of both, or NULL.
tgStatus tgi_flow_solve(tgSim *s, void (*bias)(tgSim *), bool remembered, const void *record);

#endif
