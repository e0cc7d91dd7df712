"""Fetching from servers that misbehave: no finished file is lost, no file is wrong, all else is listed."""

import gzip
import signal

import numpy as np
import pytest
from PIL import Image

from tests.dataset import odd_server as odd
from tests.processes import said_when_ended_by, start_python

pytest.importorskip("httpx", reason="pip install 'flyannot[fetch]'")

from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset import bdgp_site
from flyannot.dataset.bdgp_site import choose_site_images
from flyannot.dataset.download import Downloader, RetryPolicy, parse_retry_after
from flyannot.pipeline.commands import fetch as steps_fetch
from flyannot.pipeline.commands.fetch import fetch_bdgp
from flyannot.pipeline.engine.task import Execution
from flyannot.pipeline.options import FetchOptions
from tests.images.picture_files import encoded
from tests.small_embryos import list_faults, rows_of_csv

QUICK = RetryPolicy(pause_s=0.0, tries=4, backoff_s=0.01, longest_wait_s=60.0, silence_s=2.5)


def jpeg(seed):
    """Draw a picture of some kilobytes."""
    pixels = np.random.default_rng(seed).integers(0, 256, (60, 80), dtype=np.uint8)
    return encoded(pixels, "jpeg", quality=95)


@pytest.fixture
def server(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(steps_fetch, "_SILENT", 1000)
    one = odd.OddServer()
    yield one
    one.close()


def place_of(name):
    return f"/insitu_image_storage/{name}"


def serve(server, n_images, *, more="", gene=lambda i: ("Dl", "CG3619", "FBgn0000463")):
    """Put the dumps and some images on the server; returns the names of the images."""
    names = [f"img_dir_{i % 3}/insitu{i}.jpe" for i in range(n_images)]
    rows = "".join("{},{},RE1,{},Fly,{},{}\n".format(*gene(i), n, i % 6 + 1) for i, n in enumerate(names))
    annot = "".join("{},{},{},2,gap\n".format(*gene(i)) for i in range(n_images))
    for table, text in (("insitu_annot.csv.gz", annot), ("insitu_images.csv.gz", rows + more)):
        server.files[f"/insitu-mysql-dump/{table}"] = gzip.compress(text.encode())
    for i, name in enumerate(names):
        server.files[place_of(name)] = jpeg(i)
    return names


def fetch(server, folder, policy=QUICK, **wanted):
    options = FetchOptions(base_url=server.url, **wanted)
    return fetch_bdgp(folder, options, Execution(), policy=policy)


def is_right(server, folder, name):
    path = folder / name
    return path.is_file() and path.read_bytes() == server.files[place_of(name)]


def leftovers(folder):
    return [path.name for path in folder.rglob(".*")]


def test_a_misbehaving_server_loses_no_file_and_makes_none_wrong(server, tmp_path, monkeypatch):
    receive, open_ones, n_open = Downloader._receive, set(), []

    def counted(self, url, *how):
        open_ones.add(url)
        n_open.append(len(open_ones))
        try:
            receive(self, url, *how)
        finally:
            open_ones.remove(url)

    monkeypatch.setattr(Downloader, "_receive", counted)
    monkeypatch.setattr(bdgp_site, "MAX_IMAGE_BYTES", 3_000_000)
    names = serve(server, len(odd.HEALED) + len(odd.HOPELESS) + 5)
    healed, hopeless = names[: len(odd.HEALED)], dict(zip(names[len(odd.HEALED) :], odd.HOPELESS))
    for name, oddity in [*zip(healed, odd.HEALED), *((name, row[0]) for name, row in hopeless.items())]:
        server.oddities[place_of(name)] = oddity
    for name in healed:  # where redirects_once leads
        server.files[place_of(name) + "?moved"] = server.files[place_of(name)]
    outcome = fetch(server, tmp_path)
    failures = list_faults(outcome.fates)
    assert set(failures) == set(hopeless)
    for name, (_, reason) in hopeless.items():
        assert reason in failures[name] and not (tmp_path / name).exists()
    there = [name for name in names if name not in failures]
    assert [name for name in there if not is_right(server, tmp_path, name)] == []
    assert max(n_open) == 1
    assert not any("Range" in headers for _, _, headers in server.requests)  # each attempt is for the whole

    server.requests.clear()
    server.oddities.clear()
    assert not list_faults(fetch(server, tmp_path).fates)  # only what is missing is asked for
    asked = {path for method, path, _ in server.requests if method == "GET"}
    assert asked == {place_of(name) for name in failures}
    assert all(is_right(server, tmp_path, name) for name in names)
    assert leftovers(tmp_path) == []


TABLES = [
    (odd.sends(lambda _: b"<html>maintenance</html>"), "a web page"),
    (odd.sends(lambda _: gzip.compress(b"a,b\n" * 9)), "not the table"),
    (odd.sends(lambda _: gzip.compress(b"Dl,CG1,F,2,gap\n" * 500)[:40]), "damaged table"),
    (odd.empty_body, "empty"),
    (odd.answers(404), "answer 404"),
]


@pytest.mark.parametrize("number, code", [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_ended_by_a_signal_is_continued_and_loses_nothing(server, tmp_path, number, code):
    names = sorted(serve(server, 8))
    for name in names[4:]:
        server.oddities[place_of(name)] = odd.stalls
    words = ["fetch", "bdgp", "-o", str(tmp_path / "out"), "--base-url", server.url, "--pause", "0"]
    run = start_python("-m", "flyannot", *words)
    server.wait_until_asked(*map(place_of, names[:5]))
    said_when_ended_by(run, number)  # a stalled connection is not waited for
    assert run.returncode == code
    server.oddities.clear()
    server.requests.clear()
    assert not list_faults(fetch(server, tmp_path / "out").fates)
    assert not any(server.asked(place_of(name)) for name in names[:4])
    assert all(is_right(server, tmp_path / "out", name) for name in names)
    assert leftovers(tmp_path / "out") == []


EVIL = ["../../evil.jpe", "/etc/evil.jpe", "img/../../evil.jpe", "a\\..\\evil.jpe", "img/.hidden.jpe"]
EVIL += ["http://elsewhere/evil.jpe", "evil.jpe?x=1", "manifest.csv", "evil.exe", "%2e%2e/evil.jpe"]
EVIL.append("x" * 200 + ".jpe")


def test_names_that_leave_the_folder_are_listed_and_never_asked_for(server, tmp_path):
    more = "".join(f"Dl,CG3619,RE1,FBgn0000463,Fly,{name},2\n" for name in EVIL)
    names = serve(server, 2, more=more)
    folder = tmp_path / "a" / "b"
    outcome = fetch(server, folder)
    assert set(list_faults(outcome.fates)) == set(EVIL)
    assert {path for _, path, _ in server.requests if "image_storage" in path} == {place_of(n) for n in names}
    files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    tables = {"insitu_annot.csv.gz", "insitu_images.csv.gz"}
    assert files == {"insitu0.jpe", "insitu1.jpe"} | tables


def test_an_image_that_is_named_like_a_folder_costs_nothing_but_itself(server, tmp_path):
    """a.jpe, and an image within a folder of that name."""
    nested = ("x/a.jpe", "x/a.jpe/b.jpe")
    more = "".join(f"Dl,CG3619,RE1,FBgn0000463,Fly,{name},4\n" for name in nested)
    names = serve(server, 4, more=more)
    for name in nested:
        server.files[place_of(name)] = jpeg(7)
    failures = list_faults(fetch(server, tmp_path).fates)
    assert all(is_right(server, tmp_path, name) for name in names)
    assert len(failures) == 1 and set(failures) < set(nested), failures
    assert not leftovers(tmp_path)


@pytest.mark.parametrize(("oddity", "why"), TABLES, ids=[why for _, why in TABLES])
def test_a_table_that_is_none_ends_the_run_and_is_not_kept(server, tmp_path, oddity, why):
    serve(server, 1)
    server.oddities["/insitu-mysql-dump/insitu_annot.csv.gz"] = oddity
    with pytest.raises(FlyannotError, match=f"cannot fetch.*{why}"):
        fetch(server, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == []
    server.oddities.clear()
    assert not list_faults(fetch(server, tmp_path).fates)


def test_nobody_there_is_said_at_once(server, tmp_path):
    server.close()
    with pytest.raises(FlyannotError, match="no connection") as caught:
        fetch(server, tmp_path)
    assert "--base-url" in caught.value.fix


def test_a_server_that_asks_for_more_patience_than_we_have_ends_the_run(server, tmp_path):
    names = serve(server, 30)
    for name in sorted(names)[1:]:
        server.oddities[place_of(name)] = odd.answers(429, Retry_After="3600")
    with pytest.raises(FlyannotError, match="asks to wait 3,600 s") as caught:
        fetch(server, tmp_path)
    assert "continues" in caught.value.fix
    assert len([1 for _, path, _ in server.requests if "storage" in path]) < 30 + 5


def test_retry_after_is_understood_as_seconds():
    assert parse_retry_after("120") == 120
    for text in (None, "", "soon", "-5", "1e9", "9" * 5000, "Thu, 01 Jan 2015 00:00:00 GMT"):
        assert parse_retry_after(text) in (None, float("9" * 9))


def test_genes_and_stage_ranges_choose_the_images(server, tmp_path):
    genes = [("Dl", "CG3619", "FBgn0000463"), ("dl", "CG6667", "FBgn0000462"), ("", "CG9", "")]
    names = serve(server, 18, gene=lambda i: genes[i // 6])
    fetch(server, tmp_path, max_images=1)
    tables = [tmp_path / f"insitu_{name}.csv.gz" for name in ("annot", "images")]

    def plan(**chosen):
        return set(choose_site_images(*tables, **chosen).images)

    assert plan() == set(names) and plan(stage_ranges=["4-6"]) == {names[1], names[7], names[13]}
    assert plan(genes=["Dl"]) == plan(genes=["CG3619"]) == plan(genes=["FBgn0000463"]) == set(names[:6])
    assert plan(genes=["dl", "Dl"], stage_ranges=["1-3"]) == {names[0], names[6]}
    for name in ("DL", "nobody", "FBgn9999999"):
        with pytest.raises(InputError, match=name) as caught:
            plan(genes=[name])
        assert "case" in caught.value.fix


def test_the_command_fetches_and_lists_what_cannot_be_had(server, tmp_path, flyannot):
    names = serve(server, 6)
    server.files.pop(place_of("img_dir_2/insitu5.jpe"))
    out = tmp_path / "files"
    named = {"URL": server.url, "OUT": out}
    line = "fetch bdgp -o OUT --base-url URL --pause 0"
    said = flyannot(f"{line} --dry-run", **named)
    assert "6 images of 1 gene, 6 of them to fetch" in said.out
    assert not any(map(server.asked, map(place_of, names)))
    said = flyannot(line, **named)
    assert said.code == 3 and "insitu5.jpe,,,,missing," in (out / "pictures.csv").read_text()
    (tmp_path / "genes.txt").write_text("Dl\n\ndl\n")
    said = flyannot(f"{line} --genes @{tmp_path}/genes.txt", **named)
    assert said.code == 2 and 'no gene "dl"' in said.err
    said = flyannot(f"{line} --genes Dl --stage-range 4-6 --dry-run", **named)
    assert said.code == 0 and "1 image of 1 gene, 0 of them to fetch" in said.out


def test_images_are_fetched_imported_and_run(server, chain, tmp_path, flyannot):
    """Synthetic pictures as BDGP lists them: every second one inverted, one a part, one that is not there."""
    rows, tables = rows_of_csv(chain.embryos / "images.csv"), {"annot": "", "images": ""}
    for row in rows_of_csv(chain.annotations):
        number, stage = row["gene"][3:], STAGE_RANGES.index(row["stage_range"]) + 1
        tables["annot"] += f"CG{number},{row['gene']},FBgn0000{number},{stage},{row['term']}\n"
    for i, row in enumerate(rows):
        number, stage = row["gene"][3:], STAGE_RANGES.index(row["stage_range"]) + 1
        tables["images"] += (
            f"CG{number},{row['gene']},{row['gene']},FBgn0000{number},SD1,img_dir_1/insitu{i}.jpe,{stage},"
            f"lateral,{'' if i % 2 else 'AP_inverted'},{'high' if i == 5 else 'low'}\n"
        )
        if row is not rows[-1]:
            picture = Image.open(chain.embryos / row["image"])
            server.files[place_of(f"thumbnails/img_dir_1/insitu{i}.jpe")] = encoded(picture, "jpeg")
    for name, text in tables.items():
        server.files[f"/insitu-mysql-dump/insitu_{name}.csv.gz"] = gzip.compress(text.encode())
    named = {"F": tmp_path / "files", "D": tmp_path / "embryos", "OUT": tmp_path / "out", "URL": server.url}
    flyannot("fetch bdgp -o F --thumbnails --pause 0 --base-url URL", **named, code=3)
    fates = (named["F"] / "pictures.csv").read_text()
    assert f"insitu{len(rows) - 1}.jpe,,,,missing,answer 404" in fates and fates.count("missing") == 1
    flyannot("import bdgp F -o D", **named, code=0)
    small = "extract.stride-px=32 learn-dict.n-atoms=8 train.min-groups=2 evaluate.folds=2 run.jobs=1"
    settings = " --set ".join(["", *small.split()])
    assert "done: open" in flyannot(f"run configs/bdgp.toml --data-set D --output OUT{settings}", **named).err
    taken = rows_of_csv(named["D"] / "images.csv")
    assert [row["gene"] for row in taken] == [row["gene"] for row in [*rows[:5], *rows[6:-1]]]
    assert [row["turned"] for row in taken[:4]] == ["left-right", "", "left-right", ""]
    assert "at high magnification" in (named["D"] / "rejected.csv").read_text()
