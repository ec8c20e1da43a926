r"""Engines that know no particular function: flattening, partials, chain rule, normal form."""
