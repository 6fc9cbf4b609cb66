"""Every target gives back what was exported, and refuses what does not fit."""

from __future__ import annotations

import math
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe import warehouse
from trialframe.errors import ArgumentError, ColumnError, ExportError

if TYPE_CHECKING:
    from collections.abc import Callable

MOMENT = datetime(2026, 1, 31, 23, 59, 59, 123457, tzinfo=UTC)
REALS = (-0.0, 0.0, 5e-324, -5e-324, 2.2250738585072011e-308, 1e308, -1e308, 0.1, 1 / 3, None)
WHOLES = (2**63 - 1, -(2**63), 0, None, 1, -1, 2**53 + 1, 10**15, 7, 8)
NAMES = (
    *("a=b/c%2F", "tab\tand\nnewline\r\n", 'quote"s', "it's; DROP TABLE x;--", "\\back\\slash"),
    *("NULL", "null", " space ", "héllo Ωß 漢字 🙂 שלום", "007"),
)


def estimates(names: tuple[str, ...] = NAMES) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "config": names,
            "metric": "pass@1",
            "k": WHOLES[: len(names)],
            "value": REALS[: len(names)],
            "se": REALS[::-1][: len(names)],
            "low": [math.nan, math.inf, -math.inf, *REALS[3:]][: len(names)],
            "high": 1.0,
            "level": 0.95,
            "unit": ["", None, "x,y", *[None] * 7][: len(names)],
            "estimand": "cases",
            "method": "score",
            "cases": WHOLES[::-1][: len(names)],
            "warnings": ["long " * 3000, *[None] * 9][: len(names)],
            "group": [None, *range(9)][: len(names)],
        },
        schema_overrides={"k": pl.Int64, "cases": pl.Int64},
    )


def expected(frame: pl.DataFrame, run_id: str, made: Any) -> dict[str, Any]:
    finite = frame.with_columns(pl.when(pl.col("low").is_finite()).then(pl.col("low")).alias("low"))
    known = finite.drop("group").with_columns(
        groups=pl.Series([f'{{"group":{"null" if g is None else g}}}' for g in frame["group"]])
    )
    stamps = {
        "suite": "default",
        "source": "summary",
        "schema_version": "1.0",
        "run_id": run_id,
        "created_at": MOMENT,
        "settings_hash": made.settings_hash,
    }
    return {"frame": known.with_columns(pl.lit(v).alias(k) for k, v in stamps.items())}


def test_every_bit_comes_back(place: Any, as_bits: Callable[..., Any]) -> None:
    frame = estimates()
    made = tr.export(frame, place.target, run_id="r'1", created_at=MOMENT)
    found = place.read("estimates")
    wanted = expected(frame, "r'1", made)["frame"]
    assert set(found.columns) == set(warehouse.ESTIMATES.schema)
    assert {n: d for n, d in found.schema.items() if d != pl.Null} == dict(found.schema)
    names = [c for c in wanted.columns if c != "created_at"]
    assert as_bits(found.select(names)) == as_bits(wanted.select(names))
    assert found["created_at"].unique().to_list() == [MOMENT]
    rest = [name for name in found.columns if name not in wanted.columns]
    assert found.select(rest).drop("package_version", "settings").null_count().sum_horizontal()[
        0
    ] == found.height * (len(rest) - 2)


def test_running_again_changes_nothing(place: Any, as_bits: Callable[..., Any]) -> None:
    for _ in range(3):
        tr.export(estimates(), place.target, created_at=MOMENT)
    first = as_bits(place.read("estimates"))
    assert len(first) == len(NAMES)
    tr.export(
        estimates().sample(fraction=1.0, shuffle=True, seed=1), place.target, created_at=MOMENT
    )
    assert as_bits(place.read("estimates")) == first


def runs(place: Any, *by: str) -> list[Any]:
    return sorted(place.read("estimates").select("run_id", "config", *by).rows())


def test_appending_replaces_what_the_run_wrote(place: Any) -> None:
    few = estimates().head(2).with_columns(config=pl.lit("a"))
    tr.export(few, place.target, run_id="one")
    tr.export(few, place.target, run_id="two")
    tr.export(few.head(1).with_columns(value=pl.lit(0.5)), place.target, run_id="one")
    assert [run for run, _ in runs(place)] == ["one", "two", "two"]
    again = place.read("estimates").filter(run_id="one")
    assert again["value"].to_list() == [0.5]


def test_one_run_may_export_config_by_config_and_metric_by_metric(place: Any) -> None:
    parts = [
        estimates().slice(row, 1).drop("group").with_columns(metric=pl.lit(metric))
        for row, metric in ((0, "x"), (1, "x"), (1, "y"))
    ]
    for part in [*parts, *parts]:
        tr.export(part, place.target, run_id="one")
    found = [("one", NAMES[0], "x"), ("one", NAMES[1], "x"), ("one", NAMES[1], "y")]
    assert runs(place, "metric") == sorted(found)


FOLDERS = ("a b", "[ab]", "a?b", "a*", "50%25", "ü 漢字 🙂", 'it\'s "so"', "a#b&c=d;e")
REFUSED = {("delta", "[ab]"), ("delta", "50%25"), ("duckdb", "a?b")}


@pytest.mark.skipif(sys.platform == "win32", reason="no such names on Windows")
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_may_have_any_name(place: Any, folder: str) -> None:
    if place.kind == "postgresql":
        pytest.skip("a server has no folder")
    outside = place.folder
    place.folder = outside / folder
    for part in (place.folder, place.folder / "hive", place.folder / "delta"):
        part.mkdir(exist_ok=True)
    few = estimates().head(2).drop("group")
    if (place.kind, folder) in REFUSED:
        with pytest.raises(ExportError, match="Nothing was written"):
            tr.export(few, place.target)
        return
    for run in ("one", "two", "one"):
        tr.export(few, place.target, run_id=run)
    assert runs(place) == sorted((run, n) for run in ("one", "two") for n in NAMES[:2])
    tr.export(few, place.target, run_id="three", mode="upsert")
    assert {run for run, _ in runs(place)} == {"three"}
    assert {path.name for path in outside.iterdir()} == {"hive", "delta", folder}


def test_one_run_may_hold_results_of_several_settings(place: Any) -> None:
    few = estimates().head(2)
    tr.export(few.drop("group"), place.target, run_id="one")
    tr.export(few, place.target, run_id="one")
    other = few.drop("group").with_columns(level=pl.lit(0.9)).head(1)
    tr.export(other, place.target, run_id="one")
    found = runs(place, "groups", "level")
    assert found == sorted(
        [
            *(
                ("one", n, f'{{"group":{g}}}', 0.95)
                for n, g in zip(NAMES, ("null", 0), strict=False)
            ),
            ("one", NAMES[0], "{}", 0.9),
            ("one", NAMES[1], "{}", 0.95),
        ]
    )


def test_upserting_keeps_the_latest_row_of_a_key(place: Any) -> None:
    few = estimates().head(3).drop("group")
    tr.export(few, place.target, run_id="one")
    tr.export(few.head(2), place.target, run_id="two", mode="upsert")
    tr.export(few.head(1), place.target, run_id="three", mode="upsert", suite="other")
    assert runs(place, "suite") == sorted(
        [
            ("one", NAMES[2], "default"),
            ("two", NAMES[0], "default"),
            ("two", NAMES[1], "default"),
            ("three", NAMES[0], "other"),
        ]
    )


def test_replacing_leaves_only_the_new_rows(place: Any) -> None:
    few = estimates().head(3).drop("group")
    tr.export(few, place.target, run_id="one")
    tr.export(few.head(1), place.target, run_id="two", mode="replace")
    assert runs(place) == [("two", NAMES[0])]


def test_a_table_without_rows_is_a_table(place: Any) -> None:
    none = tr.check_trials({"case": ["x", "y"], "passed": [True, False]}).head(0)
    made = tr.export(none, place.target)
    assert made.rows == 0
    if place.kind == "hive":  # rows make the folders
        assert list(place.path("findings").iterdir()) == []
    else:
        assert place.read("findings").height == 0
    again = tr.export(none, place.target)
    assert again.run_id == made.run_id


# --- other versions -----------------------------------------------------------------------------


def newer(*columns: warehouse.Column, version: str = "1.1") -> warehouse.Table:
    kept = warehouse.FINDINGS.columns
    return warehouse.Table(
        name="findings",
        version=version,
        meaning="findings",
        columns=(*kept[:-6], *columns, *kept[-6:]),
    )


def found(**more: Any) -> pl.DataFrame:
    table = {"rule": ["r", "s"], "severity": "error", "rows": 3, "examples": "x", "remedy": "y"}
    return pl.DataFrame(table | more)


OWNER = warehouse.Column(name="owner", dtype=pl.String, meaning="who sees to it")
SHARE = warehouse.Column(name="share", dtype=pl.Float64, meaning="of the rows")


@pytest.fixture
def version(monkeypatch: pytest.MonkeyPatch) -> Callable[[warehouse.Table], None]:
    def switch(table: warehouse.Table) -> None:
        monkeypatch.setitem(warehouse.TABLES, "findings", table)

    return switch


def test_an_older_minor_version_gets_the_new_columns(
    place: Any, version: Callable[[warehouse.Table], None]
) -> None:
    tr.export(found(), place.target, run_id="old")
    version(newer(OWNER, SHARE))
    tr.export(found(owner="me", share=-0.0), place.target, run_id="new")
    table = place.read("findings").sort("run_id", "rule")
    columns = table.select("run_id", "rule", "owner", "share", "schema_version").rows()
    assert columns == [
        ("new", "r", "me", -0.0, "1.1"),
        ("new", "s", "me", -0.0, "1.1"),
        ("old", "r", None, None, "1.0"),
        ("old", "s", None, None, "1.0"),
    ]


def test_a_newer_minor_version_is_left_alone(
    place: Any, version: Callable[[warehouse.Table], None], as_bits: Callable[..., Any]
) -> None:
    plain = warehouse.FINDINGS
    version(newer(OWNER))
    tr.export(found(), place.target, run_id="new")
    before = as_bits(place.read("findings"))
    version(plain)
    with pytest.raises(ExportError, match=r"1\.1, newer than 1\.0: upgrade trialframe"):
        tr.export(found(), place.target, run_id="old")
    version(newer(OWNER))
    assert as_bits(place.read("findings")) == before


def test_another_major_version_is_refused_and_can_be_written_anew(
    place: Any, version: Callable[[warehouse.Table], None]
) -> None:
    tr.export(found(), place.target, run_id="old")
    version(newer(OWNER, version="2.0"))
    for mode in ("append", "upsert"):
        with pytest.raises(ExportError, match=r"'1\.0', this is 2\.0.*mode='replace'"):
            tr.export(found(), place.target, run_id="new", mode=mode)
    tr.export(found(owner="me"), place.target, run_id="new", mode="replace")
    table = place.read("findings")
    assert table.select("run_id", "owner").unique().rows() == [("new", "me")]


def test_other_types_and_columns_are_named(
    place: Any, version: Callable[[warehouse.Table], None]
) -> None:
    plain = warehouse.FINDINGS
    wrong = tuple(
        warehouse.Column(name="rows", dtype=pl.String, meaning="text") if c.name == "rows" else c
        for c in plain.columns
    )
    other = warehouse.Table(name="findings", version="1.0", meaning="x", columns=(OWNER, *wrong))
    version(other)
    tr.export(found(rows="three"), place.target, run_id="old")
    version(plain)
    if place.kind == "csv":  # which knows no types: the words cannot be read as numbers
        with pytest.raises(ExportError, match="cannot be read"):
            tr.export(found(), place.target, run_id="new")
        return
    with pytest.raises(ExportError, match=r"does not have: 'owner'.*'rows' is \w+, not \w+"):
        tr.export(found(), place.target, run_id="new")


def test_what_is_no_export_is_never_overwritten(place: Any) -> None:
    foreign = pl.DataFrame({"x": [1]})
    path = place.path("findings")
    writers: dict[str, Callable[[], Any]] = {
        "parquet": lambda: foreign.write_parquet(path),
        "csv": lambda: foreign.write_csv(path),
        "json": lambda: path.write_text('[{"x": 1}]'),
        "hive": lambda: (path.mkdir(), foreign.write_parquet(path / "x.parquet")),
        "duckdb": lambda: _in_duckdb(path),
        "sqlite": lambda: _in_sqlite(path),
        "postgresql": lambda: place.query(f"CREATE TABLE {place.schema}.findings (x bigint)"),
        "delta": lambda: foreign.write_delta(path),
        "iceberg": lambda: _in_iceberg(path),
    }
    writers[place.kind]()
    for mode in ("append", "replace", "upsert"):
        with pytest.raises(ExportError, match=r"not made by an export|cannot be read as a table"):
            tr.export(found(), place.target, mode=mode)


def _in_duckdb(path: Any) -> None:
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE findings (x BIGINT)")


def _in_sqlite(path: Any) -> None:
    import sqlite3

    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE findings (x INTEGER)")
    connection.close()


def _in_iceberg(path: Any) -> None:
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog(
        "trialframe", uri=f"sqlite:///{path}", warehouse=(path.parent / "w").as_uri()
    )
    catalog.create_namespace("trialframe")
    catalog.create_table("trialframe.findings", pa.schema([("x", pa.int64())]))
    catalog.close()


# --- what cannot be exported --------------------------------------------------------------------


def test_a_repeated_key_is_refused(tmp_path: Any) -> None:
    twice = pl.concat([estimates().head(1)] * 2)
    with pytest.raises(ColumnError, match=r"rows share the key \(suite, source, config"):
        tr.export(twice, tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


def test_null_where_something_must_be_known_is_refused(tmp_path: Any) -> None:
    frame = estimates().head(2).with_columns(config=pl.Series(["a", None]))
    with pytest.raises(ColumnError, match="config is null in 1 rows"):
        tr.export(frame, tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"mode": "merge"}, "Available: 'append', 'replace', 'upsert'"),
        ({"table": "estimate"}, "Did you mean 'estimates'"),
        ({"table": "counts"}, "counts: the table lacks"),
        ({"run_id": " "}, "run_id"),
        ({"suite": ""}, "suite"),
        ({"created_at": datetime(2026, 1, 1)}, "with its time zone"),  # noqa: DTZ001
        ({"created_at": "yesterday"}, "ISO 8601"),
        ({"name": "x"}, "holds one table without a name"),
        ({"partition_by": "config"}, "has no folders"),
    ],
)
def test_bad_options_say_what_to_do(tmp_path: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises((ArgumentError, ColumnError), match=told):
        tr.export(estimates(), tmp_path / "x.parquet", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("x.xlsx", "what kind of target"),
        ("", "must be a file"),
        (None, "must be a file"),
        ("s3://bucket/x.parquet", "no target of the kind 's3://'"),
        ("delta:", "names no file"),
        ("sqlite:///", "names no file"),
        ("postgresql:u:secret@host/db", "cannot be read"),
        ("host=h password=secret user=u", r"password=\*\*\* user=u"),
        ("user=u password = 'secret' dbname=d", r"password = \*\*\* dbname=d"),
        ("jdbc:postgresql://u:secret@h/db", r"//u:\*\*\*@h/db"),
    ],
)
def test_bad_targets_say_what_to_do(target: Any, told: str) -> None:
    with pytest.raises(ArgumentError, match=told) as caught:
        tr.export(estimates(), target)
    assert "secret" not in str(caught.value)


def test_what_the_system_says_is_an_error_of_ours(tmp_path: Any) -> None:
    (tmp_path / ".x.csv.lock").mkdir()  # nobody can open it
    with pytest.raises(ExportError, match=r"x\.csv cannot be written: .*directory.*as it was"):
        tr.export(estimates(), tmp_path / "x.csv")


LIMITED = """
import resource, signal, sys
import polars as pl
import trialframe as tr

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
frame, most = pl.read_parquet(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
try:
    tr.export(frame, sys.argv[1], run_id="one")
except tr.TrialframeError as error:
    print("refused", error)
else:
    print("written")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on Windows")
@pytest.mark.parametrize("most", [2_000, 300_000])
def test_a_disk_that_is_full_is_told(
    place: Any, most: int, tmp_path: Any, child_environment: dict[str, str]
) -> None:
    if place.kind == "postgresql":
        pytest.skip("the server writes, not the export")
    if most > 2_000 and place.kind != "duckdb":
        pytest.skip("only DuckDB keeps rows in a log until its end")
    estimates().write_parquet(tmp_path / "rows.parquet")
    script = [sys.executable, "-W", "ignore", "-c", LIMITED, place.target]
    done = subprocess.run(
        [*script, str(tmp_path / "rows.parquet"), str(most)],
        env=child_environment,
        capture_output=True,
        text=True,
        check=True,
    )
    if done.stdout == "written\n":
        assert place.read("estimates").height == len(NAMES)
    else:
        assert done.stdout.startswith("refused")
        assert not place.exists("estimates")
    left = [path.name for path in place.folder.rglob(".*") if ".tmp" in path.suffixes]
    assert left == []
    tr.export(estimates(), place.target, run_id="two")
    assert {run for run, _ in runs(place)} >= {"two"}


def test_a_missing_folder_is_an_error(place: Any) -> None:
    if place.kind == "postgresql":
        return
    target = place.target.replace(str(place.folder), str(place.folder / "nowhere"))
    with pytest.raises(ExportError, match="make it first"):
        tr.export(estimates(), target)


def test_names_of_tables(new_place: Callable[[str], Any]) -> None:
    place = new_place("sqlite")
    made = tr.export(estimates(), place.target, name='odd "{table}"')
    assert made.name == 'odd "estimates"'
    connection = __import__("sqlite3").connect(place.path("estimates"))
    assert connection.execute('SELECT count(*) FROM "odd ""estimates"""').fetchone() == (10,)
    connection.close()
    with pytest.raises(ExportError, match="SQLite has no schemas"):
        tr.export(estimates(), place.target, name="a.b")
    with pytest.raises(ArgumentError, match="at most one schema"):
        tr.export(estimates(), place.target, name="a.b.c")
    with pytest.raises(ArgumentError, match="must be the name of a table"):
        tr.export(estimates(), place.target, name="a..b")


def test_a_schema_in_front_is_made_in_duckdb(new_place: Callable[[str], Any]) -> None:
    place = new_place("duckdb")
    for _ in range(2):
        tr.export(estimates(), place.target, name="evals.numbers", run_id="one")
    import duckdb

    with duckdb.connect(str(place.path("estimates"))) as connection:
        assert connection.execute("SELECT count(*) FROM evals.numbers").fetchone() == (10,)


def test_files_and_addresses_are_spelled_in_several_ways(tmp_path: Any) -> None:
    import sqlite3

    frame = estimates().head(1)
    for text in (f"sqlite:{tmp_path}/a.db", f"sqlite:///{tmp_path}/a.db", f"{tmp_path}/a.db"):
        tr.export(frame, text, run_id=text)
    connection = sqlite3.connect(tmp_path / "a.db")
    runs_there = connection.execute("SELECT count(*) FROM estimates").fetchone()
    connection.close()
    assert runs_there == (3,)
    with pytest.raises(ArgumentError, match="what kind of target"):
        tr.export(frame, f"{tmp_path}/b.db")
    assert not (tmp_path / "b.db").exists()
