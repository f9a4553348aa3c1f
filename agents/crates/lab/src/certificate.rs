//! Certificate that all proxies of a run share, in the format of each.

use std::io::{Error, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fairlead_tls::{AuthorityError, Certificate, LocalAuthority};

/// Host of all requests to the lab's own app.
pub const HOST: &str = "bench.localhost";

const LINE_CHARS: usize = 64;

/// Files of the certificate and its key.
pub(crate) const CERTIFICATE_FILES: [&str; 3] = ["leaf.pem", "leaf-key.pem", "both.pem"];

/// Certificate of a host and the root to trust.
#[derive(Debug)]
pub struct LabCertificate {
    pub root_der: Vec<u8>,
    pub leaf: Certificate,
}

/// Issues a certificate of `host` and writes `ca/ca.pem` (to trust), `leaf.pem`, `leaf-key.pem` and `both.pem` to a folder.
pub fn issue(folder: &Path, host: &str) -> Result<LabCertificate> {
    let failed = |error: AuthorityError| Error::other(error);
    let authority = LocalAuthority::open_or_create_for(&folder.join("ca"), host).map_err(failed)?;
    let leaf = authority.leaf(host).map_err(failed)?;
    let chain = leaf.chain_der.iter().map(|der| pem("CERTIFICATE", der)).collect::<String>();
    let key = pem("PRIVATE KEY", &leaf.key_pkcs8_der);
    std::fs::write(folder.join("leaf.pem"), &chain)?;
    write_secret(&folder.join("leaf-key.pem"), &key)?;
    write_secret(&folder.join("both.pem"), &(chain + &key))?;
    Ok(LabCertificate { root_der: authority.root_der().to_vec(), leaf })
}

fn write_secret(file: &Path, text: &str) -> Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    file.write_all(text.as_bytes())
}

fn pem(kind: &str, der: &[u8]) -> String {
    let base64 = STANDARD.encode(der);
    let lines: Vec<&str> =
        base64.as_bytes().chunks(LINE_CHARS).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}
