// toi.h: options of the contact model `toi`, whose steps are cut at their impacts; a flow is what is between two of these.
#ifndef TANGERE_TOI_H
#define TANGERE_TOI_H

#include "tangere/contact.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Options of its own.
#define TG_TOI_OPTIONS(X) \
  X(PARAMETER, gap, 1e-6, 1e-9, 1e-3, "m", "at which bodies meet: they come no nearer than a small part of it, and never touch")

/// Those that it takes of what all models of impulses may have.
#define TG_TOI_IMPULSE_OPTIONS(X) \
  X(NUMBER, restitution_speed, 1e-3, 0, HUGE_VAL, "m/s", "approach speed below which nothing bounces: max(|g| h/16, this)") \
  X(WORD, restitution_law, tgRestitutionLaw, TG_RESTITUTION_NEWTON, "newton poisson", \
    "a contact that bounces parts at e times its speed of approach, or gives e times the impulse that stopped it once more") \
  X(WORD, friction_cone, tgFrictionCone, TG_CONE_PYRAMID, "pyramid elliptic", \
    "friction along each of a contact's two tangents by itself, up to 1.4 times as strong between them, or in Coulomb's cone") \
  X(BOOLEAN, explicit_damping, false, \
    "joint damping and stiffness by the velocity at the start of a flow, else by the mean of those at its two ends") \
  X(WORD, servos, tgServoRule, TG_SERVOS_IMPLICIT, "implicit explicit", \
    "actuators by length and velocity: by the mean of the velocities at the two ends of a flow, or by that at its start") \
  X(WORD, gyroscopic, tgGyroscopicRule, TG_GYROSCOPIC_BOUNDED, "bounded explicit", \
    "Coriolis forces of trees that turn 0.1 rad and more in a flow: by the momenta of their bodies, or as those of slow ones") \
  X(WORD, unsolved, tgUnsolved, TG_UNSOLVED_GO_ON, "go_on stop", \
    "a contact solve without an answer: the flow goes on with one that misses by at most 1e-6, else with less friction, at last with the " \
    "least residual, or ends the simulation")

typedef struct tgToiOptions {  ///< Options of the `toi` model.
  tgContactOptions of;     ///< head
  TG_IMPULSE_OPTIONS(TG_OPTION_FIELD)
  TG_TOI_OPTIONS(TG_OPTION_FIELD)
} tgToiOptions;

static inline tgToiOptions tg_toi_default(void) {  ///< Its defaults.
  tgToiOptions o;
  tg_contact_default("toi", &o.of, sizeof o);
  return o;
}

#ifdef __cplusplus
}
#endif
#endif
