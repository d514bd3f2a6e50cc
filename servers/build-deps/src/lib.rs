//! Nothing. Each server is built by a call of cargo of its own, so that no other server's features reach it. This package is named
//! in these calls (`with` in `bench-scripts/servers.toml`), so that crates that run at build time have the same features in all of
//! them, and are built once. No code of it, and no feature, is in a program.
