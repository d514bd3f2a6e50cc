//! Do all servers answer well-formed requests as the contract says? Each test runs one server binary, a process of its own,
//! over a real socket. What they say to malformed requests is in `tests/malformed.rs`.
//!
//! Not here: what a method means (`validator-state` has tests of that without a socket), speed (the harness).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod cases;
mod counters;
mod lifecycle;
mod oracle;
mod verdict;

use conformance::servers;

/// Makes a test of each server out of each check.
macro_rules! test_every_server {
    ($($check:path as $name:ident),* $(,)?) => {
        test_every_server!(@ legacy LEGACY, $($check as $name),*);
        test_every_server!(@ jsonrpsee JSONRPSEE, $($check as $name),*);
        test_every_server!(@ actix ACTIX, $($check as $name),*);
        test_every_server!(@ axum AXUM, $($check as $name),*);
        test_every_server!(@ actix_core ACTIX_CORE, $($check as $name),*);
        test_every_server!(@ axum_core AXUM_CORE, $($check as $name),*);
    };
    (@ $module:ident $server:ident, $($check:path as $name:ident),*) => {
        mod $module {
            $(#[test] fn $name() { $check(&crate::servers::$server); })*
        }
    };
}

test_every_server! {
    crate::cases::hold as keeps_the_table_of_cases,
    crate::oracle::replay as answers_as_the_recorded_node,
    crate::counters::count as counts_what_it_answered,
    crate::lifecycle::ends_with_idle_connections as ends_with_idle_connections,
    crate::lifecycle::finishes_what_it_began as finishes_what_it_began,
    crate::lifecycle::keeps_connections as keeps_connections,
    crate::lifecycle::refuses_a_port_in_use as refuses_a_port_in_use,
    crate::lifecycle::answers_on_every_thread as answers_on_every_thread,
    crate::lifecycle::answers_as_shipped as answers_as_shipped,
}
