//! Delivery of an app's secrets: the agent opens them just before a start, and passes them over pipes to the shim and
//! the launcher. Invariant: never on disk, in an argument or in the environment of Fairlead's own processes.

use std::io::{self, Read, Write};

use fairlead_model::{AppKey, SealedSecrets, Secret, SecretBundle, SecretDelivery};
use fairlead_secret::{Redactor, SealingKey};
use fairlead_wire::{SECRETS_BYTES_MAX, secret_bundle};
use zeroize::Zeroizing;

/// Variable with the folder of secrets that are files.
pub(crate) const FOLDER_VARIABLE: &str = "FAIRLEAD_SECRETS";

/// True if Fairlead itself sets the variable.
pub(crate) fn is_own(name: &str) -> bool {
    matches!(name, "PORT" | "HOME" | "PATH") || name.starts_with("FAIRLEAD_")
}

/// Plain text of a verified secret bundle.
pub(crate) struct PlainSecrets {
    /// Bytes to hand over.
    pub(crate) plain: Zeroizing<Vec<u8>>,
    /// True if some of them are files.
    pub(crate) files: bool,
}

/// Opens the secrets that were sealed for this app. The error is a sentence.
pub(crate) fn open(key: &SealingKey, of: &AppKey, sealed: &SealedSecrets) -> Result<PlainSecrets, String> {
    let refused = |why: &str| {
        format!(
            "The app's secrets can't be opened on this server: {why}. Deploy again; if that does not help, set the secrets anew."
        )
    };
    let plain = key.open(&sealed.sealed).map_err(|error| refused(&error.to_string()))?;
    let bundle = secret_bundle(&plain).map_err(|error| refused(&error.to_string()))?;
    if bundle.key != *of {
        return Err(refused("they are those of another app or environment"));
    }
    if bundle.version != sealed.version {
        return Err(refused("they are of another version than was announced"));
    }
    let files = bundle.secrets.iter().any(|secret| secret.delivery == SecretDelivery::File);
    Ok(PlainSecrets { plain, files })
}

/// Returns a redactor of all secrets of these releases. Skips secrets that can't be opened: no app ever received them.
pub fn redactor<'a>(
    key: &SealingKey,
    sealed: impl IntoIterator<Item = (&'a AppKey, &'a SealedSecrets)>,
) -> Option<Redactor> {
    let opened = sealed.into_iter().filter_map(|(of, sealed)| {
        let opened = open(key, of, sealed).map_err(|error| tracing::warn!(app = %of, %error, "left out of redaction"));
        secret_bundle(&opened.ok()?.plain).ok()
    });
    let secrets: Vec<Secret> = opened.flat_map(|bundle| bundle.secrets).collect();
    Redactor::new(secrets.iter().map(|secret| secret.value.as_slice()))
}

/// Writes the format that `receive` reads: the length in four bytes, then the bytes.
pub(crate) fn hand_over(mut to: impl Write, plain: &[u8]) -> io::Result<()> {
    to.write_all(&head(plain)?)?;
    to.write_all(plain)
}

/// Encodes the length in four bytes, big-endian.
pub(crate) fn head(plain: &[u8]) -> io::Result<[u8; 4]> {
    Ok(u32::try_from(plain.len()).map_err(|_| io::ErrorKind::InvalidInput)?.to_be_bytes())
}

/// Reads secrets from standard input, which is empty from then on. `version` is the required version.
pub(crate) fn receive(version: &str) -> io::Result<(Zeroizing<Vec<u8>>, SecretBundle)> {
    let mut length = [0u8; 4];
    Stdin.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > SECRETS_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Its full size is allocated at once: growing would leave copies behind.
    let mut plain = Zeroizing::new(vec![0; length]);
    Stdin.read_exact(&mut plain)?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    let bundle = secret_bundle(&plain).map_err(io::Error::other)?;
    if bundle.version != version {
        return Err(io::Error::other("the secrets are of another version"));
    }
    Ok((plain, bundle))
}

/// Standard input without the standard library's buffer, which would keep a copy.
struct Stdin;

impl Read for Stdin {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(rustix::stdio::stdin(), into)?)
    }
}
