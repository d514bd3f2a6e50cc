//! What every server binary shares: flags, listener, ready line, metrics, shutdown.
//!
//! A server is `fn main() -> ExitCode { server_kit::run(&FRAMEWORK, serve) }`: the kit reads the command line, makes the
//! ledger, and hands `serve` a [`Context`]. What differs between two servers is then their framework alone.
//!
//! Out of scope: any framework, any method, HTTP.

#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unreachable,
    reason = "the network reaches this"
)]

mod allocator;
#[cfg(feature = "offload")]
mod blocks_on;
mod calls;
mod connections;
mod context;
mod counters;
mod error;
mod flags;
#[cfg(feature = "handicap")]
mod handicap;
mod in_process;
mod listen;
mod media_type;
mod metrics;
mod node;
mod open_files;
#[cfg(feature = "offload")]
mod runtime;
mod shutdown;
#[cfg(feature = "slots")]
mod slots;
#[cfg(feature = "testing")]
pub mod testing;
mod unread;

use std::process::ExitCode;

#[cfg(feature = "offload")]
pub use blocks_on::{BlocksOn, BlocksOnFlags, NoResult, Offload};
pub use calls::{CallCounters, Transport};
pub use connections::{Accepted, Connections};
pub use context::Context;
pub use counters::{Counters, Totals};
pub use error::StartError;
#[cfg(feature = "offload")]
pub use flags::WsFlags;
pub use flags::{Defaults, Framework, NoFlags, Rpc, RpcFlags, Settings, Threads, Tuning, one_line};
pub use in_process::{InProcess, REQUEST_HEADERS, at_once};
pub use listen::PortClaim;
pub use media_type::is_json;
pub use metrics::Metrics;
pub use open_files::raise_limit;
#[cfg(feature = "offload")]
pub use runtime::Runtime;
pub use shutdown::Shutdown;
#[cfg(feature = "slots")]
pub use slots::{
    MAX_SUBSCRIPTIONS, NOTIFICATION, Overrun, QUEUE_SLOTS, SUBSCRIBE, SlotFeed, SlotQueue, Subscriptions,
    UNSUBSCRIBE,
};

use flags::Parsed;

/// Exit code of a wrong call, a bad ledger, a port in use.
const EXIT_REFUSED: u8 = 2;

/// Runs a server to its end: flags, ledger, then `serve`, which answers until [`Shutdown::wait`] returns, and then drains.
///
/// Gives 0 after a normal end; 2 and one line on stderr where the server could not start.
pub fn run(framework: &Framework, serve: impl FnOnce(Context) -> Result<(), StartError>) -> ExitCode {
    run_with(framework, |context, NoFlags {}| serve(context))
}

/// [`run`] for a binary with flags of its own, which `serve` is given with the context, and which the ready line shows.
pub fn run_with<Extra: clap::Args + serde::Serialize>(
    framework: &Framework,
    serve: impl FnOnce(Context, Extra) -> Result<(), StartError>,
) -> ExitCode {
    let (flags, extra) = match flags::parse::<Extra>(framework, std::env::args_os()) {
        Ok(Parsed::Run(flags, extra)) => (flags, extra),
        Ok(Parsed::Print(text)) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(error) => return refused(framework, &error),
    };
    match Context::new(framework, &flags, &extra).and_then(|context| serve(context, extra)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refused(framework, &error),
    }
}

fn refused(framework: &Framework, error: &StartError) -> ExitCode {
    eprintln!("{}: {}", framework.binary(), error.to_string().replace('\n', " "));
    ExitCode::from(EXIT_REFUSED)
}
