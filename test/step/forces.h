// forces.h: scenes whose contacts tell their forces, for the tests of these.
#ifndef TG_TEST_STEP_FORCES_H
#define TG_TEST_STEP_FORCES_H

#include "support/rig.h"

static const char ball[] = "<mujoco><worldbody><geom type='plane' size='1 1 1' friction='.4'/><body pos='0 0 .1'><freejoint/>"
                           "<geom size='.1' mass='1' friction='.5'/></body></worldbody></mujoco>";
static const char floor_of_law[] = "<mujoco><worldbody><geom type='plane' size='1 1 1' friction='.4'/><body pos='0 0 .102'><freejoint/>"
                                   "<geom size='.1' mass='1' friction='.5'/></body></worldbody></mujoco>";
static const char hill_of_law[] =
    "<mujoco><default><geom condim='%d'/></default><worldbody><geom size='.5' pos='0 0 -.5' friction='.4'/>"
    "<body pos='.02 .01 .102'><freejoint/><geom size='.1' mass='1' friction='.5'/></body></worldbody></mujoco>";

static inline Rig rig(const char *text, const char *word, const char *settings) {
  tgAnyContactOptions o = options_of(word, settings);
  return rig_of_text(text, word, &o.of);
}

#endif
