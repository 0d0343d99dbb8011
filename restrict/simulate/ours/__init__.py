"""What is ours beside Yang et al.'s theorems: programs of this project as softmax transformers (`hard.py`, with what
their rules read of positions in `atoms.py` and the answer in `report.py`), what floating point adds to them
(`rounding.py`), and what they do when they are run (`measure.py`)."""
