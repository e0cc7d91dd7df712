"""Maps that show where in an image a term is supported or opposed.

A map needs the patches and features of an image, which are read from the files of the run. The maps of
images that a model annotated from their pictures were drawn by `annotate`, and are stored with the pictures.
"""

import numpy as np

from flyannot.encode.groups import Groups
from flyannot.pipeline.engine.inputs import is_imported, read_described_patches
from flyannot.pipeline.models.loaded_model import load_model
from flyannot.pipeline.pictures.contribution_maps import map_contributions
from flyannot.report.drawing import pack_map

_NUMBERS = ("value", "plus", "minus", "rest", "full")  # the names of the numbers of a TermMap on the page


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
        if not all(self._rows) and not self._is_own:
            self.why_not = "the run has no descriptors and features"
            return
        self._of_model = model.path, model.digest, stage_range

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
        if self.why_not or not values:
            return {}
        of_group = self._read_features(entry)
        if of_group is None:
            return _pack(self._read_stored(entry)) if self._is_own else {}
        group = Groups([entry.name], [entry.gene], [entry.fbgn], [np.arange(len(entry.images))])
        return _pack(map_contributions(load_model(*self._of_model), group, values, *of_group))

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

    def _read_stored(self, entry):
        """Return the maps that `annotate` stored, a list with a dict for each picture of a GroupEntry."""
        return [{} if image.shown is None else image.shown.maps for image in entry.images]


def _pack(maps):
    """Return the dict that `draw_maps` returns, from a list with the maps of each image."""
    packed = {}
    for term, (numbers, _) in (maps[0] if maps else {}).items():
        if all(term in of_image for of_image in maps):
            named = {n: round(float(x), 6) for n, x in zip(_NUMBERS, numbers, strict=True)}
            packed[term] = named | {"cells": [pack_map(of_image[term][1]) for of_image in maps]}
    return packed
