"""MuJoCo writes its log into the working directory: the peer tests run in a scratch one."""
import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def scratch_directory(tmp_path_factory):
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("run"))
    yield
    os.chdir(before)
