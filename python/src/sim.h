// sim.h: tangere.Sim and tangere.Rollout as C++ sees them.
#ifndef TANGERE_PYTHON_SIM_H
#define TANGERE_PYTHON_SIM_H

#include <set>

#include "bind.h"
#include "tangere/second.h"

namespace tangere {

/// tangere.Sim. State lives in vectors of its own, which never move, so that arrays handed out stay valid when the engine makes room.
struct Sim {
  std::shared_ptr<ContactHandle> contact;   // may be null: nothing touches
  std::shared_ptr<ModelHandle> model;
  tgSim *sim = nullptr;
  double dt = 0;
  bool watched = false, answers_watched = false;   // see watch_stability, watch_answers
  std::vector<double> qpos, w, ctrl, applied;   // w: velocities, then activations
  std::set<std::string> changed;            // parameters that differ from the model's
  nb::object interrupted = nb::none();      // the Rollout that Ctrl-C ended, with the steps that it had
  tgSecond *second = nullptr;               // for trajectories of second_steps; made when first asked for
  size_t second_steps = 0;
  double second_dt = 0;
  std::vector<std::string> second_names;    // of the parameters chosen in it
  std::unique_ptr<Params> second_params;    // where their gradients are put apart by name
  std::atomic<bool> busy{false};

  Sim(const Model &model, const std::optional<std::string> &contact, std::optional<double> dt, const nb::kwargs &options);
  Sim(std::shared_ptr<ContactHandle> contact, std::shared_ptr<ModelHandle> model, double dt);
  ~Sim() {
    tg_second_free(second);
    tg_sim_free(sim);
  }
  std::vector<std::string> param_names() const;
  void close();
  tgSim *get() const;        // tangere.Error when it is closed
  const tgModel *m() const { return model->model; }
  size_t nq() const { return qpos.size(); }
  size_t nv() const { return applied.size(); }
  size_t na() const { return w.size() - nv(); }
  size_t nw() const { return w.size(); }
  size_t nu() const { return ctrl.size(); }
  void give() const;         // state into the engine's sim
  void take();               // and back
  int body(nb::handle given) const;   // index of a body by name or index; KeyError
  tgStepInfo advance();      // a step of the engine's sim, the interpreter released
  [[noreturn]] void fail() const { raise(*tg_sim_error(sim)); }
};

/// A gradient in q, v, u and parameters, with how right it is.
struct Gradient : Label { Array q, v, u; Arrays params; };
/// That of the last step, or of what is told of it, which vjp(q, v, u, params, info) makes of the engine's sim, the interpreter released.
template <class Vjp> Gradient gradient_of(Sim &s, const std::vector<std::string> &names, Vjp vjp) {
  Params params(*s.model, s.contact.get(), names);
  double *q, *v, *u;
  Gradient g;
  g.q = zeros({s.nv()}, &q);
  g.v = zeros({s.nw()}, &v);
  g.u = zeros({s.nu()}, &u);
  tgGradInfo info{};
  tgStatus status;
  {
    nb::gil_scoped_release release;
    status = vjp(q, v, u, params.get(), &info);
  }
  if (status != TG_OK) s.fail();
  static_cast<Label &>(g) = make_label(info);
  g.params = params.arrays();
  return g;
}

/// The attributes of a label and of parameters.
template <class T> void bind_label(nb::class_<T> &c) {
  c.def_ro("label", &T::label, "'exact', 'one-sided', 'smoothed', 'surrogate' or 'unstable'.")
      .def_ro("reason", &T::reason, "Why it is not exact: the first tie's geoms or joint; '' when it is.")
      .def_ro("ties", &T::ties, "Ties and mode switches that were met.")
      .def_ro("converged", &T::converged, "False: a step in it had not converged.")
      .def_ro("params", &T::params, "By name, for the parameters that were asked for.");
}

/// The model and contact model of a Task, which they keep alive.
struct TaskHandles { std::shared_ptr<ModelHandle> model; std::shared_ptr<ContactHandle> contact; };
TaskHandles task_handles(nb::handle task);
/// Its task, which it keeps.
const tgTask *task_of(nb::handle task);

/// Parameters that were set in one sim, for a rollout's.
struct Values {
  std::map<std::string, std::vector<double>> value;
  explicit Values(const Sim &sim);
  /// A tgSetupFn.
  static tgStatus set(void *values, tgSim *sim);
};

}  // namespace tangere

#endif
