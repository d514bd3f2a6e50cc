// Tabs and sortable tables. Without this script every part of the page is visible, one below the other.
"use strict";

(() => {
  const list = document.getElementById("tabs");
  const tabs = [...(list?.querySelectorAll("a") ?? [])];
  const panelOf = (tab) => document.getElementById(tab.hash.slice(1));

  function select(tab, moveFocus) {
    for (const other of tabs) {
      const isSelected = other === tab;
      other.setAttribute("aria-selected", String(isSelected));
      other.tabIndex = isSelected ? 0 : -1;
      panelOf(other).hidden = !isSelected;
    }
    if (moveFocus) tab.focus();
  }

  function beginTabs() {
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "Parts of this report");
    tabs.forEach((tab, place) => {
      const panel = panelOf(tab);
      tab.id = `${panel.id}-tab`;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", panel.id);
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      panel.tabIndex = 0;
      tab.addEventListener("click", (event) => {
        event.preventDefault();
        history.replaceState(null, "", tab.hash);
        select(tab, false);
      });
      tab.addEventListener("keydown", (event) => {
        const last = tabs.length - 1;
        const next = {
          ArrowRight: place === last ? 0 : place + 1,
          ArrowLeft: place === 0 ? last : place - 1,
          Home: 0,
          End: last,
          " ": place,
        }[event.key];
        if (next === undefined) return;
        event.preventDefault();
        history.replaceState(null, "", tabs[next].hash);
        select(tabs[next], true);
      });
    });
    select(tabs.find((tab) => tab.hash === location.hash) ?? tabs[0], false);
  }

  // A trial is a body of its own: its figures, and below them what was recorded.
  function beginSorting(table) {
    const headers = [...table.tHead.rows[0].cells];
    headers.forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => {
        const isRising = header.getAttribute("aria-sort") !== "ascending";
        headers.forEach((other) => other.removeAttribute("aria-sort"));
        header.setAttribute("aria-sort", isRising ? "ascending" : "descending");
        const isNumber = header.classList.contains("number");
        const value = (row) => {
          const cell = row.rows[0].cells[column];
          if (!isNumber) return cell.textContent;
          const text = cell.dataset.v ?? cell.textContent;
          return text === "" ? Number.NaN : Number(text);
        };
        const compare = isNumber
          ? (a, b) => (isRising ? a - b : b - a)
          : (a, b) => (isRising ? a.localeCompare(b) : b.localeCompare(a));
        // What was not measured stands last, whichever way is up.
        const isMissing = (v) => Number(isNumber && Number.isNaN(v));
        const rows = [...table.tBodies].map((row) => [value(row), row]);
        rows.sort(([a], [b]) => isMissing(a) - isMissing(b) || (isMissing(a) ? 0 : compare(a, b)));
        table.append(...rows.map(([, row]) => row));
      });
    });
  }

  if (list) beginTabs();
  document.querySelectorAll("table.trials").forEach(beginSorting);
})();
