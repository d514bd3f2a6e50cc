#!/bin/sh
# Builds the servers with TLS and their certificate.
set -eu
sh bench-scripts/tls/certificate.sh
exec cargo build --release --locked --manifest-path servers/tls/Cargo.toml --target-dir target/tls
