"""The app as a server: `streamlit run serve.py`. Its worker begins with it, not with a visitor."""

from starlette.middleware import Middleware
from streamlit import App

from coupling_core.base.allocator import few_lists
from explorer.server.door import Door
from explorer.server.headers import Headers
from explorer.server.root import Root
from explorer.server.serving import begin

few_lists()
layers = [Middleware(Headers), Middleware(Door), Middleware(Root)]
app = App("app.py", lifespan=begin, middleware=layers)
