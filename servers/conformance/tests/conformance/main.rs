//! Do all servers keep the contract? Each test asks one server binary, a process of its own, over a real socket.
//!
//! Not here: what a method means (`validator-state` has tests of that without a socket), speed (the harness).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod cases;
mod counters;
mod gaps;
mod lifecycle;
mod oracle;

use conformance::servers;

/// Makes a test of each server out of each check.
macro_rules! ask_every_server {
    ($($check:path as $name:ident),* $(,)?) => {
        mod legacy {
            $(#[test] fn $name() { $check(&crate::servers::LEGACY); })*
        }
        mod jsonrpsee {
            $(#[test] fn $name() { $check(&crate::servers::JSONRPSEE); })*
        }
        mod actix {
            $(#[test] fn $name() { $check(&crate::servers::ACTIX); })*
        }
    };
}

ask_every_server! {
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
