// Sorting and filtering of the ledger table. The chosen filters stand in the address, so a view can be linked to.
(() => {
  const FILTERS = { paper: 1, kind: 3, verdict: 4, severity: 5 };
  const PAPER_KEY = (row) => row.cells[0].querySelector("a").getAttribute("href").split("/")[1];
  const value = (row, column) => row.cells[column].textContent.trim();
  // What a row is filtered by: the address's key of its paper, each of its kinds, its one verdict and severity.
  const keys = (row, name) => name === "paper" ? [PAPER_KEY(row)] : value(row, FILTERS[name]).split(", ");

  function buildControls(rows) {
    const controls = document.createElement("div");
    controls.className = "controls";
    controls.setAttribute("role", "search");
    controls.innerHTML = '<label>Find <input type="search" id="ledger-find"></label>';
    for (const [name, column] of Object.entries(FILTERS)) {
      const label = document.createElement("label");
      const select = document.createElement("select");
      select.id = `ledger-${name}`;
      select.add(new Option("all", ""));
      const options = new Map(rows.flatMap((row) => keys(row, name).map((key) => [key, name === "paper" ? value(row, column) : key])));
      const listed = name === "kind" ? [...options].sort() : [...options];
      listed.forEach(([key, shown]) => { if (key) select.add(new Option(shown, key)); });
      label.append(`${name[0].toUpperCase()}${name.slice(1)} `, select);
      controls.append(label);
    }
    controls.insertAdjacentHTML("beforeend", '<span class="status" id="ledger-status" aria-live="polite"></span>');
    return controls;
  }

  function apply(rows, total) {
    const words = document.getElementById("ledger-find").value.toLowerCase().split(/\s+/);
    const chosen = Object.keys(FILTERS).map((name) => [name, document.getElementById(`ledger-${name}`).value]);
    let shown = 0;
    for (const row of rows) {
      const text = `${row.textContent} ${row.cells[0].querySelector("a").getAttribute("href")}`.toLowerCase();
      const fits = chosen.every(([name, want]) => !want || keys(row, name).includes(want));
      row.hidden = !(fits && words.every((word) => text.includes(word)));
      shown += !row.hidden;
    }
    document.getElementById("ledger-status").textContent = `${shown} of ${total} claims`;
    const query = new URLSearchParams(chosen.filter(([, want]) => want)).toString();
    // Pages opened from the file system may not rewrite their address in some browsers.
    try { history.replaceState(null, "", location.pathname + (query ? `?${query}` : "")); } catch { /* keep it */ }
  }

  function sortBy(table, rows, column, heading) {
    const down = heading.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const compare = new Intl.Collator("en", { numeric: true }).compare;
    const sorted = [...rows].sort((a, b) => compare(value(a, column), value(b, column)));
    table.tBodies[0].append(...(down ? sorted.reverse() : sorted));
  }

  document.addEventListener("DOMContentLoaded", () => {
    const table = document.querySelector(".ledger-table table");
    const rows = [...table.tBodies[0].rows];
    const controls = buildControls(rows);
    table.closest(".ledger-table").before(controls);
    const asked = new URLSearchParams(location.search);
    for (const name of Object.keys(FILTERS)) {
      if (asked.has(name)) document.getElementById(`ledger-${name}`).value = asked.get(name);
    }
    controls.addEventListener("input", () => apply(rows, rows.length));
    table.querySelectorAll("thead th").forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      button.addEventListener("click", () => sortBy(table, rows, column, heading));
      heading.replaceChildren(button);
    });
    apply(rows, rows.length);
  });
})();
