"""Pruning: features that a selector dropped are neither computed nor saved."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline

from features.word_level.places import judges
from qe.models.model import Model


def pruned(model: Model) -> Model:
    """Removes columns and families that never reach the learner; scores stay bit-identical."""
    select = model.pipeline.named_steps.get("select")
    if select is None or model.feature_set.trees:
        return model
    if type(select).transform is not SelectorMixin.transform:
        return model
    selected = np.asarray(select.get_support(), np.bool_)
    if selected.all() or not selected.any():
        return model
    wanted = {name for name, there in zip(model.feature_set.names, selected, strict=True) if there}
    words = set(judges(model.feature_set.extractors).values())
    feature_set = model.feature_set.keeping(wanted, words)
    before, after = model.feature_set.requires(), feature_set.requires()
    made = {name: by for name, by in model.made_columns.items() if name in after or name not in before}
    *steps, learn = (step for step in model.pipeline.steps if step[0] != "select")
    smaller = [(name, copy(step)) for name, step in steps]
    for _, step in smaller:
        for name, value in vars(step).items():
            if isinstance(value, np.ndarray) and value.shape == selected.shape:
                setattr(step, name, value[selected])
        step.n_features_in_ = int(selected.sum())
    pipeline = Pipeline([*smaller, learn])
    return replace(model, pipeline=pipeline, feature_set=feature_set, made_columns=made)


def selection(pipeline: Pipeline, names: list[str]) -> dict[str, Any]:
    """The selector's columns (or the number of new ones) and their cost; empty without a selector."""
    select = pipeline.named_steps.get("select")
    if select is None:
        return {}
    support = select.get_support()
    notes: dict[str, Any] = {
        "selected": np.asarray(names, object)[support].tolist()
        if len(support) == len(names)
        else int(support.sum())
    }
    front = getattr(select, "front_", None)
    if front is not None:
        notes["front"] = [
            {"cost": float(cost), "metric": float(metric), "features": int(features)}
            for cost, metric, features in front
        ]
    return notes
