"""What every result can do: become a dict, a frame, and a table in a notebook."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import polars as pl


class Result:
    """Base of frozen result dataclasses; holds no data of its own."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values by field name; nested results become dicts, tables lists of rows."""
        kept = (item for item in fields(self) if item.metadata.get("export", True))  # type: ignore[arg-type]
        return {item.name: _plain(getattr(self, item.name)) for item in kept}

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

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(_shown(value))}</td></tr>"
            for name, value in self.to_frame().row(0, named=True).items()
        )
        return f"<table>{rows}</table>"


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    return list(value) if isinstance(value, tuple) else value


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
