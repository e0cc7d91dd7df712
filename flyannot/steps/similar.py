"""Which genes and images look alike: what is looked for, what is found in features.h5, and its table."""

from dataclasses import dataclass
from pathlib import Path

from flyannot.dataset.images import find_pictures, pictures_of_file
from flyannot.descriptors.extract import DescribedPatches, describe_patches
from flyannot.descriptors.images.address import file_of_address, name_of_embryo, split_address
from flyannot.descriptors.images.picture import embryos_at, read_embryo
from flyannot.errors import InputError, did_you_mean
from flyannot.features.groups import Groups, groups_of
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.pooling import Pooled
from flyannot.features.similarity import ImageCollection, collection_of, most_similar
from flyannot.runtime.tables import write_table
from flyannot.steps.engine.inputs import extract_options, is_imported, lam_of_dictionary, pool_options
from flyannot.steps.engine.task import output_file
from flyannot.steps.runs.configuration import recorded_data_set
from flyannot.store.features import read_features_of_image
from flyannot.store.reading import kind_claimed, kind_of_file, open_stored, read_image_columns

COLUMNS = ("query", "stage_range", "found", "rank", "gene", "fbgn", "image", "view", "similarity")


def similar(searched, texts, *, top=20, stage_ranges=()):
    """Rank the genes and the images of a features file by their similarity to each query.

    A query is compared with the images of its stage range.  Its own image and its own gene are left out; the
    other images of its gene are not.

    Parameters
    ----------
    searched : Searched
    texts : as `queries_of` takes them
    top : how many genes, and how many images, are found
    stage_ranges : those that are searched; empty for all

    Yields
    ------
    found : Found, in the order of the texts

    Raises
    ------
    As `queries_of`.
    """
    queries = [query for text in texts for query in queries_of(text, searched, stage_ranges)]
    collections = {}
    for query in queries:
        s = query.stage_range
        if s not in collections:
            collections[s] = collection_of(_blocks(searched, s), searched.groups[s])
        yield _ranked(query, collections[s], searched, top)


def _blocks(searched, stage_range):
    return lambda: (rows for rows, _ in searched.stored.blocks_of_images(stage_range))


def _ranked(query, collection, searched, top):
    groups = searched.groups[query.stage_range]
    if query.group is not None:
        place, own = collection.groups[query.group], groups.rows[query.group]
    else:
        place = collection.coordinates(vectors_of(query, searched))[0]
        own = [] if query.image is None else [query.image]
    to_images, to_groups = collection.images @ place, collection.groups @ place
    best = most_similar(to_groups, top, without=[] if query.own_group is None else [query.own_group])
    return Found(
        query,
        [(int(g), int(max(groups.rows[g], key=lambda i: to_images[i])), float(to_groups[g])) for g in best],
        [(int(i), float(to_images[i])) for i in most_similar(to_images, top, without=own)],
        collection,
    )


def write_similar(out, results, searched, *, force=False):
    """Write the table of what was found, a list of Found.

    Raises
    ------
    InputError
        If it is there already, and `force` is off.
    WriteError
        If it cannot be written.
    """
    with output_file(out, [searched.stored.path], force=force):
        write_table(out, COLUMNS, (row for result in results for row in _rows(result, searched)))


def _rows(found, searched):
    s = found.query.stage_range
    columns = searched.columns[s]

    def row(what, rank, number, similarity):
        names = (columns[name][number] for name in ("gene", "fbgn", "image", "view"))
        return found.query.text, s, what, str(rank), *names, f"{similarity:.4f}"

    for rank, (_, number, similarity) in enumerate(found.genes, 1):
        yield row("gene", rank, number, similarity)
    for rank, (number, similarity) in enumerate(found.images, 1):
        yield row("image", rank, number, similarity)


def features_file_of(path):
    """The features file that is searched: `path`, or of a model the file that it learned from, beside it.

    Raises
    ------
    InputError
        If it is another kind of file, or the model's features do not lie beside it.
    DataError
        If it is damaged.
    """
    kind = kind_of_file(path)
    if kind == "features":
        return path
    if kind != "model":
        raise InputError(
            f"{path} holds {kind}, and similar images are found by features",
            fix="name a file made by: flyannot pool",
        )
    with open_stored(path, "model") as model:
        wanted = model.inputs.get("features", [])
    for other in sorted(Path(path).absolute().parent.glob("*.h5")):
        if kind_claimed(other) == "features":
            with open_stored(other, "features") as stored:
                if stored.digest in wanted:
                    return other
    raise InputError(
        f"{path} is a model, which holds no images, and the features that it learned from are not beside it",
        fix="name the features file that it learned from",
    )


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


@dataclass(frozen=True)
class Found:
    """What is most like one query, the most similar first.

    genes : list of (number of the group, number of its most similar image, similarity of the group)
    images : list of (number of the image, similarity)
    collection : that the query was compared with
    """

    query: Query
    genes: list
    images: list
    collection: ImageCollection


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
            self._pictures = find_pictures(pictures_of_file(self.stored), folder, named)
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
    queries = _of_image(text, number, searched) if number else _of_gene(text, searched)
    chosen = [query for query in queries if not stage_ranges or query.stage_range in stage_ranges]
    if not chosen:
        there = ", ".join(query.stage_range for query in queries)
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
    queries, known = [], set()
    for s, groups in searched.groups.items():
        for g, names in enumerate(zip(groups.gene, groups.fbgn, groups.name)):
            known.update(filter(None, names))
            if text in names:
                queries.append(Query(text, s, group=g, own_group=g))
    if not queries:
        path = searched.stored.path
        raise InputError(
            f'"{text}" is no picture, and {path} has no image and no gene of that name.'
            f"{did_you_mean(text, sorted(known))}",
            fix=f"name a picture, or an image or a gene of {path}; capitals count",
        )
    return queries


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
    atoms = atoms_of_features(D, lam_of_dictionary(stored), extract.patch_px, coder_name=pool.coder)
    path = Path(_one_embryo(Path(text), extract))
    described = describe_patches(read_embryo(path, extract)[0], extract)
    pooled = features_of(described, atoms, pool)
    return Query(text, stage_range, path=path, pooled=pooled, described=described)


def _one_embryo(path, extract):
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


def vectors_of(query, searched):
    """The feature vector of an image query, (1, n_features)."""
    if query.pooled is not None:
        return query.pooled.features[None]
    return read_features_of_image(searched.stored, query.stage_range, query.image)[0]
