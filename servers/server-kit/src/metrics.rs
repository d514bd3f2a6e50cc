//! What a server exposes at `--metrics`, on a port of its own so that a reader never disturbs what is measured: its counters, and
//! for a board its calls, connections, process and runtime.

use std::fmt::Result as Written;
use std::net::SocketAddr;

use metrics_http::{Collector, DescriptorEncoder, Exposed, Process, Writer, serve};

use crate::calls::CallCounters;
use crate::connections::Connections;
use crate::counters::Counters;
use crate::error::StartError;
#[cfg(feature = "offload")]
use crate::runtime::Runtime;

/// What a server's metrics are read from.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Calls by method, where they are counted.
    pub calls: Option<CallCounters>,
    /// Its connections.
    pub connections: Connections,
    /// Its runtime.
    #[cfg(feature = "offload")]
    pub runtime: Runtime,
}

impl Metrics {
    /// Answers `GET /metrics` on `addr` until the process ends, with the server's own `counters`; gives the address with its port.
    ///
    /// # Errors
    /// The address is in use or not of this machine.
    pub fn start(
        &self,
        addr: SocketAddr,
        counters: impl Collector,
    ) -> std::result::Result<SocketAddr, StartError> {
        let mut exposed = Exposed::default();
        exposed.counters.register_collector(Box::new(counters));
        if let Some(calls) = self.calls {
            exposed.others.register_collector(Box::new(calls));
        }
        exposed.others.register_collector(Box::new(self.connections.clone()));
        #[cfg(feature = "offload")]
        exposed.others.register_collector(Box::new(self.runtime.clone()));
        exposed.others.register_collector(Box::new(Process));
        serve(addr, exposed).map_err(|source| StartError::listen("--metrics", addr, source))
    }
}

impl Collector for Counters {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Written {
        let (mut writer, totals) = (Writer::new(encoder), self.totals());
        let help = "JSON-RPC calls answered by a method, with a result or an error";
        writer.counter("rpc_requests", help, None, totals.answered)?;
        writer.counter("rpc_errors", "JSON-RPC calls answered by a method with an error", None, totals.errors)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use super::*;

    fn loopback() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    fn ask(addr: SocketAddr, path: &str) -> String {
        let mut client = TcpStream::connect(addr).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(client, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_counts_are_reported() {
        let (counters, metrics) = (Counters::default(), Metrics::default());
        let addr = metrics.start(loopback(), counters).unwrap();
        counters.count(3, 1);
        let answer = ask(addr, "/metrics");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(
            answer.contains("\nrpc_requests_total 3\n") && answer.contains("\nrpc_errors_total 1\n"),
            "{answer}"
        );
        assert!(answer.contains("\nprocess_cpu_seconds_total "), "{answer}");
        assert!(!answer.contains("rpc_server_call") && !answer.contains("connections"), "{answer}");
        counters.count(1, 0);
        assert!(ask(addr, "/metrics?collect=counters").contains("\nrpc_requests_total 4\n"));
    }

    #[test]
    fn connections_are_reported_once_the_server_listens() {
        let metrics = Metrics { calls: Some(CallCounters::default()), ..Metrics::default() };
        let addr = metrics.start(loopback(), Counters::default()).unwrap();
        let listener = TcpListener::bind(loopback()).unwrap();
        metrics.connections.listens_on(vec![listener.local_addr().unwrap()]);
        metrics.connections.accepted().add();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _server = listener.accept().unwrap();
        let answer = ask(addr, "/metrics");
        for line in [
            "rpc_server_connections_accepted_total 1",
            "rpc_server_connections_open 1",
            "rpc_server_calls_in_flight 0",
        ] {
            assert!(answer.contains(&format!("\n{line}\n")), "{line}: {answer}");
        }
    }

    #[test]
    fn an_address_in_use_is_named() {
        let taken = TcpListener::bind(loopback()).unwrap();
        let addr = taken.local_addr().unwrap();
        let message = Metrics::default().start(addr, Counters::default()).unwrap_err().to_string();
        assert!(
            message.contains("--metrics")
                && message.contains(&addr.to_string())
                && message.contains("in use"),
            "{message}"
        );
    }
}
