//! Where a server's calls are observed, for those that time them. A server that does not is built from the same code with
//! [`Unobserved`], of which the compiler leaves nothing.

/// Observes the calls of a server that name a method, known or not. Notifications and what is no call are not observed.
pub trait Observer: Copy + Send + Sync + 'static {
    /// Whether it observes anything: where it does not, a server may leave out what only prepares for it.
    const OBSERVES: bool;
    /// What is kept from the begin of a call to its end.
    type Begun: Send + 'static;

    /// A call begins.
    fn begin(&self) -> Self::Begun;

    /// The call of this method has its answer, on this thread or another.
    fn end(&self, begun: Self::Begun, transport: Transport, method: &str, is_error: bool);
}

/// What brings a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A request of HTTP.
    Http,
    /// A message of a WebSocket.
    WebSocket,
}

impl Transport {
    /// Its name as a label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::WebSocket => "websocket",
        }
    }
}

/// Observes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    const OBSERVES: bool = false;
    type Begun = ();

    #[inline(always)]
    fn begin(&self) {}

    #[inline(always)]
    fn end(&self, (): (), _: Transport, _: &str, _: bool) {}
}
