"""The task of a step between `extract` and `learn-dict`, which turns descriptors into other descriptors."""

from flyannot.base.text import pluralise
from flyannot.files.hdf5.descriptors import write_descriptors
from flyannot.files.hdf5.header import Header, add_step_options
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.inputs import open_compatible, read_described_patches
from flyannot.pipeline.engine.task import FileTask, Outcome


def build_task(request):
    """Build the Task that applies the `transform` of the requested step to every image of a file."""
    step = STEPS[request.options.table]
    (path,) = request.inputs["descriptors"]
    transform = step.patch_transform(request.options)
    with open_compatible([path], "descriptors") as (stored,):
        images = {"images": stored.inputs["images"]} if "images" in stored.inputs else {}
        inputs = {"descriptors": [stored.digest]} | images
        header = Header(
            "descriptors", add_step_options(stored.options, step.name, request.options.to_header()), inputs
        )
        digest = stored.digest

    def make(execution):
        lines = []
        with open_stored_file(path, digest=digest) as stored, create_stored_file(request.out, header) as file:
            for s in stored.stage_ranges:
                columns = read_image_metadata(stored, s)
                described = list(map(transform, read_described_patches(stored, s)))
                write_descriptors(file, s, columns, described)
                lines.append(f"{s:>5}: {pluralise(len(columns['image']), 'image')}")
        return Outcome(request.out, True, "\n".join(lines))

    return FileTask(request.out, header, make, [path])
