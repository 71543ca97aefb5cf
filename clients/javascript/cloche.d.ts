// Types of cloche.js.

export type Language = "python" | "javascript" | "typescript";
export type Status =
  | "ok" | "error" | "timeout" | "out_of_fuel" | "out_of_memory" | "cancelled" | "trapped" | "refused" | "suspended";
export type Content = string | Uint8Array | ArrayBuffer;

/** The server's answer to a request that it could not serve: status is HTTP's, code one of the API's. */
export class ClocheError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details?: unknown;
  readonly requestId: string;
  /** Seconds after which to try again. */
  readonly retryAfter?: number;
}

export interface ClientOptions {
  /** Default: the environment variable CLOCHE_KEY. */
  key?: string;
  fetch?: typeof fetch;
}

export interface RunLimits {
  /** Seconds of wall time. */
  timeout?: number;
  /** Instructions. */
  fuel?: number;
  outputBytes?: number;
}

export interface SandboxLimits extends RunLimits {
  memoryBytes?: number;
  diskBytes?: number;
}

export interface ProgramOptions {
  language?: Language;
  /** Contents by path; a relative path is below /data. */
  files?: Record<string, Content>;
  /** Globals of the program, by name; what JSON can say. */
  inputs?: Record<string, unknown>;
  args?: string[];
  stdin?: string;
  /** Patterns of files to return, such as *.png. */
  collect?: string[];
  signal?: AbortSignal;
}

export interface SandboxOptions extends SandboxLimits {
  language?: Language;
  files?: Record<string, Content>;
  env?: Record<string, string>;
  /** URL patterns; the key must allow them. */
  network?: string[];
  seed?: number;
  /** The id of a snapshot to go on from. */
  snapshot?: string;
  /** Functions that the program may call. They are called while the program runs, in stream() while its events are read. */
  tools?: Tool[];
}

export type ExecuteOptions = ProgramOptions & SandboxOptions;
export type TurnOptions = ProgramOptions & RunLimits;

/** A function of yours that programs may call as tools.NAME. */
export interface Tool {
  name: string;
  /** Gets the arguments as one object. Without it results come later: the turn is suspended, and Session.resume goes on with it. */
  call?: (args: any) => unknown;
  description?: string;
  /** The JSON schema of the arguments. */
  inputSchema?: Record<string, unknown>;
  /** Seconds. */
  timeout?: number;
}

/** What a tool throws to tell the program why it failed. Of any other exception the program learns only that the tool failed. */
export class ToolError extends Error {
  /** @param name The exception that the program sees, such as ValueError. */
  constructor(message: string, name?: string);
}

/** A call of a tool whose result comes later. */
export interface PendingCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

export interface SessionOptions extends SandboxOptions {
  onError?: "keep" | "rollback";
  /** Seconds. */
  idleTimeout?: number;
  /** Seconds. */
  maxLifetime?: number;
  metadata?: Record<string, string>;
}

/** A value that a program showed, in several forms by MIME type; pictures are bytes. */
export interface Shown {
  data: Record<string, unknown>;
  /** The value of the last expression. */
  main: boolean;
}

export interface ProgramError {
  name: string;
  value: string;
  traceback?: string;
  line?: number;
  hint?: string;
}

export interface Change {
  path: string;
  op: "created" | "modified" | "deleted" | "renamed";
  bytes: number;
  sha256?: string;
  mime?: string;
  from?: string;
}

export interface Usage {
  start_us: number;
  wall_ms: number;
  compute_ms: number;
  fuel: number;
  memory_peak_bytes: number;
  private_bytes: number;
  disk_bytes: number;
  output_bytes: number;
  host_calls: number;
}

export interface Result {
  id: string;
  language: Language;
  status: Status;
  ok: boolean;
  exitCode: number;
  stdout: string;
  stderr: string;
  results: Shown[];
  /** The last expression's value as text. */
  value?: string;
  /** The PNG pictures that were shown. */
  charts: Uint8Array[];
  error?: ProgramError;
  filesChanged: Change[];
  /** There are more than are listed. */
  moreFilesChanged: boolean;
  /** What was collected, by path. */
  files: Record<string, Uint8Array>;
  usage: Usage;
  rolledBack: boolean;
  /** What a suspended turn waits for. */
  pendingCalls: PendingCall[];
  /** The whole answer. */
  raw: Record<string, unknown>;
}

export type RunEvent =
  | { type: "stdout" | "stderr"; text: string; raw: Record<string, unknown> }
  | { type: "result"; text?: undefined; shown: Shown; raw: Record<string, unknown> }
  | { type: "end"; text?: undefined; result: Result; raw: Record<string, unknown> }
  | { type: "start" | "error" | "tool_call" | "http_request"; text?: undefined; raw: Record<string, unknown> };

export interface FileInfo {
  name: string;
  path: string;
  dir: boolean;
  bytes: number;
}

export interface HistoryEntry {
  /** How many turns the state is made of. */
  turn: number;
  id?: string;
  status?: Status;
  time: string;
  bytes: number;
}

export interface Snapshot {
  id: string;
  language: Language;
  created_at: string;
  turns: number;
  memory_bytes: number;
  file_bytes: number;
  metadata?: Record<string, string>;
}

export class Client {
  constructor(url?: string | URL, options?: ClientOptions);
  /** Runs a program in a fresh sandbox. */
  execute(code: string, options?: ExecuteOptions): Promise<Result>;
  /** Runs a program and tells what it does; the last event, end, has the result. Leaving the loop interrupts it. */
  stream(code: string, options?: ExecuteOptions): AsyncGenerator<RunEvent, void>;
  /** The result of a run that is over. Of one that still runs it is a ClocheError with code busy. */
  result(executionId: string): Promise<Result>;
  session(options?: SessionOptions): Promise<Session>;
  sessions(): Promise<Session[]>;
  /** A session that is there, with the functions of the tools that it was made with. */
  openSession(id: string, options?: { tools?: Tool[] }): Promise<Session>;
  snapshots(): Promise<Snapshot[]>;
  deleteSnapshot(id: string): Promise<void>;
  runtimes(): Promise<Record<string, unknown>>;
}

/** A sandbox that keeps variables and files. */
export class Session {
  readonly id: string;
  readonly language: Language;
  /** What the server said of it when it was made. */
  readonly info: Record<string, unknown>;
  close(): Promise<void>;
  execute(code: string, options?: TurnOptions): Promise<Result>;
  stream(code: string, options?: TurnOptions): AsyncGenerator<RunEvent, void>;
  /** The calls whose results a suspended turn waits for. */
  pendingCalls(): Promise<PendingCall[]>;
  /** Goes on with a suspended turn: results are by the id of their calls; a ToolError is thrown in the program. */
  resume(results: Record<string, unknown>, options?: { signal?: AbortSignal }): Promise<Result>;
  /** Interrupts a suspended turn where it waits. */
  giveUp(options?: { signal?: AbortSignal }): Promise<Result>;
  /** Interrupts the turn that runs, and says whether there was one. */
  interrupt(): Promise<boolean>;
  reset(): Promise<void>;
  history(): Promise<HistoryEntry[]>;
  rollback(to: number): Promise<void>;
  fork(options?: { count?: number; turn?: number }): Promise<Session[]>;
  snapshot(options?: { metadata?: Record<string, string> }): Promise<Snapshot>;
  listFiles(path?: string): Promise<FileInfo[]>;
  readFile(path: string): Promise<Uint8Array>;
  writeFile(path: string, content: string | Uint8Array | Blob): Promise<void>;
  deleteFile(path: string): Promise<void>;
}
