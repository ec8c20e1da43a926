r"""All mathematics as tables of named records."""
