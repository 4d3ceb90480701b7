// impulse_parts.h: a step by the rule `closing`: flows, cut where something meets fast, and the impacts between them.
//
// A flow runs to the time at which the first of what meets fast is at gap 0, found on the flow itself; the impact there
// changes velocities alone; the next flow takes the rest of the step. t*, the length of a flow that ends in an impact,
// is a function of the start: of the gap g at the flow's end, dt* = -(dg at held t)/(dg/dt).
// Based on: [math/lcp Impacts].
#ifndef TG_STEP_IMPULSE_PARTS_H
#define TG_STEP_IMPULSE_PARTS_H

#include "contact/rows.h"
#include "sim/sim.h"
#include "sim/stepper.h"

/// See tgStepper.step and revisit; record NULL: there is none.
tgStatus tgi_parts_step(tgSim *s, double h, const void *record);
/// See tgStepper.
size_t tgi_parts_record_bytes(const tgSim *s);
void tgi_parts_record(const tgSim *s, void *to);
tgStatus tgi_parts_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *dp, int *clamps);
tgStatus tgi_parts_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *dp, int *clamps);
tgStatus tgi_parts_jacobian(tgSim *s, tgReal *D, int *clamps);
tgStatus tgi_parts_inside(tgSim *s, tgiInside *out);

// ---- what the event stepper (step/event.h) has in common ----

/// The part in the sim is not the last, whose own rows and actuators show where it is not smooth: counts where it is not.
tgStatus tgi_parts_note_edges(tgSim *s, double h);
/// Refuses, by name, derivatives of contacts in friction that is 0, which has no row whose force would say what a little of it does to what
/// is told.
tgStatus tgi_touches_have_friction(tgSim *s, const tgParamGrad *p);
/// Counts in s->info the islands of the part in the sim whose answer is not the only one; two: of either problem. TG_CANCELLED
/// where its search was.
tgStatus tgi_parts_note_answers(tgSim *s, bool two);
/// Adds to s->part_mode what the part in the sim chose, of the rows that act.
void tgi_parts_hash_choices(tgSim *s);
/// Keeps what was solved for in the part in the sim: which actuators are held, the answers to the first problem and, two, the second.
void tgi_part_record_answers(const tgSim *s, bool two, void *to);
/// Keeps the memory, in the place that tgi_parts_swap_memory swaps with.
void tgi_parts_save_memory(tgSim *s);

// ---- between impulse_parts.c and its derivative ----

/// A drift takes what touches within rounding to gap 0, before or after, at the velocity that it has: too short for what forces do to
/// positions. A flow is without what closes fast, but for a last one, of what is left or of a share of it, where nothing meets, or too much
/// has met already.
typedef enum tgiPartKind { TGI_FLOW, TGI_IMPACT, TGI_DRIFT, TGI_LAST_FLOW } tgiPartKind;
static inline tgiPartKind tgi_part_kind(const tgSim *s, int k) { return (tgiPartKind)s->rows->part_kind[k]; }
/// What meets at its end.
static inline tgiWho tgi_part_meets(const tgSim *s, int k) {
  const int *who = s->rows->part_who + 3 * k;
  return (tgiWho){who[0], who[1], who[2]};
}
/// A flow of a share of what was left, at whose end nothing meets.
static inline bool tgi_part_is_share(const tgSim *s, int k) { return tgi_part_meets(s, k).kind < 0 && tgi_part_meets(s, k).owner >= 0; }
/// The step goes on from (q, v), as which the sim's start is taken where they are the same array.
void tgi_parts_start_at(tgSim *s, const tgReal *q, const tgReal *v);
/// The same where the velocity alone has changed since.
void tgi_parts_turn(tgSim *s, const tgReal *v);
/// What was solved for in part k.
const void *tgi_part_record(const tgSim *s, int k);
/// Part k of the last step is in the sim again, to the bit, by what was solved for: under the memory of before the step.
tgStatus tgi_part_load(tgSim *s, int k);
/// The memory of before the last step in the place of the present one, and back.
void tgi_parts_swap_memory(tgSim *s);
/// Calls visit, which loads parts, the last one at its end, with their memory in its place; then everything is as the step left it.
tgStatus tgi_parts_revisit(tgSim *s, tgStatus (*visit)(tgSim *s, void *ctx), void *ctx);
/// The state that the step started from is in the sim again.
void tgi_parts_restore(tgSim *s);

#endif
