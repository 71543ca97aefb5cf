// Shows what a program does: text as text, tables, pictures, HTML in a frame of its own, errors with a way to their line.

import { $, bytes, count, el, micros, save } from "/dom.js";

const PICTURES = ["image/png", "image/svg+xml", "image/jpeg", "image/gif", "image/webp"];

export class Output {
  #box = $("output");
  #goTo;
  #pictures = 0;
  #texts = 0; // events of text since the output was cleared

  constructor(goTo) { this.#goTo = goTo; }

  clear() {
    this.#box.replaceChildren();
    this.#pictures = 0;
    this.#texts = 0;
    $("usage").hidden = true;
  }

  // event shows one event of a run.
  event(e) {
    switch (e.type) {
      case "stdout":
      case "stderr":
        this.#text(e.type, e.text);
        break;
      case "result":
        this.#add(this.#display(e));
        break;
      case "tool_call":
        this.#add(el("p.quietly", {}, `called ${e.name}: ${e.outcome}, ${micros(e.ms * 1000)}`));
        break;
      case "http_request":
        this.#add(el("p.quietly", {}, `${e.method} ${e.url} · ${e.allowed ? `${e.status}, ${bytes(e.bytes)}` : `refused: ${e.reason}`}`));
        break;
    }
  }

  // result shows what is known at the end of a run; what it did to variables, where they are kept.
  result(r, limits, keeps) {
    if (r.error) this.#error(r);
    const cut = Object.entries(r.truncated ?? {}).map(([what, c]) => `${what}: ${bytes(c.kept_bytes)} of ${bytes(c.total_bytes)} kept`);
    if (cut.length) this.#add(el("p.quietly", {}, `Cut at the limit: ${cut.join("; ")}.`));
    if (r.state && keeps) this.#state(r.state);
    if (!this.#box.firstChild) this.#add(el("p.quietly", {}, "No output."));
    usage(r.usage, limits ?? {});
  }

  problem(message) {
    this.#add(el("div.trouble", {}, el("h3", {}, message)));
  }

  #add(node) { this.#box.append(node); }

  // text appends to what was printed last. Output that streams is followed, unless the person has scrolled away; what
  // comes at once is shown from its beginning.
  #text(kind, coloured) {
    const text = coloured.replace(/\x1b\[[\d;:]*m/g, ""); // colours of terminals, which the page has not
    const box = this.#box;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    const last = box.lastElementChild;
    if (last?.tagName === "PRE" && last.classList.contains(kind)) last.append(text);
    else this.#add(el(`pre.${kind}`, { tabIndex: 0 }, text));
    if (atEnd && ++this.#texts > 3) box.scrollTop = box.scrollHeight;
  }

  #display({ data, main }) {
    const body = this.#form(data);
    if (!main || body.tagName === "FIGURE" || body.classList.contains("frame")) return body;
    return el("div.value", {}, el("span.label", { title: "value of the last expression" }, "="), el("div.body", {}, body));
  }

  // form is the best form of a value that the page can show.
  #form(data) {
    const frame = data["application/vnd.dataframe+json"];
    if (frame) return table(frame);
    for (const type of PICTURES) {
      if (typeof data[type] === "string") return this.#picture(type, data[type], data["text/plain"]);
    }
    const html = data["text/html"];
    if (typeof html === "string") return framed(html);
    for (const type of ["text/markdown", "text/latex", "text/plain"]) {
      if (typeof data[type] === "string") return el("pre", { tabIndex: 0 }, data[type]);
    }
    const [type, value] = Object.entries(data)[0];
    return el("pre", {}, typeof value === "string" ? `${type}: ${value.slice(0, 2000)}` : JSON.stringify(value, null, 2));
  }

  #picture(type, data, about) {
    const number = ++this.#pictures;
    const content = type === "image/svg+xml" ? new TextEncoder().encode(data) : Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const blob = new Blob([content], { type });
    const url = URL.createObjectURL(blob);
    const picture = el("img.picture", { src: url, alt: `Picture ${number}${about ? `: ${about}` : ""}` });
    // Charts are drawn for dense screens: shown at half their size they are sharp.
    picture.onload = () => { if (picture.naturalWidth > 900) picture.width = Math.round(picture.naturalWidth / 1.5); };
    const name = `figure-${number}.${type === "image/svg+xml" ? "svg" : type.split("/")[1]}`;
    return el("figure", {}, picture, el("figcaption", {}, `${name}, ${bytes(blob.size)}`,
      el("button.small", { type: "button", onclick: () => save(blob, name) }, "Download")));
  }

  #error(r) {
    const { name, value, traceback, line, hint } = r.error;
    const shown = this.#box.querySelector("pre.stderr")?.parentNode ? [...this.#box.querySelectorAll("pre.stderr")].map((p) => p.textContent).join("") : "";
    const box = el("div.trouble", {}, el("h3", {}, value ? `${name}: ${value}` : name));
    if (hint) box.append(el("p.hint", {}, hint));
    if (r.rolled_back) box.append(el("p.hint", {}, "The session is as it was before this run."));
    if (line) {
      box.append(el("div.row", {}, el("button.small", { type: "button", onclick: () => this.#goTo(line) }, `Go to line ${line}`)));
    }
    if (traceback && !shown.includes(traceback.trim())) {
      box.append(el("details", {}, el("summary", {}, "Traceback"), el("pre", { tabIndex: 0 }, traceback.trim())));
    }
    this.#add(box);
  }

  #state({ added = [], changed = [], removed = [] }) {
    const chip = (v, kind) => el(`span${kind}`, { title: v.preview ?? "" }, `${v.name} ${v.type ?? ""}${v.shape ? ` ${[v.shape].flat().join(" × ")}` : ""}`.trim());
    const shown = (v) => v.type !== "module";
    const chips = [...added.filter(shown).map((v) => chip(v, "")), ...changed.filter(shown).map((v) => chip(v, "")), ...removed.map((v) => chip(typeof v === "string" ? { name: v } : v, ".gone"))];
    if (chips.length) this.#add(el("div.state", {}, el("p.quietly", {}, "Variables:"), ...chips));
  }
}

// table shows the head of a DataFrame.
function table({ columns, dtypes, index, head, row_count: rows }) {
  const right = dtypes.map((d) => /^(u?int|float|complex|Int|UInt|Float|bool)/.test(d));
  const cell = (v, i) => {
    if (v === null) return el(`td.none${right[i] ? ".right" : ""}`, {}, "–");
    const text = typeof v === "number" && !Number.isInteger(v) ? String(Number(v.toPrecision(8))) : String(v);
    return el(right[i] ? "td.right" : "td", { title: text.length > 40 ? text : "" }, /^datetime/.test(dtypes[i]) ? text.replace("T00:00:00", "").replace("T", " ") : text);
  };
  const node = el("table", {},
    el("thead", {}, el("tr", {}, el("td"), ...columns.map((c, i) => el(right[i] ? "th.right" : "th", { scope: "col" }, c, el("small", {}, dtypes[i]))))),
    el("tbody", {}, ...head.map((row, r) => el("tr", {}, el("th", { scope: "row" }, String(index?.[r] ?? r)), ...row.map(cell)))));
  const about = head.length < rows ? `first ${head.length} of ${rows.toLocaleString("en")} rows` : `${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}`;
  return el("figure", {}, el("div.table", { tabIndex: 0, role: "region", "aria-label": `Table, ${about}` }, node),
    el("figcaption", {}, `${about}, ${columns.length} ${columns.length === 1 ? "column" : "columns"}`));
}

// framed shows HTML in a frame of an opaque origin, which can do nothing but be looked at.
function framed(html) {
  const frame = el("iframe.frame", { title: "HTML that the program showed", src: "/frame.html" });
  frame.setAttribute("sandbox", "allow-scripts");
  const hear = (e) => {
    if (e.source !== frame.contentWindow) return;
    if (e.data?.ready) frame.contentWindow.postMessage(html, "*");
    if (Number.isFinite(e.data?.height)) frame.style.height = `${Math.min(Math.max(e.data.height + 2, 40), 640)}px`;
    if (!frame.isConnected) removeEventListener("message", hear);
  };
  addEventListener("message", hear);
  return frame;
}

// usage shows what a run used, against its limits.
function usage(u, limits) {
  const items = [
    ["Start", micros(u.start_us)],
    ["Time", micros(u.wall_ms * 1000), u.wall_ms, limits.timeout_ms, limits.timeout_ms && `${limits.timeout_ms / 1000} s`],
    ["Computed", micros(u.compute_ms * 1000)],
    ["Fuel", count(u.fuel), u.fuel, limits.fuel, limits.fuel && count(limits.fuel)],
    ["Memory", bytes(u.memory_peak_bytes), u.memory_peak_bytes, limits.memory_bytes, limits.memory_bytes && bytes(limits.memory_bytes)],
    ["Private", bytes(u.private_bytes)],
    ["Disk", bytes(u.disk_bytes), u.disk_bytes, limits.disk_bytes, limits.disk_bytes && bytes(limits.disk_bytes)],
  ];
  const titles = {
    Start: "from the request to the program's first instruction", Computed: "time without waiting", Fuel: "WebAssembly instructions",
    Memory: "size of the linear memory", Private: "memory pages that the run changed; the rest is shared",
  };
  $("usage").replaceChildren(...items.map(([name, text, used, most, mostText]) => {
    const dd = el("dd", {}, text, ...(mostText ? [el("small", {}, `of ${mostText}`)] : []));
    if (most) {
      const bar = el("i");
      bar.style.width = `${Math.min(100, (used / most) * 100)}%`;
      dd.append(el("div.gauge", {}, bar));
    }
    return el("div", { title: titles[name] ?? "" }, el("dt", {}, name), dd);
  }));
  $("usage").hidden = false;
}
