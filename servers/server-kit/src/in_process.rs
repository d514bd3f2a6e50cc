//! A server without its sockets: from a request that HTTP has been read into, to the answer that HTTP would write.
//!
//! What a server does between the two is the framework's parsing and dispatch, the adapter, and the method: the path that a
//! request takes over HTTP, less the HTTP text, the sockets and the runtime. The micro-benchmarks measure it.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The headers that the load generator sends, less `content-length`, so that a framework which looks through them finds as
/// many as over HTTP.
pub const REQUEST_HEADERS: [(&str, &str); 3] =
    [("host", "127.0.0.1:8899"), ("user-agent", "fasthttp"), ("content-type", "application/json")];

/// What answers a server's connections, to be called without one.
pub trait InProcess: Sized {
    /// The framework's own type of a request.
    type Request;
    /// The body of an answer.
    type Answer: AsRef<[u8]>;

    /// A request as the framework hands it over once it has read it: POST, the headers, the whole body.
    fn request(&self, body: &str) -> Self::Request;

    /// The body of the answer; `None` where its status is not 200, or where it was not there at once, which no answer of
    /// this contract is.
    fn answer(&mut self, request: Self::Request) -> Option<Self::Answer>;
}

/// The output of a future that never has to wait.
pub fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
