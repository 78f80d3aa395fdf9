import pytest

from taxocaps.datasets import toy
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.encoding.encoders import SentencesConfig, TokensConfig
from taxocaps.graph.config import GraphConfig
from taxocaps.text.pipeline import TextConfig


@pytest.fixture(scope="session")
def documents():
    return [document for _, document in toy.load().documents()]


@pytest.fixture(scope="session")
def encoder():
    sections = {"words-matrix": GraphConfig(), "tokens": TokensConfig(), "sentences": SentencesConfig(length=5)}
    return DocumentEncoder(TextConfig(), sections)
