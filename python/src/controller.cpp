// controller.cpp: tangere.Controller: a task's receding horizon in a loop with the world.
#include <algorithm>
#include <cmath>

#include "sim.h"

namespace tangere {

struct Controller {
  nb::object task;                 // keeps what the plans are of
  const tgModel *model = nullptr;
  tgController *controller = nullptr;
  double due = -HUGE_VAL;          // when the next plan is due [s]
  std::atomic<bool> busy{false};

  Controller(nb::object of, int iterations, double seconds, uint64_t seed, int threads, bool separate) : task(of) {
    tgControllerOptions o = tg_controller_default();
    o.iterations = iterations;
    o.seconds = seconds;
    o.seed = seed;
    o.threads = threads;
    o.separate = separate;
    const tgTask *t = task_of(of);
    tgError error{};
    controller = tg_controller_create(t, &o, &error);
    if (controller == nullptr) raise(error);
    model = tg_task_model(t);
  }
  ~Controller() { tg_controller_free(controller); }
};

static void make_plan(Controller &c, double time, nb::handle qpos, nb::handle qvel) {
  In q = in(qpos, "qpos", {(size_t)tg_model_nq(c.model)}), v = in(qvel, "qvel", {(size_t)(tg_model_nv(c.model) + tg_model_na(c.model))});
  if (q.p == nullptr || v.p == nullptr) throw nb::type_error("qpos, qvel: None is no array");
  tgError error{};
  tgStatus st = TG_OK;
  long_call([&](const volatile int *cancel) { st = tg_controller_plan(c.controller, time, q.p, v.p, cancel, &error); });
  error.status = st;
  if (st != TG_OK) raise(error);
  c.due = time + tg_controller_interval(c.controller);
}

static nb::dict last(Controller &c) {
  nb::dict d;
  const tgPlan *p = tg_controller_last(c.controller);
  if (p == nullptr) return d;
  double *u;
  Array controls = zeros({(size_t)p->steps, (size_t)p->nu}, &u);
  std::copy(p->u, p->u + (size_t)p->steps * (size_t)p->nu, u);
  d["time"] = p->time;
  d["dt"] = p->h;
  d["u"] = controls;
  d["first_loss"] = p->first_loss;
  d["loss"] = p->loss;
  d["distance"] = p->distance;
  d["iterations"] = p->iterations;
  d["simulations"] = p->simulations;
  d["seconds"] = p->seconds;
  d["searched"] = p->searched;
  d["unsearched"] = p->unsearched;
  d["pairs_separated"] = p->nseparated;
  d["separated"] = p->separated;
  d["label"] = tg_grad_label_text(p->grad.label);
  d["reason"] = p->grad.reason;
  return d;
}

static nb::dict plan(Controller &c, double time, nb::handle qpos, nb::handle qvel) {
  Claim claim(c.busy, "Controller");
  make_plan(c, time, qpos, qvel);
  return last(c);
}

static Array control(Controller &c, double time) {
  double *u;
  Array array = zeros({(size_t)tg_model_nu(c.model)}, &u);
  tgError error{};
  if (tg_controller_control(c.controller, time, u, &error) != TG_OK) raise(error);
  return array;
}

static void give(Controller &c, nb::handle controls, double dt, double time) {
  Claim claim(c.busy, "Controller");
  In u = in(controls, "u", {Any, (size_t)tg_model_nu(c.model)});
  if (u.p == nullptr) throw nb::type_error("u: None is no array");
  tgError error{};
  if (tg_controller_give(c.controller, time, dt, (int)rows(u), u.p, &error) != TG_OK) raise(error);
}

// a hair before the time that was asked for is that time: clocks add up their steps; one that was set back begins anew
static Array call(Controller &c, double time, nb::handle qpos, nb::handle qvel) {
  Claim claim(c.busy, "Controller");
  const tgPlan *p = tg_controller_last(c.controller);
  if (p == nullptr || !(time < c.due - 1e-9 && time >= p->time - 1e-9)) make_plan(c, time, qpos, qvel);
  return control(c, time);
}

void bind_controller(nb::module_ &m) {
  nb::class_<Controller>(m, "Controller",
                         "A task's horizon that moves with the world: `u = controller(time, qpos, qvel)` in a loop with a robot or another "
                         "simulator. It plans anew when a plan is due, from the\nstate that was measured, by the task's own method, "
                         "warm-started from the plan before: over the window of the task's `receding`, or its whole horizon. Without "
                         "terms at a time the task begins\nanew with each plan; with one its clock counts, from 0 to the task's end.")
      .def(nb::init<nb::object, int, double, uint64_t, int, bool>(), nb::arg("task"), nb::kw_only(), nb::arg("iterations") = 0,
           nb::arg("seconds") = 0.0, nb::arg("seed") = 0, nb::arg("threads") = 0, nb::arg("separate") = false,
           nb::sig("def __init__(self, task: Task, *, iterations: int = 0, seconds: float = 0.0, seed: int = 0, threads: int = 0, "
                   "separate: bool = False) -> None"),
           "iterations: of each plan, 0: the task's. seconds: no iteration of a plan begins later than this after the plan, 0: no limit. "
           "separate: bodies that\noverlap in a measured state are moved apart before the plan, as by Sim.separate.")
      .def("__call__", &call, nb::arg("time"), nb::arg("qpos"), nb::arg("qvel"),
           nb::sig("def __call__(self, time: float, qpos: object, qvel: object) -> numpy.typing.NDArray[numpy.float64]"),
           "The controls (nu) at `time` [s], of a new plan where one is due, or where the clock was set back. tangere.Error: the plan "
           "failed; the one before stands, and `control` gives its controls.")
      .def("plan", &plan, nb::arg("time"), nb::arg("qpos"), nb::arg("qvel"),
           nb::sig("def plan(self, time: float, qpos: object, qvel: object) -> dict[str, typing.Any]"),
           "Plans now, from the state measured at `time`: qpos (nq), qvel (nv + na: velocities, then activations). The plan as of `last`.")
      .def("control", &control, nb::arg("time"), "The controls (nu) of the last plan at `time`; beyond its end its last ones.")
      .def("give", &give, nb::arg("u"), nb::arg("dt"), nb::arg("time") = 0.0,
           nb::sig("def give(self, u: object, dt: float, time: float = 0.0) -> None"),
           "A motion that was found before, by this task or another one of the model: controls u (steps, nu), each held for dt [s], the "
           "first from `time` on, as\n`task.expand(found.x)[2]` with `task.dt`. Plans start at it where the plan before does not reach; "
           "what was planned before is forgotten. Copied. No steps: none, as at first.")
      .def_prop_ro("last", &last, nb::sig("def last(self) -> dict[str, typing.Any]"),
                   "The last plan: time, dt, u (steps, nu), first_loss, loss, distance [m] (NaN: none), iterations, simulations, seconds, "
                   "label and reason of its gradients, searched (iterations of the task's `search`, 0: none), unsearched (loss before "
                   "it, NaN: none),\npairs_separated and the largest overlap among them [m], separated. "
                   "Empty before the first.")
      .def_prop_ro("interval", [](const Controller &c) { return tg_controller_interval(c.controller); },
                   "Time between plans [s]: what the task's `receding` applies of each, else one control.");
}

}  // namespace tangere
