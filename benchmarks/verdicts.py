"""What verdicts of simulated curators do to a model: gains and losses on genes that nobody looked at.

Some genes teach a first model.  Two curators review others by its answers, and it is adapted to their
verdicts.  The remaining genes are the test.  A curator differs from BDGP in 2% of the terms by opinion and
in 5% of the verdicts by a slip.  In 3% the curator is unsure.  The eye finds 80% of the terms that the page
does not ask for.
"""

from collections import defaultdict
from dataclasses import replace
from itertools import product

import numpy as np

from benchmarks.findings import Finding, Source
from benchmarks.inputs.pictures import PATTERNS
from benchmarks.rows import Rows
from flyannot.base.options import Options
from flyannot.curation.corrections import Correction, format_corrections
from flyannot.dataset.folder import format_annotations, read_annotations, read_images
from flyannot.dataset.importers.wu2016 import STAGE_RANGE, import_wu2016
from flyannot.encode.groups import group_images
from flyannot.encode.options import PoolOptions
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.supplied import supplied_path
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.engine.step import StepRequest
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.models.loaded_model import load_model
from flyannot.pipeline.options import Selection
from flyannot.pipeline.steps.train import ModelTask
from flyannot.terms.metrics import TermOutcomes, score_terms
from flyannot.terms.options import TrainOptions
from flyannot.terms.training_set import annotated_groups, training_rows, truth_matrix

RATES = {"opinion": 0.02, "slip": 0.05, "unsure": 0.03, "found": 0.8}
N_ASKED = 3  # terms of a gene that the page asks for besides the suggested ones
BOTH = 0.2  # of the genes are reviewed by both curators
HOW = {
    "suggested terms and three drawn ones, none added": {"drawn"},
    "the same, and terms added by eye, no gene finished": {"drawn", "eye"},
    "the same, a gene with an added term is finished": {"drawn", "eye", "finished by eye"},
    "the same, every gene is finished": {"drawn", "eye", "finished"},
    "chosen terms instead of drawn ones, terms added by eye, no gene finished": {"eye"},
}


def measure_verdicts(setup):
    """Measure F1 and AUC on other genes before and after adaptation to verdicts, for each way to review."""
    folder = setup.scratch / "verdicts"
    import_wu2016([setup.data_file("wu2016")], folder, Options())
    features = folder / "features.h5"
    inputs = {"descriptors": (folder,), "dictionary": (supplied_path("blastoderm"),)}
    more = {"options": PoolOptions(grid=((2, 4),)), "selection": Selection(), "seed": 0}
    run_task(STEPS["pool"].build_task(StepRequest(inputs=inputs, out=features, **more)), Execution())
    columns, X = read_features([open_stored_file(features, "features")], STAGE_RANGE)
    groups, carried = annotated_groups(group_images(columns), read_annotations(folder), STAGE_RANGE)
    X = training_rows([(0, X)], groups, TrainOptions())
    n_taught = setup.sizes["n_taught"]
    numbers = setup.sizes["n_reviewed"]
    about = zip(groups.gene, groups.fbgn)
    named = [{"gene": gene, "fbgn": fbgn, "stage_range": STAGE_RANGE} for gene, fbgn in about]
    found = defaultdict(list)
    for more_seed, draw in product(setup.sizes["seeds"], range(setup.sizes["n_draws"])):
        of_seed = replace(setup, seed=setup.seed + more_seed)
        order = of_seed.rng(f"genes {draw}").permutation(len(groups))
        teach, reviewed, tested = np.split(order, [n_taught, n_taught + max(numbers)])
        table = folder / f"{more_seed}-{draw}.csv"
        corrections = setup.scratch / "reviewed" / "corrections.csv"
        corrections.parent.mkdir(exist_ok=True)
        terms = (named[g] | {"term": term} for g in teach for term in sorted(carried[g]))
        table.write_text(format_annotations(terms))
        base = _trained(features, CuratedTerms(table), folder / "first.h5", TrainOptions())
        test = X[tested], [carried[g] for g in tested], base.terms
        before = np.array(_scores(base, *test))
        for (how, what), n in product(HOW.items(), numbers):
            rng = of_seed.rng(f"curators {draw} {how}")
            given = []
            for g in reviewed[:n]:
                given += [Correction(**named[g], **one) for one in _review(base, X[g], carried[g], what, rng)]
            corrections.write_text(format_corrections(given))
            curated = CuratedTerms(corrections.parent, (corrections,))
            options = TrainOptions(adapt=folder / "first.h5", corrections=(corrections,))
            adapted = _trained(features, curated, folder / "adapted.h5", options)
            is_adapted = not np.array_equal(adapted.model.slope[: len(base.terms)], base.model.slope)
            found[how, n].append((len(given) / n, is_adapted, *before, *_scores(adapted, *test) - before))
    rows = Rows()
    for (how, n), of_draws in found.items():
        verdicts, is_adapted, f1, auc, *gains = np.array(of_draws).T
        row = {"reviewed": how, "genes": n, "verdicts a gene": verdicts.mean(), "F1 before": f1.mean()}
        row |= {"AUC before": auc.mean(), "draws": len(of_draws), "adapted": int(is_adapted.sum())}
        for name, gain in zip(("F1", "AUC"), gains):
            row |= {f"{name} gain": gain.mean(), f"least {name} gain": gain.min()}
        rows.append(row)
    source = Source(f"{len(read_images(folder)):,} {PATTERNS}; curators are simulated", "rendered")
    return Finding(source, f"coupled ridge; {n_taught} genes teach the first model", rows=rows)


def _trained(features, curated, out, options):
    """Train a model, write it to `out`, and return its StageRangeModel."""
    out.unlink(missing_ok=True)
    run_task(ModelTask([features], curated, out, options), Execution())
    return load_model(out, open_stored_file(out, "model").digest, STAGE_RANGE)


def _scores(model, X, carried, terms):
    """Return the mean F1 of a gene over the first terms, and the mean AUC of terms with eight genes."""
    values = model.model.decision_values(X)
    truth = truth_matrix(carried, terms)
    known = slice(len(terms))
    answers = values, model.model.answers(values), model.model.probabilities(values)
    more = dict(zip(("values", "yes", "probabilities"), (of_one[:, known] for of_one in answers)))
    outcome = TermOutcomes(terms=tuple(terms), truth=truth, **more)
    rare = ["rare" if n < 8 else "" for n in truth.sum(axis=0)]
    f1 = score_terms({STAGE_RANGE: outcome})["summary"]["all"]["groups"]["f1"]
    auc = score_terms({STAGE_RANGE: replace(outcome, reasons=tuple(rare))})["summary"]["all"]["macro"]["auc"]
    return f1, auc


def _review(model, x, carried, what, rng):
    """Yield the verdicts of one or two curators on a gene as dicts of fields of Correction."""
    suggested = model.model.answers(model.model.decision_values(x[None]))[0]
    asked = set(rng.choice(len(model.terms), N_ASKED, replace=False).tolist())
    chance = f"{N_ASKED / len(model.terms):.4f}" if "drawn" in what else ""
    for curator in ("anna", "ben")[: 1 + (rng.random() < BOTH)]:
        verdicts = {}
        for j, term in enumerate(model.terms):
            has = (term in carried) ^ (rng.random() < RATES["opinion"])
            if j in asked or suggested[j]:
                word = "accept" if has ^ (rng.random() < RATES["slip"]) else "reject"
                verdicts[term] = "unsure" if rng.random() < RATES["unsure"] else word
            elif "eye" in what and has and rng.random() < RATES["found"]:
                verdicts[term] = "added"
        added = {*carried} - {*model.terms} if "eye" in what else {}
        verdicts |= {term: "added" for term in sorted(added) if rng.random() < RATES["found"]}
        is_finished = "finished" in what or "finished by eye" in what and "added" in verdicts.values()
        about = {"curator": curator, "date": "2026-01-02", "finished": "yes" if is_finished else ""}
        for term, word in verdicts.items():
            of_term = chance if term in {model.terms[j] for j in asked} else ""
            verdict = word.replace("added", "accept")
            yield about | {"term": term, "verdict": verdict, "chance": of_term}
