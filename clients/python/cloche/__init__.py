"""A client of Cloche's HTTP server.

    client = Client("http://127.0.0.1:8844", key="...")
    result = client.execute("6 * 7")
    print(result.value)          # 42

What a program did is a Result, whatever it did. ClocheError is raised when the request was wrong or the service
could not do it.
"""

from __future__ import annotations

import base64
import http.client
import json
import logging
import os
import ssl
import urllib.parse
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

__all__ = [
    "Change", "ClocheError", "Client", "Event", "FileInfo", "HistoryEntry", "PendingCall", "ProgramError", "Result", "Session",
    "Shown", "Snapshot", "Tool", "ToolError",
]

_log = logging.getLogger(__name__)

Content = Union[str, bytes]


class ClocheError(Exception):
    """The server's answer to a request that it could not serve: status is HTTP's, code one of the API's."""

    def __init__(self, status: int, code: str, message: str, details: Any = None, request_id: str = "",
                 retry_after: Optional[float] = None) -> None:
        super().__init__(f"{message} ({code or status})")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.request_id = request_id
        self.retry_after = retry_after


class ToolError(Exception):
    """What a tool raises to tell the program why it failed: name is the exception that the program sees, such as
    ValueError. Of any other exception the program learns only that the tool failed."""

    def __init__(self, message: str, name: str = "ToolError") -> None:
        super().__init__(message)
        self.name = name

    def _json(self) -> Dict[str, str]:
        return {"name": self.name, "message": str(self)}


@dataclass(frozen=True)
class Tool:
    """A function of yours that programs may call as tools.NAME. It gets the arguments by name, and returns what json can
    write. Without call the results come later: the turn is suspended, and Session.resume goes on with it."""

    name: str
    call: Optional[Callable[..., Any]] = None
    description: str = ""
    input_schema: Optional[Mapping[str, Any]] = None
    timeout: Optional[float] = None

    def _json(self) -> Dict[str, Any]:
        return _given(
            name=self.name, description=self.description or None, input_schema=self.input_schema,
            timeout_ms=None if self.timeout is None else round(self.timeout * 1000), deferred=True if self.call is None else None)

    def _answer(self, arguments: Mapping[str, Any]) -> Dict[str, Any]:
        try:
            if self.call is None:
                raise ToolError("nobody is there to answer")
            result = self.call(**arguments)
            json.dumps(result, allow_nan=False)  # raises where it cannot be sent
            return {"result": result}
        except ToolError as e:
            return {"error": e._json()}
        except Exception:
            _log.exception("tool %s", self.name)
            return {"error": {"message": "the tool failed"}}


@dataclass(frozen=True)
class PendingCall:
    """A call of a tool whose result comes later."""

    id: str
    name: str
    arguments: Dict[str, Any]

    @staticmethod
    def _list(calls: Optional[Sequence[Mapping[str, Any]]]) -> "List[PendingCall]":
        return [PendingCall(c["call_id"], c["name"], c.get("arguments", {})) for c in calls or []]


@dataclass(frozen=True)
class ProgramError:
    """The exception, trap or limit that ended a program."""

    name: str
    value: str
    traceback: str = ""
    line: int = 0
    hint: str = ""


@dataclass(frozen=True)
class Shown:
    """A value that a program showed, in several forms by MIME type; pictures are bytes."""

    data: Dict[str, Any]
    main: bool = False

    @property
    def text(self) -> Optional[str]:
        return self.data.get("text/plain")

    @property
    def png(self) -> Optional[bytes]:
        return self.data.get("image/png")

    @staticmethod
    def _of(j: Mapping[str, Any]) -> "Shown":
        data = dict(j.get("data", {}))
        for kind, value in data.items():
            if isinstance(value, str) and _is_binary(kind):
                data[kind] = base64.b64decode(value)
        return Shown(data, bool(j.get("main", False)))


def _is_binary(kind: str) -> bool:
    return (kind.startswith(("image/", "audio/", "video/")) and not kind.endswith("+xml")) or kind in (
        "application/pdf", "application/octet-stream")


@dataclass(frozen=True)
class Change:
    """A file that a program created, modified, deleted or renamed."""

    path: str
    op: str
    bytes: int = 0
    sha256: str = ""
    mime: str = ""
    from_path: str = ""


@dataclass(frozen=True)
class Result:
    """What a program did. raw is the whole answer."""

    id: str
    language: str
    status: str
    exit_code: int
    stdout: str
    stderr: str
    results: List[Shown]
    error: Optional[ProgramError]
    files_changed: List[Change]
    more_files_changed: bool  # than are listed
    files: Dict[str, bytes]
    usage: Dict[str, float]
    rolled_back: bool
    pending_calls: List[PendingCall]
    raw: Dict[str, Any] = field(repr=False)

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def value(self) -> Optional[str]:
        """The last expression's value as text."""
        for shown in self.results:
            if shown.main:
                return shown.text
        return None

    @property
    def charts(self) -> List[bytes]:
        """The PNG pictures that were shown."""
        return [s.png for s in self.results if s.png is not None]

    @staticmethod
    def _of(j: Dict[str, Any]) -> "Result":
        e = j.get("error")
        return Result(
            id=j["id"], language=j["language"], status=j["status"], exit_code=j["exit_code"], stdout=j["stdout"],
            stderr=j["stderr"], results=[Shown._of(r) for r in j.get("results", [])],
            error=ProgramError(**{k: e[k] for k in ("name", "value", "traceback", "line", "hint") if k in e}) if e else None,
            files_changed=[
                Change(c["path"], c["op"], c.get("bytes", 0), c.get("sha256", ""), c.get("mime", ""), c.get("from", ""))
                for c in j.get("files_changed", [])
            ],
            more_files_changed=j.get("more_files_changed", False),
            files={f["path"]: _content(f) for f in j.get("files", [])},
            usage=j.get("usage", {}), rolled_back=j.get("rolled_back", False),
            pending_calls=PendingCall._list(j.get("pending_calls")), raw=j,
        )


def _content(f: Mapping[str, Any]) -> bytes:
    if "content_base64" in f:
        return base64.b64decode(f["content_base64"])
    return str(f.get("content", "")).encode()


@dataclass(frozen=True)
class Event:
    """One thing that a running program did: start, stdout, stderr, result, tool_call, http_request, error, end."""

    type: str
    text: str = ""
    shown: Optional[Shown] = None
    result: Optional[Result] = None
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class FileInfo:
    name: str
    path: str
    dir: bool
    bytes: int


@dataclass(frozen=True)
class HistoryEntry:
    """A state that a session can go back to: after so many turns, 0 for how it was opened."""

    turn: int
    id: str = ""
    status: str = ""


@dataclass(frozen=True)
class Snapshot:
    """A session's state, from which sessions can be made."""

    id: str
    language: str
    turns: int


def _files(files: Optional[Mapping[str, Content]]) -> Optional[List[Dict[str, str]]]:
    if not files:
        return None
    return [
        {"path": path, "content": content} if isinstance(content, str)
        else {"path": path, "content_base64": base64.b64encode(content).decode()}
        for path, content in files.items()
    ]


def _limits(timeout: Optional[float], fuel: Optional[int], memory_bytes: Optional[int], output_bytes: Optional[int] = None,
            disk_bytes: Optional[int] = None) -> Optional[Dict[str, int]]:
    given = {"timeout_ms": None if timeout is None else round(timeout * 1000), "fuel": fuel, "memory_bytes": memory_bytes,
             "output_bytes": output_bytes, "disk_bytes": disk_bytes}
    return {k: v for k, v in given.items() if v is not None} or None


def _by_name(tools: Optional[Sequence[Tool]]) -> Dict[str, Tool]:
    return {tool.name: tool for tool in tools or ()}


def _given(**fields: Any) -> Dict[str, Any]:
    return {k: v for k, v in fields.items() if v is not None}


class Client:
    """A client of one server. The key is that of the environment variable CLOCHE_KEY if none is given. timeout is how
    many seconds the server may be silent; programs have time limits of their own."""

    def __init__(self, url: str = "http://127.0.0.1:8844", key: Optional[str] = None, *, timeout: float = 600,
                 context: Optional[ssl.SSLContext] = None) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url {url!r}: write it as http://127.0.0.1:8844")
        self._parts = parts
        self._key = key if key is not None else os.environ.get("CLOCHE_KEY", "")
        self._timeout = timeout
        self._context = context

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    # Requests.

    def _open(self, method: str, path: str, body: Union[None, bytes, BinaryIO] = None,
              headers: Optional[Mapping[str, str]] = None) -> http.client.HTTPResponse:
        host, port = self._parts.hostname or "", self._parts.port
        connection: http.client.HTTPConnection
        if self._parts.scheme == "https":
            connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, body=body, headers={
                "Authorization": f"Bearer {self._key}", "Connection": "close", **(headers or {})})
            response = connection.getresponse()
        except BaseException:
            connection.close()
            raise
        if response.status >= 400:
            with response:
                raise _error(response)
        return response

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with self._open(method, path, data, {"Content-Type": "application/json"} if data is not None else None) as response:
            text = response.read()
        return json.loads(text) if text else None

    def _stream(self, path: str, body: Any, tools: Mapping[str, Tool]) -> Iterator[Event]:
        headers = {"Content-Type": "application/json", "Accept": "application/x-ndjson"}
        execution = ""
        with self._open("POST", path, json.dumps(body).encode(), headers) as response:
            for line in response:
                event = json.loads(line)
                if event["type"] == "ping":
                    continue
                execution = event.get("execution_id", execution)
                if event["type"] == "tool_call" and event.get("outcome") == "pending" and event["name"] in tools:
                    self._answer(execution, event, tools[event["name"]])
                yield _event(event)

    def _answer(self, execution: str, call: Mapping[str, Any], tool: Tool) -> None:
        answer = {"call_id": call["call_id"], **tool._answer(call.get("arguments") or {})}
        try:
            self._call("POST", f"/v1/executions/{execution}/tool_results", answer)
        except ClocheError as e:
            if e.status != 404:  # the program no longer waits for it
                raise

    def _run(self, path: str, body: Any, tools: Mapping[str, Tool]) -> Result:
        """The result of a program. Tools can be asked for over a stream only."""
        if not any(tool.call for tool in tools.values()):
            return Result._of(self._call("POST", path, body))
        result = None
        for event in self._stream(path, body, tools):
            result = event.result
        if result is None:
            raise ClocheError(0, "", "the stream ended before the result")
        return result

    # Runs.

    def execute(self, code: str, language: str = "python", **options: Any) -> Result:
        """Runs a program in a fresh sandbox. The options are those of stream."""
        return self._run("/v1/execute", self._job(code, language, **options), _by_name(options.get("tools")))

    def stream(self, code: str, language: str = "python", **options: Any) -> Iterator[Event]:
        """Runs a program in a fresh sandbox, and tells what it does as it does it; the last event, end, has the result.
        Leaving the loop interrupts the program. Options: files (by path, text or bytes), inputs (globals by name), args,
        stdin, env, collect (patterns of files to return), network (URL patterns), tools (which are called while the events
        are read), seed, snapshot (an id), timeout (seconds), fuel, memory_bytes, output_bytes, disk_bytes."""
        return self._stream("/v1/execute", self._job(code, language, **options), _by_name(options.get("tools")))

    @staticmethod
    def _job(code: str, language: str, *, files: Optional[Mapping[str, Content]] = None,
             inputs: Optional[Mapping[str, Any]] = None, args: Optional[Sequence[str]] = None, stdin: Optional[str] = None,
             env: Optional[Mapping[str, str]] = None, collect: Optional[Sequence[str]] = None,
             network: Optional[Sequence[str]] = None, tools: Sequence[Tool] = (), seed: Optional[int] = None,
             snapshot: Optional[str] = None, timeout: Optional[float] = None, fuel: Optional[int] = None,
             memory_bytes: Optional[int] = None, output_bytes: Optional[int] = None,
             disk_bytes: Optional[int] = None) -> Dict[str, Any]:
        return _given(
            code=code, language=language, files=_files(files), inputs=inputs, args=args, stdin=stdin, env=env, collect=collect,
            tools=[tool._json() for tool in tools] or None, network={"allow": list(network)} if network else None, seed=seed, snapshot=snapshot,
            limits=_limits(timeout, fuel, memory_bytes, output_bytes, disk_bytes))

    def result(self, execution_id: str) -> Result:
        """The result of a run that is over, by its id. Of one that still runs it is a ClocheError with code busy."""
        found = self._call("GET", f"/v1/executions/{execution_id}")
        if found["status"] == "running":
            raise ClocheError(409, "busy", f"the run {execution_id} is not over yet")
        return Result._of(found)

    # Sessions.

    def session(self, language: str = "python", *, files: Optional[Mapping[str, Content]] = None,
                env: Optional[Mapping[str, str]] = None, network: Optional[Sequence[str]] = None, tools: Sequence[Tool] = (),
                seed: Optional[int] = None, snapshot: Optional[str] = None, on_error: Optional[str] = None, idle_timeout: Optional[float] = None,
                max_lifetime: Optional[float] = None, metadata: Optional[Mapping[str, str]] = None,
                timeout: Optional[float] = None, fuel: Optional[int] = None, memory_bytes: Optional[int] = None,
                output_bytes: Optional[int] = None, disk_bytes: Optional[int] = None) -> "Session":
        """Makes a session, which keeps variables and files from turn to turn. Use it in a with statement, or close it."""
        info = self._call("POST", "/v1/sessions", _given(
            language=language, files=_files(files), env=env, network={"allow": list(network)} if network else None, seed=seed,
            tools=[tool._json() for tool in tools] or None,
            snapshot=snapshot, on_error=on_error, idle_timeout_s=idle_timeout, max_lifetime_s=max_lifetime, metadata=metadata,
            limits=_limits(timeout, fuel, memory_bytes, output_bytes, disk_bytes)))
        return Session(self, info, tools)

    def sessions(self) -> List["Session"]:
        """The key's sessions, oldest first."""
        return [Session(self, info) for info in self._call("GET", "/v1/sessions")["sessions"]]

    def open_session(self, session_id: str, tools: Sequence[Tool] = ()) -> "Session":
        """A session that is there, by its id, with the functions of the tools that it was made with."""
        return Session(self, self._call("GET", f"/v1/sessions/{session_id}"), tools)

    def snapshots(self) -> List[Snapshot]:
        return [Snapshot(s["id"], s["language"], s["turns"]) for s in self._call("GET", "/v1/snapshots")["snapshots"]]

    def delete_snapshot(self, snapshot_id: str) -> None:
        self._call("DELETE", f"/v1/snapshots/{snapshot_id}")

    def runtimes(self) -> Dict[str, Any]:
        """The interpreters, and what the key may ask for."""
        found: Dict[str, Any] = self._call("GET", "/v1/runtimes")
        return found


class Session:
    """A sandbox that keeps variables and files. info is what the server said of it when it was made."""

    def __init__(self, client: Client, info: Dict[str, Any], tools: Sequence[Tool] = ()) -> None:
        self._client = client
        self._tools = _by_name(tools)
        self.info = info
        self.id: str = info["id"]
        self.language: str = info["language"]
        self._path = f"/v1/sessions/{self.id}"

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session. One that is over already is no error."""
        try:
            self._client._call("DELETE", self._path)
        except ClocheError as e:
            if e.status not in (404, 410):
                raise

    def execute(self, code: str, **options: Any) -> Result:
        """Runs a program in the session. The options are those of stream."""
        return self._client._run(f"{self._path}/execute", self._turn(code, **options), self._tools)

    def stream(self, code: str, **options: Any) -> Iterator[Event]:
        """Runs a program in the session and tells what it does. Options: language (typescript in a session of
        javascript), files, inputs, args, stdin, collect, timeout (seconds), fuel, output_bytes."""
        return self._client._stream(f"{self._path}/execute", self._turn(code, **options), self._tools)

    def pending_calls(self) -> List[PendingCall]:
        """The calls whose results a suspended turn waits for; none when there is no such turn."""
        return PendingCall._list(self._client._call("GET", self._path).get("pending_calls"))

    def resume(self, results: Mapping[str, Any]) -> Result:
        """Goes on with a suspended turn: results are by the id of their calls; a ToolError is raised in the program."""
        answers = [
            {"call_id": id, "error": r._json()} if isinstance(r, ToolError) else {"call_id": id, "result": r}
            for id, r in results.items()
        ]
        return self._client._run(f"{self._path}/resume", {"results": answers}, self._tools)

    def give_up(self) -> Result:
        """Interrupts a suspended turn where it waits."""
        return self._client._run(f"{self._path}/resume", {"cancel": True}, self._tools)

    @staticmethod
    def _turn(code: str, *, language: Optional[str] = None, files: Optional[Mapping[str, Content]] = None,
              inputs: Optional[Mapping[str, Any]] = None, args: Optional[Sequence[str]] = None, stdin: Optional[str] = None,
              collect: Optional[Sequence[str]] = None, timeout: Optional[float] = None, fuel: Optional[int] = None,
              output_bytes: Optional[int] = None) -> Dict[str, Any]:
        return _given(code=code, language=language, files=_files(files), inputs=inputs, args=args, stdin=stdin,
                      collect=collect, limits=_limits(timeout, fuel, None, output_bytes))

    def interrupt(self) -> bool:
        """Interrupts the turn that runs, and says whether there was one."""
        return bool(self._client._call("POST", f"{self._path}/interrupt")["interrupted"])

    def reset(self) -> None:
        """Makes the session what it was when it was opened."""
        self._client._call("POST", f"{self._path}/reset")

    def history(self) -> List[HistoryEntry]:
        """The states that the session can go back to, oldest first."""
        entries = self._client._call("GET", f"{self._path}/history")["history"]
        return [HistoryEntry(e["turn"], e.get("id", ""), e.get("status", "")) for e in entries]

    def rollback(self, to: int) -> None:
        """Makes the session what it was after turn to."""
        self._client._call("POST", f"{self._path}/rollback", {"to": to})

    def fork(self, count: int = 1, turn: Optional[int] = None) -> List["Session"]:
        """Makes sessions that go on from this one's state, or from that after an earlier turn."""
        made = self._client._call("POST", f"{self._path}/fork", _given(count=count, turn=turn))
        return [Session(self._client, info, list(self._tools.values())) for info in made["sessions"]]

    def snapshot(self, metadata: Optional[Mapping[str, str]] = None) -> Snapshot:
        s = self._client._call("POST", f"{self._path}/snapshots", _given(metadata=metadata))
        return Snapshot(s["id"], s["language"], s["turns"])

    # Files.

    def list_files(self, path: str = "/data") -> List[FileInfo]:
        listed = self._client._call("GET", f"{self._path}/files?path={urllib.parse.quote(path, safe='')}")
        return [FileInfo(f["name"], f["path"], f["dir"], f["bytes"]) for f in listed["files"]]

    def read_file(self, path: str) -> bytes:
        with self._client._open("GET", self._file(path)) as response:
            return response.read()

    def write_file(self, path: str, content: Union[Content, BinaryIO]) -> None:
        data = content.encode() if isinstance(content, str) else content
        with self._client._open("PUT", self._file(path), data, {"Content-Type": "application/octet-stream"}) as response:
            response.read()

    def delete_file(self, path: str) -> None:
        self._client._call("DELETE", self._file(path))

    def _file(self, path: str) -> str:
        return f"{self._path}/files/{urllib.parse.quote(path)}"


def _event(e: Dict[str, Any]) -> Event:
    if e["type"] == "end":
        if "result" not in e:
            error = e.get("error", {})
            raise ClocheError(0, error.get("code", ""), error.get("message", "the run failed"), error.get("details"))
        return Event("end", result=Result._of(e["result"]), raw=e)
    return Event(e["type"], text=e.get("text", ""), shown=Shown._of(e) if e["type"] == "result" else None, raw=e)


def _error(response: http.client.HTTPResponse) -> ClocheError:
    text = response.read(1 << 20)
    try:
        e = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        e = {"code": "", "message": text.decode("utf-8", "replace").strip() or response.reason}
    retry = response.headers.get("Retry-After")
    return ClocheError(response.status, e.get("code", ""), e.get("message", ""), e.get("details"),
                       e.get("request_id") or response.headers.get("X-Request-Id", ""),
                       float(retry) if retry and retry.replace(".", "", 1).isdigit() else None)
