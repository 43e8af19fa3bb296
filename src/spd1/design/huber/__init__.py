"""Huber regression that finds its own scale."""
