//! A subject under test: how it is built and started, and how it says that it is ready.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Holds;
use super::overrides::SETTINGS;
use super::{Environment, Overrides, Placeholders, Ready};
use crate::field_checks::{is_name, within};
use crate::headers::Headers;
use crate::machine as host;
use crate::target::Target;
use crate::transport::Transport;

/// The fewest files with which a server can start: its standard streams, its sockets, and what its threads wait on.
const FEWEST_FILES: u64 = 32;

/// The most that Linux can grant (`fs.nr_open`).
const MOST_FILES: u64 = (1 << 31) - 64;

/// Colours of lines in charts.
pub const COLOURS: usize = 7;

/// A server: a program that can be started on an address and says when it answers, or one that runs already.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// What campaigns call it.
    pub name: String,
    /// What a reader of the report should know it by.
    pub title: String,
    /// What tables and sentences call it, in a few words; its name where left out.
    pub label: Option<String>,
    /// Which of the charts' colours it always has, from 1; where left out, one that no other server of the run has.
    pub colour: Option<u8>,
    /// A command that builds it, run from the repository's root; empty where there is nothing to build.
    #[serde(default)]
    pub build: Vec<String>,
    /// The program, relative to the repository's root; a name without a slash is also searched for on the `PATH`. Empty
    /// where the server runs already.
    #[serde(default)]
    pub program: String,
    /// Its arguments, with placeholders.
    #[serde(default)]
    pub args: Vec<String>,
    /// A command that makes what they name, with the same placeholders: run from the repository's root before the
    /// trials, once for the same arguments. It keeps what is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<String>,
    /// What stands behind them where it is reached over WebSocket.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ws_args: Vec<String>,
    /// The path at which its address takes WebSocket connections, too, of a server without a ready line.
    pub ws_path: Option<String>,
    /// How it says that it is ready.
    pub ready: Ready,
    /// What each request to it has besides, such as `Authorization = "Bearer ${TOKEN}"` with a variable of the
    /// environment.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// Whether it speaks TLS on its address.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
    /// The file with the certificates that its own is verified by, in the place of the system's: as PEM, relative to
    /// the repository's root.
    pub ca: Option<PathBuf>,
    /// Which requests it answers as the campaign's ledger does.
    #[serde(default, skip_serializing_if = "Holds::is_everything")]
    pub holds: Holds,
    /// The version that it states in its answers, where that is not the seeded ledger's.
    pub version: Option<Version>,
    /// Files that it may open; as many as the harness where left out.
    pub open_files: Option<u64>,
    /// The server that it passes requests on to, for a gateway. It is started first, and its URL is the value of
    /// `{upstream}`.
    pub upstream: Option<Box<Upstream>>,
    /// Whether it is held to docs/CONTRACT.md, by the tests of `servers/conformance`. Of no interest to a run.
    #[serde(default, skip_serializing)]
    pub contract: bool,
    /// The folder of another commit's checkout that it is built and started in, relative to the repository's root, with
    /// a slash at its end. Found by a gate; not in `servers.toml`.
    pub checkout: Option<String>,
    /// Where its settings differ from the campaign's environment: an arm's. Not in `servers.toml`.
    #[serde(default, skip_serializing_if = "Overrides::is_empty")]
    pub overrides: Overrides,
}

/// The version that a server states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// `context.apiVersion` of getBalance, `solana-core` of getVersion.
    pub api: String,
    /// `feature-set` of getVersion.
    pub feature_set: u32,
}

/// The server behind a gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// Its name in `servers.toml`.
    pub server: String,
    /// How the gateway reaches it.
    #[serde(default)]
    pub transport: Transport,
    /// Its entry, with that transport. Found when the gateway's is read; not in `servers.toml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Server>,
}

/// Placeholders that always have a value, beyond those of the environment.
const ALWAYS: [&str; 7] = ["listen", "port", "request", "folder", "accounts_dir", "ledger_dir", "upstream"];

/// Those of the environment.
const OF_ENVIRONMENT: [&str; 5] = ["tuning", "threads", "accounts", "slots", "seed"];

/// One that has a value where the workload states its answer.
const ANSWER_FILE: &str = "answer_file";

/// One that has a value where the server is reached by a Unix socket: its path.
pub(super) const IPC: &str = "ipc";

/// Placeholders that need not have a value: those of settings have one where the campaign says so.
fn optional() -> impl Iterator<Item = &'static str> {
    let settings = SETTINGS.iter().filter(|setting| setting.is_optional());
    [ANSWER_FILE, IPC].into_iter().chain(settings.map(|setting| setting.name))
}

fn is_optional(name: &str) -> bool {
    optional().any(|known| known == name)
}

/// What stands before a placeholder, and its name: `{name}` is an argument as a whole, or follows `--flag=`.
fn placeholder(arg: &str) -> Option<(&str, &str)> {
    let (before, name) = arg.strip_suffix('}')?.split_once('{')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let is_flag = is_name && before.starts_with("--") && before.ends_with('=');
    (before.is_empty() || is_flag).then_some((before, name))
}

fn filled(args: &[String], values: &Placeholders) -> Vec<String> {
    let fill = |arg: &String| match placeholder(arg) {
        Some(("", name)) => Some(values.get(name).unwrap_or(arg).clone()),
        Some((flag, name)) => values.get(name).map(|value| format!("{flag}{value}")),
        None => Some(arg.clone()),
    };
    args.iter().filter_map(fill).collect()
}

impl Server {
    /// Where its program is.
    ///
    /// # Errors
    /// It is neither where its entry says nor, without a slash, on the `PATH`.
    pub fn find_program(&self) -> Result<PathBuf> {
        let Self { name, program, .. } = self;
        let path = Path::new(program);
        if program.contains('/') {
            ensure!(path.is_file(), "server {name}: there is no {program}; was it built?");
            return Ok(path.to_owned());
        }
        // A name without a slash would be searched for on the PATH.
        let here = path.is_file().then(|| Path::new(".").join(path));
        let found = here.or_else(|| host::on_path(program));
        found.with_context(|| format!("server {name}: there is no {program} on the PATH; install it first"))
    }

    /// The values of its placeholders, its own settings before those of the environment.
    pub fn placeholders(&self, environment: &Environment, listen: &str, request: &str) -> Placeholders {
        let mut values = environment.with(&self.overrides).values();
        values.extend([
            ("listen", listen.to_owned()),
            ("port", listen.rsplit(':').next().unwrap_or_default().to_owned()),
            ("request", request.to_owned()),
        ]);
        values
    }

    /// What a reader knows it by: its label, or its name where it has none.
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
    }

    /// The argument vector with every placeholder replaced. An argument `--flag={placeholder}` is left out where the
    /// placeholder has no value.
    pub fn arguments(&self, values: &Placeholders) -> Vec<String> {
        filled(&self.args, values)
    }

    /// Its command [`Server::prepare`], likewise.
    pub fn preparation(&self, values: &Placeholders) -> Vec<String> {
        filled(&self.prepare, values)
    }

    /// Its arguments over the ledger in a folder: that one for `{ledger_dir}`, where they have it, or `--ledger FOLDER`
    /// in the place of the seeded ledger's.
    pub fn arguments_over(&self, ledger: &str) -> Vec<String> {
        if self.takes("ledger_dir") {
            return self.args.iter().map(|arg| arg.replace("{ledger_dir}", ledger)).collect();
        }
        let mut args = self.args_without(&["accounts", "slots", "seed"]);
        args.extend(["--ledger", ledger].map(str::to_owned));
        args
    }

    /// Its arguments without these placeholders and their flags.
    fn args_without(&self, names: &[&str]) -> Vec<String> {
        let mut args: Vec<String> = Vec::new();
        for arg in &self.args {
            match placeholder(arg).filter(|(_, name)| names.contains(name)) {
                None => args.push(arg.clone()),
                // Its flag stands before it.
                Some(("", _)) => drop(args.pop()),
                Some(_) => {}
            }
        }
        args
    }

    /// Which of the settings that an environment or the server's overrides make it has no argument for.
    pub fn lacks(&self, environment: &Environment) -> Option<&'static str> {
        let stated = self.overrides.stated();
        let is_set = |name: &str| is_optional(name) || stated.iter().any(|(known, _)| *known == name);
        // A folder with the ledger has its slots.
        let takes = |name: &str| self.takes(name) || (name == "slots" && self.takes("ledger_dir"));
        environment.values().into_keys().find(|name| is_set(name) && !takes(name))
    }

    /// Whether its arguments have that placeholder.
    pub fn takes(&self, name: &str) -> bool {
        self.args.iter().any(|arg| placeholder(arg).is_some_and(|(_, known)| known == name))
    }

    /// Whether it gets one request as an argument and answers every request with that one's answer.
    pub fn answers_one_request(&self) -> bool {
        self.takes("request")
    }

    /// Its own entry, behind that of the server that it passes requests on to, where it does.
    pub fn and_upstream(&self) -> impl Iterator<Item = &Self> {
        self.upstream.iter().filter_map(|upstream| upstream.entry.as_ref()).chain(std::iter::once(self))
    }

    /// Whether it has metrics of the harness's kind.
    pub fn has_metrics(&self) -> bool {
        matches!(&self.ready, Ready::Line(places) if places.metrics.is_some())
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(!self.name.is_empty(), "field name: is empty");
        ensure!(is_name(&self.name), "field name: use letters, digits, - and _");
        let at = match self.running_at() {
            Some(at) => {
                let is_started =
                    [&self.build, &self.args, &self.ws_args].iter().any(|words| !words.is_empty());
                ensure!(
                    self.program.is_empty() && !is_started,
                    "field ready: a running server is not started; leave build, program, args and ws_args out"
                );
                let target = Target::parse(&at.url).context("field ready.running.url")?;
                Some(target)
            }
            None => {
                ensure!(!self.program.is_empty(), "field program: is empty");
                None
            }
        };
        self.headers.check().context("field headers")?;
        ensure!(
            !self.tls || at.is_none(),
            "field tls: the URL of a server that runs already says so itself (https); leave it out"
        );
        let is_encrypted = at.as_ref().map_or(self.tls, Target::is_encrypted);
        ensure!(self.ca.is_none() || is_encrypted, "field ca: it has no TLS; leave it out");
        let is_ipc = at.is_some_and(|at| at.transport() == Transport::Ipc);
        ensure!(self.headers.is_empty() || !is_ipc, "field headers: a Unix socket has none; leave it out");
        ensure!(
            !matches!(self.ready, Ready::Health {}),
            "field ready.health: write the call, as ready = {{ call = {{ request = '…', equals = \"ok\" }} }}"
        );
        if let Ready::Call(call) = &self.ready {
            let request: Result<serde_json::Value, _> = serde_json::from_str(&call.request);
            let is_request = request.is_ok_and(|request| request.is_object());
            ensure!(is_request, "field ready.call.request: give one JSON-RPC request");
            let is_pointer = call.pointer.starts_with('/');
            ensure!(is_pointer, "field ready.call.pointer: begin it with /, such as /result");
        }
        ensure!(
            self.ws_path.as_ref().is_none_or(|path| path.starts_with('/') && self.ws().is_none()),
            "field ws_path: begin it with /, or leave it out where ready.line.ws names a WebSocket"
        );
        within("open_files", self.open_files.unwrap_or(FEWEST_FILES), FEWEST_FILES, MOST_FILES)?;
        ensure!(
            self.upstream.is_some() == self.takes("upstream"),
            "fields upstream and args: a gateway has both an upstream and {{upstream}} among its args; give both or \
             neither"
        );
        ensure!(self.checkout.is_none(), "field checkout: is found by the harness; leave it out");
        let has_no_entry = self.upstream.as_ref().is_none_or(|upstream| upstream.entry.is_none());
        ensure!(has_no_entry, "field upstream.entry: is found by the harness; leave it out");
        ensure!(
            self.ws_args.is_empty() || self.ws().is_some(),
            "field ws_args: the ready line names no WebSocket; give ready.line.ws, or leave it out"
        );
        let is_label = |text: &String| !text.trim().is_empty() && !text.contains(['|', '\n', '*']);
        ensure!(
            self.label.as_ref().is_none_or(is_label),
            "field label: give a few words without |, * and line breaks, or leave it out"
        );
        let is_colour = self.colour.is_none_or(|colour| (1..=COLOURS).contains(&usize::from(colour)));
        ensure!(is_colour, "field colour: give 1 to {COLOURS}, or leave it out");
        let args = self.args.iter().map(|arg| ("args", arg));
        for (field, arg) in args.chain(self.prepare.iter().map(|arg| ("prepare", arg))) {
            let Some((flag, name)) = placeholder(arg) else { continue };
            let known: Vec<&str> = ALWAYS.into_iter().chain(OF_ENVIRONMENT).chain(optional()).collect();
            let (is_known, known) = (known.contains(&name), known.join(", "));
            ensure!(is_known, "field {field}: unknown placeholder {arg}; known are {known}");
            let has_flag = !flag.is_empty() || !is_optional(name);
            ensure!(has_flag, "field {field}: write --flag={arg}, which is left out where it has no value");
        }
        let is_plain = self.overrides.is_empty();
        ensure!(is_plain, "field overrides: settings of its own belong into a campaign, as [axes]");
        let has_port = self.takes("port") && !matches!(self.ready, Ready::Line(_));
        let has_address = self.takes("listen") || has_port || self.running_at().is_some();
        ensure!(has_address, "field args: lacks {{listen}}, the address to bind");
        Ok(())
    }
}
