// The files panel. In a session it shows the session's files. Without one it holds the files that each run starts
// with, and those that the last run left.

import { $, bytes, el, save, toast } from "/dom.js";

export class Files {
  #api;
  #inputs = new Map(); // name -> Blob: what a fresh sandbox starts with
  #session = null; // whose files are shown
  #persistent = false;
  #listing = Promise.resolve();
  #fresh = new Set(); // paths that the last run changed

  constructor(api) {
    this.#api = api;
    const panel = $("files");
    panel.addEventListener("dragover", (e) => { e.preventDefault(); panel.classList.add("over"); });
    panel.addEventListener("dragleave", () => panel.classList.remove("over"));
    // A file that misses the panel must not replace the page.
    addEventListener("dragover", (e) => e.preventDefault());
    addEventListener("drop", (e) => {
      e.preventDefault();
      panel.classList.remove("over");
      if (e.dataTransfer?.files.length) this.add([...e.dataTransfer.files]);
    });
    $("add-file").addEventListener("click", () => $("file-input").click());
    $("file-input").addEventListener("change", (e) => {
      this.add([...e.target.files]);
      e.target.value = "";
    });
  }

  // inputs are what a new sandbox is to be given.
  get inputs() { return [...this.#inputs]; }

  // show says whose files are meant from now on. A persistent session is given what is added.
  async show(session, persistent, changed = []) {
    this.#session = session;
    this.#persistent = persistent;
    this.#fresh = new Set(changed.map((c) => c.path));
    await this.refresh();
  }

  async add(files) {
    try {
      for (const f of files) {
        this.#inputs.set(f.name, f);
        if (this.#persistent && this.#session) await this.#api.put(this.#session, f.name, f);
      }
    } catch (e) {
      toast(e.message);
    }
    await this.refresh();
  }

  // settled is done when no listing is under way: one that meets a running program is refused.
  get settled() { return this.#listing; }

  refresh() {
    this.#listing = this.#draw();
    return this.#listing;
  }

  async #draw() {
    let listed = [];
    if (this.#session) {
      try {
        listed = await this.#list();
      } catch (e) {
        if (e.status !== 404 && e.status !== 410) toast(e.message);
        this.#session = null;
      }
    }
    const there = new Set(listed.map((f) => f.path));
    const waiting = this.#persistent && this.#session ? [] : [...this.#inputs].filter(([name]) => !there.has(`/data/${name}`));
    $("file-list").replaceChildren(
      ...waiting.map(([name, blob]) => this.#row(name, blob.size, false, () => blob)),
      ...listed.map((f) => this.#row(f.path.slice("/data/".length), f.bytes, this.#fresh.has(f.path), () => this.#api.blob(this.#session, f.path))),
    );
  }

  // list gives the files below /data, a level of folders deep.
  async #list() {
    const files = await this.#api.files(this.#session);
    const inside = await Promise.all(files.filter((f) => f.dir).slice(0, 20).map((f) =>
      this.#api.json("GET", `/v1/sessions/${this.#session}/files?path=${encodeURIComponent(f.path)}`).then((l) => l.files)));
    return [...files, ...inside.flat()].filter((f) => !f.dir).slice(0, 200);
  }

  #row(name, size, isNew, content) {
    const get = async () => {
      try {
        save(await content(), name.split("/").pop());
      } catch (e) {
        toast(e.message);
      }
    };
    return el("li", {},
      el("button.link.name", { type: "button", title: `Download ${name}`, onclick: get }, name),
      isNew ? el("span.mark", {}, "new") : null,
      el("span.size", {}, bytes(size)),
      el("button.small.quiet", { type: "button", "aria-label": `Remove ${name}`, onclick: () => this.#remove(name) }, "Remove"));
  }

  async #remove(name) {
    this.#inputs.delete(name);
    try {
      if (this.#session) await this.#api.remove(this.#session, name);
    } catch (e) {
      if (e.status !== 404) toast(e.message);
    }
    await this.refresh();
  }
}
