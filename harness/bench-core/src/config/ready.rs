//! How a server says that it answers, and how it is reached: its URL, its headers and certificates, and its transports.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::Server;
use super::server::IPC;
use crate::headers::Access;
use crate::target::Target;
use crate::transport::Transport;

/// How a server says that it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Ready {
    /// One line of JSON on its standard output.
    Line(ReadyLine),
    /// Nothing: it is ready once the port in its arguments accepts a connection.
    Connect {},
    /// As plans of older runs say [`Ready::Call`] of one method. Not in `servers.toml`.
    Health {},
    /// Nothing: it is ready once it answers this request as stated on the port in its arguments.
    Call(ReadyCall),
    /// It runs already and is neither started nor stopped.
    Running(RunningAt),
}

/// A request whose answer says that a server is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadyCall {
    /// The request's body.
    pub request: String,
    /// What is looked at in the answer: a JSON pointer.
    #[serde(default = "result_pointer")]
    pub pointer: String,
    /// What must stand there; anything where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<serde_json::Value>,
}

fn result_pointer() -> String {
    "/result".to_owned()
}

impl ReadyCall {
    /// Whether an answer says so.
    pub fn is_said_by(&self, answer: &serde_json::Value) -> bool {
        let found = answer.pointer(&self.pointer);
        found.is_some_and(|found| self.equals.as_ref().is_none_or(|equals| equals == found))
    }
}

/// Where a server answers that runs already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunningAt {
    /// `http://HOST:PORT`, with a path where it has one.
    pub url: String,
    /// Whether whoever runs the harness may put load on it. Needed for any server that is not on loopback.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub i_own_this_target: bool,
}

/// Where things stand in the ready line, as JSON pointers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadyLine {
    /// The address that it serves on.
    pub addr: String,
    /// The address of its metrics, where it has any.
    pub metrics: Option<String>,
    /// The URL on which it takes WebSocket connections, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ws: Option<String>,
    /// Whether whoever runs the harness may put load on these places. Needed for any that is neither on loopback nor
    /// where the server was told to listen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub i_own_this_target: bool,
}

impl Server {
    /// The server of `run --target`: one that runs already.
    ///
    /// # Errors
    /// Its URL is none.
    pub fn target(at: RunningAt, access: &Access) -> Result<Self> {
        let title = format!("the server at {}", at.url);
        let fields = serde_json::json!({
            "name": "target",
            "title": title,
            "ready": Ready::Running(at),
            "headers": access.headers,
            "ca": access.ca,
        });
        let server: Self = serde_json::from_value(fields)?;
        server.check().map(|()| server)
    }

    /// Where requests to it go when it answers at a URL.
    ///
    /// # Errors
    /// It is no URL.
    pub fn target_at(&self, url: &str) -> Result<Target> {
        Ok(Target::parse(url)?.with_access(&self.access()))
    }

    /// Its HTTP at `HOST:PORT`, where it listens there.
    pub fn listening_at(&self, addr: &str) -> Target {
        self.reached(Target::http(addr))
    }

    /// Its WebSockets at the address of its HTTP, where it has them there.
    pub fn websocket_at(&self, addr: &str) -> Option<Target> {
        let path = self.ws_path.as_ref()?;
        Some(self.reached(Target::websocket(addr).with_path(path)))
    }

    fn reached(&self, target: Target) -> Target {
        let target = target.with_access(&self.access());
        if self.tls { target.encrypted() } else { target }
    }

    /// What reaching it takes.
    pub fn access(&self) -> Access {
        Access { headers: self.headers.clone(), ca: self.ca.clone() }
    }

    /// Where it answers, for a server that runs already.
    pub fn running_at(&self) -> Option<&RunningAt> {
        match &self.ready {
            Ready::Running(at) => Some(at),
            Ready::Line(_) | Ready::Connect {} | Ready::Health {} | Ready::Call(_) => None,
        }
    }

    /// Where its ready line has the URL on which it takes WebSocket connections: a JSON pointer, where it takes any.
    pub fn ws(&self) -> Option<&str> {
        match &self.ready {
            Ready::Line(places) => places.ws.as_deref(),
            Ready::Connect {} | Ready::Health {} | Ready::Call(_) | Ready::Running(_) => None,
        }
    }

    /// Whether it can be reached by a transport.
    pub fn is_reached_over(&self, transport: Transport) -> bool {
        match transport {
            Transport::Http => true,
            Transport::WebSocket => self.ws().is_some() || self.ws_path.is_some(),
            Transport::Ipc => self.takes(IPC),
        }
    }
}
