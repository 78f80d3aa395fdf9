"""Networks over the words of a document in their order; each file is one publication, and none imports another."""
