"""Images in folders of classes: `<class>/<image>`, or `train/<class>/` beside `test/<class>/`."""

from pathlib import Path

import numpy as np
from jaxtyping import Int64, UInt8
from PIL import Image, ImageOps, UnidentifiedImageError

from coupling_core.base.errors import InputError
from coupling_core.base.images import FORMATS, SIXTEEN_BITS, in_eight_bits, opened_image
from studies.vision.pictures import Pictures, hold_out

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
_MORE_FORMATS = ("BMP", "GIF", "TIFF", "PPM")
HELD_OUT = ("test", "val", "valid", "validation")
"""What the folder beside `train` may be called."""

_GREY = ("1", "L", "LA")

Files = list[tuple[Path, int]]


def read_folder(root: Path, size: int) -> Pictures:
    """Every image of a folder, as squares: in grey where all are, else in colour."""
    other = next((root / name for name in HELD_OUT if (root / name).is_dir()), None)
    if not (root / "train").is_dir() or other is None:
        classes = _classes(root)
        images, labels = _read(files := _files(root, classes), size, _mode(files))
        return hold_out(root.name, images, labels, classes)
    classes = _classes(root / "train")
    if strange := sorted(set(_classes(other, at_least=1)) - set(classes)):
        raise InputError(
            f"{other / strange[0]} is a class that {root / 'train'} lacks: give both the same"
        )
    learned, held_out = _files(root / "train", classes), _files(other, classes)
    mode = _mode([*learned, *held_out])
    return Pictures(root.name, *_read(learned, size, mode), *_read(held_out, size, mode), classes)


def _classes(root: Path, at_least: int = 2) -> tuple[str, ...]:
    found = tuple(sorted(path.name for path in root.iterdir() if _is_class(path)))
    if len(found) < at_least:
        raise InputError(
            f"{root} has {len(found)} folders with images: expected one for each class, "
            f"{at_least} or more, with files that end in {', '.join(SUFFIXES)}"
        )
    return found


def _is_class(path: Path) -> bool:
    return (
        path.is_dir()
        and not path.name.startswith(".")
        and any(_is_image(inside) for inside in path.iterdir())
    )


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def _files(root: Path, classes: tuple[str, ...]) -> Files:
    return [
        (path, number)
        for number, name in enumerate(classes)
        if (root / name).is_dir()
        for path in sorted((root / name).iterdir())
        if _is_image(path)
    ]


def _mode(files: Files) -> str:
    """Pillow's name for grey or colour, from what the files say of themselves."""
    return "L" if all(_is_grey(_open(path).mode) for path, _ in files) else "RGB"


def _is_grey(mode: str) -> bool:
    return mode in _GREY or mode.startswith(SIXTEEN_BITS)


def _read(
    files: Files, size: int, mode: str
) -> tuple[UInt8[np.ndarray, "image height width channel"], Int64[np.ndarray, " image"]]:
    images = np.stack([_pixels(path, size, mode) for path, _ in files])
    return images, np.array([number for _, number in files], dtype=np.int64)


def _pixels(path: Path, size: int, mode: str) -> np.ndarray:
    image = _open(path)
    try:
        square = in_eight_bits(image).convert(mode).resize((size, size), Image.Resampling.BILINEAR)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise _unreadable(path, error) from error
    return np.asarray(square, dtype=np.uint8).reshape(size, size, -1)


def _open(path: Path) -> Image.Image:
    try:
        with opened_image(path, (*FORMATS, *_MORE_FORMATS)) as image:
            return ImageOps.exif_transpose(image)  # as `read_image` turns it
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    why = "it is no image" if isinstance(error, UnidentifiedImageError) else str(error)
    return InputError(f"{path} cannot be read as an image: {why}; repair it or take it away")
