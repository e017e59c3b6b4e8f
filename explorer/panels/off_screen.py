"""A page drawn where nobody looks: what one takes home has the very figures of the screen."""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from streamlit.runtime import get_instance
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import (
    RerunData,
    ScriptRunner,
    ScriptRunnerEvent,
    get_script_run_ctx,
)
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.state import SessionState

from coupling_core.base.errors import ComputeError
from explorer.panels.page import Page
from explorer.panels.whole import Whole, drawn_in
from explorer.server.turns import turns

LONGEST = 60
"""Seconds that a page may take."""


@dataclass(frozen=True)
class OffScreen:
    """Draws pages as its visitor sees them; may be used after their own page was drawn.

    Args:
        session: of the visitor.
        main_script: the app's first file.
        user: who is signed in.
        files: that the visitor has handed over.
    """

    session: str
    main_script: str
    user: Any
    files: Any

    @classmethod
    def here(cls) -> "OffScreen":
        """For the visitor whose page is being drawn."""
        context = get_script_run_ctx()
        if context is None:
            raise RuntimeError("a page is drawn off the screen for a visitor, and none is here")
        return cls(
            f"{context.session_id}-off-screen",
            context.main_script_path,
            context.user_info,
            context.uploaded_file_mgr,
        )

    def draw(self, page: Page, query: Mapping[str, str]) -> Whole:
        """All that a page draws."""
        state, over, loop = SessionState(), threading.Event(), asyncio.new_event_loop()
        scripts = ScriptCache()
        runner = ScriptRunner(
            session_id=self.session,
            main_script_path=self.main_script,
            session_state=state,
            uploaded_file_mgr=self.files,
            script_cache=scripts,
            initial_rerun_data=RerunData(urlencode(query), page_name=page.address),
            user_info=self.user,
            fragment_storage=MemoryFragmentStorage(),
            pages_manager=PagesManager(self.main_script, scripts),
            event_loop=loop,
        )

        def note(_: Any, event: ScriptRunnerEvent, **more: Any) -> None:
            if event is ScriptRunnerEvent.SHUTDOWN:
                over.set()

        runner.on_event.connect(note, weak=False)
        with turns.stepping_aside():
            runner.start()
            ended = over.wait(LONGEST)
        runner.request_stop()
        files = get_instance().media_file_mgr
        files.clear_session_refs(self.session)
        files.remove_orphaned_files()
        if not ended:
            raise ComputeError(f"the page {page.title} took longer than {LONGEST} s: open it once")
        loop.close()
        return drawn_in(state)
