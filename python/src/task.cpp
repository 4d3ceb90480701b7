// task.cpp: tangere.Task: a task file as a function of its decision variables, and its optimisation.
#include <algorithm>
#include <cstring>

#include "sim.h"

namespace tangere {

// The replays of a motion, a dict each.
using Rows = nb::typed<nb::list, nb::typed<nb::dict, nb::str, nb::any>>;

struct Optimum {
  std::string status, method, label, reason;
  bool reached, met;
  int attempt, start, stage;
  Rows verification;
  nb::object trust_first = nb::none(), trust_best = nb::none();
  int iterations;
  long evaluations, simulations;
  double first_loss, loss, seconds;
  Array x, first, curve, curve_stage;
};

struct Task {
  tgTask *task = nullptr;
  tgEvaluator *evaluator = nullptr;
  tgEvaluator *judge = nullptr;   // of single states; its run stays as it is
  tgRolloutRun term{};            // of which the loss is used
  nb::object interrupted = nb::none();
  std::atomic<bool> busy{false};
  nb::tuple made_of;              // path and what stands in place of the file's, as __init__ takes them
  uint64_t hash = 0;              // of the file and the model

  Task(nb::object source, const std::optional<std::string> &contact, const std::optional<std::string> &method,
       int iterations, const nb::kwargs &options) {
    std::string path = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(source));
    tgError error{};
    std::unique_ptr<tgTask, void (*)(tgTask *)> made(tg_task_load(path.c_str(), nullptr, &error), tg_task_free);
    if (!made) raise(error);
    if ((contact || method || iterations > 0) &&
        tg_task_override(made.get(), contact ? contact->c_str() : nullptr, method ? method->c_str() : nullptr, iterations, &error) != TG_OK)
      raise(error);
    for (auto item : options) {
      if (tg_task_contact_option(made.get(), nb::cast<std::string>(item.first).c_str(), option_text(item.second).c_str(), &error) != TG_OK)
        raise(error);
    }
    warn(tg_task_contact(made.get()));
    nb::dict texts;
    for (auto item : options) texts[item.first] = option_text(item.second);
    made_of = nb::make_tuple(absolute(path), contact, method, iterations, texts);
    nb::bytes file = nb::cast<nb::bytes>(nb::module_::import_("pathlib").attr("Path")(path).attr("read_bytes")());
    hash = tg_hash(fingerprint(tg_task_model(made.get())), file.data(), file.size());
    task = made.release();
  }
  ~Task() {
    tg_evaluator_free(evaluator);
    tg_evaluator_free(judge);
    tg_task_free(task);
  }
  size_t n() const { return (size_t)tg_task_size(task); }
  size_t T() const { return (size_t)tg_task_steps(task); }
  tgEvaluator *made(tgEvaluator *&place) {
    tgError error{};
    if (place == nullptr) place = tg_evaluator_create(task, 0, &error);
    if (place == nullptr) raise(error);
    return place;
  }
  tgEvaluator *rollout() { return made(evaluator); }
  // The loss term at state `t` as tg_rollout_run asks for it: the sim shows the state, its frames are computed, its
  // controls are those of the step.
  double loss_at(tgSim *sim, int t) {
    if (judge == nullptr) {
      std::vector<double> x(n());
      tg_task_start(task, 0, x.data());
      if (tg_evaluator_run(made(judge), x.data(), &term) != TG_OK) raise(TG_ERR_ARG, "Task");
    }
    double value = 0;
    tgStatus status = term.loss(term.loss_ctx, sim, t, (int)T(), &value, nullptr, nullptr, nullptr);
    if (status != TG_OK) raise(status, "Task");
    return value;
  }
};

static Array start(const Task &t, uint64_t seed) {
  double *x;
  Array array = zeros({t.n()}, &x);
  tg_task_start(t.task, seed, x);
  return array;
}

using Pairs = nb::typed<nb::list, nb::typed<nb::tuple, double, double>>;

static Pairs bounds(const Task &t) {
  std::vector<double> low(t.n()), high(t.n());
  tg_task_box(t.task, low.data(), high.data());
  Pairs pairs;
  for (size_t i = 0; i < t.n(); i++) pairs.append(nb::make_tuple(low[i], high[i]));
  return pairs;
}

using Value = nb::typed<nb::tuple, double, Array>;
using Trajectory = nb::typed<nb::tuple, double, Array, Array, Array>;

// the loss at x with its gradient; q and v may be NULL
static double evaluate(Task &t, nb::handle x, double *g, double *q, double *v) {
  In given = in(x, "x", {t.n()});
  if (given.p == nullptr) throw nb::type_error("x: None is no array");
  tgEvaluator *e = t.rollout();
  double loss = 0;
  tgRolloutResult result{};
  tgStatus status = TG_OK;
  long_call([&](const volatile int *cancel) { status = tg_evaluate(e, given.p, &loss, g, q, v, cancel, &result); });
  if (status != TG_OK && result.error.status != TG_OK) raise(result.error);
  if (status != TG_OK) raise(status, "Task");
  return loss;
}

static Value fun(Task &t, nb::handle x) {
  Claim claim(t.busy, "Task");
  double *g;
  Array gradient = zeros({t.n()}, &g);
  double loss = evaluate(t, x, g, nullptr, nullptr);
  return nb::make_tuple(loss, gradient);
}

static Trajectory trajectory(Task &t, nb::handle x) {
  Claim claim(t.busy, "Task");
  const tgModel *m = tg_task_model(t.task);
  double *g, *q, *v;
  Array gradient = zeros({t.n()}, &g), Q = zeros({t.T() + 1, (size_t)tg_model_nq(m)}, &q),
        V = zeros({t.T() + 1, (size_t)(tg_model_nv(m) + tg_model_na(m))}, &v);
  double loss = evaluate(t, x, g, q, v);
  return nb::make_tuple(loss, gradient, Q, V);
}

static Array vector(const double *from, int n) {
  double *to;
  Array array = zeros({(size_t)n}, &to);
  if (n > 0 && from != nullptr) std::memcpy(to, from, (size_t)n * sizeof *to);
  return array;
}

static Rows rows_of(const tgVerification &v) {
  Rows rows;
  for (int i = 0; i < v.n; i++) {
    const tgVerifyRow &r = v.row[i];
    nb::dict d;
    d["name"] = r.name;
    d["what"] = r.text;
    d["verdict"] = tg_verdict_text(r.verdict);
    d["required"] = r.required;
    d["dt"] = r.h;
    d["loss"] = r.loss;
    d["distance"] = r.distance;
    d["reason"] = r.reason;
    rows.append(d);
  }
  return rows;
}

static Rows verify(Task &t, nb::handle x) {
  Claim claim(t.busy, "Task");
  In given = in(x, "x", {t.n()});
  if (given.p == nullptr) throw nb::type_error("x: None is no array");
  tgVerification v{};
  tgError error{};
  tgStatus st = TG_OK;
  long_call([&](volatile int *cancel) { st = tg_verify(t.task, given.p, cancel, &v, &error); });
  if (st != TG_OK) raise(error);
  return rows_of(v);
}

static nb::typed<nb::tuple, Array, Array> verify_motion(Task &t, nb::handle x, const std::string &name) {
  Claim claim(t.busy, "Task");
  In given = in(x, "x", {t.n()});
  if (given.p == nullptr) throw nb::type_error("x: None is no array");
  const tgModel *m = tg_task_model(t.task);
  double *q, *v;
  Array Q = zeros({t.T() + 1, (size_t)tg_model_nq(m)}, &q), V = zeros({t.T() + 1, (size_t)(tg_model_nv(m) + tg_model_na(m))}, &v);
  tgError error{};
  tgStatus st = TG_OK;
  long_call([&](volatile int *cancel) { st = tg_verify_motion(t.task, given.p, name.c_str(), q, v, cancel, &error); });
  error.status = st;
  if (st != TG_OK) raise(error);
  return nb::make_tuple(Q, V);
}

// states from elsewhere as a row of `verify`
static nb::dict judge(Task &t, nb::handle x, nb::handle qpos, nb::handle qvel) {
  Claim claim(t.busy, "Task");
  const tgModel *m = tg_task_model(t.task);
  In given = in(x, "x", {t.n()}), q = in(qpos, "q", {t.T() + 1, (size_t)tg_model_nq(m)}),
     v = in(qvel, "v", {t.T() + 1, (size_t)(tg_model_nv(m) + tg_model_na(m))});
  if (given.p == nullptr || q.p == nullptr || v.p == nullptr) throw nb::type_error("x, q, v: None is no array");
  double loss = 0, distance = 0;
  tgError error{};
  tgStatus st = TG_OK;
  long_call([&](const volatile int *) { st = tg_task_judge(t.task, given.p, q.p, v.p, &loss, &distance, &error); });
  error.status = st;
  if (st != TG_OK) raise(error);
  nb::dict d;
  d["loss"] = loss;
  d["distance"] = distance;
  d["verdict"] = tg_verdict_text(tg_task_verdict(t.task, loss, distance));
  return d;
}

static nb::tuple smoothed_gradient(Task &t, nb::handle x, const std::string &order, int samples, double sigma, uint64_t seed,
                                   int threads) {
  Claim claim(t.busy, "Task");
  In given = in(x, "x", {t.n()});
  if (given.p == nullptr) throw nb::type_error("x: None is no array");
  static const char *const word[] = {"first", "zeroth", "mixed"};
  tgSmoothOptions o = tg_smooth_default();
  o.order = TG_SMOOTH_NONE;
  for (int i = 0; i < 3; i++)
    if (order == word[i]) o.order = static_cast<tgSmoothOrder>(TG_SMOOTH_FIRST + i);
  if (o.order == TG_SMOOTH_NONE) throw nb::value_error(("order: '" + order + "'; known are first, zeroth and mixed").c_str());
  o.samples = samples;
  o.sigma = sigma;
  o.seed = seed;
  o.threads = threads;
  double *g;
  Array gradient = zeros({t.n()}, &g);
  tgSmoothed s{};
  tgError error{};
  tgStatus st = TG_OK;
  long_call([&](const volatile int *cancel) { st = tg_task_smoothed(t.task, given.p, &o, cancel, g, &s, &error); });
  error.status = st;
  if (st != TG_OK) raise(error);
  nb::dict d;
  d["label"] = tg_grad_label_text(s.grad.label);
  d["reason"] = s.grad.reason;
  d["loss"] = s.loss;
  d["mean"] = s.mean;
  d["share"] = s.share;
  d["error"] = s.error;
  d["used"] = s.used;
  d["simulations"] = s.simulations;
  return nb::make_tuple(gradient, d);
}

static nb::dict effort(const Task &t) {
  tgTaskEffort e = tg_task_effort(t.task);
  nb::dict d;
  d["share"] = e.share;
  d["weight"] = e.weight;
  d["by_default"] = e.by_default;
  d["reason"] = e.reason;
  return d;
}

static nb::dict trust_dict(const tgTrust &k) {
  nb::dict d;
  d["range"] = k.range;
  d["beyond"] = k.beyond;
  d["label"] = tg_grad_label_text(k.grad.label);
  d["loss"] = k.loss;
  d["slope"] = k.slope;
  d["growth"] = k.growth;
  d["step"] = k.step;
  d["multiplied"] = k.multiplied;
  d["by"] = k.by;
  d["runs"] = k.runs;
  d["unstable"] = k.unstable;
  d["ambiguous"] = k.ambiguous;
  d["untimed"] = k.untimed;
  return d;
}

static nb::dict trust(Task &t, nb::handle x, int directions, uint64_t seed, bool quick) {
  Claim claim(t.busy, "Task");
  In given = in(x, "x", {t.n()});
  if (given.p == nullptr) throw nb::type_error("x: None is no array");
  if (directions < 0 || directions > 100) throw nb::value_error("directions must be 0 to 100");
  tgTrustOptions o = tg_trust_default();
  o.directions = directions;
  o.quick = quick;
  o.seed = seed;
  tgTrust k{};
  tgError error{};
  tgStatus st = TG_OK;
  std::unique_ptr<tgEvaluator, void (*)(tgEvaluator *)> e(tg_evaluator_create(t.task, 0, &error), tg_evaluator_free);
  if (!e) raise(error);
  long_call([&](const volatile int *cancel) { st = tg_evaluator_trust(e.get(), given.p, &o, cancel, &k, &error); });
  error.status = st;
  if (st != TG_OK) raise(error);
  return trust_dict(k);
}

static Optimum make_optimum(const Task &t, const tgOptimum &o) {
  Optimum r;
  r.status = tg_status_text(o.status);
  r.method = tg_task_method(t.task);
  r.label = tg_grad_label_text(o.grad.label);
  r.reason = o.grad.reason;
  r.reached = o.reached;
  r.met = o.met;
  r.attempt = o.attempt;
  r.start = o.start;
  r.stage = o.stage;
  r.verification = rows_of(o.verification);
  if (o.trust_first.told) r.trust_first = trust_dict(o.trust_first.trust);
  if (o.trust_best.told) r.trust_best = trust_dict(o.trust_best.trust);
  r.iterations = o.iterations;
  r.evaluations = o.evaluations;
  r.simulations = o.simulations;
  r.first_loss = o.first_loss;
  r.loss = o.best_loss;
  r.seconds = o.seconds;
  r.x = vector(o.best, o.n);
  r.first = vector(o.first, o.n);
  r.curve = vector(o.curve_loss, o.ncurve);
  r.curve_stage = vector(o.curve_stage, o.ncurve);
  return r;
}

// What is called after each iteration, and what it raised, which ends the optimisation.
struct Progress {
  nb::object call;
  volatile int *cancel = nullptr;
  std::exception_ptr raised;
};

// Called from C, which no exception may pass through.
static void report(void *ctx, const tgProgress *p) {
  nb::gil_scoped_acquire acquire;
  Progress &to = *static_cast<Progress *>(ctx);
  if (to.raised) return;
  try {
    nb::dict d;
    d["attempt"] = p->attempt;
    d["attempts"] = p->attempts;
    d["start"] = p->start;
    d["starts"] = p->starts;
    d["stage"] = p->stage;
    d["stages"] = p->stages;
    d["iteration"] = p->iteration;
    d["iterations"] = p->iterations;
    d["evaluations"] = p->evaluations;
    d["loss"] = p->loss;
    d["best"] = p->best;
    d["seconds"] = p->seconds;
    d["seconds_left"] = p->seconds_left;
    d["window"] = p->window;
    d["replayed"] = p->replayed;
    to.call(d);
  } catch (...) {
    to.raised = std::current_exception();
    *to.cancel = 1;
  }
}

static Optimum optimize(Task &t, uint64_t seed, int threads, nb::object progress, nb::object journal, bool resume, bool overwrite,
                        nb::handle start, bool verified, bool trusted) {
  Claim claim(t.busy, "Task");
  In from = in(start, "start", {t.n()});
  std::string file = journal.is_none() ? "" : nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(journal));
  if (file.empty() && (resume || overwrite)) throw nb::value_error("resume and overwrite: of a journal; name its file");
  if (resume && overwrite) throw nb::value_error("resume and overwrite: one or the other");
  tgOptimizeOptions options = tg_optimize_default();
  options.seed = seed;
  options.threads = threads;
  options.journal = file.empty() ? nullptr : file.c_str();
  options.resume = resume;
  options.overwrite = overwrite;
  options.start = from.p;
  options.unverified = !verified;
  options.trust = trusted;
  Progress to{progress, nullptr, nullptr};
  if (!progress.is_none()) {
    options.progress = report;
    options.progress_ctx = &to;
  }
  std::unique_ptr<tgOptimum, void (*)(tgOptimum *)> found(nullptr, tg_optimum_free);
  t.interrupted = nb::none();
  auto keep = [&] {
    if (found && found->best != nullptr) t.interrupted = nb::cast(make_optimum(t, *found));
  };
  try {
    long_call([&](volatile int *cancel) {
      options.cancel = to.cancel = cancel;
      found.reset(tg_optimize(t.task, &options));
    });
    if (to.raised) std::rethrow_exception(to.raised);
  } catch (nb::python_error &) {
    keep();
    throw;
  }
  if (!found) raise(TG_ERR_MEMORY, "optimize");
  if (found->status != TG_OK) {
    keep();
    raise(found->error);
  }
  return make_optimum(t, *found);
}

// The parameters that x decides, which the sim keeps as if each had been set.
static void decide(const Task &t, const double *x, Sim &sim) {
  for (const std::string &name : sim.param_names()) sim.changed.insert(name);
  Values before(sim);
  tg_task_set_parameters(t.task, x, sim.sim);
  Values after(sim);
  for (const auto &item : after.value)
    if (before.value[item.first] == item.second) sim.changed.erase(item.first);
}

const tgTask *task_of(nb::handle self) {
  if (!nb::isinstance<Task>(self)) throw nb::type_error("task: a Task is needed");
  return nb::cast<Task &>(self).task;
}

TaskHandles task_handles(nb::handle self) {
  const Task &t = nb::cast<Task &>(self);
  auto model = std::make_shared<ModelHandle>();
  model->model = const_cast<tgModel *>(tg_task_model(t.task));   // never written, never freed: it has an owner
  model->path = tg_task_model_path(t.task);
  model->owner = nb::borrow(self);
  auto contact = std::make_shared<ContactHandle>();
  contact->model = model;
  contact->borrowed = true;
  contact->contact = const_cast<tgContact *>(tg_task_contact(t.task));
  return {model, contact};
}

// A simulation of the task's own model and contact model at the start of x.
static Sim *make_sim(nb::handle_t<Task> self, nb::handle at) {
  Task &t = nb::cast<Task &>(self);
  In given = in(at, "x", {t.n()});
  TaskHandles of = task_handles(self);
  auto sim = std::make_unique<Sim>(of.contact, of.model, tg_task_timestep(t.task));
  std::vector<double> x(t.n());
  if (given.p == nullptr) tg_task_start(t.task, 0, x.data());
  else std::copy(given.p, given.p + t.n(), x.begin());
  tg_task_expand(t.task, x.data(), sim->qpos.data(), sim->w.data(), nullptr);
  decide(t, x.data(), *sim);
  return sim.release();
}

static void check_sim(const Task &t, const Sim &s, int step, int last) {
  s.get();
  if (tg_sim_model(s.sim) != tg_task_model(t.task)) throw nb::value_error("sim: not one of this task; Task.sim makes one");
  if (step < 0 || step > last) throw nb::value_error("t: 0 to the task's steps");
}

static double cost(Task &t, Sim &s, int step) {
  Claim claim(t.busy, "Task"), second(s.busy, "Sim");
  check_sim(t, s, step, (int)t.T());
  s.give();
  if (tg_sim_forward(s.sim) != TG_OK) s.fail();
  return t.loss_at(s.sim, step);
}

// A step and what the state before it costs, of frames computed once.
static double step_cost(Task &t, Sim &s, int step) {
  Claim claim(t.busy, "Task"), second(s.busy, "Sim");
  check_sim(t, s, step, (int)t.T() - 1);
  s.give();
  s.advance();
  // as in a rollout: the sim shows the state before the step, frames and forces are the step's
  auto swap = [&s] {
    std::swap_ranges(s.qpos.begin(), s.qpos.end(), tg_sim_qpos(s.sim));
    std::swap_ranges(s.w.data(), s.w.data() + s.nv(), tg_sim_qvel(s.sim));
    std::swap_ranges(s.w.data() + s.nv(), s.w.data() + s.nw(), tg_sim_act(s.sim));
  };
  swap();
  double value = 0;
  try {
    value = t.loss_at(s.sim, step);
  } catch (...) {
    swap();
    s.take();
    throw;
  }
  swap();
  s.take();
  return value;
}

static nb::typed<nb::tuple, Array, Array, Array> expand(const Task &t, nb::handle x) {
  In given = in(x, "x", {t.n()});
  if (given.p == nullptr) throw nb::type_error("x: None is no array");
  const tgModel *m = tg_task_model(t.task);
  double *q, *v, *u;
  Array Q = zeros({(size_t)tg_model_nq(m)}, &q), V = zeros({(size_t)(tg_model_nv(m) + tg_model_na(m))}, &v),
        U = zeros({t.T(), (size_t)tg_model_nu(m)}, &u);
  tg_task_expand(t.task, given.p, q, v, u);
  return nb::make_tuple(Q, V, U);
}

// ---- carried elsewhere: the file and what stands in place of its own, and what came of it as a number ----

static Carried get_state(const Task &t) { return nb::make_tuple(t.made_of, t.hash); }

static void set_state(Task &t, const Carried &state) {
  nb::tuple of = nb::cast<nb::tuple>(state[0]);
  new (&t) Task(of[0], nb::cast<std::optional<std::string>>(of[1]), nb::cast<std::optional<std::string>>(of[2]), nb::cast<int>(of[3]),
                nb::borrow<nb::kwargs>(nb::object(of[4])));
  try {
    check_fingerprint(t.hash, nb::cast<uint64_t>(state[1]), nb::cast<std::string>(of[0]));
  } catch (...) {
    t.~Task();
    throw;
  }
}

void bind_task(nb::module_ &m) {
  nb::class_<Optimum>(m, "Optimum", "Outcome of an optimisation.")
      .def_ro("x", &Optimum::x, "The best decision variables.")
      .def_ro("first", &Optimum::first, "Where it began.")
      .def_ro("loss", &Optimum::loss, "The least loss.")
      .def_ro("first_loss", &Optimum::first_loss, "The loss at the start.")
      .def_ro("curve", &Optimum::curve, "The loss of each iteration.")
      .def_ro("curve_stage", &Optimum::curve_stage,
              "The stage of the refinement that each is of, 0: the task's own. Losses of stages do not compare.")
      .def_ro("reached", &Optimum::reached, "The task's success criterion holds (True when it has none), and in all replays that the "
                                            "task requires.")
      .def_ro("met", &Optimum::met, "It holds for the motion as it was found.")
      .def_ro("attempt", &Optimum::attempt, "The one of the task's `attempts` that the motion is of, from 0.")
      .def_ro("start_index", &Optimum::start, "The one of the task's `starts` that the motion is of, or was refined from.")
      .def_ro("stage", &Optimum::stage, "The stage of the task's refinement that the motion is of, 0: the task's own.")
      .def_ro("verification", &Optimum::verification, "The replays under other conditions, a dict each, as of Task.verify.")
      .def_ro("trust_first", &Optimum::trust_first, "Trust in the gradient where it began, as of Task.trust; None: not asked for, or that "
                                                    "motion ends early.")
      .def_ro("trust_best", &Optimum::trust_best, "The same at the best, of the task as its stage has it.")
      .def_ro("iterations", &Optimum::iterations, "Iterations done.")
      .def_ro("evaluations", &Optimum::evaluations, "Losses and gradients computed.")
      .def_ro("simulations", &Optimum::simulations, "Rollouts, gradients counted as one.")
      .def_ro("seconds", &Optimum::seconds, "Time spent [s].")
      .def_ro("method", &Optimum::method, "The optimiser.")
      .def_ro("status", &Optimum::status, "'ok', or what ended it.")
      .def_ro("label", &Optimum::label, "The worst gradient label met.")
      .def_ro("reason", &Optimum::reason, "Why it is not exact.")
      .def("__repr__", [](const Optimum &o) {
        char text[200];
        snprintf(text, sizeof text, "<tangere.Optimum: loss %.4g from %.4g in %d iterations of %s, %.1f s%s>", o.loss,
                 o.first_loss, o.iterations, o.method.c_str(), o.seconds, o.reached ? "" : ", target not reached");
        return std::string(text);
      });
  nb::class_<Task>(m, "Task",
                   "A task file: model, contact model, decision variables, losses, optimiser. Its fun suits "
                   "scipy.optimize.minimize(jac=True).")
      .def(nb::init<nb::object, const std::optional<std::string> &, const std::optional<std::string> &, int,
           const nb::kwargs &>(), nb::arg("path"), nb::arg("contact") = nb::none(), nb::arg("method") = nb::none(),
           nb::arg("iterations") = 0, nb::arg("options"),
           nb::sig("def __init__(self, path: str | os.PathLike[str], contact: str | None = None, method: str | None = "
                   "None, iterations: int = 0, **options: object) -> None"),
                   "contact, method, iterations: in place of the file's. options: of the contact model.")
      .def("__getstate__", &get_state)
      .def("__setstate__", &set_state)
      .def("__repr__", [](const Task &t) {
        const char *word = tg_contact_word(tg_task_contact(t.task));
        return "<tangere.Task '" + nb::cast<std::string>(t.made_of[0]) + "': " + std::to_string(t.n()) + " variables, " +
               std::to_string(t.T()) + " steps, contact '" + word + "', method '" + tg_task_method(t.task) + "'>";
      })
      .def_prop_ro("size", &Task::n, "Number of decision variables.")
      .def_prop_ro("steps", &Task::T, "Steps of the horizon.")
      .def_prop_ro("dt", [](const Task &t) { return tg_task_timestep(t.task); }, "Step size [s].")
      .def_prop_ro("success_distance", [](const Task &t) { return tg_task_success_distance(t.task); },
                   "The most that the farthest position term may be off for the task to be met [m]; NaN: it asks for no distance.")
      .def_prop_ro("effort", &effort, nb::sig("def effort(self) -> dict[str, bool | float | str]"),
                   "The price on the speed of what actuators drive: share of the losses at the start, weight of the loss term that it is, "
                   "by_default (the file says nothing), reason (why there is none then).")
      .def_prop_ro("contact", [](const Task &t) { return std::string(tg_contact_word(tg_task_contact(t.task))); },
                   "Word of its contact model.")
      .def_prop_ro("method", [](const Task &t) { return std::string(tg_task_method(t.task)); }, "Its optimiser.")
      .def_prop_ro("model_path", [](const Task &t) { return std::string(tg_task_model_path(t.task)); }, "The model's file.")
      .def_prop_ro("bounds", &bounds, "(low, high) of each decision variable, as SciPy takes them.")
      .def_prop_ro("x0", [](const Task &t) { return start(t, 0); }, "The file's start.")
      .def_prop_ro("interrupted", [](const Task &t) { return t.interrupted; },
                   "The Optimum that Ctrl-C or an error ended, the best so far; None.")
      .def("start", &start, nb::arg("seed") = 0, "The start for a seed: the file's, with its noise.")
      .def("fun", &fun, nb::arg("x"), "(loss, gradient) at x.")
      .def("trajectory", &trajectory, nb::arg("x"), "(loss, gradient, q, v) at x.")
      .def("sim", &make_sim, nb::arg("x") = nb::none(), nb::rv_policy::take_ownership,
           "A simulation of the task's model, contact model and step size, at the start of x, with the parameters that "
           "x decides; the file's start when None.")
      .def("cost", &cost, nb::arg("sim"), nb::arg("t"),
           "The loss at state t (0 to steps) that the sim is in, its ctrl that of step t. Over a trajectory they add "
           "up to the loss of fun.")
      .def("_step", &step_cost, nb::arg("sim"), nb::arg("t"), "cost at state t and sim.step in one, with the frames of the step.")
      .def("expand", &expand, nb::arg("x"), "(q0, v0, u) that x stands for.")
      .def("optimize", &optimize, nb::kw_only(), nb::arg("seed") = 0, nb::arg("threads") = 0,
           nb::arg("progress") = nb::none(), nb::arg("journal") = nb::none(),
           nb::arg("resume") = false, nb::arg("overwrite") = false, nb::arg("start") = nb::none(), nb::arg("verify") = true,
           nb::arg("trust") = false,
           nb::sig("def optimize(self, *, seed: int = 0, threads: int = 0, progress: "
                   "collections.abc.Callable[[dict[str, typing.Any]], object] | None = None, "
                   "journal: str | os.PathLike[str] | None = None, resume: bool = False, overwrite: bool = False, start: "
                   "object = None, verify: bool = True, trust: bool = False) -> Optimum"),
           "Runs the task's optimiser. Ctrl-C: KeyboardInterrupt, the best so far in `interrupted`. progress: called "
           "with a dict after each iteration; what it raises\n"
           "ends the run in the same way. journal: a file that records every evaluation, such as the checkpoint of "
           "`tangere optimize --out`; with resume the run that it\n"
           "holds goes on where it ended, to the same bits. A file that holds a run is refused without resume or "
           "overwrite, one of another task or seed with resume. start: decision variables to begin from. verify: the best "
           "is replayed under other conditions before it counts as reached, and refined where the task says how; False: "
           "neither. trust: the Optimum tells how far its gradients may be trusted (trust_first, trust_best), by some 160 rollouts more.")
      .def("trust", &trust, nb::arg("x"), nb::kw_only(), nb::arg("directions") = 12, nb::arg("seed") = 0,
           nb::arg("quick") = false,
           nb::sig("def trust(self, x: object, *, directions: int = 12, seed: int = 0, quick: bool = False) "
                   "-> dict[str, bool | int | float | str]"),
           "How far the gradient at x may be trusted. range: the largest norm of a change of x up to which it foretells the loss within a "
           "factor of 2, down and up the gradient and along random directions, found by rollouts (`runs` of them); beyond: it is the "
           "largest that was tried. growth: by which the adjoint grows a step on its way back; step, multiplied, by: the step that "
           "multiplies it most, and the contact that presses most there. unstable: steps that were longer than they are stable; ambiguous: "
           "steps whose contacts have another answer than the one taken, which a small change may take; untimed: steps in "
           "which bodies meet at a time that the step does not know (lcp by contact_rule: touching), whose gradient need not be "
           "the motion's. With label, loss and slope (the gradient's norm).")
      .def("smoothed_gradient", &smoothed_gradient, nb::arg("x"), nb::kw_only(), nb::arg("order") = "mixed", nb::arg("samples") = 16,
           nb::arg("sigma") = 0.0, nb::arg("seed") = 0, nb::arg("threads") = 0,
           nb::sig("def smoothed_gradient(self, x: object, *, order: str = 'mixed', samples: int = 16, sigma: float = 0.0, "
                   "seed: int = 0, threads: int = 0) -> tuple[numpy.ndarray, dict[str, int | float | str]]"),
           "(gradient, account) of the loss smoothed over normal perturbations of x with spread sigma (0: 5 % of each variable's "
           "box), from `samples` motions, the same perturbations for every x. order: 'first', the mean of their gradients, which sees "
           "no jump of the loss; 'zeroth', the covariance of their losses and the perturbations; 'mixed', both by their variances. The "
           "account: label ('smoothed' or worse) and reason, loss (at x itself), mean (over the samples), share (of the first order), "
           "error (a bound of the gradient's standard error, entries times sigma), used, simulations.")
      .def("verify", &verify, nb::arg("x"),
           "Replays x under the conditions that the task names: shorter steps, a stiffer contact, rigid contact models. A dict each: "
           "name, what, verdict ('holds', 'misses', 'ends early', 'not expressed'), required, dt [s], loss, distance [m], reason.")
      .def("verify_motion", &verify_motion, nb::arg("x"), nb::arg("name"),
           "(q, v) of the replay `name` of x at the task's own times: (steps + 1, nq), (steps + 1, nv + na).")
      .def("judge", &judge, nb::arg("x"), nb::arg("q"), nb::arg("v"),
           nb::sig("def judge(self, x: object, q: object, v: object) -> dict[str, typing.Any]"),
           "loss, distance [m] (NaN: no position term) and verdict ('holds', 'misses') of states from elsewhere at the task's own times, "
           "q (steps + 1, nq), v (steps + 1, nv + na), with the\ncontrols and parameters of x: another simulator's or a robot's, held to "
           "what the task's `verify` asks.");
}

}  // namespace tangere
