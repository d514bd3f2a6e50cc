//! A real node's RPC service, built from Agave's crates, in front of a ledger of this project.
//!
//! Here: flags, ready line, shutdown. The service and what it answers from are in `node`; what a method means is Agave's code.

mod node;

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use validator_state::{Ledger, SeededSpec};

use node::Node;

/// The allocator of the node's own program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Exit code of a wrong call, a bad ledger, a port in use.
const EXIT_REFUSED: u8 = 2;

/// What the service may take to answer what it has begun.
const DRAIN_LIMIT: Duration = Duration::from_millis(4_500);

/// A validator's own RPC service, built from Agave's crates, over a chain that does not advance
#[derive(Debug, Parser)]
#[command(name = "agave-node", version)]
struct Flags {
    /// Address to answer on; port 0 takes any free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8899")]
    listen: SocketAddr,
    /// Threads that answer: the node's setting rpc_threads, whose default is 1 too
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024), default_value_t = 1)]
    threads: u16,
    /// Ledger to load: a folder with accounts/*.json and chain.json
    #[arg(long, value_name = "DIR", conflicts_with_all = ["accounts", "slots", "seed"])]
    ledger: Option<PathBuf>,
    /// Accounts of the seeded ledger
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000), default_value_t = SeededSpec::default().accounts as u64)]
    accounts: u64,
    /// Slots of the seeded ledger, of which one in twenty is skipped
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000), default_value_t = SeededSpec::default().slots)]
    slots: u64,
    /// Seed of the seeded ledger; the same seed gives the same ledger in every server
    #[arg(long, value_name = "N", default_value_t = SeededSpec::default().seed)]
    seed: u64,
}

impl Flags {
    fn ledger(&self) -> Result<Ledger> {
        let accounts = usize::try_from(self.accounts)?;
        let seeded = || Ledger::seeded(&SeededSpec { accounts, slots: self.slots, seed: self.seed });
        self.ledger.as_deref().map_or_else(|| Ok(seeded()), Ledger::load).context("--ledger")
    }
}

fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) if !error.use_stderr() => {
            print!("{error}");
            return ExitCode::SUCCESS;
        }
        Err(error) => return refused(&format!("{}; see --help", first_paragraph(&error.to_string()))),
    };
    match run(&flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refused(&format!("{error:#}")),
    }
}

fn refused(problem: &str) -> ExitCode {
    eprintln!("agave-node: {}", problem.replace('\n', " "));
    ExitCode::from(EXIT_REFUSED)
}

/// What stands above the usage in an error of clap's, on one line and without its prefix.
fn first_paragraph(error: &str) -> String {
    let words: Vec<&str> = error.split("\n\n").take(1).flat_map(str::split_whitespace).collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

fn run(flags: &Flags) -> Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT]).context("listen for signals")?;
    let open_files = rlimit::increase_nofile_limit(u64::MAX).context("raise the limit of open files")?;
    let addr = free_address(flags.listen)?;
    let ledger = flags.ledger()?;
    let folder = tempfile::Builder::new().prefix("agave-node-").tempdir();
    let folder = folder.context("make a folder for the node's files")?;
    let node = Node::start(&ledger, addr, flags.threads.into(), folder.path())?;
    print_ready(&ready(&node, addr, open_files, &ledger, folder.path())?).context("print the ready line")?;
    drop(ledger);

    let mut arrived = signals.forever();
    arrived.next();
    let path = folder.path().to_owned();
    // Ends the process where the service does not end by itself. It deletes the node's files too: nothing else removes them.
    thread::spawn(move || {
        thread::sleep(DRAIN_LIMIT);
        let _ = std::fs::remove_dir_all(path);
        std::process::exit(0);
    });
    node.stop();
    folder.close().context("remove the node's files")
}

/// The address with a port that nobody has. The service takes an address and does not tell where it listens, so that a free port
/// must be found for it.
fn free_address(listen: SocketAddr) -> Result<SocketAddr> {
    let free = || TcpListener::bind(listen)?.local_addr();
    free().with_context(|| {
        format!("--listen {listen}: give a free port of this machine, or port 0 to take any")
    })
}

/// Every setting that holds. Those that the node has no flag for are fixed in its sources or in those of its HTTP server.
fn ready(node: &Node, addr: SocketAddr, open_files: u64, ledger: &Ledger, folder: &Path) -> Result<Value> {
    let version = solana_version::Version::default();
    Ok(json!({
        "ready": true,
        "server": "agave-node",
        "label": format!("Agave {version} from crates"),
        "addr": addr,
        "pid": std::process::id(),
        "threads": node.config.rpc_threads,
        "blocking_threads": node.config.rpc_blocking_threads,
        "max_body_bytes": solana_rpc::rpc::MAX_REQUEST_BODY_SIZE,
        "backlog": 1_024,
        "tcp_nodelay": true,
        "keep_alive_ms": null,
        "max_connections": null,
        "allocator": "jemalloc",
        "open_files": open_files,
        "files": folder,
        "ledger": serde_json::to_value(ledger.summary())?,
    }))
}

fn print_ready(line: &Value) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
