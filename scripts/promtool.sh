# Sourced by scripts/test: sees to it that the tests of /metrics and of the alert rules find Prometheus' promtool, or says
# loudly that they cannot.

need_promtool() {
    if command -v promtool >/dev/null 2>&1; then
        return 0
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing promtool for the tests of /metrics, once."
        # Of the package the one program: the rest is a server with its pages and a service.
        if apt-get update -qq && take_promtool; then
            return 0
        fi
    fi
    {
        echo
        echo "************************************************************************"
        echo "  There is no promtool here, and it could not be installed."
        echo "  THE TESTS OF ALERT RULES WILL FAIL. Install it: apt-get install prometheus"
        echo "************************************************************************"
        echo
    } >&2
}

take_promtool() (
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    cd "$folder" &&
        apt-get download -qq -o APT::Sandbox::User=root prometheus >/dev/null &&
        dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool &&
        install -m 0755 usr/bin/promtool /usr/local/bin/promtool &&
        promtool --version >/dev/null 2>&1
)
