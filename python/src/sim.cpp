// sim.cpp: tangere.Sim: state, one step, its derivatives, dynamics.
#include "sim.h"

#include <cmath>
#include <cstring>

namespace tangere {

// True, 3, 1e-7 and 'paper' as tg_contact_set reads them
std::string option_text(nb::handle value) {
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value) ? "true" : "false";
  return nb::cast<std::string>(nb::str(nb::borrow(value)));
}

// at the states of `forward` where it is for gradients
static std::shared_ptr<ContactHandle> create(const std::shared_ptr<ModelHandle> &model, const std::string &word,
                                             const Options &given, bool for_gradients,
                                             const std::shared_ptr<ContactHandle> &forward) {
  tgError error{};
  tgAnyContactOptions options;
  bool known = tg_contact_default(word.c_str(), &options.of, sizeof options) == TG_OK;   // else tg_contact_create lists the words
  for (auto item : given)
    if (known && tg_contact_set(&options.of, nb::cast<std::string>(item.first).c_str(), option_text(item.second).c_str(), &error) != TG_OK)
      raise(error);
  struct Job {
    std::string word;
    tgAnyContactOptions options;
    tgError error;
    std::shared_ptr<ModelHandle> model;
    bool for_gradients;
    std::shared_ptr<ContactHandle> forward, made;
  };
  auto job = std::make_shared<Job>(Job{word, options, error, model, for_gradients, forward, std::make_shared<ContactHandle>()});
  job->made->model = model;
  for (auto item : given) job->made->options.push_back({nb::cast<std::string>(item.first), option_text(item.second)});
  detached_call([job] {
    const tgContact *at = job->forward ? job->forward->contact : nullptr;
    const tgModel *m = job->model->model;
    job->made->contact = job->for_gradients ? tg_contact_create_gradient(m, at, job->word.c_str(), &job->options.of, &job->error)
                                            : tg_contact_create(m, job->word.c_str(), &job->options.of, &job->error);
  });
  const std::shared_ptr<ContactHandle> &handle = job->made;
  if (handle->contact == nullptr) raise(job->error);
  warn(handle->contact);
  return handle;
}

std::shared_ptr<ContactHandle> make_contact(const std::shared_ptr<ModelHandle> &model,
                                            const std::optional<std::string> &word, const Options &given) {
  if (word && *word != "none") return create(model, *word, given, false, nullptr);
  if (given.size() > 0) throw nb::value_error("options of a contact model were given, but contact is None");
  return nullptr;
}

std::shared_ptr<ContactHandle> make_gradient(const std::shared_ptr<ModelHandle> &model, const std::shared_ptr<ContactHandle> &forward,
                                             const std::optional<std::string> &word, const std::optional<Options> &given) {
  if (word) return create(model, *word, given ? *given : Options(), true, forward);
  if (given && given->size() > 0) throw nb::value_error("gradient_options were given, but gradient is None");
  return nullptr;
}

// of the file when none is given
static double step_size(const Model &from, std::optional<double> given) {
  double dt = given ? *given : tg_model_timestep(from.get());
  if (!(dt > 0) || !std::isfinite(dt)) throw nb::value_error("dt: a step size above 0 is needed [s]");
  return dt;
}

Sim::Sim(const Model &from, const std::optional<std::string> &word, std::optional<double> step, const nb::kwargs &options)
    : Sim(make_contact((from.get(), from.handle), word, options), from.handle, step_size(from, step)) {}

Sim::Sim(std::shared_ptr<ContactHandle> contact_, std::shared_ptr<ModelHandle> model_, double dt_)
    : contact(std::move(contact_)), model(std::move(model_)), dt(dt_) {
  qpos.resize((size_t)tg_model_nq(m()));
  w.resize((size_t)(tg_model_nv(m()) + tg_model_na(m())));
  ctrl.resize((size_t)tg_model_nu(m()));
  applied.resize((size_t)tg_model_nv(m()));
  tgError error{};
  sim = tg_sim_create(m(), contact ? contact->contact : nullptr, nullptr, &error);   // last: what throws after it would lose it
  if (sim == nullptr) raise(error);
  take();
}

void Sim::close() {
  tg_second_free(second);
  tg_sim_free(sim);
  second = nullptr;
  sim = nullptr;
}

tgSim *Sim::get() const {
  if (sim == nullptr) raise(TG_ERR_STATE, "Sim is closed");
  return sim;
}

static void copy(double *to, const double *from, size_t n) {
  if (n > 0) std::memcpy(to, from, n * sizeof *to);
}

void Sim::give() const {
  get();
  tg_sim_set_state(sim, qpos.data(), w.data());
  copy(tg_sim_ctrl(sim), ctrl.data(), nu());
  copy(tg_sim_qfrc_applied(sim), applied.data(), nv());
}

void Sim::take() {
  tg_sim_state(sim, qpos.data(), w.data());
  copy(ctrl.data(), tg_sim_ctrl(sim), nu());
  copy(applied.data(), tg_sim_qfrc_applied(sim), nv());
}

std::vector<std::string> Sim::param_names() const {
  std::vector<std::string> names;
  for (int i = 0; tg_param_name(i) != nullptr; i++) names.push_back(tg_param_name(i));
  for (int i = 0; contact && tg_contact_param_name(contact->contact, i) != nullptr; i++)
    names.push_back(tg_contact_param_name(contact->contact, i));
  return names;
}

Values::Values(const Sim &sim) {
  for (const auto &name : sim.changed) {
    int nrow, ncol;
    const double *p = tg_sim_param(sim.sim, name.c_str(), &nrow, &ncol);
    if (p != nullptr) value[name].assign(p, p + (size_t)nrow * (size_t)ncol);   // the step size is dt, and no array
  }
}

tgStepInfo Sim::advance() {
  tgStepInfo info;
  tgStatus status;
  {
    nb::gil_scoped_release release;
    status = tg_sim_step_growing(sim, dt, &info);
  }
  if (status != TG_OK) fail();
  return info;
}

tgStatus Values::set(void *values, tgSim *sim) {
  for (const auto &item : static_cast<Values *>(values)->value)
    copy(tg_sim_param(sim, item.first.c_str(), nullptr, nullptr), item.second.data(), item.second.size());
  return TG_OK;
}

static tgStepInfo step(Sim &s, nb::handle u) {
  Claim claim(s.busy, "Sim");
  s.get();
  In given = in(u, "u", {s.nu()});
  if (given.p != nullptr) copy(s.ctrl.data(), given.p, s.nu());
  s.give();
  tgStepInfo info = s.advance();
  s.take();
  return info;
}

struct Jacobians : Label { Array A, B; Arrays params; };

static Jacobians jacobians(Sim &s, const std::vector<std::string> &names) {
  Claim claim(s.busy, "Sim");
  s.get();
  Params params(*s.model, s.contact.get(), names);
  size_t n = s.nv() + s.nw(), cols = n + s.nu(), np = (size_t)params.size();
  double *D, *P;
  Array whole = zeros({n, cols}, &D), dense = zeros({n, np}, &P);
  tgGradInfo info{}, pinfo{};
  tgStatus status;
  {
    nb::gil_scoped_release release;
    status = tg_sim_step_jacobian(s.sim, D, &info);
    if (status == TG_OK && np > 0) status = tg_sim_step_param_jacobian(s.sim, params.get(), P, &pinfo);
  }
  if (status != TG_OK) s.fail();
  Jacobians J;
  static_cast<Label &>(J) = make_label(np > 0 && pinfo.label > info.label ? pinfo : info);
  J.A = nb::borrow<Array>(whole[nb::make_tuple(nb::slice(nb::none(), nb::none(), nb::none()),
                                               nb::slice(nb::int_(0), nb::int_(n), nb::none()))]);
  J.B = nb::borrow<Array>(whole[nb::make_tuple(nb::slice(nb::none(), nb::none(), nb::none()),
                                               nb::slice(nb::int_(n), nb::none(), nb::none()))]);
  if (np > 0) J.params = params.jacobian(P, n);
  return J;
}

static Gradient vjp(Sim &s, nb::handle gq, nb::handle gv, const std::vector<std::string> &names) {
  Claim claim(s.busy, "Sim");
  s.get();
  In a = in(gq, "gq", {s.nv()}), b = in(gv, "gv", {s.nw()});
  return gradient_of(s, names, [&](double *q, double *v, double *u, tgParamGrad *p, tgGradInfo *info) {
    return tg_sim_step_vjp(s.sim, a.p, b.p, q, v, u, p, info);
  });
}

// the size of the steps, which is the Sim's dt
static bool is_timestep(const std::string &name) { return name == "opt_timestep"; }

static void no_parameter(const Sim &s, const std::string &name) {
  // says what it is called now, or which there are
  if (name.rfind("contact.", 0) == 0 && s.contact) param_shape(*s.model, s.contact.get(), name);
  throw nb::key_error(("the model has no parameter '" + name + "'").c_str());
}

static void set_timestep(Sim &s, double dt) {
  if (!(dt > 0) || !std::isfinite(dt)) throw nb::value_error("dt: a step size above 0 is needed [s]");
  s.dt = dt;
}

static Array param(const Sim &s, const std::string &name) {
  int nrow, ncol;
  if (is_timestep(name)) return frozen(&s.dt, {1});
  const double *p = tg_sim_param(s.get(), name.c_str(), &nrow, &ncol);
  if (p == nullptr) no_parameter(s, name);
  Shape shape{(size_t)nrow};
  if (ncol != 1) shape.push_back((size_t)ncol);
  return frozen(p, shape);
}

static void set_param(Sim &s, const std::string &name, nb::handle value) {
  Claim claim(s.busy, "Sim");
  int nrow, ncol;
  if (is_timestep(name)) {
    In given = in(value, name.c_str(), {1});
    if (given.p == nullptr) throw nb::type_error((name + ": None is no array").c_str());
    set_timestep(s, *given.p);
    return;
  }
  double *p = tg_sim_param(s.get(), name.c_str(), &nrow, &ncol);
  if (p == nullptr) no_parameter(s, name);
  Shape shape{(size_t)nrow};
  if (ncol != 1) shape.push_back((size_t)ncol);
  In given = in(value, name.c_str(), shape);
  if (given.p == nullptr) throw nb::type_error((name + ": None is no array").c_str());
  copy(p, given.p, (size_t)nrow * (size_t)ncol);
  s.changed.insert(name);
}

// parameters that were set in this sim survive a reset
static void reset(Sim &s, std::optional<std::string> key) {
  Claim claim(s.busy, "Sim");
  s.get();
  int at = key ? tg_model_find(s.m(), TG_THING_KEY, key->c_str()) : -1;
  if (key && at < 0) throw nb::key_error(("the model has no keyframe '" + *key + "'").c_str());
  Values kept(s);
  tgStatus status = TG_OK;
  if (key)
    status = tg_sim_reset_key(s.sim, at);
  else
    tg_sim_reset(s.sim);
  if (status != TG_OK) s.fail();
  Values::set(&kept, s.sim);
  s.take();
}

static Array field(Sim &s, const std::string &name) {
  int rows, cols;
  if (tg_sim_dense(s.get(), name.c_str(), nullptr, &rows, &cols) == TG_OK) {
    double *out;
    Array array = zeros({(size_t)rows, (size_t)cols}, &out);
    tg_sim_dense(s.sim, name.c_str(), out, nullptr, nullptr);
    return array;
  }
  tgField f = tg_sim_field_named(s.get(), name.c_str());
  if (f.data == nullptr) throw nb::key_error(("a sim has no field '" + name + "'").c_str());
  return listed(f);
}

static void forward(Sim &s) {
  Claim claim(s.busy, "Sim");
  s.give();
  if (tg_sim_forward(s.sim) != TG_OK) s.fail();
}

static Array inverse(Sim &s, nb::handle qacc) {
  Claim claim(s.busy, "Sim");
  In a = in(qacc, "qacc", {s.nv()});
  if (a.p == nullptr) throw nb::type_error("qacc: None is no array");
  s.give();
  double *tau;
  Array array = zeros({s.nv()}, &tau);
  if (tg_sim_inverse(s.sim, a.p, tau) != TG_OK) s.fail();
  return array;
}

static Array acceleration(Sim &s, nb::handle tau) {
  Claim claim(s.busy, "Sim");
  In a = in(tau, "tau", {s.nv()});
  if (a.p == nullptr) throw nb::type_error("tau: None is no array");
  s.give();
  double *qacc;
  Array array = zeros({s.nv()}, &qacc);
  if (tg_sim_acceleration(s.sim, a.p, qacc) != TG_OK) s.fail();
  return array;
}

int Sim::body(nb::handle given) const {
  get();
  int i = nb::isinstance<nb::str>(given) ? tg_model_find(m(), TG_THING_BODY, nb::cast<std::string>(given).c_str()) : nb::cast<int>(given);
  if (i < 0 || i >= tg_model_count(m(), TG_THING_BODY))
    throw nb::key_error(("the model has no body " + nb::cast<std::string>(nb::str(nb::borrow(given)))).c_str());
  return i;
}

static Array body_jacobian(Sim &s, nb::handle body, nb::handle point) {
  Claim claim(s.busy, "Sim");
  int i = s.body(body);
  In p = in(point, "point", {3});
  double *J;
  Array array = zeros({6, s.nv()}, &J);
  s.give();
  if (tg_sim_forward(s.sim) != TG_OK) s.fail();
  double origin[3];
  if (p.p == nullptr) copy(origin, static_cast<const double *>(tg_sim_field_named(s.sim, "xpos").data) + 3 * i, 3);
  if (tg_sim_jacobian(s.sim, i, p.p != nullptr ? p.p : origin, J) != TG_OK) s.fail();
  return array;
}

static nb::dict options_of(const Sim &s) {
  nb::dict all;
  if (!s.contact) return all;
  const tgContactOptions *set = tg_contact_options(s.contact->contact);
  for (int i = 0;; i++) {
    tgOption o = tg_contact_option(tg_contact_word(s.contact->contact), i);
    if (o.name == nullptr) return all;
    all[nb::str(o.name)] = option_value(o, tg_contact_get(set, o.name));
  }
}

static nb::object show(nb::handle_t<Sim> s, int port, const std::string &title) {
  return nb::module_::import_("tangere.view").attr("view")(s, nb::arg("port") = port, nb::arg("title") = title);
}

static nb::list contact_laws(const Sim &s) {
  nb::list list;
  tgContactLaw x;
  for (int i = 0; s.contact && tg_contact_law(s.contact->contact, i, s.dt, &x); i++) {
    nb::dict one;
    one["geom1"] = x.geom1;
    one["geom2"] = x.geom2;
    one["weight"] = x.weight;
    one["resting_gap"] = x.resting_gap;
    one["strength"] = x.strength;
    one["stiffness"] = x.stiffness;
    one["damping_time"] = x.damping_time;
    one["reach"] = x.reach;
    one["left_out"] = x.left_out;
    one["missed"] = x.missed;
    list.append(one);
  }
  return list;
}

static nb::list contact_grids(const Sim &s) {
  nb::list list;
  tgContactGrid x;
  for (int i = 0; s.contact && tg_contact_grid(s.contact->contact, i, &x); i++) {
    nb::dict one;
    one["geom"] = x.geom;
    one["nodes"] = nb::make_tuple(x.nodes[0], x.nodes[1], x.nodes[2]);
    one["spacing"] = x.spacing;
    one["error"] = x.error;
    one["depth"] = x.depth;
    one["bytes"] = x.bytes;
    list.append(one);
  }
  return list;
}

// ---- carried elsewhere: model, contact model, parameters, state and the memory of contacts, but not the last step ----

static nb::bytes bytes_of(const std::vector<double> &x) { return nb::bytes(x.data(), x.size() * sizeof(double)); }

static void put_bytes(nb::handle from, std::vector<double> &to) {
  nb::bytes raw = nb::cast<nb::bytes>(from);
  if (raw.size() != to.size() * sizeof(double)) throw nb::value_error("the state of a Sim is not one of this model");
  if (raw.size() > 0) std::memcpy(to.data(), raw.data(), raw.size());
}

static Carried get_state(Sim &s) {
  Claim claim(s.busy, "Sim");
  nb::dict options, params;
  std::vector<char> snapshot(tg_sim_snapshot_size(s.get()));
  tg_sim_save(s.sim, snapshot.data());
  bool of_task = s.model->owner.is_valid();
  if (s.contact && !of_task)
    for (const auto &o : s.contact->options) options[nb::str(o.first.c_str())] = o.second;
  Values values(s);
  for (const auto &v : values.value) params[nb::str(v.first.c_str())] = bytes_of(v.second);
  nb::object word = s.contact ? nb::object(nb::str(tg_contact_word(s.contact->contact))) : nb::none();
  int watched = (int)s.watched | (int)s.answers_watched << 1;
  nb::object from = of_task ? s.model->owner : nb::cast(Model{s.model});
  return nb::make_tuple(from, of_task, word, options, s.dt, watched, params, nb::bytes(snapshot.data(), snapshot.size()),
                        tg_hash(TG_HASH_START, snapshot.data(), snapshot.size()), bytes_of(s.qpos), bytes_of(s.w), bytes_of(s.ctrl),
                        bytes_of(s.applied));
}

static void restore(Sim &s, const nb::bytes &snapshot, uint64_t hash) {
  if (tg_hash(TG_HASH_START, snapshot.data(), snapshot.size()) != hash) throw nb::value_error("the state of a Sim is damaged");
  tgStatus status = tg_sim_restore(s.sim, snapshot.data());
  while (status == TG_ERR_CAPACITY && tg_sim_grow(s.sim) == TG_OK) status = tg_sim_restore(s.sim, snapshot.data());
  if (status != TG_OK) s.fail();
}

static void fill(Sim &s, const Carried &state) {
  int watched = nb::cast<int>(state[5]);
  tg_sim_watch_stability(s.sim, s.watched = (watched & 1) != 0);
  tg_sim_watch_answers(s.sim, s.answers_watched = (watched & 2) != 0);
  for (auto item : nb::cast<nb::dict>(state[6])) {
    std::string name = nb::cast<std::string>(item.first);
    int rows = 0, cols = 0;
    double *to = tg_sim_param(s.sim, name.c_str(), &rows, &cols);
    std::vector<double> value((size_t)rows * (size_t)cols);
    put_bytes(item.second, value);
    if (to == nullptr) throw nb::value_error(("a Sim of this model has no parameter '" + name + "'").c_str());
    copy(to, value.data(), value.size());
    s.changed.insert(name);
  }
  restore(s, nb::cast<nb::bytes>(state[7]), nb::cast<uint64_t>(state[8]));
  put_bytes(state[9], s.qpos);
  put_bytes(state[10], s.w);
  put_bytes(state[11], s.ctrl);
  put_bytes(state[12], s.applied);
}

static void set_state(Sim &s, const Carried &state) {
  TaskHandles of;
  if (nb::cast<bool>(state[1])) {
    of = task_handles(state[0]);
  } else {
    of.model = nb::cast<Model &>(state[0]).handle;
    of.contact = make_contact(of.model, nb::cast<std::optional<std::string>>(state[2]), nb::cast<nb::dict>(state[3]));
  }
  new (&s) Sim(of.contact, of.model, nb::cast<double>(state[4]));
  try {
    fill(s, state);
  } catch (...) {
    s.~Sim();
    throw;
  }
}

void bind_sim(nb::module_ &m) {
  nb::class_<tgStepInfo>(m, "StepInfo", "What a step's solve did.")
      .def_ro("converged", &tgStepInfo::converged, "False: the step went on with a fallback. One that does not go on raises NotConverged.")
      .def_ro("fallback", &tgStepInfo::fallback,
              "Where the contact solve had no answer: 0 it had one, 1 with less friction, 2 with the least residual.")
      .def_ro("nfallback", &tgStepInfo::nfallback, "In how many solves of islands.")
      .def_ro("nambiguous", &tgStepInfo::nambiguous,
              "Islands whose contacts have another answer than the step's, where that is known; after Sim.watch_answers all are asked.")
      .def_prop_ro(
          "ambiguous_bodies", [](const tgStepInfo &i) { return std::make_pair(i.ambiguous1, i.ambiguous2); },
          "The two bodies of the first such, -1: none.")
      .def_ro("iterations", &tgStepInfo::iterations, "Of the contact solver.")
      .def_ro("residual", &tgStepInfo::residual, "Of the contact conditions, relative.")
      .def_ro("least_distance", &tgStepInfo::least_distance, "Smallest gap between geoms that may touch, inf when none was near [m].")
      .def_ro("stable_step", &tgStepInfo::stable_step,
              "Largest stable step at its start [s], with Sim.watch_stability under an explicit law (softmin), else inf.")
      .def_ro("unstable", &tgStepInfo::unstable, "The step was longer than that.")
      .def_ro("energy_gained", &tgStepInfo::energy_gained,
              "Kinetic energy that overlap and errors thrown out as velocity added, under lcp's contact_rule 'touching' [J].")
      .def_ro("push_energy", &tgStepInfo::push_energy,
              "Potential energy that pushing out overlaps, passed limits and errors of equalities, in positions alone, has added, under "
              "lcp's contact_rule 'closing' [J].")
      .def_ro("burst", &tgStepInfo::burst, "That is more than the free motion had: bodies are thrown about.")
      .def_prop_ro(
          "burst_bodies", [](const tgStepInfo &i) { return std::make_pair(i.burst1, i.burst2); },
          "The two bodies that added most of it, -1: none.")
      .def_ro("ncrowded", &tgStepInfo::ncrowded,
              "Contacts and limits that closed fast and were stopped over all that was left of the step, without an impact of their own: "
              "in islands of more than 150 rows and beside such, at more than 8 times, which are fewer where all rows are more than 150, "
              "or after 8 impacts (lcp with contact_rule 'closing'); after 64 impacts of their island (toi).")
      .def_ro("nimpact", &tgStepInfo::nimpact, "Impacts taken at their own time, under toi, and under lcp with contact_rule 'closing'.")
      .def_ro("ncut", &tgStepInfo::ncut,
              "Overlaps and errors of which the push speed leaves a part after the step (contact_rule: closing).")
      .def_ro("nleft", &tgStepInfo::nleft, "Overlaps left as they are, because pushing them out contradicts other contacts.")
      .def_ro("nstalled", &tgStepInfo::nstalled, "Islands held in place for the rest of the step, after too many impacts or pieces, or "
                                                 "the whole scene after 16 impacts with a solve that had no answer, under toi.")
      .def_ro("ndamped", &tgStepInfo::ndamped, "Islands that bounce less than their restitution says.")
      .def_ro("ncontact", &tgStepInfo::ncontact, "Active contact points.")
      .def_ro("nrow", &tgStepInfo::nrow, "Constraint rows.")
      .def("__repr__", [](const tgStepInfo &i) {
        char text[160];
        snprintf(text, sizeof text,
                 "<tangere.StepInfo: %d contacts, %d iterations, residual %.1e, least distance %.3g m>", i.ncontact,
                 i.iterations, i.residual, i.least_distance);
        return std::string(text);
      });

  auto J = nb::class_<Jacobians>(m, "Jacobians", "Derivatives of one step in tangent coordinates: rows (q', v').")
      .def_ro("A", &Jacobians::A, "d(q', v')/d(q, v), (2 nv + na, 2 nv + na).")
      .def_ro("B", &Jacobians::B, "d(q', v')/du, (2 nv + na, nu).")
      .def("__repr__", [](const Jacobians &j) { return "<tangere.Jacobians: " + j.label +
                                                (j.reason.empty() ? "" : ", " + j.reason) + ">"; });
  bind_label(J);
  auto g = nb::class_<Gradient>(m, "StepGradient", "Adjoint of one step: dL/dq (tangent, nv), dL/dv (nv + na), dL/du and dL/dparams.")
      .def_ro("q", &Gradient::q, "dL/dq, (nv,), tangent.")
      .def_ro("v", &Gradient::v, "dL/dv, (nv + na,): velocities, then activations.")
      .def_ro("u", &Gradient::u, "dL/du, (nu,).")
      .def("__repr__", [](const Gradient &x) { return "<tangere.StepGradient: " + x.label +
                                               (x.reason.empty() ? "" : ", " + x.reason) + ">"; });
  bind_label(g);

  nb::class_<Sim>(m, "Sim", "A simulation: state, parameters of its own, and one step as a differentiable map. One thread at a time.")
      .def(nb::init<const Model &, const std::optional<std::string> &, std::optional<double>, const nb::kwargs &>(), nb::arg("model"),
           nb::arg("contact") = "lcp", nb::arg("dt") = nb::none(), nb::arg("options"),
           nb::sig("def __init__(self, model: Model, contact: str | None = 'lcp', dt: float | None = None, **options: object) -> None"),
           "contact: a word of contact_models(), or None: nothing touches. dt: step size [s], the model's when None. "
           "options: of the contact model,\n"
           "such as weight=1e-6.")
      .def_prop_ro("qpos", [](nb::handle_t<Sim> h) { Sim &s = nb::cast<Sim &>(h); return view(s.qpos.data(), {s.nq()}, h); },
                   "Positions (nq), MuJoCo's layout; a view: write into it.")
      .def_prop_ro("qvel", [](nb::handle_t<Sim> h) { Sim &s = nb::cast<Sim &>(h); return view(s.w.data(), {s.nv()}, h); },
                   "Velocities (nv), MuJoCo's layout; a view.")
      .def_prop_ro("act", [](nb::handle_t<Sim> h) { Sim &s = nb::cast<Sim &>(h); return view(s.w.data() + s.nv(), {s.na()}, h); },
                   "Activations (na) of the actuators that have one, in their order; a view.")
      .def_prop_ro("ctrl", [](nb::handle_t<Sim> h) { Sim &s =
                                                     nb::cast<Sim &>(h); return view(s.ctrl.data(), {s.nu()}, h); },
                                                     "Controls (nu); a view.")
      .def_prop_ro("qfrc_applied", [](nb::handle_t<Sim> h) { Sim &s = nb::cast<Sim &>(h); return view(s.applied.data(), {s.nv()}, h); },
                   "Generalised force added each step (nv); a view.")
      .def_prop_rw("dt", [](const Sim &s) { return s.dt; }, &set_timestep, "Step size [s].")
      .def("watch_stability", [](Sim &s, bool on) { tg_sim_watch_stability(s.get(), s.watched = on); }, nb::arg("on") = true,
           "From now on steps under an explicit law (softmin) tell in their StepInfo how long they might be: "
           "stable_step, unstable. About twice the time of a step.")
      .def("watch_answers", [](Sim &s, bool on) { tg_sim_watch_answers(s.get(), s.answers_watched = on); }, nb::arg("on") = true,
           "From now on steps under lcp and toi look for other answers of their contact solves, of which friction may have several, and\n"
           "count them in nambiguous of their StepInfo. As much as a step with a few contacts, many steps with tens.")
      .def_prop_ro("model", [](const Sim &s) { return Model{s.model}; }, "Its model.")
      .def_prop_ro("contact", [](const Sim &s) { return s.contact ? std::string(tg_contact_word(s.contact->contact))
                                                : std::string("none"); },
                   "Word of its contact model.")
      .def_prop_ro("contact_options", &options_of, nb::sig("def contact_options(self) -> dict[str, float | int | bool | str]"),
                   "All options of its contact model by name, as they are set; {} without one.")
      .def("view", &show, nb::arg("port") = 0, nb::arg("title") = "",
           nb::sig("def view(self, port: int = 0, title: str = '') -> tangere.view.View"),
           "Shows a copy of this simulation in a browser, where it runs, is pulled at and has its contact model switched: a View,\n"
           "whose url is to be opened. port: of 127.0.0.1; 0: the first free one from 8765. title: of the page; '': the model's name.")
      .def("contact_laws", &contact_laws, nb::sig("def contact_laws(self) -> list[dict[str, typing.Any]]"),
           "What contact of each two geoms goes by under a force of their gap ('damped'): 'geom1', 'geom2', the 'weight' [N] that is "
           "carried at 'resting_gap' [m],\n"
           "the law's 'strength' (of 'perturbed' sigma [J], of the others [N/m]), 'stiffness' there [N/m], 'damping_time' tau [s], "
           "'reach' (inf: any distance) [m]\n"
           "and the force 'left_out' for it at most [N], and the overlap that may pass between their proxies, 'missed' [m]. Of the "
           "options; else [].")
      .def("contact_grids", &contact_grids, nb::sig("def contact_grids(self) -> list[dict[str, typing.Any]]"),
           "The grids of distances that stand for meshes under 'damped': 'geom' (the first of those that share one), 'nodes', 'spacing' "
           "[m], the 'error' found near\n"
           "the surface [m], 'depth' of the deepest node [m], 'bytes'.")
      .def_prop_ro("interrupted", [](const Sim &s) { return s.interrupted; },
                   "The Rollout that Ctrl-C ended, with the steps that it had; None.")
      .def("step", &step, nb::arg("u") = nb::none(),
           "One step from (qpos, qvel, act, ctrl); u (nu) replaces ctrl first. Raises NotConverged or Error with the state unchanged.")
      .def("jacobians", &jacobians, nb::arg("params") = std::vector<std::string>(),
           "Dense Jacobians of the last step, with those of parameters by name.")
      .def("vjp", &vjp, nb::arg("gq") = nb::none(), nb::arg("gv") = nb::none(), nb::arg("params") = std::vector<std::string>(),
           "Adjoint of the last step, from dL/dq' (nv, tangent) and dL/dv' (nv + na; None: zero).")
      .def_prop_ro("param_names", &Sim::param_names,
                   "Names of the parameters that have a derivative, the contact model's own (\"contact.weight\") among them.")
      .def("param", &param, nb::arg("name"),
           "This sim's values of a parameter, a read-only copy; set_param writes. \"opt_timestep\" is dt.")
      .def("param_entries", [](const Sim &s, const std::string &name, const std::optional<std::string> &of, std::optional<int> entry) {
            return param_entries(*s.model, s.contact.get(), name, of, entry);
          }, nb::arg("name"), nb::arg("of") = nb::none(), nb::arg("entry") = nb::none(),
           "Places of entries in the flattened parameter as a task's `parameters` name them, and their numbers in `of`: of hull_vert 3 "
           "times the number of the mesh's vertex plus the axis.")
      .def("set_param", &set_param, nb::arg("name"), nb::arg("value"),
           "Sets a parameter array (\"body_mass\"), all of it; \"opt_timestep\" sets dt.")
      .def("reset", &reset, nb::arg("key") = nb::none(), "The model's start, or a keyframe's, at rest; parameters that were set stay.")
      .def("forward", &forward, "Frames, mass matrix and bias at the present state, for field().")
      .def("field", &field, nb::arg("name"), nb::sig("def field(self, name: str) -> numpy.typing.NDArray[typing.Any]"),
           "A read-only copy of an array that the engine computed (\"xpos\"), as of the last forward or step.")
      .def("fields", [](const Sim &s) {
            std::vector<std::string> list;
            for (int i = 0; i < tg_sim_field_count(s.get()); i++) list.push_back(tg_sim_field(s.sim, i).name);
            return list;
          }, "Names that field() knows.")
      .def("inverse_dynamics", &inverse, nb::arg("qacc"), "Generalised force (nv) for an acceleration: M a + c.")
      .def("acceleration", &acceleration, nb::arg("tau"), "M^-1 (tau - c), (nv,).")
      .def("body_jacobian", &body_jacobian, nb::arg("body"), nb::arg("point") = nb::none(),
           "(6, nv): 3 rows angular, 3 linear, world axes, of a point moving with a body (name or index); point in the "
           "world, the body's origin when None.")
      .def("__getstate__", &get_state)
      .def("__setstate__", &set_state)
      .def("close", [](Sim &s) { Claim claim(s.busy, "Sim"); s.close(); }, "Frees the engine's memory; further calls raise.")
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](Sim &s, nb::args) { Claim claim(s.busy, "Sim"); s.close(); },
           nb::sig("def __exit__(self, *args: object) -> None"))
      .def("__repr__", [](const Sim &s) {
        return s.sim ? std::string("<tangere.Sim: contact '") +
               (s.contact ? tg_contact_word(s.contact->contact) : "none") + "', dt " + std::to_string(s.dt) + " s>"
                     : std::string("<tangere.Sim, closed>");
      });
}

}  // namespace tangere
