//! Sockets to listen on: the backlog set, the port proven free, never shared by accident.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::error::StartError;
use crate::flags::Settings;

const FLAG: &str = "--listen";

/// How long a client may take nothing of what is sent to it before the system ends the connection: some frameworks can't end one
/// that waits to be written to.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// A listening socket, non-blocking.
pub(crate) fn listener(settings: &Settings) -> Result<TcpListener, StartError> {
    let addr = settings.listen;
    tcp_socket(addr)
        .and_then(|socket| listen_on(socket, addr, settings))
        .map_err(|source| StartError::listen(FLAG, addr, source))
}

/// A port that is ours before anything listens on it, for servers that bind with SO_REUSEPORT: with that option a second
/// server on a port in use would silently take half of the first one's connections.
///
/// Holds a bound socket, which never listens and so never takes a connection, until it is dropped.
#[derive(Debug)]
pub struct PortClaim {
    _hold: Socket,
    addr: SocketAddr,
}

impl PortClaim {
    pub(crate) fn new(settings: &Settings) -> Result<Self, StartError> {
        let addr = settings.listen;
        Self::bind(addr).map_err(|source| StartError::listen(FLAG, addr, source))
    }

    fn bind(addr: SocketAddr) -> io::Result<Self> {
        if addr.port() != 0 {
            // Without SO_REUSEPORT a bind fails if anyone listens there. (For port 0 the kernel looks for a port that
            // nobody has.)
            tcp_socket(addr)?.bind(&addr.into())?;
        }
        let hold = tcp_socket(addr)?;
        hold.set_reuse_port(true)?;
        hold.bind(&addr.into())?;
        let addr = local_addr(&hold)?;
        Ok(Self { _hold: hold, addr })
    }

    /// The address, its port a number above 0.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// One more listener on the port, non-blocking; the kernel shares new connections out among them.
    ///
    /// # Errors
    /// The system's error for the address.
    pub fn listener(&self, settings: &Settings) -> Result<TcpListener, StartError> {
        let listen = || {
            let socket = tcp_socket(self.addr)?;
            socket.set_reuse_port(true)?;
            listen_on(socket, self.addr, settings)
        };
        listen().map_err(|source| StartError::listen(FLAG, self.addr, source))
    }
}

fn tcp_socket(addr: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    // Connections of a server that just ended linger for a minute and must not keep the next one from its port.
    socket.set_reuse_address(true)?;
    Ok(socket)
}

fn listen_on(socket: Socket, addr: SocketAddr, settings: &Settings) -> io::Result<TcpListener> {
    if settings.tcp_nodelay {
        // Linux hands the option down to accepted sockets, so that no connection pays for setting it.
        socket.set_tcp_nodelay(true)?;
    }
    // Handed down too.
    socket.set_tcp_user_timeout(Some(STUCK_AFTER))?;
    socket.bind(&addr.into())?;
    socket.listen(i32::try_from(settings.backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn local_addr(socket: &Socket) -> io::Result<SocketAddr> {
    socket.local_addr()?.as_socket().ok_or_else(|| io::Error::other("not an internet address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(listen: SocketAddr) -> Settings {
        Settings { listen, backlog: 16, max_body_bytes: 0, ..Settings::without_sockets() }
    }

    fn any_port() -> Settings {
        settings(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    #[test]
    fn a_port_in_use_can_be_neither_listened_on_nor_claimed() {
        let first = listener(&any_port()).unwrap();
        let taken = settings(first.local_addr().unwrap());
        assert!(matches!(listener(&taken), Err(StartError::AddressInUse { .. })));
        assert!(matches!(PortClaim::new(&taken), Err(StartError::AddressInUse { .. })));
    }

    #[test]
    fn a_connection_has_the_options_of_its_listener() {
        let listener = listener(&any_port()).unwrap();
        listener.set_nonblocking(false).unwrap();
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (connection, _) = listener.accept().unwrap();
        assert!(connection.nodelay().unwrap());
        assert_eq!(socket2::SockRef::from(&connection).tcp_user_timeout().unwrap(), Some(STUCK_AFTER));
    }

    #[test]
    fn a_claimed_port_cannot_be_claimed_again() {
        let claim = PortClaim::new(&any_port()).unwrap();
        let ours = [(); 2].map(|()| claim.listener(&any_port()).unwrap());
        assert_ne!(claim.addr().port(), 0);
        for listener in &ours {
            assert_eq!(listener.local_addr().unwrap(), claim.addr());
        }
        let taken = settings(claim.addr());
        assert!(matches!(PortClaim::new(&taken), Err(StartError::AddressInUse { .. })));
        assert!(matches!(listener(&taken), Err(StartError::AddressInUse { .. })));
    }

    #[test]
    fn a_port_whose_claim_was_dropped_is_free() {
        let claim = PortClaim::new(&any_port()).unwrap();
        let free = settings(claim.addr());
        drop(claim);
        assert!(listener(&free).is_ok());
    }

    #[test]
    fn accepted_sockets_have_the_listeners_nodelay() {
        let listener = listener(&any_port()).unwrap();
        listener.set_nonblocking(false).unwrap();
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(listener.accept().unwrap().0.nodelay().unwrap());
    }
}
