# Sourced by scripts/release and scripts/release-clients with their arguments, `[--add] [DIR]`. Changes to the root of the
# repository, and sets `dist`, the folder for the packages, and SOURCE_DATE_EPOCH. `begin` sets `work`, a folder that is removed at the end.
set -euo pipefail
add=false
if [[ ${1:-} == --add ]]; then
    add=true
    shift
fi
dist=${1:+$(realpath -- "$1")}
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
export LC_ALL=C TZ=UTC PYTHONDONTWRITEBYTECODE=1
umask 022

say() { printf '== %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
needs() { local program; for program; do command -v "$program" >/dev/null || fail "$program is missing"; done; }

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
# stamp DIR: the times of files are part of what is compared.
stamp() { find "$1" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +; }
# archive FOLDER NAME: a tar of it, compressed, to stdout.
archive() {
    stamp "$1/$2"
    tar --create --directory "$1" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar "$2" | gzip -9n
}

# To be called when all that is needed is there.
begin() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/sessiond-release-XXXX")
    trap 'rm -rf "$work"' EXIT
    if [[ -z $dist ]]; then
        dist=$PWD/dist
        $add || rm -rf "$dist"
    fi
    mkdir -p "$dist"
    $add || [[ -z $(ls -A "$dist") ]] || fail "$dist is not empty"
}
# To be called last.
finish() {
    (cd "$dist" && rm -f SHA256SUMS && sha256sum -- *) >"$work/SHA256SUMS"
    mv "$work/SHA256SUMS" "$dist/"
    say "$dist"
    ls -l "$dist"
}
