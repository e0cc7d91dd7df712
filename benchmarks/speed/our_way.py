"""Our way from pictures to a model, in a worker that imports nothing else before the model is there."""

import os
from dataclasses import replace
from pathlib import Path

ANATOMY = ["train.exclude-terms=not-anatomy", "train.min-groups=20"]


def annotate_by_us(data_set, output, configuration, settings, seed=0):
    """Run the steps to a model, and then those to scores; return whole seconds to the model, and the AUC.

    Parameters
    ----------
    data_set, output : folders
    configuration : name of a shipped configuration
    settings : list of "table.option=value"
    seed : int
    """
    from flyannot.jobs.environment import configurations_folder
    from flyannot.pipeline.engine.task import Execution, run_task
    from flyannot.pipeline.runs.configuration import read_configuration
    from flyannot.pipeline.runs.plan import plan_run

    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    more = {"data_set": Path(data_set), "output": output, "settings": settings}
    configuration = replace(read_configuration(configurations_folder() / configuration, **more), seed=seed)
    times = [sum(os.times()[:4])]
    for step in ("extract", "learn-dict", "pool", "train", "evaluate"):
        run_task(plan_run(configuration).build_task(step), Execution())
        times.append(sum(os.times()[:4]))
    names = ("start", "extract", "learn-dict", "pool", "train")
    cost = dict(zip(names, (now - before for before, now in zip([0, *times], times))))
    from flyannot.dataset.folder import read_images
    from flyannot.files.hdf5.descriptors import count_patches
    from flyannot.files.hdf5.reading import open_stored_file
    from flyannot.terms.group_outcomes import read_scores

    stored = open_stored_file(output / "descriptors.h5", "descriptors")
    n_patches = sum(count_patches(stored, stage_range) for stage_range in stored.stage_ranges)
    seconds = times[-2]
    n = len(read_images(Path(data_set)))
    auc = read_scores(output / "scores.json")["summary"]["all"]["macro"]["auc"]
    of_image = {"n": n, "us_per_sample": 1e6 * seconds / n}
    return {"auc": auc, "n_patches": n_patches, "seconds": seconds} | cost | of_image
