"""The methods that the paper names beside its own, one a file: docs/laboratory/family.md."""
