//! A JSON Schema that a result must fit: its file, and what that held when the run was planned.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use boon::{CompileError, Compiler, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the schema is called while it is compiled. Its own references begin with it; no file has this name.
const URL: &str = "schema:///file";

/// A schema. In a workload it is a path from the workload's folder; in a plan its content stands with it, so that a
/// report needs no other file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Schema {
    /// Where its file is.
    pub path: PathBuf,
    /// What it holds; null as long as it is not located.
    content: Value,
    #[serde(skip)]
    compiled: Option<Arc<(Schemas, SchemaIndex)>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "give the path of a file, from the workload's folder")]
enum Written {
    Path(PathBuf),
    Located { path: PathBuf, content: Value },
}

impl TryFrom<Written> for Schema {
    type Error = anyhow::Error;

    fn try_from(written: Written) -> Result<Self> {
        match written {
            Written::Path(path) => Ok(Self { path, content: Value::Null, compiled: None }),
            Written::Located { path, content } => Self::compiled(path, content),
        }
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.content == other.content
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Schema({}, {})", self.path.display(), self.content)
    }
}

impl Schema {
    /// Its name without its folder.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Finds it from a workload's folder, and takes note of what it holds.
    ///
    /// # Errors
    /// It can't be read, is not JSON, or is no schema: with the file, and the line or the JSON pointer in it.
    pub(super) fn locate(&mut self, folder: &Path) -> Result<()> {
        let path = folder.join(&self.path);
        let content = read(&path)?;
        *self = Self::compiled(path, content)?;
        Ok(())
    }

    fn compiled(path: PathBuf, content: Value) -> Result<Self> {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.use_loader(Box::new(NoOtherFile));
        let wrong = |error: CompileError| {
            let why = match error {
                CompileError::ValidationError { src, .. } => first(&src, ""),
                error => format!("{error:#}").replace('\n', " "),
            };
            anyhow!("{}: no JSON Schema: {why}", path.display())
        };
        compiler.add_resource(URL, content.clone()).map_err(wrong)?;
        let index = compiler.compile(URL, &mut schemas).map_err(wrong)?;
        Ok(Self { path, content, compiled: Some(Arc::new((schemas, index))) })
    }

    /// Refuses a file that is another one by now than when it was located. One that is not there any longer is kept
    /// in the plan.
    ///
    /// # Errors
    /// Its content has changed.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        ensure!(
            !self.path.exists() || read(&self.path)? == self.content,
            "{}: has changed since the run was planned; begin a new run",
            self.path.display()
        );
        Ok(())
    }

    /// Where a result does not fit, and why; `None` where it fits.
    pub fn misfit(&self, result: &Value) -> Option<String> {
        let Some(compiled) = &self.compiled else { return Some("the schema is not located".to_owned()) };
        let (schemas, index) = &**compiled;
        schemas.validate(result, *index).err().map(|error| first(&error, "/result"))
    }
}

/// JSON from a file; an error has the line.
fn read(path: &Path) -> Result<Value> {
    let text = crate::text_files::read(path)?;
    serde_json::from_str(&text)
        .map_err(|error| anyhow!("{}:{}: not JSON: {error}", path.display(), error.line()))
}

/// Refuses to read anything: what a schema means must not depend on what another file or the network says.
struct NoOtherFile;

impl UrlLoader for NoOtherFile {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("put what it refers to under $defs of this file".into())
    }
}

/// The first of some errors that lie inside each other, below this pointer.
fn first(error: &ValidationError<'_, '_>, below: &str) -> String {
    match error.causes.first() {
        Some(cause) => first(cause, below),
        None => format!("at {below}{}: {}", error.instance_location, error.kind).replace('\n', " "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::each_is_refused;

    fn located(text: &str) -> Result<Schema> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.json"), text).unwrap();
        let mut schema: Schema = serde_json::from_str("\"a.json\"").unwrap();
        schema.locate(folder.path()).map(|()| schema)
    }

    const BALANCE: &str = r##"{ "$ref": "#/$defs/hex", "$defs": { "hex": { "type": "string", "pattern": "^0x[0-9a-f]+$" } } }"##;

    #[test]
    fn a_result_fits_or_it_is_said_where_not() {
        let schema = located(BALANCE).unwrap();
        assert_eq!(schema.misfit(&json!("0x1a")), None);
        assert_eq!(schema.misfit(&json!(7)).unwrap(), "at /result: want string, but got number");
        let list =
            located(r#"{ "type": "object", "properties": { "of": { "items": { "type": "integer" } } } }"#);
        let said = list.unwrap().misfit(&json!({ "of": [1, "x"] })).unwrap();
        assert!(said.starts_with("at /result/of/1: "), "{said}");
    }

    #[test]
    fn a_malformed_schema_is_named_with_its_place() {
        each_is_refused("JSON schemas", "{}", located);
    }
}
