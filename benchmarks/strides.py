"""How many patches a term needs: AUC and time by their side, stride and number, by atoms and by cells."""

from benchmarks.findings import Finding, Source
from benchmarks.inputs.pictures import PATTERNS
from benchmarks.rows import Rows
from benchmarks.speed.our_way import ANATOMY, annotate_by_us
from flyannot.base.options import Options
from flyannot.dataset.folder import read_images
from flyannot.dataset.importers.wu2016 import import_wu2016
from flyannot.pipeline.answers.evaluation import compare_files

CONFIGURATION = "wu2016.toml"
OPTIONS = (
    "extract.patch-px",
    "extract.stride-px",
    "extract.min-std",
    "learn-dict.max-patches",
    "learn-dict.n-atoms",
    "pool.grid",
)
_COLUMNS = ("patch_px", "stride_px", "min_std", "learned_from", "atoms", "grid")


def measure_strides(setup):
    """Measure AUC, patches and processor time of one job, and compare each with the configuration's own."""
    data_set = setup.scratch / "patterns"
    rows = Rows()
    import_wu2016([setup.data_file("wu2016")], data_set, Options())
    choices = setup.sizes["choices"]  # values of OPTIONS
    outputs = [setup.scratch / "-".join(map(str, choice)) for choice in choices]
    for choice, output in zip(choices, outputs):
        settings = [f"{name}={value}" for name, value in zip(OPTIONS, choice)]
        given = {"data_set": str(data_set), "output": str(output), "configuration": CONFIGURATION}
        cost = setup.run(
            annotate_by_us, given | {"settings": [*settings, *setup.sizes["settings"], *ANATOMY]}
        )
        first, second = (folder / "scores.json" for folder in (outputs[0], output))
        mean = compare_files(first, second)["mean"]
        low, high = mean["interval"]
        row = dict(zip(_COLUMNS, choice)) | {"gain": mean["difference"], "low": low, "high": high} | cost
        rows.append(row | {"times_as_fast": (rows[0] if rows else row)["seconds"] / row["seconds"]})
    return Finding(
        Source(f"{len(read_images(data_set)):,} {PATTERNS}", "rendered"),
        f"{CONFIGURATION}, anatomical terms; seconds of processor time of one job",
        rows=rows,
    )
