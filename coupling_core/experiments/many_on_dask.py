"""The requests of measure_many on the workers of a dask client that somebody handed over.

Results travel by the store, which all machines must see. A worker measures one request at a time,
however many threads it has, since what is hooked onto a model is hooked for all of them.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Request
from coupling_core.base.results import Result
from coupling_core.measuring.measure import find_stored, measure
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

_ALONE = threading.Lock()


def on_client(
    client: Any, requests: Iterable[Request], store: Store, device: str | None
) -> Callable[[Request], Result]:
    """Hand all requests to a client: what waits for the answer to one, and raises as `measure`."""
    root = str(store.root.absolute())
    futures = {
        request: client.submit(_measured_there, request, root, device, pure=False)
        for request in dict.fromkeys(requests)
    }

    def answer(request: Request) -> Result:
        try:
            key = futures[request].result()
        except (InputError, ComputeError):
            raise
        except Exception as error:  # of dask: a worker died, or the scheduler is gone
            raise ComputeError(f"the workers of the dask client gave no answer: {error}") from error
        found = find_stored(resolve(request), store) if key else None
        if found is None:
            raise ComputeError(
                f"a dask worker measured this, and it is not in the store {root}: the store must "
                "lie on a disk that all machines share, and nothing may change what models compute"
            )
        return found

    return answer


def _measured_there(request: Request, root: str, device: str | None) -> str:
    """The key of the result, on a worker."""
    with _ALONE:
        return measure(request, Store(root), device=device).key
