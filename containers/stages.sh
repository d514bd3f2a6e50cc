#!/bin/sh
# The stages of containers/Containerfile, which run inside a container and outside of one alike.
#
#   stages.sh build PACKAGE OUT [PROFILE]   build a package of the workspace with the crates of Cargo.lock; its program becomes OUT/server
#   stages.sh check OUT                     fail where OUT/server needs a library that the runtime image lacks
set -eu

usage() {
    echo "stages.sh: give build PACKAGE OUT [PROFILE], or check OUT" >&2
    exit 2
}

# What gcr.io/distroless/cc has of the libraries that Rust's programs load.
HAS="linux-vdso.so.1 libc.so.6 libm.so.6 libgcc_s.so.1 libpthread.so.0 libdl.so.2 librt.so.1 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1"

build() {
    package=$1 out=$2 profile=${3:-release}
    case $package in
    server-legacy | server-jsonrpsee | server-actix | server-axum | server-gateway) ;;
    *)
        echo "stages.sh: there is no image of $package; give server-legacy, server-jsonrpsee, server-actix, server-axum or server-gateway" >&2
        exit 2
        ;;
    esac
    cargo build --locked --profile "$profile" --package "$package" --bin "$package"
    # Cargo's folder of the profile `dev` is `debug`.
    [ "$profile" = dev ] && folder=debug || folder=$profile
    mkdir -p "$out"
    install -m 0555 "${CARGO_TARGET_DIR:-target}/$folder/$package" "$out/server"
}

check() {
    program=$1/server
    [ -x "$program" ] || { echo "stages.sh: there is no $program; build it first" >&2; exit 1; }
    for library in $(ldd "$program" | sed 's/ =>.*//; s/ (.*//'); do
        name=${library##*/}
        case " $HAS " in
        *" $name "*) ;;
        *)
            echo "stages.sh: $program needs $name, which the runtime image lacks" >&2
            exit 1
            ;;
        esac
    done
}

[ $# -ge 2 ] || usage
case $1 in
build) [ $# -ge 3 ] && [ $# -le 4 ] || usage; shift; build "$@" ;;
check) [ $# -eq 2 ] || usage; check "$2" ;;
*) usage ;;
esac
