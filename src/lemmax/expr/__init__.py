r"""The language: sizes, tensors as index lambdas over SymPy bodies, builders."""
