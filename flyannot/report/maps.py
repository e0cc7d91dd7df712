"""Maps of contributions for the page.

Features and descriptors of the run have what a map needs; images that are not among them, such as new ones
that a model annotated, are coded again from their pictures.
"""

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.encode.groups import Groups
from flyannot.images.geometry import STANDARD_PX
from flyannot.pipeline.engine.inputs import described_images, is_imported
from flyannot.pipeline.loaded_model import load_model
from flyannot.report.drawing import CELL_PX, packed_map
from flyannot.terms.explain import explain_group, require_linear
from flyannot.terms.training_set import training_rows

_TOLERANCE = 1e-6  # relative: what the parts must sum to is the stored decision value


class MapMaker:
    """Explains the groups of one stage range; `why_not` is the reason where it cannot, or ""."""

    def __init__(self, run, stage_range):
        self._stage_range, self._model, self.why_not = stage_range, None, ""
        kinds = ("descriptors", "features", "model")
        self._descriptors, self._features, model = (run.stored(kind, stage_range) for kind in kinds)
        if model is None:
            self.why_not = "the model of this stage range is not there"
            return
        if is_imported(model):
            self.why_not = "the features were made by another program, and have no patches"
            return
        if self._features and self._features.digest not in model.inputs.get("features", []):
            self._features = None  # made anew since
        self._rows = [
            {} if file is None else {name: i for i, name in enumerate(file.array(stage_range, "image"))}
            for file in (self._features, self._descriptors)
        ]
        predictions = run.stored("predictions", stage_range)
        self._is_own = predictions is not None and predictions.inputs.get("model") == [model.digest]
        if not all(self._rows) and not (self._is_own and run.pictures.paths):
            self.why_not = "neither the descriptors and features nor the pictures are there"
            return
        loaded = load_model(model.path, model.digest, stage_range)
        try:
            require_linear(loaded.model)
        except InputError as error:
            self.why_not = error.message
            return
        self._model = loaded

    def maps_of(self, entry, values):
        """Return what the page draws for one group, a dict by term.

        Of each term: `value` = `plus` - `minus` + `rest`, which are the sums of what supports and of what
        opposes it and the intercept; `full`, the contribution of a cell in full colour; and `cells`, a packed
        map for each image.

        `values` maps a term to the decision value that the predictions hold.  A term whose value the parts do
        not sum to is left out: the files are of different runs, or the pictures are others.
        """
        if self._model is not None and values:
            for features_of_group in (self._from_files, self._from_pictures):
                of_group = features_of_group(entry)
                if of_group is not None and (drawn := self._maps(entry, values, *of_group)):
                    return drawn
        return {}

    def _from_files(self, entry):
        """Patches, features and winners of a group's images; None if the run does not have them."""
        names = [image.name for image in entry.images]
        if not all(name in rows for name in names for rows in self._rows):
            return None
        rows, described = ([known[name] for name in names] for known in self._rows)
        of_images = [self._features.images(self._stage_range, i, i + 1) for i in rows]
        rows_of_images = ((self._stage_range, i, i + 1) for i in described)
        patches = [next(described_images(self._descriptors, *rows)) for rows in rows_of_images]
        return patches, *(np.concatenate(arrays) for arrays in zip(*of_images))

    def _from_pictures(self, entry):
        """As `_from_files`, by the model; None without a picture, or if the predictions are not its own."""
        if not self._is_own or not all(image.path for image in entry.images):
            return None
        try:
            pictures = [(image.path, image.view) for image in entry.images]
            _, *of_group = self._model.encoder.encode_pictures(pictures)
        except DataError:
            return None
        return of_group

    def _maps(self, entry, values, patches, features, winner):
        group = Groups([entry.name], [entry.gene], [entry.fbgn], [np.arange(len(patches))])
        X = training_rows(features, group, self._model.classify)
        drawn, model, terms = {}, self._model.model, self._model.terms
        scheme = self._model.classify.scheme
        for term, value in values.items():
            if term not in terms:  # the predictions are of another model
                continue
            split = explain_group(model, terms.index(term), X, features, winner, scheme=scheme)
            if abs(split.total - value) <= _TOLERANCE * max(abs(value), _TOLERANCE):
                drawn[term] = self._drawn(split, patches)
        return drawn

    def _drawn(self, split, patches):
        spreads = []
        for number, described in enumerate(patches):
            if split.patch[split.image == number].max(initial=0) >= max(1, len(described.centres_px)):
                raise DataError(f"the features of {self._features.path} do not fit its descriptors")
            spreads.append(split.spread(number, described, STANDARD_PX, CELL_PX))
        full = max(float(np.abs(cells).max()) for cells in spreads) or 1.0
        names = ("value", "plus", "minus", "rest", "full")
        numbers = {n: round(x, 6) for n, x in zip(names, (split.value, *split.sums, full), strict=True)}
        return numbers | {"cells": [packed_map(cells, full) for cells in spreads]}
