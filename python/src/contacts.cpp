// contacts.cpp: contacts of steps as a structured array, and forces on bodies and in joints.
#include "contacts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tangere {

// one entry of the array
struct Record {
  double time;
  int32_t run, step, geom1, geom2, body1, body2;
  bool sticking, sliding;
  double distance, point[3], frame[9], force[3], world[3], torque[3];
};

static nb::object record_type(bool steps, bool runs, bool impacts) {
  nb::list names, formats, offsets;
  auto add = [&](const char *name, const char *format, size_t offset) {
    names.append(name);
    formats.append(format);
    offsets.append(offset);
  };
  if (impacts) add("time", "f8", offsetof(Record, time));
  if (runs) add("run", "i4", offsetof(Record, run));
  if (steps) add("step", "i4", offsetof(Record, step));
  add("geom1", "i4", offsetof(Record, geom1));
  add("geom2", "i4", offsetof(Record, geom2));
  add("body1", "i4", offsetof(Record, body1));
  add("body2", "i4", offsetof(Record, body2));
  add("sticking", "?", offsetof(Record, sticking));
  add("sliding", "?", offsetof(Record, sliding));
  add("distance", "f8", offsetof(Record, distance));
  add("point", "3f8", offsetof(Record, point));
  add("frame", "(3,3)f8", offsetof(Record, frame));
  add(impacts ? "impulse" : "force", "3f8", offsetof(Record, force));
  add("world", "3f8", offsetof(Record, world));
  add("torque", "3f8", offsetof(Record, torque));
  nb::dict type;
  type["names"] = names;
  type["formats"] = formats;
  type["offsets"] = offsets;
  type["itemsize"] = sizeof(Record);
  return nb::module_::import_("numpy").attr("dtype")(type);
}

static Record record_of(int run, int step, double time, const tgContactInfo &c) {
  Record r{};
  r.time = time;
  r.run = run;
  r.step = step;
  r.geom1 = c.geom1;
  r.geom2 = c.geom2;
  r.body1 = c.body1;
  r.body2 = c.body2;
  r.sticking = c.state == TG_CONTACT_STICKING;
  r.sliding = c.state == TG_CONTACT_SLIDING;
  r.distance = c.distance;
  std::memcpy(r.point, c.point, sizeof r.point);
  std::memcpy(r.frame, c.frame, sizeof r.frame);
  std::memcpy(r.force, c.force, sizeof r.force);
  std::memcpy(r.world, c.world, sizeof r.world);
  std::memcpy(r.torque, c.torque, sizeof r.torque);
  return r;
}

static nb::object array_of(const std::vector<Record> &all, bool steps, bool runs, bool impacts) {
  nb::module_ numpy = nb::module_::import_("numpy");
  nb::bytes raw(all.data(), all.size() * sizeof(Record));
  return numpy.attr("frombuffer")(raw, record_type(steps, runs, impacts)).attr("copy")();
}

nb::object contacts_array(const std::vector<ContactList> &runs, bool steps, bool several) {
  std::vector<Record> all;
  for (size_t run = 0; run < runs.size(); run++)
    for (const ContactList::At &at : runs[run].list) all.push_back(record_of((int)run, at.step, 0, at.contact));
  return array_of(all, steps, several, false);
}

nb::object impacts_array(const std::vector<ContactList> &runs, bool steps, bool several) {
  std::vector<Record> all;
  for (size_t run = 0; run < runs.size(); run++)
    for (const ContactList::Hit &at : runs[run].impacts) all.push_back(record_of((int)run, at.step, at.impact.time, at.impact.contact));
  return array_of(all, steps, several, true);
}

void ContactList::add(const tgSim *sim, int step) {
  tgContactInfo c;
  for (int cursor = 0; tg_sim_next_contact(sim, &cursor, &c);) list.push_back({step, c});
}

tgStatus ContactList::add_impacts(tgSim *sim, int step) {
  std::vector<tgImpact> some(16);
  int n = tg_sim_impacts(sim, some.data(), (int)some.size());
  if (n > (int)some.size()) {
    some.resize((size_t)n);
    n = tg_sim_impacts(sim, some.data(), n);
  }
  for (int i = 0; i < n; i++) impacts.push_back({step, some[(size_t)i]});
  return n < 0 ? (tgStatus)n : TG_OK;
}

tgStatus ContactList::add_way(tgSim *sim) {
  size_t nq = (size_t)tg_model_nq(tg_sim_model(sim)), at = time.size(), room = 16;
  for (;;) {
    time.resize(at + room);
    q.resize((at + room) * nq + 1);
    int n = tg_sim_poses_within(sim, time.data() + at, q.data() + at * nq, (int)room);
    size_t more = n > 0 ? (size_t)n : 0;
    if (more > room) {
      room = more;
      continue;
    }
    time.resize(at + more);
    offset.push_back((int)time.size());
    return n < 0 ? (tgStatus)n : TG_OK;
  }
}

tgStatus ContactList::look(void *ctx, tgSim *sim, int t, int steps, tgReal *, tgReal *, tgReal *, tgReal *) {
  ContactList *c = static_cast<ContactList *>(ctx);
  if (t == 0) *c = ContactList();   // a run that starts over, for want of room, begins at 0 again
  if (t == steps) return TG_OK;
  try {
    c->add(sim, t);
    tgStatus status = c->add_impacts(sim, t);
    return status == TG_OK ? c->add_way(sim) : status;
  } catch (const std::bad_alloc &) {
    return TG_ERR_MEMORY;
  }
}

std::vector<size_t> contact_starts(const std::vector<ContactList> &runs, size_t steps) {
  std::vector<size_t> first(runs.size() * steps + 1, 0);
  for (size_t run = 0; run < runs.size(); run++)
    for (const ContactList::At &at : runs[run].list) first[run * steps + (size_t)at.step + 1]++;
  for (size_t i = 1; i < first.size(); i++) first[i] += first[i - 1];
  return first;
}

static const char *const field_names[4] = {"force", "world", "torque", "point"};

std::vector<tgContactGrad> contact_grads(nb::handle given, size_t n) {
  std::vector<tgContactGrad> all(n);
  if (given.is_none()) return all;
  if (!nb::isinstance<nb::dict>(given)) throw nb::type_error("contacts: a dict of arrays by 'force', 'world', 'torque', 'point'");
  for (auto item : nb::borrow<nb::dict>(given)) {
    std::string name = nb::cast<std::string>(nb::str(item.first));
    size_t field = 0;
    while (field < 4 && name != field_names[field]) field++;
    if (field == 4) throw nb::value_error(("contacts: '" + name + "' is none of 'force', 'world', 'torque', 'point'").c_str());
    In x = in(item.second, name.c_str(), {n, 3});
    for (size_t i = 0; x.p != nullptr && i < n; i++)
      std::memcpy(reinterpret_cast<double *>(&all[i]) + 3 * field, x.p + 3 * i, 3 * sizeof(double));
  }
  return all;
}

struct ContactGradient : Gradient {};

static ContactGradient contacts_vjp_of(Sim &s, const std::vector<tgContactGrad> &grad, const std::vector<std::string> &names) {
  return {gradient_of(s, names, [&](double *q, double *v, double *u, tgParamGrad *p, tgGradInfo *info) {
    return tg_sim_contacts_vjp(s.sim, grad.data(), (int)grad.size(), q, v, u, p, info);
  })};
}

static ContactGradient contacts_vjp(Sim &s, nb::handle grad, const std::vector<std::string> &names) {
  Claim claim(s.busy, "Sim");
  return contacts_vjp_of(s, contact_grads(grad, (size_t)tg_sim_count_contacts(s.get())), names);
}

static ContactGradient contact_wrench_vjp(Sim &s, nb::handle body, nb::handle gwrench, nb::handle at,
                                          const std::vector<std::string> &names) {
  Claim claim(s.busy, "Sim");
  s.get();
  int b = s.body(body);
  In point = in(at, "at", {3}), g = in(gwrench, "gwrench", {6});
  if (g.p == nullptr) throw nb::type_error("gwrench: (6,) is needed");
  const double *origin = static_cast<const double *>(tg_sim_field_named(s.sim, "xpos").data) + 3 * b;
  std::vector<tgContactGrad> grad;
  tgContactInfo c;
  for (int cursor = 0; tg_sim_next_contact(s.sim, &cursor, &c);) {
    grad.push_back({});
    tg_contact_add_wrench_vjp(&c, b, point.p != nullptr ? point.p : origin, g.p, &grad.back());
  }
  return contacts_vjp_of(s, grad, names);
}

static ContactGradient contacts_jacobians(Sim &s, const std::vector<std::string> &names) {
  Claim claim(s.busy, "Sim");
  size_t n = (size_t)tg_sim_count_contacts(s.get()), cols = s.nv() + s.nw() + s.nu();
  Params params(*s.model, s.contact.get(), names);
  size_t np = (size_t)params.size();
  double *D, *P;
  Array whole = zeros({n, 4, 3, cols}, &D), dense = zeros({12 * n, np}, &P);
  tgGradInfo info{};
  tgStatus status;
  {
    nb::gil_scoped_release release;
    status = tg_sim_contacts_jacobian(s.sim, D, np > 0 ? params.get() : nullptr, np > 0 ? P : nullptr, &info);
  }
  if (status != TG_OK) s.fail();
  ContactGradient J;
  static_cast<Label &>(J) = make_label(info);
  auto part = [&](size_t from, size_t to) {
    return nb::borrow<Array>(whole[nb::make_tuple(nb::ellipsis(), nb::slice(nb::int_(from), nb::int_(to), nb::none()))]);
  };
  J.q = part(0, s.nv());
  J.v = part(s.nv(), s.nv() + s.nw());
  J.u = part(s.nv() + s.nw(), cols);
  if (np > 0) J.params = params.jacobian(P, 12 * n);
  return J;
}

static nb::object contacts(Sim &s) {
  Claim claim(s.busy, "Sim");
  std::vector<ContactList> last(1);
  last[0].add(s.get(), 0);
  return contacts_array(last, false, false);
}

static nb::object impacts(Sim &s) {
  Claim claim(s.busy, "Sim");
  std::vector<ContactList> last(1);
  if (last[0].add_impacts(s.get(), 0) != TG_OK) s.fail();
  return impacts_array(last, false, false);
}

static nb::tuple poses_within(Sim &s) {
  Claim claim(s.busy, "Sim");
  ContactList way;
  if (way.add_way(s.get()) != TG_OK) s.fail();
  size_t n = way.time.size();
  double *time, *q;
  Array times = zeros({n}, &time), poses = zeros({n, s.nq()}, &q);
  std::copy(way.time.begin(), way.time.end(), time);
  std::copy(way.q.begin(), way.q.begin() + (std::ptrdiff_t)(n * s.nq()), q);
  return nb::make_tuple(times, poses);
}

static Array contact_wrench(Sim &s, nb::handle body, nb::handle at) {
  Claim claim(s.busy, "Sim");
  int b = s.body(body);
  In point = in(at, "at", {3});
  const double *origin = static_cast<const double *>(tg_sim_field_named(s.sim, "xpos").data) + 3 * b;
  double *wrench;
  Array array = zeros({6}, &wrench);
  tgContactInfo c;
  for (int cursor = 0; tg_sim_next_contact(s.sim, &cursor, &c);)
    tg_contact_add_wrench(&c, b, point.p != nullptr ? point.p : origin, wrench);
  return array;
}

static Array joint_wrenches(Sim &s) {
  Claim claim(s.busy, "Sim");
  double *wrench;
  Array array = zeros({(size_t)tg_model_count(s.m(), TG_THING_BODY), 6}, &wrench);
  if (tg_sim_joint_wrenches(s.get(), wrench) != TG_OK) s.fail();
  return array;
}

// what tg_sim_separate did, and how far it is told
static nb::list separate(Sim &s, std::optional<double> gap) {
  Claim claim(s.busy, "Sim");
  s.get();
  s.give();
  std::vector<tgSeparated> pair(1000);
  int count;
  {
    nb::gil_scoped_release release;
    count = tg_sim_separate(s.sim, gap.value_or(-1), pair.data(), (int)pair.size());
  }
  if (count == TG_ERR_ARG && tg_sim_error(s.sim)->status == TG_OK) throw nb::value_error("gap: a finite number of metres");
  if (count < 0) s.fail();
  s.take();
  nb::list all;
  for (int i = 0; i < std::min(count, (int)pair.size()); i++) {
    nb::dict d;
    d["geom1"] = pair[i].geom1;
    d["geom2"] = pair[i].geom2;
    d["before"] = pair[i].before;
    d["after"] = pair[i].after;
    d["moved1"] = pair[i].moved1;
    d["moved2"] = pair[i].moved2;
    all.append(d);
  }
  return all;
}

void bind_contacts(nb::module_ &m) {
  auto g = nb::class_<ContactGradient>(m, "ContactGradient", "Derivatives of the contacts of a step.")
      .def_ro("q", &ContactGradient::q, "In q, tangent: (nv,), or of contacts_jacobians (n, 4, 3, nv).")
      .def_ro("v", &ContactGradient::v, "In velocities, then activations: (nv + na,), or (n, 4, 3, nv + na).")
      .def_ro("u", &ContactGradient::u, "In controls: (nu,), or (n, 4, 3, nu).")
      .def("__repr__", [](const ContactGradient &x) { return "<tangere.ContactGradient: " + x.label +
                                                      (x.reason.empty() ? "" : ", " + x.reason) + ">"; });
  bind_label(g);
  nb::class_<Sim> sim = nb::borrow<nb::class_<Sim>>(m.attr("Sim"));
  sim.def("separate", &separate, nb::arg("gap") = nb::none(),
          nb::sig("def separate(self, gap: float | None = None) -> list[dict[str, typing.Any]]"),
          "Moves bodies that overlap, or are nearer than half of gap [m], apart to that gap (None: the contact model's own) by the least "
          "motion; qpos alone changes.\nThe pairs that were: 'geom1', 'geom2', gaps 'before' and 'after' [m], how far their origins "
          "'moved1', 'moved2' [m]. tangere.Error, with qpos as it was: some two cannot be moved apart, which it names.");
  sim.def("contacts", &contacts, nb::sig("def contacts(self) -> numpy.typing.NDArray[typing.Any]"),
          "The contacts that the last step was made with, a structured array of one entry a contact point (lcp, toi) or pair of geoms:\n"
          "geom1 < geom2 and body1, body2 (indices; model.names('geom')); sticking and sliding (neither: no force); distance [m];\n"
          "point (3), world [m]; frame (3, 3), its rows the normal from geom1 to geom2 and two tangents, as MuJoCo's; force (3) on\n"
          "body2 along these: normal, then friction [N], on body1 its opposite; world (3), the same force in world axes; torque (3)\n"
          "about the point [N m]. Empty when the last call was no step.")
      .def("impacts", &impacts, nb::sig("def impacts(self) -> numpy.typing.NDArray[typing.Any]"),
           "The impacts of the last step, a structured array as that of contacts with `time` after the step's start [s] and, in place\n"
           "of force, impulse (3) along the frame [N s]; world (3) is the impulse in world axes [N s], torque [N m s]. Of contacts, under\n"
           "toi and under lcp by contact_rule='closing'; empty under other contact models. tangere.Error: the last call was no step.")
      .def("poses_within", &poses_within,
           nb::sig("def poses_within(self) -> tuple[numpy.typing.NDArray[numpy.float64], "
                   "numpy.typing.NDArray[numpy.float64]]"),
           "The way of the last step between its two states: times (n,) after its start [s] and qpos (n, nq). From one to the next\n"
           "straight in the joints; under barrier nothing intersects along all of it, and where the straight way between the states is as\n"
           "good there are none; under toi and lcp (closing) the ends of the step's pieces, under toi also poses between where the path\n"
           "bends beside something near, so that the straight way is off by half of the gap at most. tangere.Error: the last call was\n"
           "no step.")
      .def("contact_wrench", &contact_wrench, nb::arg("body"), nb::arg("at") = nb::none(),
           "(6,): force [N], then torque [N m] about `at` (world; None: the body's origin at the start of the step), world axes, of all\n"
           "contacts of the last step on a body (name or index).")
      .def("contacts_vjp", &contacts_vjp, nb::arg("grad"), nb::arg("params") = std::vector<std::string>(),
           nb::sig("def contacts_vjp(self, grad: dict[str, object], params: collections.abc.Sequence[str] = []) -> ContactGradient"),
           "Adjoint of the contacts of the last step: grad has dL/d of fields of contacts() by their names, 'force', 'world', 'torque'\n"
           "[per N, per N m] and 'point' [per m], each (n, 3) in the order of contacts(); to dL/dq (nv, tangent), dL/dv (nv + na), dL/du\n"
           "and dL/dparams. tangere.Error names a contact or an option of which there is no derivative.")
      .def("contact_wrench_vjp", &contact_wrench_vjp, nb::arg("body"), nb::arg("gwrench"), nb::arg("at") = nb::none(),
           nb::arg("params") = std::vector<std::string>(),
           nb::sig("def contact_wrench_vjp(self, body: str | int, gwrench: object, at: object = None, "
                   "params: collections.abc.Sequence[str] = []) -> ContactGradient"),
           "The same from dL/dwrench (6) of contact_wrench(body, at); `at`, also where it is None, the body's origin at the start of the\n"
           "step, is held.")
      .def("contacts_jacobians", &contacts_jacobians, nb::arg("params") = std::vector<std::string>(),
           nb::sig("def contacts_jacobians(self, params: collections.abc.Sequence[str] = []) -> ContactGradient"),
           "Dense Jacobians of the contacts of the last step: q (n, 4, 3, nv), v (n, 4, 3, nv + na), u (n, 4, 3, nu), params by name with\n"
           "12 n rows; of each contact force, world, torque and point. Rows of fields that have no derivative are NaN. One adjoint a row.")
      .def("joint_wrenches", &joint_wrenches,
           "(nbody, 6): force [N], then torque [N m] about its origin, world axes, that each body got from its parent through the joints\n"
           "between them in the last step. Exact under lcp by contact_rule='touching', else to the first order in dt.");
}

}  // namespace tangere
