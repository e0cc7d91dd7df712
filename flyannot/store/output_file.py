"""A file that HDF5 can write without ever meeting an error of the system.

HDF5 does not survive a write that fails: it crashes when the file is closed, or when Python ends.  So it
writes through this object, which remembers the first error and from then on takes everything without
writing it; the error is raised once HDF5 has closed the file.
"""


class OutputFile:
    """An open file for `h5py.File(OutputFile(path), "w")`; `error` is the first that the system gave."""

    def __init__(self, path):
        self._file, self.error = open(path, "wb+", buffering=0), None  # noqa: SIM115 - closed by `close`

    def close(self):
        """Close the file; raise the error, if there was one."""
        self._attempt(self._file.close)
        if self.error is not None:
            raise self.error

    def seek(self, offset, whence=0):
        """As of any file."""
        return self._attempt(self._file.seek, offset, whence)

    def tell(self):
        """As of any file."""
        return self._attempt(self._file.tell)

    def read(self, size=-1):
        """As of any file."""
        return self._attempt(self._file.read, size) or b""

    def readinto(self, buffer):
        """As of any file; after an error zeros, so that HDF5 goes on."""
        view = memoryview(buffer).cast("B")
        n_read = 0
        while n_read < len(view) and self.error is None:
            n_new = self._attempt(self._file.readinto, view[n_read:])
            if not n_new:
                break
            n_read += n_new
        view[n_read:] = bytes(len(view) - n_read)
        return len(view)

    def write(self, data):
        """Write all of it."""
        view = memoryview(data).cast("B")
        n_written = 0
        while n_written < len(view) and self.error is None:
            n_written += self._attempt(self._file.write, view[n_written:]) or 0
        return len(view)

    def truncate(self, size=None):
        """As of any file."""
        return self._attempt(self._file.truncate, size)

    def flush(self):
        """Nothing: the file has no buffer."""

    def _attempt(self, operation, *arguments):
        """The result of an operation; None after an error."""
        if self.error is not None and operation != self._file.close:
            return None
        try:
            return operation(*arguments)
        except OSError as error:
            self.error = self.error or error
            return None
