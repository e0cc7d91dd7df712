"""What is looked for: an image or a gene of a features file, or a new picture."""

from dataclasses import dataclass
from pathlib import Path

from flyannot.dataset.images import find_pictures, pictures_of
from flyannot.descriptors.extract import DescribedPatches, describe_patches
from flyannot.descriptors.images.address import file_of_address, name_of_embryo, split_address
from flyannot.descriptors.images.picture import embryos_at, read_embryo
from flyannot.errors import InputError, did_you_mean
from flyannot.features.groups import Groups, groups_of
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.pooling import Pooled
from flyannot.steps.engine.inputs import extract_options, is_imported, lam_of, pool_options
from flyannot.steps.runs.configuration import recorded_data_set
from flyannot.store.features import read_features_of_image
from flyannot.store.reading import read_image_columns


@dataclass(frozen=True)
class Query:
    """One thing that is looked for in one stage range.

    text : as the user named it
    group : the number of the gene's group, or None; image : the number of the image, or None
    own_group : the number of the group that is not to be found, or None
    path : of the picture, or None where it is not known
    pooled, described : of a new picture
    """

    text: str
    stage_range: str
    group: int | None = None
    image: int | None = None
    own_group: int | None = None
    path: Path | None = None
    pooled: Pooled | None = None
    described: DescribedPatches | None = None


class Searched:
    """An open features file that is searched: its images by name, its groups, and its pictures."""

    def __init__(self, stored, data_set=None):
        self.stored, self._data_set, self._pictures = stored, data_set, None
        self.columns = {s: read_image_columns(stored, s) for s in stored.stage_ranges}
        self.groups: dict[str, Groups] = {s: groups_of(columns) for s, columns in self.columns.items()}
        self.is_imported = is_imported(stored)

    def path_of(self, stage_range, number):
        """Where the picture of an image lies, or None."""
        return self.pictures.paths.get(self.columns[stage_range]["image"][number])

    @property
    def pictures(self):
        """The `flyannot.dataset.images.PicturesOfFile` of the file; looked for once."""
        if self._pictures is None:
            folder = self.stored.path.absolute().parent
            named = self._data_set or recorded_data_set(folder)
            self._pictures = find_pictures(pictures_of(self.stored), folder, named)
        return self._pictures


def queries_of(text, searched, stage_ranges=()):
    """The queries that a text means, one for each stage range.

    Parameters
    ----------
    text : an image or a gene (symbol or FlyBase number) of the file, or the path of a picture
    searched : Searched
    stage_ranges : those that are searched; of a picture its own, which it takes where the file has several

    Raises
    ------
    InputError
        If nothing of that name is there, or it is not in these stage ranges.
    DataError
        If a picture cannot be read.
    """
    number = _image_of(text, searched)
    if number is None and file_of_address(text).is_file():
        return [_of_picture(text, s, searched) for s in _ranges_of_picture(text, searched, stage_ranges)]
    found = _of_image(text, number, searched) if number else _of_gene(text, searched)
    chosen = [query for query in found if not stage_ranges or query.stage_range in stage_ranges]
    if not chosen:
        there = ", ".join(query.stage_range for query in found)
        raise InputError(
            f"{text} is in stage range {there} of {searched.stored.path}, not in {', '.join(stage_ranges)}",
            fix="leave out --stage-range, or name another",
        )
    return chosen


def _image_of(text, searched):
    """(stage range, number) of an image of the file, by its name or the path of its picture; or None."""
    for s, columns in searched.columns.items():
        if text in columns["image"]:
            return s, columns["image"].index(text)
    path, file = Path(text), file_of_address(text)
    if file.is_file():
        for s, columns in searched.columns.items():
            for number, name in enumerate(columns["image"]):
                known = searched.path_of(s, number) if Path(name).name == path.name else None
                if known and file_of_address(known).samefile(file):
                    return s, number
    return None


def _of_image(text, place, searched):
    s, number = place
    group = int(searched.groups[s].of_image[number])
    return [Query(text, s, image=number, own_group=group)]


def _of_gene(text, searched):
    found, known = [], set()
    for s, groups in searched.groups.items():
        for g, names in enumerate(zip(groups.gene, groups.fbgn, groups.name)):
            known.update(filter(None, names))
            if text in names:
                found.append(Query(text, s, group=g, own_group=g))
    if not found:
        path = searched.stored.path
        raise InputError(
            f'"{text}" is no picture, and {path} has no image and no gene of that name.'
            f"{did_you_mean(text, sorted(known))}",
            fix=f"name a picture, or an image or a gene of {path}; capitals count",
        )
    return found


def _ranges_of_picture(text, searched, stage_ranges):
    present = list(searched.groups)
    missing = [s for s in stage_ranges if s not in present]
    if missing or (not stage_ranges and len(present) > 1):
        why = f"{searched.stored.path} holds stage ranges {', '.join(present)}, " + (
            f"not {missing[0]}" if missing else f"and which of them {text} is of is not known"
        )
        raise InputError(why, fix=f"add --stage-range {present[0]}, or another of them")
    return stage_ranges or present


def _of_picture(text, stage_range, searched):
    """A query of a picture that is described as those of the file were."""
    stored = searched.stored
    if searched.is_imported:
        raise InputError(
            f"the features of {stored.path} were imported, and flyannot cannot make them of {text}",
            fix="name an image or a gene of the file",
        )
    extract, pool = extract_options(stored), pool_options(stored)
    D = stored.array(stage_range, "D")
    atoms = atoms_of_features(D, lam_of(stored), extract.patch_px, coder_name=pool.coder)
    path = Path(_one_embryo(Path(text), extract))
    described = describe_patches(read_embryo(path, extract)[0], extract)
    pooled = features_of(described, atoms, pool)
    return Query(text, stage_range, path=path, pooled=pooled, described=described)


def _one_embryo(path, extract):
    """The address of the only embryo of a photograph, where the file is of embryos of photographs."""
    if not extract.multiple_embryos or split_address(path)[2] is not None:
        return path
    numbers = [k for k, one in enumerate(embryos_at(path, extract.plane), 1) if not one.why_not]
    if len(numbers) != 1:
        others = ", ".join(map(str, numbers))
        raise InputError(
            f"{path} shows {len(numbers)} embryos that can be used",
            fix=f"name one: {name_of_embryo(path, numbers[0])}, or another of {others}"
            if numbers
            else "name a photograph with whole embryos that do not touch each other",
        )
    return name_of_embryo(path, numbers[0])


def vectors_of(query, searched):
    """The feature vector of an image query, (1, n_features)."""
    if query.pooled is not None:
        return query.pooled.features[None]
    return read_features_of_image(searched.stored, query.stage_range, query.image)[0]
