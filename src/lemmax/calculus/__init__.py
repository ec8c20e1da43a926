r"""Engines that know no particular function: flattening, partial derivatives, the chain rule, normal forms."""
