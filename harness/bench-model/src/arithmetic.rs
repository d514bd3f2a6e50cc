//! Arithmetic that a person writes into a campaign: numbers, names, `+ - * / ( )`.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// A formula such as `connections * batch / round_trip`.
#[derive(Debug, Clone, PartialEq, SerializeDisplay, DeserializeFromStr)]
pub struct Formula {
    text: String,
    term: Term,
    names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Term {
    Number(f64),
    Name(String),
    Both(Box<Self>, char, Box<Self>),
}

impl Formula {
    /// Its value, where each name has one.
    pub fn value(&self, of: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
        self.term.value(of)
    }

    /// The names in it, in their order.
    pub fn variables(&self) -> &[String] {
        &self.names
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Term {
    fn value(&self, of: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
        Some(match self {
            Self::Number(number) => *number,
            Self::Name(name) => of(name)?,
            Self::Both(left, sign, right) => {
                let (left, right) = (left.value(of)?, right.value(of)?);
                match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
        })
    }
}

impl FromStr for Formula {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rest = Rest { text, names: Vec::new() };
        let term = rest.term(&SIGNS).and_then(|term| match rest.next() {
            None => Ok(term),
            Some(other) => Err(format!("{other:?} is one too many")),
        });
        let term = term.map_err(|error| format!("{text:?} is no formula: {error}"))?;
        Ok(Self { text: text.to_owned(), term, names: rest.names })
    }
}

/// Signs, those of sums before those of products, which bind tighter.
const SIGNS: [[char; 2]; 2] = [['+', '-'], ['*', '/']];

/// What is still to be read, and the names so far.
struct Rest<'a> {
    text: &'a str,
    names: Vec<String>,
}

impl Rest<'_> {
    fn next(&mut self) -> Option<char> {
        self.text = self.text.trim_start();
        self.text.chars().next()
    }

    fn take(&mut self, signs: &[char]) -> Option<char> {
        let found = self.next().filter(|next| signs.contains(next))?;
        self.text = &self.text[1..];
        Some(found)
    }

    /// What these signs and tighter ones join.
    fn term(&mut self, signs: &[[char; 2]]) -> Result<Term, String> {
        let Some((own, tighter)) = signs.split_first() else { return self.single() };
        let mut left = self.term(tighter)?;
        while let Some(sign) = self.take(own) {
            left = Term::Both(Box::new(left), sign, Box::new(self.term(tighter)?));
        }
        Ok(left)
    }

    fn single(&mut self) -> Result<Term, String> {
        if self.take(&['(']).is_some() {
            let inner = self.term(&SIGNS)?;
            return self.take(&[')']).map(|_| inner).ok_or_else(|| "a ) is missing".to_owned());
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        self.next();
        let end = self.text.find(|c| !is_part(c)).unwrap_or(self.text.len());
        let (word, rest) = self.text.split_at(end);
        self.text = rest;
        if word.is_empty() {
            return Err("a number or a name is missing".to_owned());
        }
        if word.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return word.parse().map(Term::Number).map_err(|_| format!("{word:?} is no number"));
        }
        self.names.push(word.to_owned());
        Ok(Term::Name(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::each_is_refused;

    #[test]
    fn products_come_before_sums_and_the_left_before_the_right() {
        let value = |text: &str| {
            let formula: Formula = text.parse().unwrap();
            assert_eq!(formula.to_string(), text);
            formula.value(&|name| (name == "b.c").then_some(4.0))
        };
        assert_eq!(value("1 + 2*3"), Some(7.0));
        assert_eq!(value("(1+2) * 3 - 1 - 1"), Some(7.0));
        assert_eq!(value("8 / b.c / 2"), Some(1.0));
        assert_eq!(value("1 / other"), None);
    }

    #[test]
    fn what_is_no_formula_is_said() {
        each_is_refused("formulas", "{}", str::parse::<Formula>);
        assert_eq!("a * b / a".parse::<Formula>().unwrap().variables(), ["a", "b", "a"]);
    }
}
