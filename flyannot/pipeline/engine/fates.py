"""The table of the fates of pictures: pictures.csv of a run, or NAME-pictures.csv beside NAME.h5."""

import re
from collections import Counter, defaultdict

from flyannot import __version__
from flyannot.base.errors import InputError
from flyannot.base.fates import CROP, FATES, USED, WARNED, PictureFate
from flyannot.base.quality_warnings import QualityWarning, format_warnings, parse_warnings
from flyannot.base.text import pluralise
from flyannot.files.hdf5.description import read_summary
from flyannot.files.hdf5.header import ORIGIN, VERSION, describe_origin
from flyannot.files.hdf5.pictures import pictures_path
from flyannot.files.hdf5.reading import open_stored_file, read_image_metadata
from flyannot.files.tables import is_table_of, read_table, write_table
from flyannot.images.address import file_name_part
from flyannot.images.quality import DORSAL_DOWN, POSTERIOR_LEFT, SEVERAL_EMBRYOS

NAME = "pictures.csv"
_MOST_REASONS = 6  # that a summary names for each fate, or pictures that a warning names
_LINES = re.compile(r"^.*?, lines? [\d and]+[,:] ")  # the place of a fault in a table
_TURN = "if it lies wrong, write how to turn it in the column turned of images.csv"
_REPEATED = "the same picture has another gene"
_ADVICE = {POSTERIOR_LEFT: _TURN, DORSAL_DOWN: _TURN, SEVERAL_EMBRYOS: CROP, _REPEATED: "keep the right one"}


def fates_path(out):
    """Return the Path of the table of fates beside an output that is a file of its own."""
    return pictures_path(out).with_suffix(".csv")


def write_fates(table, fates, out=None):
    """Write the table of fates as a whole; raise an InputError if it would replace a file of another kind.

    table : Path; fates : list of PictureFate; out : Path of the output, whose model and version it names
    """
    if table.exists() and not is_table_of(table, ("fate",)):
        what = f"the table {table} would be replaced, but it is not a table of the fates of pictures"
        raise InputError(what, fix="rename it, and repeat the command")
    made = out and read_summary(out)
    origin = describe_origin(made.header) if made else {VERSION: __version__}
    cells = [origin.get(column, "") for column in ORIGIN]
    write_table(table, (*PictureFate._fields, *ORIGIN), [(*fate, *cells) for fate in fates])


def read_fates(table, files):
    """Read a table of fates; without one, return the fates of the pictures that some files have left out.

    table : Path; files : dict, kind -> StoredFile
    """
    if not table.is_file():
        return [fate for stored in files.values() for fate in stored.failures]
    columns = ("fate", *(name for name in PictureFate._fields if name != "fate"))
    rows = read_table(table, columns[:1], columns[1:])
    return [PictureFate(**dict(zip(columns, cells))) for _, cells in rows]


def format_counts(fates):
    """Format the number of pictures of each fate, and the most frequent reasons, in a few lines."""
    counts = Counter(fate.fate for fate in fates)
    named = ", ".join(f"{counts[fate]:,} {fate}" for fate in FATES if counts[fate])
    lines = [f"{pluralise(len(fates), 'picture')}: {named}" if fates else "no picture"]
    reasons = Counter((fate.fate, reason) for fate in fates for reason in _list_reasons(fate))
    for name in FATES[1:]:
        shown = [f"{reason} ({n:,})" for (fate, reason), n in reasons.most_common() if fate == name]
        more = "; ..." * (len(shown) > _MOST_REASONS)
        lines += [f"  {name}: {'; '.join(shown[:_MOST_REASONS])}{more}"] if shown else []
    return "\n".join(lines)


def _list_reasons(fate):
    """Return the reasons of a fate without its details: kinds of warnings, or a fault without its line."""
    is_warned = fate.fate == WARNED
    return [w.kind for w in parse_warnings(fate.reason)] if is_warned else [_LINES.sub("", fate.reason)]


def list_stored_fates(path):
    """List the fates of the pictures that an HDF5 file has, and of those that were left out when it was made.

    path : Path of the file
    """
    stored = open_stored_file(path)
    fates = list(stored.failures)
    several = []
    pictures = open_stored_file(beside, "pictures") if (beside := pictures_path(path)).is_file() else None
    for s in stored.stage_ranges:
        columns = read_image_metadata(stored, s)
        several.append(columns)
        odds = dict(zip(*(pictures.read_array(s, n) for n in ("image", "stage_odds")))) if pictures else {}
        rows = zip(*(columns[name] for name in ("image", "gene", "view", "quality_warnings")))
        for name, gene, view, said in rows:
            fate = PictureFate(name, gene, s, view, stage_odds=odds.get(name, ""))
            fates.append(judge_warnings(fate, said))
    return judge_repeated(fates, several)


def judge_warnings(fate, warnings):
    """Return the fate of a picture that can be used, with its QualityWarnings as the reason if it has any."""
    if not warnings:
        return fate
    advice = dict.fromkeys(_ADVICE.get(one.kind, "look at the picture and its row") for one in warnings)
    return fate._replace(fate=WARNED, reason=format_warnings(warnings), advice="; ".join(advice))


def judge_repeated(fates, several):
    """Return the fates of pictures, with a warning for used ones if another gene has the same bytes.

    Different planes of one file are different pictures, and so are embryos of one photograph.

    fates : list of PictureFate
    several : list of dicts of lists, the columns of images, with image, gene, fbgn and picture_digest
    """
    of_picture = defaultdict(dict)
    for columns in several:
        rows = zip(*(columns[column] for column in ("image", "gene", "fbgn", "picture_digest")))
        for name, gene, fbgn, digest in rows:
            parts = name[len(file_name_part(name)) :].split("#")
            plane = tuple(part for part in parts if not part.startswith("turned="))
            of_picture[digest, plane][name] = fbgn or gene or name
    others = {}
    for genes in of_picture.values():
        if len(set(genes.values())) > 1:  # one picture of each gene is named first
            names = [*dict.fromkeys([*{gene: name for name, gene in genes.items()}.values(), *genes])]
            some = names[:_MOST_REASONS] + ["..."] * (len(names) > _MOST_REASONS)
            others |= dict.fromkeys(genes, QualityWarning(_REPEATED, "; ".join(some)))
    for i, fate in enumerate(fates):
        if fate.image in others and fate.fate in (USED, WARNED):
            fates[i] = judge_warnings(fate, [*parse_warnings(fate.reason), others[fate.image]])
    return fates
