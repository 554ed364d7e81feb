"""Sends the same requests to two Recall servers and compares their answers.

Run it with ``python -m differential --help``. Standard library only.
"""
