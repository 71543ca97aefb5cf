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
exit 0
