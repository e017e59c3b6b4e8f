"""How the vision transformers are made.

plans        what each run is trained with
data         what is learned: images and their labels, by a name or from a folder
pictures     such images
fashion      Fashion-MNIST, from Debian's package
folders      images in folders of classes
model        the architecture: a plain ViT with the settings of DeiT
training     such a run as language models have (`pretraining.run`), of images
grid         several runs, on this machine's devices or cores
"""
