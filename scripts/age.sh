# Sourced by scripts/test: sees to it that the tests of encrypted backups find a real age, or says loudly that they cannot.

need_age() {
    if command -v age >/dev/null 2>&1 && command -v age-keygen >/dev/null 2>&1; then
        return 0
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing age for the tests of encrypted backups, once."
        if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends age \
            >/dev/null && command -v age >/dev/null 2>&1; then
            return 0
        fi
    fi
    {
        echo
        echo "************************************************************************"
        echo "  There is no age here, and it could not be installed."
        echo "  THE TESTS OF ENCRYPTED BACKUPS WILL FAIL. Install it: apt-get install age"
        echo "************************************************************************"
        echo
    } >&2
}
