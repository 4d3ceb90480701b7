"""With TANGERE_SKIPS=refuse, which `make test` sets, a test that is skipped has failed, unless it is one of those below."""
import os
import re

import pytest

# test, reason that it gives, and why it may be skipped
MAY = [
    (r"test_cluster\.py::", r"TANGERE_LONG=1", "each fault ten times takes a quarter of an hour: make test-long"),
    (r"test_devices\.py::", r"no GPU is here", "the same tests on a GPU: by hand, on a machine that has one"),
    (r"test_shac\.py::", r"make test-long", "learners beside PPO take half an hour and a package of their own: make test-long"),
    (r"test_mujoco_mjcf\.py::", r"no (sites|actuators|tendons|equalities|keyframes)$", "one test for all models, of which this one has none"),
    (r"test_replay_cli\.py::", r"ffmpeg is not installed", "an optional program, of two hundred packages"),
    (r"test_reproduce\.py::", r"make test-long", "the papers' experiments at their full size: make test-long"),
    (r"test_wheel\.py::", r"no wheel serves CPython|no namespaces", "not every Python is on every machine; without namespaces the root cannot be changed"),
    (r"test_(journal|interrupt|verify_elsewhere)\.py::", r"replay", "the package as it is tested has no page: the viewer is another part of the build"),
]


def refused(test, report):
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    may = any(re.search(where, test) and re.search(said, reason) for where, said, _ in MAY)
    return None if may else f"{test} was skipped, which make test does not allow (test/conftest.py lists what may be): {reason}"


def refuse(report, test):
    if os.environ.get("TANGERE_SKIPS") != "refuse" or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    said = refused(test, report)
    if said:
        report.outcome, report.longrepr = "failed", said


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    done = yield
    refuse(done.get_result(), item.nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    done = yield
    refuse(done.get_result(), collector.nodeid)
