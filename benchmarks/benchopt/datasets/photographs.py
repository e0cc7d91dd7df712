import numpy as np
from benchopt import BaseDataset
from skimage import color, data
from sklearn.feature_extraction.image import extract_patches_2d


class Dataset(BaseDataset):
    """Patches of five photographs that come with scikit-image."""

    name = "photographs"
    parameters = {"side": [8, 16], "n_samples": [20_000]}
    requirements = ["scikit-image", "scikit-learn"]

    def get_data(self):
        names = "astronaut", "camera", "chelsea", "coffee", "rocket"
        images = [np.asarray(getattr(data, name)(), float) / 255 for name in names]
        greys = [image if image.ndim == 2 else color.rgb2gray(image) for image in images]
        shape, n = (self.side, self.side), self.n_samples // len(greys)
        return {
            "X": np.concatenate(
                [extract_patches_2d(g, shape, max_patches=n, random_state=0) for g in greys]
            ).reshape(-1, self.side**2)
        }
