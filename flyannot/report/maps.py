"""Maps of contributions for the page, from the files of the run: nothing is coded again."""

from dataclasses import dataclass

import numpy as np

from flyannot.classifiers.explain import contribution_map, explain_group, require_linear
from flyannot.classifiers.training_set import rows_of
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
    """value = plus - minus + rest, the sums of what speaks for and against, and the intercept.

    cells : a packed map for each image; full : the contribution of a cell in full colour
    """

    value: float
    plus: float
    minus: float
    rest: float
    full: float
    cells: list


class MapMaker:
    """Explains the groups of one stage range; says in `why_not` why it cannot, if so."""

    def __init__(self, run, stage_range):
        self._stage_range = stage_range
        kinds = ("descriptors", "features", "model")
        self._descriptors, self._features, model = (run.stored(kind, stage_range) for kind in kinds)
        self._model, self.why_not = None, ""
        if None in (self._descriptors, self._features, model):
            self.why_not = "the descriptors, the features or the model of this stage range are not there"
            return
        loaded = load_model(model.path, model.digest, stage_range)
        try:
            require_linear(loaded.model)
        except InputError as error:
            self.why_not = str(error)
            return
        self._model = loaded
        self._row_of = {name: i for i, name in enumerate(self._features.array(stage_range, "image"))}
        self._described = {name: i for i, name in enumerate(self._descriptors.array(stage_range, "image"))}

    def maps_of(self, name, gene, fbgn, images, values):
        """The maps of one group.

        Parameters
        ----------
        name, gene, fbgn : of the group; images : names
        values : dict from term to the decision value that the predictions hold

        Returns
        -------
        maps : dict from term to TermMap; without the terms whose value the parts do not sum to, because
            the files are of different runs
        """
        if self._model is None or not all(i in self._row_of and i in self._described for i in images):
            return {}
        model, rows = self._model, [self._row_of[i] for i in images]
        found = [read_features_of_image(self._features, self._stage_range, i) for i in rows]
        features, winner = (np.concatenate(arrays) for arrays in zip(*found))
        group = Groups([name], [gene], [fbgn], [np.arange(len(rows))])
        X = rows_of(features, group, model.classify)
        windows = [self._windows(image) for image in images]
        drawn = {}
        for term, value in values.items():
            split = explain_group(
                model.model, model.terms.index(term), X, features, winner, scheme=model.classify.scheme
            )
            if abs(split.total - value) <= _TOLERANCE * max(abs(value), _TOLERANCE):
                drawn[term] = self._drawn(split, windows)
        return drawn

    def _windows(self, image):
        """Centres (n_patches, 2) and sides (n_patches,) of the windows of one image, in pixels."""
        number = self._described[image]
        described = described_image(self._descriptors, self._stage_range, number)
        return described.centres_px, described.patch_px.astype(int)

    def _drawn(self, split, windows):
        spreads = []
        for number, (centres_px, sides) in enumerate(windows):
            patch, contribution = split.of_image(number)
            if len(patch) and patch.max() >= len(centres_px):
                raise DataError(f"the features of {self._features.path} do not fit its descriptors")
            spread = contribution_map(centres_px[patch], contribution, sides[patch], SIZE_PX)
            spreads.append(coarse_map(spread))
        full = max(float(np.abs(cells).max()) for cells in spreads) or 1.0
        plus = split.contribution[split.contribution > 0].sum()
        minus = -split.contribution[split.contribution < 0].sum()
        return TermMap(
            split.value, float(plus), float(minus), split.intercept + split.without_patch, full,
            [packed_map(cells, full) for cells in spreads],
        )  # fmt: skip
