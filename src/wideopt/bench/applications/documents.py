"""Retrieval of an unknown document: 004, section 7.2.2.

Notation: document d has the word counts x_d ∈ ℕ^J over the J most frequent words of
the corpus, and the set A_d of its categories, from general to detailed, ancestors
included. With the target t, hidden from the method, the score of d is the hierarchical
F1 (Kiritchenko, Matwin and Famili, 2005)

    hP = |A_d ∩ A_t| / |A_d|,  hR = |A_d ∩ A_t| / |A_t|,  hF1 = 2 hP hR / (hP + hR).

The corpora: Amazon's product reviews, as in the paper, from a CSV file; and the nouns
of WordNet, whose glosses are the documents and whose hypernyms are the categories.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import InputError, WideoptError
from wideopt.space import Space

__all__ = [
    "Corpus",
    "Document",
    "amazon",
    "hierarchical_f1",
    "index_words",
    "wordnet",
    "wordnet_path",
]

Categories: TypeAlias = frozenset[str]

_WORDNET = Path("/usr/share/wordnet")
_CATEGORY_COLUMNS = ("Cat1", "Cat2", "Cat3")
_N_ALIKE = 5  # documents with a target's categories, so that it is no needle


@dataclass(frozen=True)
class Document:
    """A text and all its categories, ancestors included."""

    text: str
    categories: Categories


@dataclass(frozen=True)
class Corpus:
    """Distinct rows of word counts, and the categories of the document of each."""

    counts: NDArray[np.float64]  # n x J
    categories: tuple[Categories, ...]
    words: tuple[str, ...]

    @property
    def space(self) -> Space:
        """The rows as the configs to choose from."""
        return Space.from_candidates(self.counts)

    def target(self, seed: int) -> int:
        """A document at random, of those that some others share all categories with."""
        n_alike = Counter(self.categories)
        common = [i for i, c in enumerate(self.categories) if n_alike[c] >= _N_ALIKE]
        choices = common or range(len(self.categories))
        return int(np.random.default_rng(seed).choice(choices))

    def score(self, target: int) -> Callable[[Any], float]:
        """Maps a row to the hierarchical F1 of its document and the target."""
        index = {row.tobytes(): i for i, row in enumerate(self.counts)}
        wanted = self.categories[target]

        def f1(x: Any) -> float:
            row = np.ascontiguousarray(x, dtype=np.float64)
            return hierarchical_f1(self.categories[index[row.tobytes()]], wanted)

        return f1


def hierarchical_f1(found: Categories, wanted: Categories) -> float:
    """hF1 of two sets of categories with their ancestors; 0 if they share none."""
    n_shared = len(found & wanted)
    if n_shared == 0:
        return 0.0
    precision, recall = n_shared / len(found), n_shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def index_words(documents: Sequence[Document], n_words: int) -> Corpus:
    """The corpus of documents over its n_words most frequent words, stop words aside.

    Documents without any of them are dropped; of documents with the same counts, which
    no method could tell apart, the first is kept.
    """
    try:
        from sklearn.feature_extraction.text import CountVectorizer
    except ImportError:
        raise WideoptError(
            'Word counts need scikit-learn: pip install "wideopt[bench]".'
        ) from None
    vectorizer = CountVectorizer(max_features=n_words, stop_words="english")
    counts = vectorizer.fit_transform([d.text for d in documents]).toarray()
    _, first = np.unique(counts, axis=0, return_index=True)
    kept = [int(i) for i in np.sort(first) if counts[i].any()]
    return Corpus(
        counts=counts[kept].astype(np.float64),
        categories=tuple(documents[i].categories for i in kept),
        words=tuple(vectorizer.get_feature_names_out()),
    )


def amazon(path: Path) -> list[Document]:
    """The reviews of the CSV file of Kaggle's `hierarchical-text-classification`.

    Reviews with an unknown category are left out.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        needed = ("Text", *_CATEGORY_COLUMNS)
        absent = [name for name in needed if name not in (reader.fieldnames or ())]
        if absent:
            raise InputError(
                f"{path} has no column {', '.join(absent)}; give the file of Kaggle's "
                "hierarchical-text-classification as it is."
            )
        paths = [(row["Text"], [row[c] for c in _CATEGORY_COLUMNS]) for row in reader]
    return [
        Document(text, _prefixes(levels))
        for text, levels in paths
        if not any(level.strip().lower() in ("", "unknown") for level in levels)
    ]


def _prefixes(levels: Sequence[str]) -> Categories:
    """Each level with what lies above it: the same word may stand in two branches."""
    return frozenset(" > ".join(levels[: i + 1]) for i in range(len(levels)))


def wordnet_path() -> Path:
    """WordNet's nouns; $WNSEARCHDIR, which WordNet itself reads, names the folder."""
    path = Path(os.environ.get("WNSEARCHDIR") or _WORDNET) / "data.noun"
    if not path.is_file():
        raise WideoptError(
            f"There is no file {path}: install Debian's package wordnet-base (make "
            "wordnet), or set WNSEARCHDIR to the folder that has WordNet's data.noun."
        )
    return path


def wordnet(path: Path, n_documents: int | None = None) -> list[Document]:
    """Nouns of WordNet: the gloss, and the hypernyms up to below the root.

    Args:
        path: the file `data.noun`.
        n_documents: how many to draw, always the same; by default all.
    """
    parents: dict[str, list[str]] = {}
    glosses: dict[str, str] = {}
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            if not line.startswith(" "):  # so begins the license
                synset, parents[synset], glosses[synset] = _synset(line)
    chosen = [s for s in glosses if any(parents[p] for p in parents[s])]
    if n_documents is not None:
        n = min(n_documents, len(chosen))
        drawn = np.random.default_rng(0).choice(len(chosen), n, replace=False)
        chosen = [chosen[i] for i in np.sort(drawn)]
    known: dict[str, Categories] = {}
    return [Document(glosses[s], _ancestors(s, parents, known)) for s in chosen]


def _synset(line: str) -> tuple[str, list[str], str]:
    """Offset, offsets of the hypernyms and gloss of a line; its form is in wndb(5).

    offset file type n_words (word id)* n_pointers (symbol offset type fields)* | gloss,
    where n_words is hexadecimal and a hypernym has the symbol @, of an instance @i.
    """
    left, _, gloss = line.partition("|")
    fields = left.split()
    start = 4 + 2 * int(fields[3], 16)
    end = start + 1 + 4 * int(fields[start])
    symbols, offsets = fields[start + 1 : end : 4], fields[start + 2 : end : 4]
    pointers = zip(symbols, offsets, strict=True)
    return fields[0], [to for symbol, to in pointers if symbol in ("@", "@i")], gloss


def _ancestors(
    synset: str, parents: Mapping[str, list[str]], known: dict[str, Categories]
) -> Categories:
    """All hypernyms of a synset but the root, on every path; `known` is filled."""
    if synset not in known:
        found = {p for p in parents[synset] if parents[p]}  # a root has no parents
        above = [_ancestors(p, parents, known) for p in parents[synset]]
        known[synset] = frozenset(found.union(*above))
    return known[synset]
