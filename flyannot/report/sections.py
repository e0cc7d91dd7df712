"""The sections of the page as HTML, but for the scores: what is not computed anew, only shown."""

import json

from markupsafe import Markup

from flyannot.descriptors.sift import N_FEATURES
from flyannot.report.atoms import N_PATCHES, PATCH_PX
from flyannot.report.charts import trace_chart
from flyannot.report.glyphs import atom_glyph
from flyannot.report.templates import render
from flyannot.store.schema import MADE_BY

_FIRST_ATOMS = 12  # shown before more are asked for


def groups_section(stages, *, held_out, why_no_maps):
    """The section of the groups without its list, which the page's script fills.

    Parameters
    ----------
    stages : list of (number, stage range)
    held_out : whether there are values of cross-validation
    why_no_maps : "" or why there are none
    """
    return render("groups.html", stages=stages, held_out=held_out, why_no_maps=why_no_maps)


def dictionary_section(traces, sheets):
    """The trace of learning and the atoms, stage range by stage range; "" without either.

    Parameters
    ----------
    traces : dict from stage range to (epochs, objectives)
    sheets : dict from stage range to flyannot.report.atoms.AtomSheet
    """
    if not traces and not sheets:
        return ""
    chart = ""
    if traces:
        ends = [f"{s} from {y[0]:.4g} to {y[-1]:.4g}" for s, (_, y) in traces.items()]
        summary = f"Objective after every epoch: {'; '.join(ends)}"
        chart = trace_chart(traces, x_name="epoch", y_name="objective", summary=summary)
    glyphs = {
        s: [atom_glyph(row[:N_FEATURES], f"glyph of atom {atom}") for atom, row in zip(sheet.atoms, sheet.D)]
        for s, sheet in sheets.items()
    }
    return render(
        "dictionary.html", chart=chart, sheets=sheets, glyphs=glyphs, n_first=_FIRST_ATOMS,
        n_patches=N_PATCHES, patch_px=PATCH_PX,
        rows=[(s, str(len(x)), f"{y[0]:.5g}", f"{y[-1]:.5g}") for s, (x, y) in traces.items()],
    )  # fmt: skip


def origin_section(stored_files, failures, notes, stages):
    """Which file was made from which, with all options, and what was skipped.

    Parameters
    ----------
    stored_files : list of flyannot.store.reading.Stored
    failures : list of (file, image, reason)
    notes : sentences
    stages : as `flyannot.report.term_ids.TermIds.stage_links` returns
    """
    known = {stored.digest: stored.path.name for stored in stored_files}
    return render(
        "origin.html",
        files=[_file_row(stored, known) for stored in stored_files],
        options_of={
            stored.path.name: [(_code(name), _code(json.dumps(v))) for name, v in _flat(stored.options)]
            for stored in stored_files
        },
        skipped=failures,
        notes=notes,
        stages=stages,
    )


def _file_row(stored, known):
    sources = [
        Markup("{} {}").format(role, _code(known.get(digest, digest[:12])))
        for role, digests in stored.inputs.items()
        for digest in digests
    ]
    seed = "" if stored.seed is None else str(stored.seed)
    name, made_by, digest = stored.path.name, MADE_BY[stored.kind], _code(stored.digest[:12])
    return name, made_by, stored.version, seed, digest, Markup("<br>").join(sources)


def _code(text):
    return Markup("<code>{}</code>").format(text)


def _flat(options, prefix=""):
    for name in sorted(options):
        value = options[name]
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
