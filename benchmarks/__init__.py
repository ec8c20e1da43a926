"""Measurements of generated code, not part of the package: ``python -m benchmarks``."""
