//! Certificates of the local authority: issues one for each host on first use and renews it well before it expires.

use std::collections::{BTreeMap, BTreeSet};

use fairlead_base::{clock, error::chain};
use fairlead_tls::{AuthorityError, Certificate, LocalAuthority};
use fairlead_wire::local::ProxyCertificate;

/// Leaf certificates issued since the start of this process.
#[derive(Debug, Default)]
pub(crate) struct Certificates {
    made: BTreeMap<String, Certificate>,
}

impl Certificates {
    /// Returns one certificate for each host, and a message if one could not be issued; that host then has none.
    pub(crate) fn of(
        &mut self,
        authority: &LocalAuthority,
        hosts: &BTreeSet<&str>,
    ) -> (Vec<ProxyCertificate>, Option<String>) {
        let (mut certificates, mut problem) = (Vec::with_capacity(hosts.len()), None);
        self.made.retain(|host, _| hosts.contains(host.as_str()));
        for host in hosts {
            match self.leaf(authority, host) {
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

    fn leaf(&mut self, authority: &LocalAuthority, host: &str) -> Result<&Certificate, AuthorityError> {
        let now = i64::try_from(clock::unix_ms() / 1000).unwrap_or(i64::MAX);
        let usable = self.made.get(host).is_some_and(|leaf| now < leaf.renew_after_unix_s);
        let entry = self.made.entry(host.to_owned());
        match entry {
            std::collections::btree_map::Entry::Vacant(vacant) => Ok(vacant.insert(authority.leaf(host)?)),
            std::collections::btree_map::Entry::Occupied(mut held) => {
                if !usable {
                    held.insert(authority.leaf(host)?);
                }
                Ok(held.into_mut())
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
        let authority = LocalAuthority::open_or_create(dir.path()).unwrap();
        let mut certificates = Certificates::default();
        let hosts = BTreeSet::from(["a.localhost", "b.localhost"]);
        let (first, problem) = certificates.of(&authority, &hosts);
        assert_eq!((first.len(), problem), (2, None));
        assert_eq!(certificates.of(&authority, &hosts).0, first);
        assert_eq!(certificates.of(&authority, &BTreeSet::from(["b.localhost"])).0, first[1..]);
        let (anew, _) = certificates.of(&authority, &hosts);
        assert_ne!(anew[0], first[0]);
        assert_eq!(anew[1], first[1]);
    }
}
