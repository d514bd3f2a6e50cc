//! What the kinds of failed requests mean, by whatever load tool they were counted.

/// A result that is not the expected one.
pub const WRONG_ANSWER: &str = "wrong answer";

/// An answer that has the id of another call.
pub const OTHER_CALL: &str = "answer to another call";

/// An answer that is no answer of JSON-RPC.
pub const NOT_JSON_RPC: &str = "answer that is no JSON-RPC";

/// What the kinds of JSON-RPC errors begin with; their code follows.
pub const RPC_ERROR: &str = "JSON-RPC error ";

/// What the kinds of HTTP statuses begin with; their number follows, or a class such as `4xx` where the tool counts no
/// more.
pub const HTTP_STATUS: &str = "HTTP ";

/// What a failed request says of its service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure<'a> {
    /// It was answered, and the answer is wrong: how, as one of the constants above.
    Wrong(&'a str),
    /// It was answered with an error of JSON-RPC of this code.
    RpcError(&'a str),
    /// It was answered with this status of HTTP.
    Status(&'a str),
    /// It was not answered: why, in the tool's words.
    Unanswered(&'a str),
}

impl<'a> Failure<'a> {
    /// That of a kind, as a sample names it.
    pub fn of(kind: &'a str) -> Self {
        if let Some(code) = kind.strip_prefix(RPC_ERROR) {
            return Self::RpcError(code);
        }
        if let Some(status) = kind.strip_prefix(HTTP_STATUS) {
            return Self::Status(status);
        }
        match kind {
            WRONG_ANSWER | OTHER_CALL | NOT_JSON_RPC => Self::Wrong(kind),
            other => Self::Unanswered(other),
        }
    }

    /// Whether an answer came that is no right one.
    pub const fn is_wrong(self) -> bool {
        matches!(self, Self::Wrong(_) | Self::RpcError(_))
    }
}
