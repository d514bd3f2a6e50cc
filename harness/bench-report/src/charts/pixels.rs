//! Pixels as a chart has them: tenths, in as few letters as SVG allows.

/// Tenths of a pixel, from the number as it is written: ten times it may round the other way.
fn tenths(pixels: f64) -> i64 {
    format!("{pixels:.1}").replace('.', "").parse().unwrap_or_default()
}

/// A number of tenths, without zeros that say nothing.
fn shown(tenths: i64) -> String {
    let (sign, whole, part) = (if tenths < 0 { "-" } else { "" }, tenths.abs() / 10, tenths.abs() % 10);
    match (whole, part) {
        (_, 0) => format!("{sign}{whole}"),
        (0, _) => format!("{sign}.{part}"),
        _ => format!("{sign}{whole}.{part}"),
    }
}

/// A number of pixels.
pub(super) fn px(pixels: f64) -> String {
    shown(tenths(pixels))
}

/// The data of a path of straight lines, each by how far it goes.
pub(super) fn path(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    // What the numbers are of that come next without a letter, and the last number.
    let (mut text, mut letter, mut last) = (String::new(), ' ', String::new());
    let mut from = None;
    for (x, y) in points {
        let (x, y) = (tenths(x), tenths(y));
        let (own, numbers) = match from {
            None => ('M', vec![x, y]),
            Some((left, top)) if y == top => ('h', vec![x - left]),
            Some((left, top)) if x == left => ('v', vec![y - top]),
            Some((left, top)) => ('l', vec![x - left, y - top]),
        };
        from = Some((x, y));
        if letter != own {
            text.push(own);
            (letter, last) = (own, String::new());
        }
        for number in numbers.into_iter().map(shown) {
            // A sign begins a number, and so does the point after one that has a point.
            let begins = number.starts_with('-') || (number.starts_with('.') && last.contains('.'));
            if !last.is_empty() && !begins {
                text.push(' ');
            }
            text += &number;
            last = number;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_through_its_points() {
        let path = |points: &[(f64, f64)]| path(points.iter().copied());
        assert_eq!(path(&[(82.0, 58.0), (82.0, 168.0)]), "M82 58v110");
        assert_eq!(
            path(&[
                (84.5, 165.0),
                (89.4, 165.6),
                (94.4, 166.1),
                (99.3, 165.8),
                (99.8, 165.0),
                (101.0, 165.0)
            ]),
            "M84.5 165l4.9.6 5 .5 4.9-.3.5-.8h1.2"
        );
        // What is left out by rounding does not add up.
        let steps: Vec<(f64, f64)> = (0..=10).map(|step| (f64::from(step) * 1.04, 0.0)).collect();
        assert_eq!(path(&steps), "M0 0h1 1.1 1 1.1 1 1 1.1 1 1.1 1");
    }
}
