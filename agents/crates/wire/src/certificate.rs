//! Parser of certificates in desired state, and of the plain text of sealed keys. Invariant: no error here contains a key.

use std::collections::{HashMap, HashSet};
use std::fmt;

use fairlead_model::{
    AcmeAccount, AcmeAccountId, AcmeOrder, CertificateId, CertificateSpec, IssuedCertificate, SealedKey, StateError,
};
use prost::Message;
use zeroize::Zeroizing;

use crate::agent;
use crate::parse::{host, id, within, wrong};

/// Maximum size of a chain: leaf and issuers, a few kilobytes each.
const CHAIN_BYTES_MAX: usize = 64 * 1024;
const SEALED_KEY_BYTES_MAX: usize = 16 * 1024;
/// Limit of certificate authorities, such as Let's Encrypt.
const HOSTS_MAX: u64 = 100;
const CA_PEM_BYTES_MAX: u64 = 64 * 1024;

/// Parses the certificates of a state with the accounts of their orders.
pub(crate) fn certificates(
    specs: Vec<agent::CertificateSpec>,
    accounts: Vec<agent::AcmeAccount>,
) -> Result<Vec<CertificateSpec>, StateError> {
    let mut by_id = HashMap::new();
    for (index, spec) in accounts.into_iter().enumerate() {
        let account = account(&format!("acme_accounts[{index}]"), spec)?;
        by_id.insert(account.id.clone(), account);
    }
    let (mut parsed, mut hosts) = (Vec::with_capacity(specs.len()), HashSet::new());
    for (index, spec) in specs.into_iter().enumerate() {
        let at = format!("certificates[{index}]");
        let spec = certificate(&at, spec, &by_id)?;
        // The proxy refuses a table with two certificates for one host.
        if let Some(host) = spec.hosts.iter().find(|host| !hosts.insert((*host).clone())) {
            return Err(wrong(&at, format!("is the second for {host}")));
        }
        parsed.push(spec);
    }
    Ok(parsed)
}

fn certificate(
    at: &str,
    spec: agent::CertificateSpec,
    accounts: &HashMap<AcmeAccountId, AcmeAccount>,
) -> Result<CertificateSpec, StateError> {
    within(at, "hosts.length", spec.hosts.len() as u64, 1, HOSTS_MAX)?;
    for name in &spec.hosts {
        host(&format!("{at}.hosts"), name)?;
    }
    let issued = match spec.chain_der.is_empty() {
        true => None,
        false => {
            let bytes: usize = spec.chain_der.iter().map(Vec::len).sum();
            within(at, "chain_der.length", bytes as u64, 1, CHAIN_BYTES_MAX as u64)?;
            Some(IssuedCertificate { chain_der: spec.chain_der, sealed_key: sealed_key(at, spec.sealed_key)? })
        }
    };
    let thumbprint = spec.challenge_thumbprint;
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if thumbprint.len() > 64 || !thumbprint.bytes().all(is_base64url) {
        return Err(wrong(&format!("{at}.challenge_thumbprint"), "is not a thumbprint"));
    }
    Ok(CertificateSpec {
        id: id::<CertificateId>(at, "certificate_id", &spec.certificate_id)?,
        hosts: spec.hosts,
        issued,
        order: spec.order.map(|spec| order(&format!("{at}.order"), spec, accounts)).transpose()?,
        challenge_thumbprint: Some(thumbprint).filter(|thumbprint| !thumbprint.is_empty()),
    })
}

fn order(
    at: &str,
    spec: agent::AcmeOrder,
    accounts: &HashMap<AcmeAccountId, AcmeAccount>,
) -> Result<AcmeOrder, StateError> {
    if agent::AcmeChallengeKind::try_from(spec.challenge).is_err() {
        return Err(wrong(&format!("{at}.challenge"), "is unknown here"));
    }
    let account = id::<AcmeAccountId>(at, "account_id", &spec.account_id)?;
    let account = accounts.get(&account).ok_or_else(|| wrong(&format!("{at}.account_id"), "is not in the state"))?;
    Ok(AcmeOrder { attempt: spec.attempt, account: account.clone(), sealed_key: sealed_key(at, spec.sealed_key)? })
}

fn account(at: &str, spec: agent::AcmeAccount) -> Result<AcmeAccount, StateError> {
    if !spec.directory_url.starts_with("https://") || spec.directory_url.len() > 2048 {
        return Err(wrong(&format!("{at}.directory_url"), "is not an https address"));
    }
    within(at, "directory_ca_pem.length", spec.directory_ca_pem.len() as u64, 0, CA_PEM_BYTES_MAX)?;
    within(at, "email.length", spec.email.len() as u64, 0, 320)?;
    Ok(AcmeAccount {
        id: id(at, "account_id", &spec.account_id)?,
        directory_url: spec.directory_url,
        directory_ca_pem: spec.directory_ca_pem,
        email: spec.email,
        sealed_key: sealed_key(at, spec.sealed_key)?,
    })
}

fn sealed_key(at: &str, sealed: Vec<u8>) -> Result<SealedKey, StateError> {
    within(at, "sealed_key.length", sealed.len() as u64, 1, SEALED_KEY_BYTES_MAX as u64)?;
    Ok(SealedKey(sealed))
}

/// Parses the plain text of a certificate's key: PKCS#8 in DER.
pub fn certificate_key(bytes: &[u8], certificate: &CertificateId) -> Result<Zeroizing<Vec<u8>>, StateError> {
    // The decoder's error message may quote what it read.
    let message = agent::CertificateKey::decode(bytes).map_err(|_| wrong("certificate_key", "can't be read"))?;
    let key = Zeroizing::new(message.key_der);
    if message.certificate_id != certificate.as_str() {
        return Err(wrong("certificate_key", "belongs to another certificate"));
    }
    Ok(key)
}

/// Parses the plain text of an account's key: PKCS#8 in DER.
pub fn acme_account_key(bytes: &[u8], account: &AcmeAccountId) -> Result<Zeroizing<Vec<u8>>, StateError> {
    let message = agent::AcmeAccountKey::decode(bytes).map_err(|_| wrong("acme_account_key", "can't be read"))?;
    let key = Zeroizing::new(message.key_der);
    if message.account_id != account.as_str() {
        return Err(wrong("acme_account_key", "belongs to another account"));
    }
    Ok(key)
}

impl fmt::Debug for agent::CertificateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateKey").field("certificate_id", &self.certificate_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for agent::AcmeAccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcmeAccountKey").field("account_id", &self.account_id).finish_non_exhaustive()
    }
}
