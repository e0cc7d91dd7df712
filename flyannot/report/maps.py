"""Maps that show where in an image a term is supported or opposed.

A map needs the patches and features of an image, which are read from the files of the run. Images that are
not in these files, such as new images that a model annotated, are encoded again from their pictures.
"""

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.encode.groups import Groups
from flyannot.pipeline.engine.inputs import is_imported, read_described_patches
from flyannot.pipeline.loaded_model import load_model
from flyannot.report.drawing import pack_map
from flyannot.terms.explain import draw_smooth_maps, explain_group, require_linear
from flyannot.terms.training_set import training_rows

_TOLERANCE = 1e-6  # relative, between the sum of the parts and the stored decision value


class ContributionMapper:
    """The source of the maps of contributions for one stage range of a run.

    Parameters
    ----------
    run : Run
    stage_range : str

    Attributes
    ----------
    why_not : str
        The reason why no maps can be drawn, or "" if they can.
    """

    def __init__(self, run, stage_range):
        self._stage_range = stage_range
        self.why_not = ""
        self._descriptors = run.stored("descriptors", stage_range)
        self._features = run.stored("features", stage_range)
        model = run.stored("model", stage_range)
        if model is None:
            self.why_not = "the model that made the predictions is not beside them"
            return
        if is_imported(model):
            self.why_not = "the features were made by another program and have no patches"
            return
        if self._features and self._features.digest not in model.inputs.get("features", []):
            self._features = None  # the model was trained on other features
        self._rows = [
            {} if file is None else {name: i for i, name in enumerate(file.read_array(stage_range, "image"))}
            for file in (self._features, self._descriptors)
        ]
        predictions = run.stored("predictions", stage_range)
        self._is_own = predictions is not None and model.digest in predictions.inputs.get("model", [])
        if not all(self._rows) and not (self._is_own and run.pictures.paths):
            self.why_not = "the run has neither descriptors and features nor pictures"
            return
        self._of_model = model.path, model.digest, stage_range
        try:
            require_linear(load_model(*self._of_model).model)
        except InputError as error:
            self.why_not = error.message

    def draw_maps(self, entry, values):
        """Draw maps of the contributions to every term of one group.

        A term is left out if its contributions do not sum to its decision value. Then the files belong to
        different runs, or a picture has changed.

        Parameters
        ----------
        entry : GroupEntry
        values : dict from term to decision value, from the predictions

        Returns
        -------
        dict
            A dict for each term, empty if no map can be drawn. `value` is the decision value, the sum `plus`
            - `minus` + `rest`: supporting and opposing contributions, and the intercept. `cells` is a list of
            blurred maps by `pack_map`, one per image. `full` is their largest absolute contribution of a
            cell, drawn in full colour.
        """
        if not self.why_not and values:
            for find_features in (self._read_features, self._encode_pictures):
                of_group = find_features(entry)
                if of_group is not None and (drawn := self._explain(entry, values, *of_group)):
                    return drawn
        return {}

    def _read_features(self, entry):
        """Read the patches and features of the images of a GroupEntry from the files of the run.

        Returns a list of patches per image, the features (n_images, n_features), and the index of the patch
        that gave each feature, of the same shape. None if the files lack one of the images.
        """
        names = [image.name for image in entry.images]
        if not all(name in rows for name in names for rows in self._rows):
            return None
        rows, described = ([known[name] for name in names] for known in self._rows)
        of_images = [self._features.read_image_rows(self._stage_range, i, i + 1) for i in rows]
        rows_of_images = ((self._stage_range, i, i + 1) for i in described)
        patches = [next(read_described_patches(self._descriptors, *rows)) for rows in rows_of_images]
        return patches, *(np.concatenate(arrays) for arrays in zip(*of_images))

    def _encode_pictures(self, entry):
        """Compute what `_read_features` returns by encoding the pictures of a GroupEntry with the model.

        Returns None if a picture is missing or unreadable, or if another model made the predictions.
        """
        if not self._is_own or not all(image.path for image in entry.images):
            return None
        try:
            pictures = [(image.path, image.view) for image in entry.images]
            _, _, *of_group = load_model(*self._of_model).encoder.encode_pictures(pictures)
        except DataError:
            return None
        return of_group

    def _explain(self, entry, values, patches, features, winner):
        """Return a dict, term -> packed map of its contributions.

        A term is left out if its decision value cannot be reproduced from the features.

        Parameters
        ----------
        entry : GroupEntry, the group
        values : dict, term -> decision value in the predictions
        patches : list of the DescribedPatches of each image
        features, winner : arrays (n_images, n_features): features, and the number of the patch that won each
        """
        group = Groups([entry.name], [entry.gene], [entry.fbgn], [np.arange(len(patches))])
        loaded = load_model(*self._of_model)
        X = training_rows(features, group, loaded.classify)
        known = [term for term in values if term in loaded.terms]  # others are of another model
        numbers = [loaded.terms.index(term) for term in known]
        splits = explain_group(loaded.model, numbers, X, features, winner, scheme=loaded.classify.scheme)
        kept = {
            term: split
            for term, split in zip(known, splits)
            if abs(split.total - values[term]) <= _TOLERANCE * max(abs(values[term]), _TOLERANCE)
        }
        return dict(zip(kept, self._pack(list(kept.values()), patches)))

    def _pack(self, splits, patches):
        """Yield the dict that `draw_maps` returns for each term, from a list with the Explanation of each."""
        maps = []
        for number, described in enumerate(patches):
            used = [split.patch[split.image == number].max(initial=0) for split in splits]
            if max(used, default=0) >= max(1, len(described.centres_px)):
                raise DataError(f"the features of {self._features.path} do not fit its descriptors")
            maps.append(draw_smooth_maps(splits, number, described))
        for split, *of_images in zip(splits, *maps):
            full = max(float(np.abs(cells).max()) for cells in of_images) or 1.0
            names = ("value", "plus", "minus", "rest", "full")
            numbers = {n: round(x, 6) for n, x in zip(names, (split.value, *split.sums, full), strict=True)}
            yield numbers | {"cells": [pack_map(cells, full) for cells in of_images]}
