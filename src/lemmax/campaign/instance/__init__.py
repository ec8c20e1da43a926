r"""Instances: real tokens read from a file, and what the theory of attention says about them.

``archive`` reads the file, ``weights`` and ``setup`` complete it by drawn weights and a teacher, ``tokens``
looks for what no weights can mend, ``features`` measures B_0, ``subsample`` finds the largest set of samples
to which the theory applies, ``descent`` runs generated gradients, ``local`` evaluates the hypotheses of local
convergence, ``theorems`` reads theorems, ``report`` puts it together.
"""

from __future__ import annotations
