"""The column of stage ranges of a table."""

import logging

from flyannot.errors import InputError
from flyannot.stage_ranges import note_on_stages, parse_stage_range

log = logging.getLogger("flyannot")


class StageRangeCells:
    """`parse_stage_range` for one table: each spelling is parsed once, and errors name the line."""

    def __init__(self, table):
        self._table, self._known = table, {}

    def __call__(self, text, line):
        if text not in self._known:
            try:
                self._known[text] = parse_stage_range(text)
            except InputError as error:
                where = f'{self._table}, line {line}, column "stage_range"'
                raise InputError(f"{where}: {error.message}", fix=error.fix) from None
        return self._known[text]

    def note(self):
        """Say what stages were taken for."""
        if found := note_on_stages(self._known):
            log.info("note: %s: %s", self._table.name, found)
