"""How the images of a file differ from those that a step is to work on."""

from flyannot.descriptors.images.address import photograph_of_embryo
from flyannot.runtime.wording import pluralise
from flyannot.stage_ranges import STAGE_RANGES


def difference_of_images(images):
    """A function of an open file of descriptors or predictions: in words, what its images have that these
    (flyannot.dataset.folder.Image) have not, or the other way round."""

    names = {image.name for image in images}

    def whole(name):
        """The photograph of an embryo that was found on one."""
        return name if name in names else photograph_of_embryo(name)

    def in_words(stored):
        before = {(s, whole(name)) for s in stored.stage_ranges for name in stored.array(s, "image")}
        skipped = {whole(name) for name, _ in stored.failures}
        now = {(image.stage_range, image.name) for image in images if image.name not in skipped}
        if {s for s, _ in before} != {s for s, _ in now}:
            return f"it is of stage range {_listed(before)}, and {_listed(now)} is asked for"
        found = [f"it lacks {_some(now - before)}"] if now - before else []
        found += [f"it has {_some(before - now)}, not asked for"] if before - now else []
        return " and ".join(found) or "an image, or what the table says of it, has changed since"

    return in_words


def _listed(images):
    present = {s for s, _ in images}
    return ", ".join(s for s in STAGE_RANGES if s in present) or "none"


def _some(images):
    first = min(name for _, name in images)
    return pluralise(len(images), f"image, {first}", f"images, such as {first}")
