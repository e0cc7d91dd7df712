"""Maps that show where in an image a term is supported or opposed.

A map needs the patches and features of an image, which are read from the files of the run. The maps of
images that a model annotated from their pictures were drawn by `annotate`, and are stored with the pictures.
"""

from flyannot.pipeline.engine.inputs import is_imported
from flyannot.pipeline.models.loaded_model import load_model
from flyannot.pipeline.pictures.contribution_maps import StoredCodes, map_contributions
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
        model = run.stored("model", stage_range)
        if model is None:
            self.why_not = "the model that made the predictions is not beside them"
            return
        if is_imported(model):
            self.why_not = "the features were made by another program and have no patches"
            return
        features = run.stored("features", stage_range)
        if features and features.digest not in model.inputs.get("features", []):
            features = None  # the model was trained on other features
        self._codes = StoredCodes(stage_range, features, run.stored("descriptors", stage_range))
        predictions = run.stored("predictions", stage_range)
        self._is_own = predictions is not None and model.digest in predictions.inputs.get("model", [])
        if not self._codes.is_complete and not self._is_own:
            self.why_not = "the run has no descriptors and features"
            return
        self._of_model = model.path, model.digest, stage_range

    def draw_maps(self, images, values):
        """Draw maps of the contributions to every term of one group.

        A term is left out if its contributions do not sum to its decision value. Then the files belong to
        different runs, or a picture has changed.

        Parameters
        ----------
        images : list with the ImageEntry of each image of the group
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
        coded = self._codes.read([image.name for image in images])
        if coded:
            return _pack(map_contributions(load_model(*self._of_model), coded, values))
        stored = [image.shown.maps if image.shown else {} for image in images]  # by `annotate`
        return _pack(stored) if self._is_own else {}


def _pack(maps):
    """Return the dict that `draw_maps` returns, from a list with the maps of each image."""
    packed = {}
    for term, (numbers, _) in (maps[0] if maps else {}).items():
        if all(term in of_image for of_image in maps):
            named = {n: round(float(x), 6) for n, x in zip(_NUMBERS, numbers, strict=True)}
            packed[term] = named | {"cells": [pack_map(of_image[term][1]) for of_image in maps]}
    return packed
