"""Which genes and images look alike: what is looked for, what is found in features.h5, and its table."""

from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np

from flyannot.base.errors import InputError, did_you_mean
from flyannot.dataset.images import find_pictures, pictures_of_file
from flyannot.encode.groups import Groups, groups_of
from flyannot.encode.similarity import collection_of, most_similar
from flyannot.files.hdf5.reading import read_image_columns
from flyannot.files.tables import table_as_text
from flyannot.images.address import file_of_address, name_of_embryo, split_address
from flyannot.images.picture import embryos_at
from flyannot.pipeline.encoding import encoder_of
from flyannot.pipeline.engine.inputs import is_imported
from flyannot.pipeline.engine.task import write_output
from flyannot.pipeline.runs.configuration import recorded_data_set

COLUMNS = ("query", "stage_range", "found", "rank", "gene", "fbgn", "image", "view", "similarity")


def similar(searched, texts, *, top=20, stage_ranges=()):
    """Rank the genes and the images of a features file by their similarity to each query.

    A query is compared with the images of its stage range.  Its own image and its own gene are left out; the
    other images of its gene are not.

    Parameters
    ----------
    searched : SimilarityIndex
    texts : each an image or a gene (symbol or FlyBase number) of the file, or the path of a picture
    top : how many genes, and how many images, are found
    stage_ranges : those that are searched, empty for all; of a picture its own, if the file has several

    Yields
    ------
    found : SearchResult, in the order of the texts

    Raises
    ------
    InputError
        If nothing of that name is there, or it is not in these stage ranges.
    DataError
        If a picture cannot be read.
    """
    for query in [query for text in texts for query in _find_queries(text, searched, stage_ranges)]:
        yield _rank(query, searched, top)


def _rank(query, searched, top):
    s = query.stage_range
    groups = searched.groups[s]
    collection = searched.collection(s)
    own_groups, own_images = [], []
    if query.group is not None:
        place = collection.groups[query.group]
        own_groups, own_images = [query.group], groups.rows[query.group]
    elif query.image is not None:
        features, _ = searched.stored.images(s, query.image, query.image + 1)
        place = collection.coordinates(features)[0]
        own_groups, own_images = [groups.of_image[query.image]], [query.image]
    else:
        place = collection.coordinates(query.features[None])[0]
    to_images, to_groups = collection.images @ place, collection.groups @ place
    genes = most_similar(to_groups, top, without=own_groups)
    images = most_similar(to_images, top, without=own_images)
    return SearchResult(
        query,
        [(int(g), int(max(groups.rows[g], key=lambda i: to_images[i])), float(to_groups[g])) for g in genes],
        [(int(i), float(to_images[i])) for i in images],
    )


def write_similar(out, results, searched, *, force=False):
    """Write the table of what was found, a list of SearchResult.

    Raises
    ------
    InputError
        If it is an input, or there already with other rows, and `force` is off.
    WriteError
        If it cannot be written.
    """
    text = table_as_text(COLUMNS, (row for result in results for row in _rows(result, searched)))
    pictures = (result.query.picture for result in results)
    inputs = [searched.stored.path, *(file_of_address(picture) for picture in pictures if picture)]
    write_output(out, text, inputs, force=force)


def _rows(result, searched):
    s = result.query.stage_range
    columns = searched.columns[s]
    found = [("gene", rank, *row) for rank, (_, *row) in enumerate(result.genes, 1)]
    found += [("image", rank, *row) for rank, row in enumerate(result.images, 1)]
    for what, rank, number, similarity in found:
        names = (columns[name][number] for name in ("gene", "fbgn", "image", "view"))
        yield result.query.text, s, what, str(rank), *names, f"{similarity:.4f}"


@dataclass(frozen=True)
class Query:
    """One thing that is looked for in one stage range: a gene, an image, or a new picture.

    text : as the user named it
    group, image : the number of the gene's group, or of the image, in the file; or None
    picture, features : the address of a new picture, and its features; or None
    """

    text: str
    stage_range: str
    group: int | None = None
    image: int | None = None
    picture: Path | None = None
    features: np.ndarray | None = None


@dataclass(frozen=True)
class SearchResult:
    """What is most like one query, the most similar first.

    genes : list of (number of the group, number of its most similar image, similarity of the group)
    images : list of (number of the image, similarity)
    """

    query: Query
    genes: list
    images: list


class SimilarityIndex:
    """An open features file that is searched: its images by name, its groups, and its pictures."""

    def __init__(self, stored, data_set=None):
        self.stored = stored
        self._data_set = data_set
        self.columns = {s: read_image_columns(stored, s) for s in stored.stage_ranges}
        self.groups: dict[str, Groups] = {s: groups_of(columns) for s, columns in self.columns.items()}
        self.is_imported = is_imported(stored)
        self.collection = cache(self._collection)

    def _collection(self, stage_range):
        """The ImageCollection of a stage range."""
        blocks = partial(self.stored.blocks_of_images, stage_range)
        return collection_of(lambda: (rows for rows, _ in blocks()), self.groups[stage_range])

    def path_of(self, stage_range, number):
        """Where the picture of an image lies, or None."""
        return self._pictures.paths.get(self.columns[stage_range]["image"][number])

    @cached_property
    def _pictures(self):
        folder = self.stored.path.absolute().parent
        named = self._data_set or recorded_data_set(folder)
        return find_pictures(pictures_of_file(self.stored), folder, named)


def _find_queries(text, searched, stage_ranges):
    """The queries that a text means, one for each stage range."""
    number = _find_image(text, searched)
    if number is None and file_of_address(text).is_file():
        return _encode_picture(text, searched, stage_ranges)
    queries = [Query(text, number[0], image=number[1])] if number else _find_gene(text, searched)
    chosen = [query for query in queries if not stage_ranges or query.stage_range in stage_ranges]
    if not chosen:
        there = ", ".join(query.stage_range for query in queries)
        raise InputError(
            f"{text} is in stage range {there} of {searched.stored.path}, not in {', '.join(stage_ranges)}",
            fix="leave out --stage-range, or name another",
        )
    return chosen


def _find_image(text, searched):
    """(stage range, number) of an image of the file, by its name or the path of its picture; or None."""
    for s, columns in searched.columns.items():
        if text in columns["image"]:
            return s, columns["image"].index(text)
    path = Path(text)
    file = file_of_address(text)
    if file.is_file():
        for s, columns in searched.columns.items():
            for number, name in enumerate(columns["image"]):
                known = searched.path_of(s, number) if Path(name).name == path.name else None
                if known and file_of_address(known).samefile(file):
                    return s, number
    return None


def _find_gene(text, searched):
    queries = []
    known = set()
    for s, groups in searched.groups.items():
        for g, names in enumerate(zip(groups.gene, groups.fbgn, groups.name)):
            known.update(filter(None, names))
            if text in names:
                queries.append(Query(text, s, group=g))
    if not queries:
        path = searched.stored.path
        raise InputError(
            f'"{text}" is no picture, and {path} has no image and no gene of that name.'
            f"{did_you_mean(text, sorted(known))}",
            fix=f"name a picture, or an image or a gene of {path}; capitals count",
        )
    return queries


def _encode_picture(text, searched, stage_ranges):
    """The queries of a picture, which is described as those of the file were."""
    stored = searched.stored
    present = list(searched.groups)
    missing = [s for s in stage_ranges if s not in present]
    if missing or (not stage_ranges and len(present) > 1):
        why = f"{stored.path} holds stage ranges {', '.join(present)}, " + (
            f"not {missing[0]}" if missing else f"and which of them {text} is of is not known"
        )
        raise InputError(why, fix=f"add --stage-range {present[0]}, or another of them")
    if searched.is_imported:
        raise InputError(
            f"the features of {stored.path} were imported, and flyannot cannot make them of {text}",
            fix="name an image or a gene of the file",
        )
    encoders = {s: encoder_of(stored, s) for s in stage_ranges or present}
    picture = Path(_choose_embryo(Path(text), next(iter(encoders.values())).extract))
    return [
        Query(text, s, picture=picture, features=encoder.encode(encoder.read(picture)[0]).features)
        for s, encoder in encoders.items()
    ]


def _choose_embryo(path, extract):
    """The address of the only embryo of a photograph, where the file is of embryos of photographs."""
    if not extract.multiple_embryos or split_address(path)[2] is not None:
        return path
    embryos = enumerate(embryos_at(path, extract.plane), 1)
    numbers = [number for number, embryo in embryos if not embryo.why_not]
    if len(numbers) != 1:
        others = ", ".join(map(str, numbers))
        raise InputError(
            f"{path} shows {len(numbers)} embryos that can be used",
            fix=f"name one: {name_of_embryo(path, numbers[0])}, or another of {others}"
            if numbers
            else "name a photograph with whole embryos that do not touch each other",
        )
    return name_of_embryo(path, numbers[0])
