"""How the vision transformers are made: `coupling vision train`.

plans        what each run is trained with
suite        the runs that come with the program, and their accuracies
pictures     what is learned: images and their labels, by a name or from a folder
fashion      Fashion-MNIST, from Debian's package
folders      images in folders of classes
model        the architecture: a plain ViT with the settings of DeiT
findings     stochastic depth, coupling and accuracy over the runs of a suite
training     such a run as language models have (`pretraining.run`), of images
grid         several runs, on this machine's devices or cores
"""

from coupling_core.experiments.vision.plans import PRESETS, VisionPlan, plan_runs
from coupling_core.experiments.vision.suite import SUITE, VisionRun, VisionSuite

__all__ = ["PRESETS", "SUITE", "VisionPlan", "VisionRun", "VisionSuite", "plan_runs"]
