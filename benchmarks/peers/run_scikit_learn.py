"""scikit-learn: one linear SVM for each label against the rest, over TF-IDF."""

import numpy as np
from exchange import Corpus, Predict, compete, label_rows, tfidf
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC


def fit(corpus: Corpus) -> Predict:
    vectorizer, features = tfidf(corpus)
    truth = np.zeros((features.shape[0], len(corpus.names)), int)
    for document, labels in enumerate(label_rows(corpus)):
        truth[document, labels] = 1
    model = OneVsRestClassifier(LinearSVC()).fit(features, truth)
    return lambda texts: model.decision_function(vectorizer.transform(texts))


if __name__ == "__main__":
    compete(fit, "margins")
