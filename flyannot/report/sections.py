"""The sections of the page as HTML: what is not computed anew, only shown."""

import json
from html import escape

from flyannot.descriptors.sift import N_FEATURES
from flyannot.report.atoms import N_SHOWN, N_WINDOWS, WINDOW_PX
from flyannot.report.charts import trace_chart
from flyannot.report.glyphs import atom_glyph
from flyannot.report.html import code, filled, items, region, table
from flyannot.report.pictures import as_url
from flyannot.report.scores_section import calibration_panel, curve_panels, scores_table
from flyannot.report.term_ids import NO_IDS
from flyannot.store.schema import MADE_BY

_FIRST_ATOMS = 12  # shown before more are asked for

_HELD_OUT = (
    "The probabilities are those of cross-validation, by models that had never seen the gene; where a "
    "term was not judged so, the final model answers, marked *, and it may have learned from this very gene."
)
_FINAL = (
    "The probabilities are those of the final model, marked *, which may have learned from the same genes."
)
_MAPS = (
    "The button Map colours the images: orange where they speak for the term, blue where they speak against "
    "it. The final model's decision value is split exactly over the windows that won its features."
)
_TRACE = (
    "The objective is what learning makes small: half the squared error of writing a patch by atoms, plus "
    "the price of the atoms used, mean over a fixed sample of patches. It should fall and level off."
)
_GLYPHS = (
    "A glyph shows the gradients that the atom stands for, in 4 x 4 cells and 8 directions from dark to "
    "bright: stronger than the mean in the colour of the text, weaker in orange. Beside it are the windows "
    f"that use it most, at most {N_WINDOWS}, one an image."
)


def groups_section(stage_numbers, *, held_out, why_no_maps):
    """The section of the groups without its list, which the page's script fills.

    Parameters
    ----------
    stage_numbers : list of (number, stage range)
    held_out : whether there are values of cross-validation
    why_no_maps : "" or why there are none
    """
    stages = "".join(f'<option value="{number}">{name}</option>' for number, name in stage_numbers)
    maps = f"There are no maps: {why_no_maps}." if why_no_maps else _MAPS
    told = _HELD_OUT if held_out else _FINAL
    return filled("groups.html", stages=stages, held_out=told, maps=escape(maps))


def scores_section(scores, ids=NO_IDS):
    """The table of scores with its filters, the curves, and calibration; "" without scores."""
    if scores is None:
        return ""
    present = dict.fromkeys(row["stage_range"] for row in scores["terms"])
    shown = filled(
        "scores.html",
        notes=items(sentence(note) for note in scores.get("notes", ())),
        stages="".join(f"<option>{name}</option>" for name in present),
        table=region(scores_table(scores, ids), "Scores of every term"),
    )
    panels, calibration = curve_panels(scores), calibration_panel(scores)
    if panels:
        templates = [f'<template data-curves="{name}">{html}</template>' for name, html in panels.items()]
        shown += filled("curves.html", templates="".join(templates))
    if calibration:
        shown += f'<section id="calibration"><h3>Calibration</h3>{calibration}</section>'
    return shown


def sentence(text):
    """A note as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def dictionary_section(traces, sheets):
    """The trace of learning and the atoms, stage range by stage range.

    Parameters
    ----------
    traces : dict from stage range to (epochs, objectives)
    sheets : dict from stage range to flyannot.report.atoms.AtomSheet
    """
    parts = [_trace(traces)] if traces else []
    parts += [_atoms(number, s, sheet) for number, (s, sheet) in enumerate(sheets.items())]
    return "".join(parts)


def _trace(traces):
    ends = [f"{s} from {y[0]:.4g} to {y[-1]:.4g}" for s, (_, y) in traces.items()]
    says = f"Objective after every epoch: {'; '.join(ends)}"
    rows = [[s, str(len(x)), f"{y[0]:.5g}", f"{y[-1]:.5g}"] for s, (x, y) in traces.items()]
    heads = ["Stage range", "Epochs", "First", "Last"]
    chart = trace_chart(traces, x_name="epoch", y_name="objective", says=says)
    return (
        f'<h3>How learning went</h3><p>{_TRACE}</p><div class="charts"><figure class="wide">{chart}</figure>'
        f"{table(heads, rows, label='Objective', numbers=(1, 2, 3))}</div>"
    )


def _atoms(number, stage_range, sheet):
    shown = len(sheet.atoms)
    listed = "".join(_atom(number, row, sheet, hidden=row >= _FIRST_ATOMS) for row in range(shown))
    more = ""
    if shown > _FIRST_ATOMS:
        more = f'<p><button type="button" data-more="atoms-{number}">Show {shown} atoms</button></p>'
    return (
        f"<h3>Atoms of stage range {stage_range}</h3>"
        f"<p>The {min(N_SHOWN, shown)} most used of {sheet.n_atoms:,} atoms. {_GLYPHS}</p>"
        f'<ul class="atoms" id="atoms-{number}">{listed}</ul>{more}'
    )


def _atom(number, row, sheet, *, hidden):
    atom = sheet.atoms[row]
    glyph = atom_glyph(sheet.D[row, :N_FEATURES], f"glyph of atom {atom}")
    windows = "".join(
        f'<span class="window sheet-{number}" role="img" aria-label="window {column + 1} of atom {atom}" '
        f'style="background-position:-{column * WINDOW_PX}px -{row * WINDOW_PX}px"></span>'
        for column in range(sheet.n_windows[row])
    )
    users = f"in {sheet.n_users[row]:,} of {sheet.n_images:,} images"
    return (
        f"<li{' hidden' if hidden else ''}>{glyph}<div><p><strong>Atom {atom}</strong><br>"
        f'<span class="quiet">{users}</span></p><div class="windows">{windows}</div></div></li>'
    )


def sheet_styles(sheets):
    """The rules of style that hold the windows of the atoms."""
    return "\n".join(
        f".sheet-{number} {{ background-image: url({as_url(sheet.sheet)}); }}"
        for number, sheet in enumerate(sheets.values())
        if sheet.sheet
    )


def provenance_section(stored_files, failures, notes):
    """Which file was made from which, with all options, and what was skipped.

    Parameters
    ----------
    stored_files : list of flyannot.store.reading.Stored
    failures : list of (file, image, reason)
    notes : sentences
    """
    known = {stored.digest: stored.path.name for stored in stored_files}
    heads = ["File", "Made by", "Version", "Seed", "Digest", "Made from"]
    rows = [_file_row(stored, known) for stored in stored_files]
    parts = [f"<ul>{items(notes)}</ul>" if notes else "", table(heads, rows, label="Files")]
    parts += [_options(stored) for stored in stored_files]
    if failures:
        skipped = items(f"{name}: {image}: {reason}" for name, image, reason in failures)
        parts.append(f"<h3>Skipped images</h3><ul>{skipped}</ul>")
    return "".join(parts)


def _file_row(stored, known):
    sources = [
        f"{escape(role)} {code(known.get(digest, digest[:12]))}"
        for role, digests in stored.inputs.items()
        for digest in digests
    ]
    seed = "" if stored.seed is None else str(stored.seed)
    made_by, version = escape(MADE_BY[stored.kind]), escape(stored.version)
    name = escape(stored.path.name)
    return [name, made_by, version, seed, code(stored.digest[:12]), "<br>".join(sources)]


def _options(stored):
    rows = [[code(name), code(json.dumps(value))] for name, value in _flat(stored.options)]
    name = f"Options of {stored.path.name}"
    return f"<details><summary>{escape(name)}</summary>{table([], rows, label=name)}</details>"


def _flat(options, prefix=""):
    for name in sorted(options):
        value = options[name]
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
