"""A user's program for `mypy --strict`, which is not run.  Wrong lines have a `type: ignore`."""

import numpy as np
from numpy.typing import NDArray

from flyannot import DenseSIFT, DictionaryLearning, ImagePatches, SparseCoder, SpatialMaxPooling
from flyannot.base.errors import FlyannotError
from flyannot.dataset.folder import read_annotations, read_images


def features(folder: str) -> NDArray[np.float32]:
    try:
        images = [image for image in read_images(folder) if image.stage_range == "4-6"]
    except FlyannotError as error:
        raise SystemExit(f"{error.message}; {error.fix}") from error
    annotations = read_annotations(folder)
    term, n_genes = annotations.counts("4-6").most_common(1)[0]
    carried = [annotations.terms_of(image.gene, "4-6", image.fbgn) or frozenset() for image in images]
    patches: ImagePatches = DenseSIFT(stride_px=16).fit(["a.png"]).transform([image.path for image in images])
    learned = DictionaryLearning(50, learner="scc", max_iter=3, random_state=0).fit(patches)
    sparse = SparseCoder(learned.components_, alpha=0.3, sparse_output=True)
    codes = SparseCoder.from_file("dictionary.h5", "4-6", n_jobs=2).transform(patches)
    DictionaryLearning("many")  # type: ignore[arg-type]
    DictionaryLearning(50, n_atoms=3)  # type: ignore[call-arg]
    DenseSIFT(8)  # type: ignore[call-arg]
    annotations.terms_of(7, "4-6")  # type: ignore[arg-type]
    if len(patches) != len(carried) + n_genes or sparse.score(codes) > 0:
        raise SystemExit(term)
    return SpatialMaxPooling(grid=(1, 2)).fit(codes).transform(codes)
