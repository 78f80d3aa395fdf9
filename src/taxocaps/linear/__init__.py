"""Linear classifiers over bags of words: CSR features and labels in, weights out; `methods.py` lists the methods."""
