// The server's API, as far as the page needs it. The key is kept in memory and in this tab's session storage, and is sent
// in a header only.

const KEY = "cloche-key";

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Api {
  #key = sessionStorage.getItem(KEY) ?? "";

  get hasKey() { return this.#key !== ""; }

  // useKey tries a key, and keeps it if the server knows it.
  async useKey(key) {
    const response = await fetch("/v1/sessions", { headers: { Authorization: `Bearer ${key}` } });
    if (!response.ok) throw await problem(response);
    this.#key = key;
    sessionStorage.setItem(KEY, key);
  }

  forgetKey() {
    this.#key = "";
    sessionStorage.removeItem(KEY);
  }

  // send makes a request and returns the response; one that is not a success is thrown as an ApiError.
  async send(method, path, { body, json, accept, signal } = {}) {
    const headers = { Authorization: `Bearer ${this.#key}` };
    if (accept) headers.Accept = accept;
    if (json !== undefined) {
      headers["Content-Type"] = "application/json";
      body = JSON.stringify(json);
    }
    let response;
    try {
      response = await fetch(path, { method, headers, body, signal });
    } catch (e) {
      if (e.name === "AbortError") throw e;
      throw new ApiError(0, "unreachable", "The server cannot be reached.");
    }
    if (!response.ok) throw await problem(response);
    return response;
  }

  async json(method, path, json) {
    const response = await this.send(method, path, { json });
    return response.status === 204 ? null : response.json();
  }

  // stream runs a program and calls onEvent for each of its events, as it comes.
  async stream(path, json, onEvent) {
    const response = await this.send("POST", path, { json, accept: "application/x-ndjson" });
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (line) onEvent(JSON.parse(line));
      }
    }
  }

  session(options) { return this.json("POST", "/v1/sessions", options); }
  drop(id) { return this.json("DELETE", `/v1/sessions/${id}`); }
  // abandon drops a session when the page is left.
  abandon(id) {
    fetch(`/v1/sessions/${id}`, { method: "DELETE", headers: { Authorization: `Bearer ${this.#key}` }, keepalive: true }).catch(() => {});
  }
  interrupt(id) { return this.json("POST", `/v1/sessions/${id}/interrupt`, {}); }
  rollback(id, to) { return this.json("POST", `/v1/sessions/${id}/rollback`, { to }); }
  // fork makes a session that goes on from a turn of another one.
  async fork(id, turn) {
    const made = await this.json("POST", `/v1/sessions/${id}/fork`, { count: 1, turn });
    return made.sessions[0];
  }

  async files(id) { return (await this.json("GET", `/v1/sessions/${id}/files?path=/data`)).files; }
  put(id, path, blob) { return this.send("PUT", fileURL(id, path), { body: blob }); }
  remove(id, path) { return this.send("DELETE", fileURL(id, path)); }
  async blob(id, path) { return (await this.send("GET", fileURL(id, path))).blob(); }
}

function fileURL(id, path) {
  const inside = path.startsWith("/data/") ? path.slice("/data/".length) : path;
  return `/v1/sessions/${id}/files/${inside.split("/").map(encodeURIComponent).join("/")}`;
}

async function problem(response) {
  let code = "", message = response.statusText;
  try {
    ({ code, message } = (await response.json()).error);
  } catch {
    // not from the API: the status says it
  }
  return new ApiError(response.status, code, message || `The server answered with status ${response.status}.`);
}
