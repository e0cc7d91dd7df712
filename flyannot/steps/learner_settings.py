"""Options of a learner, given by name."""

from flyannot.options import Kind
from flyannot.sparse.learners import LEARNERS


class LearnerSettings(Kind):
    """NAME=VALUE, several of them; or a table of a configuration.  The learner checks the values."""

    name = "NAME=VALUE"
    words = "NAME=VALUE, such as variant=paper"
    is_repeatable = True
    owners = LEARNERS  # each has its options in its class `Options`

    def parse(self, value):
        """A dict from name, in snake case, to value."""
        if isinstance(value, dict):
            return {str(name).replace("-", "_"): one for name, one in value.items()}
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list | tuple) or not all(isinstance(t, str) and "=" in t for t in texts):
            raise ValueError(self.words)
        return {
            name.strip().replace("-", "_"): one.strip() for name, _, one in (t.partition("=") for t in texts)
        }
