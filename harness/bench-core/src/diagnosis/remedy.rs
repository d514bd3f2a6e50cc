//! What may cure a cause's symptom: a change of the server's entry that the harness can try by itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Server;

/// A change to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// Four times the listen queue.
    Backlog,
    /// Thirty-two times the listen queue, where four times did not help.
    LongBacklog,
    /// Twice the threads.
    Threads,
    /// Tasks are taken from tokio's global queue after every eighth poll.
    GlobalQueueInterval,
    /// One thread more, where the interval did not help or can't be set.
    OneMoreThread,
    /// Four times the open files.
    OpenFiles,
    /// The load tool's other client.
    OtherClient,
}

/// A global queue interval at which no connection waits long; see [`Remedy::GlobalQueueInterval`].
const SHORT_INTERVAL: u64 = 8;

/// A server with a remedy.
#[derive(Debug, Clone, PartialEq)]
pub struct Remedied {
    /// Its entry, under a name of its own.
    pub server: Server,
    /// The change, in words for readers: `a listen queue of 512`.
    pub change: String,
}

impl Remedy {
    /// The change, without its number.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Backlog => "a listen queue four times as long",
            Self::LongBacklog => "a listen queue thirty-two times as long",
            Self::Threads => "twice the threads",
            Self::GlobalQueueInterval => "a global queue interval of 8",
            Self::OneMoreThread => "one thread more",
            Self::OpenFiles => "four times the open files",
            Self::OtherClient => "the load tool's other client",
        }
    }

    /// What is tried next where this was no cure, or could not be tried (`refused`).
    pub const fn next(self, refused: bool) -> Option<Self> {
        match self {
            // Where a longer queue is refused, an even longer one is too.
            Self::Backlog if !refused => Some(Self::LongBacklog),
            Self::GlobalQueueInterval => Some(Self::OneMoreThread),
            _ => None,
        }
    }
}

/// The server with a remedy; its ready line has the present value.
///
/// `most_backlog` is what the system grants (`net.core.somaxconn`), `most_files` the files that the harness may allow.
///
/// # Errors
/// Why the remedy can't be tried, in words for readers. (A server that refuses the new setting reports that when it is
/// started.)
pub fn remedied(
    server: &Server,
    ready: &Value,
    remedy: Remedy,
    most_backlog: Option<u64>,
    most_files: u64,
) -> Result<Remedied, String> {
    let missing = |name: &str| format!("the ready line of {} has no {name}", server.name);
    let has = |name: &str| ready.get(name).and_then(Value::as_u64).ok_or_else(|| missing(name));
    // Under a name of its own.
    let renamed = |suffix: &str| Server { name: format!("{}-{suffix}", server.name), ..server.clone() };
    let (server, change) = match remedy {
        Remedy::Backlog | Remedy::LongBacklog => {
            let now = has("backlog")?;
            let most = most_backlog.unwrap_or(u64::MAX);
            let factor = if remedy == Remedy::Backlog { 4 } else { 32 };
            let new = (now * factor).min(most);
            // Where the system's limit cut the shorter one already, the longer one is no longer than that.
            let shorter = if remedy == Remedy::LongBacklog { now * 4 } else { now };
            if new <= shorter {
                return Err(format!(
                    "the system allows no listen queue longer than {most} (net.core.somaxconn)"
                ));
            }
            (with_flag(server, "backlog", new), format!("a listen queue of {new}"))
        }
        Remedy::Threads | Remedy::OneMoreThread => {
            let now = has("threads")?;
            let new = if remedy == Remedy::Threads { now * 2 } else { now + 1 };
            (with_flag(server, "threads", new), format!("{new} threads"))
        }
        Remedy::GlobalQueueInterval => match ready.get("global_queue_interval") {
            None => return Err(missing("global_queue_interval")),
            Some(now) if now.as_u64().is_some_and(|now| now <= SHORT_INTERVAL) => {
                return Err(format!("its global queue interval is {now} already"));
            }
            Some(_) => {
                (with_flag(server, "global-queue-interval", SHORT_INTERVAL), remedy.words().to_owned())
            }
        },
        Remedy::OpenFiles => {
            let now = server.open_files.map_or_else(|| has("open_files"), Ok)?;
            let new = (now * 4).min(most_files);
            if new <= now {
                return Err(format!("the harness itself may open no more than {most_files} files"));
            }
            let server = Server { open_files: Some(new), ..renamed(&format!("files-{new}")) };
            (server, format!("{new} open files"))
        }
        Remedy::OtherClient => (renamed("other-client"), remedy.words().to_owned()),
    };
    Ok(Remedied { server, change })
}

/// The server with one flag set, in place of an earlier value.
fn with_flag(server: &Server, name: &str, value: u64) -> Server {
    let flag = format!("--{name}");
    let (mut args, together) = (server.args.clone(), format!("{flag}="));
    args.retain(|arg| !arg.starts_with(&together));
    match args.iter().position(|arg| *arg == flag).and_then(|place| args.get_mut(place + 1)) {
        Some(old) => *old = value.to_string(),
        None => args.extend([flag, value.to_string()]),
    }
    Server { name: format!("{}-{name}-{value}", server.name), args, ..server.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(args: &[&str]) -> Server {
        let entry = json!({ "name": "actix", "title": "x", "program": "p", "args": args, "ready": { "connect": {} } });
        serde_json::from_value(entry).unwrap()
    }

    #[test]
    fn a_flag_is_replaced_or_added() {
        let ready = json!({"backlog": 128, "threads": 2, "open_files": 20_000});
        let try_it = |server: &Server, remedy| remedied(server, &ready, remedy, Some(4_096), 50_000).unwrap();
        let found = try_it(&server(&["--listen", "{listen}"]), Remedy::Backlog);
        assert_eq!(found.server.args, ["--listen", "{listen}", "--backlog", "512"]);
        assert_eq!(
            (found.server.name.as_str(), found.change.as_str()),
            ("actix-backlog-512", "a listen queue of 512")
        );
        let found = try_it(&server(&[]), Remedy::LongBacklog);
        assert_eq!(found.change, "a listen queue of 4096");
        let found = try_it(&server(&["--threads", "{threads}", "--x"]), Remedy::Threads);
        assert_eq!(found.server.args, ["--threads", "4", "--x"]);
        let found = try_it(&server(&[]), Remedy::OpenFiles);
        assert_eq!(
            (found.server.open_files, found.server.name.as_str()),
            (Some(50_000), "actix-files-50000")
        );
        let found = try_it(&server(&["--x"]), Remedy::OtherClient);
        assert_eq!(
            (found.server.args, found.server.name.as_str()),
            (vec!["--x".to_owned()], "actix-other-client")
        );
        let tokio = server(&["--threads", "{threads}", "--global-queue-interval={global_queue_interval}"]);
        let interval = json!({"global_queue_interval": 61, "threads": 1});
        let found = remedied(&tokio, &interval, Remedy::GlobalQueueInterval, None, 1).unwrap();
        assert_eq!(found.server.args, ["--threads", "{threads}", "--global-queue-interval", "8"]);
        let found = remedied(&tokio, &interval, Remedy::OneMoreThread, None, 1).unwrap();
        assert_eq!((found.server.args[1].as_str(), found.change.as_str()), ("2", "2 threads"));
        let few = Server { open_files: Some(50), ..server(&[]) };
        assert_eq!(try_it(&few, Remedy::OpenFiles).server.open_files, Some(200));
    }

    #[test]
    fn an_impossible_remedy_has_a_reason() {
        let ready = json!({"backlog": 4_096});
        let refused = |remedy| remedied(&server(&[]), &ready, remedy, Some(4_096), 20_000).unwrap_err();
        assert!(refused(Remedy::Backlog).contains("somaxconn"));
        let cut = remedied(&server(&[]), &json!({"backlog": 1_024}), Remedy::LongBacklog, Some(4_096), 1);
        assert!(cut.unwrap_err().contains("somaxconn"));
        assert!(refused(Remedy::Threads).contains("no threads"));
        assert!(refused(Remedy::GlobalQueueInterval).contains("no global_queue_interval"));
        assert_eq!(Remedy::GlobalQueueInterval.next(true), Some(Remedy::OneMoreThread));
        assert_eq!(
            [Remedy::Backlog.next(true), Remedy::Backlog.next(false)],
            [None, Some(Remedy::LongBacklog)]
        );
        let full = Server { open_files: Some(20_000), ..server(&[]) };
        let refused = remedied(&full, &ready, Remedy::OpenFiles, None, 20_000).unwrap_err();
        assert!(refused.contains("20000"), "{refused}");
    }
}
