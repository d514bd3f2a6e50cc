//! Account addresses: 32 bytes, written in base58.

use std::fmt;

/// The longest base58 text of 32 bytes.
const MAX_BASE58_LEN: usize = 44;

/// An account's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pubkey(pub [u8; 32]);

/// Why a text is not an address. The names are what the node prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParsePubkeyError {
    /// The text does not decode to exactly 32 bytes.
    #[error("not 32 bytes of base58")]
    WrongSize,
    /// The text has a character that base58 lacks.
    #[error("has a character that base58 lacks")]
    Invalid,
}

impl Pubkey {
    /// Reads base58 with the node's own order of checks: length, characters, size.
    pub fn parse(text: &str) -> Result<Self, ParsePubkeyError> {
        if text.len() > MAX_BASE58_LEN {
            return Err(ParsePubkeyError::WrongSize);
        }
        let mut bytes = [0; 32];
        five8::decode_32(text, &mut bytes).map_err(|error| match error {
            five8::DecodeError::InvalidChar(_) => ParsePubkeyError::Invalid,
            _ => ParsePubkeyError::WrongSize,
        })?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Pubkey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0u8; MAX_BASE58_LEN];
        let len = usize::from(five8::encode_32(&self.0, &mut text));
        let text = text.get(..len).ok_or(fmt::Error)?;
        out.write_str(std::str::from_utf8(text).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_through_base58() {
        for text in ["11111111111111111111111111111111", crate::SEED_ACCOUNT] {
            assert_eq!(Pubkey::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn length_is_checked_before_characters() {
        assert_eq!(Pubkey::parse(&"0".repeat(45)), Err(ParsePubkeyError::WrongSize));
        assert_eq!(Pubkey::parse(&"0".repeat(44)), Err(ParsePubkeyError::Invalid));
        assert_eq!(Pubkey::parse(""), Err(ParsePubkeyError::WrongSize));
    }
}
