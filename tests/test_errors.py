from taxocaps import errors


def test_every_error_is_a_taxocaps_error():
    for name in errors.__all__:
        if name not in ("nearest", "one_line", "printable"):
            assert issubclass(getattr(errors, name), errors.TaxoCapsError)


def test_a_missing_extra_says_what_to_install():
    message = str(errors.MissingExtraError("rdflib", "skos", "Reading SKOS"))
    assert (
        message == "Reading SKOS needs the library 'rdflib', which is not installed; run: pip install 'taxocaps[skos]'"
    )
