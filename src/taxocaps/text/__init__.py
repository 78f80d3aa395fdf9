"""Texts to words, words to ids and vectors."""
