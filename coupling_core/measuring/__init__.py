"""The front door: a request in, a result out; and what it will cost, said before.

front           measure(...) as people call it, with the types of what comes
asked           a request in parts: a text and what is asked of it
origin          what only this process knows of a result
measure         from the store, or by the composition of the request's kind
alone           one measurement at a time, whichever threads ask
one_jacobian    one block's Jacobian itself, made and checked as in a measurement
model_copy      a model that is named, as a module of one's own
one_edit        one edit of a prompt's depth, and how the model then goes on
trying          directions added to a model's states, or taken out of them
composing       what the composition of any kind begins with
probe           what a model is, before any of its weights are loaded
forecast        what is known of a measurement before it runs
cost            how long it takes
memory          what memory it takes
recheck         does the model still compute what a result rests on?
worker          measuring in a process that may die
many            many prompts of one model, in as many such processes as there are cores
crew            how many of those that may be
deaths          models that ended such a process, remembered
borrowing       weights that are on this disk only while they are measured
stored_steps    what the store has of a training run
filling         what it lacks, measured step by step
watched         how far a call is, shown where somebody watches
startup         what a fresh process spares before its first measurement
compat          the two functions that the papers' authors released
"""
