// contacts.h: contacts of steps, gathered while they run.
#ifndef TANGERE_PYTHON_CONTACTS_H
#define TANGERE_PYTHON_CONTACTS_H

#include "sim.h"
#include "tangere/force.h"

namespace tangere {

/// Contacts and impacts of a trajectory, in the order of its steps, and its way between states, as tgTrajectory has it.
struct ContactList {
  struct At { int step; tgContactInfo contact; };
  struct Hit { int step; tgImpact impact; };
  std::vector<At> list;
  std::vector<Hit> impacts;
  std::vector<int> offset{0};
  std::vector<double> time, q;
  /// Those of the last step of the sim.
  void add(const tgSim *sim, int step);
  tgStatus add_impacts(tgSim *sim, int step);
  tgStatus add_way(tgSim *sim);
  /// A tgLossFn that is 0 and gathers them.
  static tgStatus look(void *list, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu);
};
/// As a structured array, with a field `step`, and `run` of several trajectories.
nb::object contacts_array(const std::vector<ContactList> &runs, bool steps, bool several);
/// Likewise their impacts.
nb::object impacts_array(const std::vector<ContactList> &runs, bool steps, bool several);

/// Where the contacts of each step begin in contacts_array: of run i and step t at [i * steps + t]; behind them their number.
std::vector<size_t> contact_starts(const std::vector<ContactList> &runs, size_t steps);
/// Gradients in the fields of n contacts, of a dict of arrays (n, 3) by the fields' names; none where it is None.
std::vector<tgContactGrad> contact_grads(nb::handle given, size_t n);

}  // namespace tangere

#endif
