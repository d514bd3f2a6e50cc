//! Arithmetic that a person writes into a campaign: numbers, names, `+ - * / ( )`.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// A formula such as `connections * batch / round_trip`.
#[derive(Debug, Clone, PartialEq, SerializeDisplay, DeserializeFromStr)]
pub struct Formula {
    text: String,
    term: Term,
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
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.term.collect(&mut names);
        names
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

    fn collect<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => names.push(name),
            Self::Both(left, _, right) => {
                left.collect(names);
                right.collect(names);
            }
        }
    }
}

impl FromStr for Formula {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rest = Rest(text);
        let term = rest.sum().and_then(|term| match rest.next() {
            None => Ok(term),
            Some(other) => Err(format!("{other:?} is one too many")),
        });
        let term = term.map_err(|error| format!("{text:?} is no formula: {error}"))?;
        Ok(Self { text: text.to_owned(), term })
    }
}

/// What is still to be read.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn next(&mut self) -> Option<char> {
        self.0 = self.0.trim_start();
        self.0.chars().next()
    }

    fn take(&mut self, signs: [char; 2]) -> Option<char> {
        let found = self.next().filter(|next| signs.contains(next))?;
        self.0 = &self.0[1..];
        Some(found)
    }

    fn sum(&mut self) -> Result<Term, String> {
        let mut left = self.product()?;
        while let Some(sign) = self.take(['+', '-']) {
            left = Term::Both(Box::new(left), sign, Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Term, String> {
        let mut left = self.single()?;
        while let Some(sign) = self.take(['*', '/']) {
            left = Term::Both(Box::new(left), sign, Box::new(self.single()?));
        }
        Ok(left)
    }

    fn single(&mut self) -> Result<Term, String> {
        if self.take(['(', '(']).is_some() {
            let inner = self.sum()?;
            return self.take([')', ')']).map(|_| inner).ok_or_else(|| "a ) is missing".to_owned());
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        self.next();
        let end = self.0.find(|c| !is_part(c)).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        match word.chars().next() {
            None => Err("a number or a name is missing".to_owned()),
            Some(first) if first.is_ascii_digit() || first == '.' => {
                word.parse().map(Term::Number).map_err(|_| format!("{word:?} is no number"))
            }
            Some(_) => Ok(Term::Name(word.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for (text, named) in [
            ("", "missing"),
            ("1 +", "missing"),
            ("(1", ") is missing"),
            ("1 2", "one too many"),
            ("1.2.3", "no number"),
        ] {
            let error = text.parse::<Formula>().unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
        assert_eq!("a * b / a".parse::<Formula>().unwrap().variables(), ["a", "b", "a"]);
    }
}
