"""Look-alikes: queries, genes and images found in features.h5, and their table."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np

from flyannot.base.errors import InputError, did_you_mean
from flyannot.encode.groups import Groups, group_images
from flyannot.encode.similarity import build_image_index, find_most_similar
from flyannot.files.hdf5.reading import read_image_metadata
from flyannot.files.tables import format_table
from flyannot.images.address import embryo_name, image_path, split_address
from flyannot.images.embryo import Embryo, open_picture
from flyannot.images.options import ExtractOptions
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.engine.inputs import is_imported, read_options
from flyannot.pipeline.engine.task import write_text_output
from flyannot.pipeline.models.encoding import build_encoder
from flyannot.pipeline.runs.learned_tables import read_run_annotations

COLUMNS = ("query", "stage_range", "found", "rank", "gene", "fbgn", "image", "view", "similarity")


def rank_similar(index, texts, options, *, stage_ranges=()):
    """Rank the genes and images of a features file by their similarity to each query.

    A query is compared with the images of its stage range. Its own image and gene are left out, but not the
    other images of its gene.

    Parameters
    ----------
    index : SimilarityIndex
    texts : each an image or a gene (symbol or FlyBase number) of the file, or the path of a picture
    options : SimilarOptions
    stage_ranges : the stage ranges to search, empty for all; for a picture its own, if the file has several

    Yields
    ------
    found : SearchResult, in the order of the texts

    Raises
    ------
    InputError
        If the file has nothing of that name, or not in these stage ranges. If no gene has a term of
        `options.lacks` or `options.has`, or the annotations are not found.
    DataError
        If a picture cannot be read.
    """
    for query in [query for text in texts for query in _find_queries(text, index, stage_ranges)]:
        yield _rank(query, index, options)


def _rank(query, index, options):
    """Return the SearchResult of one SimilarityQuery.

    index : SimilarityIndex; options : SimilarOptions
    """
    rows = index.groups[query.stage_range].rows
    collection = index.collection(query.stage_range)
    to_images = collection.images @ query.place
    to_groups = collection.groups @ query.place
    others = index.groups_without_terms(query.stage_range, options.lacks, options.has)
    of_others = np.concatenate([rows[g] for g in others]) if others else []
    genes = find_most_similar(to_groups, options.top, without=[*query.own_groups, *others])
    images = find_most_similar(to_images, options.top, without=[*query.own_images, *of_others])
    return SearchResult(
        query,
        [(int(g), int(max(rows[g], key=lambda i: to_images[i])), float(to_groups[g])) for g in genes],
        [(int(i), float(to_images[i])) for i in images],
    )


def write_search_results(out, results, index, *, force=False):
    """Write the table of a list of SearchResult.

    Raises
    ------
    InputError
        If it is an input, or exists with other rows and `force` is off.
    WriteError
        If it cannot be written.
    """
    text = format_table(COLUMNS, (row for result in results for row in _rows(result, index)))
    pictures = (result.query.picture for result in results)
    write_text_output(out, text, [index.stored.path, *filter(None, pictures)], force=force)


def _rows(result, index):
    """Yield the rows of the table of similar genes and images: one for each gene or image that was found.

    result : SearchResult; index : SimilarityIndex, for the names of genes and images
    """
    s = result.query.stage_range
    columns = index.columns[s]
    found = [("gene", rank, *row) for rank, (_, *row) in enumerate(result.genes, 1)]
    found += [("image", rank, *row) for rank, row in enumerate(result.images, 1)]
    for what, rank, number, similarity in found:
        names = (columns[name][number] for name in ("gene", "fbgn", "image", "view"))
        yield result.query.text, s, what, str(rank), *names, f"{similarity:.4f}"


@dataclass(frozen=True)
class SimilarityQuery:
    """A gene, an image or a new picture to search for in one stage range.

    text : as the user named it
    stage_range : str
    place : float array (n_axes,), its coordinates in the ImageIndex of the stage range
    own_groups, own_images : indices of the groups and images that are not searched
    picture : Path of the file of a new picture, or None
    """

    text: str
    stage_range: str
    place: np.ndarray
    own_groups: Sequence = ()
    own_images: Sequence = ()
    picture: Path | None = None


@dataclass(frozen=True)
class SearchResult:
    """The images and genes most similar to one query, the most similar first.

    query : SimilarityQuery
    genes : list of (index of the group, index of its most similar image, similarity of the group)
    images : list of (index of the image, similarity)
    """

    query: SimilarityQuery
    genes: list
    images: list


class SimilarityIndex:
    """An open features file that can be searched for similar genes and images.

    Parameters
    ----------
    stored : StoredFile of features
    data_set : Path of the folder with the curated terms; None for those that the run learned from
    """

    def __init__(self, stored, data_set=None):
        self.stored = stored
        self._data_set = data_set
        self.columns = {s: read_image_metadata(stored, s) for s in stored.stage_ranges}
        self.groups: dict[str, Groups] = {s: group_images(columns) for s, columns in self.columns.items()}
        self.is_imported = is_imported(stored)
        self.collection = cache(self._collection)

    def _collection(self, stage_range):
        """Return the ImageIndex of a stage range, which is built at its first use."""
        blocks = partial(self.stored.iterate_image_rows, stage_range)
        return build_image_index(lambda: (rows for rows, _ in blocks()), self.groups[stage_range])

    def query_group(self, text, stage_range, number):
        """Return the SimilarityQuery for the group with index `number` of a stage range.

        text : what the user typed
        """
        place = self.collection(stage_range).groups[number]
        return SimilarityQuery(text, stage_range, place, [number], self.groups[stage_range].rows[number])

    def query_image(self, text, stage_range, number):
        """Return the SimilarityQuery for the image with index `number` of a stage range.

        text : what the user typed
        """
        place = self.collection(stage_range).images[number]
        return SimilarityQuery(
            text, stage_range, place, [self.groups[stage_range].group_numbers[number]], [number]
        )

    def groups_without_terms(self, stage_range, lacks, has):
        """Return the numbers of the groups that do not certainly lack and have some curated terms.

        Groups without annotations are among them.

        Parameters
        ----------
        stage_range : str
        lacks, has : tuples of terms; if both are empty, the result is, too

        Raises
        ------
        InputError
            If no gene has one of the terms, or the annotations are not found.
        """
        asked = [*lacks, *has]
        if not asked:
            return []
        known = {term for terms in self._annotations.terms_by_gene.values() for term in terms}
        for term in asked:
            if term not in known:
                raise InputError(
                    f'no gene has the term "{term}".{did_you_mean(term, sorted(known))}',
                    fix="name a term of annotations.csv",
                )
        groups = self.groups[stage_range]
        others = []
        for g, (gene, fbgn) in enumerate(zip(groups.gene, groups.fbgn)):
            terms = self._annotations.terms_of(gene, stage_range, fbgn)
            is_open = terms is None or self._annotations.unknown_terms(gene, stage_range, asked, fbgn)
            if is_open or not terms.issuperset(has) or not terms.isdisjoint(lacks):
                others.append(g)
        return others

    @cached_property
    def _annotations(self):
        """The curated terms of the named data set; otherwise those that the run learned from."""
        if self._data_set:
            return CuratedTerms(self._data_set).annotations
        annotations = read_run_annotations(self.stored.path.absolute().parent)
        if annotations is None:
            raise InputError(
                f"there are no curated terms beside {self.stored.path}",
                fix="name the data set folder: --data-set FOLDER",
            )
        return annotations


def _find_queries(text, index, stage_ranges):
    """Return the list with a SimilarityQuery that a text of the user names, one for each stage range.

    text : name of an image or a gene, or path of a picture; index : SimilarityIndex
    """
    image = _find_image(text, index)
    if image is None and image_path(text).is_file():
        return _encode_picture(text, index, stage_ranges)
    found = [image] if image else _find_gene(text, index)
    return _make_queries(text, index, index.query_image if image else index.query_group, found, stage_ranges)


def _make_queries(text, index, make_query, found, stage_ranges):
    """Return the queries for some (stage range, number) that were found, limited to some stage ranges."""
    chosen = [(s, number) for s, number in found if not stage_ranges or s in stage_ranges]
    if not chosen:
        there = ", ".join(s for s, _ in found)
        raise InputError(
            f"{text} is in stage range {there} of {index.stored.path}, not in {', '.join(stage_ranges)}",
            fix="leave out --stage-range, or name another",
        )
    return [make_query(text, s, number) for s, number in chosen]


def _find_image(text, index):
    """Return (stage range, number) of an image of the file by its name; None if it has no such image."""
    for s, columns in index.columns.items():
        if text in columns["image"]:
            return s, columns["image"].index(text)
    return None


def _find_gene(text, index):
    """Return a list of (stage range, index of the group) of a gene.

    text : its symbol or FlyBase number
    """
    found = []
    known = set()
    for s, groups in index.groups.items():
        for g, names in enumerate(zip(groups.gene, groups.fbgn, groups.name)):
            known.update(filter(None, names))
            if text and text in names:
                found.append((s, g))
    if not found:
        path = index.stored.path
        raise InputError(
            f'"{text}" is no picture, and {path} has no image and no gene of that name.'
            f"{did_you_mean(text, sorted(known))}",
            fix=f"name a picture, or an image or a gene of {path}; capitals count",
        )
    return found


def _encode_picture(text, index, stage_ranges):
    """Return the queries for a picture, which is encoded like the images of the file.

    A picture with the same bytes as one of the file is that image.
    """
    stored = index.stored
    path = image_path(text)
    extract = ExtractOptions() if index.is_imported else read_options(stored, ExtractOptions)
    with open_picture(path) as opened:
        digest = opened.digest
        address = _choose_embryo(text, opened, extract)
        known = [
            (s, number)
            for s, columns in index.columns.items()
            for number, other in enumerate(columns["picture_digest"])
            if other == digest and _behind_file(columns["image"][number]) == _behind_file(address)
        ]
        if known:
            return _make_queries(text, index, index.query_image, known[:1], stage_ranges)
        _refuse_unclear_stage_range(text, index, stage_ranges)
        embryo = Embryo(opened.read_picture(address, extract.plane), is_cut_out=extract.multiple_embryos)
    queries = []
    for s in stage_ranges or index.groups:
        features = build_encoder(stored, s).encode(embryo.view(extract).grey).features
        place = index.collection(s).coordinates(features[None])[0]
        queries.append(SimilarityQuery(text, s, place, picture=path))
    return queries


def _behind_file(address):
    """Return the part of an address after its file, such as "#z=5"."""
    return os.fspath(address)[len(os.fspath(image_path(address))) :]


def _refuse_unclear_stage_range(text, index, stage_ranges):
    """Raise an InputError unless a new picture can be encoded for the stage ranges that are searched."""
    present = list(index.groups)
    missing = [s for s in stage_ranges if s not in present]
    if missing or (not stage_ranges and len(present) > 1):
        why = f"{index.stored.path} holds stage ranges {', '.join(present)}, " + (
            f"not {missing[0]}" if missing else f"and the stage range of {text} is not known"
        )
        raise InputError(why, fix=f"add --stage-range {present[0]}, or another of them")
    if index.is_imported:
        raise InputError(
            f"the features of {index.stored.path} were imported, and flyannot cannot compute them for {text}",
            fix="name an image or a gene of the file",
        )


def _choose_embryo(address, opened, extract):
    """Return the address of the only embryo on a photograph; the address itself if none is searched for.

    opened : PictureFile; extract : ExtractOptions of the features file
    """
    if not extract.multiple_embryos or split_address(address)[2] is not None:
        return address
    embryos = enumerate(opened.find_embryos(address, extract.plane), 1)
    numbers = [number for number, embryo in embryos if not embryo.why_not]
    if len(numbers) != 1:
        others = ", ".join(map(str, numbers))
        raise InputError(
            f"{address} shows {len(numbers)} embryos that can be used",
            fix=f"name one: {embryo_name(address, numbers[0])}, or another of {others}"
            if numbers
            else "name a photograph with whole embryos that do not touch each other",
        )
    return embryo_name(address, numbers[0])
