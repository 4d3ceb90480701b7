// batch.cpp: tangere.Batch and what it returns.
#include <algorithm>
#include <cstring>

#include "adjoint.h"
#include "contacts.h"

namespace tangere {

struct Batch {
  std::shared_ptr<ModelHandle> model;
  std::shared_ptr<ContactHandle> contact, gradient;   // gradient: whose gradients are taken; none: of the steps themselves
  double dt;
  int threads;
  size_t T = 0;               // that `batch` is for
  tgBatch *batch = nullptr;
  nb::object interrupted = nb::none();   // what Ctrl-C left of the last call: a BatchRollout or a BatchGradient
  nb::object sim = nb::none();           // made when first asked for
  std::vector<std::string> names;        // of the parameters in `params`
  std::vector<std::unique_ptr<Params>> params;   // one a trajectory, kept from call to call
  std::atomic<bool> busy{false};

  Batch(const Model &from, const std::optional<std::string> &word, std::optional<double> step, int nthread,
        const std::optional<std::string> &by, const std::optional<Options> &by_options,
        const nb::kwargs &options) : threads(nthread) {
    from.get();
    model = from.handle;
    dt = step ? *step : tg_model_timestep(model->model);
    if (!(dt > 0)) throw nb::value_error("dt: a step size above 0 is needed [s]");
    if (nthread < 0) throw nb::value_error("threads: 0 (all cores) or more");
    contact = make_contact(model, word, options);
    gradient = make_gradient(model, contact, by, by_options);
  }
  ~Batch() { tg_batch_free(batch); }
  void room(size_t steps) {
    if (batch != nullptr && T == steps) return;
    tg_batch_free(batch);
    tgRolloutOptions options = tg_rollout_default();
    options.steps = (int)steps;
    options.h = dt;
    options.gradient_contact = gradient ? gradient->contact : nullptr;
    tgError error{};
    batch = tg_batch_create(model->model, contact ? contact->contact : nullptr, &options, threads, &error);
    if (batch == nullptr) raise(error);
    T = steps;
  }
  void params_for(const std::vector<std::string> &wanted, size_t n) {
    if (names != wanted) params.clear();
    names = wanted;
    while (params.size() < n) params.push_back(std::make_unique<Params>(*model, (gradient ? gradient : contact).get(), names));
  }
  size_t nq() const { return (size_t)tg_model_nq(model->model); }
  size_t nv() const { return (size_t)tg_model_nv(model->model); }
  size_t nw() const { return nv() + (size_t)tg_model_na(model->model); }
  size_t nu() const { return (size_t)tg_model_nu(model->model); }
};

static nb::object kept_sim(Batch &b) {
  if (b.gradient)
    raise(TG_ERR_UNSUPPORTED,
          "second derivatives are of the steps themselves, and this batch takes its gradients from another contact model");
  if (b.sim.is_none()) b.sim = nb::cast(new Sim(b.contact, b.model, b.dt), nb::rv_policy::take_ownership);
  return b.sim;
}

// Parameters of one lane.
struct Lane {
  const std::map<std::string, In> *params;
  size_t lane;
  static tgStatus set(void *ctx, tgSim *sim) {
    const Lane *l = static_cast<Lane *>(ctx);
    for (const auto &item : *l->params) {
      int nrow, ncol;
      double *to = tg_sim_param(sim, item.first.c_str(), &nrow, &ncol);
      size_t n = (size_t)nrow * (size_t)ncol;
      std::memcpy(to, item.second.p + l->lane * n, n * sizeof *to);
    }
    return TG_OK;
  }
};

struct BatchRollout {
  nb::object owner;           // the Batch
  In q0, v0, u;
  Array q, v;
  nb::object contacts = nb::none(), impacts = nb::none();   // where they were asked for
  std::vector<size_t> first;  // with them, of contact_starts
  size_t B, T;
  std::map<std::string, In> params;
  std::vector<bool> ok;
  std::vector<std::string> error;   // '' where ok
  std::vector<int> steps;
};

static void check_results(BatchRollout &r, const std::vector<tgRolloutResult> &results) {
  r.ok.assign(r.B, false);
  r.error.assign(r.B, "");
  r.steps.assign(r.B, 0);
  for (size_t i = 0; i < r.B; i++) {
    r.ok[i] = results[i].status == TG_OK;
    r.steps[i] = results[i].steps;
    if (!r.ok[i]) r.error[i] = results[i].error.text[0] != '\0' ? results[i].error.text : tg_status_text(results[i].status);
  }
}

// `gather` makes what the call returns of the results; after Ctrl-C that is kept in the batch
template <class Gather> static auto run_batch(Batch &b, std::vector<tgRolloutRun> &runs,
                                              std::vector<tgRolloutResult> &results, const Gather &gather) {
  tgStatus status = TG_OK;
  b.interrupted = nb::none();
  try {
    long_call([&](const volatile int *cancel) {
      for (auto &run : runs) run.cancel = cancel;
      status = tg_batch_run(b.batch, (int)runs.size(), runs.data(), results.data());
    });
  } catch (nb::python_error &) {
    b.interrupted = nb::cast(gather(), nb::rv_policy::automatic);   // a pointer is owned, a value moved
    throw;
  }
  if (status != TG_OK) raise(status, "Batch");
  return gather();
}

static void start_runs(const BatchRollout &r, const Batch &b, std::vector<Lane> &lanes, std::vector<tgRolloutRun> &runs) {
  for (size_t i = 0; i < r.B; i++) {
    tgRolloutRun &run = runs[i];
    run.q0 = r.q0.p != nullptr ? r.q0.p + i * b.nq() : nullptr;
    run.v0 = r.v0.p != nullptr ? r.v0.p + i * b.nw() : nullptr;
    run.u = r.u.p != nullptr ? r.u.p + i * r.T * b.nu() : nullptr;
    lanes[i] = {&r.params, i};
    if (!r.params.empty()) {
      run.setup = Lane::set;
      run.setup_ctx = &lanes[i];
    }
  }
}

static std::map<std::string, In> lane_params(const Batch &b, const Given &given, size_t B) {
  std::map<std::string, In> params;
  for (auto item : given) {
    std::string name = nb::cast<std::string>(item.first);
    if (name == "opt_timestep") throw nb::value_error("opt_timestep: all trajectories of a Batch have the steps of its dt");
    Shape shape = param_shape(*b.model, b.contact.get(), name);
    shape.insert(shape.begin(), B);
    params[name] = in(item.second, name.c_str(), shape);
    if (params[name].p == nullptr) throw nb::type_error((name + ": None is no array").c_str());
  }
  return params;
}

static std::unique_ptr<BatchRollout> prepare(nb::handle_t<Batch> self, nb::handle q0, nb::handle v0, nb::handle u,
                                             std::optional<size_t> steps, const Given &params) {
  Batch &b = nb::cast<Batch &>(self);
  auto r = std::make_unique<BatchRollout>();
  r->owner = nb::borrow(self);
  r->q0 = in(q0, "q0", {Any, b.nq()});
  r->v0 = in(v0, "v0", {Any, b.nw()});
  r->u = in(u, "u", {Any, steps ? *steps : Any, b.nu()});
  r->B = 0;
  for (const In *a : {&r->q0, &r->v0, &r->u}) {
    if (a->keep.ptr() == nullptr) continue;
    if (r->B != 0 && rows(*a) != r->B) throw nb::value_error("q0, v0 and u: different numbers of trajectories");
    r->B = rows(*a);
  }
  if (r->B == 0) throw nb::value_error("an array with one row a trajectory is needed (q0, v0 or u)");
  if (r->u.keep.ptr() == nullptr && !steps) throw nb::value_error("u (n, steps, nu) or steps is needed");
  r->T = steps ? *steps : nb::cast<size_t>(r->u.keep.attr("shape")[nb::int_(1)]);
  if (r->T < 1) throw nb::value_error("steps: at least one is needed");
  r->params = lane_params(b, params, r->B);
  b.room(r->T);
  return r;
}

static BatchRollout *batch_rollout(nb::handle_t<Batch> self, nb::handle q0, nb::handle v0, nb::handle u,
                                   std::optional<size_t> steps, const Given &params, bool contacts) {
  Batch &b = nb::cast<Batch &>(self);
  Claim claim(b.busy, "Batch");
  auto r = prepare(self, q0, v0, u, steps, params);
  std::vector<ContactList> seen(contacts ? r->B : 0);
  std::vector<tgRolloutRun> runs(r->B);
  std::vector<tgRolloutResult> results(r->B);
  std::vector<Lane> lanes(r->B);
  start_runs(*r, b, lanes, runs);
  double *q, *v;
  r->q = zeros({r->B, r->T + 1, b.nq()}, &q);
  r->v = zeros({r->B, r->T + 1, b.nw()}, &v);
  for (size_t i = 0; i < r->B; i++) {
    runs[i].q = q + i * (r->T + 1) * b.nq();
    runs[i].v = v + i * (r->T + 1) * b.nw();
    if (!contacts) continue;
    runs[i].loss = ContactList::look;
    runs[i].loss_ctx = &seen[i];
  }
  return run_batch(b, runs, results, [&] {
    check_results(*r, results);
    if (contacts) r->contacts = contacts_array(seen, true, true);
    if (contacts) r->impacts = impacts_array(seen, true, true);
    if (contacts) r->first = contact_starts(seen, r->T);
    return r.release();
  });
}

struct BatchGradient {
  Array q0, v0, u;
  Arrays params;
  std::vector<std::string> label, reason, error;
  std::vector<bool> ok;
};

static BatchGradient batch_backward(BatchRollout &r, nb::handle dq, nb::handle dv, nb::handle du, const std::vector<std::string> &names,
                                    nb::handle contacts) {
  Batch &b = nb::cast<Batch &>(r.owner);
  Claim claim(b.busy, "Batch");
  Seed a = seed(dq, "dq", {r.B}, r.T, b.nv()), c = seed(dv, "dv", {r.B}, r.T, b.nw());
  In d = in(du, "du", {r.B, r.T, b.nu()});
  bool touched = !contacts.is_none();
  if (touched && r.contacts.is_none()) throw nb::value_error("contacts: give the rollout contacts=True");
  std::vector<tgContactGrad> grad;
  if (touched) grad = contact_grads(contacts, r.first.back());
  b.room(r.T);
  b.params_for(names, r.B);
  std::vector<tgRolloutRun> runs(r.B);
  std::vector<tgRolloutResult> results(r.B);
  std::vector<Lane> lanes(r.B);
  std::vector<Linear> loss(r.B);
  start_runs(r, b, lanes, runs);
  double *q, *v, *u;
  BatchGradient g;
  g.q0 = zeros({r.B, b.nv()}, &q);
  g.v0 = zeros({r.B, b.nw()}, &v);
  g.u = zeros({r.B, r.T, b.nu()}, &u);
  for (size_t i = 0; i < r.B; i++) {
    loss[i] = {&a, &c, d.p != nullptr ? d.p + i * r.T * b.nu() : nullptr, i, b.nv(), b.nw(), b.nu()};
    runs[i].loss = linear;
    runs[i].loss_ctx = &loss[i];
    if (touched) {
      loss[i].contacts = grad.data();
      loss[i].first = r.first.data() + i * r.T;
      runs[i].loss_contacts = linear_contacts;
    }
    runs[i].dp = b.params[i]->get();
    runs[i].loss_param = tg_loss_without_parameters;
    runs[i].dq0 = q + i * b.nv();
    runs[i].dv0 = v + i * b.nw();
    runs[i].du = u + i * r.T * b.nu();
  }
  return run_batch(b, runs, results, [&] {
    std::vector<double *> data;
    const char *other = "its steps have other contacts than the rollout kept: that was interrupted, or what it was given has changed";
    if (!names.empty()) g.params = b.params[0]->batch(r.B, data);
    for (size_t i = 0; i < r.B; i++) {
      Label label = make_label(results[i].grad);
      g.ok.push_back(results[i].status == TG_OK);
      g.label.push_back(g.ok[i] ? label.label : "");
      g.reason.push_back(label.reason);
      g.error.push_back(g.ok[i] ? "" : touched && results[i].status == TG_ERR_STATE ? other : results[i].error.text);
      if (g.ok[i] && !names.empty()) b.params[i]->store(data, i);
    }
    return g;
  });
}

static BatchGradient batch_vjp(nb::handle_t<Batch> self, nb::handle q0, nb::handle v0, nb::handle u, nb::handle dq,
                               nb::handle dv, nb::handle du, std::optional<size_t> steps, const Given &params,
                               const std::vector<std::string> &wrt) {
  std::unique_ptr<BatchRollout> r;
  {
    Claim claim(nb::cast<Batch &>(self).busy, "Batch");
    r = prepare(self, q0, v0, u, steps, params);
  }
  return batch_backward(*r, dq, dv, du, wrt, nb::none());
}

// A Batch holds what Ctrl-C left of it, and that holds the Batch: the collector of cycles looks through both.
static int visit_batch(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<Batch>(self)->interrupted.ptr());
  return 0;
}

static int clear_batch(PyObject *self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Batch>(self)->interrupted = nb::none();
  return 0;
}

static int visit_batch_rollout(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<BatchRollout>(self)->owner.ptr());
  return 0;
}

static PyType_Slot batch_slots[] = {{Py_tp_traverse, (void *)visit_batch}, {Py_tp_clear, (void *)clear_batch}, {0, nullptr}};
static PyType_Slot batch_rollout_slots[] = {{Py_tp_traverse, (void *)visit_batch_rollout}, {0, nullptr}};

void bind_batch(nb::module_ &m) {
  nb::class_<BatchGradient>(m, "BatchGradient", "Gradients of a batch, one row a trajectory; rows whose ok is False hold no result.")
      .def_ro("q0", &BatchGradient::q0, "dL/dq0, (n, nv), tangent.")
      .def_ro("v0", &BatchGradient::v0, "dL/dv0, (n, nv + na): velocities, then activations.")
      .def_ro("u", &BatchGradient::u, "dL/du, (n, steps, nu).")
      .def_ro("params", &BatchGradient::params, "By name: (n, rows, cols).")
      .def_ro("label", &BatchGradient::label, "Label of each gradient, '' where it failed.")
      .def_ro("reason", &BatchGradient::reason, "Why each is not exact.")
      .def_ro("ok", &BatchGradient::ok, "True where the gradient was computed.")
      .def_ro("error", &BatchGradient::error, "Text of each failure, ''.");
  nb::class_<BatchRollout>(m, "BatchRollout", nb::type_slots(batch_rollout_slots), "Trajectories of a batch, a status for each.")
      .def_ro("q", &BatchRollout::q, "Positions, (n, steps + 1, nq).")
      .def_ro("v", &BatchRollout::v, "Velocities, then activations, (n, steps + 1, nv + na).")
      .def_ro("contacts", &BatchRollout::contacts,
              "Where they were asked for, those of all steps as Sim.contacts has them, with fields `run` and `step`; else None.")
      .def_ro("impacts", &BatchRollout::impacts, "Likewise the impacts, as Sim.impacts has them.")
      .def_ro("ok", &BatchRollout::ok, "True where all steps succeeded.")
      .def_ro("error", &BatchRollout::error, "Text of each failure, '' where ok.")
      .def_ro("steps", &BatchRollout::steps, "Steps of each that succeeded.")
      .def("backward", &batch_backward, nb::arg("dq") = nb::none(), nb::arg("dv") = nb::none(),
           nb::arg("du") = nb::none(), nb::arg("params") = std::vector<std::string>(), nb::arg("contacts") = nb::none(),
           "As Rollout.backward with one axis more in front: dq (n, steps + 1, nv) or (n, nv).\n"
           "contacts: as there, arrays (number of contacts, 3) in the order of `contacts`, which has those of all runs; give the rollout\n"
           "contacts=True.")
      .def("__repr__", [](const BatchRollout &r) {
        size_t well = (size_t)std::count(r.ok.begin(), r.ok.end(), true);
        return "<tangere.BatchRollout: " + std::to_string(well) + " of " + std::to_string(r.B) + " trajectories of " + std::to_string(r.T) +
               " steps ok>";
      });
  nb::class_<Batch>(m, "Batch", nb::type_slots(batch_slots),
                    "A pool of threads that runs many trajectories of a model; the bits do not depend on their number.")
      .def(nb::init<const Model &, const std::optional<std::string> &, std::optional<double>, int,
           const std::optional<std::string> &, const std::optional<Options> &, const nb::kwargs &>(), nb::arg("model"),
           nb::arg("contact") = "lcp", nb::arg("dt") = nb::none(), nb::arg("threads") = 0,
           nb::arg("gradient") = nb::none(), nb::arg("gradient_options") = nb::none(), nb::arg("options"),
           nb::sig("def __init__(self, model: Model, contact: str | None = 'lcp', dt: float | None = None, threads: "
                   "int = 0, gradient: str | None = None, gradient_options: dict[str, object] | None = None, "
                   "**options: object) -> None"),
                   "As Sim; threads: 0 for one a core; gradient: the contact model whose gradients are taken, as "
                   "Sim.rollout has it, also by tangere.torch and tangere.jax.")
      .def("rollout", &batch_rollout, nb::arg("q0") = nb::none(), nb::arg("v0") = nb::none(), nb::arg("u") = nb::none(),
           nb::arg("steps") = nb::none(), nb::arg("params") = Given(), nb::arg("contacts") = false, nb::rv_policy::take_ownership,
           "q0 (n, nq), v0 (n, nv + na), u (n, steps, nu); what is None is the model's start, rest, zero. params: by name, "
           "one array a trajectory. contacts: keep those of every step, and its impacts.")
      .def("vjp", &batch_vjp, nb::arg("q0") = nb::none(), nb::arg("v0") = nb::none(), nb::arg("u") = nb::none(), nb::arg("dq") = nb::none(),
           nb::arg("dv") = nb::none(), nb::arg("du") = nb::none(), nb::arg("steps") = nb::none(), nb::arg("params") = Given(),
           nb::arg("wrt") = std::vector<std::string>(),
           "rollout and BatchRollout.backward in one, for losses of states and controls; wrt: names of the parameters whose gradient is\n"
           "wanted.")
      .def_prop_ro("model", [](const Batch &b) { return Model{b.model}; }, "Its model.")
      .def("param_shape", [](const Batch &b,
                             const std::string &name) { return param_shape(*b.model, b.contact.get(), name); },
                             nb::arg("name"),
           "Shape of a parameter, as rollout takes it after the trajectories' axis.")
      .def_prop_ro("_sim", &kept_sim, "A simulation that the batch keeps for second derivatives; who sets parameters in it puts them back.")
      .def("sim", [](const Batch &b) { return new Sim(b.contact, b.model, b.dt); }, nb::rv_policy::take_ownership,
           "A simulation of the same model, contact model and step size, at the model's start.")
      .def_ro("dt", &Batch::dt, "Step size [s].")
      .def_prop_ro("interrupted", [](const Batch &b) { return b.interrupted; },
                   "What Ctrl-C left of the last call: a BatchRollout, or of backward and vjp a BatchGradient, whose "
                   "ok says which trajectories were done; None.");
}

}  // namespace tangere
