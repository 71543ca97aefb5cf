// The playground: ties editor, output, files, history and the server together.

import { Api, ApiError } from "/api.js";
import { $, el, micros, toast } from "/dom.js";
import { examples, first } from "/examples.js";
import { Files } from "/files.js";
import { Output } from "/output.js";
import { link, shared } from "/share.js";
import { Turns } from "/turns.js";

const api = new Api();
const names = { python: "main.py", javascript: "main.js", typescript: "main.ts" };
const mac = /Mac|iPhone|iPad/.test(navigator.platform);

let editor;
let running = null; // {session} while a program runs
let throwaway = null; // the session of the last fresh run, kept for its files
let spare = null; // {asked, session}: a sandbox that was made ahead for the next fresh run
let untouched = true; // the editor holds what the page put there

const language = () => document.querySelector("input[name=language]:checked").value;
const keeps = () => document.querySelector("input[name=mode]:checked").value === "session";
const interpreter = (name) => (name === "typescript" ? "javascript" : name);

const output = new Output((line) => editor.goTo(line));
const files = new Files(api);
const turns = new Turns(api, {
  show: (turn) => {
    setLanguage(turn.language);
    setCode(turn.code);
    replay(turn);
  },
  changed: () => files.show(turns.current?.id ?? null, true),
});

// The editor is the bundled one, or else a text area.
async function makeEditor() {
  const { create } = await import("/editor.js").catch(() => import("/plain.js"));
  editor = create($("editor"), {
    language: language(),
    label: "Program",
    description: `${mac ? "Command" : "Control"} and Enter run the program. Escape and then Tab leave the editor.`,
    onRun: run,
    onChange: () => { untouched = false; },
  });
}

function setCode(code) {
  editor.text = code;
  editor.mark(0);
  untouched = true;
}

function setLanguage(name) {
  document.querySelector(`input[name=language][value=${name}]`).checked = true;
  $("editor-title").textContent = names[name];
  editor.setLanguage(name);
}

function setStatus(state, text) {
  $("status").dataset.state = state;
  $("status-text").textContent = text;
}

// limits are what the person asks for, as the API takes it.
function settings() {
  const limits = {};
  const number = (id) => Number.parseFloat($(id).value);
  if (number("limit-timeout") > 0) limits.timeout_ms = Math.round(number("limit-timeout") * 1000);
  if (number("limit-memory") > 0) limits.memory_bytes = Math.round(number("limit-memory") * 1048576);
  if (number("limit-fuel") > 0) limits.fuel = Math.round(number("limit-fuel") * 1e6);
  const allow = $("limit-network").value.split(/[\s,]+/).filter(Boolean);
  return { ...(Object.keys(limits).length ? { limits } : {}), ...(allow.length ? { network: { allow } } : {}) };
}

async function run() {
  if (running) return;
  const pressed = performance.now();
  const wrong = document.querySelector("#limits input:invalid");
  if (wrong) { // the browser says what would be right
    $("limits").open = true;
    wrong.reportValidity();
    return;
  }
  if (!api.hasKey && !(await askKey())) return;
  const turn = { code: editor.text, language: language(), events: [], result: null };
  running = {};
  $("stop").hidden = false;
  $("run").disabled = true;
  editor.mark(0);
  setStatus("running", "Running");
  let cleared = false; // what is shown stays until there is something new, so that nothing flickers
  const clear = () => {
    if (!cleared) output.clear();
    cleared = true;
  };
  const slow = setTimeout(clear, 150);
  try {
    const session = await prepare(turn.language);
    running.session = session.id;
    await api.stream(`/v1/sessions/${session.id}/execute`, { code: turn.code, language: turn.language, ...(keeps() ? {} : { name: names[turn.language] }) }, (e) => {
      if (e.type === "start" || e.type === "ping") return;
      clear();
      if (e.type === "end") {
        if (!e.result) throw new ApiError(500, e.error?.code, e.error?.message ?? "The run failed.");
        turn.result = e.result;
        output.result(e.result, session.limits, keeps());
      } else {
        turn.events.push(e);
        output.event(e);
      }
    });
    finish(turn, performance.now() - pressed);
    if (keeps()) turns.ran(turn);
    files.show(session.id, keeps(), turn.result?.files_changed);
    if (!keeps()) makeSpare(turn.language);
  } catch (e) {
    clear();
    await fail(e);
  } finally {
    clearTimeout(slow);
    running = null;
    $("stop").hidden = true;
    $("run").disabled = false;
  }
}

// prepare gives the session to run in: the current one, or a new one.
async function prepare(name) {
  await files.settled;
  const current = turns.current;
  if (keeps() && current && current.language === interpreter(name)) return current;
  const asked = { language: interpreter(name), idle_timeout_s: keeps() ? 1800 : 300, ...settings() };
  const session = (!keeps() && await takeSpare(asked)) || await api.session(asked);
  for (const [path, blob] of files.inputs) await api.put(session.id, path, blob);
  if (keeps()) {
    turns.started({ ...session, language: interpreter(name) }, session.limits);
    await files.settled; // the listing of the new session must not meet its first turn
  } else {
    if (throwaway) api.drop(throwaway).catch(() => {});
    throwaway = session.id;
  }
  return session;
}

// makeSpare makes a sandbox ahead, after a fresh run: the next one then takes one request less.
function makeSpare(name) {
  const asked = { language: interpreter(name), idle_timeout_s: 300, ...settings() };
  spare = { asked: JSON.stringify(asked), made: Date.now(), session: api.session(asked).catch(() => null) };
}

// takeSpare gives the spare sandbox if it is what is asked for; another one is dropped.
async function takeSpare(asked) {
  const had = spare;
  spare = null;
  if (!had) return null;
  const session = await had.session;
  if (session && had.asked === JSON.stringify(asked) && Date.now() - had.made < 240_000) return session;
  if (session) api.drop(session.id).catch(() => {});
  return null;
}

// finish tells how a run ended. took is the time in milliseconds from the key press until its result was on the page.
function finish(turn, took) {
  const r = turn.result;
  const words = {
    ok: "Ok", error: "Error", timeout: "Out of time", out_of_fuel: "Out of fuel", out_of_memory: "Out of memory",
    cancelled: "Stopped", trapped: "Trapped", refused: "Refused",
  };
  setStatus(r.status === "ok" ? "ok" : "bad", `${words[r.status] ?? r.status}${took ? ` in ${micros(took * 1000)}` : ""}`);
  $("status").title = took ? "from the key press until the result was on the page" : "";
  if (took) document.documentElement.dataset.took = took.toFixed(2);
  if (r.error?.line) editor.mark(r.error.line);
}

async function fail(e) {
  if (e instanceof ApiError && e.status === 401) {
    api.forgetKey();
    drawKey();
    setStatus("bad", "Key refused");
    output.problem("The server does not know this key. Enter another one and run again.");
    return;
  }
  if (e instanceof ApiError && (e.status === 404 || e.status === 410) && keeps()) {
    turns.lost();
    output.problem("The session is over: it was not used for too long, or the server was started anew. Run again for a new one.");
  } else {
    output.problem(e.message);
  }
  setStatus("bad", "Not run");
}

// replay shows a turn of the history.
function replay(turn) {
  output.clear();
  turn.events.forEach((e) => output.event(e));
  if (turn.result) {
    output.result(turn.result, turns.current?.limits, true);
    finish(turn, 0);
  }
}

async function stop() {
  if (!running?.session) return;
  setStatus("running", "Stopping");
  await api.interrupt(running.session).catch((e) => toast(e.message));
}

// The key.

function drawKey() {
  $("key").dataset.set = String(api.hasKey);
  $("key").setAttribute("aria-label", api.hasKey ? "Key: set" : "Key: not set");
}

// askKey shows the dialog and says whether there is a key after it.
function askKey() {
  const dialog = $("key-dialog");
  if (!dialog.open) {
    $("key-problem").textContent = "";
    $("key-input").value = "";
    dialog.showModal();
  }
  return new Promise((done) => dialog.addEventListener("close", () => done(api.hasKey), { once: true }));
}

async function takeKey(e) {
  e.preventDefault();
  try {
    await api.useKey($("key-input").value.trim());
    drawKey();
    $("key-dialog").close();
  } catch (error) {
    $("key-problem").textContent = error.status === 401 ? "The server does not know this key." : error.message;
  }
}

// Colours.

function setTheme(theme) {
  const words = { "": "as the system has them", light: "for day", dark: "for night" };
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  const name = { "": "Auto", light: "Light", dark: "Dark" }[theme];
  $("theme").textContent = name;
  $("theme").setAttribute("aria-label", `${name}: colours ${words[theme]}`);
  localStorage.setItem("cloche-theme", theme);
}

async function pick(example) {
  setLanguage(example.language);
  setCode(example.code);
  for (const name of example.files ?? []) {
    const response = await fetch(`/${name}`);
    if (response.ok) await files.add([new File([await response.blob()], name)]);
  }
  editor.focus();
}

// invite offers the first example in the place of its output, to who has not run anything yet.
function invite() {
  const button = el("button.quiet", { type: "button" }, examples[0].name);
  button.addEventListener("click", async () => {
    await pick(examples[0]);
    run();
  });
  $("output").append(el("p.quietly", {}, $("output").dataset.hint), el("p.invitation", {}, "For a look at it: ", button));
}

async function start() {
  setTheme(localStorage.getItem("cloche-theme") ?? "");
  drawKey();
  $("output").dataset.hint = "What the program prints, shows and returns appears here.";
  $("keys-note").replaceChildren(el("kbd", {}, mac ? "⌘" : "Ctrl"), " ", el("kbd", {}, "Enter"), " runs");
  $("examples").append(...examples.map((e, i) => el("option", { value: i }, e.name)));
  await makeEditor();
  const given = await shared(location.hash);
  if (given) setLanguage(given.language);
  setCode(given?.code ?? first[language()]);
  if (!given) invite();

  $("run").addEventListener("click", run);
  $("stop").addEventListener("click", stop);
  $("key").addEventListener("click", askKey);
  $("key-form").addEventListener("submit", takeKey);
  $("key-cancel").addEventListener("click", () => $("key-dialog").close());
  $("theme").addEventListener("click", () => setTheme({ "": "light", light: "dark", dark: "" }[document.documentElement.dataset.theme ?? ""]));
  $("language").addEventListener("change", () => {
    const wasUntouched = untouched;
    setLanguage(language());
    if (wasUntouched) setCode(first[language()]);
  });
  $("mode").addEventListener("change", () => {
    $("turns").hidden = !keeps();
    turns.draw();
    files.show(keeps() ? turns.current?.id ?? null : throwaway, keeps());
  });
  // What nobody will come back for is given back. A request with keepalive outlives the page.
  addEventListener("pagehide", () => [throwaway, ...turns.ids].forEach((id) => id && api.abandon(id)));
  $("examples").addEventListener("change", (e) => {
    const example = examples[e.target.value];
    e.target.value = "";
    if (example) pick(example);
  });
  $("share").addEventListener("click", async () => {
    const url = await link(language(), editor.text);
    history.replaceState(null, "", url);
    try {
      await navigator.clipboard.writeText(url);
      toast("The link is on the clipboard. It holds the program, not its files.");
    } catch {
      toast("The address of the page is now a link to this program.");
    }
  });
  addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !e.defaultPrevented && !$("key-dialog").open) {
      e.preventDefault();
      run();
    }
    if (e.key === "." && (e.ctrlKey || e.metaKey)) stop();
  });
  document.documentElement.dataset.ready = "true";
  if (matchMedia("(min-width: 861px)").matches) editor.focus();
}

start();
