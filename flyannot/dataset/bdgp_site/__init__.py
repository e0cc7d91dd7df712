"""Data from BDGP's site: `plan` says what, `download` gets one file, `rate_limiter` keeps it polite.

A file that exists is whole and was checked; `manifest` lists the digests.
"""
