"""The summary of an import in words."""

_MOST_TERMS = 20
_MOST_MERGED = 5
_COLUMNS = {
    "n_images": "images",
    "n_genes": "genes",
    "n_groups": "groups",
    "n_annotated_groups": "annotated",
    "n_genes_without_images": "no image",
}


def summary_text(summary):
    """What was taken, what was rejected and why, stage range by stage range, and the terms by frequency."""
    blocks = [
        *(_sort(sort, counts) for sort, counts in summary["log"].items()),
        _stage_ranges(summary["stage_ranges"]),
        _genes(summary),
        _terms(summary["terms"]),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _sort(sort, counts):
    yield f"{sort}: {counts['total']:,} read, {counts['taken']:,} taken"
    for reason, n in counts["rejected"].items():
        yield f"  {n:>9,}  rejected: {reason}"


def _stage_ranges(counts):
    yield f"{'stages':<8}" + "".join(f"{word:>11}" for word in _COLUMNS.values())
    for stage_range, found in counts.items():
        yield f"{stage_range:<8}" + "".join(f"{found[name]:>11,}" for name in _COLUMNS)
    yield "(groups: genes with images; no image: annotated genes without one)"


def _genes(summary):
    unknown = summary["n_genes_without_fbgn"]
    yield f"genes: {summary['n_genes']:,}, {unknown:,} of them without FlyBase number"
    merged = summary["one_gene"]
    if merged:
        pairs = ", ".join(f"{a} = {b}" for a, b in merged[:_MOST_MERGED])
        more = f" and {len(merged) - _MOST_MERGED:,} more" if len(merged) > _MOST_MERGED else ""
        yield f"one gene under two names, because they share an image: {pairs}{more}"


def _terms(terms):
    if not terms:
        return
    yield f"terms: {len(terms):,}, in genes and stage ranges"
    for term, n in list(terms.items())[:_MOST_TERMS]:
        yield f"  {n:>9,}  {term}"
    if len(terms) > _MOST_TERMS:
        yield f"  and {len(terms) - _MOST_TERMS:,} more, all in import.json"
