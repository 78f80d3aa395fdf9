"""Joining evidence: from what members, names and frequencies say about a document and a label to a probability."""
