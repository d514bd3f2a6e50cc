// Writes the command that compares the two chosen runs.
"use strict";

(() => {
  const [before, after] = ["before", "after"].map((id) => document.getElementById(id));
  const command = document.getElementById("command");
  const write = () => {
    command.textContent =
      before.value === after.value
        ? "choose two different runs"
        : `just compare results/${before.value} results/${after.value}`;
  };
  if (before.options.length < 2) return;
  document.querySelector(".choose").hidden = false;
  [before.selectedIndex, after.selectedIndex] = [1, 0];
  [before, after].forEach((side) => side.addEventListener("change", write));
  write();
})();
