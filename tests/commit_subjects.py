"""Rules for the subject of a commit: an imperative of at most 65 characters.

`python -m tests.commit_subjects FILE` checks the message of a commit that is being made; pre-commit calls it
as its hook `commit-msg`.  Without FILE it checks all commits after `SINCE`, as `make lint` does.
"""

import re
import subprocess
import sys
from pathlib import Path

from tests.language import ROOT

MAX_CHARACTERS = 65
SINCE = "47d96131"  # older subjects were written without these rules


def fault(subject):
    """Return what is wrong with the subject of a commit, or None."""
    first_word, *_ = subject.split(" ")
    if not first_word.istitle() or re.search(r"([^e]ed|\w{3}ing|[^s]s)$", first_word):
        return f'"{first_word}" is no imperative that begins with a capital letter'
    if len(subject) > MAX_CHARACTERS:
        return f"it has {len(subject)} characters; {MAX_CHARACTERS} are allowed"
    return "it ends with a full stop" if subject.endswith(".") else None


def main(message_file=None):
    """Print the subjects that break the rules, and return their number."""
    if message_file is not None:
        subjects = Path(message_file).read_text(encoding="utf-8").splitlines()[:1]
    else:
        command = ["git", "log", "--no-merges", "--format=%s", f"{SINCE}..HEAD"]
        log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        subjects = log.stdout.splitlines()  # none in a copy without history
    wrong = [(subject, fault(subject)) for subject in subjects if fault(subject)]
    for subject, what in wrong:
        print(f"the subject of a commit, {subject!r}: {what}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(bool(main(*sys.argv[1:])))
