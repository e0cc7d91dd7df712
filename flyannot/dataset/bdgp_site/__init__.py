"""Data from BDGP's site: `bdgp` says what, `download` gets one file, `pace` keeps it polite.

A file that exists is whole and was checked; `manifest` lists the digests.
"""
