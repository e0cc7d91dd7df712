"""Commands that look at results: explanations, look-alikes, descriptions, and corrections."""
