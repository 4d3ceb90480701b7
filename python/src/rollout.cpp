// rollout.cpp: tangere.Rollout, made by Sim.rollout, and its gradient.
#include <algorithm>
#include <cstring>

#include "adjoint.h"
#include "contacts.h"
#include "tangere/replay.h"

namespace tangere {

Seed seed(nb::handle given, const char *name, const Shape &lanes, size_t steps, size_t n) {
  Seed s;
  size_t ndim = given.is_none() ? 0 : nb::len(nb::module_::import_("numpy").attr("shape")(given));
  s.last = ndim == lanes.size() + 1;
  Shape shape = lanes;
  if (!s.last) shape.push_back(steps + 1);
  shape.push_back(n);
  s.rows = in(given, name, shape);
  return s;
}

tgStatus linear(void *ctx, tgSim *, int t, int steps, tgReal *, tgReal *gq, tgReal *gv, tgReal *gu) {
  const Linear *l = static_cast<Linear *>(ctx);
  const double *q = l->q->at(l->lane, t, steps, l->nv), *v = l->v->at(l->lane, t, steps, l->nw);
  if (gq != nullptr && q != nullptr && l->nv > 0) std::memcpy(gq, q, l->nv * sizeof *q);
  if (gv != nullptr && v != nullptr && l->nw > 0) std::memcpy(gv, v, l->nw * sizeof *v);
  if (gu != nullptr && l->u != nullptr && l->nu > 0) std::memcpy(gu, l->u + (size_t)t * l->nu, l->nu * sizeof *l->u);
  return TG_OK;
}

tgStatus linear_contacts(void *ctx, tgSim *, int t, int, tgContactGrad *grad, int n) {
  const Linear *l = static_cast<Linear *>(ctx);
  size_t at = l->first[t];
  if (l->first[t + 1] - at != (size_t)n) return TG_ERR_STATE;
  std::copy_n(l->contacts + at, n, grad);
  return TG_OK;
}

struct RolloutGradient : Label { Array q0, v0, u; Arrays params; };

struct Rollout {
  std::shared_ptr<ContactHandle> contact, gradient;   // gradient: whose gradients backward takes; none: of the steps themselves
  std::shared_ptr<ModelHandle> model;
  Values values;
  std::vector<double> q0, v0, u;
  Array q, v;
  double *states = nullptr;           // of q
  nb::object contacts = nb::none(), impacts = nb::none();   // where they were asked for
  ContactList way;                    // with them, between states
  std::vector<size_t> first;          // of contact_starts
  double dt;
  size_t T;
  int steps = 0;                      // that succeeded
  std::string status;
  double residual = 0, least_distance = 0;
  tgRollout *rollout = nullptr;
  std::atomic<bool> busy{false};

  Rollout(const Sim &s, size_t T_, std::shared_ptr<ContactHandle> by) : contact(s.contact), gradient(std::move(by)),
      model(s.model), values(s), dt(s.dt), T(T_) {
    tgRolloutOptions options = tg_rollout_default();
    options.steps = (int)T;
    options.h = s.dt;
    options.gradient_contact = gradient ? gradient->contact : nullptr;
    tgError error{};
    rollout = tg_rollout_create(s.m(), contact ? contact->contact : nullptr, &options, &error);
    if (rollout == nullptr) raise(error);
  }
  ~Rollout() { tg_rollout_free(rollout); }
  size_t nq() const { return (size_t)tg_model_nq(model->model); }
  size_t nv() const { return (size_t)tg_model_nv(model->model); }
  size_t nw() const { return nv() + (size_t)tg_model_na(model->model); }
  size_t nu() const { return (size_t)tg_model_nu(model->model); }

  tgRolloutRun run() {
    tgRolloutRun r{};
    r.q0 = q0.data();
    r.v0 = v0.data();
    r.u = u.data();
    r.setup = Values::set;
    r.setup_ctx = &values;
    return r;
  }
};

static void copy_or(std::vector<double> &to, const In &given, const double *otherwise, size_t n) {
  const double *from = given.p != nullptr ? given.p : otherwise;
  to.assign(n, 0.0);
  if (from != nullptr && n > 0) std::memcpy(to.data(), from, n * sizeof *from);
}

static nb::object sim_rollout(nb::handle_t<Sim> self, nb::handle u, nb::handle q0, nb::handle v0, std::optional<size_t> steps,
                              bool contacts, const std::optional<std::string> &gradient, const std::optional<Options> &gradient_options) {
  Sim &s = nb::cast<Sim &>(self);
  Claim claim(s.busy, "Sim");
  s.get();
  In U = in(u, "u", {steps ? *steps : Any, s.nu()}), Q = in(q0, "q0", {s.nq()}), V = in(v0, "v0", {s.nw()});
  if (U.p == nullptr && U.keep.ptr() == nullptr && !steps) throw nb::type_error("rollout: u (steps, nu) or steps is needed");
  size_t T = steps ? *steps : rows(U);
  if (T < 1 || T > 100000000) throw nb::value_error("steps: at least one is needed");
  nb::object made = nb::cast(new Rollout(s, T, make_gradient(s.model, s.contact, gradient, gradient_options)),
                             nb::rv_policy::take_ownership);
  Rollout &r = nb::cast<Rollout &>(made);
  copy_or(r.q0, Q, s.qpos.data(), s.nq());
  copy_or(r.v0, V, s.w.data(), s.nw());
  copy_or(r.u, U, nullptr, T * s.nu());
  tgRolloutRun run = r.run();
  r.q = zeros({T + 1, s.nq()}, &run.q);
  r.states = run.q;
  r.v = zeros({T + 1, s.nw()}, &run.v);
  tgRolloutResult result{};
  std::vector<ContactList> seen(contacts ? 1 : 0);
  if (contacts) {
    run.loss = ContactList::look;
    run.loss_ctx = &seen[0];
  }
  auto ended = [&] {
    if (contacts) {
      r.contacts = contacts_array(seen, true, false);
      r.impacts = impacts_array(seen, true, false);
      r.first = contact_starts(seen, T);
      r.way = std::move(seen[0]);
    }
    r.steps = result.steps;
    r.status = tg_status_text(result.status);
    r.residual = result.residual;
    r.least_distance = result.least_distance;
  };
  s.interrupted = nb::none();
  try {
    long_call([&](const volatile int *cancel) {
      run.cancel = cancel;
      tg_rollout_run(r.rollout, &run, &result);
    });
  } catch (nb::python_error &) {
    ended();
    s.interrupted = made;
    throw;
  }
  ended();
  if (result.status != TG_OK) {
    s.interrupted = made;
    raise(result.error);
  }
  return made;
}

// Writes a page of the run; what it holds is computed once more, with the contact forces.
static void write_replay(Rollout &r, const std::string &path, const std::string &title, const std::string &viewer) {
  Claim claim(r.busy, "Rollout");
  tgRolloutRun run = r.run();
  tgError error{};
  tgStatus status = TG_OK;
  long_call([&](const volatile int *cancel) {
    run.cancel = cancel;
    status = tg_replay_rollout(r.rollout, &run, title.c_str(), viewer.empty() ? nullptr : viewer.c_str(), path.c_str(), &error);
  });
  if (status != TG_OK) raise(error);
}

// Poses at times of the run: one time, or a row of them.
static Array interpolate(Rollout &r, nb::handle t) {
  nb::module_ numpy = nb::module_::import_("numpy");
  bool one = nb::cast<int>(numpy.attr("ndim")(t)) == 0;
  In times = in(numpy.attr("atleast_1d")(t), "t", {Any});
  size_t n = rows(times), nq = r.nq();
  std::vector<int> offset = r.way.offset;
  offset.resize((size_t)r.steps + 2, offset.back());
  tgTrajectory motion{};
  motion.steps = r.steps;
  motion.q = r.states;
  motion.between_offset = offset.data();
  motion.between_time = r.way.time.data();
  motion.between_q = r.way.q.data();
  double *q;
  Array poses = zeros(one ? Shape{nq} : Shape{n, nq}, &q);
  for (size_t i = 0; i < n; i++) {
    tgStatus status = tg_trajectory_pose(r.model->model, &motion, r.dt, times.p[i], q + i * nq);
    if (status == TG_ERR_MEMORY) throw std::bad_alloc();
    if (status == TG_OK) continue;
    std::string why = "t: " + std::to_string(times.p[i]) + " s is not within the rollout's " + std::to_string(r.steps * r.dt) + " s";
    throw nb::value_error(why.c_str());
  }
  return poses;
}

static RolloutGradient backward(Rollout &r, nb::handle dq, nb::handle dv, nb::handle du, const std::vector<std::string> &names,
                                nb::handle contacts) {
  Claim claim(r.busy, "Rollout");
  if (r.steps != (int)r.T) raise(TG_ERR_STATE, "this rollout did not reach its end and has no gradient");
  Seed a = seed(dq, "dq", {}, r.T, r.nv()), b = seed(dv, "dv", {}, r.T, r.nw());
  In c = in(du, "du", {r.T, r.nu()});
  Params params(*r.model, (r.gradient ? r.gradient : r.contact).get(), names);
  std::vector<tgContactGrad> grad;
  Linear loss{&a, &b, c.p, 0, r.nv(), r.nw(), r.nu()};
  tgRolloutRun run = r.run();
  run.loss = linear;
  run.loss_ctx = &loss;
  if (!contacts.is_none()) {
    if (r.contacts.is_none()) throw nb::value_error("contacts: give the rollout contacts=True");
    grad = contact_grads(contacts, r.first.back());
    loss.contacts = grad.data();
    loss.first = r.first.data();
    run.loss_contacts = linear_contacts;
  }
  run.dp = params.get();
  run.loss_param = tg_loss_without_parameters;
  RolloutGradient g;
  g.q0 = zeros({r.nv()}, &run.dq0);
  g.v0 = zeros({r.nw()}, &run.dv0);
  g.u = zeros({r.T, r.nu()}, &run.du);
  tgRolloutResult result{};
  long_call([&](const volatile int *cancel) {
    run.cancel = cancel;
    tg_rollout_run(r.rollout, &run, &result);
  });
  if (result.status != TG_OK) raise(result.error);
  static_cast<Label &>(g) = make_label(result.grad);
  g.params = params.arrays();
  return g;
}

void bind_rollout(nb::module_ &m) {
  nb::class_<RolloutGradient>(m, "RolloutGradient",
                              "Gradient of a function of a trajectory: dL/dq0 (tangent, nv) and dL/dv0 (nv + na), dL/du and dL/dparams.")
      .def_ro("q0", &RolloutGradient::q0, "dL/dq0, (nv,), tangent.")
      .def_ro("v0", &RolloutGradient::v0, "dL/dv0, (nv + na,): velocities, then activations.")
      .def_ro("u", &RolloutGradient::u, "dL/du, (steps, nu).")
      .def_ro("params", &RolloutGradient::params, "By name, for the parameters that were asked for.")
      .def_ro("label", &RolloutGradient::label, "The worst of all steps: 'exact', 'one-sided', 'smoothed', 'surrogate' or 'unstable'.")
      .def_ro("reason", &RolloutGradient::reason, "Why it is not exact.")
      .def_ro("ties", &RolloutGradient::ties, "Ties and mode switches that were met.")
      .def_ro("first_step", &RolloutGradient::first_step, "The first step with that label, whose reason is told; -1 when all were exact.")
      .def("__repr__", [](const RolloutGradient &g) { return "<tangere.RolloutGradient: " + g.label +
                                                      (g.reason.empty() ? "" : ", " + g.reason) + ">"; });
  nb::class_<Rollout>(m, "Rollout", "A trajectory. backward differentiates any function of it.")
      .def_ro("q", &Rollout::q, "Positions, (steps + 1, nq).")
      .def_ro("v", &Rollout::v, "Velocities, then activations, (steps + 1, nv + na).")
      .def_ro("contacts", &Rollout::contacts,
              "Where they were asked for, those of all steps as Sim.contacts has them, with a field `step`; else None.")
      .def_ro("impacts", &Rollout::impacts,
              "Likewise the impacts, as Sim.impacts has them, with a field `step`: each is at step * dt + time; else None.")
      .def("interpolate", &interpolate, nb::arg("t"), nb::sig("def interpolate(self, t: object) -> numpy.typing.NDArray[numpy.float64]"),
           "The pose at a time t [s], (nq,), or at several, (n, nq). With contacts=True along the way that Sim.poses_within tells of, on\n"
           "which nothing intersects under barrier; else straight in the joints from state to state, which may cross in coarse steps.")
      .def_ro("dt", &Rollout::dt, "Step size [s].")
      .def_prop_ro("model", [](const Rollout &r) { return Model{r.model}; }, "Its model.")
      .def_prop_ro("u", [](const Rollout &r) { return frozen(r.u.data(), {r.T, r.nu()}); }, "Controls, (steps, nu), a copy.")
      .def_ro("steps", &Rollout::steps, "Steps that succeeded; later rows of q and v are 0.")
      .def_ro("status", &Rollout::status, "'ok', or what ended it.")
      .def_ro("least_distance", &Rollout::least_distance, "Smallest gap met [m].")
      .def_ro("residual", &Rollout::residual, "Worst residual of the contact conditions.")
      .def("write_replay", &write_replay, nb::arg("path"), nb::arg("title") = "rollout", nb::arg("viewer") = "",
           "Writes a page that shows this rollout, which is computed once more with its contact forces. viewer: the "
           "page's template; '': $TANGERE_VIEWER. tangere.Replay finds it by itself.")
      .def("backward", &backward, nb::arg("dq") = nb::none(), nb::arg("dv") = nb::none(), nb::arg("du") = nb::none(),
           nb::arg("params") = std::vector<std::string>(), nb::arg("contacts") = nb::none(),
           "The gradient from dL/dq and dL/dv: (steps + 1, nv), tangent, or (nv,) for the last state alone; du (steps, "
           "nu) what L depends on u directly.\n"
           "contacts: dL/d of fields of the rollout's contacts, a dict of arrays (n, 3) by 'force', 'world', 'torque', 'point', as "
           "Sim.contacts_vjp takes it, in the order of `contacts`; give the rollout contacts=True.\n"
           "The steps are run again with the tape within its budget, to the same bits.")
      .def("__repr__", [](const Rollout &r) { return "<tangere.Rollout: " + std::to_string(r.steps) + " of " +
                                              std::to_string(r.T) + " steps, " + r.status + ">"; });

  nb::class_<Sim> sim = nb::borrow<nb::class_<Sim>>(m.attr("Sim"));
  sim.def("rollout", &sim_rollout, nb::arg("u") = nb::none(), nb::arg("q0") = nb::none(), nb::arg("v0") = nb::none(),
          nb::arg("steps") = nb::none(), nb::arg("contacts") = false,
          nb::arg("gradient") = nb::none(), nb::arg("gradient_options") = nb::none(),
          nb::sig("def rollout(self, u: object = None, q0: object = None, v0: object = None, steps: int | None = None, "
                  "contacts: bool = False, gradient: str | None = None, "
                  "gradient_options: dict[str, object] | None = None) -> Rollout"),
          "A trajectory from (q0, v0), the present state when None, under controls u (steps, nu), zero when None. The "
          "sim itself stays as it is.\n"
          "contacts: keep those of every step, its impacts, and its way from state to state. "
          "gradient: the contact model whose gradients backward takes at the states of the rollout, with its options; "
          "None: those of the steps themselves.");
}

}  // namespace tangere
