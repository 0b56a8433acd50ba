# Sourced by scripts/test: sees to it that the tests of the units find systemd-analyze, or says loudly that they cannot.

need_systemd_analyze() {
    if command -v systemd-analyze >/dev/null 2>&1; then
        return 0
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing systemd-analyze for the tests of the units, once."
        if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends systemd >/dev/null && command -v systemd-analyze >/dev/null 2>&1; then
            return 0
        fi
    fi
    {
        echo
        echo "************************************************************************"
        echo "  There is no systemd-analyze here, and it could not be installed."
        echo "  THE TESTS OF THE UNITS WILL FAIL. Install it: apt-get install systemd"
        echo "************************************************************************"
        echo
    } >&2
}
