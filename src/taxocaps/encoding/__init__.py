"""Where text meets the models: documents become the arrays that a model reads."""
