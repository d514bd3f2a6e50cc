//! The servers under test, and where their binaries are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use server_kit::testing::Running;

/// A server under test.
#[derive(Debug)]
pub struct Server {
    /// Its package and binary.
    pub package: &'static str,
}

/// jsonrpc-http-server.
pub const LEGACY: Server = Server { package: "server-legacy" };
/// jsonrpsee.
pub const JSONRPSEE: Server = Server { package: "server-jsonrpsee" };
/// actix-web.
pub const ACTIX: Server = Server { package: "server-actix" };

/// Every server under test.
pub const ALL: [Server; 3] = [LEGACY, JSONRPSEE, ACTIX];

impl Server {
    /// The binary, built if it is missing or stale.
    ///
    /// # Panics
    /// It can't be built.
    pub fn program(&self) -> PathBuf {
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

    /// Starts it with these arguments alone.
    ///
    /// # Panics
    /// It does not start.
    pub fn start_with(&self, args: &[&str]) -> Running {
        Running::start(&self.program(), args)
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
