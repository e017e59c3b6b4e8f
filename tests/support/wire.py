"""A visitor without a browser: Streamlit's own messages over its websocket.

What a browser takes to draw is left out, so that many visitors fit on one machine and what is seen
is the server's part. A visitor looks at what is sent (`texts`, `errors`), presses buttons, and asks
again when a page says that a part of it wants to be drawn anew, as a browser does.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

PATIENCE = 120.0
"""Seconds for which an answer may be awaited."""
STOPPED = ForwardMsg.ScriptFinishedStatus.FINISHED_EARLY_FOR_RERUN
FRAGMENT = ForwardMsg.ScriptFinishedStatus.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
DONE = ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY


@contextmanager
def visiting(url: str, **options: Any) -> Iterator["Visitor"]:
    """A session with the app at this address; options are those of `websockets.connect`."""
    address = f"ws://{urlsplit(url).netloc}/_stcore/stream"
    streamlit = [Subprotocol("streamlit")]
    with connect(address, subprotocols=streamlit, max_size=None, **options) as socket:
        yield Visitor(socket)


class Visitor:
    """One session."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._page = self._query = self._run = ""
        # Each with the last run of the whole page when it was sent.
        self._elements: dict[tuple[int, ...], tuple[str, Any]] = {}
        self._wishes: dict[str, tuple[float, float]] = {}
        self.widgets: dict[str, str] = {}
        """What the last run of the whole page registered: kinds of widgets by their ids."""

    def open(self, address: str) -> None:
        """Open a page by its path and query, and read it to its end."""
        path, _, self._query = address.partition("?")
        self._page = path.strip("/")
        self._ask()
        self._read_to_the_end()

    def press(self, label: str) -> None:
        """Press a button, and read what comes of it."""
        ids = [button.id for button in self.elements("button") if button.label == label]
        if len(ids) != 1:
            raise LookupError(f"{len(ids)} buttons are called {label!r}: {self.texts()}")
        self.send(WidgetState(id=ids[0], trigger_value=True))

    def send(self, *states: WidgetState) -> None:
        """Say what widgets hold, whatever that is, and read what comes of it."""
        self._ask(*states)
        self._read_to_the_end()

    def wait(self, patience: float = PATIENCE) -> None:
        """Draw anew what wants to be, until nothing on the page does any more."""
        deadline = time.monotonic() + patience
        while self._wishes:
            if time.monotonic() > deadline:
                raise TimeoutError(f"not at rest after {patience} s: {self.texts()}")
            self._follow()

    def say(self, message: BackMsg) -> None:
        """Send any message, and wait for nothing."""
        self._socket.send(message.SerializeToString())

    def address_of_upload(self) -> str:
        """Where this session may put a file: a path with the session's own name in it."""
        asked = BackMsg()
        asked.file_urls_request.request_id = asked_for = uuid4().hex
        asked.file_urls_request.file_names.append("file")
        self.say(asked)
        while (answer := self._hear().file_urls_response).response_id != asked_for:
            pass
        return answer.file_urls[0].upload_url

    def elements(self, kind: str) -> Iterator[Any]:
        """What of this kind is on the page, such as `plotly_chart`."""
        for _, element in self._elements.values():
            if element.WhichOneof("type") == kind:
                yield getattr(element, kind)

    def texts(self) -> list[str]:
        """Texts and alerts on the page."""
        return [one.body for kind in ("markdown", "alert") for one in self.elements(kind)]

    def errors(self) -> list[str]:
        """Exceptions, and alerts that tell of an error."""
        alerts = [one.body for one in self.elements("alert") if one.format == Alert.ERROR]
        return alerts + [one.message for one in self.elements("exception")]

    def _ask(self, *states: WidgetState, fragment: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name = self._query, self._page
        state.fragment_id, state.is_auto_rerun = fragment, bool(fragment)
        state.widget_states.widgets.extend(states)
        self._socket.send(message.SerializeToString())

    def _hear(self) -> ForwardMsg:
        return ForwardMsg.FromString(self._socket.recv(timeout=PATIENCE, decode=False))

    def _follow(self) -> None:
        """Wait for the next part that wants to be drawn anew, and draw it."""
        fragment, (due, every) = min(self._wishes.items(), key=lambda wish: wish[1])
        time.sleep(max(0.0, due - time.monotonic()))
        self._wishes[fragment] = time.monotonic() + every, every
        self._ask(fragment=fragment)
        self._read_to_the_end()

    def _read_to_the_end(self) -> None:
        while True:
            message = self._hear()
            match message.WhichOneof("type"):
                case "new_session" if not message.metadata.run.fragment_ids:
                    self._run = message.metadata.run.script_run_id
                    self._wishes.clear()
                    self.widgets.clear()
                case "delta":
                    self._take(tuple(message.metadata.delta_path), message.delta)
                case "auto_rerun":
                    every = message.auto_rerun.interval
                    self._wishes[message.auto_rerun.fragment_id] = time.monotonic() + every, every
                case "stop_auto_rerun":
                    self._wishes.clear()
                case "page_info_changed":
                    self._query = message.page_info_changed.query_string
                case "script_finished" if message.script_finished == DONE:
                    self._forget_earlier_runs()
                    return
                case "script_finished" if message.script_finished == FRAGMENT:
                    return
                case "script_finished" if message.script_finished != STOPPED:
                    raise RuntimeError(f"the page did not run to its end: {self.errors()}")

    def _take(self, at: tuple[int, ...], delta: Delta) -> None:
        what = delta.WhichOneof("type")
        if what == "new_element":
            self._elements[at] = self._run, delta.new_element
        if what in ("new_element", "add_block"):
            one = getattr(delta, what)
            kind = one.WhichOneof("type")
            if identity := getattr(getattr(one, kind), "id", "") if kind else "":
                self.widgets[identity] = kind

    def _forget_earlier_runs(self) -> None:
        """A run of the whole page replaces all that was there."""
        self._elements = {at: one for at, one in self._elements.items() if one[0] == self._run}
