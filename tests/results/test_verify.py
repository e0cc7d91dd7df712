"""`flyannot verify` finds what a table came from, and holds a model to the answers on its test pictures."""

import shutil
from pathlib import Path

from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.supplied import supplied_path


def test_tables_name_their_model_which_verify_finds_or_says_is_missing(
    flyannot, chain, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for kind in ("model", "features"):
        shutil.copy(chain.kinds[kind], f"{kind}.h5")
    flyannot("annotate model.h5 E -o terms.h5", E=chain.embryos, code=0)
    flyannot("export terms.h5 --to xlsx -o terms.xlsx", code=0)
    flyannot("export features.h5 --to csv -o features.csv", code=0)
    tables = {f"terms{name}": "model" for name in (".csv", "-pictures.csv", ".xlsx")} | {
        "features.csv": "features"
    }
    for table, kind in tables.items():
        assert f"made from {kind}.h5" in flyannot("verify T", T=table, code=0).out, table
    digest = open_stored_file("model.h5").digest
    Path("model.h5").unlink(), Path("features.h5").unlink()
    for table, kind in tables.items():
        said = flyannot("verify T", T=table, code=65).out
        assert "no file in " in said and (f"model_digest {digest}" in said) == (kind == "model"), table
    assert "does not say" in flyannot("verify T", T=chain.embryos / "images.csv", code=65).out


def test_a_shared_model_is_held_to_its_answers_and_its_card(flyannot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    supplied = supplied_path("blastoderm")
    shutil.copy(supplied, "mine.h5")
    shutil.copytree(supplied.with_name("blastoderm-test"), "mine-test")
    answers = Path("mine-test/answers.csv")
    whole = answers.read_text()
    card = Path("models.toml")
    card.write_text('[mine]\nauthor = "A"\nlicence = "CC0"\ncontact = "a@example.org"\n')
    verified = flyannot("verify mine.h5", code=0)
    said = verified.out
    assert verified.err == ""
    assert (
        "93 answers on test pictures as expected" in said and "author: A; licence: CC0; contact: a@e" in said
    )
    for *changed, n in (
        (",no", ",yes", 2),
        (",0.7", ",0.6", 1),
        (",0.7", ",none", 1),
        (" nascendi,", ",", 2),
    ):
        answers.write_text(whole.replace(*changed, 1))
        assert f"{n} of 93 answers are not as in" in flyannot("verify mine.h5", code=65).out, changed
    card.write_text('[mine]\nauthor = "A"\nlicence = 1\n')
    assert "does not say licence, contact of mine" in flyannot("verify mine.h5", code=65).out
    answers.unlink()
    assert "without test pictures" in flyannot("verify mine.h5", code=0).out
