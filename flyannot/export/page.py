"""Predictions as one plain HTML page: no script, no network, everything escaped."""

from html import escape

from flyannot.export.rows import images_of_groups, ranked
from flyannot.steps.predictions import read_predictions

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.4 system-ui, sans-serif; }
body { margin: 1rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.5rem; }
caption { text-align: left; font-weight: bold; padding: .3rem 0; }
th, td { text-align: left; padding: .2rem .5rem; border-bottom: 1px solid #8886; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.images { font-weight: normal; overflow-wrap: anywhere; }
"""


def write_predictions_html(stored, stage_ranges, path):
    """A table for each group: its terms answered yes, or the most probable one, with probabilities."""
    lines = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Predicted terms</title><style>{_STYLE}</style></head><body>",
        f"<h1>Predicted terms</h1><p>From predictions with digest <code>{escape(stored.digest)}</code>.</p>",
    ]
    for stage_range in stage_ranges:
        lines.append(f"<h2>Stages {escape(stage_range)}</h2>")
        lines += _tables(stored, stage_range)
    path.write_text("\n".join([*lines, "</body></html>"]) + "\n", encoding="utf-8")


def _tables(stored, stage_range):
    groups, predicted = read_predictions(stored, stage_range)
    images = images_of_groups(stored, stage_range, groups)
    for g in range(len(groups)):
        order = ranked(predicted.probability[g])
        shown = [j for j in order if predicted.yes[g, j]] or order[:1]
        known = " (learned from this gene)" if predicted.in_training[g] else ""
        name = " ".join(dict.fromkeys(filter(None, (groups.gene[g] or groups.name[g], groups.fbgn[g]))))
        yield f"<table><caption>{escape(name)}{known}<br>"
        yield f'<span class="images">{escape(", ".join(images[g]))}</span></caption>'
        yield '<tr><th scope="col">term</th><th scope="col">probability</th><th scope="col">answer</th></tr>'
        for j in shown:
            answer = "yes" if predicted.yes[g, j] else "no"
            yield (
                f'<tr><th scope="row">{escape(predicted.terms[j])}</th>'
                f'<td class="number">{predicted.probability[g, j]:.3f}</td><td>{answer}</td></tr>'
            )
        yield "</table>"
