//! Certificate store: selects certificates by host name and is replaced as a whole during handshakes.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::authority::address_of;
use crate::tls_alpn::{TlsAlpnError, challenge_certificate, is_challenge};
use crate::{TlsPolicy, TlsPolicySource};

/// Certificate of a snapshot.
#[derive(Clone, Copy)]
pub struct CertificateSource<'a> {
    /// Host names in lower case; `*.example.com` covers every name with one more label than `example.com`.
    pub hosts: &'a [String],
    /// Chain: the leaf, then its issuers.
    pub chain_der: &'a [Vec<u8>],
    /// Private key of the leaf, PKCS#8.
    pub key_pkcs8_der: &'a [u8],
}

/// Reason why a certificate can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// It has no host names or an empty chain.
    #[error("the certificate for {hosts} is empty")]
    Empty {
        /// The hosts it was for.
        hosts: String,
    },
    /// Two routes of a host have different TLS policies.
    #[error("{host} has two TLS policies")]
    Policy { host: String },
    /// Two certificates claim one host.
    #[error("{host} has two certificates")]
    Duplicate { host: String },
    /// The authorities of client certificates are no certificates.
    #[error("the authorities of client certificates for {host} are not certificates in PEM")]
    ClientAuthorities { host: String },
    /// The key is invalid or belongs to another certificate.
    #[error("the certificate for {hosts} and its key can't be used: {reason}")]
    Key {
        /// The hosts it was for.
        hosts: String,
        /// Error of rustls; contains no secret.
        reason: rustls::Error,
    },
}

/// Certificates of one snapshot, by host.
#[derive(Default)]
pub struct CertificateSet {
    by_host: HashMap<Box<str>, Arc<CertificateEntry>>,
    /// Wildcard certificates, by the name after `*.`.
    by_parent: HashMap<Box<str>, Arc<CertificateEntry>>,
    /// Certificate for connections without SNI, which clients send for names only (RFC 6066, 3): the first one for an IP
    /// address.
    without_name: Option<Arc<CertificateEntry>>,
    /// TLS policies of hosts that have one; wildcards by the name after `*.`, with a dot before it.
    policies: HashMap<Box<str>, Arc<TlsPolicy>>,
    /// Hosts with routes of their own and no policy, below a wildcard that has one.
    without_policy: HashSet<Box<str>>,
    /// Answers to TLS-ALPN-01 challenges, by host.
    challenges: HashMap<Box<str>, Arc<CertifiedKey>>,
}

struct CertificateEntry {
    key_pkcs8_der: Box<[u8]>,
    certified: Arc<CertifiedKey>,
}

impl CertificateSet {
    /// Builds a set without TLS policies. Reuses certificates of `previous` with the same bytes.
    pub fn build<'a>(
        sources: impl IntoIterator<Item = CertificateSource<'a>>,
        previous: &Self,
    ) -> Result<Self, CertificateError> {
        Self::with_policies(sources, [], [], previous)
    }

    /// Builds a set. Reuses certificates of `previous` with the same bytes, and policies that are the same. `hosts` are those
    /// of all routes: a wildcard's policy leaves them alone, because they may belong to others.
    pub fn with_policies<'a>(
        sources: impl IntoIterator<Item = CertificateSource<'a>>,
        policies: impl IntoIterator<Item = TlsPolicySource<'a>>,
        hosts: impl IntoIterator<Item = &'a str>,
        previous: &Self,
    ) -> Result<Self, CertificateError> {
        let mut set = Self::default();
        for source in policies {
            let key = source.host.strip_prefix('*').unwrap_or(source.host);
            // Routes of one host have the same policy; another one would let its other paths choose.
            if let Some(known) = set.policies.get(key) {
                if known.is(&source) {
                    continue;
                }
                return Err(CertificateError::Policy { host: source.host.to_owned() });
            }
            let policy = match previous.policies.get(key) {
                Some(policy) if policy.is(&source) => Arc::clone(policy),
                _ => Arc::new(TlsPolicy::read(&source)?),
            };
            set.policies.insert(key.into(), policy);
        }
        for host in hosts {
            let is_covered = parent_of(host).is_some_and(|parent| set.policies.contains_key(parent));
            if is_covered && !host.starts_with('*') && !set.policies.contains_key(host) {
                set.without_policy.insert(host.into());
            }
        }
        for source in sources {
            let entry = match source.hosts.first().and_then(|host| previous.named(host)) {
                Some(entry) if entry.is(&source) => Arc::clone(entry),
                _ => Arc::new(CertificateEntry::read(&source)?),
            };
            for host in source.hosts {
                if address_of(host).is_some() {
                    set.without_name.get_or_insert_with(|| Arc::clone(&entry));
                }
                let (map, name) = match host.strip_prefix("*.") {
                    Some(parent) => (&mut set.by_parent, parent),
                    None => (&mut set.by_host, host.as_str()),
                };
                if map.insert(name.into(), Arc::clone(&entry)).is_some() {
                    return Err(CertificateError::Duplicate { host: host.clone() });
                }
            }
        }
        Ok(set)
    }

    /// Adds answers to TLS-ALPN-01 challenges: hosts with the SHA-256 of their key authorization.
    pub fn with_challenges<'a>(
        mut self,
        challenges: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Self, TlsAlpnError> {
        for (host, digest) in challenges {
            self.challenges.insert(host.into(), challenge_certificate(host, digest)?);
        }
        Ok(self)
    }

    /// True if a host has a certificate.
    pub fn has(&self, host: &str) -> bool {
        self.find(host).is_some()
    }

    /// True if any host has a TLS policy.
    pub fn has_policies(&self) -> bool {
        !self.policies.is_empty()
    }

    /// Returns the TLS policy of a host, else that of its wildcard if the host has no route of its own.
    pub fn policy(&self, host: &str) -> Option<Arc<TlsPolicy>> {
        if self.without_policy.contains(host) {
            return None;
        }
        let own = self.policies.get(host.strip_prefix('*').unwrap_or(host));
        own.or_else(|| self.policies.get(parent_of(host)?)).cloned()
    }

    /// Returns the certificate for exactly this name.
    fn named(&self, host: &str) -> Option<&Arc<CertificateEntry>> {
        match host.strip_prefix("*.") {
            Some(parent) => self.by_parent.get(parent),
            None => self.by_host.get(host),
        }
    }

    /// Returns the host's certificate, else the wildcard's. A wildcard stands for one label (RFC 9525, 6.3).
    fn find(&self, host: &str) -> Option<&Arc<CertificateEntry>> {
        let own = self.by_host.get(host);
        own.or_else(|| self.by_parent.get(host.split_once('.').filter(|(label, _)| !label.is_empty())?.1))
    }
}

/// Returns the part of a host after its first label, with the dot; `None` for a single label or the key of a wildcard.
fn parent_of(host: &str) -> Option<&str> {
    Some(&host[host.find('.').filter(|length| *length > 0)?..])
}

impl fmt::Debug for CertificateSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_host.keys()).entries(self.by_parent.keys()).finish()
    }
}

impl CertificateEntry {
    fn read(source: &CertificateSource<'_>) -> Result<Self, CertificateError> {
        let hosts = || source.hosts.join(", ");
        if source.hosts.is_empty() || source.chain_der.is_empty() {
            return Err(CertificateError::Empty { hosts: hosts() });
        }
        let key = PrivateKeyDer::Pkcs8(source.key_pkcs8_der.to_vec().into());
        let key = any_supported_type(&key).map_err(|reason| CertificateError::Key { hosts: hosts(), reason })?;
        let chain = source.chain_der.iter().map(|der| CertificateDer::from(der.clone())).collect();
        let certified = CertifiedKey::new(chain, key);
        certified.keys_match().map_err(|reason| CertificateError::Key { hosts: hosts(), reason })?;
        Ok(Self { key_pkcs8_der: source.key_pkcs8_der.into(), certified: Arc::new(certified) })
    }

    fn is(&self, source: &CertificateSource<'_>) -> bool {
        *self.key_pkcs8_der == *source.key_pkcs8_der
            && self.certified.cert.iter().map(AsRef::as_ref).eq(source.chain_der.iter().map(Vec::as_slice))
    }
}

/// Certificate resolver for handshakes. A client that offers only `acme-tls/1` gets the answer to a challenge. A client with an
/// unknown name gets no certificate and no connection. The same holds for a client without SNI, unless an IP address has a
/// certificate.
#[derive(Debug, Default)]
pub struct CertificateStore {
    set: RwLock<Arc<CertificateSet>>,
}

impl CertificateStore {
    /// Returns the current set.
    pub fn current(&self) -> Arc<CertificateSet> {
        Arc::clone(&self.set.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the set; running handshakes keep the certificate that they selected.
    pub fn swap(&self, set: Arc<CertificateSet>) {
        *self.set.write().unwrap_or_else(PoisonError::into_inner) = set;
    }
}

impl ResolvesServerCert for CertificateStore {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // rustls gives the name in lower case.
        let set = self.current();
        if is_challenge(&hello) {
            return set.challenges.get(hello.server_name()?).cloned();
        }
        let entry = match hello.server_name() {
            Some(name) => set.find(name),
            None => set.without_name.as_ref(),
        };
        Some(Arc::clone(&entry?.certified))
    }
}
