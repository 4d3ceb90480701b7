// check.cpp: parameters by name, and tangere.gradcheck.
#include "sim.h"

#include <cstring>

namespace tangere {

static Shape shape_of(int nrow, int ncol) {
  Shape shape{(size_t)nrow};
  if (ncol != 1) shape.push_back((size_t)ncol);
  return shape;
}

Shape param_shape(const ModelHandle &model, const ContactHandle *contact, const std::string &name) {
  if (contact != nullptr && name.rfind("contact.", 0) == 0) {   // by its alias too; what is wrong the engine says
    const char *one = name.c_str();
    tgError error{};
    tgParamGrad *p = tg_param_grad_create_contact(contact->contact, &one, 1, nullptr, &error);
    if (p == nullptr) raise(error);
    tg_param_grad_free(p);
    return {1};
  }
  tgField f = tg_model_field_named(model.model, name.c_str());
  if (f.data == nullptr || f.scalar != TG_SCALAR_REAL) throw nb::key_error(("there is no parameter '" + name + "'").c_str());
  return shape_of(f.rows, f.cols);
}

std::pair<std::vector<int>, std::vector<int>> param_entries(const ModelHandle &model, const ContactHandle *contact, const std::string &name,
                                                            const std::optional<std::string> &of, std::optional<int> entry) {
  size_t size = 1;
  for (size_t n : param_shape(model, contact, name)) size *= n;
  if (name.rfind("contact.", 0) == 0) {
    if (of) throw nb::value_error((name + " is one for the whole model; leave out of: " + *of).c_str());
    if (entry && *entry != 0) throw nb::value_error((name + " has entries 0 to 0, not " + std::to_string(*entry)).c_str());
    return {{0}, {0}};
  }
  tgError error{};
  std::vector<int> at(size), number(size);
  if (entry && *entry < 0) throw nb::value_error((name + " has no entry " + std::to_string(*entry)).c_str());
  int n = tg_model_entries(model.model, name.c_str(), of ? of->c_str() : nullptr, entry.value_or(-1), at.data(), number.data(), (int)size,
                           &error);
  if (n < 0) throw nb::value_error(error.text);
  at.resize((size_t)n);
  number.resize((size_t)n);
  return {at, number};
}

std::pair<double, double> param_range(const std::string &name, double start) {
  double range[2];
  tg_param_range(name.c_str(), start, range);
  return {range[0], range[1]};
}

Params::Params(const ModelHandle &model, const ContactHandle *contact, const std::vector<std::string> &names) : names_(names) {
  if (names.empty()) return;
  std::vector<const char *> list;
  for (const auto &name : names) list.push_back(name.c_str());
  tgError error{};
  grad_ = contact != nullptr ? tg_param_grad_create_contact(contact->contact, list.data(), (int)list.size(), nullptr, &error)
                             : tg_param_grad_create(model.model, list.data(), (int)list.size(), nullptr, &error);
  if (grad_ == nullptr) raise(error);
}

int Params::size() const {
  int n = 0;
  if (grad_ != nullptr) tg_param_grad_values(grad_, &n);
  return n;
}

Arrays Params::arrays() const {
  Arrays dict;
  for (const auto &name : names_) {
    int nrow, ncol;
    double *to;
    const double *from = tg_param_grad_field(grad_, name.c_str(), &nrow, &ncol);
    Array array = zeros(shape_of(nrow, ncol), &to);
    std::memcpy(to, from, (size_t)nrow * (size_t)ncol * sizeof *to);
    dict[name.c_str()] = array;
  }
  return dict;
}

Arrays Params::jacobian(const double *D, size_t rows) const {
  Arrays dict;
  size_t total = (size_t)size(), at = 0;
  for (const auto &name : names_) {
    int nrow, ncol;
    double *to;
    tg_param_grad_field(grad_, name.c_str(), &nrow, &ncol);
    size_t n = (size_t)nrow * (size_t)ncol;
    Shape shape = shape_of(nrow, ncol);
    shape.insert(shape.begin(), rows);
    Array array = zeros(shape, &to);
    for (size_t i = 0; i < rows; i++) std::memcpy(to + i * n, D + i * total + at, n * sizeof *to);
    at += n;
    dict[name.c_str()] = array;
  }
  return dict;
}

Arrays Params::batch(size_t n, std::vector<double *> &data) const {
  Arrays dict;
  data.clear();
  for (const auto &name : names_) {
    int nrow, ncol;
    tg_param_grad_field(grad_, name.c_str(), &nrow, &ncol);
    Shape shape = shape_of(nrow, ncol);
    shape.insert(shape.begin(), n);
    double *to;
    dict[name.c_str()] = zeros(shape, &to);
    data.push_back(to);
  }
  return dict;
}

void Params::store(const std::vector<double *> &data, size_t lane) const {
  for (size_t i = 0; i < names_.size(); i++) {
    int nrow, ncol;
    const double *from = tg_param_grad_field(grad_, names_[i].c_str(), &nrow, &ncol);
    size_t n = (size_t)nrow * (size_t)ncol;
    std::memcpy(data[i] + lane * n, from, n * sizeof *from);
  }
}

struct Block { std::string name, label, row, col, reason; double error, tolerance, ours, reference; bool ok; int spoiled; };
struct Check { bool ok; std::vector<Block> blocks; };

static Check make_check(const tgGradCheck &c) {
  Check check{c.pass, {}};
  for (int i = 0; i < c.nblock; i++) {
    const tgGradBlock &b = c.block[i];
    check.blocks.push_back({b.name, tg_grad_label_text(b.label), b.row_name, b.col_name, b.reason, b.error, b.tolerance, b.ours,
                            b.reference, b.pass, b.spoiled});
  }
  return check;
}

static std::string text(const Check &c) {
  std::string all = c.ok ? "gradient check passed" : "gradient check FAILED";
  for (const Block &b : c.blocks) {
    char line[400];
    snprintf(line, sizeof line, "\n  %-14s %s  error %.1e (tolerance %.0e)  %s%s%s", b.name.c_str(),
             b.ok ? "ok  " : "FAIL", b.error, b.tolerance, b.label.c_str(), b.reason.empty() ? "" : ": ",
             b.reason.c_str());
    all += line;
  }
  return all;
}

static Check gradcheck(Sim &s, bool params, double tolerance, uint64_t seed) {
  Claim claim(s.busy, "Sim");
  s.give();
  tgGradCheckOptions options = tg_grad_check_default();
  options.h = s.dt;
  options.tolerance = tolerance;
  options.seed = seed;
  tgGradCheck check{};
  tgStatus status = TG_OK;
  long_call([&](const volatile int *cancel) {
    options.cancel = cancel;
    status = tg_grad_check_step(s.sim, &options, &check);
    if (status == TG_OK && params) status = tg_grad_check_parameters(s.sim, &options, &check);
  });
  if (status != TG_OK) s.fail();
  return make_check(check);
}

// what becomes of a motion and its gradient as the step shrinks, and over finite widths
static std::string motion_text(const tgMotionCheck &k) {
  std::string all = k.pass ? "motion check passed" : std::string("motion check FAILED: ") + k.reason;
  char line[300];
  for (int i = 0; i < k.nrow; i++) {
    const tgMotionRow &r = k.row[i];
    snprintf(line, sizeof line,
             "\n  h %-9.4g value %-12.6g change %-9.2g |gradient| %-11.5g change %-9.2g %s: %-11.6g %s", r.h, r.value,
             r.value_change, r.gradient, r.gradient_change, k.entry_name, r.entry, tg_grad_label_text(r.label));
    all += line;
  }
  for (int i = 0; i < k.nwidth; i++) {
    const tgWidthRow &r = k.width[i];
    snprintf(line, sizeof line, "\n  width %.0e  error %-9.2g gradient %-12.6g difference of the motion %.6g", r.width,
             r.error, r.ours, r.reference);
    all += line;
  }
  return all;
}

static tgMotionCheck motioncheck(Sim &s, int steps, int halvings, nb::object controls, uint64_t seed) {
  Claim claim(s.busy, "Sim");
  s.give();
  tgMotionCheckOptions options = tg_motion_check_default();
  options.h = s.dt;
  options.steps = steps;
  options.halvings = halvings;
  options.seed = seed;
  if (steps < 1) throw nb::value_error("steps must be at least 1");
  if (halvings < 0 || halvings >= TG_MOTION_ROWS) throw nb::value_error("halvings must be 0 to 8");
  In u = in(controls, "controls", {(size_t)steps, (size_t)tg_model_nu(tg_sim_model(s.sim))});
  options.u = u.p;
  tgMotionCheck check{};
  tgStatus status = TG_OK;
  long_call([&](const volatile int *cancel) {
    options.cancel = cancel;
    status = tg_grad_check_motion(s.sim, &options, &check);
  });
  if (status != TG_OK) s.fail();
  return check;
}

template <typename Get> static Array column(int n, Get get) {
  double *to;
  Array array = zeros({(size_t)n}, &to);
  for (int i = 0; i < n; i++) to[i] = get(i);
  return array;
}

static void bind_motion(nb::module_ &m) {
  nb::class_<tgMotionCheck>(m, "MotionCheck",
                            "Outcome of motioncheck: true in a condition when the gradient is the motion's; printed, two tables.")
      .def_prop_ro("ok", [](const tgMotionCheck &k) { return k.pass; },
                   "Value and gradient converge, no step is longer than it is stable, and the gradient is the motion's "
                   "slope at some width.")
      .def_prop_ro("reason", [](const tgMotionCheck &k) { return k.reason; }, "Why it is not ok, with the entry that changes most; ''.")
      .def_prop_ro("value", [](const tgMotionCheck &k) { return tg_convergence_text(k.value); },
                   "'converges' or 'does not converge' as the step shrinks.")
      .def_prop_ro("gradient", [](const tgMotionCheck &k) { return tg_convergence_text(k.gradient); },
                   "The same, or 'grows': as a power of 1/h.")
      .def_prop_ro("value_order", [](const tgMotionCheck &k) { return k.value_order; },
                   "Order in h of the value's changes; nan where they are round-off.")
      .def_prop_ro("gradient_order", [](const tgMotionCheck &k) { return k.gradient_order; }, "The same of the gradient's.")
      .def_prop_ro("growth", [](const tgMotionCheck &k) { return k.growth; },
                   "Of the gradient's norm as a power of 1/h: 0 where it converges.")
      .def_prop_ro("holds_to", [](const tgMotionCheck &k) { return k.holds_to; },
                   "Largest width at which differences are within a tenth of the gradient; 0: none.")
      .def_prop_ro("entry", [](const tgMotionCheck &k) { return k.entry_name; }, "The entry of the gradient that changes most.")
      .def_prop_ro("h", [](const tgMotionCheck &k) { return column(k.nrow, [&](int i) { return k.row[i].h; }); },
                   "Step sizes [s], each half the one before.")
      .def_prop_ro("values", [](const tgMotionCheck &k) { return column(k.nrow,
          [&](int i) { return k.row[i].value; }); }, "The functional of the end, one for each step size.")
      .def_prop_ro("gradients", [](const tgMotionCheck &k) { return column(k.nrow,
          [&](int i) { return k.row[i].gradient; }); }, "Norms of its gradient in (q0, v0, u).")
      .def_prop_ro("entries", [](const tgMotionCheck &k) { return column(k.nrow,
          [&](int i) { return k.row[i].entry; }); }, "The entry of the gradient that changes most.")
      .def_prop_ro("widths", [](const tgMotionCheck &k) { return column(k.nwidth,
          [&](int i) { return k.width[i].width; }); }, "Widths of differences of the motion.")
      .def_prop_ro("errors", [](const tgMotionCheck &k) { return column(k.nwidth,
          [&](int i) { return k.width[i].error; }); }, "The gradient's error against them, worst of three directions.")
      .def("__bool__", [](const tgMotionCheck &k) { return k.pass; })
      .def("__repr__", [](const tgMotionCheck &k) { return motion_text(k); });
  m.def("motioncheck", &motioncheck, nb::arg("sim"), nb::arg("steps") = 100, nb::kw_only(), nb::arg("halvings") = 3,
        nb::arg("controls") = nb::none(), nb::arg("seed") = 1,
        "Is the gradient of a motion from the sim's present state the motion's, or the step size's? The motion is run "
        "at the sim's dt, half of it and so on, a random functional of its end differentiated in (q0, v0, u), and the "
        "gradient compared with differences of the motion over widths from 1e-7 to 1e-2. controls (steps x nu) are "
        "held over their steps; None: the sim's ctrl is held throughout. The state is kept.");
}

struct Option { tgOption is; };

nb::object option_value(const tgOption &o, double value) {
  if (o.type == TG_OPTION_NUMBER) return nb::cast(value);
  if (o.type == TG_OPTION_BOOLEAN) return nb::cast(value != 0);
  if (o.type == TG_OPTION_INTEGER) return nb::cast((long)value);
  return nb::str(nb::str(o.words).attr("split")()[nb::cast((long)value)]);
}

static const char *type_of(const tgOption &o) {
  static const char *const name[] = {"number", "integer", "boolean", "word"};
  return name[o.type];
}

static std::optional<std::string> text_or_none(const char *text) {
  return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

static void bind_options(nb::module_ &m) {
  nb::class_<Option>(m, "ContactOption", "An option of a contact model: what Sim, Batch, tasks and the command line take by its name.")
      .def_prop_ro("name", [](const Option &o) { return o.is.name; }, "Its name.")
      .def_prop_ro("alias", [](const Option &o) { return text_or_none(o.is.alias); },
                   "Another name that is accepted wherever this one is, or None.")
      .def_prop_ro("type", [](const Option &o) { return type_of(o.is); }, "'number', 'integer', 'boolean' or 'word'.")
      .def_prop_ro("default", [](const Option &o) { return option_value(o.is, o.is.value); }, "Its default.")
      .def_prop_ro("range", [](const Option &o) {
            if (o.is.type == TG_OPTION_WORD) return nb::object(nb::str(o.is.words).attr("split")());
            return nb::object(nb::make_tuple(option_value(o.is, o.is.least), option_value(o.is, o.is.most)));
          }, "Least and most, or the list of its words.")
      .def_prop_ro("unit", [](const Option &o) { return o.is.unit; }, "'' where it has none.")
      .def_prop_ro("text", [](const Option &o) { return o.is.text; }, "What it is.")
      .def_prop_ro("neutral", [](const Option &o) { return o.is.neutral; }, "No bit of a result depends on it.")
      .def_prop_ro("parameter", [](const Option &o) { return text_or_none(o.is.parameter); },
                   "Its name among the parameters of a Sim (\"contact.weight\"), where it has a derivative; else None.")
      .def("__repr__", [](const Option &o) { return "<tangere.ContactOption " + std::string(o.is.name) + ": " + type_of(o.is) + ">"; });
  m.def("contact_options", [](const std::string &contact) {
    std::vector<Option> list;
    for (int i = 0; tg_contact_option(contact.c_str(), i).name != nullptr; i++) list.push_back({tg_contact_option(contact.c_str(), i)});
    if (list.empty())
      throw nb::key_error(("there is no contact model '" + contact + "'; contact_models() lists those that there are").c_str());
    return list;
  }, nb::arg("contact"), "The options of a contact model, in the order of its list.");
}

void bind_check(nb::module_ &m) {
  nb::class_<Block>(m, "GradBlock", "Verdict of a gradient check on one block.")
      .def_ro("name", &Block::name, "Which derivative: \"dq'/dq\", \"dv'/du\", \"adjoint\", \"dL/dp\".")
      .def_ro("ok", &Block::ok, "It agrees within the tolerance.")
      .def_ro("error", &Block::error, "max|dD| / max|D_ref|.")
      .def_ro("tolerance", &Block::tolerance, "What was allowed.")
      .def_ro("label", &Block::label, "How right the derivative says it is.")
      .def_ro("reason", &Block::reason, "The contact or limit that spoils it, ''.")
      .def_ro("row", &Block::row, "Joint of the worst entry's row.")
      .def_ro("col", &Block::col, "Joint, actuator or parameter of its column.")
      .def_ro("ours", &Block::ours, "The worst entry.")
      .def_ro("reference", &Block::reference, "What it is by differences.")
      .def_ro("spoiled", &Block::spoiled, "Columns across which the step changes mode.");
  nb::class_<Check>(m, "GradCheck", "Outcome of gradcheck: true in a condition when all blocks agree; printed, a table.")
      .def_ro("ok", &Check::ok, "All blocks agree.")
      .def_ro("blocks", &Check::blocks, "A GradBlock for each derivative.")
      .def("__bool__", [](const Check &c) { return c.ok; })
      .def("__repr__", &text);
  m.def("gradcheck", &gradcheck, nb::arg("sim"), nb::kw_only(), nb::arg("params") = true, nb::arg("tolerance") = 1e-6,
        nb::arg("seed") = 0,
        "Checks the derivatives of a step from the sim's present state against extrapolated differences, block by "
        "block. The state is kept.");
  m.def("param_range", &param_range, nb::arg("name"), nb::arg("start"),
        "Range within which an entry of a parameter may be moved from start: masses and sizes stay positive, friction and the like not "
        "negative.");
  m.def("param_names", [] {
    std::vector<std::string> names;
    for (int i = 0; tg_param_name(i) != nullptr; i++) names.push_back(tg_param_name(i));
    return names;
  }, "Names of a model's parameters that have a derivative; Sim.param_names adds its contact model's.");
  m.def("contact_models", [] {
    std::vector<std::string> words;
    for (int i = 0; tg_contact_words(i) != nullptr; i++) words.push_back(tg_contact_words(i));
    return words;
  }, "Words of the contact models.");
  bind_motion(m);
  bind_options(m);
}

}  // namespace tangere
