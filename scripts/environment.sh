# Sourced by the scripts beside it: finds a Python and makes .venv from a lock file, once.
# Afterwards "$python" is the environment's own interpreter.

find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            printf '%s\n' "$name"
            return 0
        fi
    done
    return 1
}

make_environment() { # $1: the lock file
    local found
    if ! found=$(find_python); then
        echo "This needs Python 3.11 or newer, and there is none here." >&2
        echo "On Debian or Ubuntu: apt-get install python3 python3-venv. On a Mac: brew install python." >&2
        exit 1
    fi
    "$found" scripts/environment.py "$1"
    python=.venv/bin/python
}

# Writes bytecode beside the sources. Processes whose account may not write there would compile them at every start.
compile_sources() {
    "$python" -m compileall -qq companion ops personas routing validation || true
}
