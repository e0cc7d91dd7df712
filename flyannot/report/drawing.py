"""Pictures of the report as text: outlines of embryos, JPEGs, and maps of contributions."""

import base64

import numpy as np

from flyannot.images.geometry import load_opencv


def trace_outline(mask):
    """Trace the outline of an embryo, a bool array, as a CSS polygon; "" if no embryo is found."""
    cv2 = load_opencv()
    if mask.all():
        return ""
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    corners = cv2.approxPolyDP(contours[0], 0.7, closed=True)[:, 0]
    places = 100 * (corners + 0.5) / mask.shape[::-1]  # per cent of the width and of the height
    return f"polygon({','.join(['%.1f%% %.1f%%'] * len(places)) % tuple(places.ravel().tolist())})"


def to_data_url(jpeg_bytes):
    """Convert JPEG bytes to a data URL, which embeds the picture in HTML."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg_bytes).decode()}"


def pack_map(cells):
    """Return a map of contributions, an int8 array, as base64 text."""
    return base64.b64encode(cells.tobytes()).decode()
