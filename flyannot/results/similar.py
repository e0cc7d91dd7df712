"""Look-alikes: queries, genes and images found in features.h5, and their table."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import repeat
from pathlib import Path
from typing import ClassVar

import numpy as np

from flyannot.base.errors import DataError, InputError, did_you_mean
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.folder import Image
from flyannot.encode.groups import Groups, group_images
from flyannot.encode.similarity import build_image_index, find_most_similar
from flyannot.files.hdf5.reading import read_image_metadata
from flyannot.files.tables import format_table
from flyannot.images.address import image_path, split_address
from flyannot.images.options import ExtractOptions
from flyannot.pipeline.engine.inputs import is_imported, read_options
from flyannot.pipeline.engine.task import write_text_output
from flyannot.pipeline.models.encoding import build_encoder
from flyannot.pipeline.pictures.opened_pictures import PictureUse, read_rows
from flyannot.pipeline.runs.learned_tables import choose_terms

ANY_TERM = "any"  # of the query's curated terms
COLUMNS = ("query", "stage_range", "rank", "gene", "fbgn", "image", "view", "similarity", "of", "terms")


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
    others = index.groups_without_terms(query, options.lacks, options.has)
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
        gene, fbgn, *names = (columns[name][number] for name in ("gene", "fbgn", "image", "view"))
        terms = index.annotations.terms_of(gene, s, fbgn) if index.annotations else ()
        more = f"{similarity:.4f}", what, "; ".join(sorted(terms or ()))
        yield result.query.text, s, str(rank), gene, fbgn, *names, *more


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
    curated : CuratedTerms of a data set; None for those that the run learned from
    """

    def __init__(self, stored, curated=None):
        self.stored = stored
        self._curated = curated
        self.columns = {s: read_image_metadata(stored, s) for s in stored.stage_ranges}
        self.groups: dict[str, Groups] = {s: group_images(columns) for s, columns in self.columns.items()}
        self.is_imported = is_imported(stored)
        self.collection = cache(lambda s: read_image_index(stored, s, self.groups[s]))

    def find_queries(self, text, stage_ranges, found):
        """Return the list of the SimilarityQuery values for what was found in the file.

        Parameters
        ----------
        text : what the user typed
        stage_ranges : the stage ranges to search, empty for all
        found : list of (stage range, number of the group, number of the image or None for the whole group)

        Raises
        ------
        InputError
            If all that was found is of other stage ranges.
        """
        queries = []
        for s, group, image in found:
            if not stage_ranges or s in stage_ranges:
                index = self.collection(s)
                place = index.groups[group] if image is None else index.images[image]
                own_images = self.groups[s].rows[group] if image is None else [image]
                queries.append(SimilarityQuery(text, s, place, [group], own_images))
        if not queries:
            there = ", ".join(s for s, *_ in found)
            raise InputError(
                f"{text} is in stage range {there} of {self.stored.path}, not in {', '.join(stage_ranges)}",
                fix="leave out --stage-range, or name another",
            )
        return queries

    def find_image(self, name="", digest=""):
        """Return a list with the first image of the file that has a name, or its picture in an equal file.

        Parameters
        ----------
        name : name or address of an image; of an address with a digest only the part after the file counts
        digest : digest of a picture file; "" to search for the name

        Returns
        -------
        found : list of (stage range, number of the group, number of the image), with at most one entry
        """
        for s, columns in self.columns.items():
            for i, (other, of_file) in enumerate(zip(columns["image"], columns["picture_digest"])):
                is_equal = digest == of_file and split_address(other)[1:] == split_address(name)[1:]
                if is_equal if digest else other == name:
                    return [(s, self.groups[s].group_numbers[i], i)]
        return []

    def groups_without_terms(self, query, lacks, has):
        """Return the numbers of the groups that do not certainly lack and have some curated terms.

        Groups without annotations are among them.

        Parameters
        ----------
        query : SimilarityQuery
        lacks, has : tuples of terms; if both are empty, the result is, too
            ANY_TERM in `lacks` stands for at least one of the curated terms of the query.

        Raises
        ------
        InputError
            If no gene has one of the terms, or the annotations are not found.  Also if `lacks` has ANY_TERM
            and the query has no curated terms.
        """
        if not (lacks or has):
            return []
        has = set(has)
        lacks = set(lacks)
        if (annotations := (self._curated or self).annotations) is None:
            fix = "name the data set folder: --data-set FOLDER"
            raise InputError(f"there are no curated terms beside {self.stored.path}", fix=fix)
        known = {term for terms in annotations.terms_by_gene.values() for term in terms}
        stage_range = query.stage_range
        groups = self.groups[stage_range]
        terms_of = [
            annotations.terms_of(*gene) for gene in zip(groups.gene, repeat(stage_range), groups.fbgn)
        ]
        own = set().union(*(terms_of[g] or () for g in query.own_groups)) if ANY_TERM in lacks else set()
        if ANY_TERM in lacks and not own:
            what = f"{query.text} has no curated terms in stage range {stage_range}"
            raise InputError(what, fix=f"name a term after --lacks in place of {ANY_TERM}")
        lacks.discard(ANY_TERM)
        asked = lacks | has
        for term in sorted(asked):
            if term not in known:
                raise InputError(
                    f'no gene has the term "{term}".{did_you_mean(term, sorted(known))}',
                    fix="name a term of annotations.csv",
                )
        others = []
        for g, (gene, fbgn, terms) in enumerate(zip(groups.gene, groups.fbgn, terms_of)):
            unknown = annotations.unknown_terms(gene, stage_range, known, fbgn)
            is_wrong = terms is None or unknown & asked or not has <= terms or lacks & terms
            if is_wrong or (own and own <= terms | unknown):
                others.append(g)
        return others

    @cached_property
    def annotations(self):
        """The curated terms of the named data set; otherwise those that the run learned from, or None."""
        curated = choose_terms(self.stored.path.absolute().parent, self._curated)
        return curated.annotations if curated.has_tables else None


def read_image_index(stored, stage_range, groups):
    """Return the ImageIndex of the Groups of a stage range of an open features file."""
    return build_image_index(lambda: (rows for rows, _ in stored.iterate_image_rows(stage_range)), groups)


def _find_queries(text, index, stage_ranges):
    """Return the list with a SimilarityQuery for what a user names, one for each stage range.

    text : name of an image or a gene, or path of a picture; index : SimilarityIndex
    """
    found = index.find_image(text)
    if not found and image_path(text).is_file():
        return _encode_picture(text, index, stage_ranges)
    found = found or [(s, g, None) for s, groups in index.groups.items() for g in groups.find(text)]
    if not found:
        path = index.stored.path
        columns = [c for groups in index.groups.values() for c in (groups.name, groups.gene, groups.fbgn)]
        known = {name for column in columns for name in column if name}
        raise InputError(
            f'"{text}" is no picture, and {path} has no image and no gene of that name.'
            f"{did_you_mean(text, sorted(known))}",
            fix=f"name a picture, or an image or a gene of {path}; capitals count",
        )
    return index.find_queries(text, stage_ranges, found)


@dataclass(frozen=True)
class Seeing(PictureUse):
    """The use of an embryo whose stage range is not known yet: its grey levels, to be encoded later.

    extract : ExtractOptions of the features file
    """

    extract: ExtractOptions
    stage_ranges: tuple = STAGE_RANGES
    is_shown: ClassVar[bool] = False

    def take(self, image, view):
        return view.grey, []


def _encode_picture(text, index, stage_ranges):
    """Return the queries for a picture, which is encoded like the images of the file.

    A picture with the same bytes as one of the file is that image.
    """
    stored = index.stored
    extract = ExtractOptions() if index.is_imported else read_options(stored, ExtractOptions)
    row = _read_embryo(text, extract)
    if known := index.find_image(row.image.name, row.digest):
        return index.find_queries(text, stage_ranges, known)
    _refuse_unclear_stage_range(text, index, stage_ranges)
    queries = []
    for s in stage_ranges or index.groups:
        features = build_encoder(stored, s).encode(row.output).features
        place = index.collection(s).coordinates(features[None])[0]
        queries.append(SimilarityQuery(text, s, place, picture=image_path(text)))
    return queries


def _read_embryo(text, extract):
    """Return the PictureRow of the only embryo on a picture.

    text : address of the picture; extract : ExtractOptions, whether several embryos are searched for

    Raises
    ------
    DataError
        If the picture cannot be read.
    InputError
        If it shows several embryos that can be used, or none.
    """
    image = Image(str(image_path(text)), text, "", STAGE_RANGES[0])
    _, (taken,) = read_rows([image], [Seeing(extract)])
    for fate in taken.failures:
        if fate.image == text:
            raise DataError(f"{text}: {fate.reason}", fix=fate.advice)
    if len(taken.rows) != 1:
        names = [row.image.name for row in taken.rows]
        others = ", ".join(name.removeprefix(f"{text}#") for name in names)
        raise InputError(
            f"{text} shows {len(names)} embryos that can be used",
            fix=f"name one: {names[0]}, or another of {others}"
            if names
            else "name a photograph with whole embryos that do not touch each other",
        )
    return taken.rows[0]


def _refuse_unclear_stage_range(text, index, stage_ranges):
    """Raise an InputError unless a new picture can be encoded like the images that are searched.

    text : the picture as the user named it; index : SimilarityIndex; stage_ranges : those that are searched;
        empty if the user named none
    """
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
