"""The results that ship with the code, and the recipe that makes them: `make gallery`."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from coupling_core.base.folders import SHIPPED, SWEEPS
from coupling_core.base.images import read_image
from coupling_core.base.records import DEFAULT_MODEL, Request
from coupling_core.experiments.vision import SUITE
from coupling_core.sources.suites import DEFAULT_SUITE, find_suite

EXAMPLES = (
    "What is the capital of France? The capital is",
    "She poured the tea, sat down by the window and",
    "def factorial(n):\n    return 1 if n == 0 else n *",
)
"""Prompts whose results are committed, for the trained model and its untrained twin."""

KINDS = {
    "Facts": (
        EXAMPLES[0],
        "The chemical symbol for gold is",
        "The largest ocean on Earth is the",
        "Water is made of hydrogen and",
    ),
    "Stories": (
        EXAMPLES[1],
        "The old lighthouse keeper climbed the stairs one last time and",
        "Nobody in the village had ever seen the river so high, so",
        "“Don't open that box,” she said, but he had already",
    ),
    "Code": (
        EXAMPLES[2],
        "for (let i = 0; i < items.length; i++) {\n  console.log(items[",
        "SELECT name, price FROM products WHERE price > 10 ORDER BY",
        "#include <stdio.h>\n\nint main(void) {\n    printf(",
    ),
    "Arithmetic": (
        "2 + 2 = 4, 3 + 5 = 8, 7 + 6 =",
        "Twelve times twelve is",
        "A train covers 60 kilometres in one hour. In three hours it covers",
        "1, 2, 4, 8, 16, 32,",
    ),
    "Other languages": (
        "La capitale de l'Italie est",
        "Der Zug nach Berlin fährt um acht Uhr ab und kommt um",
        "El perro corre por el parque y el gato duerme en",
        "今天天气很好 我们一起去",
    ),
    "Random tokens": (
        " preservative miR participatinguscinity thornsibilities Misc settlingCONT",
        "educt powers editionsdst IgnSheet valence Machine leaguesAWS",
        " chef preach Enh northsuggestvent critic brewed erupted Billion",
        "[::-avasZinality hugely supposedly sli precipitatedPORT locales",
    ),
}
"""Prompts to begin with, four of each kind. Those in `EXAMPLES` come with their results; the others
are measured where somebody asks, for the results of one are three megabytes. Random tokens are ten
each, drawn from the default model's vocabulary: coupling that is there too is not a matter of what
is said."""

MODELS = (DEFAULT_MODEL, "gemma3-270m")
"""Of texts, whose results come with the program; the second one's weights do not."""
UNTRAINED_SEED = 0
TOKEN_BLOCKS = (12, 11)
"""The blocks l and l' in which tokens are compared: those that the app selects at first."""
K_VIEW = 24
"""Side of the stored matrices: keeps these results under 25 MB."""

TRAINING = {
    "mini-64": EXAMPLES,
    "mini-64-sd": EXAMPLES[:1],
    "mini-64-seed1": EXAMPLES[:1],
    "mini-128": EXAMPLES[:1],
}
"""Prompts whose results are committed at every step of a suite."""
TRAINING_K_VIEW = 4

PICTURES = SWEEPS / "pictures"
PICTURE = PICTURES / "sneaker" / "0009.png"
"""The picture whose results are committed, for the first seed of every rate."""
VISION_K = 10
"""Few, as the width of those models is."""


def requests(model: str = DEFAULT_MODEL) -> list[Request]:
    """The blocks at one token, for every example, trained and untrained."""
    return [
        Request(prompt, model=model, k_view=K_VIEW, untrained=seed)
        for prompt in EXAMPLES
        for seed in (None, UNTRAINED_SEED)
    ]


def path_requests(model: str = DEFAULT_MODEL) -> list[Request]:
    """The paths that the gallery has: of the first prompt, trained and untrained."""
    return _of_first("trajectory", model)


def map_requests(model: str = DEFAULT_MODEL) -> list[Request]:
    """What edits of depth do, directions, spectra and noise: the first prompt and its twin."""
    kinds = ("what-if", "directions", "spectrum", "perturbation")
    return [request for kind in kinds for request in _of_first(kind, model)]


def token_requests(model: str = DEFAULT_MODEL) -> list[Request]:
    """Comparisons of the first prompt's tokens: in two blocks, and on average over all pairs."""
    block, other = TOKEN_BLOCKS
    request = Request(EXAMPLES[0], model=model, kind="self")
    pair = replace(request, block=block, other_block=other)
    return [pair, replace(pair, kind="fixed-output"), request]


def training_requests() -> list[Request]:
    """The blocks at one token and the paths at every step of the training runs, and spectra."""
    checkpoints = [
        suite.request(Request(prompt, k_view=TRAINING_K_VIEW), step)
        for suite, prompts in ((find_suite(name), prompts) for name, prompts in TRAINING.items())
        for step in suite.steps
        for prompt in prompts
    ]
    of_steps = [each for asked in checkpoints for each in (asked, asked.of_kind("trajectory"))]
    suite = find_suite(DEFAULT_SUITE)  # of this one the weights come along, and the spectra
    asked = [suite.request(Request(EXAMPLES[0]), step) for step in suite.steps]
    return [*of_steps, *(one.of_kind("spectrum") for one in asked)]


def vision_requests() -> list[Request]:
    """The blocks at the class token of one picture, at every rate of stochastic depth."""
    prompt = read_image(PICTURE)
    runs = [run for run in SUITE.runs if run.seed == SUITE.seeds[0]]
    return [Request(prompt, model=run.repo, token=1, k=VISION_K, k_view=VISION_K) for run in runs]


def every_request() -> list[Request]:
    """All that ship."""
    of_text = (requests, token_requests, path_requests, map_requests)
    of_texts = [one for model in MODELS for asked in of_text for one in asked(model)]
    return [*of_texts, *training_requests(), *vision_requests()]


@lru_cache(maxsize=1)
def _every() -> frozenset[Request]:
    return frozenset(map(_of_any_size, every_request()))


def ships(request: Request) -> bool:
    """Whether an answer comes with the program, be it of another size."""
    return _of_any_size(request) in _every()


def _of_any_size(request: Request) -> Request:
    return replace(request, k=Request.k, k_view=Request.k_view)


def build(folder: Path) -> None:
    """Measure whatever the folder lacks."""
    from coupling_core.measuring.measure import measure
    from coupling_core.store.disk import Store

    store = Store(folder)
    for request in every_request():
        measure(request, store)


def _of_first(kind: str, model: str) -> list[Request]:
    seeds = (None, UNTRAINED_SEED)
    return [Request(EXAMPLES[0], model=model, untrained=seed, kind=kind) for seed in seeds]


if __name__ == "__main__":
    build(SHIPPED / "gallery")
