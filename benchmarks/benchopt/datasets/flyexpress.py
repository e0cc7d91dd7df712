import os
from pathlib import Path

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """SIFT descriptors of FlyExpress's embryos, if FLYANNOT_DATA names the folder that has them."""

    name = "flyexpress"
    parameters = {"n_samples": [100_000]}
    requirements = ["pip::flyannot"]

    def get_data(self):
        from flyannot import DenseSIFT

        pictures = sorted(Path(os.environ["FLYANNOT_DATA"], "flyexpress").rglob("*.bmp"))
        X = DenseSIFT(stride_px=8).transform(pictures).rows
        return {"X": np.random.default_rng(0).permutation(X)[: self.n_samples]}
