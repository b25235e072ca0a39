"""Data sets of games for offline learning: NumPy archives (npz) and Minari."""
