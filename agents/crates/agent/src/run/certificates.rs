//! Certificates of this server's authorities: issues one for each host on first use and renews it well before it expires.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fairlead_base::{Folders, clock, error::chain};
use fairlead_tls::{AuthorityError, Certificate, LocalAuthority};
use fairlead_wire::local::ProxyCertificate;

use super::routes::is_local;

/// Leaf certificates issued since the start of this process.
#[derive(Debug)]
pub(crate) struct Certificates {
    local: Arc<LocalAuthority>,
    folders: Folders,
    made: BTreeMap<String, Certificate>,
}

impl Certificates {
    /// Returns an empty set. Hosts of a control plane have authorities of their own, which are created on first use.
    pub(crate) fn new(local: Arc<LocalAuthority>, folders: Folders) -> Self {
        Self { local, folders, made: BTreeMap::new() }
    }

    /// Returns one certificate for each host, and a message if one could not be issued; that host then has none.
    pub(crate) fn of(&mut self, hosts: &BTreeSet<&str>) -> (Vec<ProxyCertificate>, Option<String>) {
        let (mut certificates, mut problem) = (Vec::with_capacity(hosts.len()), None);
        self.made.retain(|host, _| hosts.contains(host.as_str()));
        for host in hosts {
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
        let mut certificates = Certificates::new(local, folders.clone());
        let hosts = BTreeSet::from(["a.localhost", "b.localhost"]);
        let (first, problem) = certificates.of(&hosts);
        assert_eq!((first.len(), problem), (2, None));
        assert_eq!(certificates.of(&hosts).0, first);
        assert_eq!(certificates.of(&BTreeSet::from(["b.localhost"])).0, first[1..]);
        let (anew, _) = certificates.of(&hosts);
        assert_ne!(anew[0], first[0]);
        assert_eq!(anew[1], first[1]);
        assert!(!folders.control_authorities().exists());
        let (public, problem) = certificates.of(&BTreeSet::from(["203.0.113.5"]));
        assert_eq!((public.len(), problem), (1, None));
        assert!(folders.control_authority("203.0.113.5").join("ca.pem").exists());
    }
}
