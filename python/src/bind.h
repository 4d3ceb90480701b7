// bind.h: what the files of the binding share: exceptions, arrays at the border, long calls, and the handles of the engine's objects.
//
// Nothing here computes physics. Arrays are checked for dtype, shape and layout at the border and never converted
// silently; a list or a number is not an array and is turned into one.
#ifndef TANGERE_PYTHON_BIND_H
#define TANGERE_PYTHON_BIND_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tangere/contact.h"
#include "tangere/grad.h"
#include "tangere/model.h"
#include "tangere/optim.h"
#include "tangere/rollout.h"

namespace nb = nanobind;

namespace tangere {

/// Raises tangere.Error (NotConverged for that outcome) with the record's text, status, file, line and element.
[[noreturn]] void raise(const tgError &error);
/// The same for a status without a record; `what` is the call.
[[noreturn]] void raise(tgStatus status, const char *what);
/// What a contact model has to say against its options, as warnings of Python.
void warn(const tgContact *contact);

using Shape = std::vector<size_t>;

inline bool is_array(PyObject *) { return true; }   // made by the functions below alone
/// A NumPy array of float64, as the stubs say it.
class Array : public nb::object {
  NB_OBJECT_DEFAULT(Array, nb::object, "numpy.typing.NDArray[numpy.float64]", is_array)
};
using Arrays = nb::typed<nb::dict, nb::str, Array>;   // by name
using Given = nb::typed<nb::dict, nb::str, nb::any>;  // what `in` takes, by name

/// A C-contiguous array of float64 that the caller gave, alive as long as this; p is NULL for None.
struct In { nb::object keep; const double *p = nullptr; };
/// TypeError or ValueError names the argument, what it is and what is wanted. Entries of `shape` may be Any.
constexpr size_t Any = (size_t)-1;
In in(nb::handle given, const char *name, const Shape &shape);
/// Length of the first axis of what `in` accepted.
size_t rows(const In &array);

/// A new array of zeros that owns its memory; *data is where it begins.
Array zeros(const Shape &shape, double **data);
/// A view of memory that `owner` keeps alive.
Array view(double *data, const Shape &shape, nb::handle owner);
/// A copy that cannot be written to, so that an assignment to an entry is an error and not lost.
Array frozen(const double *data, const Shape &shape);
/// Such a copy of a listed array; one of ints where it is.
Array listed(const tgField &field);

/// Runs work(cancel) on a thread of its own, the interpreter released, and looks for signals meanwhile:
/// Ctrl-C sets *cancel, waits for the end of work (within one step) and raises what the signal's handler
/// raised. Work may set *cancel itself.
void long_call(const std::function<void(volatile int *cancel)> &work);
/// The same for work that cannot be cancelled: Ctrl-C raises at once and leaves the work to end by itself, unseen. So
/// it owns all that it uses and touches nothing of Python.
void detached_call(const std::function<void()> &work);

/// Marks an object as in use for the length of a call; a second thread gets tangere.Error.
class Claim {
 public:
  Claim(std::atomic<bool> &busy, const char *what);
  ~Claim() { busy_.store(false, std::memory_order_release); }
  Claim(const Claim &) = delete;
  Claim &operator=(const Claim &) = delete;

 private:
  std::atomic<bool> &busy_;
};

/// How load was called.
struct LoadCall {
  bool fixed_base = false, exclude_overlapping = false, lenient = false, repair = false, decompose = false;
  bool ground = false, ground_below = false;
  int contact_triangles = 0;            // 0: meshes as they are
  double ground_height = 0;             // [m]
  std::vector<std::string> drop, asset_roots;
  std::map<std::string, std::string> packages;
  std::string label;                    // of a text; '' of a file
  bool allow_absolute = false;
  double decompose_threshold = 0;       // 0: the loader's own
};

struct ModelHandle {
  tgModel *model = nullptr;
  std::string path, text;               // of the file, or the document itself
  LoadCall call;                        // folders in it from the root
  std::string file;                     // path from the root
  std::vector<std::string> arguments;   // by which the command line loads the same
  std::vector<std::string> notes;
  nb::object owner;   // a Task that the model belongs to, or nothing
  ~ModelHandle() {
    if (!owner.is_valid()) {
      tg_model_free(model);
      return;
    }
    nb::gil_scoped_acquire acquire;   // the last to let go may be a detached_call
    owner.reset();
  }
};
struct ContactHandle {
  tgContact *contact = nullptr;
  std::shared_ptr<ModelHandle> model;
  std::vector<std::pair<std::string, std::string>> options;   // as given
  bool borrowed = false;   // of a Task, which the model has for an owner
  ~ContactHandle() {
    if (!borrowed) tg_contact_free(contact);
  }
};

/// tangere.Model.
struct Model {
  std::shared_ptr<ModelHandle> handle;
  const tgModel *get() const;   // tangere.Error when it is closed
};

/// What is pickled.
using Carried = nb::typed<nb::tuple, nb::any, nb::ellipsis>;
/// Of all numbers of a model, by which a pickled one is known again.
uint64_t fingerprint(const tgModel *model);
/// tangere.Error naming the file where they differ.
void check_fingerprint(uint64_t have, uint64_t want, const std::string &path);
/// os.path.abspath, '' of ''.
std::string absolute(const std::string &path);

using Options = nb::dict;
/// A Python value as tg_contact_set reads it.
std::string option_text(nb::handle value);
/// A number of an option (a default, a bound, what it is set to) as what the option takes.
nb::object option_value(const tgOption &option, double value);
/// The contact model `word` with options by name; None or "none": nothing touches.
std::shared_ptr<ContactHandle> make_contact(const std::shared_ptr<ModelHandle> &model,
                                            const std::optional<std::string> &word, const Options &options);
// whose gradients are taken at the states of `forward`; no word: none
std::shared_ptr<ContactHandle> make_gradient(const std::shared_ptr<ModelHandle> &model, const std::shared_ptr<ContactHandle> &forward,
                                             const std::optional<std::string> &word, const std::optional<Options> &options);

/// How right a gradient is, as tgGradInfo.
struct Label { std::string label, reason; bool converged = true; int ties = 0, first_step = -1; };
Label make_label(const tgGradInfo &info);

/// Shape of a parameter of a model or of its contact model, (rows,) or (rows, cols). KeyError when there is none.
Shape param_shape(const ModelHandle &model, const ContactHandle *contact, const std::string &name);
/// Places of entries in the flattened array as a task's `parameters` name them, and their numbers in `of`. ValueError says what is wrong.
std::pair<std::vector<int>, std::vector<int>> param_entries(const ModelHandle &model, const ContactHandle *contact, const std::string &name,
                                                            const std::optional<std::string> &of, std::optional<int> entry);

/// Gradients of parameters chosen by name.
class Params {
 public:
  Params(const ModelHandle &model, const ContactHandle *contact, const std::vector<std::string> &names);
  ~Params() { tg_param_grad_free(grad_); }
  Params(const Params &) = delete;
  Params &operator=(const Params &) = delete;
  tgParamGrad *get() const { return names_.empty() ? nullptr : grad_; }
  int size() const;
  Arrays arrays() const;                                  // name -> array of the parameter's shape
  Arrays jacobian(const double *D, size_t nrow) const;    // name -> (nrow, rows, cols)
  Arrays batch(size_t n, std::vector<double *> &data) const;   // name -> zeros (n, rows, cols), which begin at data
  /// Writes what it holds to entry `lane` of such arrays.
  void store(const std::vector<double *> &data, size_t lane) const;

 private:
  std::vector<std::string> names_;
  tgParamGrad *grad_ = nullptr;
};

void bind_model(nb::module_ &m);
void bind_sim(nb::module_ &m);
void bind_contacts(nb::module_ &m);
void bind_sensors(nb::module_ &m);
void bind_rollout(nb::module_ &m);
void bind_batch(nb::module_ &m);
void bind_check(nb::module_ &m);
void bind_task(nb::module_ &m);
void bind_controller(nb::module_ &m);
void bind_charts(nb::module_ &m);
void bind_second(nb::module_ &m);
void bind_shards(nb::module_ &m);

}  // namespace tangere

#endif
