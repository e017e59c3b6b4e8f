"""Jacobians of blocks at tokens and between tokens, and the checks that they are right.

Which way is taken is found by trying, never by a model's name, and noted for the result
(`engine.ways_taken`). The fast way comes first; each gives way to the next where it cannot be had,
or is not what the model computes.

    what                          ways, in the order in which they are tried
    ----------------------------  ---------------------------------------------------------------
    a token's state and its       1  the token alone over a cache             (decode, runner)
    block, causal model           2  its row in a run over the whole sequence      (decode)
    the same, bidirectional       1  one row over the others' keys and values     (one_row)
    model                         2  its row in a run over the whole sequence      (decode)
    J at one token                1  branches in forward mode, the rest backwards
                                     (same_token, branches, attention_heads, cached_attention)
                                  2  all of it backwards                      (same_token)
                                  3  that in true float64                     (true_float64)
    J from all inputs to one      1  through keys and values, in one pass     (earlier_tokens)
    output                        2  backwards over the whole sequence        (between_tokens)
    J from one input to many      1  for each output as above, one input kept (between_tokens)
    outputs                       2  backwards over the whole sequence        (between_tokens)

What every one of them has to pass is in `derivative_check`: its rows against the block's own
gradients, and its columns against differences of what the block computes.

    captured_calls      calls of blocks, captured as the model makes them, and replayed
    captured_block      one as a function of one token's state
    stack_properties    causal or not, random or not, one token alone or not, the final norm
    runner              one stack of a model, run whole or on one token
    trace               the blocks at one token
    decode              the blocks at many tokens, from one pass over the prompt
    gradients           many cotangents of one output, pulled back together
    attention_record    what a block's attention takes in and gives, on record
    linearised_path     products with Jacobians, for the linearised path of a token
    unembedding         what a model's own final norm and head make of any state
"""
