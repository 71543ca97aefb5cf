// The editor when the bundled one is not there: a text area with the interface of editor.js.

import { el } from "/dom.js";

export function create(host, { label, description, onRun, onChange }) {
  const area = el("textarea", { spellcheck: false, autocapitalize: "off", "aria-label": label, title: description });
  host.append(area);
  area.addEventListener("input", onChange);
  area.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      onRun();
    }
  });
  return {
    get text() { return area.value; },
    set text(text) { area.value = text; },
    setLanguage() {},
    mark() {},
    goTo(line) {
      const lines = area.value.split("\n");
      const from = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
      area.focus();
      area.setSelectionRange(from, from + (lines[line - 1] ?? "").length);
    },
    focus() { area.focus(); },
  };
}
