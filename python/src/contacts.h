// contacts.h: contacts of steps, gathered while they run.
#ifndef TANGERE_PYTHON_CONTACTS_H
#define TANGERE_PYTHON_CONTACTS_H

#include "sim.h"
#include "tangere/force.h"

namespace tangere {

/// Contacts of a trajectory, in the order of its steps.
struct ContactList {
  struct At { int step; tgContactInfo contact; };
  std::vector<At> list;
  /// Those of the last step of the sim.
  void add(const tgSim *sim, int step);
  /// A tgLossFn that is 0 and gathers them.
  static tgStatus look(void *list, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu);
};
/// As a structured array, with a field `step`, and `run` of several trajectories.
nb::object contacts_array(const std::vector<ContactList> &runs, bool steps, bool several);

}  // namespace tangere

#endif
