"""What every result can do: say itself in a line, become a dict, a frame, a table or a chart."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import polars as pl

from trialframe.charts._theme import WIDTH
from trialframe.display import counted, differences, interval, kind_of, told, unit_of
from trialframe.errors import ArgumentError, listed, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialframe.charts._theme import Chart, Theme

Estimate: TypeAlias = tuple[str, "float | None", "float | None", "float | None"]
"""Name, value, and the ends of its interval."""

ROWS = 10
"""Rows of a table shown in a notebook; all of them are in the table itself."""
_SAYINGS = ("claim", "reading", "headline")
"""Fields that hold the sentence of a result."""
_REMARKS = ("warnings", "notes", "reasons")
_LONG = 300


class Result:
    """Base of frozen result dataclasses; holds no data of its own."""

    __slots__ = ()
    _unit: ClassVar[str | None] = None
    """Unit of its estimates, where no metric says it."""
    _drawing: ClassVar[tuple[str, str, str]] = ("", "level", "share")
    """Title of its chart, whether it shows a "level" or a "difference", title of the axis."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values by field name; nested results become dicts, tables lists of rows."""
        return {item.name: _plain(getattr(self, item.name)) for item in _exported(self)}

    def to_frame(self) -> pl.DataFrame:
        """One row; fields of nested results get the name of the field in front.

        Tables inside the result are left out.
        """
        flat: dict[str, Any] = {}
        for name, value in self.to_dict().items():
            if isinstance(getattr(self, name), pl.DataFrame):
                continue
            nested = value if isinstance(value, dict) else {"": value}
            for key, inner in nested.items():
                joined = "; ".join(map(str, inner)) if isinstance(inner, list) else inner
                flat[f"{name}_{key}" if key else name] = joined
        return pl.DataFrame([flat])

    def plot(self, *, theme: Theme = "light", width: int = WIDTH) -> Chart:
        """The result as an Altair chart, where there is something to draw.

        Args:
            theme: "light" or "dark".
            width: Pixels that the chart takes, labels included.

        Returns:
            A chart; `chart.save("x.svg")` writes it. Its `data` is the table it draws.

        Raises:
            ArgumentError: There is no chart of this kind of result.
        """
        rows = self._estimates()
        if rows:
            return _drawn(self, rows, theme, width)
        tables = [item.name for item in _exported(self) if _is_table(getattr(self, item.name))]
        more = f" Its tables are {listed(tables)}." if tables else ""
        raise ArgumentError(
            f"a {type(self).__name__} has no chart: its numbers are in to_frame().{more}"
        )

    def _estimates(self) -> list[Estimate]:
        """Names and numbers with their intervals that a chart may show beside each other."""
        return []

    def __repr__(self) -> str:
        """The sentence of the result and what weakens it, or its few numbers."""
        name = type(self).__name__
        said = next((text for key in _SAYINGS if (text := getattr(self, key, None))), None)
        if said is None:
            return f"{name}({', '.join(_brief(self))})"
        remarks = (f"- {text}" for key in _REMARKS for text in getattr(self, key, None) or ())
        return "\n".join([f"{name}: {said}", *remarks])

    def _repr_html_(self) -> str:
        first, *rest = repr(self).splitlines() or [""]
        if first.startswith(f"{type(self).__name__}("):
            first, rest = type(self).__name__, []
        remarks = "".join(f"<li>{_safe(line.removeprefix('- '))}</li>" for line in rest)
        rows = "".join(
            f"<tr><th>{_safe(name)}</th><td>{_safe(text)}</td></tr>" for name, text in numbers(self)
        )
        tables = "".join(
            _folded(item.name, table, _unit_of(self))
            for item in _exported(self)
            if _is_table(table := getattr(self, item.name))
        )
        inner = "".join(
            f"<details><summary>{_safe(item.name)}</summary>{value._repr_html_()}</details>"
            for item in _exported(self)
            if isinstance(value := getattr(self, item.name), Result)
        )
        lines = f"<ul>{remarks}</ul>" if remarks else ""
        return f"<p><b>{_safe(first)}</b></p>{lines}<table>{rows}</table>{tables}{inner}"


def html_table(frame: pl.DataFrame, unit: str | None = None, rows: int = ROWS) -> str:
    """The first rows of a table in HTML, numbers as people read them, everything escaped.

    Args:
        frame: Any table.
        unit: Unit of its estimates, where no column `unit` or `metric` says it.
        rows: How many rows to show.
    """
    head = "".join(f"<th>{_safe(name)}</th>" for name in frame.columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_safe(text)}</td>' for text in row)}</tr>"
        for row in texts(frame.head(rows), unit)
    )
    left = frame.height - rows
    more = f"<p>{left:,} more {'row' if left == 1 else 'rows'}</p>" if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def texts(frame: pl.DataFrame, unit: str | None = None) -> Iterator[list[str]]:
    """The rows of a table as texts: rates as per cent, money in dollars, time in seconds.

    Args:
        frame: Any table.
        unit: Unit of its estimates, where no column `unit` or `metric` says it.
    """
    for row in frame.iter_rows(named=True):
        own = row.get("unit")
        if own is None and isinstance(row.get("metric"), str):
            own = unit_of(row["metric"])
        yield [told(value, _like(name, row), own or unit) for name, value in row.items()]


def _like(name: str, row: dict[str, Any]) -> str:
    """The column that tells how to show another: ranges beside a difference are differences."""
    ends = ("low", "high", "bracket_", "identified_")
    return "diff" if "diff" in row and name.startswith(ends) else name


def _drawn(result: Any, rows: list[Estimate], theme: Theme, width: int) -> Chart:
    """Estimates with intervals as a chart, with what was estimated and what weakens it."""
    from trialframe.charts import estimates

    title, kind, axis = result._drawing  # noqa: SLF001
    types = {"name": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    frame = pl.DataFrame(rows, schema=types, orient="row")
    said = next((text for key in _SAYINGS if (text := getattr(result, key, None))), "")
    level, method = getattr(result, "level", None), getattr(result, "method", None)
    how = [f"line: {100 * level:.10g} % interval" if level else "", str(method or "")]
    assumed = getattr(result, "assumes", None)
    warnings = list(getattr(result, "warnings", ()))
    more = [f"{len(warnings) - 3} more warnings"] if len(warnings) > 3 else []
    return estimates(
        frame,
        title=title,
        lines=[
            visible(said),
            ", ".join(filter(None, how)),
            f"assumes {assumed}" if assumed else "",
            *(f"! {visible(text)}" for text in (*warnings[:3], *more)),
        ],
        axis=axis,
        unit=_unit_of(result),
        kind=kind,
        theme=theme,
        width=width,
    )


def _exported(result: Any) -> Iterator[Any]:
    return (item for item in fields(result) if item.metadata.get("export", True))


def _is_table(value: object) -> bool:
    return isinstance(value, pl.DataFrame)


def _unit_of(result: Result) -> str | None:
    metric = getattr(result, "metric", None)
    return unit_of(metric) if isinstance(metric, str) else result._unit  # noqa: SLF001


def _brief(result: Result) -> Iterator[str]:
    """Fields in short: tables by their size, long texts cut."""
    for item in fields(result):  # type: ignore[arg-type]
        value = getattr(result, item.name)
        if not item.repr or value is None or (isinstance(value, tuple) and not value):
            continue
        if isinstance(value, pl.DataFrame):
            yield f"{item.name}={counted(value.height, 'row')}"
        elif isinstance(value, float):
            yield f"{item.name}={value:.6g}"
        else:
            text = repr(value)
            yield f"{item.name}={text if len(text) <= _LONG else text[:_LONG] + '...'}"


def numbers(result: Result) -> Iterator[tuple[str, str]]:
    """Names and texts of what a result itself knows; ends of intervals beside their estimate.

    Sentences and warnings are left out, as they stand above, and so is what lies deeper.
    """
    row = {name: value for name, value in result.to_dict().items() if _is_plain(name, value)}
    ends = {name for name in row if name.endswith(("low", "high"))}
    unit = _unit_of(result)
    for name, value in row.items():
        if name in ends and _estimate_of(name, row) is not None:
            continue
        pair = [f"{name}_low", f"{name}_high"]
        if name in {"value", "diff", "mean"} and ends >= {"low", "high"}:
            pair = ["low", "high"]
        text = told(value, _like(name, row), unit)
        if ends.issuperset(pair) and isinstance(value, (int, float)):
            text = f"{text} {_ends(name, row[pair[0]], row[pair[1]], unit)}"
        yield name, text


def _is_plain(name: str, value: object) -> bool:
    """Whether a field is a known number or word of its own."""
    if name in _SAYINGS + _REMARKS or value is None:
        return False
    return not isinstance(value, (dict, list))


def _estimate_of(end: str, row: dict[str, Any]) -> str | None:
    """The field that an end of an interval belongs to and is shown with."""
    stem = end.removesuffix("low").removesuffix("high").removesuffix("_")
    owners = (stem,) if stem else ("value", "diff", "mean")
    return next((name for name in owners if row.get(name) is not None), None)


def _ends(name: str, low: float, high: float, unit: str | None) -> str:
    kind = kind_of(name, unit)
    if kind == "difference":
        return differences(low, high, unit)
    return interval(low, high, kind) if kind else f"[{low:.4g}, {high:.4g}]"


def _folded(name: str, table: pl.DataFrame, unit: str | None) -> str:
    size = f"{_safe(name)}, {counted(table.height, 'row')}"
    return f"<details><summary>{size}</summary>{html_table(table, unit)}</details>"


def _safe(text: object) -> str:
    return escape(visible(str(text)))


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    return list(value) if isinstance(value, tuple) else value
