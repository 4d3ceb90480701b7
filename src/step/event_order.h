// event_order.h: what makes flows of the event stepper with held rows of second order.
//
// Based on: [math/toi What is held]. Rows of a flow are at its end, J, and impulses along them alone take away s^2 (rate of the
// normal)^2/2 of what slides along a curve. Half of the impulses F of the positions' problem acts along the rows at the start, J_0, and
// forces that go by velocity are those of u* = v + c (V - v), where a row acts:
//   Mh (v' - v) = s (tau - c)(q_m, u*) + (J_0 - J)' F/2 + J' f,   0 <= f perp J v' >= 0.
#ifndef TG_STEP_EVENT_ORDER_H
#define TG_STEP_EVENT_ORDER_H

#include "base/layout.h"
#include "sim/sim.h"

/// Of the flow in the sim; names: of rows, 0 of those that have no part in it.
typedef struct tgiOrder {
  // rows that were in the sim at the start of the flow, nrow of them; of a flow that is put back all that a derivative of them asks for
  int nrow, ncon;
  bool contact_d;
  int *kind, *owner, *part, *parent, *span;
  int *class, *class2, *quick;   // and whatever else tgi_rows writes of a row: those of the flow stay as they are
  tgReal *limit, *gap, *bounce, *rate, *drift, *before, *kept, *kept2;
  tgReal *J;
  tgContactRow *contact;
  uint64_t *name;        // nrow
  tgReal *way;           // nrow x 3: of a contact's row, the direction of its force or couple at the start of a flow that is made
  int *at;               // of the flow's rows: the row at the start, -1: none
  bool any, turned;      // velocities have a problem of their own; by forces of u*, which are in the sim
  bool left;             // they will have one, which is not solved yet
  tgReal *u, *by;        // nv: u*; gradient of the last adjoint in it
  int8_t *back;          // nv: at the first dof of a tree, it is brought back, or joined by rows to one that is
} tgiOrder;

void tgi_order_place(const tgSim *s, tgLayout *l, tgiOrder *o);
/// The rows in the sim are at the start of the next flow: they are noted.
void tgi_order_note(tgSim *s);
/// Of a flow that was made: what the rows at the start have in the forces of its contacts is added to what they tell, times share.
void tgi_order_tell(tgSim *s, double share);
/// Likewise, of a flow of that length that is put back; its rows come after it. What s->held names.
tgStatus tgi_order_find(tgSim *s, tgReal length);
/// The rows at the start are those in the sim, in the place of the flow's; and back.
void tgi_order_exchange(tgSim *s);
/// Error of a row of the flow at its start, of equalities, which come first and all; else 0. That of a row ahead is another by how bodies
/// turn on the way.
double tgi_order_error(const tgSim *s, int row);
/// The rows of the flow are those at its start, whatever of them is ahead.
bool tgi_order_has_start_alone(const tgSim *s);
/// The rows of a flow are in the sim: at, back.
void tgi_order_match(tgSim *s);
/// A solve begins, with vhat of both problems.
void tgi_order_begin(tgSim *s);
/// The problem of velocities is left to later, until tgi_order_free.
void tgi_order_leave(tgSim *s);
bool tgi_order_is_left(const tgSim *s);
/// In the middle of a flow whose problems are solved by vhat: vhat becomes that of velocities alone.
tgStatus tgi_order_free(tgSim *s);
/// Forces in the sim become those of u*, or those of the flow's other problem. Nothing, where the flow has none of u*.
void tgi_order_turn(tgSim *s, bool to);
/// Forces that go by velocity are of u*: in the middle of a flow, of its velocities' problem.
bool tgi_order_is_turned(const tgSim *s);
/// c (nv): share of V - v in u* - v, where a row acts, else 0.
void tgi_order_shares(const tgSim *s, tgReal *c);
/// out (nv) += scale (J_0 - J)' f; out (nrow) = scale (J_0 - J) x.
void tgi_order_push(const tgSim *s, tgReal scale, const tgReal *f, tgReal *out);
void tgi_order_speed(const tgSim *s, tgReal scale, const tgReal *x, tgReal *out);
/// y (rows at the start) = scale f of the flow's rows.
void tgi_order_at_start(const tgSim *s, tgReal scale, const tgReal *f, tgReal *y);
/// The dense derivative, in columns of the step, nc of them: Q, V of the flow's start, F (nrow x nc) of the positions' impulses, B
/// (nv x nc) of their velocity; in the length of the flow Fs (nrow), Bs (nv). Q0 (nv x nv): d(J_0' F)/dq. Added to A (nv x nc) and As
/// (nv) of velocities, whose problem is selected.
typedef struct tgiOrderColumns { int nc; const tgReal *Q, *V, *F, *B, *Fs, *Bs, *Q0; tgReal *A, *As; } tgiOrderColumns;
tgStatus tgi_order_columns(tgSim *s, const tgiOrderColumns *c);

#endif
