"""From words to words-matrices: the graph-of-words, readable and compiled, and the store of encoded documents."""
