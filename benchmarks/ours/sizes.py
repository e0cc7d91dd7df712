"""Many images: the processor time and the memory of every step, by the number of images."""

import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.findings import Finding, Source, Target
from benchmarks.inputs.many_pictures import first_pictures, many_pictures
from benchmarks.inputs.pictures import image_folder
from benchmarks.items import Item
from benchmarks.rows import Rows
from benchmarks.workers import peak_mb
from flyannot.classifiers.options import ClassifyOptions
from flyannot.dataset.folder import read_images
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.options import PoolOptions
from flyannot.steps.annotate import annotate
from flyannot.steps.engine.task import Execution
from flyannot.steps.extract import extract
from flyannot.steps.learn_dict import learn_dict
from flyannot.steps.options import AnnotateOptions, LearnOptions
from flyannot.steps.pool import pool
from flyannot.steps.train import train

_EXTRACT = ExtractOptions(stride_px=24)
_LEARN = LearnOptions(n_atoms=200, n_epochs=1, max_patches=50_000)
_POOL = PoolOptions(grid=((2, 2),))
_CLASSIFY = ClassifyOptions(method="coupled-ridge", min_groups=2, inner_folds=2)  # there may be few genes
_MB = 1.0  # more for 1,000 images, at most
_MANY = 1000  # images, from which on memory could grow with them
_FLAT = 1.2  # what one image more costs, the last size over the one before, at most
GROWING = ("extract", "pool", "train", "annotate")


def measure(setup):
    """Runs over more and more of the images; the model that annotates is made from the first of them."""
    sizes, folder, made = setup.sizes["n_images"], setup.scratch / "many", setup.scratch / "made"
    many_pictures(image_folder(setup), folder, max(sizes), setup.rng("spots"))
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
    for step in GROWING:
        add_cost_of_more(rows.where(step=step))
    return Finding(
        source=Source(f"{max(sizes):,} pictures, copies with a spot of their own", "synthetic"),
        variant=f"one job, stride {_EXTRACT.stride_px}, {_LEARN.n_atoms} atoms",
        rows=rows,
        targets=list(_targets(rows)),
        notes=["ms an image more: beside the size before, so without the start of the step."],
    )


def add_cost_of_more(rows):
    """Add to the rows of a step, from the second size on, the milliseconds that every image more has cost."""
    for before, row in pairwise(rows):
        more = row["n_images"] - before["n_images"]
        row["ms_an_image_more"] = 1000 * (row["seconds"] - before["seconds"]) / more


def _targets(rows):
    for step in GROWING:
        yield Target(f"{step}: MB for 1,000 images more", _growth(rows, step), _MB, at_least=False)
    for step in GROWING:
        costs = [row["ms_an_image_more"] for row in rows.where(step=step)[1:]]
        ratio = costs[-1] / costs[-2] if len(costs) > 1 and costs[-2] > 0 else None
        what = f"{step}: an image more, the last size over the one before"
        yield Target(what, ratio, _FLAT, at_least=False)


def cost_of_step(folder, made, step, name=""):
    """In a worker: one step; `name` tells its outputs from those that the model was made of."""
    folder, made, once = Path(folder), Path(made), Execution(force=True)
    made.mkdir(exist_ok=True)
    descriptors, features = made / f"{name}d.h5", made / f"{name}f.h5"
    dictionary, model = made / "dictionary.h5", made / "model.h5"
    trained = made / f"{name}m.h5" if name else model
    start = time.process_time()
    if step == "extract":
        extract(read_images(folder), descriptors, _EXTRACT, once)
    elif step == "learn-dict":
        learn_dict([descriptors], dictionary, _LEARN, once)
    elif step == "pool":
        pool([descriptors], dictionary, features, _POOL, once)
    elif step == "train":
        train([features], folder, trained, _CLASSIFY, once)
    else:
        annotate(model, read_images(folder), made / f"{name}p.h5", AnnotateOptions(), once)
    return {"seconds": time.process_time() - start, "peak_mb": peak_mb()}


def _growth(rows, step):
    """MB for 1,000 images more: the slope of a line through the peaks of many images; None of fewer."""
    found = [(row["n_images"], row["peak_mb"]) for row in rows.where(step=step) if row["n_images"] >= _MANY]
    if len(found) < 2 or any(peak is None for _, peak in found):
        return None
    return 1000 * float(np.polyfit(*zip(*found), 1)[0])


ITEM = Item(
    "sizes", "Memory and time of steps by the number of images", measure,
    sizes={"n_images": ((100, 1_000), (100, 1_000, 5_000, 20_000))},
)  # fmt: skip
