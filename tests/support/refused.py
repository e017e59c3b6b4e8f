"""What functions say of what they cannot take. Run by itself, where no types are checked:

python tests/support/refused.py      prints a JSON object: of each call, what it raised
"""

import json
import sys

import tiny
from cases import EVERY_KIND, random_result

import coupling_core as cc

IDS = (3, 1, 4, 1, 5)


def edit(model, edits):
    with cc.edited(model, edits):
        pass


def between_k(k):
    """A depth-wise result of width 48 that holds fewer triplets than it could."""
    return random_result(width=48, k_max=k)


def calls():
    """Calls by name, each of which should be refused."""
    m = tiny.model("llama")
    between, means = (cc.measure(IDS, kind="self", block=b, model=m, k=4) for b in (1, None))
    depth, _, _, _, _, found = (made() for made in EVERY_KIND)
    table = cc.measure_many([IDS], m, k=4, store=None, progress=False)
    return {
        "scores k True": lambda: depth.scores(k=True),
        "scores k list": lambda: depth.scores(k=[1, 2]),
        "scores k float": lambda: depth.scores(k=2.5),
        "scores p": lambda: depth.scores(p="x"),
        "token scores k": lambda: between.scores(k=True),
        "mean scores k": lambda: means.scores(k=[1]),
        "view blocks text": lambda: cc.View(blocks="9-12"),
        "view blocks one": lambda: cc.View(blocks=9),
        "view blocks floats": lambda: cc.View(blocks=[1.5]),
        "model a suite": lambda: cc.measure(IDS, model="mini-64"),
        "role": lambda: depth.scores(role="a"),
        "final norm": lambda: cc.measure(IDS, model=m, final_norm="excluded"),
        "kind None": lambda: cc.measure(IDS, model=m, kind=None),
        "kind whatif": lambda: cc.measure(IDS, model=m, kind="whatif"),
        "read_out": lambda: cc.read_out(depth, found.u[0], model=m),
        "shared_of side": lambda: cc.shared_of(found, cc.DirectionsView(), "w"),
        "compare_models": lambda: cc.compare_models(table, "a", "a"),
        "compare_models name": lambda: cc.compare_models(table, "LlamaForCausalLN", "b"),
        "Edit spelled": lambda: cc.Edit("skip(3)"),
        "Edit number": lambda: cc.Edit("skip", 3),
        "Edit factor": lambda: cc.Edit("damp", (1,), "x"),
        "edited name": lambda: edit(m, "name"),
        "edited meant": lambda: edit(m, "skp(3)"),
        "edited twice": lambda: edit(m, ["interchange(1,2)", "skip(2)"]),
        "Request word": lambda: cc.Request("a", modle="b"),
        "View word": lambda: cc.View(definitoin="page"),
        "PathView word": lambda: cc.PathView(fitt="all"),
        "EffectView word": lambda: cc.EffectView(token=1),
        "DirectionsView word": lambda: cc.DirectionsView(leadin=1),
        "compare k": lambda: cc.compare(between_k(8), between_k(16), k=5000),
        "scores k absurd": lambda: between_k(8).scores(k=5000),
        "scores k not measured": lambda: between_k(8).scores(k=9),
        "jacobian texts": lambda: cc.jacobian("The cat sat", "smollm2-135m", block=1),
        "jacobian unknown": lambda: cc.jacobian("smollm3", "The cat sat", block=1),
        "question against": lambda: cc.Question(k=8, against="los"),
        "question method": lambda: cc.Question(k=8, method="kendall"),
        "wrap by names": lambda: cc.wrap(m, blocks="model.layers"),
        "compare directions": lambda: cc.compare(found, found),
        "token 0": lambda: cc.measure((3, 1, 4), token=0),
    }


def said(call):
    """The kind of error that a call raises, and its words."""
    try:
        return f"gave {call()!r}"
    except Exception as error:  # another sort than the one expected is what is looked for
        return _told(error)


def _told(error):
    # Where the stack ends decides which words Python has for it.
    words = str(error).replace("depth exceeded in comparison", "depth exceeded")
    return f"{type(error).__name__}: {words}"


def refusals(calls, *places, sorts=cc.InputError):
    """What each call by name is refused with; `places` are folders, which no snapshot may hold."""
    found, taken = {}, []
    for name, call in calls.items():
        try:
            call()
            taken.append(name)
        except sorts as error:
            found[name] = _told(error)
    assert taken == []
    for place in places:
        found = {name: told.replace(str(place), "FOLDER") for name, told in found.items()}
    return found


if __name__ == "__main__":
    json.dump({name: said(call) for name, call in calls().items()}, sys.stdout)
