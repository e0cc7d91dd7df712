"""The task of a step between `extract` and `learn-dict`, which turns descriptors into other descriptors."""

from flyannot.base.text import pluralise
from flyannot.files.hdf5.descriptors import write_descriptors
from flyannot.files.hdf5.header import Header, add_step_options
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.inputs import open_compatible, read_described_patches
from flyannot.pipeline.engine.task import FileTask, Outcome


class TransformTask(FileTask):
    """The task that applies the `transform` of a step to every image of a file of descriptors.

    request : StepRequest of the step
    """

    def __init__(self, request):
        step = STEPS[request.options.table]
        (path,) = request.inputs["descriptors"]
        self._transform = step.patch_transform(request.options)
        (stored,) = open_compatible([path], "descriptors")
        self._digest = stored.digest
        images = {"images": stored.inputs["images"]} if "images" in stored.inputs else {}
        options = add_step_options(stored.options, step.name, request.options.to_header())
        header = Header("descriptors", options, {"descriptors": [self._digest]} | images)
        super().__init__(request.out, header, [path])

    def make(self, execution):
        lines = []
        stored = open_stored_file(self.inputs[0], digest=self._digest)
        with create_stored_file(self.path, self._header) as file:
            for s in stored.stage_ranges:
                columns = read_image_metadata(stored, s)
                described = list(map(self._transform, read_described_patches(stored, s)))
                write_descriptors(file, s, columns, described)
                lines.append(f"{s:>5}: {pluralise(len(columns['image']), 'image')}")
        return Outcome(self.path, True, "\n".join(lines))
