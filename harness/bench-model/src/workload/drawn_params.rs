//! Parameters of a mix's request, ready to be drawn.

use std::fmt::Write;

use rand_distr::{Distribution, Zipf};
use rand_xoshiro::rand_core::Rng;
use validator_state::Pubkey;

use super::mix::Place;
use super::parameters::Template;

/// Where parameters come from.
#[derive(Debug, Clone)]
pub(super) enum Params {
    None,
    /// The text of an array or an object.
    Fixed(String),
    Drawn(Template),
    AnyAccount,
    ZipfAccount(Zipf<f64>),
    AbsentAccount,
    /// A number of slots from a start up to `last_start`, or always from there; the second parameter is their number or
    /// the last.
    Slots {
        slots: u64,
        last_start: u64,
        from: Place,
        is_limit: bool,
    },
}

fn write_params(params: &str, out: &mut String) {
    out.push_str(r#","params":"#);
    out.push_str(params);
}

impl Params {
    pub(super) fn write(&self, accounts: &[Pubkey], random: &mut impl Rng, out: &mut String) {
        let pubkey = match self {
            Self::None => return,
            Self::Fixed(text) => return write_params(text, out),
            Self::Drawn(template) => {
                write_params("", out);
                return template.write(random, out);
            }
            Self::Slots { slots, last_start, from, is_limit } => {
                let start = match from {
                    Place::Tip => *last_start,
                    Place::Random => random.next_u64() % (last_start + 1),
                };
                let second = if *is_limit { *slots } else { start + slots - 1 };
                let _ = write!(out, r#","params":[{start},{second}]"#);
                return;
            }
            Self::AnyAccount => accounts[(random.next_u64() % accounts.len() as u64) as usize],
            // Ranks count from 1.
            Self::ZipfAccount(law) => accounts[law.sample(random) as usize - 1],
            Self::AbsentAccount => {
                let mut key = [0; 32];
                random.fill_bytes(&mut key);
                Pubkey(key)
            }
        };
        let _ = write!(out, r#","params":["{pubkey}"]"#);
    }
}
