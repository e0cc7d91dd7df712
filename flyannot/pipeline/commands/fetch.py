"""Fetch BDGP's dumps and images to a folder for `flyannot import bdgp`."""

import logging
from contextlib import closing
from functools import partial
from pathlib import Path

from flyannot.base.errors import FlyannotError
from flyannot.base.fates import MISSING, REFUSED, PictureFate, merge_fates
from flyannot.base.text import pluralise
from flyannot.dataset import bdgp_site
from flyannot.dataset.bdgp_site import FILES, file_url
from flyannot.dataset.download import Downloader, DownloadFailed, RetryPolicy, ServerBusy
from flyannot.files.atomic_file import lock_output
from flyannot.pipeline.engine.fates import NAME as FATES
from flyannot.pipeline.engine.task import Outcome

log = logging.getLogger("flyannot")
_SILENT = 8  # after so many images in a row without an answer the site is down


def fetch_bdgp(folder, options, execution, *, policy=None, dry_run=False):
    """Fetch BDGP's two dumps, and the images that are wanted and not there yet.

    Parameters
    ----------
    folder : Path; gets the dumps, and the images under their paths in the dump
    policy : RetryPolicy; None for the one that the options describe
    dry_run : whether only the dumps are fetched, and the Outcome says how many images there are to fetch

    Returns
    -------
    outcome : Outcome, with the fates of all images

    Raises
    ------
    InputError
        If a gene is unknown.
    FlyannotError
        If a dump cannot be fetched, or the site stops answering.
    WriteError
        If the folder cannot be written.
    """
    policy = policy or RetryPolicy(pause_s=options.pause)
    with closing(Downloader(policy)) as downloader:
        run = _Fetch(Path(folder), options, downloader, policy)
        with lock_output(Path(folder) / FATES):  # the tables have locks of their own
            return run.fetch(execution.progress, dry_run=dry_run)


class _Fetch:
    """One fetch of BDGP's tables and images into a folder, and the failures so far."""

    def __init__(self, folder, options, downloader, policy):
        self._folder = folder
        self._options = options
        self._downloader = downloader
        self._policy = policy

    def fetch(self, progress, *, dry_run):
        """Download what is missing; returns the Outcome, with the fates of all images."""
        for kind, name in FILES.items():
            if self._options.refresh or not self._has(name):
                self._get_table(kind)
        plan = self._plan()
        missing = self._list_missing(plan)
        planned = self._format_plan(plan)
        table = self._folder / FILES["images"]
        if dry_run:
            return Outcome(table, True, f"dry run: no image was fetched\n{planned}")
        log.info("%s", planned)
        failures = self._get_images(missing, progress)
        n_there = len(plan.images) - len(self._list_missing(plan))
        n_new = len(missing) - len(failures)
        wanted = pluralise(len(plan.images), "image is", "images are")
        summary = f"{n_there:,} of {wanted} there, {n_new:,} of them new"
        fates = [PictureFate(name) for name in plan.images]
        fates += [PictureFate(name, fate=MISSING, reason=why) for name, why in failures]
        fates += [PictureFate(name, fate=REFUSED, reason=why) for name, why in plan.refused]
        return Outcome(table, True, summary, merge_fates(fates))

    def _plan(self):
        """Return the images that the options choose from the dumps."""
        return bdgp_site.choose_site_images(
            self._folder / FILES["terms"],
            self._folder / FILES["images"],
            genes=bdgp_site.parse_gene_names(self._options.genes),
            stage_ranges=self._options.stage_range,
            most=self._options.max_images,
            thumbnails=self._options.thumbnails,
        )

    def _list_missing(self, plan):
        return [name for name in plan.images if not self._has(name)]

    def _has(self, name):
        """Return True if a file is there: files appear only when they are whole."""
        return (self._folder / name).is_file()

    def _get_table(self, kind):
        """Download a dump.

        Raises
        ------
        FlyannotError
            If it cannot be fetched.
        """
        check = partial(bdgp_site.validate_downloaded_table, kind=kind)
        try:
            self._get(FILES[kind], check, bdgp_site.MAX_TABLE_BYTES)
        except (DownloadFailed, ServerBusy) as error:
            raise FlyannotError(
                f"cannot fetch {self._url(FILES[kind])}: {error}",
                fix="try again later, or name the site's address with --base-url",
            ) from None

    def _get(self, name, check, most_bytes):
        self._downloader.get(self._url(name), self._folder / name, check, most_bytes=most_bytes)

    def _url(self, name):
        """Return the address of a file on the site."""
        return file_url(self._options.base_url, name)

    def _get_images(self, names, progress):
        """Download images into the folder; returns failures as (name, reason)."""
        failures = []
        n_silent = 0
        try:
            for n, name in enumerate(names, start=1):
                try:
                    self._get(name, bdgp_site.validate_downloaded_image, bdgp_site.MAX_IMAGE_BYTES)
                    n_silent = 0
                except DownloadFailed as failed:
                    failures.append((name, str(failed)))
                    n_silent = 0 if failed.answered else n_silent + 1
                if n_silent >= _SILENT:
                    raise ServerBusy(f"no answer for {n_silent} images in a row: {failures[-1][1]}")
                progress(n, len(names), "image")
        except ServerBusy as busy:
            raise FlyannotError(str(busy), fix="run the same command again later; it continues") from None
        return failures

    def _format_plan(self, plan):
        """Describe how many images there are to fetch, and how long that takes at least."""
        missing = self._list_missing(plan)
        wanted = f"{pluralise(len(plan.images), 'image')} of {pluralise(plan.n_genes, 'gene')}"
        lines = [f"{wanted}, {len(missing):,} of them to fetch"]
        if missing:
            pause_s = self._policy.pause_s
            minutes = len(missing) * pause_s / 60
            lines.append(f"at least {minutes:,.1f} minutes, with {pause_s:g} s between requests")
        return "\n".join(lines)
