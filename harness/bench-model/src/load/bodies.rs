//! The bodies that a load sends: one again and again, or a stream of them.

use std::borrow::Cow;

use anyhow::{Result, ensure};

use crate::workload::requests::Stream;

/// What a load's requests hold.
pub enum Bodies<'a> {
    /// The same body for every request.
    One(&'a str),
    /// One body a request, until there are no more.
    Stream(&'a mut dyn Iterator<Item = String>),
    /// One body a request, drawn from a mix without end.
    Drawn(Stream),
}

impl Bodies<'_> {
    /// The next body; `None` where the stream is exhausted.
    ///
    /// # Errors
    /// The body has more than one line. The tools read a body a line.
    pub fn take(&mut self) -> Result<Option<Cow<'_, str>>> {
        let body = match self {
            Self::One(body) => Some(Cow::Borrowed(*body)),
            Self::Stream(bodies) => bodies.next().map(Cow::Owned),
            Self::Drawn(requests) => {
                let mut body = String::with_capacity(128);
                requests.write_next(&mut body).then_some(Cow::Owned(body))
            }
        };
        if let Some(body) = &body {
            ensure!(!body.contains(['\n', '\r']), "a body has more than one line: {body}");
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_body_never_ends_and_a_stream_does() {
        let mut one = Bodies::One("a");
        assert!((0..3).all(|_| one.take().unwrap().as_deref() == Some("a")));
        let mut two = ["a", "b"].map(str::to_owned).into_iter();
        let mut stream = Bodies::Stream(&mut two);
        let taken: Vec<_> = (0..3).map(|_| stream.take().unwrap().map(Cow::into_owned)).collect();
        assert_eq!(taken, [Some("a".to_owned()), Some("b".to_owned()), None]);
    }

    #[test]
    fn a_body_of_two_lines_is_refused() {
        assert!(Bodies::One("{\n}").take().is_err());
    }
}
