// flight_strands.h: how fast a spatial tendon may change its length along a path of even acceleration (flight.h).
//
// Of a strand between two points r apart, whose velocity and acceleration against each other are V and A at most as seen from what carries
// both, l = |r| has |l'| <= V and -A <= l'' <= A + V^2/l: what turns makes it longer only; and |l'''| <= J + 3 V A/l + 3 V^3/l^2, by which
// it is let go between two looks as points over a plane are (flight_bound.h).
// Based on: [math/toi First contact].
#ifndef TG_COLL_FLIGHT_STRANDS_H
#define TG_COLL_FLIGHT_STRANDS_H

#include "coll/flight_bound.h"

/// Of the length L of a tendon: |L'| <= rate all along the stretch; in its first `span` -shorter <= L'' <= longer and |L'''| <= jerk.
typedef struct tgiStrandsBound { double rate, shorter, longer, jerk, span; } tgiStrandsBound;
tgiStrandsBound tgi_strands_bound(const tgiStretch *k, int tendon);

#endif
