"""Linear classifiers over bags of words: CSR features and CSR labels in, weights out."""
