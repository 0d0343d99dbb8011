"""The group `soft`: softmax models. Imported with the command line, so it stays light."""

import click


@click.group()
def soft() -> None:
    """Softmax transformers: influence of one symbol, soft restrictions, cross-entropy (Hahn 2020, section 6).

    MODEL is a restrict-soft/1 file, or one of parity, first, random:layers=2,width=16,percent=30,seed=1 (see
    docs/soft.md).
    """
