"""Its command."""

from coupling_core.base.kinds import kind_of
from coupling_core.base.records import DEFAULT_MODEL, Request
from coupling_core.cli import options, reports
from coupling_core.cli.terminal import ProgressBar, print_json
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
    view, stored = kind_of("toy").view(), not bar.used
    if as_json:
        print_json(reports.summary(result, view, stored=stored))
    else:
        reports.show(result, view, stored=stored)
