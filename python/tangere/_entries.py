"""Entries of parameters by the names of task files: {name: body_mass, of: box, entry: 0}."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._tangere import Model

KINDS = {"body_": "body", "jnt_": "joint", "dof_": "joint", "geom_": "geom", "site_": "site", "act_": "actuator", "ten_": "tendon",
         "eq_": "equality", "flex_": "flex", "hull_": "mesh"}
POSITIVE = ("body_mass", "geom_size", "geom_scale", "flex_thickness")
NOT_NEGATIVE = ("damping", "stiffness", "armature", "frictionloss", "geom_friction", "geom_restitution", "flex_young")


def bound(name: str) -> tuple[float, bool]:
    """Lower bound of a parameter's entries, and whether it may be reached: masses and sizes are positive, friction and the like not
    negative."""
    if name in POSITIVE:
        return 0.0, False
    return (0.0, True) if any(word in name for word in NOT_NEGATIVE) else (-np.inf, True)


def _rows(model: Model, name: str, kind: str, thing: int) -> np.ndarray[Any, Any]:
    """Rows of the array that belong to the thing with that index."""
    if name.startswith("dof_"):
        return np.flatnonzero(np.ravel(model.field("dof_jnt")) == thing)
    if name == "hull_vert":
        hulls = np.flatnonzero(np.ravel(model.field("hull_mesh")) == thing)
        first, count = np.ravel(model.field("hull_vertadr")), np.ravel(model.field("hull_vertnum"))
        return np.concatenate([np.zeros(0, int), *(np.arange(first[h], first[h] + count[h]) for h in hulls)])
    if name == "flex_rest":
        first, count = np.ravel(model.field("flex_vertadr")), np.ravel(model.field("flex_vertnum"))
        return np.arange(first[thing], first[thing] + count[thing])
    return np.array([thing])


def find(model: Model, shape: tuple[int, ...], name: str, of: str | None = None, entry: int | None = None) -> np.ndarray[Any, Any]:
    """Places in the flattened parameter, of that shape, that `of` has; `entry`: one of its columns, of a vertex 3 times its place in the
    mesh or sheet plus the axis. ValueError that names what is wrong."""
    columns = shape[1] if len(shape) > 1 else 1
    kind = next((k for prefix, k in KINDS.items() if name.startswith(prefix)), None)
    if kind is None or of is None:
        if of is not None:
            raise ValueError(f"{name} is one for the whole model; leave out of ({of!r})")
        if kind is not None:
            raise ValueError(f"{name} needs of: the name of the {kind}")
        rows = np.arange(shape[0])
    else:
        try:
            rows = _rows(model, name, kind, model.find(kind, of))
        except KeyError:
            raise ValueError(f"{name}: the model has no {kind} '{of}'; there are {', '.join(map(repr, model.names(kind)))}") from None
    places = (rows[:, None] * columns + np.arange(columns)).ravel()
    if entry is None:
        return places
    if not 0 <= entry < len(places):
        raise ValueError(f"{name} of {of or 'the model'} has entries 0 to {len(places) - 1}, not {entry}")
    return places[entry:entry + 1]
