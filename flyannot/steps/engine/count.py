"""How far a step is, counted and told."""


def no_progress(done, total, unit):
    """Nobody looks."""


class Count:
    """Calls progress(done, total, unit) at the start, whenever items end, and at the end."""

    def __init__(self, progress, total, unit):
        self._progress, self._total, self._unit, self._done = progress, total, unit, 0
        progress(0, total, unit)

    def add(self, n=1):
        """So many more items have ended."""
        self._done = min(self._done + n, self._total)
        self._progress(self._done, self._total, self._unit)

    def finish(self):
        """All have ended, also those that were not told of."""
        self.add(self._total)
