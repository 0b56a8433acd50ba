# Sourced by scripts/test: sees to it that the page tests find Debian's Chromium, or says loudly that they cannot.

need_browser() {
    if command -v chromium >/dev/null 2>&1; then
        return 0
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing Chromium for the page tests, once."
        if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            chromium fonts-dejavu-core >/dev/null && command -v chromium >/dev/null 2>&1; then
            return 0
        fi
    fi
    {
        echo
        echo "************************************************************************"
        echo "  There is no Chromium here, and it could not be installed."
        echo "  THE PAGE TESTS WILL FAIL. Install it: apt-get install chromium"
        echo "************************************************************************"
        echo
    } >&2
}
