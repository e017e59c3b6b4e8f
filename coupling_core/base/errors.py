"""What can go wrong, in three kinds that a caller treats differently."""


class CouplingError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(CouplingError):
    """The request is wrong, and asking again changes nothing (exit status 2)."""


class PromptError(InputError):
    """The prompt or the token asked for is at fault, where others of the same model may do."""


class ComputeError(CouplingError):
    """A sound request whose computing failed: memory, network, numerics, disk (exit status 1)."""


class Cancelled(CouplingError):
    """The user stopped a running measurement."""
