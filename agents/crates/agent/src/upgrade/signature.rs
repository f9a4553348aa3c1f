//! Signatures of agent programs, in the format of minisign. Invariant: an agent of a release accepts no program as its upgrade
//! that none of its pinned keys has signed, whatever the control plane says.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use minisign_verify::{PublicKey, Signature};

/// Public keys that `npm run release` pins, separated by commas. `None` in a development build.
const PINNED: Option<&str> = option_env!("FAIRLEAD_RELEASE_KEYS");
const CHUNK_BYTES: usize = 1 << 16;

/// Keys that may sign the programs which this agent becomes.
#[derive(Debug, Clone)]
pub(crate) enum ReleaseKeys {
    /// A development build accepts any program whose digest is in the signed desired state.
    Development,
    /// A release has one key, or two while its key is replaced.
    Pinned(Vec<PublicKey>),
}

/// Build that verifies, and must not be replaced by an older one or by one for another processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnBuild {
    version: &'static str,
    /// Processor as the names of a release's files have it.
    cpu: &'static str,
}

impl OwnBuild {
    pub(crate) const RUNNING: Self =
        Self { version: crate::VERSION, cpu: if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" } };
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SignatureError {
    #[error("it has no signature, and this agent requires one of a Fairlead release")]
    Missing,
    #[error("its signature can't be read ({0})")]
    Malformed(minisign_verify::Error),
    #[error("no key that this agent trusts has signed it")]
    Untrusted,
    #[error("it was signed as \"{0}\", which is no agent for this server")]
    OtherFile(String),
    #[error("it is version {signed}, older than {own}, which runs")]
    Older { signed: String, own: &'static str },
    #[error("it can't be read ({0})")]
    Io(#[from] io::Error),
}

impl SignatureError {
    /// Code of the contract's table.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Io(_) => "upgrade.fetch_failed",
            Self::Older { .. } => "upgrade.older",
            Self::Missing | Self::Malformed(_) | Self::Untrusted | Self::OtherFile(_) => "upgrade.signature_wrong",
        }
    }
}

impl ReleaseKeys {
    /// Returns the keys of this build. A key that can't be read counts as none, so that the agent refuses every upgrade.
    pub(crate) fn pinned() -> Self {
        PINNED.map_or(Self::Development, Self::parse)
    }

    fn parse(keys: &str) -> Self {
        Self::Pinned(keys.split(',').filter_map(|key| PublicKey::from_base64(key).ok()).collect())
    }

    /// Verifies the program by `signature`, its signature file of minisign. The signed comment must name an agent for the same
    /// processor that is not older than `own`.
    pub(crate) fn verify(&self, program: &Path, signature: &str, own: OwnBuild) -> Result<(), SignatureError> {
        let Self::Pinned(keys) = self else { return Ok(()) };
        if signature.is_empty() {
            return Err(SignatureError::Missing);
        }
        let signature = Signature::decode(signature).map_err(SignatureError::Malformed)?;
        let verifier = keys.iter().find_map(|key| key.verify_stream(&signature).ok());
        let mut verifier = verifier.ok_or(SignatureError::Untrusted)?;
        let mut file = File::open(program)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match file.read(&mut chunk)? {
                0 => break,
                length => verifier.update(&chunk[..length]),
            }
        }
        verifier.finalize().map_err(|_| SignatureError::Untrusted)?;
        let comment = signature.trusted_comment();
        let signed = signed_version(comment, own.cpu).ok_or_else(|| SignatureError::OtherFile(comment.to_owned()))?;
        if ReleaseVersion::parse(signed) < ReleaseVersion::parse(own.version) {
            return Err(SignatureError::Older { signed: signed.to_owned(), own: own.version });
        }
        Ok(())
    }
}

/// Returns the version of a comment such as `fairlead 0.2.0 fairlead-agent-0.2.0-linux-x64` if it names this processor.
fn signed_version<'a>(comment: &'a str, cpu: &str) -> Option<&'a str> {
    let version = comment.split(' ').nth(1)?;
    (comment == format!("fairlead {version} fairlead-agent-{version}-linux-{cpu}")).then_some(version)
}

/// Version in the order of releases: a pre-release comes before its release.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReleaseVersion {
    numbers: Vec<Identifier>,
    is_release: bool,
    pre_release: Vec<Identifier>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl ReleaseVersion {
    fn parse(text: &str) -> Self {
        let text = text.split('+').next().unwrap_or_default();
        let (numbers, pre_release) = text.split_once('-').map_or((text, None), |(left, right)| (left, Some(right)));
        let identifiers = |text: &str| -> Vec<Identifier> {
            let one = |part: &str| part.parse().map_or_else(|_| Identifier::Text(part.to_owned()), Identifier::Number);
            text.split('.').map(one).collect()
        };
        Self {
            numbers: identifiers(numbers),
            is_release: pre_release.is_none(),
            pre_release: pre_release.map(identifiers).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const FIRST: &str = "RWTHpeNvrawGBpLEw9jrVu0yExxrjsm70e5ul4df7fxBJ+t74shs/5Al";
    const SECOND: &str = "RWThJ7w5zA/u2hfTYY76SOZJ/NIH7nFKe8vBk/PIPyPoGeIFOpSdUm2D";

    /// File that minisign wrote, or that it signed.
    fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/signatures").join(name)
    }

    fn verify_on(keys: &str, name: &str, version: &'static str) -> Result<(), SignatureError> {
        let signature = std::fs::read_to_string(fixture(name)).unwrap();
        let own = OwnBuild { version, cpu: "x64" };
        ReleaseKeys::parse(keys).verify(&fixture("program"), &signature, own)
    }

    fn refused(name: &str) -> (&'static str, String) {
        let error = verify_on(FIRST, name, "0.1.0").unwrap_err();
        (error.code(), error.to_string())
    }

    #[test]
    fn a_program_signed_by_any_pinned_key_is_accepted() {
        verify_on(FIRST, "first.minisig", "0.1.0").unwrap();
        let both = format!("{FIRST},{SECOND}");
        verify_on(&both, "first.minisig", "0.1.0").unwrap();
        verify_on(&both, "second.minisig", "0.1.0").unwrap();
    }

    #[test]
    fn a_program_signed_by_no_pinned_key_or_for_another_purpose_is_refused() {
        let untrusted = ("upgrade.signature_wrong", "no key that this agent trusts has signed it".to_owned());
        assert_eq!(refused("second.minisig"), untrusted);
        assert_eq!(refused("foreign.minisig"), untrusted);
        // Without the digest of BLAKE2b, which releases always have.
        assert_eq!(refused("legacy.minisig"), untrusted);
        for name in ["arm64.minisig", "checksums.minisig"] {
            let (code, message) = refused(name);
            assert_eq!(code, "upgrade.signature_wrong");
            assert!(message.ends_with("which is no agent for this server"), "{message}");
        }
        assert!(refused("program").1.contains("can't be read"));
    }

    #[test]
    fn a_changed_program_or_comment_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        std::fs::write(&program, "another agent").unwrap();
        let signature = std::fs::read_to_string(fixture("first.minisig")).unwrap();
        let own = OwnBuild { version: "0.1.0", cpu: "x64" };
        let keys = ReleaseKeys::parse(FIRST);
        assert!(matches!(keys.verify(&program, &signature, own), Err(SignatureError::Untrusted)));
        let newer = signature.replace("0.2.0", "9.2.0");
        assert!(matches!(keys.verify(&fixture("program"), &newer, own), Err(SignatureError::Untrusted)));
        assert!(matches!(keys.verify(&fixture("program"), "", own), Err(SignatureError::Missing)));
    }

    #[test]
    fn an_older_program_is_refused_and_the_same_version_is_not() {
        verify_on(FIRST, "first.minisig", "0.2.0").unwrap();
        let error = verify_on(FIRST, "first.minisig", "0.2.1").unwrap_err();
        assert_eq!(error.code(), "upgrade.older");
        assert_eq!(error.to_string(), "it is version 0.2.0, older than 0.2.1, which runs");
        verify_on(FIRST, "first.minisig", "0.2.0-rc.9").unwrap();
        assert_eq!(verify_on(FIRST, "pre-release.minisig", "0.2.0").unwrap_err().code(), "upgrade.older");
    }

    #[test]
    fn versions_have_the_order_of_releases() {
        let ordered =
            ["0.1.0-rc.1", "0.1.0-rc.2", "0.1.0-rc.10", "0.1.0", "0.1.0.1", "0.1.1", "0.2.0", "0.10.0", "1.0.0"];
        let versions: Vec<_> = ordered.into_iter().map(ReleaseVersion::parse).collect();
        assert!(versions.is_sorted() && versions.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(ReleaseVersion::parse("1.0.0+build"), ReleaseVersion::parse("1.0.0"));
    }

    #[test]
    fn a_build_with_a_damaged_key_accepts_nothing_and_a_development_build_any_digest() {
        let error = verify_on("damaged", "first.minisig", "0.1.0").unwrap_err();
        assert!(matches!(error, SignatureError::Untrusted));
        ReleaseKeys::Development.verify(&fixture("program"), "", OwnBuild::RUNNING).unwrap();
        let pinned = PINNED.map_or(0, |keys| keys.split(',').count());
        let parsed = match ReleaseKeys::pinned() {
            ReleaseKeys::Development => 0,
            ReleaseKeys::Pinned(keys) => keys.len(),
        };
        assert_eq!(parsed, pinned);
    }
}
