# Sourced by scripts/test and .ci/run: installs the programs from Debian that tests run, or says loudly which are missing.

need_test_programs() {
    need_program "the page tests" "chromium firefox-esr fonts-dejavu-core" chromium firefox-esr
    # Most page tests take Chromium without its windows where it can be had, because it is twice as quick, and else the whole.
    have chromium-headless-shell || install_packages chromium-headless-shell || true
    need_program "the tests of poolers" pgbouncer pgbouncer
    need_program "the tests of encrypted backups" age age age-keygen
    need_program "the tests of systemd units" systemd systemd-analyze
    need_program "the tests of the proxy" nginx nginx
    need_promtool
}

need_long_test_programs() {
    need_program "the test of the container image" "buildah debootstrap" buildah debootstrap
}

# need_program TESTS PACKAGES PROGRAM...
need_program() {
    local tests="$1" packages="$2"
    shift 2
    have "$@" && return 0
    if can_install; then
        echo "Installing $packages for $tests, once."
        install_packages $packages && have "$@" && return 0
    fi
    warn "$tests" "$packages"
}

# Of Prometheus the one program: the rest of the package is a server with its pages and a service.
need_promtool() {
    have promtool && return 0
    if can_install; then
        echo "Installing promtool for the tests of /metrics, once."
        update_packages && take_promtool && return 0
    fi
    warn "the tests of /metrics and of alert rules" prometheus
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

# Whether all these programs are here. /usr/sbin, where some are, is not in the path of ordinary users.
have() {
    local program
    for program in "$@"; do
        PATH="$PATH:/usr/sbin" command -v "$program" >/dev/null 2>&1 || return 1
    done
}

can_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

update_packages() {
    [ -n "${packages_are_updated:-}" ] || apt-get update -qq || return 1
    packages_are_updated=yes
}

# Tests start servers of their own: RUNLEVEL=1 keeps the services of the packages from starting.
install_packages() {
    can_install && update_packages &&
        RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

warn() {
    {
        echo
        echo "************************************************************************"
        echo "  Not here, and not installable: $2"
        echo "  ${1^^} WILL FAIL. Install: apt-get install $2"
        echo "************************************************************************"
        echo
    } >&2
}
