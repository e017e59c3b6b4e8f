"""The parts of a kind that has none of its own: all that they do, they take from its records."""
