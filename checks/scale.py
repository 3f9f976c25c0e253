"""``python -m checks.scale``, also under torchrun: the tensor checks alone, on a machine with torch,
numpy, scipy, sympy.
"""

from __future__ import annotations

import sys

from checks.run.scale import main

if __name__ == "__main__":
    sys.exit(main())
