"""The papers' tables and figures, and our speed.  Nothing else imports it."""
