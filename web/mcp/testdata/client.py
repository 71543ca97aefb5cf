"""Uses `cloche mcp` (the program named by the first argument) through the official client in Python."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters, stdio_client


def text(result):
    return "\n".join(c.text for c in result.content if c.type == "text")


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp"], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = {t.name for t in (await session.list_tools()).tools}
        assert {"run_code", "list_files", "read_file", "write_file", "describe_environment"} <= tools, tools

        live = []

        async def progress(_done, _total, message):
            live.append(message)

        result = await session.call_tool(
            "run_code",
            {"language": "python", "code": "print('{\"jsonrpc\": \"2.0\"}')\nx = 6\nx * 7"},
            progress_callback=progress,
        )
        assert "value:\n42" in text(result), text(result)
        structured = getattr(result, "structured_content", None) or result.structuredContent
        assert structured["status"] == "ok" and structured["stdout"] == '{"jsonrpc": "2.0"}\n', structured
        assert "".join(live) == '{"jsonrpc": "2.0"}\n', live

        result = await session.call_tool("run_code", {
            "language": "python",
            "code": "import matplotlib.pyplot as plt\nplt.plot([x, 2])\nopen('t.txt', 'w').write('hi')",
        })
        kinds = [c.type for c in result.content]
        assert "image" in kinds and "resource_link" in kinds, kinds
        link = next(c for c in result.content if c.type == "resource_link")
        read_back = await session.read_resource(link.uri)
        assert read_back.contents[0].text == "hi", read_back

        result = await session.call_tool("run_code", {"language": "javascript", "code": "throw new Error('x')"})
        failed = getattr(result, "is_error", None) or getattr(result, "isError", None)
        assert failed and "Error: x" in text(result), result
    print("all is well")


asyncio.run(main())
