//! Versions and ranges in the words of npm (node-semver), as far as files that choose a runtime use them. Versions that are
//! not released (`-rc.1`) match nothing but their own name.

use std::collections::BTreeMap;
use std::fmt;

/// `major.minor.patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SemVer(pub(crate) u64, pub(crate) u64, pub(crate) u64);

impl SemVer {
    /// All three numbers, or fewer: the rest is zero. `None` for anything that isn't released.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (numbers, _) = partial(text)?;
        Some(Self(numbers[0], numbers[1], numbers[2]))
    }
}

impl fmt::Display for SemVer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A longer range is a mistake, or an attack on the server's time.
const RANGE_BYTES_MAX: usize = 500;

/// Version range: a union of half-open spans, each from a version up to one that it excludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionRange(Vec<(SemVer, SemVer)>);

const END: SemVer = SemVer(u64::MAX, 0, 0);
const BEGIN: SemVer = SemVer(0, 0, 0);

impl VersionRange {
    /// `None` when it is no range that is known here.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // A repository or a registry wrote it.
        if text.len() > RANGE_BYTES_MAX {
            return None;
        }
        text.split("||").map(alternative).collect::<Option<Vec<_>>>().map(Self)
    }

    pub(crate) fn has(&self, version: SemVer) -> bool {
        self.0.iter().any(|(from, to)| (*from..*to).contains(&version))
    }

    /// The lowest version that it may hold.
    pub(crate) fn lowest(&self) -> SemVer {
        self.0.iter().map(|(from, _)| *from).min().unwrap_or(BEGIN)
    }

    /// The one version that it is, when it is one.
    pub(crate) fn only(&self) -> Option<SemVer> {
        match self.0[..] {
            [(from, to)] if to == SemVer(from.0, from.1, from.2 + 1) => Some(from),
            _ => None,
        }
    }
}

/// Names that Node gave its lines with long support (nodejs/Release).
const NODE_LINES: [(&str, u64); 11] = [
    ("argon", 4),
    ("boron", 6),
    ("carbon", 8),
    ("dubnium", 10),
    ("erbium", 12),
    ("fermium", 14),
    ("gallium", 16),
    ("hydrogen", 18),
    ("iron", 20),
    ("jod", 22),
    ("krypton", 24),
];

/// Up to four versions near another, lowest first: each the newest of its line.
pub(crate) fn nearest(versions: &[SemVer], to: SemVer, line: fn(SemVer) -> (u64, u64)) -> Vec<SemVer> {
    let mut newest = BTreeMap::new();
    for version in versions {
        let known = newest.entry(line(*version)).or_insert(*version);
        *known = (*known).max(*version);
    }
    let lines: Vec<SemVer> = newest.into_values().collect();
    let at = lines.partition_point(|version| *version < to);
    let begin = at.saturating_sub(2).min(lines.len().saturating_sub(4));
    lines.into_iter().skip(begin).take(4).collect()
}

fn alternative(text: &str) -> Option<(SemVer, SemVer)> {
    if let Some((low, high)) = text.split_once(" - ") {
        let ((low, _), (high, count)) = (partial(low.trim())?, partial(high.trim())?);
        return Some((SemVer(low[0], low[1], low[2]), after(high, count)));
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

fn comparator(text: &str) -> Option<(SemVer, SemVer)> {
    let operator = text.find(|char: char| !"<>=^~".contains(char)).unwrap_or(text.len());
    let (operator, rest) = text.split_at(operator);
    if matches!(rest, "" | "*" | "x" | "latest" | "node" | "stable" | "current" | "lts" | "lts/*") {
        return Some((BEGIN, END));
    }
    if let Some(name) = rest.strip_prefix("lts/") {
        let (_, major) = NODE_LINES.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known))?;
        return Some((SemVer(major, 0, 0), SemVer(major + 1, 0, 0)));
    }
    let (numbers, count) = partial(rest)?;
    let version = SemVer(numbers[0], numbers[1], numbers[2]);
    Some(match operator {
        "" | "=" | "==" => (version, after(numbers, count)),
        ">=" => (version, END),
        ">" => (after(numbers, count), END),
        "<" => (BEGIN, version),
        "<=" => (BEGIN, after(numbers, count)),
        "^" => (
            version,
            match numbers {
                [0, 0, patch] if count == 3 => SemVer(0, 0, patch + 1),
                [0, minor, _] if count > 1 => SemVer(0, minor + 1, 0),
                [major, ..] => SemVer(major + 1, 0, 0),
            },
        ),
        "~" => (version, after(numbers, count.min(2))),
        // All but the last number stay (PEP 440, and RubyGems).
        "~=" | "~>" => (version, after(numbers, count.saturating_sub(1).max(1))),
        _ => return None,
    })
}

/// The first version beyond all that begin with these numbers.
fn after(numbers: [u64; 3], count: usize) -> SemVer {
    match count {
        1 => SemVer(numbers[0] + 1, 0, 0),
        2 => SemVer(numbers[0], numbers[1] + 1, 0),
        _ => SemVer(numbers[0], numbers[1], numbers[2] + 1),
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
    fn a_range_that_would_take_long_to_read_is_not_understood() {
        assert_eq!(VersionRange::parse(&format!(">={}18", " ".repeat(4 << 20))), None);
        assert!(VersionRange::parse(&format!(">={}18", " ".repeat(400))).is_some());
    }

    #[test]
    fn ranges_hold_what_npm_says_they_hold() {
        let rows: [(&str, &[&str], &[&str]); 17] = [
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
            ("lts/Jod", &["22.9.0"], &["23.0.0", "21.9.9"]),
            ("~=3.12", &["3.12.0", "3.99.0"], &["3.11.9", "4.0.0"]),
            ("~=3.12.1", &["3.12.9"], &["3.12.0", "3.13.0"]),
            ("<=1.2", &["1.2.9"], &["1.3.0"]),
            (">20", &["21.0.0"], &["20.9.9"]),
        ];
        for (range, inside, outside) in rows {
            let parsed = VersionRange::parse(range).unwrap();
            for version in inside {
                assert!(parsed.has(SemVer::parse(version).unwrap()), "{range} has {version}");
            }
            for version in outside {
                assert!(!parsed.has(SemVer::parse(version).unwrap()), "{range} has not {version}");
            }
        }
        for bad in ["lts/never", "1.2.3-rc.1", "1.2.3.4", "next", ">=a"] {
            assert_eq!(VersionRange::parse(bad), None, "{bad}");
        }
        assert_eq!(VersionRange::parse("20.11.1").unwrap().only(), Some(SemVer(20, 11, 1)));
        assert_eq!(VersionRange::parse("20.11").unwrap().only(), None);
    }

    #[test]
    fn versions_near_a_request_are_the_newest_of_their_lines() {
        let all: Vec<SemVer> = ["18.1.0", "18.20.8", "20.1.0", "20.19.5", "22.1.0", "24.1.0", "26.1.0"]
            .iter()
            .map(|text| SemVer::parse(text).unwrap())
            .collect();
        let near = |to: &str| {
            let found = nearest(&all, SemVer::parse(to).unwrap(), |version| (version.0, 0));
            found.iter().map(SemVer::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(near("999"), "20.19.5 22.1.0 24.1.0 26.1.0");
        assert_eq!(near("4"), "18.20.8 20.19.5 22.1.0 24.1.0");
        assert_eq!(near("22.99"), "20.19.5 22.1.0 24.1.0 26.1.0");
        assert_eq!(nearest(&[], SemVer(1, 0, 0), |version| (version.0, 0)), []);
    }
}
