import pathlib

import pytest

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"


@pytest.fixture
def models():
    return MODELS


@pytest.fixture
def cheetah(models):
    import tangere as tg
    return tg.load(models / "half_cheetah.xml")
