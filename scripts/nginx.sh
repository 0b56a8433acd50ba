# Sourced by scripts/test: sees to it that the tests of the proxy find a real nginx, or says loudly that they cannot.

need_nginx() {
    if PATH="$PATH:/usr/sbin" command -v nginx >/dev/null 2>&1; then
        return 0
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing nginx for the tests of the proxy, once."
        # The tests start nginx themselves; the package's service is not wanted.
        if apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends nginx >/dev/null && PATH="$PATH:/usr/sbin" command -v nginx >/dev/null 2>&1; then
            return 0
        fi
    fi
    {
        echo
        echo "************************************************************************"
        echo "  There is no nginx here, and it could not be installed."
        echo "  THE TESTS OF THE PROXY WILL FAIL. Install it: apt-get install nginx"
        echo "************************************************************************"
        echo
    } >&2
}
