//! The smallest server that the kit can start: no HTTP, one line to whoever connects. The kit's own tests use it.

use std::io::Write;
use std::process::ExitCode;
use std::thread;

use server_kit::{Context, Defaults, Framework, StartError, Threads};

const FRAMEWORK: Framework = Framework {
    name: "hello",
    shipped: Defaults {
        threads: Threads::One,
        backlog: 128,
        tcp_nodelay: false,
        keep_alive_ms: None,
        max_connections: Some(1),
        max_body_bytes: 0,
    },
    fixed_backlog: None,
    global_queue: false,
    websocket: false,
};

fn main() -> ExitCode {
    server_kit::run_with(&FRAMEWORK, serve)
}

#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// Never drain, so that the watchdog has something to do
    #[arg(long)]
    stay: bool,
}

fn serve(context: Context, flags: Flags) -> Result<(), StartError> {
    let failed = |error| StartError::failed("listen", error);
    let listener = context.listener()?;
    listener.set_nonblocking(false).map_err(failed)?;
    context.ready(listener.local_addr().map_err(failed)?)?;
    let counters = context.counters;
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            counters.count(1, 0);
            let _gone = client.write_all(b"hello\n");
        }
    });
    context.shutdown().wait();
    if flags.stay {
        loop {
            thread::park();
        }
    }
    Ok(())
}
