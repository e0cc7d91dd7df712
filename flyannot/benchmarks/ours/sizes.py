"""Many images: the processor time and the memory of every step, by the number of images."""

import time
from pathlib import Path

import numpy as np

from flyannot.benchmarks.findings import Finding, Source, Target
from flyannot.benchmarks.inputs.many_pictures import first_pictures, many_pictures
from flyannot.benchmarks.inputs.pictures import image_folder
from flyannot.benchmarks.items import Item
from flyannot.benchmarks.rows import Rows
from flyannot.benchmarks.workers import peak_mb
from flyannot.classifiers.options import ClassifyOptions
from flyannot.dataset.folder import read_images
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.options import PoolOptions
from flyannot.steps.annotate import annotate
from flyannot.steps.extract import extract
from flyannot.steps.learn_dict import learn_dict
from flyannot.steps.options import AnnotateOptions, LearnOptions
from flyannot.steps.pool import pool
from flyannot.steps.tasks import Execution
from flyannot.steps.train import train

_EXTRACT = ExtractOptions(stride_px=24)
_LEARN = LearnOptions(n_atoms=200, n_epochs=1, max_patches=50_000)
_POOL = PoolOptions(grid=((2, 2),))
_CLASSIFY = ClassifyOptions(method="coupled-ridge", min_groups=2, inner_folds=2)  # there may be few genes
_PARTS = (4, 2, 1)  # of the images: the sizes of the runs
_MB = 1.0  # more for 1,000 images, at most
GROWING = ("extract", "pool", "annotate")


def measure(setup):
    """Runs over a quarter, a half and all of the images; the model is made from the first of them."""
    n_images, folder = setup.sizes["n_images"], setup.scratch / "many"
    many_pictures(image_folder(setup), folder, n_images, setup.rng("spots"))
    sizes, made = [n_images // part for part in _PARTS], setup.scratch / "made"
    first = first_pictures(folder, sizes[0])
    prepared = {"folder": str(first), "made": str(made)}
    for step in ("extract", "learn-dict", "pool", "train", "annotate"):  # compiles the kernels too
        setup.run(cost_of_step, prepared | {"step": step})
    rows = Rows()
    for n in sizes:
        some = {"folder": str(first_pictures(folder, n)), "made": str(made), "name": f"{n}-"}
        for step in GROWING:
            row = {"step": step, "n_images": n, **setup.run(cost_of_step, some | {"step": step})}
            rows.append(row | {"images_per_core_second": n / row["seconds"]})
    growth = {step: _growth(rows, step) for step in GROWING}
    return Finding(
        source=Source(f"{n_images} pictures, copies with a spot of their own", "synthetic"),
        variant=f"one job, stride {_EXTRACT.stride_px}, {_LEARN.n_atoms} atoms",
        rows=rows,
        targets=[
            Target(f"{step}: MB for 1,000 images more", mb, _MB, at_least=False)
            for step, mb in growth.items()
        ],
    )


def cost_of_step(folder, made, step, name=""):
    """In a worker: one step; `name` tells its outputs from those that the model was made of."""
    folder, made, once = Path(folder), Path(made), Execution(force=True)
    made.mkdir(exist_ok=True)
    descriptors, features = made / f"{name}d.h5", made / f"{name}f.h5"
    dictionary, model = made / "dictionary.h5", made / "model.h5"
    start = time.process_time()
    if step == "extract":
        extract(read_images(folder), descriptors, _EXTRACT, once)
    elif step == "learn-dict":
        learn_dict([descriptors], dictionary, _LEARN, once)
    elif step == "pool":
        pool([descriptors], dictionary, features, _POOL, once)
    elif step == "train":
        train([features], folder, model, _CLASSIFY, once)
    else:
        annotate(model, read_images(folder), made / f"{name}p.h5", AnnotateOptions(), once)
    return {"seconds": time.process_time() - start, "peak_mb": peak_mb()}


def _growth(rows, step):
    """MB for 1,000 images more: the slope of a line through the peaks."""
    n, peaks = (rows.column(name, step=step) for name in ("n_images", "peak_mb"))
    return 1000 * float(np.polyfit(n, peaks, 1)[0]) if None not in peaks else None


ITEM = Item(
    "sizes", "Memory and time of steps by the number of images", measure, sizes={"n_images": (400, 20_000)}
)
