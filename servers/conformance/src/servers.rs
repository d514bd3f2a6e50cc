//! The servers that are held to the contract: those of `bench-scripts/servers.toml` that say `contract = true`, whatever
//! language they are written in.

use std::collections::HashSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use bench_core::config::{ConfigDir, Placeholders, Ready, Server as Entry};
use server_kit::testing::{Readiness, Running, assert_refused};
use validator_state::SeededSpec;

/// jsonrpc-http-server with jsonrpc-core: the framework of the recorded node.
pub const LEGACY: &str = "legacy";
/// The server of that framework.
pub const JSONRPSEE: &str = "jsonrpsee";
/// A real node's RPC service, built from crates by the command of docs/ADD-A-SERVER.md and by no test.
pub const AGAVE_NODE: &str = "agave-node";

/// Placeholders with other values than the usual: see docs/ADD-A-SERVER.md.
pub type Values<'a> = &'a [(&'static str, &'a str)];

/// More slots than one answer may have.
const LARGE: Values<'static> = &[("accounts", "4"), ("slots", "900000"), ("seed", "1")];

/// A server under test.
#[derive(Debug)]
pub struct Server {
    /// Its name in `servers.toml` and in docs/CONTRACT.md.
    pub name: String,
    /// Its program.
    pub program: PathBuf,
    entry: Entry,
}

/// Every server that is held to the contract, or those that `CONFORMANCE_SERVERS` names, separated by commas.
///
/// # Panics
/// There is no such server, or one can't be built.
pub fn all() -> &'static [Server] {
    static ALL: OnceLock<Vec<Server>> = OnceLock::new();
    ALL.get_or_init(|| {
        let names = chosen_names().unwrap_or_default();
        choose(&names).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// What `CONFORMANCE_SERVERS` names.
pub fn chosen_names() -> Option<Vec<String>> {
    let names = std::env::var("CONFORMANCE_SERVERS").ok()?;
    Some(names.split(',').map(str::to_owned).collect())
}

/// Builds and gives the servers of these names, or, where there is none, all that are held to the contract.
///
/// # Errors
/// One line: there is no such server, or one can't be built.
pub fn choose(names: &[String]) -> Result<Vec<Server>, String> {
    let config = config();
    let entries: anyhow::Result<Vec<Entry>> = if names.is_empty() {
        config.servers().map(|all| all.into_iter().filter(|entry| entry.contract).collect())
    } else {
        names.iter().map(|name| config.server(name)).collect()
    };
    let entries = entries.map_err(|error| format!("{error:#}"))?;
    if let Some(running) = entries.iter().find(|entry| entry.running_at().is_some()) {
        return Err(format!("server {}: runs already, so the tests can't choose its ledger", running.name));
    }
    build(&entries)?;
    Ok(entries.into_iter().map(Server::new).collect())
}

/// One server of each program: what differs between the variants of a program is not how it treats connections.
pub fn one_of_each_program(servers: &[Server]) -> Vec<&Server> {
    let mut seen = HashSet::new();
    servers.iter().filter(|server| seen.insert(&server.program)).collect()
}

fn config() -> ConfigDir {
    ConfigDir(root().join("bench-scripts"))
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Runs the servers' build commands. Packages of this workspace are built together, in the profile of the tests: where they
/// check for overflow, the servers do. Tests take the features of the whole workspace, since `cargo test --workspace` has built
/// those programs already; of their packages alone cargo would take fewer, and so build most crates below them once more.
fn build(entries: &[Entry]) -> Result<(), String> {
    let mut commands: Vec<Vec<String>> = Vec::new();
    let mut packages = Vec::new();
    for entry in entries {
        match package(entry) {
            Some(package) => packages.push(package),
            None if commands.contains(&entry.build) => {}
            None => commands.push(entry.build.clone()),
        }
    }
    if !packages.is_empty() {
        let (folder, profile) = profile();
        let target = folder.parent().expect("PROFILE is in the target folder").display().to_string();
        let mut cargo = vec!["cargo", "build", "--quiet", "--profile", profile, "--target-dir", &target];
        let of_tests = profile == "dev";
        // An example among them, so that cargo takes the features that tests add.
        cargo.extend(
            of_tests.then_some(["--workspace", "--example", "minimal-jsonrpsee"]).into_iter().flatten(),
        );
        let each = if of_tests { "--bin" } else { "--package" };
        cargo.extend(packages.into_iter().flat_map(|package| [each, package]));
        commands.push(cargo.into_iter().map(str::to_owned).collect());
    }
    for command in commands {
        let Some((program, args)) = command.split_first() else { continue };
        let status = Command::new(program).args(args).current_dir(root()).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("the build {command:?} failed"));
        }
    }
    Ok(())
}

/// The package of this workspace that a server is built from by nothing but packages' names; it is the last of them.
fn package(entry: &Entry) -> Option<&str> {
    let packages = entry.build.strip_prefix(&["cargo", "build", "--release"].map(str::to_owned))?;
    let are_names = packages.chunks(2).all(|pair| pair[0] == "--package");
    packages.last().filter(|_| are_names).map(String::as_str)
}

/// The folder where cargo leaves programs of the tests' own profile, and that profile.
fn profile() -> (PathBuf, &'static str) {
    // A test is TARGET/PROFILE/deps/NAME-HASH, a program TARGET/PROFILE/NAME.
    let own = std::env::current_exe().expect("the program is a file");
    let folder = own.parent().expect("a file is in a folder");
    let folder = if folder.ends_with("deps") { folder.parent().expect("deps is in PROFILE") } else { folder };
    (folder.to_path_buf(), if folder.ends_with("release") { "release" } else { "dev" })
}

impl Server {
    /// The server of that name as it is, without a build.
    ///
    /// # Panics
    /// There is none.
    pub fn named(name: &str) -> Self {
        Self::new(config().server(name).unwrap_or_else(|error| panic!("{error:#}")))
    }

    fn new(entry: Entry) -> Self {
        let program = Path::new(&entry.program);
        let program = match (package(&entry), program.file_name()) {
            (Some(_), Some(file)) => profile().0.join(file),
            // A name without a slash is searched for on the PATH.
            _ if entry.program.contains('/') => root().join(program),
            _ => program.to_path_buf(),
        };
        Self { name: entry.name.clone(), program, entry }
    }

    /// Whether it has metrics.
    pub fn has_metrics(&self) -> bool {
        matches!(&self.entry.ready, Ready::Line(places) if places.metrics.is_some())
    }

    /// Starts it over the ledger that the recordings were made over.
    ///
    /// # Panics
    /// It does not start.
    pub fn start(&self, values: Values<'_>) -> Running {
        self.launch(self.command_over_recordings(values))
    }

    /// Starts it over the recordings' ledger, with a chain that advances by a slot every `interval_ms` milliseconds, and with
    /// WebSocket where a server takes it on request alone.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_advancing(&self, interval_ms: u64) -> Running {
        let (mut command, listen) = self.command_over_recordings(&[]);
        command.args(["--slot-interval-ms", &interval_ms.to_string()]);
        self.launch(self.with_ws((command, listen)))
    }

    /// [`Self::start`], with WebSocket where a server takes it on request alone.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_with_ws(&self, values: Values<'_>) -> Running {
        self.launch(self.with_ws(self.command_over_recordings(values)))
    }

    /// [`Self::start_large`], with WebSocket where a server takes it on request alone.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_large_with_ws(&self) -> Running {
        self.launch(self.with_ws(self.command(&self.entry, LARGE)))
    }

    /// Starts it over a seeded ledger.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_seeded(&self, values: Values<'_>) -> Running {
        self.launch(self.command(&self.entry, values))
    }

    /// [`Self::start_seeded`], with WebSocket where a server takes it on request alone.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_seeded_with_ws(&self) -> Running {
        self.launch(self.with_ws(self.command(&self.entry, &[])))
    }

    /// Starts it over a seeded ledger with more slots than one answer may have.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_large(&self) -> Running {
        self.start_seeded(LARGE)
    }

    /// Starts it over a seeded ledger with a limit of open files. A server may raise its soft limit to the hard one, so it is
    /// the hard one that is set.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_limited(&self, open_files: usize) -> Running {
        let (plain, listen) = self.command(&self.entry, &[]);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("ulimit -n {open_files} && exec \"$@\""), "sh"]);
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(root());
        self.launch((command, listen))
    }

    /// The line with which it refuses to start over a seeded ledger.
    ///
    /// # Panics
    /// It starts, or refuses in another way than with one line and exit code 2.
    pub fn refusal(&self, values: Values<'_>) -> String {
        assert_refused(self.command(&self.entry, values).0)
    }

    /// legacy's WebSocket has a port of its own, and none without its flag.
    fn with_ws(&self, (mut command, listen): (Command, String)) -> (Command, String) {
        if self.name == LEGACY {
            command.args(["--ws-listen", "127.0.0.1:0"]);
        }
        (command, listen)
    }

    /// `--ledger DIR` in the place of the seeded ledger's arguments.
    fn command_over_recordings(&self, values: Values<'_>) -> (Command, String) {
        let ledger = oracle_dir().join("ledger").display().to_string();
        let entry = self.entry.clone();
        self.command(&Entry { args: entry.arguments_over(&ledger), ..entry }, values)
    }

    /// The command of an entry, and the address on which the server is to listen.
    fn command(&self, entry: &Entry, values: Values<'_>) -> (Command, String) {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let SeededSpec { accounts, slots, seed } = SeededSpec::default();
        let listen = match entry.ready {
            Ready::Line(_) => "127.0.0.1:0".to_owned(),
            _ => TcpListener::bind("127.0.0.1:0")
                .and_then(|free| free.local_addr())
                .expect("a port")
                .to_string(),
        };
        let mut all = Placeholders::from([
            ("listen", listen),
            ("tuning", "equal".to_owned()),
            ("threads", threads.to_string()),
            ("accounts", accounts.to_string()),
            ("slots", slots.to_string()),
            ("seed", seed.to_string()),
        ]);
        all.extend(values.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let listen = all["listen"].clone();
        all.insert("port", listen.rsplit(':').next().unwrap_or_default().to_owned());
        let mut command = Command::new(&self.program);
        command.args(entry.arguments(&all)).current_dir(root());
        (command, listen)
    }

    fn launch(&self, (command, listen): (Command, String)) -> Running {
        let readiness = match &self.entry.ready {
            Ready::Line(places) => Readiness::Line { addr: &places.addr, metrics: places.metrics.as_deref() },
            _ => Readiness::Accepts(listen.parse().expect("an address")),
        };
        Running::launch(command, readiness)
    }
}

/// The recordings and their ledger.
pub fn oracle_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle")
}
