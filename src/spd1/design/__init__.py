"""Changes of a problem that are solved and undone: an unpenalised intercept, Huber's scale."""
