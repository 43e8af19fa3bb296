"""Multinomial logistic regression: its objective, one certificate for all classes, its solver."""
