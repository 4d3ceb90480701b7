// stress.h: scenes that tempt bodies to pass through each other: thin, fast, interlocked, wedged, of very different masses.
#ifndef TG_TEST_STRESS_H
#define TG_TEST_STRESS_H

#include "tangere/sim.h"

enum { TGT_STRESS_SCENES = 13 };

typedef struct tgtStress {
  const char *name;
  double h;                ///< step [s]
  double mu;               ///< weight of the contact potential
  double stays;            ///< no body may get farther from its start than this [m]; 0: bodies that move
  int contact_from;        ///< step after which some pair must have been within 1 mm, with a force
  tgDesc *(*make)(void);
  void (*start)(tgSim *s); ///< velocities and controls at the start; NULL: at rest
} tgtStress;

const tgtStress *tgt_stress(int scene);

#endif
