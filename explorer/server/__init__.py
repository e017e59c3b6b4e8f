"""What there is one of in a server, whoever visits it.

door        what a client may send before any page has looked at it
uploads     files that visitors hand over
serving     what begins and ends with it
root        where the server is, told to the front end
headers     what every answer tells a browser to refuse
engine      the process that computes
backend     the store, and what may be asked of it
prompt_lists  lists of prompts that are measured as a whole
trainer     the lane in which visitors train models of their own
single      what there is one of in a process
admission   what this app takes on
turns       which pages are drawn, and which wait
visitors    who is at the other end, as far as the connection tells
needs       what a measurement needs, found out before it runs
estimate    how long it will take, from what earlier ones took
sign_in     who may use the app, and what it needs to know of their provider
"""
