# The usual HTTP clients are there; without a network their errors are the ones that programs expect.
# stdout: requests: True
# stdout: httpx: True
# stdout: async: ConnectError
# stdout: {'path': '/x'}
import asyncio
import importlib.metadata
import os

import certifi
import httpx
import requests

for name in ("requests", "httpx"):
    assert importlib.metadata.version(name) == __import__(name).__version__
assert os.path.getsize(certifi.where()) > 100_000

prepared = requests.Request("POST", "http://example.com/a b", params={"q": "é"}, json={"n": 1}).prepare()
assert prepared.url == "http://example.com/a%20b?q=%C3%A9", prepared.url
assert prepared.body == b'{"n": 1}'
assert str(httpx.URL("http://münchen.example/x", params={"q": "é"})) == "http://xn--mnchen-3ya.example/x?q=%C3%A9"

try:
    requests.get("https://example.com", timeout=3)
except requests.ConnectionError as e:
    print("requests:", "the network is closed" in str(e))
try:
    httpx.get("https://example.com", timeout=3)
except httpx.TransportError as e:
    print("httpx:", "the network is closed" in str(e))


async def fetch():
    async with httpx.AsyncClient() as client:
        await client.get("https://example.com")


try:
    asyncio.run(fetch())
except httpx.TransportError as e:
    print("async:", type(e).__name__)


def answer(request):
    return httpx.Response(200, json={"path": request.url.path})


with httpx.Client(transport=httpx.MockTransport(answer)) as client:
    print(client.get("http://example.com/x").json())
