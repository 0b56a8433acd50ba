# Sourced by scripts/test: sees to it that the page tests find Debian's Chromium and Firefox, or says loudly that they cannot.

have_browsers() {
    command -v chromium >/dev/null 2>&1 && command -v firefox-esr >/dev/null 2>&1
}

# Most page tests take Chromium without its windows where it can be had, because it is twice as quick, and else the whole.
have_windowless() {
    command -v chromium-headless-shell >/dev/null 2>&1
}

need_browser() {
    if have_browsers && have_windowless; then
        return 0
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing Chromium and Firefox for the page tests, once."
        if apt-get update -qq; then
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
                chromium firefox-esr fonts-dejavu-core >/dev/null || true
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
                chromium-headless-shell >/dev/null || true
        fi
    fi
    if have_browsers; then
        return 0
    fi
    {
        echo
        echo "************************************************************************"
        echo "  Chromium or Firefox is missing, and could not be installed."
        echo "  PAGE TESTS WILL FAIL. Install: apt-get install chromium firefox-esr"
        echo "************************************************************************"
        echo
    } >&2
}
