"""Maps of contributions for the page, from the files of the run: nothing is coded again."""

import json
from dataclasses import dataclass

import numpy as np

from flyannot.classifiers.explain import contribution_map, explain_group, require_linear
from flyannot.classifiers.training_set import training_rows
from flyannot.descriptors.standard_image import SIZE_PX
from flyannot.errors import DataError, InputError
from flyannot.features.groups import Groups
from flyannot.report.pictures import coarse_map, packed_map
from flyannot.steps.inputs import described_image
from flyannot.steps.loaded_model import load_model
from flyannot.store.features import read_features_of_image

_TOLERANCE = 1e-6  # relative: what the parts must sum to is the stored decision value


@dataclass(frozen=True)
class TermMap:
    """value = plus - minus + rest: the sums of what supports and of what opposes the term, and the intercept.

    cells : a packed map for each image; full : the contribution of a cell in full colour
    """

    value: float
    plus: float
    minus: float
    rest: float
    full: float
    cells: list

    def as_json(self):
        """What the page's script draws: [value, plus, minus, rest, full, cells]."""
        numbers = (self.value, self.plus, self.minus, self.rest, self.full)
        return json.dumps([*(round(number, 6) for number in numbers), self.cells])


class MapMaker:
    """Explains the groups of one stage range; `why_not` is the reason where it cannot, or ""."""

    def __init__(self, run, stage_range):
        self._stage_range, self._model, self.why_not = stage_range, None, ""
        kinds = ("descriptors", "features", "model")
        self._descriptors, self._features, model = (run.stored(kind, stage_range) for kind in kinds)
        if None in (self._descriptors, self._features, model):
            self.why_not = "the descriptors, the features or the model of this stage range are not there"
            return
        loaded = load_model(model.path, model.digest, stage_range)
        try:
            require_linear(loaded.model)
        except InputError as error:
            self.why_not = error.message
            return
        self._model = loaded
        self._row_of, self._described = (
            {name: i for i, name in enumerate(file.array(stage_range, "image"))}
            for file in (self._features, self._descriptors)
        )

    def maps_of(self, entry, values):
        """The maps of one group.

        Parameters
        ----------
        entry : flyannot.report.groups.GroupEntry
        values : dict from term to the decision value that the predictions hold

        Returns
        -------
        maps : dict from term to TermMap; without the terms whose value the parts do not sum to, because
            the files are of different runs
        """
        names = [image.name for image in entry.images]
        if self._model is None or not all(i in self._row_of and i in self._described for i in names):
            return {}
        rows = map(self._row_of.get, names)
        found = [read_features_of_image(self._features, self._stage_range, i) for i in rows]
        features, winner = (np.concatenate(arrays) for arrays in zip(*found))
        group = Groups([entry.name], [entry.gene], [entry.fbgn], [np.arange(len(names))])
        X = training_rows(features, group, self._model.classify)
        patches = [
            described_image(self._descriptors, self._stage_range, self._described[name]) for name in names
        ]
        drawn, model, terms = {}, self._model.model, self._model.terms
        for term, value in values.items():
            scheme = self._model.classify.scheme
            split = explain_group(model, terms.index(term), X, features, winner, scheme=scheme)
            if abs(split.total - value) <= _TOLERANCE * max(abs(value), _TOLERANCE):
                drawn[term] = self._drawn(split, patches)
        return drawn

    def _drawn(self, split, patches):
        spreads = []
        for number, described in enumerate(patches):
            patch, contribution = split.of_image(number)
            if len(patch) and patch.max() >= len(described.centres_px):
                raise DataError(f"the features of {self._features.path} do not fit its descriptors")
            centres_px, sides = described.centres_px[patch], described.patch_px[patch].astype(int)
            spreads.append(coarse_map(contribution_map(centres_px, contribution, sides, SIZE_PX)))
        full = max(float(np.abs(cells).max()) for cells in spreads) or 1.0
        plus = split.contribution[split.contribution > 0].sum()
        minus = -split.contribution[split.contribution < 0].sum()
        return TermMap(
            split.value, float(plus), float(minus), split.intercept + split.without_patch, full,
            [packed_map(cells, full) for cells in spreads],
        )  # fmt: skip
