"""What strangers, hostile files and failing machines may do.

Each attack is bounded, and against this machine's loopback alone. `make attack` runs all of them;
one quick case of each, which is not marked slow, runs with the other tests.
"""
