# Sourced by scripts/test --long: sees to it that the image can be built, with Debian's own tools, or says loudly that it
# cannot.

need_containers() {
    if command -v buildah >/dev/null 2>&1 && PATH="$PATH:/usr/sbin" command -v debootstrap >/dev/null 2>&1; then
        return 0
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing buildah and debootstrap for the test of the container image, once."
        if apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends buildah debootstrap >/dev/null; then
            return 0
        fi
    fi
    echo "There is no buildah or debootstrap here. THE TEST OF THE CONTAINER IMAGE WILL FAIL." >&2
}
