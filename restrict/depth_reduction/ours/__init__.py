"""What is ours beside Hahn's lemma: capture by exchange, restrictions that repeat, and the repair of what misses c."""
