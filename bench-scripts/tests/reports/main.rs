//! What is worked out from observations, and the reports of it: on synthetic samples whose truth is known, and on kept runs. One program, since each
//! has to be linked with the whole harness.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod answer;
mod boxed;
mod calibration;
mod charts;
mod crossed;
mod curves;
mod distance;
mod gateway_curves;
mod hosts;
mod in_flight_memory;
mod kept;
mod mixes;
mod open_loop;
mod original;
mod own_campaigns;
mod planted;
mod pooled;
mod samples;
mod schema;
mod sizes;
mod soak;
mod stages;
mod summary;
mod two_runs;
mod websocket;
