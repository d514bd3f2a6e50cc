//! Arithmetic that a person writes into a campaign: numbers, names, `+ - * / ( )`. It is read and worked out as an
//! expression of the templates.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use minijinja::{Environment, Value};
use serde_with::{DeserializeFromStr, SerializeDisplay};

/// A formula such as `connections * batch / round_trip`.
#[derive(Debug, Clone, PartialEq, SerializeDisplay, DeserializeFromStr)]
pub struct Formula {
    text: String,
    names: Vec<String>,
}

impl Formula {
    /// Its value, where each name has one.
    pub fn value(&self, of: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let mut values: BTreeMap<&str, Value> = BTreeMap::new();
        for name in &self.names {
            let value = Value::from(of(name)?);
            match name.split_once('.') {
                None => values.insert(name, value),
                Some((outer, inner)) => values.insert(outer, BTreeMap::from([(inner, value)]).into()),
            };
        }
        let found = Environment::new().compile_expression(&self.text).ok()?.eval(values).ok()?;
        if found.is_number() { f64::try_from(found).ok() } else { None }
    }

    /// The names in it, each once.
    pub fn variables(&self) -> &[String] {
        &self.names
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Formula {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let environment = Environment::new();
        let read = environment.compile_expression(text);
        let read = read.map_err(|error| {
            format!("{text:?} is no formula ({error}); write numbers, names and + - * / ( )")
        })?;
        let mut names: Vec<String> = read.undeclared_variables(true).into_iter().collect();
        names.sort();
        let formula = Self { text: text.to_owned(), names };
        match formula.value(&|_| Some(1.0)) {
            Some(_) => Ok(formula),
            None => Err(format!("{text:?} gives no number; write numbers, names and + - * / ( )")),
        }
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
        assert_eq!("a * b / a".parse::<Formula>().unwrap().variables(), ["a", "b"]);
    }
}
