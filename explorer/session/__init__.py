"""One visitor: who it is, what they chose, and words of others made harmless.

state           what a reader has chosen that several pages share
link            the form of all states in a link
lesson          what a teacher hands out, as text
session         what was chosen, kept across pages and bound to widgets
fitting         what a link asks for and this prompt or model does not have, left out
widget_values   what a client says that widgets hold, checked
sign_in         the one door of the app
choice          a list whose last entry lets the reader type
chips           a prompt as its tokens
plain_errors    what goes wrong on a page, in its place
plain_text      texts of others, without what Markdown would make of them
"""
