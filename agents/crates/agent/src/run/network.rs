//! Regular check of the firewall of apps' own networks. Puts back rules and forwarding that another program removed or switched off.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use fairlead_base::clock::unix_ms;
use fairlead_network::{Firewall, FirewallError, PublicPorts, remote_resolvers};
use fairlead_wire::agent;
use tokio::sync::watch;

use crate::cli::ListenArgs;

/// Interval between two checks of the rules.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Lists the ports that the proxy serves the public on. HTTP/3 has the ports of HTTPS.
pub(crate) fn public_ports(listen: &ListenArgs) -> PublicPorts {
    let ports = |addresses: &[std::net::SocketAddr]| addresses.iter().map(|address| address.port()).collect::<Vec<_>>();
    PublicPorts {
        tcp: ports(&listen.https).into_iter().chain(ports(&listen.http)).collect(),
        udp: ports(&listen.https).into_iter().collect(),
    }
}

/// Installed firewall rules as the kernel lists them, and the resolvers that they name.
struct InstalledRules {
    listed: String,
    resolvers: BTreeSet<IpAddr>,
}

/// Checks every few seconds that the firewall rules are unchanged and forwarding is on. Repairs and reports differences. Never
/// returns.
pub(crate) async fn watch_firewall(
    firewall: Firewall,
    ports: PublicPorts,
    report: watch::Sender<Option<agent::NetworkStatus>>,
) {
    let mut firewall_check =
        FirewallCheck { firewall, ports, installed: None, status: agent::NetworkStatus::default() };
    loop {
        let checked = tokio::task::spawn_blocking(move || {
            firewall_check.check();
            firewall_check
        });
        firewall_check = match checked.await {
            Ok(firewall_check) => firewall_check,
            Err(error) => return tracing::error!(%error, "the firewall of apps is checked no more"),
        };
        let status = Some(firewall_check.status.clone());
        report.send_if_modified(|reported| std::mem::replace(reported, status.clone()) != status);
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

struct FirewallCheck {
    firewall: Firewall,
    ports: PublicPorts,
    installed: Option<InstalledRules>,
    status: agent::NetworkStatus,
}

impl FirewallCheck {
    fn check(&mut self) {
        let mut warnings = Vec::new();
        // Rules come first: without them, forwarding would open more than it should.
        if let Err(error) = self.ensure_rules() {
            warnings.push(format!(
                "The firewall of apps can't be put in place: {error}. Until it is, apps may lack the internet, or reach more than they should."
            ));
        }
        if let Err(error) = self.firewall.enable_forwarding() {
            warnings.push(format!(
                "Apps may lack the internet, because this server does not forward what they send: {error}."
            ));
        }
        match self.firewall.open_other_firewalls() {
            Ok(opened) if opened.is_empty() => {}
            Ok(opened) => self.report_repair(format!(
                "Another firewall dropped what apps send ({}). They pass it now.",
                opened.join(", ")
            )),
            Err(error) => warnings.push(format!(
                "Another firewall of this server may drop what apps send, and can't be changed: {error}."
            )),
        }
        for warning in &warnings {
            if !self.status.warnings.contains(warning) {
                tracing::warn!("{warning}");
            }
        }
        self.status.warnings = warnings;
    }

    fn ensure_rules(&mut self) -> Result<(), FirewallError> {
        let resolvers = remote_resolvers();
        if let Some(installed) = self.installed.take() {
            match self.firewall.list() {
                Ok(listed) if listed == installed.listed && resolvers == installed.resolvers => {
                    self.installed = Some(installed);
                    return Ok(());
                }
                Ok(listed) if listed == installed.listed => tracing::info!("the server has other resolvers now"),
                _ => self.report_repair("Another program changed the firewall of apps. It was put back.".to_owned()),
            }
        }
        let listed = self.firewall.install_with(&self.ports, &resolvers)?;
        self.installed = Some(InstalledRules { listed, resolvers });
        Ok(())
    }

    fn report_repair(&mut self, sentence: String) {
        tracing::warn!("{sentence}");
        (self.status.repair, self.status.repaired_unix_ms) = (sentence, unix_ms());
    }
}
