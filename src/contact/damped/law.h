// law.h: the normal force of a proxy of weight 1 by its damped gap, and the numbers it goes by.
//
// Based on: [math/damped Laws].
#ifndef TG_CONTACT_DAMPED_LAW_H
#define TG_CONTACT_DAMPED_LAW_H

#include "contact/damped/jet.h"
#include "tangere/damped.h"

/// What the numbers of a pair of geoms follow from, as the variables of their jets.
enum { TGI_FROM_GAP, TGI_FROM_RATIO, TGI_FROM_TIME, TGI_FROM_STIFFNESS, TGI_FROM_ONSET, TGI_FROM_STEP };
/// amplitude, length and damping (time over the step's length) of a pair of geoms; reach: gap to which the force goes, 0: any; from half
/// of it on it fades.
typedef struct tgiDampedNumbers { tgDampedLaw law; tgiJet amplitude, length, alpha; double reach; } tgiDampedNumbers;
/// from: the six of TGI_FROM_.., 0 where one is derived; weight [N] and mass [kg] of the lighter tree. midpoint: of the step's rule.
void tgi_damped_numbers(tgDampedLaw law, const tgReal from[6], double weight, double mass, bool midpoint, tgiJets k, tgiDampedNumbers *n);

/// Does that law grow as the gap closes to nothing and reach any distance, as one over the gap?
static inline bool tgi_damped_is_inverse(tgDampedLaw law) { return law == TG_DAMPED_PERTURBED || law == TG_DAMPED_SIGNORINI; }
/// The gap at which things rest, of the one that is given: `signorini` keeps a ten-thousandth of it.
static inline double tgi_damped_rests(tgDampedLaw law) { return law == TG_DAMPED_SIGNORINI ? 1e-4 : 1; }

/// Force at a gap with its slope, and its derivatives in amplitude and length.
typedef struct tgiDampedForce { tgReal f, slope, by_amplitude, by_length; } tgiDampedForce;
/// Below a ten-thousandth of the length at which it sets in, a force that grows without bound goes on as its Taylor polynomial of second
/// order there: it has a value at any gap.
void tgi_damped_force(const tgiDampedNumbers *n, tgReal gap, tgiDampedForce *out);
/// The gap from which on there is no force and no derivative of it.
double tgi_damped_end(const tgiDampedNumbers *n);
/// The gap at which the force is f > 0, not above `most` where it is less than that.
double tgi_damped_gap(const tgiDampedNumbers *n, double f, double most);
/// A gap near at which it pushes: where a solve may begin that knows nothing.
double tgi_damped_near(const tgiDampedNumbers *n);

#endif
