"""What a loss looks like under `lcp` and under `barrier`: a ball shot past another, along the direction of the shot, with slopes."""

from __future__ import annotations

import pathlib

import numpy as np

import tangere as tg

from .shot import GOAL, SCENE, START


def slices(contact: str, angles: np.ndarray, **options: object) -> tuple[np.ndarray, np.ndarray]:
    """Loss and its derivative along the angle of a shot of 1 m/s."""
    sim = tg.Sim(tg.loads(SCENE), contact=contact, dt=0.02, **options)
    values, slopes = [], []
    for a in angles:
        roll = sim.rollout(steps=100, v0=np.array([np.cos(a), np.sin(a), 0.0, 0.0]))
        miss = START + roll.q[-1, 2:] - GOAL
        g = roll.backward(dq=np.array([0.0, 0.0, 2 * miss[0], 2 * miss[1]]))
        values.append(miss @ miss)
        slopes.append(-np.sin(a) * g.v0[0] + np.cos(a) * g.v0[1])
    return np.array(values), np.array(slopes)


def draw(picture: pathlib.Path, curves: dict[str, tuple[np.ndarray, np.ndarray]], angles: np.ndarray) -> None:
    """The losses, with their slopes as tangents."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: that needs matplotlib")
        return
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    half = 0.4 * (angles[1] - angles[0])
    for colour, (contact, (values, slopes)) in zip(("#0b5fa5", "#c8502d"), curves.items()):
        axes.plot(angles, values, "o", ms=2.5, color=colour, label=contact)
        axes.plot(np.stack([angles - half, angles + half]), np.stack([values - half * slopes, values + half * slopes]),
                  color=colour, lw=1.5)
    axes.set(xlabel="angle of the shot [rad]", ylabel="loss, with the gradient as tangents")
    axes.legend()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"picture: {picture}")


def main(out: pathlib.Path) -> dict[str, float]:
    angles = np.linspace(-0.6, 0.6, 41)
    figures: dict[str, float] = {}
    curves = {}
    for contact, options in (("lcp", {}), ("barrier", {"weight": 1e-5})):
        values, slopes = curves[contact] = slices(contact, angles, **options)
        figures[contact] = int(np.sum(slopes != 0))
        low, high = values.min(), values.max()
        print(f"\n{contact}: loss against the angle of the shot; {figures[contact]} of {len(angles)} slopes are not 0")
        for a, value, slope in zip(angles[::2], values[::2], slopes[::2]):
            print(f"  {a:6.2f} rad {value:8.4f} {'#' * int(40 * (value - low) / (high - low + 1e-12)):40} slope {slope:10.2e}")
    draw(out / "landscape.svg", curves, angles)
    return figures
