//! How requests end.

/// Bytes of an error's own words that are kept.
const MOST_WORDS: usize = 47;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Every call was answered with a result, the expected one where one is.
    Answered,
    /// Not answered within the timeout.
    Timeout,
    /// A result that is not the expected one.
    WrongAnswer,
    /// An answer with the id of another call.
    OtherCall,
    /// An error of JSON-RPC with this code.
    RpcError(i64),
    /// An error without a number for its code: what it says.
    ErrorText(Words),
    /// A status of HTTP other than 200.
    HttpStatus(u16),
    /// No answer of JSON-RPC, or not to every call of the batch.
    Malformed,
    /// What came can't be read as an answer of the transport: why.
    Unreadable(&'static str),
    /// The connection ended before the answer.
    ConnectionLost,
    /// It was due, and no slot became free before the window was over.
    NotSent,
    /// The run was ended before the answer.
    Interrupted,
}

/// The beginning of a text, in one line. It is copied with each record, so it is short.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Words {
    text: [u8; MOST_WORDS],
    length: u8,
}

impl Words {
    /// As much of a text as is kept; what is not printed becomes a space.
    pub fn of(text: &str) -> Self {
        let mut words = Self { text: [0; MOST_WORDS], length: 0 };
        for c in text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }) {
            let (from, to) = (usize::from(words.length), usize::from(words.length) + c.len_utf8());
            if to > MOST_WORDS {
                break;
            }
            c.encode_utf8(&mut words.text[from..to]);
            words.length = to as u8;
        }
        words
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl std::fmt::Debug for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Answered => f.write_str("ok"),
            Self::Timeout => f.write_str("timeout"),
            Self::WrongAnswer => f.write_str("wrong answer"),
            Self::OtherCall => f.write_str("answer to another call"),
            Self::RpcError(code) => write!(f, "error {code}"),
            Self::ErrorText(words) => write!(f, "error {}", words.as_str()),
            Self::HttpStatus(status) => write!(f, "HTTP {status}"),
            Self::Malformed => f.write_str("malformed answer"),
            Self::Unreadable(why) => write!(f, "answer that can't be read: {why}"),
            Self::ConnectionLost => f.write_str("connection lost"),
            Self::NotSent => f.write_str("not sent"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_short_and_on_one_line() {
        assert_eq!(Words::of(" a\nb ").as_str(), "a b");
        let long = Words::of(&"é".repeat(60));
        assert_eq!(long.as_str(), "é".repeat(23), "no half character");
        assert_eq!(Outcome::ErrorText(Words::of("")).to_string(), "error ");
    }
}
