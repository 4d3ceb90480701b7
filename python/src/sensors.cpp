// sensors.cpp: what the sensors of a model read, of a simulation and of many states at once.
#include "sim.h"
#include "tangere/sensor.h"

namespace tangere {

struct SensorDerivatives { Array q, v, u, a; };

static size_t width(const tgModel *m) { return (size_t)tg_model_nsensordata(m); }

static Array sensors(Sim &s, nb::handle qacc) {
  Claim claim(s.busy, "Sim");
  s.get();
  In a = in(qacc, "qacc", {s.nv()});
  double *value;
  Array array = zeros({width(s.m())}, &value);
  s.give();
  if (tg_sim_sensors(s.sim, a.p, value) != TG_OK) s.fail();
  return array;
}

static SensorDerivatives sensors_d(Sim &s, nb::handle qacc) {
  Claim claim(s.busy, "Sim");
  s.get();
  In a = in(qacc, "qacc", {s.nv()});
  size_t n = width(s.m());
  double *q, *v, *u, *by_a;
  SensorDerivatives d{zeros({n, s.nv()}, &q), zeros({n, s.nw()}, &v), zeros({n, s.nu()}, &u), zeros({n, s.nv()}, &by_a)};
  s.give();
  if (tg_sim_sensors_d(s.sim, a.p, q, v, u, by_a) != TG_OK) s.fail();
  return d;
}

static nb::list listing(const Model &m) {
  nb::list all;
  for (int i = 0; i < tg_model_count(m.get(), TG_THING_SENSOR); i++) {
    tgSensorType type;
    int adr, n;
    tg_model_sensor(m.get(), i, &type, &adr, &n);
    nb::dict d;
    d["name"] = tg_model_name(m.get(), TG_THING_SENSOR, i);
    d["type"] = tg_sensor_word(type);
    d["adr"] = adr;
    d["width"] = n;
    all.append(d);
  }
  return all;
}

// row i of an array that may be absent
static const double *row(const In &x, size_t i, size_t n) { return x.p != nullptr ? x.p + i * n : nullptr; }

static void put(double *to, const double *from, size_t n) {
  for (size_t i = 0; from != nullptr && i < n; i++) to[i] = from[i];
}

static Array of_states(const Model &model, nb::handle q, nb::handle v, nb::handle u, nb::handle qacc) {
  const tgModel *m = model.get();
  size_t nq = (size_t)tg_model_nq(m), nv = (size_t)tg_model_nv(m), nu = (size_t)tg_model_nu(m), nw = nv + (size_t)tg_model_na(m);
  In states = in(q, "q", {Any, nq});
  if (states.p == nullptr) throw nb::type_error("q: None is no array");
  size_t n = rows(states), width_ = width(m);
  In speeds = in(v, "v", {n, nw}), controls = in(u, "u", {n, nu}), acc = in(qacc, "qacc", {n, nv});
  double *value;
  Array array = zeros({n, width_}, &value);
  tgError error{};
  tgSim *sim = tg_sim_create(m, nullptr, nullptr, &error);
  if (sim == nullptr) raise(error);
  tgStatus status = TG_OK;
  {
    nb::gil_scoped_release release;
    for (size_t i = 0; i < n && status == TG_OK; i++) {
      tg_sim_set_state(sim, row(states, i, nq), row(speeds, i, nw));
      put(tg_sim_ctrl(sim), row(controls, i, nu), nu);
      status = tg_sim_sensors(sim, row(acc, i, nv), value + i * width_);
    }
  }
  if (status != TG_OK) error = *tg_sim_error(sim);
  tg_sim_free(sim);
  if (status != TG_OK) raise(error);
  return array;
}

void bind_sensors(nb::module_ &m) {
  nb::class_<SensorDerivatives>(m, "SensorDerivatives", "Derivatives of all sensors' values, (nsensordata, ...).")
      .def_ro("q", &SensorDerivatives::q, "In the coordinates, (.., nv), tangent.")
      .def_ro("v", &SensorDerivatives::v, "In velocities, then activations, (.., nv + na).")
      .def_ro("u", &SensorDerivatives::u, "In the controls, (.., nu).")
      .def_ro("a", &SensorDerivatives::a, "In the accelerations that accelerometers and the like read, (.., nv).")
      .def("__repr__", [](const SensorDerivatives &) { return "<tangere.SensorDerivatives>"; });
  nb::class_<Sim> sim = nb::borrow<nb::class_<Sim>>(m.attr("Sim"));
  sim.def("sensors", &sensors, nb::arg("qacc") = nb::none(),
          "What the model's sensors read at the present state and controls, (nsensordata,), in the file's order and with MuJoCo's\n"
          "conventions. qacc: accelerations (nv) that accelerometers and the like read; None: the mean ones of the last step, right\n"
          "after it. The last step's derivatives can still be asked for.")
      .def("sensors_d", &sensors_d, nb::arg("qacc") = nb::none(), "Derivatives of what sensors() gives; tangere.Error likewise.");
  nb::class_<Model> model = nb::borrow<nb::class_<Model>>(m.attr("Model"));
  model
      .def("sensor_list", &listing, nb::sig("def sensor_list(self) -> list[dict[str, typing.Any]]"),
           "The sensors in their order: 'name' ('': none), 'type' as in MJCF, 'adr' of the first value and 'width', how many there are.")
      .def("sensors", &of_states, nb::arg("q"), nb::arg("v") = nb::none(), nb::arg("u") = nb::none(), nb::arg("qacc") = nb::none(),
           "What sensors read at n states, (n, nsensordata): q (n, nq), v (n, nv + na), u (n, nu), qacc (n, nv). None: at rest, no\n"
           "controls; "
           "accelerometers and the like need qacc. Of a trajectory: model.sensors(roll.q, roll.v).");
}

}  // namespace tangere
