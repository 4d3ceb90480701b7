// module.cpp: the extension module of the package tangere.
#include <cstdlib>

#include "bind.h"

NB_MODULE(_tangere, m) {
  nb::set_leak_warnings(std::getenv("TANGERE_TELL_LEAKS") != nullptr);   // nanobind's, at the end of Python: for tests
  m.doc() = "The C library of tangere. Use the package.";
  m.attr("__version__") = tg_version();
  tangere::bind_model(m);
  tangere::bind_sim(m);
  tangere::bind_contacts(m);
  tangere::bind_sensors(m);
  tangere::bind_rollout(m);
  tangere::bind_batch(m);
  tangere::bind_second(m);
  tangere::bind_check(m);
  tangere::bind_task(m);
  tangere::bind_controller(m);
  tangere::bind_charts(m);
  tangere::bind_shards(m);
}
