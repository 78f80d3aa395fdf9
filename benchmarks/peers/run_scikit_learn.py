"""scikit-learn: one linear SVM for each label against the rest, over TF-IDF.

    run_scikit_learn.py FOLDER OUT [words | characters]

`characters` adds to words what they are made of: three to five characters within words.
"""

import sys

from exchange import Corpus, Predict, compete, label_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion
from sklearn.svm import LinearSVC

FEATURES = {
    "words": TfidfVectorizer(sublinear_tf=True, min_df=2),
    "characters": FeatureUnion(
        [
            ("words", TfidfVectorizer(sublinear_tf=True, min_df=2)),
            ("characters", TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, min_df=2)),
        ]
    ),
}


def fit(corpus: Corpus) -> Predict:
    features = FEATURES[sys.argv[3]]
    model = OneVsRestClassifier(LinearSVC()).fit(features.fit_transform(corpus.texts), label_matrix(corpus))
    return lambda texts: model.decision_function(features.transform(texts))


if __name__ == "__main__":
    compete(fit, "margins")
