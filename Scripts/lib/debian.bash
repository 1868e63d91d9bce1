# Making, looking at and trying a Debian package. Sourced by Scripts/package; machine.bash comes
# first.

# shellcheck shell=bash

# make_package ROOT VERSION FILE: makes a package of what is installed below ROOT.
make_package() {
    local root=$1 version=$2 file=$3 documents=$1/usr/share/doc/workerd config=$repository/Config/debian
    local libraries size
    mkdir -p "$root/DEBIAN" "$documents"
    strip --strip-unneeded --remove-section=.comment "$root"/usr/bin/*
    find "$root/usr/share/man" -type f ! -name '*.gz' -exec gzip --best --no-name {} +
    install -D -m 0644 "$config/sysusers.conf" "$root/usr/lib/sysusers.d/workerd.conf"
    install -m 0644 "$config/copyright" "$documents/copyright"
    write_changelog "$version" | gzip --best --no-name >"$documents/changelog.gz"
    install -D -m 0644 "$config/lintian-overrides" "$root/usr/share/lintian/overrides/workerd"
    printf '/etc/workerd/workerd.json5\n' >"$root/DEBIAN/conffiles"
    install -m 0755 "$config/postinst" "$config/prerm" "$config/postrm" "$root/DEBIAN"
    libraries=$(library_packages "$root"/usr/bin/*)
    size=$(du --summarize --block-size=1024 --exclude=DEBIAN "$root" | cut -f 1)
    sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$(dpkg --print-architecture)/" \
        -e "s/@SIZE@/$size/" -e "s/@LIBRARIES@/$libraries/" "$config/control" >"$root/DEBIAN/control"
    (cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | LC_ALL=C sort --zero-terminated |
        xargs --null md5sum) >"$root/DEBIAN/md5sums"
    chmod -R u=rwX,go=rX "$root"
    dpkg-deb --root-owner-group --build "$root" "$file" >&2
}

# library_packages PROGRAM…: the packages of the libraries that programs are linked with, as Depends has them.
library_packages() {
    local directory
    directory=$(mktemp --directory)
    mkdir "$directory/debian"
    printf 'Source: workerd\n\nPackage: workerd\nArchitecture: any\n' >"$directory/debian/control"
    (cd "$directory" && dpkg-shlibdeps -O "$@" 2>/dev/null) | sed -n 's/^shlibs:Depends=//p'
    rm -r "$directory"
}

# write_changelog VERSION: the change log in Debian's form; what changed is in the package's own.
write_changelog() {
    cat <<END
workerd ($1) unstable; urgency=medium

  * See https://workerd.invalid/CHANGELOG.md for what changed for users.

 -- workerd maintainers <workerd@workerd.invalid>  $(date --utc --rfc-email \
        --date="$(sed -n 's/.*static let date = "\(.*\)"/\1/p' "$repository/Sources/Wording/Release.swift")")
END
}

# look_at_package FILE: fails if lintian finds a fault.
look_at_package() {
    command -v lintian >/dev/null || install_packages lintian 2>/dev/null || {
        say "lintian is missing, and the package is not looked at; to have it: apt-get install lintian"
        return 0
    }
    local faults
    faults=$(lintian --allow-root --tag-display-limit 0 --display-info --pedantic "$1" 2>&1 |
        grep -v '^N: ' || true)
    [ -z "$faults" ] || fail 1 "lintian finds faults: $faults"
}

# test_package FILE OLDER ROOT: tries a package in a root of its own.
test_package() {
    local file=$1 older=$2 root=$3
    make_root "$root"
    cp "$file" "$root/new.deb"
    cp "$older" "$root/old.deb"
    cp "$repository/Scripts/lib/package-test.sh" "$root/test.sh"
    bwrap --bind "$root" / --dev /dev --proc /proc --tmpfs /tmp --unshare-all --uid 0 --gid 0 \
        --cap-add CAP_CHOWN --cap-add CAP_DAC_OVERRIDE --cap-add CAP_FOWNER --clearenv \
        --setenv PATH /usr/sbin:/usr/bin:/sbin:/bin --setenv DEBIAN_FRONTEND noninteractive \
        --die-with-parent /bin/sh /test.sh >&2 || fail 1 "the package does not pass its test"
}

# make_root ROOT: a small root with what dpkg and the programs need, and without Swift.
make_root() {
    local root=$1 program path library
    mkdir -p "$root"/{etc,proc,dev,tmp,run,usr/bin,usr/sbin,usr/lib,usr/lib64,var/lib/dpkg/updates,var/lib/dpkg/info,var/log}
    for directory in bin sbin lib lib64; do ln -s "usr/$directory" "$root/$directory"; done
    touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
    printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\n' >"$root/etc/group"
    printf 'root:*:1::::::\n' >"$root/etc/shadow"
    for program in sh bash cat chmod cmp cp date diff dpkg dpkg-deb dpkg-query dpkg-split dpkg-divert dpkg-trigger echo env find \
        grep id kill head ldd ln ls mkdir mv readlink rm rmdir sed sleep sort stat tail tar test touch tr true \
        wc xz gzip systemd-sysusers ldconfig start-stop-daemon; do
        path=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin type -P "$program") || fail 69 "there is no $program here"
        install -m 0755 "$path" "$root/usr/bin/${path##*/}"
        libraries_of "$path"
    done >"$root/libraries"
    # Packages that this one depends on: dpkg would have installed them.
    for library in "$repository"/.build/install/release/worker{d,ctl}; do
        libraries_of "$library" >>"$root/libraries"
    done
    while IFS= read -r library; do
        [ -e "$root$library" ] || install -D -m 0755 "$library" "$root$library"
    done < <(sort --unique "$root/libraries")
}

# libraries_of PROGRAM: the paths of its libraries and of its loader.
libraries_of() { ldd "$1" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'; }
