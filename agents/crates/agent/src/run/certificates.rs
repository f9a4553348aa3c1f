//! Certificates that the proxy gets: those of desired state, and leaves of this server's own authorities, which it issues on
//! first use and renews well before they expire. Invariant: one that can't be used never keeps the others from being served.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fairlead_base::{Folders, clock, error::chain};
use fairlead_model::CertificateSpec;
use fairlead_secret::SealingKey;
use fairlead_tls::{AuthorityError, Certificate, CertificateSet, CertificateSource, LocalAuthority};
use fairlead_wire::local::ProxyCertificate;

use super::routes::is_local;

/// Leaf certificates issued since the start of this process.
#[derive(Debug)]
pub(crate) struct Certificates {
    local: Arc<LocalAuthority>,
    folders: Folders,
    sealing: Arc<SealingKey>,
    made: BTreeMap<String, Certificate>,
}

impl Certificates {
    /// Returns an empty set. Hosts of a control plane have authorities of their own, which are created on first use.
    pub(crate) fn new(local: Arc<LocalAuthority>, folders: Folders, sealing: Arc<SealingKey>) -> Self {
        Self { local, folders, sealing, made: BTreeMap::new() }
    }

    /// Returns the certificates of a state, one for each of its other `own` hosts, and a message if one can't be used or
    /// issued; those hosts then have none.
    pub(crate) fn of(
        &mut self,
        specs: &[CertificateSpec],
        own: &BTreeSet<&str>,
    ) -> (Vec<ProxyCertificate>, Option<String>) {
        let (mut certificates, mut problem) = (Vec::with_capacity(specs.len() + own.len()), None);
        for spec in specs {
            match self.issued(spec) {
                Ok(certificate) => certificates.extend(certificate),
                Err(reason) => {
                    let hosts = spec.hosts.join(", ");
                    tracing::error!(hosts, reason, "the certificate can't be used");
                    problem = Some(format!("The certificate for {hosts} can't be used: {reason}"));
                }
            }
        }
        let served: BTreeSet<String> = certificates.iter().flat_map(|certificate| certificate.hosts.clone()).collect();
        self.made.retain(|host, _| own.contains(host.as_str()));
        for host in own.iter().filter(|host| !served.contains(**host)) {
            match self.leaf(host) {
                Ok(leaf) => certificates.push(ProxyCertificate {
                    hosts: vec![(*host).to_owned()],
                    chain_der: leaf.chain_der.clone(),
                    key_pkcs8_der: leaf.key_pkcs8_der.clone(),
                }),
                Err(error) => {
                    tracing::error!(host, reason = chain(&error), "no certificate");
                    problem = Some(format!("There is no certificate for {host}: {}", chain(&error)));
                }
            }
        }
        (certificates, problem)
    }

    /// Opens the key of an issued certificate and checks that it belongs to the chain; `None` without a chain.
    fn issued(&self, spec: &CertificateSpec) -> Result<Option<ProxyCertificate>, String> {
        let Some(issued) = &spec.issued else { return Ok(None) };
        let opened = self.sealing.open(&issued.sealed_key.0).map_err(|error| error.to_string())?;
        let key = fairlead_wire::certificate_key(&opened, &spec.id).map_err(|error| error.to_string())?;
        let source = CertificateSource { hosts: &spec.hosts, chain_der: &issued.chain_der, key_pkcs8_der: &key };
        CertificateSet::build([source], &CertificateSet::default()).map_err(|error| error.to_string())?;
        let (hosts, chain_der) = (spec.hosts.clone(), issued.chain_der.clone());
        Ok(Some(ProxyCertificate { hosts, chain_der, key_pkcs8_der: key.to_vec() }))
    }

    fn leaf(&mut self, host: &str) -> Result<&Certificate, AuthorityError> {
        let now = i64::try_from(clock::unix_ms() / 1000).unwrap_or(i64::MAX);
        if self.made.get(host).is_some_and(|leaf| now >= leaf.renew_after_unix_s) {
            self.made.remove(host);
        }
        match self.made.entry(host.to_owned()) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(vacant) => {
                let leaf = if is_local(host) {
                    self.local.leaf(host)
                } else {
                    let folder = self.folders.control_authority(host);
                    LocalAuthority::open_or_create_for(&folder, host).and_then(|authority| authority.leaf(host))
                };
                Ok(vacant.insert(leaf?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_keeps_its_certificate_while_it_is_routed() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        let local = Arc::new(LocalAuthority::open_or_create(&folders.authority()).unwrap());
        let mut certificates = Certificates::new(
            local,
            folders.clone(),
            Arc::new(SealingKey::open_or_create(&folders.sealing_key()).unwrap()),
        );
        let hosts = BTreeSet::from(["a.localhost", "b.localhost"]);
        let (first, problem) = certificates.of(&[], &hosts);
        assert_eq!((first.len(), problem), (2, None));
        assert_eq!(certificates.of(&[], &hosts).0, first);
        assert_eq!(certificates.of(&[], &BTreeSet::from(["b.localhost"])).0, first[1..]);
        let (anew, _) = certificates.of(&[], &hosts);
        assert_ne!(anew[0], first[0]);
        assert_eq!(anew[1], first[1]);
        assert!(!folders.control_authorities().exists());
        let (public, problem) = certificates.of(&[], &BTreeSet::from(["203.0.113.5"]));
        assert_eq!((public.len(), problem), (1, None));
        assert!(folders.control_authority("203.0.113.5").join("ca.pem").exists());
    }
}
