"""The rows of a head, found once: what position ``i`` can attend to with a query value, scored, cut and ranked."""
