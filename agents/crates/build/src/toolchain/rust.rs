//! Rust's channels: the manifest of a release names its components and their digests (rust-lang/rustup, dist/manifest.rs).

use std::collections::BTreeMap;

use fairlead_fetch::Digest;
use fairlead_inspect::Tool;
use serde::Deserialize;

use super::registry::{Piece, Proof, ToolchainPackage, foreign};
use super::{ToolchainError, Toolchains};
use crate::version::{SemVer, VersionRange};

/// Address that manifests name, whatever mirror they are on.
const PUBLISHED: &str = "https://static.rust-lang.org/";
const COMPONENTS: [&str; 3] = ["rustc", "cargo", "rust-std"];

#[derive(Debug, Deserialize)]
struct RustManifest {
    date: String,
    pkg: BTreeMap<String, Component>,
}

#[derive(Debug, Deserialize)]
struct Component {
    version: String,
    #[serde(default)]
    target: BTreeMap<String, RustTarget>,
}

#[derive(Debug, Deserialize)]
struct RustTarget {
    available: bool,
    #[serde(default)]
    url: String,
    #[serde(default)]
    hash: String,
}

/// Release that is named by a channel or its date, not by a range.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RustChannel {
    Stable,
    /// Nightly of a date, or the newest.
    Nightly(Option<String>),
    /// `1.85` or `1.85.1`: the newest of them.
    Release(String),
}

impl RustChannel {
    /// `None`: not a channel, maybe a range.
    fn parse(text: &str) -> Option<Self> {
        // `1.85.0-x86_64-unknown-linux-gnu` names the machine too.
        let text = text.strip_suffix(&format!("-{}", target()?)).unwrap_or(text);
        if text == "stable" || text == "*" {
            return Some(Self::Stable);
        }
        if let Some(rest) = text.strip_prefix("nightly") {
            return match rest.strip_prefix('-') {
                None => rest.is_empty().then_some(Self::Nightly(None)),
                Some(date) => is_date(date).then(|| Self::Nightly(Some(date.to_owned()))),
            };
        }
        let version = text.strip_prefix('=').unwrap_or(text);
        let plain = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        (plain && version.contains('.') && SemVer::parse(version).is_some()).then(|| Self::Release(version.to_owned()))
    }

    fn path(&self) -> String {
        match self {
            Self::Stable => "dist/channel-rust-stable.toml".to_owned(),
            Self::Nightly(None) => "dist/channel-rust-nightly.toml".to_owned(),
            Self::Nightly(Some(date)) => format!("dist/{date}/channel-rust-nightly.toml"),
            Self::Release(version) => format!("dist/channel-rust-{version}.toml"),
        }
    }
}

/// Range of versions that a request for Rust means; `None`: only a nightly will do, or it is not understood.
pub(crate) fn range(text: &str) -> Option<VersionRange> {
    match RustChannel::parse(text) {
        Some(RustChannel::Stable) => VersionRange::parse("*"),
        Some(RustChannel::Nightly(_)) => None,
        Some(RustChannel::Release(version)) => VersionRange::parse(&version),
        None => VersionRange::parse(text),
    }
}

/// Reports whether a toolchain may be named so, after `rust@`.
pub(super) fn is_nightly(label: &str) -> bool {
    label.strip_prefix("nightly-").is_some_and(is_date)
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() })
}

fn target() -> Option<String> {
    matches!(std::env::consts::ARCH, "x86_64" | "aarch64")
        .then(|| format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
}

impl Toolchains {
    /// Label after `rust@` of what satisfies a request, such as `1.95.0` or `nightly-2026-01-01`.
    pub(super) async fn rust_release(&self, text: &str, said: &str) -> Result<String, ToolchainError> {
        let channels = match (RustChannel::parse(text), VersionRange::parse(text)) {
            (Some(channel), _) => vec![channel],
            (None, Some(range)) => {
                let SemVer(major, minor, _) = range.lowest();
                vec![RustChannel::Stable, RustChannel::Release(format!("{major}.{minor}"))]
            }
            (None, None) => {
                return Err(ToolchainError::Unknown(format!(
                    "The version{said} of Rust is not valid. Write it as a channel, such as stable, 1.85 or nightly-2026-01-01."
                )));
            }
        };
        let fits = range(text);
        for channel in &channels {
            let Some(manifest) = self.manifest(channel).await? else { continue };
            if matches!(channel, RustChannel::Nightly(_)) {
                return Ok(format!("nightly-{}", manifest.date)).and_then(valid);
            }
            let version = manifest.version();
            if version.zip(fits.as_ref()).is_some_and(|(version, range)| range.has(version)) {
                return Ok(version.map(|version| version.to_string()).unwrap_or_default());
            }
        }
        let stable = self.manifest(&RustChannel::Stable).await?.and_then(|manifest| manifest.version());
        let possible = stable.map_or(String::new(), |version| {
            format!(
                " Available are stable, which is {version}, earlier releases, such as 1.{}, and nightly with a date.",
                version.1.saturating_sub(1)
            )
        });
        Err(ToolchainError::Unknown(format!("There is no Rust{said} for this server.{possible}")))
    }

    pub(super) async fn rust_package(&self, label: &str) -> Result<ToolchainPackage, ToolchainError> {
        let missing =
            || ToolchainError::Unknown(format!("There is no Rust {label} for this server. Choose another version."));
        let channel = match label.strip_prefix("nightly-") {
            Some(date) => RustChannel::Nightly(Some(date.to_owned())),
            None => RustChannel::Release(label.to_owned()),
        };
        let manifest = self.manifest(&channel).await?.ok_or_else(missing)?;
        let target = target().ok_or_else(|| foreign(Tool::Rust))?;
        let piece = |name: &&str| {
            let found = manifest.pkg.get(*name)?.target.get(&target).filter(|found| found.available)?;
            let path = found.url.strip_prefix(PUBLISHED)?;
            let digest = Digest::sha256(&found.hash)?;
            Some(Piece { urls: vec![format!("{}/{path}", self.mirrors.rust)], proof: Proof::Digest(digest) })
        };
        let pieces = COMPONENTS.iter().map(piece).collect::<Option<Vec<_>>>();
        Ok(ToolchainPackage { pieces: pieces.ok_or_else(missing)? })
    }

    /// `None`: there is no such release.
    async fn manifest(&self, channel: &RustChannel) -> Result<Option<RustManifest>, ToolchainError> {
        let url = format!("{}/{}", self.mirrors.rust, channel.path());
        let Some(text) = self.text_if_present(Tool::Rust, &url).await? else { return Ok(None) };
        toml::from_str(&text).map(Some).map_err(|error: toml::de::Error| ToolchainError::Package {
            name: "rust".to_owned(),
            why: format!("the manifest of its release is not of its form ({})", error.message()),
        })
    }
}

impl RustManifest {
    fn version(&self) -> Option<SemVer> {
        SemVer::parse(self.pkg.get("rustc")?.version.split(' ').next()?)
    }
}

/// Labels come from a mirror and become paths.
fn valid(label: String) -> Result<String, ToolchainError> {
    if is_nightly(&label) {
        return Ok(label);
    }
    Err(ToolchainError::Package { name: "rust".to_owned(), why: "its manifest has no date".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_known_by_their_names() {
        let target = target().unwrap();
        let release = |version: &str| Some(RustChannel::Release(version.to_owned()));
        let rows = [
            ("stable", Some(RustChannel::Stable)),
            ("1.85", release("1.85")),
            ("1.85.1", release("1.85.1")),
            ("=1.85.1", release("1.85.1")),
            (&format!("1.85.1-{target}"), release("1.85.1")),
            ("nightly", Some(RustChannel::Nightly(None))),
            ("nightly-2026-01-01", Some(RustChannel::Nightly(Some("2026-01-01".to_owned())))),
            ("nightly-../../x", None),
            ("beta", None),
            (">=1.85", None),
        ];
        for (text, wanted) in rows {
            assert_eq!(RustChannel::parse(text), wanted, "{text}");
        }
        assert!(range("stable").unwrap().has(SemVer(1, 99, 0)));
        assert!(range("1.85").unwrap().has(SemVer(1, 85, 7)) && range("nightly").is_none());
    }
}
