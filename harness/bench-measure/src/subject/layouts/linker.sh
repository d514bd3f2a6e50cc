#!/bin/sh
# rustc's linker for a program in several layouts (see docs/METHODOLOGY.md): links as rustc says, and then once more for each argument
# --layout=SEED:PATH, with all functions in the order that lld draws from SEED, to PATH. So the program is compiled once for all of them.
set -eu
layouts=
for arg do
    shift
    case $arg in
        --layout=*) layouts="$layouts ${arg#--layout=}" ;;
        *) set -- "$@" "$arg" ;;
    esac
done
cc "$@"
for layout in $layouts; do
    path=${layout#*:}
    mkdir -p "$(dirname "$path")"
    # What goes last counts. Never a program that is half written under its name.
    cc "$@" -o "$path.new" -Wl,--strip-debug "-Wl,--shuffle-sections=*=${layout%%:*}" || {
        echo "linking with functions in a drawn order failed; it needs lld, which rustc brings on x86_64" >&2
        exit 1
    }
    mv "$path.new" "$path"
done
