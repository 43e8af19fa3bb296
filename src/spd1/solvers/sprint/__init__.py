"""Whole solves in one compiled kernel: small data, and easy data of any size.

A call of Python takes as long as a pass over a few thousand entries. Where an answer needs a dozen
passes, the loop around them, looks at the gap included, belongs into the kernel.
"""
