from taxocaps.encoding.characters import CharacterPipeline
from taxocaps.text.pipeline import TextPipeline


def characters(*texts):
    return ["".join(document) for document in CharacterPipeline().chunk(texts).documents()]


def test_every_character_counts_in_lower_case_with_one_space_for_many():
    assert characters("Grüße,\n\t du!", "", " ", "日本") == ["grüße, du!", "", "", "日本"]


def test_ready_tokens_are_joined():
    assert characters(("Two", "words")) == ["two words"]


def test_the_fingerprint_is_not_that_of_words():
    assert CharacterPipeline().fingerprint != TextPipeline().fingerprint
