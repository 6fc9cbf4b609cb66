"""Type families of source columns, and what each can serve as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from trialframe.schema import Column


def kind_of(dtype: Any) -> str:
    """Type family of a Polars or narwhals dtype."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "float"
    name = type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__
    families = {
        "Boolean": "boolean",
        "String": "string",
        "Categorical": "string",
        "Enum": "string",
        "Datetime": "time",
        "Date": "time",
        "Null": "null",
        "Binary": "bytes",
        "Struct": "struct",
        "List": "list",
        "Array": "list",
    }
    return families.get(name, "other")


_AS_TEXT = {
    "time": 'pl.col("COLUMN").cast(pl.String)',
    "bytes": 'pl.col("COLUMN").bin.encode("hex")',
    "struct": 'pl.col("COLUMN").struct.json_encode()',
    "list": 'pl.col("COLUMN").cast(pl.List(pl.String)).list.join("/")',
    "other": 'pl.col("COLUMN").cast(pl.String)',
}
"""How a column of a kind that is no id becomes one."""


def unfit(spec: Column, kind: str, source: str) -> str:
    """Why a column of this kind cannot serve, or an empty string."""
    dtype = spec.dtype
    if kind == "null":
        return ""
    if dtype == pl.String:
        if kind not in _AS_TEXT:
            return ""
        example = _AS_TEXT[kind].replace("COLUMN", source)
        return f"text or numbers are needed, for example {spec.name}={example}"
    if dtype == pl.Boolean:
        if kind == "string" and spec.name != "passed":
            return f'map its words, for example {spec.name}=pl.col("{spec.name}") == "pass"'
        return (
            "" if kind in {"boolean", "integer", "float", "string"} else "true or false is needed"
        )
    if dtype == pl.Int64 and spec.name == "trial":
        return "" if kind in {"integer", "float", "string"} else "whole numbers are needed"
    if dtype in (pl.Int64, pl.Float64):
        return "" if kind in {"integer", "float"} else "numbers are needed"
    return "" if kind in {"time", "string"} else "times are needed"
