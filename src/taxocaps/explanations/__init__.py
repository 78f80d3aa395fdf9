"""Why a model gives a document its labels: what an explanation is, how it is found, for every kind of scorer."""
