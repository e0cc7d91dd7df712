"""The state of a run, from what lies in its folder: files, their headers, parts that wait, and locks.

Nothing is locked or written, so that it may be asked for at any time and from any machine.  There is no other
record that could say otherwise; what cannot be seen (how far a step without parts is) is not guessed.
"""

import logging
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flyannot.dataset.folder import read_images
from flyannot.dataset.selection import select_images
from flyannot.errors import FlyannotError, InputError
from flyannot.runtime.locks import holder_of
from flyannot.scores.group_outcomes import read_scores
from flyannot.steps.engine.configuration import RECORD, TABLES, read_record
from flyannot.steps.learn_dict import header_of_learning
from flyannot.steps.runs.outputs_on_disk import pieces_of
from flyannot.steps.runs.step_status import StepStatus, Wanted, status_of_file, status_of_pieces

KIND = {"extract": "descriptors", "learn-dict": "dictionary", "pool": "features", "train": "model",
        "annotate": "predictions"}  # fmt: skip
_FROM = {"learn-dict": ("descriptors",), "pool": ("descriptors", "dictionary"), "train": ("features",),
         "annotate": ("model",)}  # fmt: skip
_SCORES, _PAGE = "scores.json", "report.html"


@dataclass(frozen=True)
class RunStatus:
    """state : "done", "running", "interrupted" (nobody works on what is not done) or "waiting" (to begin)"""

    folder: Path
    state: str
    steps: tuple[StepStatus, ...]


def status_of_run(folder, report_task=None):
    """The state of what `flyannot run` or a workflow leaves in a folder.

    Parameters
    ----------
    folder : Path
    report_task : as of `flyannot.steps.runs.run.steps_of`; without one, a report that is there is current

    Raises
    ------
    InputError
        If there is nothing of a run in the folder.
    DataError
        If its record is not what was written.
    """
    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}", fix="name the output folder of: flyannot run CONFIG")
    record = read_record(folder)
    pieces = {step: pieces_of(folder, kind) for step, kind in KIND.items()}
    if record is None and not any(pieces.values()):
        names = ".h5, no ".join(KIND.values())
        raise InputError(
            f"{folder} holds nothing of a run: no {RECORD}, no {names}.h5",
            fix="name the output folder of: flyannot run CONFIG",
        )
    options = _options(record)
    steps = _synthesis(folder, record) + _steps_of_files(folder, record, options, pieces)
    steps.append(_scores(folder / _SCORES, pieces))
    steps.append(_report(folder, record, options, report_task, steps))
    at_work = holder_of(folder / RECORD) is not None or any(one.state == "running" for one in steps)
    return RunStatus(folder, "running" if at_work else _at_rest(steps), tuple(steps))


def _at_rest(steps):
    states = {one.state for one in steps}
    return states.pop() if len(states) == 1 and states <= {"done", "waiting"} else "interrupted"


def _options(record):
    if record is None:
        return {}
    return {name: kind.of_table(record.get(name, {}), f"[{name}]") for name, kind in TABLES.items()}


def _synthesis(folder, record):
    if record is None or "synthesize" not in record:
        return []
    return [status_of_file("synthesize", _data_set(folder, record), made="images.csv")]


def _data_set(folder, record):
    return Path(folder, record["data-set"])


def _steps_of_files(folder, record, options, pieces):
    """The steps whose outputs are HDF5 files."""
    tables, found = _wanted_tables(options), []
    images = _images_by_stage_range(folder, record, options)
    digests = {
        KIND[step]: {one.made.header.digest for one in mine if one.made} for step, mine in pieces.items()
    }
    n_shards = max((one.shard[1] for mine in pieces.values() for one in mine), default=0)
    for step, mine in pieces.items():
        total, unit = _total(step, images, options, pieces)
        wanted = Wanted(
            tables,
            None if record is None else record["seed"],
            {role: digests[role] for role in _FROM.get(step, ())},
            total,
            unit,
            n_shards if step in ("extract", "pool", "annotate") else 0,
        )
        found.append(status_of_pieces(step, mine, wanted))
    return found


def _wanted_tables(options):
    """The options of the steps as the headers of files have them, by their names there."""
    if not options:
        return {}
    tables = {name: options[name].as_header() for name in ("extract", "pool", "classify", "annotate")}
    return tables | {"learn": header_of_learning(options["learn-dict"])}


def _total(step, images, options, pieces):
    """How much a step has to do, as (number or None, unit); nothing is said of those that count neither."""
    described = [one.made for one in pieces["extract"] if one.made]
    if step == "learn-dict":
        if not options or not described:
            return None, "epoch"
        learn, ranges = options["learn-dict"], {s for one in described for s in one.stage_ranges}
        return learn.n_epochs * (1 if learn.shared else len(ranges)), "epoch"
    if step == "pool":
        return sum(one.n_images for one in described) or None, "image"
    if step in ("extract", "annotate") and options and options["extract"].multiple_embryos:
        return None, "embryo"  # how many are on the photographs is not known
    if step == "annotate":
        known = {s for one in pieces["train"] if one.made for s in one.made.stage_ranges}
        return sum(n for s, n in images.items() if s in known or not known) or None, "image"
    return (sum(images.values()) or None, "image") if step == "extract" else (None, "")


def _images_by_stage_range(folder, record, options):
    """Stage range -> how many images the run is to work on; {} where the data set cannot be read."""
    if record is None:
        return {}
    chosen = options["select"]
    try:
        with _unheard():  # what the table has that is odd was said when it was read for the run
            images = read_images(_data_set(folder, record))
            images = select_images(images, views=chosen.view, stage_ranges=chosen.stage_range)
    except FlyannotError:
        return {}
    return Counter(image.stage_range for image in images)


@contextmanager
def _unheard():
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _scores(path, pieces):
    found = status_of_file("evaluate", path)
    if found.state != "done":
        return found
    try:
        made_from = read_scores(path)["made_from"]
    except FlyannotError as error:
        return found.with_state("damaged", error.message)
    models = {one.made.header.digest for one in pieces["train"] if one.made}
    if made_from.get("model") and models and made_from["model"] not in models:
        return found.with_state("outdated", "it was made from another model")
    return found


def _report(folder, record, options, report_task, before):
    """That it is current takes a look at the whole run: only where nothing else is to do."""
    found = status_of_file("report", folder / _PAGE)
    if found.state != "done" or record is None or report_task is None:
        return found
    if any(one.state != "done" for one in before):
        return found.with_state("outdated", "what it shows has changed")
    try:
        why = report_task(folder, folder / _PAGE, _data_set(folder, record), options["report"]).why()
    except FlyannotError as error:
        why = error.message
    return found.with_state("outdated", why) if why else found
