//! Markdown of a report as HTML. What a run named (a server, a reason) may hold markup of its own: it is shown, and
//! never carried out.

use minijinja::HtmlEscape;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, TextMergeStream, html};

/// The text as HTML, with headings `deeper` levels below their own rank. Markup is shown as text, links lead to files
/// and to the web alone, and of pictures only their words are left: no page loads anything.
pub(super) fn html(markdown: &str, deeper: usize) -> String {
    let mut page = Page {
        deeper,
        heading: "figures".to_owned(),
        place: Place::Text,
        links: Vec::new(),
        events: Vec::new(),
    };
    TextMergeStream::new(Parser::new_ext(markdown, Options::ENABLE_TABLES))
        .for_each(|event| page.take(event));
    let mut out = String::new();
    html::push_html(&mut out, page.events.into_iter());
    out
}

/// Where a text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Heading,
    /// The names of a table's columns.
    Names,
}

/// What a page is made of so far.
struct Page<'a> {
    deeper: usize,
    /// The last heading: a table's name.
    heading: String,
    place: Place,
    /// Of each open link, whether it is kept.
    links: Vec<bool>,
    events: Vec<Event<'a>>,
}

impl<'a> Page<'a> {
    fn take(&mut self, event: Event<'a>) {
        match event {
            Event::Html(text) | Event::InlineHtml(text) => self.text(text),
            Event::Text(text) => self.text(text),
            Event::Start(Tag::HtmlBlock) => self.events.push(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => self.events.push(Event::End(TagEnd::Paragraph)),
            Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => {}
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                let is_kept = is_harmless(dest_url);
                self.links.push(is_kept);
                self.events.extend(is_kept.then_some(event));
            }
            Event::End(TagEnd::Link) => {
                let is_kept = self.links.pop() == Some(true);
                self.events.extend(is_kept.then_some(event));
            }
            Event::Start(Tag::Heading { level, .. }) => {
                (self.place, self.heading) = (Place::Heading, String::new());
                let (level, id) = (lower(level, self.deeper), None);
                let heading = Tag::Heading { level, id, classes: Vec::new(), attrs: Vec::new() };
                self.events.push(Event::Start(heading));
            }
            Event::End(TagEnd::Heading(level)) => {
                self.place = Place::Text;
                self.events.push(Event::End(TagEnd::Heading(lower(level, self.deeper))));
            }
            event => self.table(event),
        }
    }

    /// A table scrolls by itself where it is wider than the window, with the keyboard too.
    fn table(&mut self, event: Event<'a>) {
        match event {
            Event::Start(Tag::Table(_)) => {
                let name = HtmlEscape(&self.heading);
                let scroll = format!(
                    "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"Table: {name}\">"
                );
                self.markup(scroll);
            }
            Event::Start(Tag::TableHead) => self.place = Place::Names,
            Event::End(TagEnd::TableHead) => self.place = Place::Text,
            Event::End(TagEnd::Table) => {
                self.events.push(event);
                return self.markup("</div>\n".to_owned());
            }
            // A reader who hears the table needs a name for each column.
            Event::End(TagEnd::TableCell)
                if self.place == Place::Names
                    && matches!(self.events.last(), Some(Event::Start(Tag::TableCell))) =>
            {
                self.markup("<span class=\"unseen\">row</span>".to_owned());
            }
            _ => {}
        }
        self.events.push(event);
    }

    fn text(&mut self, text: CowStr<'a>) {
        if self.place == Place::Heading {
            self.heading.push_str(&text);
        }
        self.events.push(Event::Text(text));
    }

    /// Markup of the page's own.
    fn markup(&mut self, markup: String) {
        self.events.push(Event::Html(CowStr::from(markup)));
    }
}

/// Whether a link leads to a file, a place of the page or the web.
fn is_harmless(address: &str) -> bool {
    let scheme = address.split(['/', '#', '?']).next().unwrap_or_default().split_once(':');
    scheme.is_none_or(|(scheme, _)| ["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()))
}

fn lower(level: HeadingLevel, deeper: usize) -> HeadingLevel {
    HeadingLevel::try_from(level as usize + deeper).unwrap_or(HeadingLevel::H6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_of_a_run_is_text() {
        let page = html("a <script>alert(1)</script> `<b>` **c**\n\n<script>\nalert(2)\n</script>\n", 0);
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
        assert!(page.contains("<code>&lt;b&gt;</code>") && page.contains("<strong>c</strong>"), "{page}");
        let table = html("| a | b |\n| - | - |\n| <img src=x onerror=y> | 1 |\n", 0);
        assert!(!table.contains("<img") && table.contains("&lt;img"), "{table}");
    }

    #[test]
    fn nothing_is_loaded_and_no_link_runs_anything() {
        let page =
            html("![words](https://example.org/x.png) [bad](javascript:alert(1)) [good](a/report.md)", 0);
        assert!(page.contains("words") && !page.contains("<img"), "{page}");
        assert!(page.contains("bad") && !page.contains("javascript"), "{page}");
        assert!(page.contains("<a href=\"a/report.md\">good</a>"), "{page}");
        assert!(!is_harmless("DATA:text/html,x") && is_harmless("https://a/b") && is_harmless("#a:b"));
    }
}
