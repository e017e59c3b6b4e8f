"""The app as a server: `streamlit run serve.py`. Its worker begins with it, not with a visitor."""

from streamlit import App

from explorer.server.serving import begin

app = App("app.py", lifespan=begin)
