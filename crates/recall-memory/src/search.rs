//! Word search over one namespace: analysis, inverted index and ranking, without a model.
