//! Certificates in desired state, their orders from a certificate authority, and the status of an order.
//! Invariant: no `Debug` in this file shows a key.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{AcmeAccountId, CertificateId, Failure, WorkState};

/// Private key, encrypted for this agent only: an age file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedKey(pub Vec<u8>);

impl fmt::Debug for SealedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedKey(..)")
    }
}

/// Certificate of host names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateSpec {
    pub id: CertificateId,
    /// Lower-case host names; a first label `*` stands for exactly one label.
    pub hosts: Vec<String>,
    /// Newest chain and its key; `None` if none was issued yet.
    pub issued: Option<IssuedCertificate>,
    /// Order that this server runs once.
    pub order: Option<AcmeOrder>,
    /// Thumbprint of the account that answers HTTP-01 challenges for these hosts; `None` without an order.
    pub challenge_thumbprint: Option<String>,
    /// Proofs that answer TLS-ALPN-01 challenges for these hosts.
    #[serde(default)]
    pub tls_alpn_proofs: Vec<AcmeProof>,
}

/// Proof of control over a host (RFC 8555, 8): SHA-256 of the key authorization, base64url without padding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcmeProof {
    /// Lower case, without the `*.` of a wildcard.
    pub host: String,
    pub value: String,
}

/// Way to prove control over hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcmeChallenge {
    #[default]
    Http01,
    Dns01,
    TlsAlpn01,
}

/// Chain with the sealed key of its leaf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedCertificate {
    /// DER, the leaf first.
    pub chain_der: Vec<Vec<u8>>,
    pub sealed_key: SealedKey,
}

/// Order of a certificate (RFC 8555, 7.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcmeOrder {
    /// Grows with every order of the certificate.
    pub attempt: u32,
    pub account: AcmeAccount,
    /// Private key that the certificate is for.
    pub sealed_key: SealedKey,
    #[serde(default)]
    pub challenge: AcmeChallenge,
    /// Proofs that the control plane has put in place; HTTP-01 needs none.
    #[serde(default)]
    pub proofs_in_place: Vec<AcmeProof>,
}

/// Account at a certificate authority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcmeAccount {
    pub id: AcmeAccountId,
    pub directory_url: String,
    /// Authorities of the directory's own certificate, PEM; empty: the system's.
    pub directory_ca_pem: String,
    /// Address that the authority may write to; empty: none.
    pub email: String,
    pub sealed_key: SealedKey,
}

/// Step of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcmeStep {
    /// Finds or creates the account.
    Account,
    /// Places the order.
    Order,
    /// Waits until the authority has validated the hosts.
    Validate,
    /// Requests the certificate and downloads it.
    Issue,
}

impl AcmeStep {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Order => "order",
            Self::Validate => "validate",
            Self::Issue => "issue",
        }
    }
}

/// Progress of the order of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateStatus {
    pub id: CertificateId,
    pub attempt: u32,
    pub state: WorkState,
    pub step: AcmeStep,
    pub failure: Option<Failure>,
    /// DER, the leaf first; empty until the order has succeeded.
    pub chain_der: Vec<Vec<u8>>,
    /// Earliest time of another attempt, as the authority demands; zero: it names none.
    pub retry_after_unix_ms: u64,
    /// Time at which the authority wants the certificate to be renewed (RFC 9773); zero: it names none.
    pub renew_unix_ms: u64,
    /// Proofs that the running order waits for.
    #[serde(default)]
    pub proofs: Vec<AcmeProof>,
}
