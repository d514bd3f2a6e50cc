//! The servers under test, and where their binaries are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use server_kit::testing::Running;

/// A server under test.
#[derive(Debug)]
pub struct Server {
    /// Its name in `servers.toml` and in docs/CONTRACT.md.
    pub name: &'static str,
    /// Its package and binary.
    pub package: &'static str,
    /// The arguments that make this variant of the binary.
    pub args: &'static [&'static str],
}

impl Server {
    const fn new(name: &'static str, package: &'static str, args: &'static [&'static str]) -> Self {
        Self { name, package, args }
    }
}

/// jsonrpc-http-server with jsonrpc-core: the framework of the recorded node.
pub const LEGACY: Server = Server::new("legacy", "server-legacy", &[]);
/// jsonrpsee.
pub const JSONRPSEE: Server = Server::new("jsonrpsee", "server-jsonrpsee", &[]);
/// actix-web with typed JSON-RPC.
pub const ACTIX: Server = Server::new("actix", "server-actix", &[]);
/// axum with typed JSON-RPC.
pub const AXUM: Server = Server::new("axum", "server-axum", &[]);
/// actix-web with jsonrpc-core.
pub const ACTIX_CORE: Server = Server::new("actix-jsonrpc-core", "server-actix", &["--rpc", "jsonrpc-core"]);
/// axum with jsonrpc-core.
pub const AXUM_CORE: Server = Server::new("axum-jsonrpc-core", "server-axum", &["--rpc", "jsonrpc-core"]);

/// A real node's RPC service, built from crates by `just build-node` and by no test.
pub const AGAVE_NODE: Server = Server::new("agave-node", "agave-node", &[]);

/// Every server under test.
pub const ALL: [Server; 6] = [LEGACY, JSONRPSEE, ACTIX, AXUM, ACTIX_CORE, AXUM_CORE];

impl Server {
    /// The binary, built if it is missing or stale. The node's is where its recipe leaves it.
    ///
    /// # Panics
    /// It can't be built.
    pub fn program(&self) -> PathBuf {
        if self.name == AGAVE_NODE.name {
            return Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/agave-node/release/agave-node");
        }
        binaries().join(self.package)
    }

    /// Starts it over the ledger that the recordings were made over.
    ///
    /// # Panics
    /// It can't be started.
    pub fn start(&self, args: &[&str]) -> Running {
        let ledger = oracle_dir().join("ledger");
        self.start_with(&[&["--ledger", ledger.to_str().expect("a path of text")], args].concat())
    }

    /// Starts it with these arguments and those of its variant.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_with(&self, args: &[&str]) -> Running {
        Running::start(&self.program(), &[self.args, args].concat())
    }
}

/// The recordings and their ledger.
pub fn oracle_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle")
}

/// The folder of the binaries, which cargo is asked once to bring up to date: it builds them for tests of their own
/// packages only. `CONFORMANCE_SERVERS` names a folder whose binaries are taken as they are.
fn binaries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // For a long run beside work on the sources.
        if let Some(folder) = std::env::var_os("CONFORMANCE_SERVERS") {
            return PathBuf::from(folder);
        }
        // A test is TARGET/PROFILE/deps/NAME-HASH, a program TARGET/PROFILE/NAME.
        let own = std::env::current_exe().expect("the program is a file");
        let folder = own.parent().expect("a file is in a folder");
        let profile_dir =
            if folder.ends_with("deps") { folder.parent().expect("deps is in PROFILE") } else { folder };
        let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--profile", profile, "--target-dir"])
            .arg(profile_dir.parent().expect("PROFILE is in the target folder"))
            .args(ALL.iter().flat_map(|server| ["--package", server.package]))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(status.is_ok_and(|status| status.success()), "the servers can't be built; see above");
        profile_dir.to_path_buf()
    })
}
