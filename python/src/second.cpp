// second.cpp: second derivatives of steps and trajectories under contact models whose step has them.
#include <algorithm>
#include <cstring>

#include "sim.h"

namespace tangere {

// room for trajectories of that many steps, kept from call to call
static tgSecond *second_of(Sim &s, size_t steps) {
  if (s.second != nullptr && s.second_steps == steps && s.second_dt == s.dt) return s.second;
  tgRolloutOptions options = tg_rollout_default();
  options.steps = (int)steps;
  options.h = s.dt;
  tgError error{};
  tg_second_free(s.second);
  s.second = tg_second_create(s.m(), s.contact ? s.contact->contact : nullptr, &options, &error);
  s.second_names.clear();
  if (s.second == nullptr) raise(error);
  s.second_steps = steps;
  s.second_dt = s.dt;
  return s.second;
}

static Array hessian(Sim &s) {
  Claim claim(s.busy, "Sim");
  s.get();
  tgSecond *work = second_of(s, s.second != nullptr ? s.second_steps : 1);
  size_t n = s.nv() + s.nw() + s.nu();
  double *H;
  Array array = zeros({s.nv() + s.nw(), n, n}, &H);
  tgStatus status = TG_OK;
  long_call([&](const volatile int *cancel) { status = tg_step_hessian(work, s.sim, H, cancel); });
  if (status != TG_OK) s.fail();
  return array;
}

static Array hvp(Sim &s, nb::handle g, nb::handle d) {
  Claim claim(s.busy, "Sim");
  s.get();
  size_t n = s.nv() + s.nw() + s.nu();
  In a = in(g, "g", {s.nv() + s.nw()}), b = in(d, "d", {n});
  if (a.p == nullptr || b.p == nullptr) throw nb::type_error("g and d: None is no array");
  tgSecond *work = second_of(s, s.second != nullptr ? s.second_steps : 1);
  double *out;
  Array array = zeros({n}, &out);
  if (tg_step_hvp(work, s.sim, a.p, b.p, out, nullptr) != TG_OK) s.fail();
  return array;
}

// Parameters chosen by name, those asked for and those of the direction; the direction as one vector.
struct Chosen {
  Params *where = nullptr;
  std::vector<double> direction;

  Chosen(Sim &s, tgSecond *work, const std::vector<std::string> &params, const Given &dp) {
    std::vector<std::string> names = params;
    for (auto item : dp) {
      std::string name = nb::cast<std::string>(item.first);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    if (names.empty()) return;
    choose(s, work, names);
    int size = 0;
    const double *all = tg_param_grad_values(where->get(), &size);
    direction.assign((size_t)size, 0.0);
    for (auto item : dp) {
      std::string name = nb::cast<std::string>(item.first);
      int nrow = 0, ncol = 0;
      const double *field = tg_param_grad_field(where->get(), name.c_str(), &nrow, &ncol);
      Shape shape = ncol == 1 ? Shape{(size_t)nrow} : Shape{(size_t)nrow, (size_t)ncol};   // as set_param takes it
      In given = in(item.second, name.c_str(), shape);
      if (given.p == nullptr) throw nb::type_error("dp: None is no array");
      std::copy(given.p, given.p + (size_t)nrow * (size_t)ncol, direction.begin() + (field - all));
    }
  }
  // kept from call to call as long as the names are the same
  void choose(Sim &s, tgSecond *work, const std::vector<std::string> &names) {
    if (s.second_names != names) {
      s.second_names.clear();
      s.second_params = std::make_unique<Params>(*s.model, s.contact.get(), names);
      std::vector<const char *> list;
      for (const std::string &name : names) list.push_back(name.c_str());
      tgError error{};
      if (tg_second_choose(work, list.data(), (int)list.size(), &error) != TG_OK) raise(error);
      s.second_names = names;
    }
    where = s.second_params.get();
  }
  // a vector of parameters as arrays by name
  Arrays arrays(const std::vector<double> &values) const {
    if (where == nullptr) return {};
    std::copy(values.begin(), values.end(), tg_param_grad_values(where->get(), nullptr));
    return where->arrays();
  }
};

struct StepProduct { Array y, x; Arrays params; };

static StepProduct hvp_params(Sim &s, nb::handle g, nb::handle d, const Given &dp, const std::vector<std::string> &params) {
  Claim claim(s.busy, "Sim");
  s.get();
  size_t n = s.nv() + s.nw() + s.nu();
  In a = in(g, "g", {s.nv() + s.nw()}), b = in(d, "d", {n});
  if (a.p == nullptr) throw nb::type_error("g: None is no array");
  tgSecond *work = second_of(s, s.second != nullptr ? s.second_steps : 1);
  Chosen chosen(s, work, params, dp);
  std::vector<double> hp(chosen.direction.size());
  StepProduct p;
  double *x, *y;
  p.x = zeros({n}, &x);
  p.y = zeros({s.nv() + s.nw()}, &y);
  bool any = chosen.where != nullptr;
  tgStatus status;
  {
    nb::gil_scoped_release release;
    status = tg_step_hvp_parameters(work, s.sim, a.p, b.p, any ? chosen.direction.data() : nullptr, x, any ? hp.data() : nullptr, y);
  }
  if (status != TG_OK) s.fail();
  p.params = chosen.arrays(hp);
  return p;
}

// A function that is linear in each state's chart: its own second derivative there is 0.
struct Weights { const double *q, *v; size_t nv, nw; };   // nw: velocities and activations

static tgStatus weigh(void *ctx, tgSim *, int t, int, tgReal *, tgReal *gq, tgReal *gv, tgReal *) {
  const Weights *w = static_cast<Weights *>(ctx);
  if (gq != nullptr && w->q != nullptr && w->nv > 0) std::memcpy(gq, w->q + (size_t)t * w->nv, w->nv * sizeof *gq);
  if (gv != nullptr && w->v != nullptr && w->nw > 0) std::memcpy(gv, w->v + (size_t)t * w->nw, w->nw * sizeof *gv);
  return TG_OK;
}

static tgStatus flat(void *, tgSim *, int, int, const tgReal *, const tgReal *, const tgReal *, tgReal *, tgReal *, tgReal *) {
  return TG_OK;
}

struct RolloutProduct { Array q, v, q0, v0, u; Arrays params; };

static RolloutProduct rollout_hvp(Sim &s, nb::handle u, nb::handle gq, nb::handle gv, nb::handle q0, nb::handle v0,
                                  nb::handle dq0, nb::handle dv0, nb::handle du, const Given &dp,
                                  const std::vector<std::string> &params) {
  Claim claim(s.busy, "Sim");
  s.get();
  In U = in(u, "u", {Any, s.nu()});
  if (U.keep.ptr() == nullptr) throw nb::type_error("u: None is no array");
  size_t T = rows(U), nv = s.nv(), nw = s.nw();
  if (T < 1) throw nb::value_error("u: at least one step is needed");
  In a = in(gq, "gq", {T + 1, nv}), b = in(gv, "gv", {T + 1, nw}), Q = in(q0, "q0", {s.nq()}), V = in(v0, "v0", {nw});
  In dQ = in(dq0, "dq0", {nv}), dV = in(dv0, "dv0", {nw}), dU = in(du, "du", {T, s.nu()});
  tgSecond *work = second_of(s, T);
  Chosen chosen(s, work, params, dp);
  std::vector<double> hp(chosen.direction.size());
  Values values(s);
  Weights weights{a.p, b.p, nv, nw};
  tgRolloutRun run{};
  run.q0 = Q.p != nullptr ? Q.p : s.qpos.data();
  run.v0 = V.p != nullptr ? V.p : s.w.data();
  run.u = U.p;
  run.setup = Values::set;
  run.setup_ctx = &values;
  run.loss = weigh;
  run.loss_ctx = &weights;
  tgSecondRun second{};
  second.dq0 = dQ.p;
  second.dv0 = dV.p;
  second.du = dU.p;
  second.loss_hvp = flat;
  if (chosen.where != nullptr) {
    second.dp = chosen.direction.data();
    second.hp = hp.data();
    second.loss_param_hvp = tg_loss_hvp_without_parameters;
    run.loss_param = tg_loss_without_parameters;
  }
  RolloutProduct p;
  p.q = zeros({T + 1, nv}, &second.jq);
  p.v = zeros({T + 1, nw}, &second.jv);
  p.q0 = zeros({nv}, &second.hq0);
  p.v0 = zeros({nw}, &second.hv0);
  p.u = zeros({T, s.nu()}, &second.hu);
  tgRolloutResult result{};
  long_call([&](const volatile int *cancel) {
    run.cancel = cancel;
    tg_rollout_hvp(work, &run, &second, &result);
  });
  if (result.status != TG_OK) raise(result.error);
  p.params = chosen.arrays(hp);
  return p;
}

void bind_second(nb::module_ &m) {
  nb::class_<RolloutProduct>(m, "RolloutProduct",
                             "Second derivatives along a direction: rates of the trajectory, and the Hessian's product.")
      .def_ro("q", &RolloutProduct::q, "Rate of the positions along the direction, (steps + 1, nv), tangent.")
      .def_ro("v", &RolloutProduct::v, "Rate of the velocities and activations, (steps + 1, nv + na).")
      .def_ro("q0", &RolloutProduct::q0, "Hessian times the direction, rows of q0, (nv,).")
      .def_ro("v0", &RolloutProduct::v0, "Rows of v0, (nv + na,).")
      .def_ro("u", &RolloutProduct::u, "Rows of u, (steps, nu).")
      .def_ro("params", &RolloutProduct::params, "Rows of the parameters that were asked for or moved: arrays of their shapes by name.");
  nb::class_<StepProduct>(m, "StepProduct", "Second derivatives of a step along a direction of states, controls and parameters.")
      .def_ro("y", &StepProduct::y, "Rate of (q', v') along the direction, (2 nv + na,).")
      .def_ro("x", &StepProduct::x, "Hessian times the direction, rows of (q, v, u), (2 nv + na + nu,).")
      .def_ro("params", &StepProduct::params, "Rows of the parameters that were asked for or moved: arrays of their shapes by name.");
  nb::class_<Sim> sim = nb::borrow<nb::class_<Sim>>(m.attr("Sim"));
  sim.def("hessian", &hessian,
          "Second derivatives of the last step: (2 nv + na, n, n), n = 2 nv + na + nu, of (q', v') in (q, v, u), in charts. For "
          "contact models whose step is twice\n"
          "differentiable (softmin, damped), and toi; Error names another.")
      .def("hvp", &hvp, nb::arg("g"), nb::arg("d"), "sum_k g_k D2y_k d of the last step y = (q', v'): g (2 nv + na), d (2 nv + na + nu).")
      .def("hvp_params", &hvp_params, nb::arg("g"), nb::arg("d") = nb::none(), nb::arg("dp") = Given(),
           nb::arg("params") = std::vector<std::string>(),
           "The same in (q, v, u) and parameters together: d (2 nv + na + nu) and dp, arrays by name, are the direction; "
           "params names further parameters whose\n"
           "rows are wanted.")
      .def("rollout_hvp", &rollout_hvp, nb::arg("u"), nb::arg("gq") = nb::none(), nb::arg("gv") = nb::none(), nb::arg("q0") = nb::none(),
           nb::arg("v0") = nb::none(), nb::arg("dq0") = nb::none(), nb::arg("dv0") = nb::none(), nb::arg("du") = nb::none(),
           nb::arg("dp") = Given(), nb::arg("params") = std::vector<std::string>(),
           "Along the direction (dq0, dv0, du, dp) of a trajectory, dp parameters by name: its rates, and the Hessian "
           "of <gq, q> + <gv, v> (weights (steps + 1, nv) and (steps + 1, nv + na) in each state's chart)\n"
           "times the direction, with rows of the parameters in dp and params.");
}

}  // namespace tangere
