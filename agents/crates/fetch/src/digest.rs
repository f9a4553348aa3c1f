//! Digests of files, parsed from the notations of their publishers (`sha256:<hex>`, Subresource Integrity).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use aws_lc_rs::digest::{Algorithm, Context, SHA256, SHA512};
use base64::Engine;

/// Expected digest of a file, SHA-256 or SHA-512.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    algorithm: &'static Algorithm,
    bytes: Vec<u8>,
}

impl Digest {
    /// Parses `sha256:<hex>`, or the hex alone.
    pub fn sha256(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).ok();
        let bytes: Option<Vec<u8>> = (0..64).step_by(2).map(byte).collect();
        Some(Self { algorithm: &SHA256, bytes: bytes? })
    }

    /// Parses `sha512-<base64>` (Subresource Integrity), as npm's registry publishes it.
    pub fn integrity(text: &str) -> Option<Self> {
        let strong = text.split_ascii_whitespace().find_map(|one| one.strip_prefix("sha512-"))?;
        let bytes = base64::engine::general_purpose::STANDARD.decode(strong).ok()?;
        (bytes.len() == 64).then_some(Self { algorithm: &SHA512, bytes })
    }

    /// Returns true if the file has this digest. Reads the whole file.
    pub fn is_of(&self, path: &Path) -> io::Result<bool> {
        read(path, Self::context(Some(self))).map(|context| self.is(context))
    }

    /// Returns the SHA-256 of a file in lower-case hex. Reads the whole file.
    pub fn hex_of(path: &Path) -> io::Result<String> {
        let digest = read(path, Self::context(None))?.finish();
        Ok(digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns a hash context for the digest's algorithm, or for SHA-256 without a digest.
    pub(crate) fn context(of: Option<&Self>) -> Context {
        Context::new(of.map_or(&SHA256, |digest| digest.algorithm))
    }

    pub(crate) fn is(&self, context: Context) -> bool {
        context.finish().as_ref() == self.bytes
    }
}

fn read(path: &Path, mut context: Context) -> io::Result<Context> {
    let (mut file, mut piece) = (File::open(path)?, vec![0; 1 << 17]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(context),
            count => context.update(&piece[..count]),
        }
    }
}
