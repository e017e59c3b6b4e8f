"""Several people and one machine.

jobs            measurements that run behind whoever asked, one at a time
lane            models that people train, beside them
lists           a list of prompts as one of them
desk            what an operator sees of them, and ends
heartbeat       a sign of life, for whoever watches from outside
doctor          what is right and wrong with this installation
"""
