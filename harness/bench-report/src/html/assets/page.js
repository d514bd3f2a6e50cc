// Tabs, sortable tables and zoom. Without this script every part of the page is visible, one below the other.
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

  // A trial is a body of its own: its figures, and below them its commands.
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

  const trimmed = (value) => String(Number(value.toPrecision(3)));
  const grouped = (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en-US") : trimmed(value));
  const writers = {
    number: grouped,
    time: (us) => (us < 1e3 ? `${trimmed(us)} µs` : us < 1e6 ? `${trimmed(us / 1e3)} ms` : `${trimmed(us / 1e6)} s`),
    percentile: (place) => String(Number(((1 - 1 / place) * 100).toFixed(5))),
  };

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function axis(scale, size) {
    const write = writers[scale.write];
    const values = (_, ticks) => ticks.map((tick) => (tick === null ? "" : write(tick)));
    const grid = { stroke: colour("chart-grid"), width: 1 };
    return { label: scale.name, stroke: colour("chart-ink"), grid, ticks: grid, values, size };
  }

  function draw(panel, box, width) {
    const write = (scale) => (_, value) => (value === null || value === undefined ? "–" : writers[scale.write](value));
    const lines = panel.lines.map((line) => ({
      label: line.name,
      stroke: colour(line.colour),
      width: line.width,
      dash: line.is_dashed ? [7, 3] : undefined,
      spanGaps: true,
      points: { show: false },
      value: write(panel.y),
    }));
    const scale = (of) => ({ time: false, distr: of.log ? 3 : 1 });
    const fromZero = (_, low, high) => [Math.min(0, low), high <= 0 ? 1 : high * 1.05];
    const options = {
      title: panel.title,
      width,
      height: 320,
      series: [{ label: panel.x.name, value: write(panel.x) }, ...lines],
      scales: { x: scale(panel.x), y: panel.y.log ? scale(panel.y) : { ...scale(panel.y), range: fromZero } },
      axes: [axis(panel.x, 50), axis(panel.y, 80)],
      cursor: { drag: { x: true, y: false } },
    };
    const data = uPlot.join(panel.lines.map((line) => [line.x, line.y]));
    return new uPlot(options, data, box);
  }

  function beginZoom(figure) {
    const details = figure.querySelector("details.zoom");
    const data = figure.querySelector('script[type="application/json"]');
    details.hidden = false;
    const hint = document.createElement("p");
    hint.textContent = "Drag over a part to zoom into it; a double click shows all again. A click on a name hides its line.";
    details.append(hint);
    let plots = [];
    const show = () => {
      plots.forEach((plot) => plot.destroy());
      plots = [];
      if (!details.open) return;
      const width = Math.min(900, figure.clientWidth);
      plots = JSON.parse(data.textContent).panels.map((panel) => draw(panel, details, width));
    };
    details.addEventListener("toggle", show);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  }

  if (list) beginTabs();
  document.querySelectorAll("table.trials").forEach(beginSorting);
  document.querySelectorAll("figure:has(details.zoom)").forEach(beginZoom);
})();
