"""Tests of lemmax; folders mirror src, the others are named in CONTRIBUTING.md."""
