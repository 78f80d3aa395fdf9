"""Estimators: the one place where encoding, networks, training and the taxonomy meet."""
