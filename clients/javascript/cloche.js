// A client of Cloche's HTTP server.
//
//   const client = new Client("http://127.0.0.1:8844", { key });
//   const result = await client.execute("6 * 7");
//   result.value // "42"
//
// What a program did is a result, whatever it did. ClocheError is thrown when the request was wrong or the service could
// not do it. Types are in cloche.d.ts.

export class ClocheError extends Error {
  constructor(status, { code = "", message = "", details, request_id: requestId = "" } = {}, retryAfter) {
    super(message || `the server answered with status ${status}`);
    this.name = "ClocheError";
    this.status = status;
    this.code = code;
    this.details = details;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

// ToolError is what a tool throws to tell the program why it failed: name is the exception that the program sees. Of any other
// exception the program learns only that the tool failed.
export class ToolError extends Error {
  constructor(message, name = "ToolError") {
    super(message);
    this.name = name;
  }
}

export class Client {
  #url;
  #key;
  #fetch;

  constructor(url = "http://127.0.0.1:8844", { key = globalThis.process?.env?.CLOCHE_KEY ?? "", fetch = globalThis.fetch } = {}) {
    this.#url = String(url).replace(/\/+$/, "");
    new URL(this.#url); // throws when it is none
    this.#key = key;
    this.#fetch = fetch;
  }

  // request sends a request and returns the response, which is a success.
  async request(method, path, { json, body, headers = {}, signal } = {}) {
    const response = await this.#fetch.call(globalThis, this.#url + path, {
      method, signal,
      headers: {
        Authorization: `Bearer ${this.#key}`,
        ...(json === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: json === undefined ? body : JSON.stringify(json),
    });
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  async call(method, path, json, options) {
    const response = await this.request(method, path, { json, ...options });
    return response.status === 204 ? undefined : response.json();
  }

  async *events(path, json, { signal, tools = [] } = {}) {
    let execution;
    const response = await this.request("POST", path, { json, signal, headers: { Accept: "application/x-ndjson" } });
    const reader = response.body.getReader();
    try {
      const decoder = new TextDecoder();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
        rest = lines.pop();
        for (const line of lines) {
          const event = line && JSON.parse(line);
          if (!event || event.type === "ping") continue;
          execution = event.execution_id ?? execution;
          const tool = event.type === "tool_call" && event.outcome === "pending" && tools.find((t) => t.name === event.name);
          if (tool) await this.#answer(execution, event, tool);
          yield eventOf(event);
        }
      }
    } finally {
      await reader.cancel().catch(() => {}); // a loop that was left: the server interrupts the program
    }
  }

  async #answer(execution, call, tool) {
    const json = { call_id: call.call_id, ...await answerOf(tool, call.arguments ?? {}) };
    try {
      await this.call("POST", `/v1/executions/${execution}/tool_results`, json);
    } catch (e) {
      if (e.status !== 404) throw e; // the program no longer waits for it
    }
  }

  // run gives the result of a program. Tools can be asked for over a stream only.
  async run(path, json, { signal, tools = [] } = {}) {
    if (!tools.some((t) => t.call)) return resultOf(await this.call("POST", path, json, { signal }));
    let result;
    for await (const event of this.events(path, json, { signal, tools })) ({ result } = event);
    if (!result) throw new ClocheError(0, { message: "the stream ended before the result" });
    return result;
  }

  execute(code, { signal, ...options } = {}) {
    return this.run("/v1/execute", { code, ...wire(options) }, { signal, tools: options.tools });
  }

  stream(code, { signal, ...options } = {}) {
    return this.events("/v1/execute", { code, ...wire(options) }, { signal, tools: options.tools });
  }

  async result(executionId) {
    const found = await this.call("GET", `/v1/executions/${executionId}`);
    if (found.status === "running") throw new ClocheError(409, { code: "busy", message: `the run ${executionId} is not over yet` });
    return resultOf(found);
  }

  async session(options = {}) {
    return new Session(this, await this.call("POST", "/v1/sessions", wire(options)), options.tools);
  }

  async sessions() {
    return (await this.call("GET", "/v1/sessions")).sessions.map((info) => new Session(this, info));
  }

  async openSession(id, { tools } = {}) {
    return new Session(this, await this.call("GET", `/v1/sessions/${id}`), tools);
  }

  async snapshots() { return (await this.call("GET", "/v1/snapshots")).snapshots; }
  async deleteSnapshot(id) { await this.call("DELETE", `/v1/snapshots/${id}`); }
  runtimes() { return this.call("GET", "/v1/runtimes"); }
}

export class Session {
  #client;
  #path;
  #tools;

  constructor(client, info, tools = []) {
    this.#client = client;
    this.#tools = tools;
    this.info = info;
    this.id = info.id;
    this.language = info.language;
    this.#path = `/v1/sessions/${info.id}`;
  }

  // close ends the session. One that is over already is no error.
  async close() {
    try {
      await this.#client.call("DELETE", this.#path);
    } catch (e) {
      if (e.status !== 404 && e.status !== 410) throw e;
    }
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() { await this.close(); }

  execute(code, { signal, ...options } = {}) {
    return this.#client.run(`${this.#path}/execute`, { code, ...wire(options) }, { signal, tools: this.#tools });
  }

  stream(code, { signal, ...options } = {}) {
    return this.#client.events(`${this.#path}/execute`, { code, ...wire(options) }, { signal, tools: this.#tools });
  }

  // pendingCalls are those whose results a suspended turn waits for.
  async pendingCalls() { return pendingOf(await this.#client.call("GET", this.#path)); }

  // resume goes on with a suspended turn: results are by the id of their calls; a ToolError is thrown in the program.
  resume(results, { signal } = {}) {
    const answers = Object.entries(results).map(([id, r]) => ({ call_id: id, ...(r instanceof ToolError ? refusalOf(r) : { result: r ?? null }) }));
    return this.#client.run(`${this.#path}/resume`, { results: answers }, { signal, tools: this.#tools });
  }

  // giveUp interrupts a suspended turn where it waits.
  giveUp({ signal } = {}) {
    return this.#client.run(`${this.#path}/resume`, { cancel: true }, { signal, tools: this.#tools });
  }

  async interrupt() { return (await this.#client.call("POST", `${this.#path}/interrupt`)).interrupted; }
  async reset() { await this.#client.call("POST", `${this.#path}/reset`); }
  async history() { return (await this.#client.call("GET", `${this.#path}/history`)).history; }
  async rollback(to) { await this.#client.call("POST", `${this.#path}/rollback`, { to }); }

  async fork({ count = 1, turn } = {}) {
    const made = await this.#client.call("POST", `${this.#path}/fork`, { count, turn });
    return made.sessions.map((info) => new Session(this.#client, info, this.#tools));
  }

  snapshot({ metadata } = {}) { return this.#client.call("POST", `${this.#path}/snapshots`, { metadata }); }

  async listFiles(path = "/data") {
    return (await this.#client.call("GET", `${this.#path}/files?path=${encodeURIComponent(path)}`)).files;
  }

  async readFile(path) {
    const response = await this.#client.request("GET", this.#file(path));
    return new Uint8Array(await response.arrayBuffer());
  }

  async writeFile(path, content) {
    await this.#client.request("PUT", this.#file(path), { body: content, headers: { "Content-Type": "application/octet-stream" } });
  }

  async deleteFile(path) { await this.#client.call("DELETE", this.#file(path)); }

  #file(path) { return `${this.#path}/files/${path.split("/").map(encodeURIComponent).join("/")}`; }
}

// wire turns the options of a call into the fields of a request.
function wire({ files, network, tools, timeout, fuel, memoryBytes, outputBytes, diskBytes, onError, idleTimeout, maxLifetime, ...rest }) {
  const limits = defined({
    timeout_ms: timeout === undefined ? undefined : Math.round(timeout * 1000),
    fuel, memory_bytes: memoryBytes, output_bytes: outputBytes, disk_bytes: diskBytes,
  });
  return defined({
    ...rest,
    files: files && Object.entries(files).map(([path, content]) =>
      typeof content === "string" ? { path, content } : { path, content_base64: base64(content) }),
    network: network?.length ? { allow: network } : undefined,
    tools: tools?.length ? tools.map((t) => defined({
      name: t.name, description: t.description, input_schema: t.inputSchema, deferred: t.call ? undefined : true,
      timeout_ms: t.timeout === undefined ? undefined : Math.round(t.timeout * 1000),
    })) : undefined,
    limits: Object.keys(limits).length ? limits : undefined,
    on_error: onError, idle_timeout_s: idleTimeout, max_lifetime_s: maxLifetime,
  });
}

const defined = (fields) => Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined));

const refusalOf = (e) => ({ error: { name: e.name, message: e.message } });

// answerOf calls a tool.
async function answerOf(tool, args) {
  try {
    if (!tool.call) throw new ToolError("nobody is there to answer");
    const result = (await tool.call(args)) ?? null;
    if (JSON.stringify(result) === undefined) throw new TypeError(`a ${typeof result} cannot be sent`); // or throws by itself
    return { result };
  } catch (e) {
    if (e instanceof ToolError) return refusalOf(e);
    console.error(`tool ${tool.name}:`, e);
    return { error: { message: "the tool failed" } };
  }
}

const pendingOf = ({ pending_calls: calls = [] }) => calls.map((c) => ({ id: c.call_id, name: c.name, arguments: c.arguments ?? {} }));

function base64(content) {
  const bytes = content instanceof Uint8Array ? content : new Uint8Array(content);
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const isBinary = (type) => (/^(image|audio|video)\//.test(type) && !type.endsWith("+xml")) || type === "application/pdf" || type === "application/octet-stream";

function shownOf({ data = {}, main = false }) {
  return {
    main,
    data: Object.fromEntries(Object.entries(data).map(([type, v]) => [type, typeof v === "string" && isBinary(type) ? bytesOf(v) : v])),
  };
}

function resultOf(raw) {
  const results = (raw.results ?? []).map(shownOf);
  return {
    id: raw.id, language: raw.language, status: raw.status, ok: raw.status === "ok", exitCode: raw.exit_code,
    stdout: raw.stdout, stderr: raw.stderr, results,
    value: results.find((r) => r.main)?.data["text/plain"],
    charts: results.map((r) => r.data["image/png"]).filter(Boolean),
    error: raw.error,
    filesChanged: raw.files_changed ?? [], moreFilesChanged: raw.more_files_changed ?? false,
    files: Object.fromEntries((raw.files ?? []).map((f) =>
      [f.path, f.content_base64 === undefined ? new TextEncoder().encode(f.content ?? "") : bytesOf(f.content_base64)])),
    usage: raw.usage, rolledBack: raw.rolled_back ?? false, pendingCalls: pendingOf(raw), raw,
  };
}

function eventOf(raw) {
  if (raw.type === "end") {
    if (!raw.result) throw new ClocheError(0, raw.error);
    return { type: "end", result: resultOf(raw.result), raw };
  }
  if (raw.type === "result") return { type: "result", shown: shownOf(raw), raw };
  return { type: raw.type, text: raw.text, raw };
}

async function errorOf(response) {
  const retry = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  const retryAfter = Number.isFinite(retry) ? retry : undefined;
  const text = await response.text();
  let error;
  try {
    ({ error } = JSON.parse(text));
  } catch {
    error = { message: text.trim() };
  }
  return new ClocheError(response.status, { request_id: response.headers.get("X-Request-Id") ?? "", ...error }, retryAfter);
}
