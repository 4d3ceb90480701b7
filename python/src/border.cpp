// border.cpp: exceptions, arrays and long calls.
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>

#include "bind.h"

namespace tangere {

static nb::object error_class(tgStatus status) {
  nb::module_ errors = nb::module_::import_("tangere._errors");
  return errors.attr(status == TG_NOT_CONVERGED ? "NotConverged" : "Error");
}

void raise(const tgError &error) {
  nb::object type = error_class(error.status);
  std::string text = error.text[0] != '\0' ? error.text : tg_status_text(error.status);
  nb::object value = type(text, nb::arg("status") = (int)error.status, nb::arg("file") = std::string(error.file),
                          nb::arg("line") = error.line, nb::arg("element") = std::string(error.element));
  PyErr_SetObject(type.ptr(), value.ptr());
  throw nb::python_error();
}

void raise(tgStatus status, const char *what) {
  tgError error{};
  error.status = status;
  snprintf(error.text, sizeof error.text, "%s: %s.", what, tg_status_text(status));
  raise(error);
}

void warn(const tgContact *contact) {
  for (int i = 0; tg_contact_warning(contact, i) != nullptr; i++)
    // warnings may be errors
    if (PyErr_WarnEx(PyExc_UserWarning, tg_contact_warning(contact, i), 1) != 0) throw nb::python_error();
}

static std::string shape_text(const Shape &shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); i++)
    text += (i > 0 ? ", " : "") + (shape[i] == Any ? std::string("any") : std::to_string(shape[i]));
  return text + (shape.size() == 1 ? ",)" : ")");
}

[[noreturn]] static void refuse(PyObject *type, const std::string &text) {
  PyErr_SetString(type, text.c_str());
  throw nb::python_error();
}

[[noreturn]] static void refuse_type(const char *name, nb::handle array) {
  std::string have = nb::hasattr(array, "dtype") ? nb::cast<std::string>(nb::str(nb::object(array.attr("dtype")))) : "something else";
  refuse(PyExc_TypeError, std::string(name) + ": dtype is " + have + ", float64 is needed");
}

// no array that the interface between packages can carry: of NumPy one of objects or of the other order of bytes, else of another device
[[noreturn]] static void refuse_array(const char *name, nb::handle array) {
  if (nb::isinstance(array, nb::module_::import_("numpy").attr("ndarray"))) refuse_type(name, array);
  refuse(PyExc_TypeError, std::string(name) + ": not an array in the memory of the CPU");
}

In in(nb::handle given, const char *name, const Shape &shape) {
  In result;
  if (given.is_none()) return result;
  nb::object array = nb::borrow(given);
  if (!nb::ndarray_check(array)) {
    try {
      array = nb::module_::import_("numpy").attr("asarray")(given, nb::arg("dtype") = "float64");
    } catch (nb::python_error &error) {
      refuse(PyExc_TypeError, std::string(name) + ": not an array of numbers (" + error.what() + ")");
    }
  }
  nb::ndarray<nb::ro, nb::device::cpu> a;
  if (!nb::try_cast(array, a)) refuse_array(name, array);
  if (a.dtype() != nb::dtype<double>()) refuse_type(name, array);
  Shape have;
  for (size_t i = 0; i < a.ndim(); i++) have.push_back(a.shape(i));
  bool same = have.size() == shape.size();
  for (size_t i = 0; same && i < shape.size(); i++) same = shape[i] == Any || shape[i] == have[i];
  if (!same) refuse(PyExc_ValueError, std::string(name) + ": shape is " + shape_text(have) + ", " + shape_text(shape) + " is needed");
  int64_t stride = 1;
  for (size_t i = a.ndim(); i-- > 0;) {
    if (a.size() > 0 && a.shape(i) > 1 && a.stride(i) != stride)
      refuse(PyExc_ValueError, std::string(name) + ": not C-contiguous; numpy.ascontiguousarray makes such a copy");
    stride *= (int64_t)a.shape(i);
  }
  result.p = static_cast<const double *>(a.data());
  result.keep = std::move(array);
  return result;
}

size_t rows(const In &array) { return nb::cast<size_t>(array.keep.attr("shape")[nb::int_(0)]); }

// NumPy makes an object without axes of memory that it could not ask for
static Array made(nb::object array, const Shape &shape) {
  if (nb::cast<size_t>(array.attr("ndim")) != shape.size()) throw std::bad_alloc();
  return nb::borrow<Array>(array);
}

Array zeros(const Shape &shape, double **data) {
  size_t n = 1;
  for (size_t side : shape) n *= side;
  double *block = static_cast<double *>(std::calloc(n + 1, sizeof *block));   // of pages that are zero until they are written
  if (block == nullptr) throw std::bad_alloc();
  nb::capsule owner(block, [](void *p) noexcept { std::free(p); });
  if (data != nullptr) *data = block;
  return made(nb::cast(nb::ndarray<nb::numpy, double>(block, shape.size(), shape.data(), owner)), shape);
}

Array view(double *data, const Shape &shape, nb::handle owner) {
  return made(nb::cast(nb::ndarray<nb::numpy, double>(data, shape.size(), shape.data(), owner)), shape);
}

Array frozen(const double *data, const Shape &shape) {
  double *to;
  Array array = zeros(shape, &to);
  size_t n = 1;
  for (size_t side : shape) n *= side;
  if (n > 0) std::memcpy(to, data, n * sizeof *to);
  array.attr("setflags")(nb::arg("write") = false);
  return array;
}

Array listed(const tgField &f) {
  Shape shape{(size_t)f.rows};
  if (f.cols != 1) shape.push_back((size_t)f.cols);
  if (f.scalar == TG_SCALAR_REAL) return frozen(static_cast<const double *>(f.data), shape);
  nb::list entries;
  for (int i = 0; i < f.rows * f.cols; i++) entries.append(static_cast<const int *>(f.data)[i]);
  return nb::borrow<Array>(nb::module_::import_("numpy").attr("array")(entries,
      nb::arg("dtype") = "int32").attr("reshape")(nb::cast(shape)));
}

// A thread that works, and what those who wait for it and it itself share.
struct Worker {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr failure;

  static std::thread begin(const std::shared_ptr<Worker> &self, std::function<void()> work) {
    return std::thread([self, work = std::move(work)]() mutable {
      std::exception_ptr failure;
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      work = nullptr;   // what it owns goes before it is said to have ended
      std::lock_guard<std::mutex> lock(self->mutex);
      self->failure = failure;
      self->done = true;
      self->ended.notify_all();
    });
  }

  // false: a signal came first, and its handler has raised
  bool wait() {
    for (;;) {
      {
        nb::gil_scoped_release release;
        std::unique_lock<std::mutex> lock(mutex);
        if (ended.wait_for(lock, std::chrono::milliseconds(20), [&] { return done; })) return true;
      }
      if (PyErr_CheckSignals() != 0) return false;
    }
  }
};

void long_call(const std::function<void(volatile int *)> &work) {
  volatile int cancel = 0;
  auto worker = std::make_shared<Worker>();
  std::thread thread = Worker::begin(worker, [&] { work(&cancel); });
  if (worker->wait()) {
    thread.join();
    if (worker->failure) std::rethrow_exception(worker->failure);
    return;
  }
  cancel = 1;
  {
    nb::error_scope keep;   // the handler's exception, raised when the work has ended
    nb::gil_scoped_release release;
    thread.join();
  }
  throw nb::python_error();
}

void detached_call(const std::function<void()> &work) {
  auto worker = std::make_shared<Worker>();
  Worker::begin(worker, work).detach();
  if (!worker->wait()) throw nb::python_error();
  if (worker->failure) std::rethrow_exception(worker->failure);
}

Claim::Claim(std::atomic<bool> &busy, const char *what) : busy_(busy) {
  if (busy.exchange(true, std::memory_order_acquire)) {
    tgError error{};
    error.status = TG_ERR_STATE;
    snprintf(error.text, sizeof error.text,
             "The %s is in use by another thread, or by the call that this is a callback of; give each its own.", what);
    raise(error);
  }
}

Label make_label(const tgGradInfo &info) {
  Label label;
  label.label = tg_grad_label_text(info.label);
  label.reason = info.reason;
  label.converged = info.converged;
  label.ties = info.ties;
  label.first_step = info.first_step;
  return label;
}

}  // namespace tangere
