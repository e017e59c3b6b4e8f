"""What is chosen on the Generalization page, and what is asked of a sweep for it."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from coupling_core.base.errors import InputError
from coupling_core.base.records import Method, ModelSize, ModelSubset, Performance, PromptNumber
from coupling_core.experiments.sweeps import Journal
from explorer.panels import sweep_tables
from explorer.session.link import Parameter, Text, expect
from explorer.session.state import State

if TYPE_CHECKING:  # statistics import scipy, which the page does without until there is a table
    from coupling_core.analysis.findings import Question

_Folder = Annotated[str, expect(re.compile(r"[\w][\w.-]{0,80}").fullmatch, "the name of a sweep")]
_Triplets = Annotated[
    float,
    expect(
        lambda k: 0 < k < 1 or (1 <= k < 10**6 and k.is_integer()),
        "an integer from 1, or a share of the width below 1,",
    ),
]


@dataclass(frozen=True)
class SweepState(State):
    """What is chosen on this page.

    Args:
        sweep: the folder of the sweep that is looked at; empty is the first.
        sweep_k: number of leading triplets there, below 1 their share of the width; 0 is the
            smallest that all models have.
        against: which performance; None is one that is known.
        subset: of the models.
        method: of correlation.
        model_size: the number of a model that coupling is drawn against.
        prompt_number: the number of a prompt that coupling is drawn against.
        of_model: the model whose prompts are drawn; empty is the first.
    """

    sweep: _Folder = ""
    sweep_k: Annotated[_Triplets, Parameter("gk")] = 0.0
    against: Performance | None = None
    subset: ModelSubset = "all"
    method: Method = "pearson"
    model_size: Annotated[ModelSize, Parameter("size")] = "parameters"
    prompt_number: Annotated[PromptNumber, Parameter("number")] = "tokens"
    of_model: Annotated[Text, Parameter("of")] = ""

    def question(self, journal: Journal) -> "Question":
        """What is asked of a sweep, with what the reader left open as its table has it."""
        from coupling_core.analysis.findings import Question

        shared, known = sweep_tables.offered(journal)
        if not shared:
            raise InputError(f"{journal.folder.name} has no depth-wise score yet")
        k = self.sweep_k if self.sweep_k in shared else shared[0]
        against = self.against or (known[0] if known else "loss")
        subset = self.subset if self.subset in sweep_tables.subsets(journal) else "all"
        return Question(k, self.measure, against, subset, self.method)
