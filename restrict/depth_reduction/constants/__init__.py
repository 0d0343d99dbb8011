"""The constants of Theorem 1 (Hahn 2020), found and verified exactly."""
