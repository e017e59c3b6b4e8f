"""Edits of a model's depth: blocks run elsewhere, twice, damped or not at all.

    edited        a model under an edit, called as it always is, until a `with` block ends
    replays       blocks run again on other states, many sequences at a time
    obstacles     which blocks cannot run elsewhere, and why
    programs      many edits at once: what they share is run once, and equal blocks run together
    running       many edits of one prompt, and the effect of each
    effects       how far what a model then says is from what it said
    divergence    KL of many next-token distributions from the model's own
    one_edit      one edit, and how the model then goes on
    shorter       texts as they are told once blocks are left out: the loss, and the divergence
    neighbours    what first order predicts of interchanging two neighbours

A block runs on other states with the arguments of its own call in the unedited run, as captured by
`jacobians.captured_calls`: so it takes its rotary base, its window and its kind of attention along,
whatever family it is of. Nothing is cached between tokens.
"""
