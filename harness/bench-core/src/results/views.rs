//! Views that a run is shown by in the place of its campaign's: a file in its folder, so that its report stays what it
//! is for whoever has the folder.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::RunFolder;
use crate::config::View;

/// The views that are not the campaign's.
const VIEWS: &str = "views.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Views {
    view: Vec<View>,
}

impl RunFolder {
    /// Shows a campaign's run by the `[[view]]` tables of a file. Gives the text of the views that it was shown by
    /// before, where these were not the campaign's.
    ///
    /// # Errors
    /// One line with the file: it can't be read, or a field is wrong. Nothing is changed then.
    pub fn show_by(&self, file: &Path) -> Result<Option<String>> {
        let text = crate::text_files::read(file)?;
        read(&text)
            .and_then(|views| self.plan()?.campaign.check_views(&views))
            .with_context(|| place(file))?;
        let before = self.views_text()?;
        self.write_derived(VIEWS, &text)?;
        Ok(before)
    }

    /// Shows it again by what [`Self::show_by`] gave.
    ///
    /// # Errors
    /// The folder can't be written to.
    pub fn show_as_before(&self, before: Option<String>) -> Result<()> {
        match before {
            Some(text) => self.write_derived(VIEWS, &text),
            None => fs::remove_file(self.0.join(VIEWS)).with_context(|| place(&self.0.join(VIEWS))),
        }
    }

    /// Its own views, where it has any.
    pub(super) fn views(&self) -> Result<Option<Vec<View>>> {
        let Some(text) = self.views_text()? else { return Ok(None) };
        read(&text).map(Some).with_context(|| place(&self.0.join(VIEWS)))
    }

    fn views_text(&self) -> Result<Option<String>> {
        let path = self.0.join(VIEWS);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("can't read {}", path.display())),
        }
    }
}

fn read(text: &str) -> Result<Vec<View>> {
    let Views { view } = toml::from_str(text)?;
    ensure!(!view.is_empty(), "it has no [[view]]");
    Ok(view)
}

fn place(file: &Path) -> String {
    file.display().to_string()
}
