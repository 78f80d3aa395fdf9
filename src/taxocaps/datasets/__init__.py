"""Corpora with their taxonomies, each a module with `load(...) -> Dataset`."""
