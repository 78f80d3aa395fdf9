"""Corrections of reviewers: kept in SQLite beside a model, and read as documents to learn from."""

from taxocaps.feedback.corrections import read_corrections

__all__ = ["read_corrections"]
