//! Versions and ranges in the words of npm (node-semver), as far as files that choose a runtime use them. Versions that are
//! not released (`-rc.1`) match nothing but their own name.

use std::fmt;

/// `major.minor.patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u64, pub(crate) u64, pub(crate) u64);

impl Version {
    /// All three numbers, or fewer: the rest is zero. `None` for anything that isn't released.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (numbers, _) = partial(text)?;
        Some(Self(numbers[0], numbers[1], numbers[2]))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// Which versions will do: alternatives of spans, each from a version up to one that it excludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range(Vec<(Version, Version)>);

const END: Version = Version(u64::MAX, 0, 0);
const BEGIN: Version = Version(0, 0, 0);

impl Range {
    /// `None` when it is no range that is known here.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.split("||").map(alternative).collect::<Option<Vec<_>>>().map(Self)
    }

    pub(crate) fn has(&self, version: Version) -> bool {
        self.0.iter().any(|(from, to)| (*from..*to).contains(&version))
    }

    /// The one version that it is, when it is one.
    pub(crate) fn only(&self) -> Option<Version> {
        match self.0[..] {
            [(from, to)] if to == Version(from.0, from.1, from.2 + 1) => Some(from),
            _ => None,
        }
    }
}

fn alternative(text: &str) -> Option<(Version, Version)> {
    if let Some((low, high)) = text.split_once(" - ") {
        let ((low, _), (high, count)) = (partial(low.trim())?, partial(high.trim())?);
        return Some((Version(low[0], low[1], low[2]), after(high, count)));
    }
    // `>= 20` is `>=20`.
    let mut joined = text.replace(['\t', ','], " ");
    for operator in [">=", "<=", ">", "<", "^", "~", "="] {
        while joined.contains(&format!("{operator} ")) {
            joined = joined.replace(&format!("{operator} "), operator);
        }
    }
    joined.split_ascii_whitespace().try_fold((BEGIN, END), |(from, to), one| {
        let (low, high) = comparator(one)?;
        Some((from.max(low), to.min(high)))
    })
}

fn comparator(text: &str) -> Option<(Version, Version)> {
    let operator = text.find(|char: char| !"<>=^~".contains(char)).unwrap_or(text.len());
    let (operator, rest) = text.split_at(operator);
    if matches!(rest, "" | "*" | "x" | "latest" | "node" | "lts/*") {
        return Some((BEGIN, END));
    }
    let (numbers, count) = partial(rest)?;
    let version = Version(numbers[0], numbers[1], numbers[2]);
    Some(match operator {
        "" | "=" | "==" => (version, after(numbers, count)),
        ">=" => (version, END),
        ">" => (after(numbers, count), END),
        "<" => (BEGIN, version),
        "<=" => (BEGIN, after(numbers, count)),
        "^" => (
            version,
            match numbers {
                [0, 0, patch] if count == 3 => Version(0, 0, patch + 1),
                [0, minor, _] if count > 1 => Version(0, minor + 1, 0),
                [major, ..] => Version(major + 1, 0, 0),
            },
        ),
        "~" | "~=" | "~>" => (version, after(numbers, count.min(2))),
        _ => return None,
    })
}

/// The first version beyond all that begin with these numbers.
fn after(numbers: [u64; 3], count: usize) -> Version {
    match count {
        1 => Version(numbers[0] + 1, 0, 0),
        2 => Version(numbers[0], numbers[1] + 1, 0),
        _ => Version(numbers[0], numbers[1], numbers[2] + 1),
    }
}

/// One to three numbers, and how many; `x` ends them.
fn partial(text: &str) -> Option<([u64; 3], usize)> {
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let (mut numbers, mut count) = ([0; 3], 0);
    for part in text.split('.') {
        if matches!(part, "x" | "X" | "*") && count > 0 {
            break;
        }
        if count == 3 || part.len() > 9 {
            return None;
        }
        numbers[count] = part.parse().ok()?;
        count += 1;
    }
    Some((numbers, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_npm_says_they_hold() {
        let rows: [(&str, &[&str], &[&str]); 14] = [
            ("20", &["20.0.0", "20.99.1"], &["19.9.9", "21.0.0"]),
            ("v20.11", &["20.11.7"], &["20.12.0", "20.10.9"]),
            ("20.11.1", &["20.11.1"], &["20.11.2"]),
            (">=18", &["18.0.0", "99.0.0"], &["17.9.9"]),
            (">= 18 <21", &["20.9.9"], &["21.0.0", "17.0.0"]),
            ("^20.5.1", &["20.5.1", "20.9.0"], &["20.5.0", "21.0.0"]),
            ("^0.3.1", &["0.3.9"], &["0.4.0"]),
            ("~1.2.3", &["1.2.9"], &["1.3.0", "1.2.2"]),
            ("18 || 20.x", &["18.1.1", "20.2.2"], &["19.0.0"]),
            ("18 - 20", &["18.0.0", "20.9.9"], &["21.0.0"]),
            ("*", &["1.0.0"], &[]),
            ("lts/*", &["22.0.0"], &[]),
            ("<=1.2", &["1.2.9"], &["1.3.0"]),
            (">20", &["21.0.0"], &["20.9.9"]),
        ];
        for (range, inside, outside) in rows {
            let parsed = Range::parse(range).unwrap();
            for version in inside {
                assert!(parsed.has(Version::parse(version).unwrap()), "{range} has {version}");
            }
            for version in outside {
                assert!(!parsed.has(Version::parse(version).unwrap()), "{range} has not {version}");
            }
        }
        for bad in ["lts/jod", "1.2.3-rc.1", "1.2.3.4", "next", ">=a"] {
            assert_eq!(Range::parse(bad), None, "{bad}");
        }
        assert_eq!(Range::parse("20.11.1").unwrap().only(), Some(Version(20, 11, 1)));
        assert_eq!(Range::parse("20.11").unwrap().only(), None);
    }
}
