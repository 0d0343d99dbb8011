"""Hard attention simulated by softmax attention, with certified errors (Yang, Strobl, Chiang & Angluin 2024).

The laws of attention are in :mod:`restrict.simulate.laws`, what softmax loses against them in
:mod:`restrict.simulate.errors`.
"""
