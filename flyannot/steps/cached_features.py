"""Features of images that a run has pooled: the model learned from them, and annotate reads them again."""

from dataclasses import dataclass, replace
from pathlib import Path

from flyannot.steps.extract import digests_of_images, in_order
from flyannot.store.file_cache import cached_file
from flyannot.store.reading import open_stored


@dataclass(frozen=True)
class CachedFeatures:
    """A features file that holds what `annotate` would make of the same images, to the bit.

    rows : dict, (stage range, name, view) of an image -> its number within the stage range
    """

    features: Path
    digest: str
    rows: dict

    def narrowed(self, images):
        """What a task with these images alone takes."""
        wanted = (_key(image) for image in images)
        return replace(self, rows={key: self.rows[key] for key in wanted if key in self.rows})

    def of(self, images):
        """Yield (image, features, quality warnings) of those of the images that the file has."""
        if not self.rows:
            return
        stored = cached_file(self.features, "features", self.digest)
        for s in {stage_range for stage_range, _, _ in self.rows}:
            mine = [image for image in images if image.stage_range == s and _key(image) in self.rows]
            numbers = [self.rows[_key(image)] for image in mine]
            first, end = min(numbers), max(numbers) + 1  # side by side, as a shard is cut
            features, _ = stored.images(s, first, end)
            warnings = stored.array(s, "quality_warnings", first, end)
            for image, i in zip(mine, numbers):
                yield image, features[i - first], warnings[i - first]


def _key(image):
    return image.stage_range, image.name, image.view


def cached_features(model, images, features, descriptors):
    """`PooledImages`, if the model learned from these features and they are of just these images; else None.

    Parameters
    ----------
    model, features, descriptors : Path of three files of one run
    images : list of flyannot.dataset.folder.Image, which are read for their digests
    """
    if not (features.is_file() and descriptors.is_file()):
        return None
    with open_stored(model, "model") as m, open_stored(features, "features") as f:
        learned, pooled, digest = m.inputs.get("features"), f.inputs.get("descriptors"), f.digest
        names = {s: zip(f.array(s, "image"), f.array(s, "view")) for s in f.stage_ranges}
    with open_stored(descriptors, "descriptors") as d:
        described, made_of = d.digest, d.inputs.get("images")
    if learned != [digest] or pooled != [described]:
        return None
    if made_of != [digests_of_images([in_order(images)])[0]]:
        return None
    rows = {(s, *what): i for s, its in names.items() for i, what in enumerate(its)}
    return CachedFeatures(features, digest, rows)
