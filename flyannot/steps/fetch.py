"""BDGP's dumps and images to a folder, ready for `import bdgp`."""

import hashlib
import logging
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx

from flyannot.dataset.bdgp_site import manifest as manifests
from flyannot.dataset.bdgp_site.checks import (
    MOST_BYTES_OF_IMAGE,
    MOST_BYTES_OF_TABLE,
    wrong_with_image,
    wrong_with_table,
)
from flyannot.dataset.bdgp_site.download import Failed, Got, Manners, TooBusy, download, open_client
from flyannot.dataset.bdgp_site.pace import Pace
from flyannot.dataset.bdgp_site.plan import BASE_URL, TABLES, plan_images, url_of_image, url_of_table
from flyannot.errors import FlyannotError
from flyannot.runtime.atomic_file import explained, locked
from flyannot.steps.tasks import Outcome

log = logging.getLogger("flyannot")
_SAMPLED = 5  # images whose size is asked for, for the estimate
_SILENT = 8  # images in a row without any answer: the site is down


@dataclass(frozen=True)
class Wanted:
    """What to fetch; empty means all."""

    genes: tuple = ()
    stage_ranges: tuple = ()
    most: int | None = None
    base_url: str = BASE_URL
    refresh: bool = False  # the dumps again, even if they are there


@dataclass
class _Run:
    """What all the downloads of a run share."""

    client: httpx.Client
    manners: Manners
    base_url: str
    pace: Pace = field(init=False)

    def __post_init__(self):
        self.pace = Pace(self.manners.pause_s)

    def get(self, url, path, check, most_bytes):
        return download(self.client, url, path, check, self.pace, self.manners, most_bytes=most_bytes)


def fetch_bdgp(folder, wanted, execution, *, manners=None, dry_run=False):
    """Fetch BDGP's two dumps and the images that are wanted and not there yet.

    Parameters
    ----------
    folder : Path; gets the dumps, the images under the paths that the dump gives them, and manifest.csv
    wanted : Wanted
    execution : flyannot.steps.tasks.Execution
    manners : Manners
    dry_run : bool
        Only estimate; nothing in `folder` is changed.

    Returns
    -------
    outcome : Outcome, with the images that cannot be had as failures

    Raises
    ------
    InputError
        If a gene is unknown.
    FlyannotError
        If a dump cannot be had, or the site stops answering.
    WriteError
        If the folder cannot be written.
    """
    folder, manners = Path(folder), manners or Manners()
    with closing(open_client(manners)) as client:
        run = _Run(client, manners, wanted.base_url)
        if dry_run:
            return _estimate_only(folder, wanted, run)
        with locked(folder / manifests.NAME):
            return _fetch(folder, wanted, run, execution)


def _estimate_only(folder, wanted, run):
    manifest = manifests.Manifest(folder)
    with tempfile.TemporaryDirectory() as elsewhere:
        place = folder
        if wanted.refresh or not all(manifest.has(name) for name in TABLES):
            place = Path(elsewhere)
            for name in TABLES:
                _get_table(place, name, run)
        plan = _plan(place, wanted)
    missing = [name for name in plan.images if not manifest.has(name)]
    return Outcome(folder, True, "dry run: nothing was fetched\n" + _estimate(plan, missing, run))


def _fetch(folder, wanted, run, execution):
    manifest = manifests.Manifest(folder)
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        if wanted.refresh or not manifest.has(name):
            manifest.add(name, _get_table(folder, name, run), url_of_table(run.base_url, name))
    plan = _plan(folder, wanted)
    _adopt(folder, plan.images, manifest, run.base_url)
    missing = [name for name in plan.images if not manifest.has(name)]
    log.info("%s", _estimate(plan, missing, run))
    try:
        failures = _fetch_images(folder, missing, manifest, run, execution.progress)
    finally:
        manifest.save()
    there = sum(manifest.has(name) for name in plan.images)
    summary = (
        f"{there:,} of {len(plan.images):,} images are there, {len(missing) - len(failures):,} of them new"
    )
    return Outcome(manifest.path, True, summary, tuple(sorted(failures + plan.refused)))


def _get_table(folder, name, run):
    url = url_of_table(run.base_url, name)
    check = partial(wrong_with_table, fits=TABLES[name])
    try:
        return run.get(url, folder / name, check, MOST_BYTES_OF_TABLE)
    except (Failed, TooBusy) as error:
        raise FlyannotError(
            f"cannot fetch {url}: {error}", fix="try again later, or name the site's address with --base-url"
        ) from None


def _plan(folder, wanted):
    annotations, images = (folder / name for name in TABLES)
    chosen = {"genes": wanted.genes, "stage_ranges": wanted.stage_ranges, "most": wanted.most}
    return plan_images(annotations, images, **chosen)


def _adopt(folder, images, manifest, base_url):
    """Images that are there and whole although no manifest says so: a run was killed, or they were copied."""
    for name in images:
        path = folder / name
        if not manifest.has(name) and path.is_file() and not wrong_with_image(path):
            raw = path.read_bytes()
            got = Got(len(raw), hashlib.sha256(raw).hexdigest(), "")
            manifest.add(name, got, url_of_image(base_url, name))


def _estimate(plan, missing, run):
    """In words: how many images, about how large, at least how long."""
    lines = [f"{len(plan.images):,} images of {plan.n_genes:,} genes, {len(missing):,} of them to fetch"]
    sizes = list(filter(None, (_size(name, run) for name in missing[:: len(missing) // _SAMPLED + 1])))
    if sizes:
        megabytes = len(missing) * sum(sizes) / len(sizes) / 1e6
        lines.append(f"about {megabytes:,.1f} MB, judged by {len(sizes)} of them")
    if missing:
        minutes = len(missing) * run.manners.pause_s / 60
        lines.append(
            f"at least {minutes:,.1f} minutes, with {run.manners.pause_s:g} s between requests "
            f"on {run.manners.connections} connections"
        )
    return "\n".join(lines)


def _size(name, run):
    run.pace.wait()
    try:
        answer = run.client.head(url_of_image(run.base_url, name))
    except httpx.HTTPError:
        return None
    length = answer.headers.get("Content-Length", "")
    return int(length) if answer.status_code == 200 and length.isdecimal() else None


def _fetch_images(folder, names, manifest, run, progress):
    """The failures (name, reason); what was fetched is in the manifest."""
    failures, silent = [], 0
    threads = ThreadPoolExecutor(run.manners.connections)
    try:
        futures = {threads.submit(_fetch_image, folder, name, manifest, run): name for name in names}
        for n, future in enumerate(as_completed(futures), start=1):
            try:
                future.result()
                silent = 0
            except Failed as failed:
                failures.append((futures[future], str(failed)))
                silent = 0 if failed.answered else silent + 1
            if silent >= _SILENT:
                raise TooBusy(f"no answer for {silent} images in a row: {failures[-1][1]}")
            progress(n, len(names), "image")
    except TooBusy as busy:
        raise FlyannotError(str(busy), fix="run the same command again later; it continues") from None
    finally:
        run.pace.stop()
        threads.shutdown(wait=False, cancel_futures=True)
    return failures


def _fetch_image(folder, name, manifest, run):
    path, url = folder / name, url_of_image(run.base_url, name)
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    manifest.add(name, run.get(url, path, wrong_with_image, MOST_BYTES_OF_IMAGE), url)
