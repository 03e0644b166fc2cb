"""Images in the formats that ImageDecoder reads."""

import io

import numpy as np

FORMATS = ["PNG", "BMP", "JPEG", "TIFF", "WEBP", "PPM"]


def picture(d):
    from PIL import Image

    d.since(20)
    of, pixels = d.one(FORMATS), d.one(["RGB", "BGR", "Grayscale"])
    # Of others, the reference evaluator gives what is stored, and not the pixels that are asked for.
    mode = d.one(["RGB", "L", "1"]) if pixels == "Grayscale" else "RGB"
    mode = "L" if mode == "1" and of in ("JPEG", "WEBP") else mode
    height, width = d.int(1, 40), d.int(1, 40)
    channels = [3] if mode == "RGB" else []
    if d.chance():
        elements = d.array("uint8", [height, width, *channels], 0, 255)
    else:
        # Smooth, as photographs are.
        y, x = np.mgrid[0:height, 0:width]
        waves = [128 + 127 * np.sin(x / d.int(2, 9) + c) * np.cos(y / d.int(2, 9)) for c in range(3)]
        elements = np.stack(waves, axis=2).astype("uint8")[..., : 3 if channels else 1].reshape(height, width, *channels)
    image = Image.fromarray(elements > 127 if mode == "1" else elements)
    given = {}
    if of == "JPEG":
        given = {"quality": d.int(20, 95), "progressive": d.chance(), "subsampling": d.int(0, 2), "optimize": d.chance()}
    elif of == "PNG":
        given = {"optimize": d.chance(), "compress_level": d.int(0, 9)}
    elif of == "TIFF":
        given = {"compression": d.one([None, "tiff_lzw", "tiff_deflate", "packbits"])}
    elif of == "WEBP":
        given = {"lossless": d.chance(), "quality": d.int(10, 100)}
    stored = io.BytesIO()
    image.save(stored, of, **given)
    encoded = np.frombuffer(stored.getvalue(), "uint8")
    d.node("ImageDecoder", [d.input(encoded)], pixel_format=pixels if pixels != "RGB" else d.maybe("RGB"))


DRAWS = [("picture", picture)]
