"use strict";
// Sorts and filters the tables of the page, and adds the rows of long tables when they are wanted.
(() => {
  const STEP = 500; // rows that are added at a time
  const FEW = 8; // rows below which there is nothing to filter
  const TONES = JSON.parse(document.getElementById("tones").textContent);
  const words = new Intl.Collator(undefined, { numeric: true });
  const whole = new Intl.NumberFormat("en");

  function keyOf(cell) {
    if ("k" in cell.dataset) return cell.dataset.k === "" ? null : Number(cell.dataset.k);
    const text = cell.textContent.trim();
    return text === "-" ? null : text;
  }

  function element(tag, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function bar(at) {
    const made = element("span", "bar");
    made.setAttribute("aria-hidden", "true");
    ["--l", "--m", "--h"].forEach((name, i) => made.style.setProperty(name, at[i]));
    return made;
  }

  function cellOf([text, key, more], heading) {
    const kind = heading.className;
    const cell = element(kind === "name" ? "th" : "td", kind);
    if (kind === "name") cell.scope = "row";
    if (Array.isArray(more)) cell.append(bar(more), " ");
    if (kind === "verdict" && key !== null) {
      cell.append(element("span", "word " + (TONES[text] || "plain"), text));
    } else {
      cell.append(text);
    }
    if (typeof more === "string" && more) cell.append(" ", element("span", "aside", more));
    return cell;
  }

  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * words.compare(a, b);
  }

  class Rows {
    constructor(part) {
      this.table = part.querySelector("table");
      this.body = this.table.tBodies[0];
      this.headings = [...this.table.tHead.rows[0].cells];
      this.count = part.querySelector(".count");
      this.input = part.querySelector("input");
      this.more = part.querySelector(".more button");
      this.rows = [...this.body.rows].map((node) => ({
        node, keys: [...node.cells].map(keyOf), text: node.textContent.toLowerCase(),
      }));
      this.limit = Number(this.table.dataset.brief);
      const rest = part.querySelector("script[type='application/json']");
      for (const cells of rest ? JSON.parse(rest.textContent) : []) {
        this.rows.push({ cells, keys: cells.map((c) => c[1]), text: cells.map((c) => c[0]).join(" ").toLowerCase() });
      }
      this.shown = this.rows;
      this.zeros = this.headings.map((heading) => heading.dataset.zero);
      this.rows.forEach((row) => row.node && this.mark(row.node));
      this.listen(part);
      // a few rows more are no reason for a button
      if (this.rows.length <= this.limit * 1.2) this.limit = this.rows.length;
      this.draw(this.limit);
    }

    listen(part) {
      part.querySelector(".filter").hidden = this.rows.length < FEW;
      this.input.addEventListener("input", () => this.filter());
      this.headings.forEach((heading, i) => {
        heading.firstElementChild.addEventListener("click", () => this.sort(i));
      });
      this.more.addEventListener("click", () => this.grow());
    }

    mark(node) {
      this.zeros.forEach((zero, i) => {
        const drawn = zero !== undefined && node.cells[i].querySelector(".bar");
        if (drawn) drawn.appendChild(element("i")).style.setProperty("--z", zero);
      });
    }

    nodeOf(row) {
      if (!row.node) {
        row.node = document.createElement("tr");
        row.node.append(...row.cells.map((cell, i) => cellOf(cell, this.headings[i])));
        this.mark(row.node);
      }
      return row.node;
    }

    sort(i) {
      const heading = this.headings[i];
      const now = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      this.headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", now);
      const sign = now === "ascending" ? 1 : -1;
      this.rows.sort((a, b) => compare(a.keys[i], b.keys[i], sign));
      this.filter();
    }

    filter() {
      const wanted = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
      this.shown = this.rows.filter((row) => wanted.every((word) => row.text.includes(word)));
      this.draw(this.limit);
    }

    grow() {
      const before = this.limit;
      this.limit = Math.min(this.limit + STEP, this.rows.length);
      this.draw(this.limit);
      const next = this.body.rows[before];
      if (next && this.more.hidden) {
        next.tabIndex = -1;
        next.focus({ preventScroll: true });
      }
    }

    draw(limit) {
      this.body.replaceChildren(...this.shown.slice(0, limit).map((row) => this.nodeOf(row)));
      this.tell();
    }

    tell() {
      const seen = Math.min(this.body.rows.length, this.shown.length);
      const all = this.rows.length;
      const one = all === 1 ? " row" : " rows";
      const found = this.shown.length < all ? whole.format(this.shown.length) + " of " : "";
      const part = seen < this.shown.length ? ", " + whole.format(seen) + " shown" : "";
      this.count.textContent = found + whole.format(all) + one + part;
      this.more.hidden = seen >= this.shown.length;
    }
  }

  document.documentElement.classList.add("live");
  const tables = [...document.querySelectorAll(".table:not(.fixed)")].map((part) => new Rows(part));
  const expand = () => tables.forEach((rows) => rows.draw(Infinity));
  const restore = () => tables.forEach((rows) => rows.draw(rows.limit));
  window.addEventListener("beforeprint", expand);
  window.addEventListener("afterprint", restore);
  window.matchMedia("print").addEventListener("change", (event) => (event.matches ? expand() : restore()));
})();
