// charts.cpp: between positions entry by entry (nq), as learning frameworks differentiate, and tangents (nv): over
// arrays with any leading axes.
#include "bind.h"

namespace tangere {

static Shape shape_of(nb::handle array) {
  Shape shape;
  for (nb::handle side : nb::module_::import_("numpy").attr("shape")(array)) shape.push_back(nb::cast<size_t>(side));
  return shape;
}

// rows of n of an array whose last axis has n entries
static size_t lanes(const Shape &shape) {
  size_t count = 1;
  for (size_t i = 0; i + 1 < shape.size(); i++) count *= shape[i];
  return count;
}

static In last(nb::handle given, const char *name, Shape &shape, size_t n) {
  shape = shape_of(given);
  if (shape.empty()) shape.push_back(0);
  shape.back() = n;
  In array = in(given, name, shape);
  if (array.p == nullptr) throw nb::type_error((std::string(name) + ": None is no array").c_str());
  return array;
}

static Array normalize(const Model &m, nb::handle q) {
  size_t nq = (size_t)tg_model_nq(m.get());
  Shape shape;
  In a = last(q, "q", shape, nq);
  double *out;
  Array array = zeros(shape, &out);
  for (size_t i = 0; i < lanes(shape); i++)
    if (tg_model_normalize(m.get(), a.p + i * nq, out + i * nq) != TG_OK)
      throw nb::value_error("q: a quaternion has no length, or is not finite");
  return array;
}

using Map = void (*)(const tgModel *, const tgReal *, const tgReal *, tgReal *);

static Array convert(const Model &m, nb::handle q, nb::handle g, size_t from, size_t to, Map map) {
  size_t nq = (size_t)tg_model_nq(m.get());
  Shape shape, gshape;
  In a = last(q, "q", shape, nq), b = last(g, "g", gshape, from);
  if (lanes(shape) != lanes(gshape)) throw nb::value_error("q and g: different leading axes");
  gshape.back() = to;
  double *out;
  Array array = zeros(gshape, &out);
  for (size_t i = 0; i < lanes(shape); i++) map(m.get(), a.p + i * nq, b.p + i * from, out + i * to);
  return array;
}

void bind_charts(nb::module_ &m) {
  m.def("normalize", &normalize, nb::arg("model"), nb::arg("q"), "q (..., nq) with its quaternions at unit length.");
  m.def("to_tangent", [](const Model &x, nb::handle q, nb::handle g) {
    return convert(x, q, g, (size_t)tg_model_nq(x.get()), (size_t)tg_model_nv(x.get()), tg_model_to_tangent);
  }, nb::arg("model"), nb::arg("q"), nb::arg("g"), "dL/d(tangent) (..., nv) from g = dL/dq (..., nq), entry by entry, at q.");
  m.def("from_tangent", [](const Model &x, nb::handle q, nb::handle g) {
    return convert(x, q, g, (size_t)tg_model_nv(x.get()), (size_t)tg_model_nq(x.get()), tg_model_from_tangent);
  }, nb::arg("model"), nb::arg("q"), nb::arg("g"),
  "dL/dq (..., nq), entry by entry, from g = dL/d(tangent) (..., nv), of a function that normalises q first.");
}

}  // namespace tangere
