//! Parameters of a call, read by derived types from what a framework hands over: a tree of values or text.
//!
//! The node reads parameters from a tree of JSON values through derived types, and its error texts follow from that. The
//! same types are derived here. Text is read straight into one or two parameters; where it is not that, it becomes a tree
//! and goes the node's way, so that its errors have the node's words.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::RpcError;
use crate::state::Commitment;

/// The `params` member of a request, as a framework hands it over.
///
/// Parsed values are owned: whoever has parsed them gives them away, and no call copies them.
#[derive(Debug, Clone)]
pub enum Params<'a> {
    /// Absent or null.
    None,
    /// JSON text.
    Raw(&'a str),
    /// An array, parsed.
    Array(Vec<Value>),
    /// An object, parsed.
    Map(Map<String, Value>),
}

/// `{"commitment"?, "minContextSlot"?}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Config {
    pub commitment: Commitment,
    pub min_context_slot: Option<u64>,
}

/// The config as the node derives it. The flattened member is why an unknown commitment silently means the default, why a
/// config can't be given by position, and the name is part of an error text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RpcContextConfig {
    #[serde(flatten)]
    commitment: Option<CommitmentConfig>,
    min_context_slot: Option<u64>,
}

#[derive(Deserialize)]
struct CommitmentConfig {
    commitment: Commitment,
}

/// getBlocks' second parameter: an end or a config. The name is part of an error text.
#[derive(Deserialize)]
#[serde(untagged)]
enum RpcBlocksConfigWrapper {
    EndSlotOnly(Option<u64>),
    ConfigOnly(Option<RpcContextConfig>),
}

impl From<RpcContextConfig> for Config {
    fn from(config: RpcContextConfig) -> Self {
        Self {
            commitment: config.commitment.map(|inner| inner.commitment).unwrap_or_default(),
            min_context_slot: config.min_context_slot,
        }
    }
}

fn config_of(config: Option<RpcContextConfig>) -> Config {
    config.map(Config::from).unwrap_or_default()
}

/// Parameters of getBalance.
pub(crate) struct BalanceParams<'a> {
    pub pubkey: std::borrow::Cow<'a, str>,
    pub config: Config,
}

/// Parameters of getBlocks.
#[derive(Debug, PartialEq)]
pub(crate) struct BlocksParams {
    pub start: u64,
    pub end: Option<u64>,
    pub config: Config,
}

/// Parameters of getBlocksWithLimit.
pub(crate) struct BlocksWithLimitParams {
    pub start: u64,
    pub limit: usize,
    pub config: Config,
}

/// What [`Params`] are once they are values; its debug form is part of an error text.
#[derive(Debug)]
#[allow(dead_code, reason = "read through its debug form")]
enum Given {
    Array(Vec<Value>),
    Map(Map<String, Value>),
}

impl<'a> Params<'a> {
    /// As values.
    ///
    /// # Errors
    /// The text is not JSON that a tree of values can hold, such as 1e400, or it is nested too deep.
    fn given(self) -> Result<Option<Given>, RpcError> {
        Ok(match self {
            Self::None => None,
            Self::Array(values) => Some(Given::Array(values)),
            Self::Map(map) => Some(Given::Map(map)),
            Self::Raw(text) => match serde_json::from_str(text).map_err(|_| RpcError::parse_error())? {
                Value::Null => None,
                Value::Array(values) => Some(Given::Array(values)),
                Value::Object(map) => Some(Given::Map(map)),
                _ => return Err(RpcError::invalid_request()),
            },
        })
    }

    /// The values of an array of `required` to `most` parameters.
    fn values(self, required: usize, most: usize) -> Result<Vec<Value>, RpcError> {
        let values = match self.given()? {
            None => Vec::new(),
            Some(Given::Array(values)) => values,
            Some(Given::Map(_)) => return Err(RpcError::invalid_params("`params` should be an array")),
        };
        if values.len() < required {
            let message = format!("`params` should have at least {required} argument(s)");
            return Err(RpcError::invalid_params(message));
        }
        if values.len() > most {
            let message = format!("Expected from {required} to {most} parameters.");
            let got = format!("Got: {}", values.len());
            return Err(RpcError::invalid_params_with_details(&message, &got));
        }
        Ok(values)
    }

    /// No parameters.
    ///
    /// # Errors
    /// There are some, or they can't be read.
    pub fn none(self) -> Result<(), RpcError> {
        match self.given()? {
            None => Ok(()),
            Some(Given::Array(values)) if values.is_empty() => Ok(()),
            Some(given) => Err(RpcError::invalid_params_with_details("No parameters were expected", &given)),
        }
    }

    /// `[number]` of a subscription.
    ///
    /// # Errors
    /// They are something else, or can't be read.
    pub fn subscription(self) -> Result<u64, RpcError> {
        let given = match self.given()? {
            None => Value::Null,
            Some(Given::Array(values)) => Value::Array(values),
            Some(Given::Map(map)) => Value::Object(map),
        };
        // As the node derives it, for the words of its errors.
        let (number,): (u64,) = serde_json::from_value(given).map_err(|error| invalid(&error))?;
        Ok(number)
    }

    /// `[config?]`.
    pub(crate) fn config(self) -> Result<Config, RpcError> {
        let mut values = self.values(0, 1)?.into_iter();
        Ok(config_of(optional(values.next())?))
    }

    /// `[pubkey, config?]`.
    pub(crate) fn balance(self) -> Result<BalanceParams<'a>, RpcError> {
        if let Some((pubkey, None, config)) = self.one_or_two::<&'a str>() {
            return Ok(BalanceParams { pubkey: pubkey.into(), config });
        }
        let mut values = self.values(1, 2)?.into_iter();
        let pubkey: String = required(values.next())?;
        Ok(BalanceParams { pubkey: pubkey.into(), config: config_of(optional(values.next())?) })
    }

    /// `[start, end? or config?, config?]`.
    pub(crate) fn blocks(self) -> Result<BlocksParams, RpcError> {
        if let Some((start, end, config)) = self.one_or_two::<u64>() {
            return Ok(BlocksParams { start, end, config });
        }
        let mut values = self.values(1, 3)?.into_iter();
        let start = required(values.next())?;
        let wrapper: Option<RpcBlocksConfigWrapper> = optional(values.next())?;
        let third: Option<RpcContextConfig> = optional(values.next())?;
        let (end, second) = match wrapper {
            None => (None, None),
            Some(RpcBlocksConfigWrapper::EndSlotOnly(end)) => (end, None),
            Some(RpcBlocksConfigWrapper::ConfigOnly(config)) => (None, config),
        };
        Ok(BlocksParams { start, end, config: config_of(third.or(second)) })
    }

    /// `[start, limit, config?]`.
    pub(crate) fn blocks_with_limit(self) -> Result<BlocksWithLimitParams, RpcError> {
        let mut values = self.values(2, 3)?.into_iter();
        let start = required(values.next())?;
        let limit = required(values.next())?;
        Ok(BlocksWithLimitParams { start, limit, config: config_of(optional(values.next())?) })
    }

    /// One or two parameters, straight from text; `None` where these are values, or text that holds something else.
    fn one_or_two<T: Deserialize<'a>>(&self) -> Option<(T, Option<u64>, Config)> {
        let Self::Raw(text) = self else { return None };
        let OneOrTwo(first, second) = serde_json::from_str(text).ok()?;
        Some(match second {
            Second::Nothing => (first, None, Config::default()),
            Second::Number(number) => (first, Some(number), Config::default()),
            Second::Object(config) => {
                let config: RpcContextConfig = serde_json::from_value(Value::Object(config)).ok()?;
                (first, None, config.into())
            }
        })
    }
}

fn invalid(error: &serde_json::Error) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: {error}."))
}

fn required<T: DeserializeOwned>(value: Option<Value>) -> Result<T, RpcError> {
    serde_json::from_value(value.unwrap_or_default()).map_err(|error| invalid(&error))
}

fn optional<T: DeserializeOwned>(value: Option<Value>) -> Result<Option<T>, RpcError> {
    value.map_or(Ok(None), |value| serde_json::from_value(value).map_err(|error| invalid(&error)))
}

/// One or two parameters, as most clients send them.
#[derive(Deserialize)]
struct OneOrTwo<T>(T, #[serde(default)] Second);

/// The second of two parameters.
#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Second {
    // The first, for each variant that does not fit costs an error that serde allocates.
    Number(u64),
    Object(Map<String, Value>),
    #[default]
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts at the border between reading text and reading a tree: both must say the same.
    #[test]
    fn text_and_values_are_read_alike() {
        let texts = [
            "[0]",
            "[0,5]",
            "[0,null]",
            "[0,{}]",
            "[ 1 , 2 ]",
            "[0,5,{}]",
            "[0,5.0]",
            "[-1]",
            "[1e2]",
            "[0,-0]",
            r#"[0,{"commitment":"confirmed"}]"#,
            r#"[0,{"commitment":"confirmed","commitment":"processed"}]"#,
            r#"[0,{"commitment":"processed","commitment":7}]"#,
            r#"[0,{"minContextSlot":3,"minContextSlot":null}]"#,
            r#"[0,{"minContextSlot":3,"unknown":1e400}]"#,
            r#"[0,{"minContextSlot":18446744073709551616}]"#,
            r#"[0,{"commitment":"confirmed"}]"#,
            r#"[0,{"commitment":{"confirmed":null}}]"#,
            r#"[0,{"commitment":["confirmed"]}]"#,
        ];
        for text in texts {
            let fast = Params::Raw(text).blocks().map_err(|error| error.message.into_owned());
            let slow = match serde_json::from_str::<Vec<Value>>(text) {
                Ok(values) => Params::Array(values).blocks().map_err(|error| error.message.into_owned()),
                Err(_) => Err("Parse error".to_owned()),
            };
            assert_eq!(fast, slow, "{text}");
        }
    }

    #[test]
    fn a_subscription_is_named_by_one_number() {
        let read = |text| Params::Raw(text).subscription().map_err(|error| error.message.into_owned());
        assert_eq!(read("[7]"), Ok(7));
        assert_eq!(Params::Array(vec![Value::from(7)]).subscription(), Ok(7));
        for (text, part) in [("[]", "length 0"), ("[1,2]", "length 2"), (r#"["7"]"#, "string"), ("{}", "map")]
        {
            let message = read(text).unwrap_err();
            assert!(message.starts_with("Invalid params: ") && message.contains(part), "{text}: {message}");
        }
        assert!(Params::None.subscription().is_err_and(|error| error.code == -32602));
    }

    #[test]
    fn usual_requests_are_read_from_text_once() {
        assert!(Params::Raw("[0, 1000000]").one_or_two::<u64>().is_some());
        let balance = format!(r#"["{}"]"#, crate::SEED_ACCOUNT);
        assert!(Params::Raw(&balance).one_or_two::<&str>().is_some());
        let confirmed = format!(r#"["{}",{{"commitment":"confirmed"}}]"#, crate::SEED_ACCOUNT);
        assert!(Params::Raw(&confirmed).one_or_two::<&str>().is_some());
    }
}
