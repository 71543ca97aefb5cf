# What a sandbox does not have is an OSError that says so, at once.
# stdout: said twice
import os
import socket
import subprocess
import time
import urllib.request

start = time.monotonic()


def closed(text, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except OSError as e:
        assert text in str(e), f"{e!r}, not {text!r}"
    else:
        raise AssertionError(f"{call} works")


process = "processes are not available in this sandbox"
closed(process + " (tried to start ['echo', 'hello'])", subprocess.run, ["echo", "hello"], capture_output=True)
closed(process, subprocess.check_output, "ls", shell=True)
closed(process, subprocess.Popen, "ls")
closed(process + " (tried to start 'ls')", os.system, "ls")
closed(process, os.popen, "ls")
closed(process, os.execv, "/bin/ls", ["ls"])
closed(process, os.spawnlp, os.P_WAIT, "ls", "ls")
closed(process, os.kill, 1, 9)
if hasattr(os, "fork"):
    closed(process, os.fork)
closed("pipes", os.pipe)
with open("one", "w") as f:
    closed("one descriptor", os.dup, f.fileno())
    closed("one descriptor", os.dup2, f.fileno(), 1)
closed("Bad file descriptor", os.dup, 99)
second = os.dup(1)
assert second > 2 and os.write(second, b"said twice\n") == 11
os.close(second)
# Whoever can do without a program that is not installed does so.
for run in (lambda: subprocess.run(["git", "status"]), lambda: os.execvp("git", ["git"]), lambda: os.posix_spawn("/bin/ls", ["ls"], {})):
    try:
        run()
    except FileNotFoundError as e:
        assert process in str(e), e
    else:
        raise AssertionError("a program was found")

closed("network is closed", socket.socket)
closed("network is closed", socket.create_connection, ("127.0.0.1", 9), timeout=5)
closed("network is closed", socket.getaddrinfo, "example.com", 443)
closed("network is closed", socket.gethostbyname, "example.com")
closed("network is closed", urllib.request.urlopen, "http://example.com/", timeout=5)
closed("network is closed", urllib.request.urlopen, "https://example.com/", timeout=5)
try:
    socket.getaddrinfo("example.com", 443)
except socket.gaierror:
    pass

import ssl

context = ssl.create_default_context()
assert context.check_hostname and context.verify_mode is ssl.CERT_REQUIRED
closed("network is closed", ssl.get_server_certificate, ("example.com", 443))
from ssl import CERT_NONE, MemoryBIO, OP_NO_SSLv3, Options, PROTOCOL_TLSv1_2, SSL_ERROR_EOF, SSLErrorNumber, SSLObject, SSLSession, SSLSocket
from ssl import TLSVersion, VERIFY_X509_STRICT, VerifyFlags, VerifyMode

context.verify_flags &= ~VERIFY_X509_STRICT
context.options |= OP_NO_SSLv3
assert isinstance(context.verify_flags, VerifyFlags) and context.options == Options.OP_NO_SSLv3

assert os.getuid() == 1000 and os.getlogin() == "user"
assert socket.gethostname() == "localhost"
assert time.monotonic() - start < 5

# What needs no process is answered as if one had run.
import contextlib
import io
import sys

assert os.system("clear") == os.system("cls||clear") == 0
pip = [sys.executable, "-m", "pip", "install", "-q", "pandas"]
with contextlib.redirect_stdout(io.StringIO()) as said:
    assert subprocess.check_call(pip) == 0 and os.system("pip install numpy pandas") == 0
assert said.getvalue().split()[3::4] == ["pandas", "numpy", "pandas"]
assert subprocess.run(pip, capture_output=True, text=True).stdout == "Requirement already satisfied: pandas\n"
assert subprocess.check_output(pip).startswith(b"Requirement") and subprocess.run(pip, stdout=subprocess.DEVNULL, check=True).stdout is None
with subprocess.Popen(pip, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
    assert p.communicate() == (b"Requirement already satisfied: pandas\n", b"") and p.wait() == p.poll() == p.returncode == 0
try:
    subprocess.check_call([sys.executable, "-m", "pip", "install", "cowsay"])
except ModuleNotFoundError as e:
    assert e.name == "cowsay"
else:
    raise AssertionError("cowsay was installed")
