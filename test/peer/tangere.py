"""The engine through ctypes, as the peer tests and benchmarks need it: load, set state and parameters, call, read arrays."""
import ctypes
import os
import pathlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = os.environ.get("TANGERE_LIBRARY", str(ROOT / "build/release/src/libtangere.so"))


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("line", ctypes.c_int), ("column", ctypes.c_int), ("file", ctypes.c_char * 256),
                ("element", ctypes.c_char * 96), ("text", ctypes.c_char * 640)]


class Field(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("scalar", ctypes.c_int), ("rows", ctypes.c_int), ("cols", ctypes.c_int), ("unit", ctypes.c_char_p),
                ("producer", ctypes.c_char_p), ("text", ctypes.c_char_p), ("data", ctypes.c_void_p)]


class LoadOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("allocator", ctypes.c_void_p), ("lenient", ctypes.c_bool), ("drop", ctypes.c_uint), ("allow_absolute", ctypes.c_bool),
                ("fixed_base", ctypes.c_bool), ("ground", ctypes.c_bool), ("ground_height", ctypes.c_double), ("asset_root", ctypes.POINTER(ctypes.c_char_p)), ("nasset_root", ctypes.c_int),
                ("package_name", ctypes.POINTER(ctypes.c_char_p)), ("package_path", ctypes.POINTER(ctypes.c_char_p)), ("npackage", ctypes.c_int),
                ("max_file_bytes", ctypes.c_size_t), ("max_total_bytes", ctypes.c_size_t), ("max_elements", ctypes.c_int), ("max_depth", ctypes.c_int),
                ("repair", ctypes.c_bool), ("decompose", ctypes.c_bool), ("decompose_threshold", ctypes.c_double), ("cache_directory", ctypes.c_char_p)]


P = ctypes.c_void_p
lib = ctypes.CDLL(LIBRARY)


def _declare(name, result, *arguments):
    function = getattr(lib, name)
    function.restype = result
    function.argtypes = arguments


_declare("tg_load_default", LoadOptions)
_declare("tg_model_load", P, ctypes.c_char_p, ctypes.POINTER(LoadOptions), ctypes.POINTER(Error))
_declare("tg_model_free", None, P)
_declare("tg_model_nq", ctypes.c_int, P)
_declare("tg_model_nv", ctypes.c_int, P)
_declare("tg_model_nu", ctypes.c_int, P)
_declare("tg_model_count", ctypes.c_int, P, ctypes.c_int)
_declare("tg_model_name", ctypes.c_char_p, P, ctypes.c_int, ctypes.c_int)
_declare("tg_model_field_named", Field, P, ctypes.c_char_p)
_declare("tg_model_integrate", None, P, P, P, P)
_declare("tg_sim_create", P, P, P, P, ctypes.POINTER(Error))
_declare("tg_sim_free", None, P)
_declare("tg_contact_create", P, P, ctypes.c_char_p, P, ctypes.POINTER(Error))
_declare("tg_contact_free", None, P)
_declare("tg_sim_contact_potential", ctypes.c_int, P, ctypes.POINTER(ctypes.c_double), P)
_declare("tg_sim_error", ctypes.POINTER(Error), P)
_declare("tg_sim_param", P, P, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
_declare("tg_sim_field_named", Field, P, ctypes.c_char_p)
_declare("tg_sim_dense", ctypes.c_int, P, ctypes.c_char_p, P, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
_declare("tg_sim_forward", ctypes.c_int, P)
_declare("tg_sim_inverse", ctypes.c_int, P, P, P)
_declare("tg_sim_inverse_d", ctypes.c_int, P, P, P, P, P)
_declare("tg_sim_acceleration", ctypes.c_int, P, P, P)
_declare("tg_sim_acceleration_d", ctypes.c_int, P, P, P, P, P, P)
for _name in ("qpos", "qvel", "ctrl", "qfrc_applied"):
    _declare("tg_sim_" + _name, P, P)

KINDS = {"body": 0, "joint": 1, "geom": 2, "site": 3, "mesh": 4, "actuator": 5, "tendon": 6, "equality": 7, "key": 8, "flex": 9, "sensor": 10}


def _view(address, rows, cols, scalar=0):
    if not address or rows * cols == 0:
        return np.zeros((rows, cols))
    kind = ctypes.c_double if scalar == 0 else ctypes.c_int
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), (rows, cols))


class Sim:
    """A model loaded from a file and one simulation of it."""

    def __init__(self, path, fixed_base=False, lenient=False, package=None, repair=False, contact=None):
        options = lib.tg_load_default()
        options.fixed_base, options.lenient, options.repair = fixed_base, lenient, repair
        if package:
            names = (ctypes.c_char_p * len(package))(*[k.encode() for k in package])
            paths = (ctypes.c_char_p * len(package))(*[str(v).encode() for v in package.values()])
            options.package_name, options.package_path, options.npackage = names, paths, len(package)
        error = Error()
        self.sim = self.contact = None
        self.model = lib.tg_model_load(str(path).encode(), ctypes.byref(options), ctypes.byref(error))
        if not self.model:
            raise RuntimeError(f"{path}: {error.text.decode()}")
        if contact:
            self.contact = lib.tg_contact_create(self.model, contact.encode(), None, ctypes.byref(error))
            if not self.contact:
                raise RuntimeError(error.text.decode())
        self.sim = lib.tg_sim_create(self.model, self.contact, None, ctypes.byref(error))
        if not self.sim:
            raise RuntimeError(error.text.decode())
        self.nq, self.nv, self.nu = (getattr(lib, "tg_model_" + n)(self.model) for n in ("nq", "nv", "nu"))
        self.nbody = lib.tg_model_count(self.model, KINDS["body"])
        self.qpos = _view(lib.tg_sim_qpos(self.sim), self.nq, 1)[:, 0]
        self.qvel = _view(lib.tg_sim_qvel(self.sim), self.nv, 1)[:, 0]
        self.ctrl = _view(lib.tg_sim_ctrl(self.sim), self.nu, 1)[:, 0]

    def __del__(self):
        if self.sim:
            lib.tg_sim_free(self.sim)
        if self.contact:
            lib.tg_contact_free(self.contact)
        if self.model:
            lib.tg_model_free(self.model)

    def names(self, kind):
        k = KINDS[kind]
        return [lib.tg_model_name(self.model, k, i).decode() for i in range(lib.tg_model_count(self.model, k))]

    def param(self, name):
        rows, cols = ctypes.c_int(), ctypes.c_int()
        address = lib.tg_sim_param(self.sim, name.encode(), ctypes.byref(rows), ctypes.byref(cols))
        if not address:
            raise KeyError(name)
        return _view(address, rows.value, cols.value)

    def field(self, name):
        rows, cols = ctypes.c_int(), ctypes.c_int()
        if lib.tg_sim_dense(self.sim, name.encode(), None, ctypes.byref(rows), ctypes.byref(cols)) == 0:
            dense = np.empty((rows.value, cols.value))
            lib.tg_sim_dense(self.sim, name.encode(), dense.ctypes.data, None, None)
            return dense
        for f in (lib.tg_sim_field_named(self.sim, name.encode()), lib.tg_model_field_named(self.model, name.encode())):
            if f.data:
                return _view(f.data, f.rows, f.cols, f.scalar)
        raise KeyError(name)

    def _check(self, status):
        if status < 0:
            raise RuntimeError(lib.tg_sim_error(self.sim).contents.text.decode())

    def forward(self):
        self._check(lib.tg_sim_forward(self.sim))

    def contact_potential(self):
        energy, gradient = ctypes.c_double(), np.zeros(self.nv)
        self._check(lib.tg_sim_contact_potential(self.sim, ctypes.byref(energy), gradient.ctypes.data))
        return energy.value, gradient

    def inverse(self, a):
        a, tau = np.ascontiguousarray(a, float), np.zeros(self.nv)
        self._check(lib.tg_sim_inverse(self.sim, a.ctypes.data, tau.ctypes.data))
        return tau

    def inverse_d(self, a, regressor=False):
        a = np.ascontiguousarray(a, float)
        Dq, Dv = np.zeros((self.nv, self.nv)), np.zeros((self.nv, self.nv))
        Y = np.zeros((self.nv, 10 * self.nbody)) if regressor else None
        self._check(lib.tg_sim_inverse_d(self.sim, a.ctypes.data, Dq.ctypes.data, Dv.ctypes.data, Y.ctypes.data if regressor else None))
        return (Dq, Dv, Y) if regressor else (Dq, Dv)

    def acceleration(self, tau):
        tau, a = np.ascontiguousarray(tau, float), np.zeros(self.nv)
        self._check(lib.tg_sim_acceleration(self.sim, tau.ctypes.data, a.ctypes.data))
        return a

    def acceleration_d(self, tau):
        tau = np.ascontiguousarray(tau, float)
        D = [np.zeros((self.nv, self.nv)) for _ in range(3)]
        self._check(lib.tg_sim_acceleration_d(self.sim, tau.ctypes.data, *[d.ctypes.data for d in D], None))
        return D

    def integrate(self, q, dv):
        q, dv, out = np.ascontiguousarray(q, float), np.ascontiguousarray(dv, float), np.zeros(self.nq)
        lib.tg_model_integrate(self.model, q.ctypes.data, dv.ctypes.data, out.ctypes.data)
        return out
