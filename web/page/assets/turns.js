// Sessions and their history: each branch is a session of the server with the turns that led to it. A turn can be looked
// at again, the session rolled back to it, or forked from it.

import { $, el, micros, toast } from "/dom.js";

export class Turns {
  #api;
  #branches = [];
  #current = null;
  #names = 0;
  #show;
  #changed;

  // show(turn) displays a turn; changed() is called when another session is the current one.
  constructor(api, { show, changed }) {
    this.#api = api;
    this.#show = show;
    this.#changed = changed;
    $("branches").addEventListener("change", (e) => this.#select(this.#branches.find((b) => b.id === e.target.value)));
    $("new-session").addEventListener("click", () => this.#select(null));
  }

  // current is {id, name, language, limits, turns}, or null when the next run makes a new session.
  get current() { return this.#current; }

  get ids() { return this.#branches.map((b) => b.id); }

  // started notes a session that was made.
  started(session, limits) {
    this.#open({ id: session.id, language: session.language, limits, turns: [], name: `Session ${++this.#names}` });
  }

  // ran notes a turn: {code, language, events, result}. One that was rolled back is shown, and has no number.
  ran(turn) {
    const b = this.#current;
    b.count = b.count ?? 0;
    if (!turn.result?.rolled_back) turn.number = ++b.count;
    b.turns.push(turn);
    this.draw(turn);
  }

  // lost notes that the current session is gone.
  lost() {
    this.#branches = this.#branches.filter((b) => b !== this.#current);
    this.#current = null;
    this.draw();
  }

  draw(shown) {
    const picker = $("branches");
    picker.replaceChildren(...this.#branches.map((b) => el("option", { value: b.id }, b.name)));
    if (!this.#current) picker.prepend(el("option", { value: "" }, "New session"));
    picker.value = this.#current?.id ?? "";
    const turns = this.#current?.turns ?? [];
    $("turn-list").replaceChildren(...turns.map((t) => this.#row(t, t === shown)));
    $("turn-list").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  #row(turn, current) {
    const title = turn.code.split("\n").find((l) => l.trim() && !l.trim().startsWith("#") && !l.trim().startsWith("//")) ?? turn.code;
    const ok = turn.result?.status === "ok";
    const row = el("li", {},
      el("span.number", {}, turn.number ? String(turn.number) : "–"),
      el(`span.dot.${ok ? "ok" : "bad"}`, { role: "img", "aria-label": ok ? "ended well" : turn.result?.status ?? "failed" }),
      el("button.link.name", { type: "button", title: turn.code.slice(0, 500), onclick: () => { this.#show(turn); this.draw(turn); } }, title.trim()),
      el("span.size", {}, turn.result ? micros(turn.result.usage.wall_ms * 1000) : ""));
    if (turn.number && turn.number < this.#current.count) {
      row.append(el("button.small.quiet", { type: "button", onclick: () => this.#back(turn), "aria-label": `Roll back to turn ${turn.number}` }, "Roll back"));
    }
    if (turn.number) {
      row.append(el("button.small.quiet", { type: "button", onclick: () => this.#fork(turn), "aria-label": `Fork from turn ${turn.number}` }, "Fork"));
    }
    if (current) row.setAttribute("aria-current", "true");
    return row;
  }

  async #back(turn) {
    const b = this.#current;
    try {
      await this.#api.rollback(b.id, turn.number);
    } catch (e) {
      toast(e.message);
      return;
    }
    this.#cut(b, turn);
    this.#show(turn);
    this.draw(turn);
    this.#changed();
    toast(`${b.name} is as it was after turn ${turn.number}.`);
  }

  // cut forgets what came after a turn.
  #cut(b, turn) {
    b.turns = b.turns.slice(0, b.turns.indexOf(turn) + 1);
    b.count = turn.number;
  }

  async #fork(turn) {
    const b = this.#current;
    try {
      const made = await this.#api.fork(b.id, turn.number);
      const fork = { ...b, id: made.id, turns: [...b.turns], name: `Session ${++this.#names} (${b.name} at ${turn.number})` };
      this.#cut(fork, turn);
      this.#open(fork);
      this.#show(turn);
      this.draw(turn);
      toast(`${fork.name} goes on from turn ${turn.number}; ${b.name} stays as it is.`);
    } catch (e) {
      toast(e.message);
    }
  }

  #open(branch) {
    this.#branches.push(branch);
    this.#select(branch);
  }

  #select(branch) {
    this.#current = branch ?? null;
    this.draw();
    this.#changed();
  }
}
