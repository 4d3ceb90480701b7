// impulse_meeting.h: the time at which a flow of a step by the rule `closing` first meets something fast.
//
// t* is the least length of a flow at whose end something that closes fast has the gap 0. By the slope of that gap in the length,
// dt* = -(dg at held t)/(dg/dt).
// Based on: [math/lcp (16)].
#ifndef TG_STEP_IMPULSE_MEETING_H
#define TG_STEP_IMPULSE_MEETING_H

#include "contact/rows.h"
#include "step/impulse.h"

/// The end of a flow of t at which `who` meets: its row, among rows there, which replace the flow's. record: of that flow, as in
/// tgi_impulse_flow. It is found by its name: how fast it closes there may be the speed at which an impact begins, to the last bit.
tgStatus tgi_meeting_again(tgSim *s, tgReal t, const tgiWho *who, const void *record, int *row);
/// gq (nv) = weight times the gradient of the gap of a row that meets, tgi_meeting_again; p NULL: no parameters. y: scratch, of the rows.
void tgi_meeting_gradient(tgSim *s, int row, tgReal weight, tgReal *y, tgReal *gq, tgParamGrad *p);
/// Of a row that meets at the end of a flow of t, the gap's gradient at the end, gq, and its slope in t. The flow is in the sim afterwards.
tgStatus tgi_meeting_slope(tgSim *s, tgReal t, int row, const void *record, tgReal *gq, tgReal *slope);
/// Of the flow in the sim, the slope in its length of a loss with the gradient gq, gv at its end.
tgStatus tgi_meeting_length_slope(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *slope);

/// end.q = q0 (+) t v0, and the row there of who, or, where that is NULL, of what meets fast first; -1: there is none.
tgStatus tgi_meeting_after_drift(tgSim *s, tgReal t, const tgiWho *who, int *row);
/// a (nv): the acceleration at the start in the sim, by forces and by what is held; what closes fast is not.
tgStatus tgi_meeting_acceleration(tgSim *s, tgReal *a);
/// The length of the drift that takes what touches at the start to gap 0, and the row of what meets there; its end is in the sim. A body
/// that arrives at the end of a step may be found a rounding before or after it: the derivative goes through the time of the meeting all
/// the same. *who: what meets; *row -1: nothing does.
tgStatus tgi_meeting_drift(tgSim *s, tgReal *t, int *row, tgiWho *who);

/// What becomes of a flow in which something closes fast.
typedef enum tgiMeet {
  TGI_MEETS_NOT,       // nothing meets within it
  TGI_MEETS,           // at a time in it
  TGI_MEETS_NOW,       // something touches at its start, and meets
  TGI_OVERLAPS_NOW,    // something overlaps at its start, and meets
  TGI_MEETS_NOWHERE    // something overlaps at its end, and at no time comes to gap 0
} tgiMeet;

/// That of the flow of `rest`, and of TGI_MEETS *t, where it first meets, and *who.
tgStatus tgi_meeting_time(tgSim *s, tgReal rest, tgiMeet *meet, tgReal *t, tgiWho *who);

#endif
