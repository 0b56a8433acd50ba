# Sourced by scripts/test: sees to it that the tests of restore drills find a real PgBouncer, or says loudly that they
# cannot.

need_pgbouncer() {
    if PATH="$PATH:/usr/sbin" command -v pgbouncer >/dev/null 2>&1; then
        return 0
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing PgBouncer for the tests of restore drills, once."
        # The tests start poolers of their own; the package's service is not wanted.
        if apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends pgbouncer >/dev/null && PATH="$PATH:/usr/sbin" command -v pgbouncer >/dev/null 2>&1; then
            return 0
        fi
    fi
    {
        echo
        echo "************************************************************************"
        echo "  There is no PgBouncer here, and it could not be installed."
        echo "  THE TESTS OF POOLERS WILL FAIL. Install it: apt-get install pgbouncer"
        echo "************************************************************************"
        echo
    } >&2
}
