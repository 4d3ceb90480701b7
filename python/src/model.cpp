// model.cpp: tangere.Model and load.
#include "bind.h"
#include "tangere/geometry.h"

#include <cstdio>
#include <cstring>

namespace tangere {

const tgModel *Model::get() const {
  if (!handle) raise(TG_ERR_STATE, "Model is closed");
  return handle->model;
}

static const struct { const char *name; tgKindOfThing kind; } thing[] = {
    {"body", TG_THING_BODY}, {"joint", TG_THING_JOINT}, {"geom", TG_THING_GEOM}, {"site", TG_THING_SITE}, {"mesh", TG_THING_MESH},
    {"actuator", TG_THING_ACTUATOR}, {"tendon", TG_THING_TENDON}, {"equality", TG_THING_EQUALITY}, {"key", TG_THING_KEY},
    {"flex", TG_THING_FLEX}, {"sensor", TG_THING_SENSOR}};

static tgKindOfThing kind_named(const std::string &kind) {
  std::string known;
  for (const auto &t : thing) {
    if (kind == t.name) return t.kind;
    known += std::string(known.empty() ? "" : ", ") + t.name;
  }
  throw nb::value_error(("kind: '" + kind + "' is none of " + known).c_str());
}

// Links this near are left to pass through each other [m]: such as touch but for rounding can never be parted under a contact potential.
static const double TOUCHING = 1e-6;
// of ground='below' [m]
static const double GROUND_GAP = 1e-3;

/// Where a plane goes; put_ground says what is wrong with another.
class Ground : public nb::object {
  NB_OBJECT_DEFAULT(Ground, nb::object, "bool | float | str", is_array)
};

static void put_ground(nb::handle ground, LoadCall &call) {
  if (nb::isinstance<nb::bool_>(ground)) {
    call.ground = nb::cast<bool>(ground);
  } else if (nb::isinstance<nb::str>(ground)) {
    call.ground_below = nb::cast<std::string>(ground) == "below";
    if (!call.ground_below)
      throw nb::value_error(("ground: '" + nb::cast<std::string>(ground) + "' is neither 'below' nor a height [m]").c_str());
  } else {
    call.ground = nb::try_cast<double>(ground, call.ground_height);
    if (!call.ground) throw nb::type_error("ground: True, a height [m] or 'below' is needed");
  }
}

// What a loader's caller said, with the memory that the C structure points into.
struct Loading {
  LoadCall call;
  tgLoadOptions options = tg_load_default();
  std::vector<const char *> root, name, path;
  std::vector<std::string> arguments;   // the same for the command line, as far as it changes what is seen

  explicit Loading(LoadCall given) : call(std::move(given)) {
    options.fixed_base = call.fixed_base;
    options.ground = call.ground;
    options.ground_height = call.ground_height;
    options.lenient = call.lenient;
    for (const auto &word : call.drop) {
      tgError error{};
      if (tg_load_drop(&options, word.c_str(), &error) != TG_OK) throw nb::value_error(error.text);
    }
    options.repair = call.repair;
    options.decompose = call.decompose;
    options.allow_absolute = call.allow_absolute;
    if (call.decompose_threshold != 0) options.decompose_threshold = call.decompose_threshold;
    for (const auto &r : call.asset_roots) root.push_back(r.c_str());
    for (const auto &p : call.packages) {
      name.push_back(p.first.c_str());
      path.push_back(p.second.c_str());
    }
    options.asset_root = root.data();
    options.nasset_root = (int)root.size();
    options.package_name = name.data();
    options.package_path = path.data();
    options.npackage = (int)name.size();
    tell();
  }
  Loading(const Loading &) = delete;
  Loading &operator=(const Loading &) = delete;

  void tell() {
    const struct { bool on; const char *word; } flag[] =
        {{options.fixed_base, "--fixed-base"}, {options.allow_absolute, "--allow-absolute"}, {options.lenient, "--lenient"},
         {options.repair, "--repair"}, {options.decompose, "--decompose"}, {call.ground_below, "--ground=below"}};
    auto number = [this](const char *word, double value) {   // with all its digits
      char text[80];
      snprintf(text, sizeof text, "%s=%.17g", word, value);
      arguments.push_back(text);
    };
    for (const auto &f : flag)
      if (f.on) arguments.push_back(f.word);
    if (call.contact_triangles != 0) arguments.push_back("--contact-triangles=" + std::to_string(call.contact_triangles));
    if (call.decompose_threshold != 0) number("--decompose-threshold", call.decompose_threshold);
    if (options.ground) number("--ground", options.ground_height);
    for (const auto &word : call.drop) arguments.insert(arguments.end(), {"--drop", word});
    for (const auto &r : call.asset_roots) arguments.insert(arguments.end(), {"--asset-root", r});
    for (const auto &p : call.packages) arguments.insert(arguments.end(), {"--package", p.first + "=" + p.second});
  }

  // what is asked for beside the file; false: error says why not
  bool arrange(tgDesc *desc, tgError *error) const {
    if (call.contact_triangles != 0 && tg_desc_reduce(desc, call.contact_triangles, error) != TG_OK) return false;
    if (call.exclude_overlapping && tg_desc_exclude_overlapping(desc, TOUCHING, error) < 0) return false;
    return !call.ground_below || tg_desc_ground_below(desc, GROUND_GAP, error) == TG_OK;
  }
};

// A load on its way, by itself when Ctrl-C has ended the call that began it.
struct Job {
  Loading loading;
  std::string path, text;        // one of them
  tgError error{};
  tgDesc *desc = nullptr;
  tgModel *model = nullptr;

  explicit Job(LoadCall given) : loading(std::move(given)) {}
  ~Job() {
    tg_desc_free(desc);
    tg_model_free(model);
  }
  void run() {
    const tgLoadOptions *o = &loading.options;
    const std::string &label = loading.call.label;
    desc = label.empty() ? tg_desc_load(path.c_str(), o, &error) : tg_desc_load_memory(label.c_str(), text.data(), text.size(), o, &error);
    if (desc == nullptr || (o->decompose && tg_desc_decompose(desc, o, &error) != TG_OK)) return;
    if (loading.arrange(desc, &error)) model = tg_model_compile(desc, nullptr, &error);
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> list;
    for (int i = 0; i < desc->nnote; i++) {
      const tgNote &note = desc->note[i];
      std::string where = note.source.file >= 0 && note.source.file < desc->nfile ? desc->file[note.source.file] : "";
      if (!where.empty() && note.source.line > 0) where += ":" + std::to_string(note.source.line);
      list.push_back(where.empty() ? note.text : where + ": " + note.text);
    }
    return list;
  }
};

std::string absolute(const std::string &path) {
  return path.empty() ? path : nb::cast<std::string>(nb::module_::import_("os").attr("path").attr("abspath")(path));
}

static Model finish(const std::shared_ptr<Job> &job) {
  detached_call([job] { job->run(); });
  if (job->model == nullptr) raise(job->error);
  auto handle = std::make_shared<ModelHandle>();
  handle->path = job->path;
  handle->text = job->text;
  handle->arguments = job->loading.arguments;
  handle->call = job->loading.call;
  handle->file = absolute(job->path);
  for (auto &r : handle->call.asset_roots) r = absolute(r);
  for (auto &p : handle->call.packages) p.second = absolute(p.second);
  handle->notes = job->notes();
  std::swap(handle->model, job->model);
  return Model{handle};
}

// one text of words, or several
using Words = std::variant<std::string, std::vector<std::string>>;
static std::vector<std::string> listed_words(const Words &words) {
  if (const auto *all = std::get_if<std::vector<std::string>>(&words)) return *all;
  const std::string &text = std::get<std::string>(words);
  return text.empty() ? std::vector<std::string>{} : std::vector<std::string>{text};
}

static std::map<std::string, std::string> drop_words() {
  std::map<std::string, std::string> all;
  for (int i = 0; i < TG_DROP_COUNT; i++) all[tg_drop_word((tgDrop)i)] = tg_drop_text((tgDrop)i);
  return all;
}

static Model load(nb::object source, bool fixed_base, Ground ground, bool exclude_overlapping, bool lenient, Words drop, bool repair,
                  bool decompose, int contact_triangles, const std::vector<std::string> &asset_roots,
                  const std::map<std::string, std::string> &packages, bool allow_absolute, double decompose_threshold) {
  bool spec = nb::hasattr(source, "to_xml");   // a mujoco.MjSpec
  LoadCall call{fixed_base, exclude_overlapping, lenient, repair, decompose, false, false, contact_triangles, 0,
                listed_words(drop), asset_roots, packages, spec ? "MjSpec" : "", allow_absolute, decompose_threshold};
  if (decompose_threshold != 0 && !(decompose_threshold >= 0.01 && decompose_threshold <= 1))
    throw nb::value_error("decompose_threshold: 0.01 to 1, or 0 for the loader's own");
  put_ground(ground, call);
  auto job = std::make_shared<Job>(call);
  if (spec) job->text = nb::cast<std::string>(source.attr("to_xml")());
  else job->path = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(source));
  return finish(job);
}

static Model loads(const std::string &xml, bool fixed_base, Ground ground, bool exclude_overlapping, bool lenient, Words drop,
                   bool repair, int contact_triangles, const std::vector<std::string> &asset_roots) {
  LoadCall call{fixed_base, exclude_overlapping, lenient, repair, false, false, false, contact_triangles, 0,
                listed_words(drop), asset_roots, {}, "text"};
  put_ground(ground, call);
  auto job = std::make_shared<Job>(call);
  job->text = xml;
  return finish(job);
}

// ---- carried elsewhere: the file or text and how it was loaded, and what came of it as a number ----

uint64_t fingerprint(const tgModel *m) {
  uint64_t hash = TG_HASH_START;
  for (int i = 0; i < tg_model_field_count(m); i++) {
    tgField f = tg_model_field(m, i);
    size_t scalar = f.scalar == TG_SCALAR_REAL ? sizeof(double) : sizeof(int);
    hash = tg_hash(hash, f.name, std::strlen(f.name));
    if (f.data != nullptr) hash = tg_hash(hash, f.data, scalar * (size_t)f.rows * (size_t)f.cols);
  }
  return hash;
}

void check_fingerprint(uint64_t have, uint64_t want, const std::string &path) {
  if (have == want) return;
  tgError error{};
  error.status = TG_ERR_FILE;
  snprintf(error.file, sizeof error.file, "%s", path.c_str());
  snprintf(error.text, sizeof error.text, "It is not what it was when this was pickled, or this is another version of Tangere.");
  raise(error);
}

static Carried get_state(const Model &m) {
  m.get();
  const ModelHandle &h = *m.handle;
  if (h.owner.is_valid()) throw nb::type_error("a Task's model is part of it: pickle the Task, or its Sim");
  const LoadCall &c = h.call;
  return nb::make_tuple(h.file, h.text, c.label, fingerprint(h.model), c.fixed_base, c.exclude_overlapping, c.lenient, c.repair,
                        c.decompose, c.ground, c.ground_below, c.contact_triangles, c.ground_height, c.drop, c.asset_roots, c.packages,
                        c.allow_absolute, c.decompose_threshold);
}

static void set_state(Model &m, const Carried &s) {
  auto flag = [&s](size_t i) { return nb::cast<bool>(s[i]); };
  LoadCall c{flag(4), flag(5), flag(6), flag(7), flag(8), flag(9), flag(10), nb::cast<int>(s[11]), nb::cast<double>(s[12]),
             nb::cast<std::vector<std::string>>(s[13]), nb::cast<std::vector<std::string>>(s[14]),
             nb::cast<std::map<std::string, std::string>>(s[15]), nb::cast<std::string>(s[2]), flag(16), nb::cast<double>(s[17])};
  auto job = std::make_shared<Job>(c);
  job->path = nb::cast<std::string>(s[0]);
  job->text = nb::cast<std::string>(s[1]);
  Model made = finish(job);
  check_fingerprint(fingerprint(made.get()), nb::cast<uint64_t>(s[3]), job->path.empty() ? c.label : job->path);
  new (&m) Model(made);
}

static std::vector<std::string> names(const Model &m, const std::string &kind) {
  tgKindOfThing k = kind_named(kind);
  std::vector<std::string> list;
  for (int i = 0; i < tg_model_count(m.get(), k); i++) list.push_back(tg_model_name(m.get(), k, i));
  return list;
}

static int find(const Model &m, const std::string &kind, const std::string &name) {
  int i = tg_model_find(m.get(), kind_named(kind), name.c_str());
  if (i < 0) throw nb::key_error(("the model has no " + kind + " called '" + name + "'").c_str());
  return i;
}

static Array field(const Model &m, const std::string &name) {
  tgField f = tg_model_field_named(m.get(), name.c_str());
  if (f.data == nullptr) throw nb::key_error(("the model has no field '" + name + "'").c_str());
  return listed(f);
}

struct Joint { std::string name, type; int body, qadr, vadr; };

static Joint joint(const Model &m, const std::string &name) {
  static const char *const text[] = {"free", "ball", "slide", "hinge"};
  int i = find(m, "joint", name);
  tgJointType type;
  Joint j{name, "", 0, 0, 0};
  if (tg_model_joint(m.get(), i, &type, &j.body, &j.qadr, &j.vadr) != TG_OK) raise(TG_ERR_ARG, "joint");
  j.type = text[type];
  return j;
}

static Array integrate(const Model &m, nb::handle q, nb::handle dv) {
  size_t nq = (size_t)tg_model_nq(m.get()), nv = (size_t)tg_model_nv(m.get());
  In a = in(q, "q", {nq}), b = in(dv, "dv", {nv});
  if (a.p == nullptr || b.p == nullptr) throw nb::type_error("q and dv: None is no array");
  double *out;
  Array array = zeros({nq}, &out);
  tg_model_integrate(m.get(), a.p, b.p, out);
  return array;
}

static Array inside(const Model &m, nb::handle q, double share) {
  size_t nq = (size_t)tg_model_nq(m.get());
  In a = in(q, "q", {nq});
  if (a.p == nullptr) throw nb::type_error("q: None is no array");
  double *out;
  Array array = zeros({nq}, &out);
  if (tg_model_inside(m.get(), a.p, share, out) != TG_OK) throw nb::value_error("share: 0 to 0.5 is needed");
  return array;
}

static Array difference(const Model &m, nb::handle q1, nb::handle q2) {
  size_t nq = (size_t)tg_model_nq(m.get()), nv = (size_t)tg_model_nv(m.get());
  In a = in(q1, "q1", {nq}), b = in(q2, "q2", {nq});
  if (a.p == nullptr || b.p == nullptr) throw nb::type_error("q1 and q2: None is no array");
  double *out;
  Array array = zeros({nv}, &out);
  tg_model_difference(m.get(), a.p, b.p, out);
  return array;
}

void bind_model(nb::module_ &m) {
  nb::class_<Joint>(m, "Joint", "Where a joint's numbers are.")
      .def_ro("name", &Joint::name, "Its name.")
      .def_ro("type", &Joint::type, "'free', 'ball', 'slide' or 'hinge'.")
      .def_ro("body", &Joint::body, "Index of the body that it moves.")
      .def_ro("qadr", &Joint::qadr, "First of its entries in qpos.")
      .def_ro("vadr", &Joint::vadr, "First of its entries in qvel.");
  nb::class_<Model>(m, "Model", "A compiled model: constant, shared by any number of simulations and threads. Made by load.")
      .def_prop_ro("nq", [](const Model &x) { return tg_model_nq(x.get()); }, "Length of qpos.")
      .def_prop_ro("nv", [](const Model &x) { return tg_model_nv(x.get()); }, "Degrees of freedom.")
      .def_prop_ro("na", [](const Model &x) { return tg_model_na(x.get()); },
                   "Activations: of the actuators that have one. In trajectories and derivatives they follow the velocities.")
      .def_prop_ro("nu", [](const Model &x) { return tg_model_nu(x.get()); }, "Number of controls.")
      .def_prop_ro("nbody", [](const Model &x) { return tg_model_count(x.get(), TG_THING_BODY); }, "Number of bodies, the world included.")
      .def_prop_ro("timestep", [](const Model &x) { return tg_model_timestep(x.get()); }, "Step size of the file [s].")
      .def_prop_ro("path", [](const Model &x) { x.get(); return x.handle->path; }, "File that it was loaded from, '' for text.")
      .def_prop_ro("_source", [](const Model &x) {
        x.get();
        return nb::make_tuple(x.handle->path, x.handle->text, x.handle->arguments);
      }, "(path, text, arguments): by which the command line loads the same.")
      .def_prop_ro("notes", [](const Model &x) { x.get(); return x.handle->notes; },
                   "What the loader ignored, repaired or assumed, one sentence each.")
      .def("names", &names, nb::arg("kind"),
           "Names of all things of a kind ('body', 'joint', 'geom', 'actuator', ...), '' where one has none.")
      .def("find", &find, nb::arg("kind"), nb::arg("name"), "Index of the named thing; KeyError when there is none.")
      .def("field", &field, nb::arg("name"), nb::sig("def field(self, name: str) -> numpy.typing.NDArray[typing.Any]"),
           "A copy of a listed array, read-only. Names: fields().")
      .def("fields", [](const Model &x) {
            std::vector<std::string> list;
            for (int i = 0; i < tg_model_field_count(x.get()); i++) list.push_back(tg_model_field(x.get(), i).name);
            return list;
          }, "Names of the listed arrays.")
      .def("joint", &joint, nb::arg("name"), "Type and addresses of the named joint; KeyError when there is none.")
      .def("inside", &inside, nb::arg("q"), nb::arg("share") = 0.05,
           "q with each limited slide or hinge joint inside its range, by at least that share of the range: a start "
           "that every contact model takes.")
      .def("integrate", &integrate, nb::arg("q"), nb::arg("dv"), "q (+) dv: the tangent step dv (nv) composed with q (nq).")
      .def("difference", &difference, nb::arg("q1"), nb::arg("q2"), "The tangent (nv) that leads from q1 to q2.")
      .def("__getstate__", &get_state)
      .def("__setstate__", &set_state)
      .def("__copy__", [](const Model &x) { return x; })
      .def("__deepcopy__", [](const Model &x, nb::handle) { return x; })   // constant: a copy is another name for it
      .def("close", [](Model &x) { x.handle.reset(); }, "Lets go of the model; simulations made from it keep it alive.")
      .def("__repr__", [](const Model &x) {
        return x.handle ? "<tangere.Model '" + x.handle->path + "': nq " + std::to_string(tg_model_nq(x.get())) + ", nv " +
                              std::to_string(tg_model_nv(x.get())) + ", nu " + std::to_string(tg_model_nu(x.get())) + ">"
                        : std::string("<tangere.Model, closed>");
      });
  m.def("load", &load, nb::arg("source"), nb::kw_only(), nb::arg("fixed_base") = false,
        nb::arg("ground") = nb::bool_(false), nb::arg("exclude_overlapping") = false,
        nb::arg("lenient") = false, nb::arg("drop") = Words(std::string()), nb::arg("repair") = false,
        nb::arg("decompose") = false, nb::arg("contact_triangles") = 0,
        nb::arg("asset_roots") = std::vector<std::string>(),
        nb::arg("packages") = std::map<std::string, std::string>(), nb::arg("allow_absolute") = false, nb::arg("decompose_threshold") = 0.0,
        "Loads an MJCF or URDF file with its meshes (or what has to_xml(), such as mujoco.MjSpec).\n\n"
        "fixed_base: weld a URDF's root to the world. ground: add a plane, at z = 0 (True), at a height [m], or 1 mm "
        "below the model in the pose of the\n"
        "file ('below'). exclude_overlapping: no contact between links of one robot that overlap or touch in that "
        "pose, listed in notes. lenient:\n"
        "what is refused and yet changes no motion becomes a note. drop: words of what is not supported and changes motion, to be left "
        "out, as 'hfield' or\n"
        "['hfield', 'actuator'] (drop_words lists them; a refusal names its word); each is a note. repair: mend inertias and "
        "winding, listed in notes.\n"
        "decompose: concave meshes collide as convex pieces. contact_triangles: meshes of more triangles collide as ones of about so many, "
        "how far off is listed in notes.\n"
        "decompose_threshold: how far pieces may be from the mesh, 0.01 to 1; 0: 0.05. asset_roots: further folders that files may come "
        "from. allow_absolute:\n"
        "absolute paths below such a folder may be named. packages: package:// names to folders. Raises "
        "tangere.Error with file, line and element.");
  m.def("loads", &loads, nb::arg("xml"), nb::kw_only(), nb::arg("fixed_base") = false,
        nb::arg("ground") = nb::bool_(false), nb::arg("exclude_overlapping") = false, nb::arg("lenient") = false,
        nb::arg("drop") = Words(std::string()), nb::arg("repair") = false, nb::arg("contact_triangles") = 0,
        nb::arg("asset_roots") = std::vector<std::string>(),
        "The same from a text. Files that it names must be below asset_roots.");
  m.def("drop_words", &drop_words, "Words for drop of load, and what each leaves out.");
}

}  // namespace tangere
