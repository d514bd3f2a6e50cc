//! How a server is reached: its URL, its headers and certificates, and its transports.

use anyhow::Result;

use super::server::IPC;
use super::{Ready, RunningAt, Server};
use crate::headers::Access;
use crate::target::Target;
use crate::transport::Transport;

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
