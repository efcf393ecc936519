"""Draws panels of a dashboard as SVG. Knows nothing of Prometheus: series are names with (time, value) points."""
import math
import time
from xml.sax.saxutils import escape

COLORS = ["#3274d9", "#e0752d", "#37872d", "#a352cc", "#c4162a", "#0a95a7", "#b88600", "#6f6f8f", "#8f3bb8", "#5794f2", "#ff780a", "#73bf69"]
FONT = "'DejaVu Sans','WenQuanYi Micro Hei','Noto Sans CJK SC',sans-serif"
COLUMN, ROW, GAP, MARGIN = 62, 34, 8, 16  # pixels: of Grafana's grid, between panels, around the board
LEGEND_ROW, LEGEND_MOST = 16, 8


def width_of(text, size):
    """About as wide as `text` will be: letters of Chinese are square."""
    return sum(size if ord(c) > 0x2E7F else size * 0.6 for c in text)


def fit(text, size, width):
    """`text`, cut with an ellipsis to `width` pixels."""
    if width_of(text, size) <= width:
        return text
    while text and width_of(text + "…", size) > width:
        text = text[:-1]
    return text + "…"


def label(x, y, text, size=11, color="#4a4f57", anchor="start", weight="normal"):
    return '<text x="%.1f" y="%.1f" font-size="%d" fill="%s" text-anchor="%s" font-weight="%s">%s</text>' % (
        x, y, size, color, anchor, weight, escape(text))


def scaled(value, steps, base):
    """`value` with the largest of the `steps` prefixes that leaves a number of at least 1."""
    power = 0
    while abs(value) >= base and power < len(steps) - 1:
        value, power = value / base, power + 1
    return number(value) + steps[power]


def number(value):
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 4
    text = "%.*f" % (digits, value)
    if float(text) == 0:
        return "%.1e" % value
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(seconds):
    for limit, size, unit in ((1e-3, 1e-6, " µs"), (1, 1e-3, " ms"), (120, 1, " s"), (7200, 60, " min"), (172800, 3600, " h")):
        if abs(seconds) < limit:
            return "0 s" if seconds == 0 else number(seconds / size) + unit
    return number(seconds / 86400) + " d"


def amount(value, unit):
    """A value with its unit, as Grafana's units of these names are shown."""
    if unit == "decbytes":
        return scaled(value, [" B", " kB", " MB", " GB", " TB", " PB"], 1000)
    if unit == "s":
        return duration(value)
    if unit == "ms":
        return duration(value / 1000)
    if unit == "percent":
        return number(value) + " %"
    if unit in ("ops", "reqps"):
        return scaled(value, ["", "k", "M"], 1000) + ("/s" if unit == "ops" else " req/s")
    if unit.startswith("suffix:"):
        return number(value) + unit[len("suffix:"):]
    return scaled(value, ["", "k", "M", "G", "T"], 1000)


def unit_name(unit):
    """What stands at the axis."""
    names = {"decbytes": "bytes", "s": "seconds", "ms": "milliseconds", "percent": "percent", "ops": "per second", "reqps": "requests per second"}
    return unit[len("suffix:"):].strip() if unit.startswith("suffix:") else names.get(unit, "count")


def ticks(top, count=4):
    """Round values from 0 to at least `top`."""
    raw = top / count
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1, 2, 2.5, 5, 10) if size * m >= raw * 0.999)
    return [step * i for i in range(int(math.ceil(top / step - 1e-9)) + 1)]


def highest(series):
    values = [v for _, points in series for _, v in points if math.isfinite(v)]
    return max([v for v in values if v > 0], default=1.0)


class Frame:
    """Where the curves of a panel lie, and how times and values become pixels."""

    def __init__(self, left, top, width, height, span, most):
        self.left, self.top, self.width, self.height = left, top, width, height
        self.start, self.end = span
        self.most = most

    def x(self, at):
        return self.left + (at - self.start) / max(self.end - self.start, 1e-9) * self.width

    def y(self, value):
        return self.top + self.height - min(max(value / self.most, 0), 1) * self.height


def axes(frame, marks, unit):
    out = []
    for value in marks:
        y = frame.y(value)
        out.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#e4e7eb"/>' % (frame.left, y, frame.left + frame.width, y))
        out.append(label(frame.left - 6, y + 4, amount(value, unit), 10, anchor="end"))
    count = max(2, int(frame.width / 110))
    for i in range(count + 1):
        at = frame.start + (frame.end - frame.start) * i / count
        anchor = "start" if i == 0 else "end" if i == count else "middle"
        out.append(label(frame.x(at), frame.top + frame.height + 14, time.strftime("%H:%M:%S", time.gmtime(at)), 10, anchor=anchor))
    out.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#9aa1ab"/>' % (
        frame.left, frame.top + frame.height, frame.left + frame.width, frame.top + frame.height))
    return out


def curve(frame, points, color, gap):
    """One series; where no value came for longer than `gap` seconds the line is broken."""
    runs, last = [], None
    for at, value in points:
        if not math.isfinite(value):
            last = None
            continue
        if last is None or at - last > gap:
            runs.append([])
        runs[-1].append((frame.x(at), frame.y(value)))
        last = at
    out = []
    for run in runs:
        if len(run) == 1:
            out.append('<circle cx="%.1f" cy="%.1f" r="2" fill="%s"/>' % (*run[0], color))
        else:
            path = " ".join("%.1f,%.1f" % point for point in run)
            out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.6" stroke-linejoin="round"/>' % (path, color))
    return out


def last_value(points):
    return next((v for _, v in reversed(points) if math.isfinite(v)), math.nan)


def legend_rows(series, left, top, width, unit):
    """The names with their last values, in two columns where there are many."""
    shown = series if len(series) <= LEGEND_MOST else series[: LEGEND_MOST - 1]
    columns = 1 if len(shown) <= 2 or width < 400 else 2
    column_width = width / columns
    out = []
    for i, (name, points) in enumerate(shown):
        x, y = left + i % columns * column_width, top + i // columns * LEGEND_ROW
        value = amount(last_value(points), unit)
        out.append('<rect x="%.1f" y="%.1f" width="12" height="3" rx="1" fill="%s"/>' % (x, y - 5, COLORS[i % len(COLORS)]))
        out.append(label(x + 18, y, fit(name, 10, column_width - width_of(value, 10) - 36), 10))
        out.append(label(x + column_width - 10, y, value, 10, color="#1f2329", anchor="end"))
    if len(shown) < len(series):
        i = len(shown)
        out.append(label(left + i % columns * column_width + 18, top + i // columns * LEGEND_ROW, "and %d more" % (len(series) - i), 10))
    return out


def legend_height(series, width):
    rows = min(len(series), LEGEND_MOST)
    return LEGEND_ROW * (rows if rows <= 2 or width < 400 else (rows + 1) // 2)


def panel(title, unit, series, box, span, gap):
    """A panel at `box` (x, y, width, height): title, unit, axes, curves, legend. `series` is a list of (name, points)."""
    x, y, width, height = box
    below = legend_height(series, width - 24)
    marks = ticks(highest(series) * 1.05)
    left = 14 + max(width_of(amount(mark, unit), 10) for mark in marks)
    frame = Frame(x + left, y + 50, width - left - 16, height - 50 - 26 - below - 8, span, marks[-1])
    out = ['<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4" fill="#ffffff" stroke="#d8dce2"/>' % (x, y, width, height),
           label(x + 12, y + 21, fit(title, 13, width - 24), 13, "#1f2329", weight="bold"),
           label(x + 12, y + 38, unit_name(unit), 10, "#7b828c")]
    out += axes(frame, marks, unit)
    for i, (_, points) in enumerate(series):
        out += curve(frame, points, COLORS[i % len(COLORS)], gap)
    return out + legend_rows(series, x + 14, y + height - below + 2, width - 24, unit)


def box_of(one):
    """Pixels of a panel's place in Grafana's grid."""
    return (MARGIN + one.x * COLUMN + GAP / 2, 56 + one.y * ROW + GAP / 2, one.w * COLUMN - GAP, one.h * ROW - GAP)


def row(title, box):
    return [label(box[0] + 4, box[1] + 19, title, 15, "#1f2329", weight="bold")]


def page(title, subtitle, parts, bottom):
    """The whole picture: `parts` are lines of SVG, `bottom` the lowest pixel that they use."""
    width, height = 2 * MARGIN + 24 * COLUMN, bottom + MARGIN
    return "\n".join(['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="%s">' % (width, height, FONT),
                      '<rect width="100%" height="100%" fill="#f4f5f7"/>',
                      label(MARGIN + 8, 34, title, 20, "#1f2329", weight="bold"),
                      label(width - MARGIN - 8, 34, subtitle, 12, anchor="end"), *parts, "</svg>", ""])
