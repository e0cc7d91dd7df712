"""Rules for the subject of a commit: an imperative of at most 65 characters.

`python -m tests.commit_subjects FILE` checks the message of a commit that is being made; pre-commit calls it
as its hook `commit-msg`.  Without FILE it checks all commits after `SINCE`, as `make lint` does.
"""

import subprocess
import sys
from pathlib import Path

from tests.language import ROOT

MAX_CHARACTERS = 65
SINCE = "47d96131"  # older subjects were written without these rules
_VERBS = """
Accept Adapt Add Allow Annotate Answer Ask Assign Attach Avoid Begin Bin Bind Bound Break Bring Build Cache
Call Cap Centre Change Check Choose Clean Clear Close Code Collect Compare Compile Compute Continue Convert
Copy Correct Count Cover Cut Decide Declare Decode Delete Derive Describe Do Document Draw Drop Emit End
Enter Excuse Expect Explain Export Express Extend Fail Fall Fetch Fill Find Fit Fix Flag Follow Format Free
Gather Give Group Guess Halve Handle Have Hide Hold Honour Ignore Import Improve Include Index Inline Insert
Install Interrupt Join Keep Know Label Learn Leave Let Limit Link List Load Log Look Lower Make Map Mark
Match Mean Measure Mend Merge Move Name Normalise Note Notice Offer Open Order Pad Parse Pass Permit Pick
Pin Place Plan Pool Predict Prefer Prepare Print Project Protect Prove Push Put Query Quote Raise Rate Read
Rebuild Record Recover Reduce Refuse Register Reject Release Remove Rename Render Reorder Repair Replace
Report Require Reset Resolve Restore Return Reuse Revert Reword Rewrite Round Run Sample Save Say Scale
Score Select Send Separate Set Settle Share Shorten Show Simplify Sketch Skip Smooth Solve Sort Speed Split
Start State Stop Store Strip Suggest Sum Support Suppress Swap Switch Take Tell Test Tighten Time Trace
Track Train Translate Trim Try Turn Type Undo Unify Unpack Update Use Validate Verify Visit Wait Warn Watch
Weigh Word Wrap Write Zero
"""
VERBS = frozenset(_VERBS.split())


def fault(subject):
    """Return what is wrong with the subject of a commit, or None."""
    first_word, *_ = subject.split(" ")
    if first_word not in VERBS:
        return f'"{first_word}" is not one of the imperatives that tests/commit_subjects.py lists'
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
