"""Trained models: how data was prepared, coefficients, certificate; and their files."""
