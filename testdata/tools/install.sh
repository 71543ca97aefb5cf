#!/bin/sh
# Installs what tests use beside Go, into the folder .tools of the cache (see runtimes.DefaultCacheDir).
# What is there already is left; what cannot be installed is said, and its tests are skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
case $(uname) in
Darwin) cache=$HOME/Library/Caches ;;
*) cache=${XDG_CACHE_HOME:-$HOME/.cache} ;;
esac
tools=${CLOCHE_CACHE:-$cache/cloche}/.tools
log=$tools/install.log
mkdir -p -m 700 "$tools"

# stale NAME FILE: whether NAME was not yet installed as FILE says.
stale() { ! cmp -s "$2" "$tools/$1/.installed-as"; }
# missing WHAT TESTS: tells that WHAT could not be installed.
missing() {
	sed 's/^/    /' "$log"
	echo "tools: no $1: $2 are skipped"
}

if stale python "$here/requirements.txt"; then
	echo "tools: Python packages"
	rm -rf "$tools/python"
	if python3 -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: \
		--target "$tools/python" -r "$here/requirements.txt" >"$log" 2>&1; then
		cp "$here/requirements.txt" "$tools/python/.installed-as"
	else
		rm -rf "$tools/python"
		missing "Python packages" "tests with clients in Python"
	fi
fi

if stale node "$here/node/package-lock.json"; then
	echo "tools: Node packages"
	rm -rf "$tools/node"
	mkdir -p "$tools/node" && cp "$here/node/package.json" "$here/node/package-lock.json" "$tools/node/"
	if npm ci --prefix "$tools/node" --ignore-scripts --no-audit --no-fund --loglevel=error >"$log" 2>&1; then
		cp "$here/node/package-lock.json" "$tools/node/.installed-as"
	else
		rm -rf "$tools/node"
		missing "Node packages" "tests of accessibility, and with the client of MCP in JavaScript,"
	fi
fi

# browser: whether there is one that tests find.
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome || command -v chrome; }
if ! browser >/dev/null 2>&1; then
	echo "tools: Chromium"
	: >"$log"
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >"$log" 2>&1
	else
		echo "install Chromium yourself (Debian and Ubuntu: apt install chromium; macOS: brew install --cask google-chrome, and put it in PATH)" >"$log"
	fi
	browser >/dev/null 2>&1 || missing "Chromium" "tests in a browser"
fi
exit 0
