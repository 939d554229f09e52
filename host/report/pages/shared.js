"use strict";
// What all pages use: remembers and switches dark and light, sorts tables, marks tables that are wider than their place.
document.documentElement.classList.add("js");
const remembered = {
  get(key) { try { return localStorage.getItem(key); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(key, value); } catch { /* some browsers forbid this to a local file */ } },
};
if (remembered.get("theme")) document.documentElement.dataset.theme = remembered.get("theme");

const isDark = () => document.documentElement.dataset.theme
  ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

function sortable(table) {
  const head = table.tHead.rows[0];
  for (const [column, cell] of [...head.cells].entries()) {
    if (cell.hasAttribute("data-fixed") || cell.querySelector("button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = cell.textContent;
    cell.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = cell.getAttribute("aria-sort") !== "descending";
      for (const other of head.cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => {
        const text = row.cells[column].dataset.v || row.cells[column].textContent.trim();
        const number = parseFloat(text.replace(/[\u202f\s]/g, ""));
        return Number.isNaN(number) ? text.toLowerCase() : number;
      };
      const rows = [...table.tBodies[0].rows].sort((one, two) => {
        const [a, b] = [value(one), value(two)];
        return (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1) * (down ? -1 : 1);
      });
      table.tBodies[0].append(...rows);
    });
  }
}

// Keeps a stream of events open while the page is seen: a browser has six connections for a site, and tabs that nobody
// looks at, or pages that were left, must not hold them.
function streamWhileSeen(open) {
  let stream = null;
  const follow = () => {
    if (!document.hidden) stream ??= open();
    else { stream?.close(); stream = null; }
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}

// Marks what is wider than its place, and whether more of it follows on the right.
const measured = (box) => {
  box.classList.toggle("wide", box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1);
  box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
};
const scrolled = ({ target }) => measured(target);
const sizes = new ResizeObserver((changed) => { for (const { target } of changed) measured(target); });

function dressed() {
  for (const table of document.querySelectorAll("table.sortable")) sortable(table);
  for (const box of document.querySelectorAll(".scroll")) {
    sizes.observe(box);
    box.addEventListener("scroll", scrolled, { passive: true });
    measured(box);
  }
}

function themed() {
  const theme = document.getElementById("theme");
  const named = () => { theme.textContent = isDark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`); };
  theme.hidden = false;
  named();
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    remembered.set("theme", document.documentElement.dataset.theme);
    named();
  });
}
