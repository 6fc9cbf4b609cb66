"""The page in a real browser: quiet, sortable, readable in every colour scheme, printable.

Needs Chromium (apt-get install chromium) beside the package playwright, which drives it.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import trialframe as tr
from trialframe.report.formats import encoded
from trialframe.report.page.html import html
from trialframe.report.page.model import Column, Page, Section, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
NUMBERS = [10.0, 9.0, None, -1.5, 100.0, 1e-12, 0.1 + 0.2]
WORDS = ["b10", "b9", "Ä", "a", "-", "C", "z"]

CONTRASTS = """
() => {
  const part = (value) => {
    const s = value / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  };
  const colour = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const paper = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = colour(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const worst = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    const drawn = node.closest("svg, script, style, noscript") || !node.getClientRects().length;
    if (!own || drawn) continue;
    const [one, two] = [light(colour(getComputedStyle(node).color)), light(paper(node))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    worst.push([ratio, node.tagName + "." + node.className, node.textContent.slice(0, 40)]);
  }
  return worst.sort((a, b) => a[0] - b[0]);
}
"""


@pytest.fixture(scope="module")
def browser(require: Callable[[str], Any]) -> Iterator[Any]:
    for module in ("jinja2", "altair", "vl_convert"):
        require(module)
    playwright = require("playwright.sync_api")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        message = f"no browser to try the page in: install one of {', '.join(NAMES)}"
        if os.environ.get("TRIALFRAME_REQUIRE_EXTRAS") == "1":
            pytest.fail(message)
        pytest.skip(message)
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=found, args=list(QUIET))
        yield running
        running.close()


@pytest.fixture(scope="module")
def trials() -> pl.DataFrame:
    made = tr.simulate(
        configs=["base", "<b>new</b>", "a-config-with-a-name-that-goes-on-and-on-and-on", "d"],
        cases=400,
        trials=3,
        lift=[0, 0.2, 0.05, -0.2],
        clusters=40,
        cost_uusd=1_500,
        unscored=0.05,
        difficulty_levels=("hard", "easy"),
        seed=7,
    )
    return made.drop("true_rate")


@pytest.fixture(scope="module")
def address(browser: object, trials: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    tr.report(trials, path, baseline="base", by="difficulty")
    return path.as_uri()


@pytest.fixture(scope="module")
def small(browser: object, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with two tables whose order is known: a short one, and one that is written late."""
    path = tmp_path_factory.mktemp("small") / "small.html"
    copies = 60
    tables = []
    for name, times in (("short", 1), ("long", copies)):
        frame = pl.DataFrame({"word": WORDS * times, "number": NUMBERS * times})
        columns = (
            Column(
                title="word", texts=tuple(WORDS * times), keys=tuple(WORDS * times), kind="name"
            ),
            Column(
                title="number",
                texts=tuple("-" if n is None else f"{n:.3g}" for n in NUMBERS * times),
                keys=tuple(NUMBERS * times),
            ),
        )
        tables.append(Table(name=name, caption=name, columns=columns, frame=frame, brief=500))
    section = Section(name="tables", title="Tables", tables=tuple(tables))
    page = Page(title="Small", subject="nothing", verdicts=(), sections=(section,))
    path.write_text(html(page), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open an address in a fresh window; errors and requests are kept with it."""
    windows = []

    def opened(address: str, **options: Any) -> Any:
        window = browser.new_context(**({"viewport": {"width": 1440, "height": 900}} | options))
        windows.append(window)
        page = window.new_page()
        page.told = []
        page.asked = []
        page.on("console", lambda message: page.told.append(message.text))
        page.on("pageerror", lambda error: page.told.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(address)
        return page

    yield opened
    for window in windows:
        window.close()


def column(page: Any, table: str, place: int) -> list[str]:
    """The texts of a column, as they stand."""
    rows = f"#{table}-rows tbody tr"
    script = f"rows => rows.map(row => row.cells[{place}].textContent.trim())"
    found: list[str] = page.eval_on_selector_all(rows, script)
    return found


def test_it_loads_quietly_and_asks_for_nothing(visit: Any, address: str) -> None:
    page = visit(address)
    assert page.told == []
    assert [url for url in page.asked if not url.startswith("data:")] == [address]
    assert page.title() == "Evaluation report"
    page.evaluate("fetch('https://example.org/').catch(() => 0)")
    page.wait_for_function("() => true")
    assert any("Content Security Policy" in text for text in page.told), "forbidden by the page"


@pytest.mark.parametrize("table", ["short", "long"])
def test_numbers_sort_as_numbers_and_unknown_is_last(visit: Any, small: str, table: str) -> None:
    page = visit(small)
    times = 1 if table == "short" else 60
    button = page.locator(f"#{table}-rows thead button").nth(1)
    known = sorted(n for n in NUMBERS if n is not None)
    rising = [f"{n:.3g}" for n in known for _ in range(times)]
    button.click()
    assert column(page, table, 1) == rising + ["-"] * times
    heading = page.locator(f"#{table}-rows thead th").nth(1)
    assert heading.get_attribute("aria-sort") == "ascending"
    button.click()
    assert column(page, table, 1) == rising[::-1] + ["-"] * times
    assert heading.get_attribute("aria-sort") == "descending"
    page.locator(f"#{table}-rows thead button").nth(0).click()
    assert heading.get_attribute("aria-sort") is None
    names = column(page, table, 0)
    assert names.index("b9") < names.index("b10"), "numbers in words count as numbers"
    assert page.told == []


def test_the_filter_narrows_and_tells_how_many(visit: Any, address: str) -> None:
    page = visit(address)
    count = page.locator("#flaky-cases-table .count")
    whole = count.text_content()
    box = page.locator("#flaky-cases-table input")
    box.fill("case_01 CASE_")
    names = column(page, "flaky-cases", 0)
    assert names
    assert all("case_01" in name for name in names)
    assert " of " in count.text_content()
    assert count.get_attribute("aria-live") == "polite"
    box.fill("no such case")
    assert column(page, "flaky-cases", 0) == []
    assert count.text_content().startswith("0 of ")
    box.fill("")
    assert count.text_content() == whole


def test_more_rows_come_when_asked_for(visit: Any, address: str, trials: pl.DataFrame) -> None:
    page = visit(address)
    counts = tr.counts(trials).frame
    flaky = counts.filter(pl.col("c") > 0, pl.col("c") < pl.col("n"))["case"].n_unique()
    assert flaky > 300, "the table must be one that is written late"
    assert len(column(page, "flaky-cases", 0)) == 15
    button = page.locator("#flaky-cases-table .more button")
    button.click()
    names = column(page, "flaky-cases", 0)
    assert len(names) == len(set(names)) == flaky
    assert not button.is_visible()


def test_the_keyboard_is_enough(visit: Any, address: str) -> None:
    page = visit(address)
    page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.className")
    assert first == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    button = page.locator("#leaderboard-rows thead button").nth(1)
    button.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    headings = page.locator("#leaderboard-rows thead th")
    assert headings.nth(2).get_attribute("aria-sort") == "ascending"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert float(outline.removesuffix("px")) >= 2
    page.keyboard.press("Space")
    assert headings.nth(2).get_attribute("aria-sort") == "descending"
    lost = page.eval_on_selector_all("[tabindex]", "all => all.map(e => e.tabIndex)")
    assert max(lost) == 0, "the order of the page is the order of the keyboard"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_are_drawn_in_the_colours_of_the_scheme(
    visit: Any, address: str, scheme: str
) -> None:
    page = visit(address, color_scheme=scheme)
    figures = page.locator("figure")
    assert figures.count() >= 4
    for i in range(figures.count()):
        seen = figures.nth(i).locator(f".{scheme} svg")
        other = figures.nth(i).locator(f".{'dark' if scheme == 'light' else 'light'} svg")
        assert not other.is_visible()
        box = seen.bounding_box()
        assert box["width"] > 300
        assert box["height"] > 80
        assert seen.locator("path, rect, line, circle").count() > 5
        assert seen.locator("text").count() > 3
    first = figures.nth(0).locator(f".{scheme} svg")
    paper = first.locator("rect").first.get_attribute("fill")
    under = page.evaluate("getComputedStyle(document.body).backgroundColor")
    numbers = ", ".join(str(int(paper[i : i + 2], 16)) for i in (1, 3, 5))
    assert under == f"rgb({numbers})", "chart and page have one paper"


@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_itself_never_scrolls_sideways(visit: Any, address: str, width: int) -> None:
    page = visit(address, viewport={"width": width, "height": 844})
    wide = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[1] == width
    clipped = page.eval_on_selector_all(
        "h1, h2, h3, p, li, dd, .verdicts .word",
        "all => all.filter(e => e.getClientRects().length && !e.closest('.unseen') && "
        "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.textContent)",
    )
    assert clipped == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_paper(visit: Any, address: str, scheme: str) -> None:
    page = visit(address, color_scheme=scheme)
    found = page.evaluate(CONTRASTS)
    assert len(found) > 300
    assert found[0][0] >= 4.5, found[:5]


def test_the_download_is_the_frame(
    visit: Any, address: str, trials: pl.DataFrame, tmp_path: Path
) -> None:
    page = visit(address, accept_downloads=True)
    with page.expect_download() as waiting:
        page.locator("#leaderboard-table .csv").click()
    assert waiting.value.suggested_filename == "leaderboard.csv"
    waiting.value.save_as(tmp_path / "got.csv")
    wanted = tr.leaderboard(tr.counts(trials))
    assert (tmp_path / "got.csv").read_bytes() == encoded(wanted, "csv")


def test_paper_gets_every_row_and_no_controls(visit: Any, address: str) -> None:
    page = visit(address, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_function("document.querySelectorAll('#flaky-cases-rows tbody tr').length > 300")
    for control in ("nav", ".filter", ".csv", ".more button", ".skip"):
        places = page.locator(control)
        assert not any(places.nth(i).is_visible() for i in range(places.count())), control
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("figure .light svg").first.is_visible()
    assert not page.locator("figure .dark svg").first.is_visible()
    heads = page.eval_on_selector_all(
        "#flaky-cases-rows thead th",
        "all => all.map(e => [getComputedStyle(e, '::before').content, e.innerText])",
    )
    assert heads[0] == ['"case"', ""], "a head with a button is not repeated on every sheet"
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="screen")
    page.wait_for_function("document.querySelectorAll('#flaky-cases-rows tbody tr').length === 15")


def test_without_a_script_the_first_rows_are_there(visit: Any, address: str) -> None:
    page = visit(address, java_script_enabled=False)
    assert page.locator("#flaky-cases-rows tbody tr").count() == 100
    assert page.locator("#leaderboard-rows tbody tr").count() == 4
    assert page.locator("noscript").first.is_visible()
    assert not page.locator("input").first.is_visible()
    assert page.locator("#leaderboard-table .csv").is_visible()


def test_names_run_nothing(visit: Any, browser: object, tmp_path: Path) -> None:
    names = ("<script>window.bad=1</script>", '"><img src=x onerror="window.bad=2">', "</script>")
    rows = [(c, k, t, t != i) for i, c in enumerate(names) for k in names * 2 for t in range(3)]
    schema = ["config", "case", "trial", "passed"]
    frame = pl.DataFrame(rows, schema=schema, orient="row").unique(schema[:3], maintain_order=True)
    path = tmp_path / "evil.html"
    tr.report(frame, path, baseline=names[0], title=names[0])
    page = visit(path.as_uri())
    assert page.told == []
    assert page.evaluate("window.bad") is None
    assert page.locator("h1").text_content() == names[0]
    assert set(names) == set(column(page, "leaderboard", 1))
