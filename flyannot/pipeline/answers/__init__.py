"""What a run adds to its answers, and the scores that it compares them with."""
