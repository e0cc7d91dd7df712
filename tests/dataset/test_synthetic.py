"""Laws of the synthetic embryos: what they depend on, and that their labels are true."""

import csv
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from flyannot.base.stage_ranges import STAGE_RANGES, stage_range_rng
from flyannot.dataset.folder import read_annotations, read_images
from flyannot.dataset.synthetic import SynthesizeOptions, generate, render
from flyannot.dataset.synthetic.generate import NO_STAINING, draw_group, render_group_image, synthesize
from flyannot.jobs.executor import Executor, _Pace
from flyannot.pipeline.commands.synthesize import DEMO

ROOT = Path(__file__).resolve().parents[2]
EVERY_TERM = [(stage_range, term) for stage_range in STAGE_RANGES for term in render.TERMS[stage_range]]
SMALL = SynthesizeOptions(n_genes=3, stage_range=("4-6", "13-16"), max_images=2)


def bytes_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def grey(stage_range, strengths, seed, **more):
    """Return the grey levels (height, width) of a picture with terms of some strengths."""
    return render.render_embryo(stage_range, strengths, np.random.default_rng(seed), **more).mean(axis=2)


@cache
def bare(stage_range, seed):
    """Return the grey levels of a picture without terms."""
    return grey(stage_range, {}, seed)


@pytest.fixture(scope="module")
def small_set(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic") / "set"
    return folder, synthesize(folder, SMALL)


def test_the_same_seed_gives_the_same_bytes_whatever_the_other_genes_and_stage_ranges(
    small_set, tmp_path, monkeypatch
):
    monkeypatch.setattr(generate, "_GROUPS_PER_TASK", 1)
    monkeypatch.setattr(_Pace, "n_processes", lambda pace, most: most)
    with Executor(2) as workers:
        synthesize(tmp_path / "again", SMALL, workers=workers)
    synthesize(tmp_path / "other", SMALL, seed=1)
    synthesize(tmp_path / "one", SynthesizeOptions(n_genes=1, stage_range=("13-17",), max_images=2))
    first, again, other, one = map(
        bytes_of, (small_set[0], *(tmp_path / n for n in ("again", "other", "one")))
    )
    assert first == again
    assert all(first[name] != other[name] for name in set(first) & set(other) if name.startswith("images/"))
    pictures = [name for name in one if name.startswith("images/")]
    assert pictures and all(one[name] == first[name] for name in pictures)


def test_the_tables_agree_with_the_files_and_the_summary(small_set):
    folder, summary = small_set
    images, annotations = read_images(folder), read_annotations(folder)
    on_disk = sorted((folder / "images").iterdir())
    assert sorted(image.path for image in images) == on_disk
    groups = {(image.gene, image.stage_range) for image in images}
    assert groups == set(annotations.terms_by_gene)
    assert {image.source for image in images} == {"synthetic"}
    assert {image.view for image in images} <= {"lateral", "dorsal"}
    n_annotations = sum(map(len, annotations.terms_by_gene.values()))
    counts = {"images": len(on_disk), "groups": 6, "genes": 3, "annotations": n_annotations}
    assert summary == counts and len(groups) == 6
    for name in ("images.csv", "annotations.csv"):
        raw = (folder / name).read_bytes()
        assert b"\r" not in raw and raw.endswith(b"\n")
        rows = list(csv.DictReader(raw.decode("utf-8").splitlines()))
        assert all(None not in row and all(row.values()) for row in rows)


def test_pictures_are_stained_bodies_on_white_ground(small_set):
    for path in (small_set[0] / "images").iterdir():
        with Image.open(path) as picture:
            assert picture.mode == "RGB"
            pixels = np.asarray(picture)
        assert pixels.shape == (128, 320, 3)
        corners = pixels[[0, 0, -1, -1], [0, -1, 0, -1]]
        assert (corners == 255).all() and (pixels[:8, :16] == 255).all()
        body = (pixels < 255).any(axis=2)
        assert 0.55 < body.mean() < 0.9 and body[64, 80:240].mean() > 0.95


@pytest.mark.parametrize(("stage_range", "term"), EVERY_TERM)
def test_a_term_darkens_its_own_region_and_hardly_anything_else(stage_range, term):
    tubes, in_region, elsewhere = render.TERMS[stage_range][term].lateral, [], []
    for seed in range(3):
        darker = bare(stage_range, seed) - grey(stage_range, {term: 1.0}, seed)
        assert (darker > -1e-9).all()
        root = int(np.random.default_rng(seed).integers(2**62))
        frame = render.draw_body_frame(stage_range, stage_range_rng(root, "frame"))
        own = (render.region_mask(tubes, frame.x, frame.y) > 0.6) & (frame.inside > 0.9)
        assert own.sum() >= 30  # px: as large as a few cells
        in_region.append(darker[own].mean())
        elsewhere.append(darker[render.region_mask(tubes, frame.x, frame.y, swollen=0.6) < 0.01].sum())
    assert np.mean(in_region) > 20  # of 255 grey levels
    assert np.mean(elsewhere) < 320 * 128 / 10  # a tenth of a grey level over the picture


def test_terms_do_not_disturb_one_another():
    brain, gut = {"embryonic brain": 1.0}, {"embryonic hindgut": 1.0}
    bare, one, other, two = (grey("13-16", terms, 3) for terms in ({}, brain, gut, brain | gut))
    alone = np.abs(other - bare) < 1e-9  # where the second term puts no stain
    assert 0.5 < alone.mean() < 1
    assert np.array_equal(two[alone], one[alone])


def test_the_first_image_of_a_group_shows_every_term():
    checked = 0
    for i in range(6):
        group = draw_group(f"syn{i:03d}", "11-12", 5, 1)
        full, view = render_group_image(group, 0, 5)
        assert view == "lateral"
        for term in group.strengths:
            fewer = group._replace(strengths=group.strengths | {term: 1e-9})
            lighter = render_group_image(fewer, 0, 5)[0].astype(float) - full
            assert lighter.mean(axis=2).max() > 25, (group.gene, term)
            checked += 1
    assert checked >= 6


def test_terms_have_their_frequencies_and_keep_company():
    groups = [draw_group(f"syn{i}", "13-16", 0, 5) for i in range(2000)]
    has = {term: [term in group.strengths for group in groups] for term in render.TERMS["13-16"]}
    for term, region in render.TERMS["13-16"].items():
        assert np.mean(has[term]) == pytest.approx(region.frequency, abs=0.05)
    brain, cord, gut = (has[t] for t in ("embryonic brain", "ventral nerve cord", "embryonic midgut"))
    assert np.corrcoef(brain, cord)[0, 1] > 0.1  # both nervous
    assert abs(np.corrcoef(brain, gut)[0, 1]) < 0.07
    assert sorted({group.n_images for group in groups}) == [1, 2, 3, 4, 5]


def test_the_anterior_end_is_the_more_pointed_as_in_real_embryos():
    """The skewness of the outline along the body; of 165 embryos of FlyExpress -0.05, deviation 0.03."""
    skewness = []
    for seed in range(60):
        body = render.draw_body_frame("4-6", np.random.default_rng(seed)).depth_px > 0
        x = np.nonzero(body)[1]
        skewness.append(((x - x.mean()) ** 3).mean() / x.std() ** 3)
    assert -0.07 < np.mean(skewness) < -0.025
    assert np.mean(np.array(skewness) < 0) > 0.85


def test_embryos_are_drawn_as_the_sheet_shows_them():
    """The sheet has means and deviations of blocks; `Image.fromarray(draw_sheet())` renews it."""
    with Image.open(Path(__file__).with_name("drawn_embryos.png")) as picture:
        np.testing.assert_allclose(draw_sheet().astype(int), np.asarray(picture), atol=1)


def draw_sheet():
    """Draw embryos of all terms from both sides, a block of 8 x 10 pixels as one, (192, 96, 3)."""
    sheet = []
    for seed, stage_range in enumerate(STAGE_RANGES):
        terms = dict.fromkeys(render.TERMS[stage_range], 0.4)
        drawn = [
            render.render_embryo(stage_range, terms, np.random.default_rng([seed, k]), **look)
            for k, look in enumerate(({}, {"view": "dorsal"}, {"part": 3}))
        ]
        blocks = [one.astype(float).reshape(16, 8, 32, 10, 3) for one in drawn]
        means = np.hstack([one.mean(axis=(1, 3)) for one in blocks])
        deviations = np.hstack([one.std(axis=(1, 3)) for one in blocks])
        sheet += [means, 4 * deviations]
    return np.rint(np.clip(np.vstack(sheet), 0, 255)).astype(np.uint8)


def test_a_gene_stains_its_own_part_of_a_region_in_all_its_images():
    @cache
    def stain(part, seed, name="ventral nerve cord"):
        return bare("13-16", seed) - grey("13-16", {name: 1.0}, seed, part=part)

    def share(part, seed):
        return (stain(part, seed) > 15).sum() / (stain(None, seed) > 15).sum()

    shares = [(share(part, 0), share(part, 1)) for part in range(12)]
    assert 0.25 < np.min(shares) < 0.75 and np.max(shares) > 0.97
    assert np.corrcoef(np.transpose(shares))[0, 1] > 0.8
    along = [stain(part, 0).clip(0).sum(axis=0) for part in range(12)]
    assert np.ptp([np.average(np.arange(320), weights=weights) for weights in along]) > 10  # px
    assert np.array_equal(stain(0, 0, "ubiquitous"), stain(None, 0, "ubiquitous"))


@pytest.mark.parametrize("seed", range(5))
def test_the_demo_has_enough_genes_for_most_of_its_terms(seed):
    demo = tomllib.loads((ROOT / "configs" / "demo.toml").read_text())
    needed = demo["train"]["min-groups"]
    assert needed >= 20  # below that, scores are noise
    for stage_range in DEMO.stage_range:
        groups = [draw_group(f"syn{i:03d}", stage_range, seed, 1) for i in range(1, DEMO.n_genes + 1)]
        counts = [sum(term in group.strengths for group in groups) for term in render.TERMS[stage_range]]
        assert sum(count >= needed for count in counts) >= 4


def test_a_group_without_terms_is_annotated_with_no_staining(tmp_path):
    synthesize(tmp_path / "set", SynthesizeOptions(n_genes=12, stage_range=("1-3",), max_images=1))
    annotated = read_annotations(tmp_path / "set").terms_by_gene
    assert len(annotated) == 12
    bare = [gene for (gene, _), terms in annotated.items() if terms == {NO_STAINING}]
    assert bare == [g for g, _ in annotated if not draw_group(g, "1-3", 0, 1).strengths]
    assert 0 < len(bare) < 12
