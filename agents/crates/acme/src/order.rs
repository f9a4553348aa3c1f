//! One order from account to chain.

use std::time::Duration;

use fairlead_model::{AcmeChallenge, AcmeProof, AcmeStep, Failure};
use instant_acme::{
    Account as Client, AuthorizationStatus, CertificateIdentifier, ChallengeType, Identifier, Key, NewOrder,
    OrderStatus, RetryPolicy,
};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::sync::watch;
use zeroize::Zeroizing;

use crate::failure::{OrderError, failure, of_account, of_client, of_problem};
use crate::http_client::{AcmeHttpClient, RetryAfter};

/// Maximum time of a whole order, without the time for its proofs.
const ORDER_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum time until proofs are in place: servers of a zone may need minutes to show a record.
const PROOFS_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum time for the authority to validate the hosts, and to issue the certificate.
const POLL_TIMEOUT: Duration = Duration::from_secs(120);

/// Account at a certificate authority.
pub struct Account {
    pub directory_url: String,
    /// Authorities of the directory's own certificate, PEM; empty: the system's.
    pub directory_ca_pem: String,
    /// Address that the authority may write to; empty: none.
    pub email: String,
    /// ECDSA key on P-256, PKCS#8 in DER.
    pub key_der: Zeroizing<Vec<u8>>,
}

/// Order of a certificate.
pub struct Order {
    pub account: Account,
    /// Host names; wildcards need DNS-01.
    pub hosts: Vec<String>,
    pub challenge: AcmeChallenge,
    /// Private key that the certificate is for, PKCS#8 in DER.
    pub key_der: Zeroizing<Vec<u8>>,
    /// Chain of the certificate that this one replaces, in DER; empty: none.
    pub replaced_chain_der: Vec<Vec<u8>>,
}

/// Progress of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderProgress {
    Step(AcmeStep),
    /// Proofs that others must put in place before the authority validates the hosts.
    Proofs(Vec<AcmeProof>),
}

/// Certificate of a finished order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedChain {
    /// DER, the leaf first.
    pub chain_der: Vec<Vec<u8>>,
    /// Time at which the authority wants it to be renewed (RFC 9773); zero: it names none.
    pub renew_unix_ms: u64,
}

/// Places an order and waits for its certificate. `report` hears of each step as it begins, and of the proofs that the order
/// needs; it waits until `proofs_in_place` has them. For HTTP-01, the proxies of all hosts must answer challenges of the
/// account already.
pub async fn place_order(
    order: &Order,
    proofs_in_place: watch::Receiver<Vec<AcmeProof>>,
    report: impl FnMut(OrderProgress),
) -> Result<IssuedChain, OrderError> {
    let authority = AcmeHttpClient::new(&order.account.directory_ca_pem)
        .map_err(|error| refused(failure("certificate.authority_invalid", format!("{error}.")), 0))?;
    let retry_after = authority.retry_after();
    let timeout = match order.challenge {
        AcmeChallenge::Http01 => ORDER_TIMEOUT,
        AcmeChallenge::Dns01 | AcmeChallenge::TlsAlpn01 => ORDER_TIMEOUT + PROOFS_TIMEOUT,
    };
    let placed = tokio::time::timeout(timeout, place(order, authority, &retry_after, proofs_in_place, report)).await;
    placed.unwrap_or_else(|_| {
        let message = format!("The order took longer than {} minutes. It is tried again.", timeout.as_secs() / 60);
        Err(refused(failure("certificate.timeout", message), 0))
    })
}

async fn place(
    order: &Order,
    authority: AcmeHttpClient,
    retry_after: &RetryAfter,
    proofs_in_place: watch::Receiver<Vec<AcmeProof>>,
    mut report: impl FnMut(OrderProgress),
) -> Result<IssuedChain, OrderError> {
    let failed = |error: instant_acme::Error| refused(of_client(&error), retry_after.unix_ms());
    report(OrderProgress::Step(AcmeStep::Account));
    let refused_account = |error: instant_acme::Error| refused(of_account(&error), retry_after.unix_ms());
    let client = open_account(&order.account, authority).await.map_err(refused_account)?;

    report(OrderProgress::Step(AcmeStep::Order));
    let identifiers: Vec<Identifier> = order.hosts.iter().cloned().map(Identifier::Dns).collect();
    let mut placed = match identifier_of(&order.replaced_chain_der) {
        Some(replaced) => match client.new_order(&NewOrder::new(&identifiers).replaces(replaced)).await {
            Ok(placed) => placed,
            // The authority may lack ARI, or have another order that replaces the certificate.
            Err(error) => {
                tracing::debug!(%error, "the order names no certificate to replace");
                client.new_order(&NewOrder::new(&identifiers)).await.map_err(refused_account)?
            }
        },
        None => client.new_order(&NewOrder::new(&identifiers)).await.map_err(refused_account)?,
    };

    report(OrderProgress::Step(AcmeStep::Validate));
    if order.challenge != AcmeChallenge::Http01 {
        let proofs = proofs_of(&mut placed, order.challenge, retry_after).await?;
        if !proofs.is_empty() {
            report(OrderProgress::Proofs(proofs.clone()));
            wait_for_proofs(&proofs, proofs_in_place).await?;
        }
    }
    let mut authorizations = placed.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.map_err(failed)?;
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let mut challenge = authorization.challenge(kind_of(order.challenge)).ok_or_else(not_offered)?;
        challenge.set_ready().await.map_err(failed)?;
    }
    let retries = RetryPolicy::new().initial_delay(Duration::from_millis(250)).backoff(1.5).timeout(POLL_TIMEOUT);
    let status = placed.poll_ready(&retries).await.map_err(failed)?;
    if status != OrderStatus::Ready {
        return Err(refused(reason_of(&mut placed).await, retry_after.unix_ms()));
    }

    report(OrderProgress::Step(AcmeStep::Issue));
    let csr = signing_request(order)?;
    placed.finalize_csr(&csr).await.map_err(failed)?;
    let pem = placed.poll_certificate(&retries).await.map_err(failed)?;
    let chain: Result<Vec<CertificateDer<'_>>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| {
        refused(failure("certificate.authority_invalid", "The certificate authority sent no certificate."), 0)
    })?;
    let chain_der: Vec<Vec<u8>> = chain.iter().map(|der| der.to_vec()).collect();
    let renew_unix_ms = renewal_of(&client, &chain_der).await;
    Ok(IssuedChain { chain_der, renew_unix_ms })
}

/// Returns the proofs of hosts that the authority has not validated yet.
async fn proofs_of(
    placed: &mut instant_acme::Order,
    challenge: AcmeChallenge,
    retry_after: &RetryAfter,
) -> Result<Vec<AcmeProof>, OrderError> {
    let mut proofs = Vec::new();
    let mut authorizations = placed.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let failed = |error: instant_acme::Error| refused(of_client(&error), retry_after.unix_ms());
        let mut authorization = authorization.map_err(failed)?;
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let Identifier::Dns(host) = authorization.identifier().identifier.clone() else { continue };
        let challenge = authorization.challenge(kind_of(challenge)).ok_or_else(not_offered)?;
        proofs.push(AcmeProof { host, value: challenge.key_authorization().dns_value() });
    }
    Ok(proofs)
}

async fn wait_for_proofs(
    proofs: &[AcmeProof],
    mut in_place: watch::Receiver<Vec<AcmeProof>>,
) -> Result<(), OrderError> {
    let are_all_there = |there: &Vec<AcmeProof>| proofs.iter().all(|proof| there.contains(proof));
    let waited = tokio::time::timeout(PROOFS_TIMEOUT, in_place.wait_for(are_all_there)).await;
    match waited {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) | Err(_) => {
            let message = "The proof for the authority was not in place in time. The order is tried again.";
            Err(refused(failure("certificate.timeout", message), 0))
        }
    }
}

fn kind_of(challenge: AcmeChallenge) -> ChallengeType {
    match challenge {
        AcmeChallenge::Http01 => ChallengeType::Http01,
        AcmeChallenge::Dns01 => ChallengeType::Dns01,
        AcmeChallenge::TlsAlpn01 => ChallengeType::TlsAlpn01,
    }
}

fn not_offered() -> OrderError {
    refused(failure("certificate.refused", "The authority offers no validation of this kind for the name."), 0)
}

async fn open_account(account: &Account, authority: AcmeHttpClient) -> Result<Client, instant_acme::Error> {
    let der = PrivatePkcs8KeyDer::from(account.key_der.to_vec());
    let key = Key::from_pkcs8_der(der.clone_key())?;
    // The same key gives the same account (RFC 8555, 7.3.1).
    let builder = Client::builder_with_http(Box::new(authority));
    let (client, _) = builder.create_from_key((key, PrivateKeyDer::Pkcs8(der)), account.directory_url.clone()).await?;
    if !account.email.is_empty() {
        client.update_contacts(&[&format!("mailto:{}", account.email)]).await?;
    }
    Ok(client)
}

fn identifier_of(chain_der: &[Vec<u8>]) -> Option<CertificateIdentifier<'static>> {
    let leaf = CertificateDer::from(chain_der.first()?.clone());
    CertificateIdentifier::try_from(&leaf).ok().map(CertificateIdentifier::into_owned)
}

/// Returns the middle of the window in which the authority wants the certificate to be renewed; zero if it names none.
async fn renewal_of(client: &Client, chain_der: &[Vec<u8>]) -> u64 {
    let Some(identifier) = identifier_of(chain_der) else { return 0 };
    match client.renewal_info(&identifier).await {
        Ok((info, _)) => {
            let window = info.suggested_window;
            let [start, end] = [window.start, window.end].map(|time| time.unix_timestamp_nanos() / 1_000_000);
            u64::try_from(start.midpoint(end)).unwrap_or(0)
        }
        Err(error) => {
            tracing::debug!(%error, "the authority names no time of renewal");
            0
        }
    }
}

/// Returns the reason why an order became invalid: that of its first refused host.
async fn reason_of(placed: &mut instant_acme::Order) -> Failure {
    let mut authorizations = placed.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        if authorization.status != AuthorizationStatus::Invalid
            && authorization.refresh().await.is_ok_and(|state| state.status != AuthorizationStatus::Invalid)
        {
            continue;
        }
        if let Some(problem) = authorization.challenges.iter().find_map(|challenge| challenge.error.as_ref()) {
            let host = authorization.identifier().to_string();
            let found = of_problem(problem);
            return Failure { message: format!("{host}: {}", found.message), ..found };
        }
    }
    failure("certificate.refused", "The certificate authority refused the order and gave no reason.")
}

fn signing_request(order: &Order) -> Result<Vec<u8>, OrderError> {
    let invalid =
        |error: rcgen::Error| refused(failure("certificate.key", format!("The key can't be used: {error}.")), 0);
    let key = KeyPair::try_from(order.key_der.as_slice()).map_err(invalid)?;
    let mut params = CertificateParams::new(order.hosts.clone()).map_err(invalid)?;
    params.distinguished_name = DistinguishedName::new();
    let request = params.serialize_request(&key).map_err(invalid)?;
    Ok(request.der().to_vec())
}

fn refused(failure: Failure, retry_after_unix_ms: u64) -> OrderError {
    OrderError { failure, retry_after_unix_ms }
}
