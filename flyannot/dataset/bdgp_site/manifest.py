"""manifest.csv: every file that was fetched, with its size and digest.

While a run goes on, lines are added to a journal; what a killed run left there is taken in by the next.
"""

import csv
import io
import os
import threading
from contextlib import suppress

from flyannot.dataset.bdgp_site.download import Got
from flyannot.runtime.atomic_file import explained
from flyannot.runtime.csv_table import read_table, write_table

NAME = "manifest.csv"
_COLUMNS = ("file", "bytes", "sha256", "url", "tag")


class Manifest:
    """The files of one folder: name -> (Got, url)."""

    def __init__(self, folder):
        self.path, self._journal = folder / NAME, folder / f".{NAME}.journal"
        self._files, self._lock = {}, threading.Lock()
        if self.path.exists():
            self._files |= dict(_entries(cells for _, cells in read_table(self.path, _COLUMNS[:4], ("tag",))))
        if self._journal.exists():
            text = self._journal.read_text(encoding="utf-8", errors="replace")
            with suppress(csv.Error):  # the last line may be cut
                self._files |= dict(_entries(csv.reader(text.splitlines())))

    def __len__(self):
        return len(self._files)

    def has(self, name):
        """Whether this file was fetched and is there in full size; its bytes are not read."""
        if name not in self._files:
            return False
        try:
            return (self.path.parent / name).stat().st_size == self._files[name][0].n_bytes
        except OSError:
            return False

    def add(self, name, got, url):
        """Take in a file that is in its place."""
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow([name, got.n_bytes, got.sha256, url, got.tag])
        with self._lock, explained(self._journal), open(self._journal, "a", encoding="utf-8") as journal:
            self._files[name] = got, url
            journal.write(line.getvalue())

    def save(self):
        """Write the table, in the order of names; the journal is then empty."""
        rows = [
            (name, got.n_bytes, got.sha256, url, got.tag) for name, (got, url) in sorted(self._files.items())
        ]
        if rows:
            write_table(self.path, _COLUMNS, rows)
        with suppress(FileNotFoundError):
            os.unlink(self._journal)

    def n_bytes(self):
        return sum(got.n_bytes for got, _ in self._files.values())


def _entries(rows):
    for row in rows:
        if len(row) == len(_COLUMNS) and row[1].isdecimal() and len(row[2]) == 64:
            name, n_bytes, sha256, url, tag = row
            yield name, (Got(int(n_bytes), sha256, tag), url)
