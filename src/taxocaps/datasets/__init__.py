"""Data sets with their taxonomies; each is a module with `load(...) -> Dataset`."""
