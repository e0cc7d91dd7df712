"""From truth and predictions to numbers.  There is no model in here."""
