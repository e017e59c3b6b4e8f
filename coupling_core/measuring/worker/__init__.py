"""The engine in a process of its own, which may die at any time: its job fails, and nothing else.

    Worker     measures there, and has a new process where one died     (asking)
    Several    of them, which measure side by side                      (several)
    process    one such process, seen from here, and how it ended
    serving    what runs there
    small      another such process, without torch

Torch and what it calls can end a process, by a fault of their own or for want of memory. So the app
keeps them out of its process. Functions are called here and run there; arguments, words of progress
and answers travel by a pipe, finished measurements by the store.
"""

from coupling_core.measuring.worker.asking import Worker
from coupling_core.measuring.worker.several import Several

__all__ = ["Several", "Worker"]
