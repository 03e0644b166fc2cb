"""Makes the data of the examples that learn to write: pieces of six sonnets by William Shakespeare (1609).

    python examples/sonnets.py

Needs numpy. Each row of `text` is 32 characters (bytes of ASCII), and begins three characters after the row before.
"""

from pathlib import Path

import numpy as np

LENGTH = 32
STEP = 3

here = Path(__file__).parent
text = np.frombuffer((here / "sonnets.txt").read_bytes(), np.uint8)
rows = np.lib.stride_tricks.sliding_window_view(text, LENGTH)[::STEP]
np.savez_compressed(here / "sonnets.npz", text=rows)
print(f"{len(rows)} rows of {LENGTH} characters")
