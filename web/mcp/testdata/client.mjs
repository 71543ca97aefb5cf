// Uses the server through the official client in JavaScript: `node client.mjs SDK stdio PROGRAM`, or
// `node client.mjs SDK http URL KEY`. SDK is the folder of @modelcontextprotocol/sdk.
import assert from 'node:assert/strict'
import { pathToFileURL } from 'node:url'

const [sdk, way, target, key] = process.argv.slice(2)
const load = (file) => import(pathToFileURL(`${sdk}/dist/esm/${file}`))
const { Client } = await load('client/index.js')
const { StdioClientTransport } = await load('client/stdio.js')
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js')

const transport = () => way === 'stdio'
	? new StdioClientTransport({ command: target, args: ['mcp'], env: process.env })
	: new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${key}` } } })

const problems = []

async function connect() {
	const client = new Client({ name: 'test', version: '1' })
	// What the server says of a call that was given up may have been on its way.
	client.onerror = (e) => { if (!/unknown (token|message ID)/.test(e.message)) problems.push(e.message) }
	await client.connect(transport())
	return client
}

const call = (client, name, args, options) => client.callTool({ name, arguments: args }, undefined, options)
const text = (result) => result.content.filter((c) => c.type === 'text').map((c) => c.text).join('\n')

const client = await connect()
assert.equal(client.getServerVersion().name, 'cloche')
assert.ok(client.getInstructions().includes('run_code'))
await client.ping()

// The client holds structured content against the schema of each tool, which it knows from the list.
const { tools } = await client.listTools()
const names = tools.map((t) => t.name)
for (const name of ['run_code', 'list_files', 'read_file', 'write_file', 'checkpoint', 'rollback', 'describe_environment'])
	assert.ok(names.includes(name), `${name} is not among ${names}`)

// Output comes while the program runs.
const live = []
let before = 0
let result = await call(client, 'run_code', { code: "import time\nfor i in range(3):\n    print('line', i)\n    time.sleep(0.2)\nx = 6\nx * 7" }, {
	onprogress: (p) => {
		assert.ok(p.progress > before)
		before = p.progress
		live.push(p.message)
	},
})
assert.ok(text(result).includes('value:\n42') && !result.isError, text(result))
assert.equal(result.structuredContent.status, 'ok')
assert.equal(result.structuredContent.stdout, 'line 0\nline 1\nline 2\n')
assert.equal(live.join(''), 'line 0\nline 1\nline 2\n')
assert.ok(live.length >= 2, 'all output came at once')

// Charts are images, files that changed are links, which can be read.
result = await call(client, 'run_code', { code: "import matplotlib.pyplot as plt\nplt.plot([x, 2])\nopen('t.txt', 'w').write('hi')\nopen('b.bin', 'wb').write(bytes(range(256)))" })
const image = result.content.find((c) => c.type === 'image')
assert.equal(image.mimeType, 'image/png')
assert.equal(Buffer.from(image.data, 'base64').subarray(1, 4).toString(), 'PNG')
const links = result.content.filter((c) => c.type === 'resource_link')
assert.equal(links.length, 2)
const contents = await Promise.all(links.map(async (l) => (await client.readResource({ uri: l.uri })).contents[0]))
assert.ok(contents.some((c) => c.text === 'hi'))
assert.deepEqual([...Buffer.from(contents.find((c) => c.blob).blob, 'base64')], [...Array(256).keys()])
await assert.rejects(client.readResource({ uri: `${links[0].uri}-not` }))

// Files, checkpoints, the environment.
assert.ok(!(await call(client, 'write_file', { path: 'in/a.csv', content: 'n\n1\n' })).isError)
assert.ok(text(await call(client, 'read_file', { path: 'in/a.csv' })).includes('n\n1'))
assert.ok(text(await call(client, 'list_files', { path: 'in' })).includes('a.csv'))
const saved = await call(client, 'checkpoint', {})
await call(client, 'run_code', { code: 'x = 0' })
assert.ok(!(await call(client, 'rollback', { checkpoint_id: saved.structuredContent?.checkpoint_id ?? saved.structuredContent?.id })).isError)
assert.ok(text(await call(client, 'run_code', { code: 'x' })).includes('value:\n6'))
assert.ok(text(await call(client, 'describe_environment', {})).includes('pandas'))

// What fails says how: a program, arguments, a tool that is not there.
for (const [args, want] of [
	[{ language: 'javascript', code: "throw new RangeError('far')" }, 'RangeError: far'],
	[{ language: 'typescript', code: 'const n: number = 1; null.x' }, 'TypeError'],
	[{ code: 'while True: pass', timeout_ms: 200 }, 'time'],
	[{ code: '1', language: 'ruby' }, 'language'],
	[{ code: 1 }, 'code'],
	[{}, 'code'],
	[{ code: '1', colour: 'red' }, 'colour'],
	[{ code: '1', session_id: '../x' }, 'session_id'],
	[{ code: '1', files: [{ path: 'a' }] }, 'content'],
]) {
	const failed = await call(client, 'run_code', args).catch((e) => ({ isError: true, content: [{ type: 'text', text: e.message }] }))
	assert.ok(failed.isError && text(failed).includes(want), `${JSON.stringify(args)}: ${text(failed)}`)
}
await assert.rejects(call(client, 'no_such_tool', {}))

// A call that is given up stops its program, and the session goes on; several sessions run at once.
const gaveUp = new AbortController()
const started = Date.now()
const endless = call(client, 'run_code', { code: "y = 1\nwhile True:\n    print('.')\n" }, { signal: gaveUp.signal, onprogress: () => gaveUp.abort() })
await assert.rejects(endless)
assert.ok(text(await call(client, 'run_code', { code: 'x' })).includes('value:\n6'))
assert.ok(Date.now() - started < 10_000, 'a program went on')
await assert.rejects(call(client, 'run_code', { code: 'while True: pass', session_id: 'slow' }, { timeout: 300 }))
const both = await Promise.all(['one', 'two'].map((id) => call(client, 'run_code', { session_id: id, code: `import time; time.sleep(0.3); '${id}'` })))
assert.deepEqual(both.map((r) => text(r).includes('one')), [true, false])

// Another connection has sessions of its own; one that has ended is not there any more.
const other = await connect()
assert.ok(text(await call(other, 'run_code', { code: 'x' })).includes('NameError'))
assert.deepEqual(problems, [])
if (way === 'http') {
	const gone = other.transport
	const session = gone.sessionId
	await gone.terminateSession()
	const again = await fetch(target, {
		method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
		headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Session-Id': session },
	})
	assert.equal(again.status, 404)
}
await other.close()
await client.close()
console.log('all is well')
