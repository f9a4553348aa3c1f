//! Parser of certificates in desired state, and of the plain text of sealed keys. Invariant: no error here contains a key.

use std::collections::{HashMap, HashSet};
use std::fmt;

use fairlead_model::{
    AcmeAccount, AcmeAccountId, AcmeChallenge, AcmeOrder, AcmeProof, CertificateId, CertificateSpec, IssuedCertificate,
    SealedKey, StateError,
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
/// Length of 32 bytes in base64url.
const PROOF_CHARS: usize = 43;

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
        // The proxy refuses a table with two certificates for one host. One that is ordered may take over from another.
        let is_issued = spec.issued.is_some();
        if let Some(host) = spec.hosts.iter().find(|host| !hosts.insert((is_issued, (*host).clone()))) {
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
    if thumbprint.len() > 64 || !is_base64url(&thumbprint) {
        return Err(wrong(&format!("{at}.challenge_thumbprint"), "is not a thumbprint"));
    }
    Ok(CertificateSpec {
        id: id::<CertificateId>(at, "certificate_id", &spec.certificate_id)?,
        hosts: spec.hosts,
        issued,
        order: spec.order.map(|spec| order(&format!("{at}.order"), spec, accounts)).transpose()?,
        challenge_thumbprint: Some(thumbprint).filter(|thumbprint| !thumbprint.is_empty()),
        tls_alpn_proofs: proofs(&format!("{at}.tls_alpn_proofs"), spec.tls_alpn_proofs)?,
    })
}

fn order(
    at: &str,
    spec: agent::AcmeOrder,
    accounts: &HashMap<AcmeAccountId, AcmeAccount>,
) -> Result<AcmeOrder, StateError> {
    let challenge = match agent::AcmeChallengeKind::try_from(spec.challenge) {
        Ok(agent::AcmeChallengeKind::Unspecified) => AcmeChallenge::Http01,
        Ok(agent::AcmeChallengeKind::Dns01) => AcmeChallenge::Dns01,
        Ok(agent::AcmeChallengeKind::TlsAlpn01) => AcmeChallenge::TlsAlpn01,
        Err(_) => return Err(wrong(&format!("{at}.challenge"), "is unknown here")),
    };
    let account = id::<AcmeAccountId>(at, "account_id", &spec.account_id)?;
    let account = accounts.get(&account).ok_or_else(|| wrong(&format!("{at}.account_id"), "is not in the state"))?;
    Ok(AcmeOrder {
        attempt: spec.attempt,
        account: account.clone(),
        sealed_key: sealed_key(at, spec.sealed_key)?,
        challenge,
        proofs_in_place: proofs(&format!("{at}.proofs_in_place"), spec.proofs_in_place)?,
    })
}

fn proofs(at: &str, proofs: Vec<agent::AcmeProof>) -> Result<Vec<AcmeProof>, StateError> {
    within(at, "length", proofs.len() as u64, 0, HOSTS_MAX)?;
    let proof = |proof: agent::AcmeProof| {
        host(&format!("{at}.host"), &proof.host)?;
        if proof.value.len() != PROOF_CHARS || !is_base64url(&proof.value) {
            return Err(wrong(&format!("{at}.value"), "is not a digest"));
        }
        Ok(AcmeProof { host: proof.host, value: proof.value })
    };
    proofs.into_iter().map(proof).collect()
}

fn is_base64url(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
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
