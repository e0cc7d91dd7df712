"""How large a run is: what its memory and its time are estimated from."""

from collections import Counter
from dataclasses import dataclass, field

from flyannot.dataset.folder import read_annotations
from flyannot.dataset.paths import IMAGES, annotations_table, table_of
from flyannot.dataset.synthetic.generate import draw_group
from flyannot.dataset.synthetic.render import TERMS
from flyannot.descriptors.images.geometry import STANDARD_PX
from flyannot.descriptors.options import patch_sides
from flyannot.descriptors.patches import patch_corners
from flyannot.errors import InputError
from flyannot.features.grid import n_cells
from flyannot.steps.engine.inputs import selected_images


@dataclass(frozen=True)
class RunSize:
    """Counts of a run.

    n_images, n_groups, n_terms : Counter, by stage range; of terms those that enough groups carry
    n_patches : of an image, before those of little contrast are dropped
    n_features : of an image
    tables : Paths of the tables of the data set by name; {} where the run itself makes them
    """

    n_images: Counter
    n_groups: Counter
    n_terms: Counter
    n_patches: int
    n_features: int
    tables: dict = field(default_factory=dict)

    @property
    def n_all_images(self):
        return self.n_images.total()


def require_data_set(configuration):
    """Refuse a configuration whose data set is not there, unless it says how to synthesize one.

    Raises
    ------
    InputError
    """
    folder = configuration.data_set
    if "synthesize" not in configuration.options and not folder.exists():
        raise InputError(
            f"there is no data set {folder}: memory and time of the jobs are estimated from its tables",
            fix="write the workflow where the data set can be seen, or name it with --data-set",
        )


def size_of_run(configuration):
    """The RunSize of a configuration."""
    options = configuration.options
    extract, grid = options["extract"], options["pool"].grid
    count = _counts_of_synthesis if "synthesize" in options else _counts_of_data_set
    images, groups, terms, tables = count(configuration)
    sides = patch_sides(extract.patch_px)
    return RunSize(
        images,
        groups,
        terms,
        sum(len(patch_corners(STANDARD_PX, side, extract.stride_px)) for side in sides),
        options["learn-dict"].n_atoms * n_cells(grid, sides),
        tables,
    )


def _counts_of_data_set(configuration):
    folder, options = configuration.data_set, configuration.options
    images = selected_images(folder, options["select"])
    annotations = read_annotations(folder)
    groups = {(i.stage_range, i.group): (annotations.gene_id(i.gene, i.fbgn), i.stage_range) for i in images}
    carried = Counter(
        (key[1], term) for key in groups.values() for term in annotations.terms_by_gene.get(key, ())
    )
    return (
        Counter(image.stage_range for image in images),
        Counter(stage_range for stage_range, _ in groups),
        Counter(s for (s, _), n in carried.items() if n >= options["train"].min_groups),
        {"images": table_of(folder, IMAGES), "annotations": annotations_table(folder)},
    )


def _counts_of_synthesis(configuration):
    """As they will be drawn."""
    drawn, wanted = configuration.options["synthesize"], configuration.options["select"].stage_range
    stage_ranges = [s for s in drawn.stage_range if not wanted or s in wanted]
    images = Counter()
    for s in stage_ranges:
        for number in range(1, drawn.n_genes + 1):
            images[s] += draw_group(f"syn{number:03d}", s, configuration.seed, drawn.max_images).n_images
    groups = Counter(dict.fromkeys(stage_ranges, drawn.n_genes))
    return images, groups, Counter({s: len(TERMS[s]) for s in stage_ranges}), {}
