//! Reads certificates from PEM files of a chain and a key. Takes the host names from the leaf.

use std::path::{Path, PathBuf};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Certificate and key, read from files.
pub struct CertificateFile {
    /// Host names of the leaf in lower case, including wildcards.
    pub hosts: Vec<String>,
    /// Chain: the leaf, then its issuers.
    pub chain_der: Vec<Vec<u8>>,
    /// Private key of the leaf, PKCS#8.
    pub key_pkcs8_der: Vec<u8>,
}

/// Reason why the files can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateFileError {
    /// A file can't be read or is not PEM of the expected kind.
    #[error("{path}: {source}")]
    Pem {
        path: PathBuf,
        #[source]
        source: pem::Error,
    },
    /// The leaf names no host.
    #[error("{path}: the first certificate names no host (subject alternative names)")]
    NoHosts { path: PathBuf },
    /// The key has an unsupported type.
    #[error("{path}: this key can't be used; write it anew with `openssl pkcs8 -topk8 -nocrypt`")]
    Key { path: PathBuf },
}

/// Reads a chain and its key. Accepts keys as PKCS#8, SEC 1 or PKCS#1.
pub fn read_certificate(chain: &Path, key: &Path) -> Result<CertificateFile, CertificateFileError> {
    let pem = |path: &Path| {
        let path = path.to_owned();
        move |source| CertificateFileError::Pem { path, source }
    };
    let certificates = CertificateDer::pem_file_iter(chain).map_err(pem(chain))?;
    let chain_der: Vec<CertificateDer<'_>> = certificates.collect::<Result<_, _>>().map_err(pem(chain))?;
    let leaf = chain_der.first().ok_or(pem::Error::NoItemsFound).map_err(pem(chain))?;
    let no_hosts = || CertificateFileError::NoHosts { path: chain.to_owned() };
    let names = webpki::EndEntityCert::try_from(leaf).map_err(|_| no_hosts())?;
    let hosts: Vec<String> = names.valid_dns_names().map(str::to_ascii_lowercase).collect();
    if hosts.is_empty() {
        return Err(no_hosts());
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(pem(key))?;
    let key_pkcs8_der = pkcs8(&private).ok_or_else(|| CertificateFileError::Key { path: key.to_owned() })?;
    Ok(CertificateFile { hosts, chain_der: chain_der.into_iter().map(|der| der.to_vec()).collect(), key_pkcs8_der })
}

fn pkcs8(key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    match key {
        PrivateKeyDer::Pkcs8(key) => Some(key.secret_pkcs8_der().to_vec()),
        PrivateKeyDer::Sec1(key) => {
            let read = |algorithm| EcdsaKeyPair::from_private_key_der(algorithm, key.secret_sec1_der()).ok();
            let pair = read(&ECDSA_P256_SHA256_ASN1_SIGNING).or_else(|| read(&ECDSA_P384_SHA384_ASN1_SIGNING))?;
            Some(pair.to_pkcs8v1().ok()?.as_ref().to_vec())
        }
        PrivateKeyDer::Pkcs1(key) => {
            let pair = aws_lc_rs::rsa::KeyPair::from_der(key.secret_pkcs1_der()).ok()?;
            Some(AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).ok()?.as_ref().to_vec())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn names_come_from_the_leaf_and_keys_of_each_kind_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let names = ["A.example.com".to_owned(), "*.example.com".to_owned()];
        let leaf = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let chain = write(folder.path(), "chain.pem", &leaf.pem());
        let pkcs8 = write(folder.path(), "key.pem", &key.serialize_pem());
        let read = read_certificate(&chain, &pkcs8).unwrap();
        assert_eq!(read.hosts, ["a.example.com", "*.example.com"]);
        assert_eq!((read.chain_der.len(), read.key_pkcs8_der.as_slice()), (1, key.serialized_der()));

        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.serialized_der()).unwrap();
        let sec1 =
            aws_lc_rs::encoding::AsDer::<aws_lc_rs::encoding::EcPrivateKeyRfc5915Der<'_>>::as_der(&pair.private_key());
        let text = pem_of("EC PRIVATE KEY", sec1.unwrap().as_ref());
        let sec1 = write(folder.path(), "sec1.pem", &text);
        let read = read_certificate(&chain, &sec1).unwrap();
        assert!(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &read.key_pkcs8_der).is_ok());
    }

    #[test]
    fn an_invalid_file_is_named_in_the_error() {
        let folder = tempfile::tempdir().unwrap();
        let empty = write(folder.path(), "empty.pem", "");
        let missing = folder.path().join("missing.pem");
        for chain in [&empty, &missing] {
            let error = read_certificate(chain, &empty).err().unwrap().to_string();
            assert!(error.contains(&*chain.to_string_lossy()), "{error}");
        }
    }

    fn pem_of(kind: &str, der: &[u8]) -> String {
        use base64::Engine;
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n")
    }
}
