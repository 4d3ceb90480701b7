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
  for (int i = 0; contact != nullptr && tg_contact_param_name(contact->contact, i) != nullptr; i++)
    if (name == tg_contact_param_name(contact->contact, i)) return {1};
  tgField f = tg_model_field_named(model.model, name.c_str());
  if (f.data == nullptr || f.scalar != TG_SCALAR_REAL) throw nb::key_error(("there is no parameter '" + name + "'").c_str());
  return shape_of(f.rows, f.cols);
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
  static const char *const label[] = {"exact", "one-sided", "smoothed", "surrogate"};
  Check check{c.pass, {}};
  for (int i = 0; i < c.nblock; i++) {
    const tgGradBlock &b = c.block[i];
    check.blocks.push_back({b.name, label[b.label], b.row_name, b.col_name, b.reason, b.error, b.tolerance, b.ours, b.reference, b.pass, b.spoiled});
  }
  return check;
}

static std::string text(const Check &c) {
  std::string all = c.ok ? "gradient check passed" : "gradient check FAILED";
  for (const Block &b : c.blocks) {
    char line[400];
    snprintf(line, sizeof line, "\n  %-14s %s  error %.1e (tolerance %.0e)  %s%s%s", b.name.c_str(), b.ok ? "ok  " : "FAIL", b.error, b.tolerance,
             b.label.c_str(), b.reason.empty() ? "" : ": ", b.reason.c_str());
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
  m.def("gradcheck", &gradcheck, nb::arg("sim"), nb::kw_only(), nb::arg("params") = true, nb::arg("tolerance") = 1e-6, nb::arg("seed") = 0,
        "Checks the derivatives of a step from the sim's present state against extrapolated differences, block by block. The state is kept.");
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
  m.def("contact_options", [] {
    std::vector<std::string> names;
    for (int i = 0; tg_contact_option_name(i) != nullptr; i++) names.push_back(tg_contact_option_name(i));
    return names;
  }, "Names of the options of contact models.");
}

}  // namespace tangere
