"""Features of images that a run has pooled: the model learned from them, and annotate reads them again."""

from dataclasses import dataclass
from pathlib import Path

from flyannot.steps.extract import digests_of_images, in_order
from flyannot.store.reading import open_stored


@dataclass(frozen=True)
class PooledImages:
    """A features file that holds what `annotate` would make of the same images, to the bit."""

    features: Path
    digest: str

    def of(self, images):
        """Yield (image, features, quality warnings) of those of the images that the file has."""
        with open_stored(self.features, "features", digest=self.digest) as stored:
            for s in {image.stage_range for image in images} & set(stored.stage_ranges):
                names = zip(stored.array(s, "image"), stored.array(s, "view"))
                rows = {what: i for i, what in enumerate(names)}
                mine = [one for one in images if one.stage_range == s and (one.name, one.view) in rows]
                if mine:
                    numbers = [rows[one.name, one.view] for one in mine]
                    first, end = min(numbers), max(numbers) + 1  # side by side, as a shard is cut
                    features, _ = stored.images(s, first, end)
                    warnings = stored.array(s, "quality_warnings", first, end)
                    for image, i in zip(mine, numbers):
                        yield image, features[i - first], warnings[i - first]


def pooled_images(model, images, features, descriptors):
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
    with open_stored(descriptors, "descriptors") as d:
        described, made_of = d.digest, d.inputs.get("images")
    if learned != [digest] or pooled != [described]:
        return None
    return PooledImages(features, digest) if made_of == [digests_of_images([in_order(images)])[0]] else None
