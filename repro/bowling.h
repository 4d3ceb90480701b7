// bowling.h: ten pins and a ball, of TO-R4 and of bench_events: a scene whose bodies are not convex, as text in MJCF.
#ifndef TG_REPRO_BOWLING_H
#define TG_REPRO_BOWLING_H

#include <stdbool.h>

enum { TGI_PINS = 10, TGI_BALL = 6 * TGI_PINS };   ///< the ball's first dof, behind those of the pins
extern const double tgi_pin_mass, tgi_ball_mass, tgi_ball_radius;   ///< [kg, m]

/// A pin of that shape: height [m] of its centre of mass; inertia of a mass of 1.
typedef struct tgPin { double com, across, along; } tgPin;
tgPin tgi_pin(void);

/// Ten pins in a triangle on the floor and a ball 1.5 m before them, all that far [m] over it. whole: a pin is one mesh, which is not
/// convex; else six convex pieces. NULL: no memory; freed by the caller.
char *tgi_bowling(bool whole, double clearance);

#endif
