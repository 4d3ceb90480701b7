"""Tangere: differentiable physics in which contact is a choice.

    import tangere as tg
    model = tg.load("robot.xml")
    sim = tg.Sim(model, contact="lcp", dt=0.01)
    sim.step()
    J = sim.jacobians(params=["body_mass"])
    print(tg.gradcheck(sim))

Positions and velocities are laid out as MuJoCo's: a free joint is position, then quaternion with w first. Derivatives
are in tangent coordinates (nv). Arrays are float64 and C-contiguous; an array of another type or shape is refused,
never converted silently.
"""

from typing import TYPE_CHECKING, Any

from ._errors import Error, NotConverged
from ._tangere import (Batch, BatchGradient, BatchRollout, ContactGradient, Controller, GradBlock, GradCheck, Jacobians, Joint,
                       Model, MotionCheck, Optimum, Rollout, RolloutGradient, RolloutProduct, SensorDerivatives, ShardLedger,
                       Shards, Sim, StepGradient, StepInfo, StepProduct, Task, contact_models, contact_options, drop_words,
                       gradcheck, load, loads, motioncheck, param_names, param_range)
from ._tangere import __version__

__all__ = ["Batch", "BatchGradient", "BatchRollout", "ContactGradient", "Controller", "Error", "GradBlock", "GradCheck",
           "Jacobians", "Joint", "Model", "MotionCheck", "NotConverged", "Optimum", "Rollout", "RolloutGradient",
           "RolloutProduct", "SensorDerivatives", "ShardLedger", "Shards", "Sim", "StepGradient", "StepInfo", "StepProduct",
           "Task", "contact_models", "contact_options", "drop_words", "gradcheck", "load", "loads", "motioncheck", "param_names",
           "param_range"]

if TYPE_CHECKING:
    from .notebook import Replay


def __getattr__(name: str) -> Any:
    # what few need is imported when it is asked for
    if name == "Replay":
        from .notebook import Replay
        return Replay
    raise AttributeError(f"module 'tangere' has no attribute '{name}'")
