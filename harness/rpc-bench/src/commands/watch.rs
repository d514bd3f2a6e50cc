//! `rpc-bench watch`: Prometheus, and what else is installed, over the runs of this machine until Ctrl-C.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bench_core::config::{ConfigDir, Placement};
use bench_core::machine::on_path;
use bench_core::text_files::{read, write};
use bench_measure::client::agent;
use bench_measure::interrupt::Interrupt;
use bench_measure::owned_process::{Output, Owned, describe};
use rustix::process::Signal;

/// How long a program may take until it answers.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How long it may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// How long one question whether it answers may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// How often a wait here checks.
const POLL: Duration = Duration::from_millis(50);

/// Where to watch.
#[derive(clap::Args)]
pub struct Args {
    /// Address of Prometheus.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9090")]
    listen: SocketAddr,
    /// Address of node_exporter, which reads the machine's counters.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9100")]
    node_listen: SocketAddr,
    /// Folder of the samples and of the lists that runs write their targets into.
    #[arg(long, value_name = "DIR", default_value = "target/watch")]
    folder: PathBuf,
}

/// A program of the watch. It is killed where the harness ends without a word.
struct Started {
    name: &'static str,
    process: Owned,
}

/// Ends them, and gives each the time to write what it has.
fn end(mut started: Vec<Started>) -> Result<()> {
    for one in &mut started {
        one.process.signal(Signal::TERM)?;
    }
    let end = Instant::now() + ENDS_WITHIN;
    for one in &mut started {
        while one.process.ended()?.is_none() && Instant::now() < end {
            sleep(POLL);
        }
    }
    Ok(())
}

/// Starts what is installed, says where it is, and waits.
pub fn watch(config: &ConfigDir, args: &Args) -> Result<bool> {
    let interrupt = Interrupt::install()?;
    let prometheus = on_path("prometheus").context(
        "there is no prometheus on the PATH; install it with: apt-get install prometheus (or from \
            https://prometheus.io/download)",
    )?;
    write_config(&config.0.join("watch"), args)?;
    let mut started = Vec::new();
    let listens = start_prometheus(&prometheus, args, &interrupt, &mut started)?;
    bench_core::say!("Prometheus: http://{listens}/graph");
    match on_path("prometheus-node-exporter").or_else(|| on_path("node_exporter")) {
        Some(program) => {
            let address = format!("--web.listen-address={}", args.node_listen);
            started.push(start("node_exporter", &program, &[address], &args.folder)?);
            bench_core::say!("node_exporter: http://{}/metrics", args.node_listen);
        }
        None => bench_core::say!(
            "node_exporter: not installed, so the board's last row stays empty: apt-get install \
             prometheus-node-exporter"
        ),
    }
    bench_core::say!("Grafana's board is bench-scripts/watch/board.json; docs/HOSTS.md says how to show it");
    bench_core::say!("now start a run: just bench-all smoke --prometheus 127.0.0.1:0");
    bench_core::say!(
        "k6's own samples: K6_PROMETHEUS_RW_SERVER_URL=http://{listens}/api/v1/write before the command"
    );
    bench_core::say!("(Ctrl-C ends what was started here)");
    let ended = interrupt.wait_for_end(|| {
        for one in &mut started {
            if let Some(status) = one.process.ended()? {
                let log = log(&args.folder, one.name);
                bail!("{} ended ({}): see {}", one.name, describe(status), log.display());
            }
        }
        sleep(POLL);
        Ok(false)
    });
    end(started)?;
    ended.map(|()| true)
}

fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}

/// Copies the configuration to where the lists of targets are, with this call's addresses in it.
fn write_config(from: &Path, args: &Args) -> Result<()> {
    let targets = args.folder.join("targets");
    fs::create_dir_all(&targets).with_context(|| format!("can't make {}", targets.display()))?;
    for name in ["prometheus.yml", "rules.yml"] {
        let text = read(from.join(name))?.replace("127.0.0.1:9100", &args.node_listen.to_string());
        let to = args.folder.join(name);
        check_own(&to, &text)?;
        write(to, &text)?;
    }
    for list in ["harness.json", "servers.json"].map(|list| targets.join(list)) {
        // A run that goes on already has written them.
        if !list.exists() {
            write(list, "[]\n")?;
        }
    }
    Ok(())
}

/// Whether a file may be written: there is none, or one that begins with the same line.
///
/// # Errors
/// It is somebody else's.
fn check_own(path: &Path, text: &str) -> Result<()> {
    let Ok(there) = fs::read(path) else { return Ok(()) };
    let begins = text.lines().next().unwrap_or_default();
    ensure!(
        there.starts_with(begins.as_bytes()),
        "--folder: {} was not written by this command, and is left as it is: choose another folder",
        path.display()
    );
    Ok(())
}

fn start(name: &'static str, program: &Path, args: &[String], folder: &Path) -> Result<Started> {
    let (stdout, stderr) = (folder.join(format!("{name}.stdout")), log(folder, name));
    let output = Output { stdout: Some(&stdout), stderr: &stderr };
    Ok(Started { name, process: Owned::spawn(program, args, &output, Placement::Free)? })
}

/// Starts Prometheus and waits until it answers; gives its address with its port.
fn start_prometheus(
    program: &Path,
    args: &Args,
    interrupt: &Interrupt,
    started: &mut Vec<Started>,
) -> Result<SocketAddr> {
    let flags = vec![
        format!("--config.file={}", args.folder.join("prometheus.yml").display()),
        format!("--storage.tsdb.path={}", args.folder.join("data").display()),
        format!("--web.listen-address={}", args.listen),
        // For k6, which sends its samples itself.
        "--web.enable-remote-write-receiver".to_owned(),
    ];
    started.push(start("prometheus", program, &flags, &args.folder)?);
    let path = log(&args.folder, "prometheus");
    let ready = interrupt.wait(READY_WITHIN, || {
        let said = fs::read_to_string(&path).unwrap_or_default();
        for one in started.iter_mut() {
            ensure!(
                one.process.ended()?.is_none(),
                "prometheus ended: {}",
                said.lines().last().unwrap_or("it said nothing")
            );
        }
        let Some(addr) = listening(&said) else { return Ok(None) };
        sleep(POLL);
        let answer = agent(ANSWER_WITHIN).get(format!("http://{addr}/-/ready")).call();
        Ok(answer.is_ok_and(|answer| answer.status() == 200).then_some(addr))
    })?;
    ready.with_context(|| format!("prometheus was not ready within {READY_WITHIN:?}: see {}", path.display()))
}

/// The address that Prometheus says it listens on.
fn listening(said: &str) -> Option<SocketAddr> {
    let line = said.lines().find(|line| line.contains("msg=\"Listening on\""))?;
    line.split("address=").nth(1)?.split_whitespace().next()?.parse().ok()
}
