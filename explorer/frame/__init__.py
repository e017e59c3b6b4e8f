"""What is round every page.

shell       its first call, and what catches whatever goes wrong in it
contents    which pages there are
pages.js    the link to the page that is shown, brought into sight
paper.js    the files of the camera button, which are for paper on a dark page too
present     a page for a lecture room; present.js has its keys
sidebar     the controls that all pages share
"""
