"""Line charts as SVG text, for documents: one function, no dependencies."""

from __future__ import annotations

import math
from html import escape

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 76, 225, 44, 54
# Told apart also by those who do not see all colours alike (Okabe and Ito), and by the shape of the line.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
DASHES = ["", "6 3", "2 3", "8 3 2 3", "", "6 3", "2 3"]


class Axis:
    def __init__(self, values: list[float], log: bool, low: float, high: float):
        """Maps `values` to pixels from `low` to `high`."""
        self.log, self.low, self.high = log, low, high
        if log:
            values = [math.log10(value) for value in values]
            self.first, self.last = math.floor(min(values) + 1e-9), math.ceil(max(values) - 1e-9)
            self.last = max(self.last, self.first + 1)
            self.ticks = [10.0**power for power in range(self.first, self.last + 1)]
        else:
            # Zero is part of a linear axis: without it, small differences look like large ones.
            step = 10 ** math.floor(math.log10(max(max(values), 1e-9)))
            step = next(step * part for part in (0.2, 0.5, 1, 2) if max(values) / (step * part) <= 6)
            count = max(1, math.ceil(max(values) / step))
            self.first, self.last = 0.0, count * step
            self.ticks = [step * number for number in range(count + 1)]

    def at(self, value: float) -> float:
        value = math.log10(value) if self.log else value
        return self.low + (value - self.first) / (self.last - self.first) * (self.high - self.low)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


Points = list[tuple[float, float]]


def chart(title: str, x_title: str, y_title: str, series: dict[str, Points], log_y: bool = False) -> str:
    """Lines by name. The horizontal axis is logarithmic, with the points' own values as its ticks."""
    series = {name: points for name, points in series.items() if points}
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold">{escape(title)}</text>',
    ]
    if not series:
        out += [f'<text x="{LEFT}" y="80">no results</text>', "</svg>"]
        return "\n".join(out) + "\n"
    points = [point for each in series.values() for point in each]
    x_axis = Axis([x for x, _ in points], True, LEFT, WIDTH - RIGHT)
    y_axis = Axis([y for _, y in points], log_y, HEIGHT - BOTTOM, TOP)
    # From the first point to the last, instead of whole powers of ten.
    x_axis.first = math.log10(min(x for x, _ in points))
    x_axis.last = max(math.log10(max(x for x, _ in points)), x_axis.first + 0.1)
    for tick in y_axis.ticks:
        y = y_axis.at(tick)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for tick in sorted({x for x, _ in points}):
        x = x_axis.at(tick)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 5}" stroke="#222"/>')
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 19}" text-anchor="middle">{number(tick)}</text>')
    out.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#222"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_title)}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">{escape(y_title)}</text>')
    for index, (name, each) in enumerate(series.items()):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        path = " ".join(f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in sorted(each))
        line = f'fill="none" stroke="{colour}" stroke-width="2"' + (f' stroke-dasharray="{dash}"' if dash else "")
        out.append(f'<polyline points="{path}" {line}/>')
        for x, y in each:
            out.append(f'<circle cx="{x_axis.at(x):.1f}" cy="{y_axis.at(y):.1f}" r="3" fill="{colour}"/>')
        x, y = WIDTH - RIGHT + 14, TOP + 10 + index * 20
        out.append(f'<path d="M{x} {y}h26" {line}/>')
        out.append(f'<text x="{x + 32}" y="{y + 4}">{escape(name)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
