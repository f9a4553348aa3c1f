//! Certificate authorities of this server, one for `.localhost` names and one for the host of the control plane. Invariant: a
//! key never leaves its file, and a root can sign only for its own names.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use fairlead_base::file;
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, NameConstraints, PKCS_ECDSA_P256_SHA256,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use time::{Duration, OffsetDateTime};

/// Maximum lifetime of a leaf that every platform accepts (Apple's limit for locally trusted roots).
const LEAF_DAYS_MAX: i64 = 825;
const LEAF_DAYS: i64 = 397;
const ROOT_DAYS: i64 = 3650;
/// Remaining lifetime below which a leaf is renewed.
const RENEW_BEFORE_DAYS: i64 = 30;
const _: () = assert!(LEAF_DAYS <= LEAF_DAYS_MAX);

/// Reason why the authority can't be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A file can't be read or written.
    #[error("cannot use {path}: {source}")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The folder's files are no valid authority.
    #[error("{folder} holds no usable authority ({reason}); move it away to get a new one, then trust that")]
    Damaged {
        folder: PathBuf,
        /// Reason why they are invalid.
        reason: String,
    },
    /// The host is outside of the authority's scope.
    #[error("the authority signs only {scope}, not {host}")]
    Host {
        /// Names that it signs.
        scope: String,
        host: String,
    },
    /// The certificate can't be created.
    #[error("a certificate could not be made")]
    Make(#[from] rcgen::Error),
}

/// Leaf certificate and its key, in the form that the proxy reads.
#[derive(Clone)]
pub struct Certificate {
    /// Chain with the leaf only, as clients hold the root.
    pub chain_der: Vec<Vec<u8>>,
    /// Private key of the leaf, PKCS#8.
    pub key_pkcs8_der: Vec<u8>,
    /// Time of renewal, in Unix seconds.
    pub renew_after_unix_s: i64,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("renew_after_unix_s", &self.renew_after_unix_s).finish_non_exhaustive()
    }
}

/// Names that an authority signs; its root's name constraints say the same (RFC 5280, 4.2.1.10).
#[derive(Debug, Clone, PartialEq, Eq)]
enum Scope {
    /// Names below `localhost`, which mean this machine.
    Localhost,
    /// One DNS name.
    Name(String),
    /// One IP address.
    Address(IpAddr),
}

impl Scope {
    /// Parses the host of a URL; an IPv6 address may have brackets.
    fn of_host(host: &str) -> Self {
        address_of(host).map_or_else(|| Self::Name(host.to_owned()), Self::Address)
    }

    fn includes(&self, host: &str) -> bool {
        match self {
            Self::Localhost => host.ends_with(".localhost"),
            Self::Name(name) => host == name,
            Self::Address(address) => address_of(host) == Some(*address),
        }
    }

    /// Constraints that make a stolen root useless for other sites.
    fn constraints(&self) -> NameConstraints {
        let every_address = || {
            [CidrSubnet::V4([0; 4], [0; 4]), CidrSubnet::V6([0; 16], [0; 16])].map(GeneralSubtree::IpAddress).to_vec()
        };
        match self {
            Self::Localhost => NameConstraints {
                permitted_subtrees: vec![GeneralSubtree::DnsName("localhost".to_owned())],
                excluded_subtrees: every_address(),
            },
            Self::Name(name) => NameConstraints {
                permitted_subtrees: vec![GeneralSubtree::DnsName(name.clone())],
                excluded_subtrees: every_address(),
            },
            Self::Address(address) => NameConstraints {
                permitted_subtrees: vec![GeneralSubtree::IpAddress(match address {
                    IpAddr::V4(ip) => CidrSubnet::V4(ip.octets(), [0xff; 4]),
                    IpAddr::V6(ip) => CidrSubnet::V6(ip.octets(), [0xff; 16]),
                })],
                // The empty name includes every name.
                excluded_subtrees: vec![GeneralSubtree::DnsName(String::new())],
            },
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Localhost => f.write_str("names that end in .localhost"),
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// Returns the address of a host that is one, with or without the brackets of a URL.
pub(crate) fn address_of(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

/// Root key and certificate, in `ca.key` (0600) and `ca.pem` of one folder.
pub struct LocalAuthority {
    scope: Scope,
    issuer: Issuer<'static, KeyPair>,
    root_der: CertificateDer<'static>,
    root_path: PathBuf,
}

impl fmt::Debug for LocalAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalAuthority").field("root_path", &self.root_path).finish_non_exhaustive()
    }
}

impl LocalAuthority {
    /// Opens the authority for `.localhost` names in a folder, or creates one.
    pub fn open_or_create(folder: &Path) -> Result<Self, AuthorityError> {
        Self::open_or_create_in(folder, Scope::Localhost)
    }

    /// Opens the authority for one host, a name or an IP address, in a folder, or creates one.
    pub fn open_or_create_for(folder: &Path, host: &str) -> Result<Self, AuthorityError> {
        Self::open_or_create_in(folder, Scope::of_host(host))
    }

    fn open_or_create_in(folder: &Path, scope: Scope) -> Result<Self, AuthorityError> {
        let (key_path, root_path) = (folder.join("ca.key"), folder.join("ca.pem"));
        let read = |path: &Path| {
            file::read_if_present(path).map_err(|source| AuthorityError::File { path: path.to_path_buf(), source })
        };
        // The root is written last, so a key without a root is left by a crash; no client can trust it yet.
        match (read(&key_path)?, read(&root_path)?) {
            (Some(key), Some(root)) => Self::open(folder, scope, &key, &root, root_path),
            (None, Some(_)) => {
                Err(AuthorityError::Damaged { folder: folder.to_path_buf(), reason: "ca.key is missing".to_owned() })
            }
            (_, None) => Self::create(folder, scope, &key_path, root_path),
        }
    }

    fn create(folder: &Path, scope: Scope, key_path: &Path, root_path: PathBuf) -> Result<Self, AuthorityError> {
        let at = |path: &Path| {
            let path = path.to_path_buf();
            move |source| AuthorityError::File { path, source }
        };
        std::fs::create_dir_all(folder).map_err(at(folder))?;
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let params = root_params(&key, &scope)?;
        let root = params.self_signed(&key)?;
        file::replace(key_path, key.serialize_pem().as_bytes(), 0o600).map_err(at(key_path))?;
        file::replace(&root_path, root.pem().as_bytes(), 0o644).map_err(at(&root_path))?;
        Ok(Self { root_der: root.der().clone(), issuer: Issuer::new(params, key), root_path, scope })
    }

    fn open(folder: &Path, scope: Scope, key: &[u8], root: &[u8], root_path: PathBuf) -> Result<Self, AuthorityError> {
        let damaged = |reason: String| AuthorityError::Damaged { folder: folder.to_path_buf(), reason };
        let key = std::str::from_utf8(key).map_err(|error| damaged(format!("ca.key: {error}")))?;
        let key = KeyPair::from_pem(key).map_err(|error| damaged(format!("ca.key: {error}")))?;
        let root_der = CertificateDer::from_pem_slice(root).map_err(|error| damaged(format!("ca.pem: {error}")))?;
        // The root contains its public key as exactly these bytes.
        if !root_der.windows(key.public_key_raw().len()).any(|window| window == key.public_key_raw()) {
            return Err(damaged("ca.pem was made with another key".to_owned()));
        }
        Ok(Self { issuer: Issuer::new(root_params(&key, &scope)?, key), root_der, root_path, scope })
    }

    /// Issues a certificate for one exact host, with a new key.
    pub fn leaf(&self, host: &str) -> Result<Certificate, AuthorityError> {
        if !self.scope.includes(host) {
            return Err(AuthorityError::Host { scope: self.scope.to_string(), host: host.to_owned() });
        }
        // OpenSSL applies constraints of names to a common name that looks like one, as an address does.
        let (name, common_name) = match address_of(host) {
            Some(address) => (address.to_string(), format!("Fairlead at {address}")),
            None => (host.to_owned(), host.to_owned()),
        };
        let now = OffsetDateTime::now_utc();
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::new(vec![name])?;
        params.distinguished_name.push(DnType::CommonName, common_name);
        // A client's clock may be behind.
        params.not_before = now - Duration::HOUR;
        params.not_after = now + Duration::days(LEAF_DAYS);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let leaf = params.signed_by(&key, &self.issuer)?;
        Ok(Certificate {
            chain_der: vec![leaf.der().to_vec()],
            key_pkcs8_der: key.serialize_der(),
            renew_after_unix_s: (now + Duration::days(LEAF_DAYS - RENEW_BEFORE_DAYS)).unix_timestamp(),
        })
    }

    /// Returns the root certificate, for clients that pin it.
    pub fn root_der(&self) -> &[u8] {
        &self.root_der
    }

    /// Returns the path of the root certificate, for people who install it.
    pub fn root_path(&self) -> &Path {
        &self.root_path
    }
}

/// Derives the root's parameters from its key, so that a reopened authority issues under the same name.
fn root_params(key: &KeyPair, scope: &Scope) -> Result<CertificateParams, AuthorityError> {
    let mut params = CertificateParams::new(Vec::new())?;
    let fingerprint: String = key.public_key_raw().iter().skip(1).take(4).map(|byte| format!("{byte:02x}")).collect();
    let name = match scope {
        Scope::Localhost => format!("Fairlead local authority {fingerprint}"),
        Scope::Name(_) | Scope::Address(_) => format!("Fairlead authority of {scope} {fingerprint}"),
    };
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let now = OffsetDateTime::now_utc();
    params.not_before = now - Duration::HOUR;
    params.not_after = now + Duration::days(ROOT_DAYS);
    params.name_constraints = Some(scope.constraints());
    Ok(params)
}
