"""Its command."""

from coupling_core.base.records import DEFAULT_MODEL, AnyView, Request
from coupling_core.cli import options, reports
from coupling_core.cli.terminal import ProgressBar
from coupling_core.measuring.measure import measure
from coupling_core.store.disk import Store


def command(
    prompt: options.Text,
    model: options.Model = DEFAULT_MODEL,
    token: int = -1,
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """The norm of every state at one token."""
    request = Request(prompt, model=model, token=token, kind="toy")
    with ProgressBar() as bar:
        result = measure(request, Store(store), progress=bar)
    reports.tell(result, AnyView(), stored=not bar.used, as_json=as_json)
