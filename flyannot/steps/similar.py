"""features.h5 to a table of what looks alike."""

from dataclasses import dataclass
from pathlib import Path

from flyannot.errors import InputError
from flyannot.features.similarity import ImageCollection, collection_of, most_similar
from flyannot.runtime.atomic_file import locked_output
from flyannot.runtime.tables import write_table
from flyannot.steps.similar_queries import Query, queries_of, vectors_of
from flyannot.store.reading import kind_claimed, kind_of_file, open_stored

COLUMNS = ("query", "stage_range", "found", "rank", "gene", "fbgn", "image", "view", "similarity")


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


def write_similar(out, found, searched, *, force=False):
    """Write the table of what was found.

    Raises
    ------
    InputError
        If it is there already, and `force` is off.
    WriteError
        If it cannot be written.
    """
    if out.exists() and (not force or out.samefile(searched.stored.path)):
        raise InputError(f"{out} is there already", fix="add --force to replace it")
    with locked_output(out):
        write_table(out, COLUMNS, (row for one in found for row in _rows(one, searched)))


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
        raise InputError(f"{path} holds {kind}, and similar images are found by features",
                         fix="name a file made by: flyannot pool")  # fmt: skip
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
