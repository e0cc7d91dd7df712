"""`flyannot evaluate --retrieval`."""

import json

_LINE = "evaluate F A --folds 2 --min-groups 6 --method ridge"


def test_scores_of_what_looks_alike_are_printed_and_written(flyannot, chain, tmp_path):
    out = tmp_path / "scores.json"
    said = flyannot(f"{_LINE} --retrieval --json S", F=chain.features, A=chain.annotations, S=out)
    assert said.code == 0, said.err
    scores = json.loads(out.read_text())["retrieval"]
    assert list(scores) == ["4-6", "11-12", "all"]
    for stage_range in ("4-6", "11-12"):
        assert scores[stage_range]["shared_terms"]["value"] > scores[stage_range]["shared_terms"]["chance"]
        on_map = scores[stage_range]["shared_terms_on_map"]
        assert on_map["value"] > on_map["chance"] == scores[stage_range]["shared_terms"]["chance"]
        assert f"{stage_range}: terms shared with the nearest 10 genes on the map of patterns" in said.out
        value = scores[stage_range]["same_gene"]["value"]
        assert f"{stage_range}: AUC of a gene's other images {value:.3f}" in said.out
    assert scores["all"]["same_gene"]["value"] > 0.5
    plain = flyannot(f"{_LINE} --json -", F=chain.features, A=chain.annotations)
    assert "retrieval" not in json.loads(plain.out)
