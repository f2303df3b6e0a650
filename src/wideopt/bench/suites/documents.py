"""Retrieval of an unknown document (004, section 7.2.2): candidates, no noise.

A task is a target; the vocabulary has 500 words, as in the paper. The paper's corpus,
Amazon's product reviews, is no file of ours: `documents` has nouns of WordNet instead,
10,000 of which leave some 6,000 distinct rows of word counts.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from wideopt.bench.applications.data_files import data_file
from wideopt.bench.applications.documents import (
    Corpus,
    amazon,
    index_words,
    wordnet,
    wordnet_path,
)
from wideopt.bench.suite import Suite, register
from wideopt.bench.suites import neural_bo_synthetic
from wideopt.bench.task import Task

__all__ = ["AMAZON", "SUITE"]

_KAGGLE = (
    "it is train_40k.csv of "
    "https://www.kaggle.com/datasets/kashnitsky/hierarchical-text-classification"
)
_N_WORDS, _N_WORDS_SMOKE = 500, 50
_N_DOCUMENTS, _N_DOCUMENTS_SMOKE = 10_000, 500


@functools.cache
def _nouns(is_smoke: bool) -> Corpus:
    n = _N_DOCUMENTS_SMOKE if is_smoke else _N_DOCUMENTS
    return index_words(wordnet(wordnet_path(), n), _n_words(is_smoke))


@functools.cache
def _reviews(is_smoke: bool) -> Corpus:
    documents = amazon(data_file("amazon_reviews.csv", _KAGGLE))
    shown = documents[:_N_DOCUMENTS_SMOKE] if is_smoke else documents
    return index_words(shown, _n_words(is_smoke))


def _n_words(is_smoke: bool) -> int:
    return _N_WORDS_SMOKE if is_smoke else _N_WORDS


def _make(name: str, is_smoke: bool) -> Task:
    source, _, seed = name.partition("-")
    corpus = (_nouns if source == "wordnet" else _reviews)(is_smoke)
    score = corpus.score(corpus.target(int(seed)))

    def outputs(x: Any) -> tuple[float, Sequence[float]]:
        return -score(x), ()

    return Task(
        name=name,
        space=corpus.space,
        n_evals=8 if is_smoke else 100,
        outputs=outputs,
        optimum=-1.0,  # the target's own
        n_init=5 if is_smoke else 20,
    )


def _suite(name: str, title: str, source: str) -> Suite:
    return register(
        Suite(
            name=name,
            title=title,
            full=tuple(f"{source}-{seed}" for seed in range(3)),
            smoke=(f"{source}-0",),
            make=_make,
            methods=(*neural_bo_synthetic.SUITE.methods, "lin-ucb", "lin-ts"),
            reference="neural-bo",
        )
    )


SUITE = _suite(
    "documents", "find an unknown noun of WordNet by its gloss (NeuralBO)", "wordnet"
)
AMAZON = _suite(
    "documents-amazon",
    "find an unknown product review; needs a file of Kaggle's (NeuralBO)",
    "amazon",
)
