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

pub const LEGACY: Server = Server { package: "server-legacy" };
pub const JSONRPSEE: Server = Server { package: "server-jsonrpsee" };
pub const ACTIX: Server = Server { package: "server-actix" };

const ALL: [Server; 3] = [LEGACY, JSONRPSEE, ACTIX];

impl Server {
    /// The binary, built if it is missing or stale.
    pub fn program(&self) -> PathBuf {
        binaries().join(self.package)
    }

    /// Starts it over the ledger that the recordings were made over.
    pub fn start(&self, args: &[&str]) -> Running {
        let ledger = oracle_dir().join("ledger");
        self.start_with(&[&["--ledger", ledger.to_str().expect("a path of text")], args].concat())
    }

    /// Starts it with these arguments alone.
    pub fn start_with(&self, args: &[&str]) -> Running {
        Running::start(&self.program(), args)
    }
}

/// The recordings and their ledger.
pub fn oracle_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle")
}

/// The folder of the binaries, which cargo is asked once to bring up to date: it builds them for tests of their own
/// packages only.
fn binaries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // This test is TARGET/PROFILE/deps/conformance-HASH.
        let test = std::env::current_exe().expect("the test is a file");
        let profile_dir =
            test.ancestors().nth(2).expect("tests are built in target/PROFILE/deps").to_path_buf();
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
        profile_dir
    })
}
