"""Rewriting to a normal form with named identities: what :func:`lemmax.equal` proves with."""
