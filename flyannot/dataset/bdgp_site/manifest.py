"""manifest.csv: every file that was fetched, with its size and digest."""

from flyannot.dataset.bdgp_site.download import Got
from flyannot.runtime.tables import read_table, write_table

NAME = "manifest.csv"
_COLUMNS = ("file", "bytes", "sha256", "url")


class Manifest:
    """The files of one folder: name -> (Got, url)."""

    def __init__(self, folder):
        self._folder, self._files = folder, {}
        if self.path.exists():
            for _, (name, n_bytes, sha256, url) in read_table(self.path, _COLUMNS):
                if n_bytes.isdecimal() and len(sha256) == 64:
                    self.add(name, Got(int(n_bytes), sha256), url)

    @property
    def path(self):
        """Where it is saved."""
        return self._folder / NAME

    def has(self, name):
        """Whether this file was fetched and is there in full size; its bytes are not read."""
        try:
            return (self._folder / name).stat().st_size == self._files[name][0].n_bytes
        except (KeyError, OSError):
            return False

    def add(self, name, got, url):
        """Take in a file that is in its place."""
        self._files[name] = got, url

    def save(self):
        """Write the table, in the order of names."""
        rows = ((name, got.n_bytes, got.sha256, url) for name, (got, url) in sorted(self._files.items()))
        if self._files:
            write_table(self.path, _COLUMNS, rows)
