"""The version, in one place: the build, `taxocaps --version` and every manifest read it."""

__version__ = "0.2.0"
