//! Watch over the firewall of apps' own networks: what another program flushed or switched off comes back.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use fairlead_base::clock::unix_ms;
use fairlead_network::{Firewall, PublicPorts, remote_resolvers};
use fairlead_wire::agent;
use tokio::sync::watch;

use crate::cli::ListenArgs;

/// Interval between two looks at the rules.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Lists the ports that the proxy serves the public on. HTTP/3 has the ports of HTTPS.
pub(crate) fn public_ports(listen: &ListenArgs) -> PublicPorts {
    let ports = |addresses: &[std::net::SocketAddr]| addresses.iter().map(|address| address.port()).collect::<Vec<_>>();
    PublicPorts {
        tcp: ports(&listen.https).into_iter().chain(ports(&listen.http)).collect(),
        udp: ports(&listen.https).into_iter().collect(),
    }
}

/// Rules as they were installed: how the kernel lists them, and the resolvers that they name.
struct Installed {
    listed: String,
    resolvers: BTreeSet<IpAddr>,
}

/// What one look left: the rules as they stand, and what is told in the report.
struct Look {
    installed: Option<Installed>,
    status: agent::NetworkStatus,
}

/// Reinstalls the rules whenever they differ from what was installed or the server's resolvers have changed, and forwarding whenever
/// it is off. Runs for ever.
pub(crate) async fn keep(firewall: Firewall, ports: PublicPorts, report: watch::Sender<Option<agent::NetworkStatus>>) {
    let mut installed = None;
    loop {
        let (firewall, ports, before) = (firewall.clone(), ports.clone(), installed.take());
        let told = report.borrow().clone().unwrap_or_default();
        match tokio::task::spawn_blocking(move || look(&firewall, &ports, before, told)).await {
            Ok(look) => {
                installed = look.installed;
                let status = Some(look.status);
                report.send_if_modified(|told| std::mem::replace(told, status.clone()) != status);
            }
            Err(error) => tracing::error!(%error, "the firewall of apps can't be looked at"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Keeps the last repair of the status that was told; its warnings are found anew.
fn look(firewall: &Firewall, ports: &PublicPorts, before: Option<Installed>, told: agent::NetworkStatus) -> Look {
    let known = told.warnings;
    let mut status = agent::NetworkStatus { warnings: Vec::new(), ..told };
    let warn = |status: &mut agent::NetworkStatus, sentence: String| {
        // The next look would log it again.
        if !known.contains(&sentence) {
            tracing::warn!("{sentence}");
        }
        status.warnings.push(sentence);
    };
    if let Err(error) = firewall.enable_forwarding() {
        warn(&mut status, format!("Apps may lack the internet, because this server does not forward what they send: {error}."));
    }
    match firewall.open_other_firewalls() {
        Ok(opened) if opened.is_empty() => {}
        Ok(opened) => {
            let chains = opened.join(", ");
            repaired(&mut status, format!("Another firewall dropped what apps send ({chains}). They pass it now."));
        }
        Err(error) => {
            warn(&mut status, format!("Another firewall of this server may drop what apps send, and can't be changed: {error}."));
        }
    }
    let resolvers = remote_resolvers();
    if let Some(before) = before {
        match firewall.list() {
            Ok(listed) if listed == before.listed && resolvers == before.resolvers => {
                return Look { installed: Some(before), status };
            }
            Ok(listed) if listed == before.listed => tracing::info!("the server has other resolvers now"),
            _ => repaired(&mut status, "Another program changed the firewall of apps. It was put back.".to_owned()),
        }
    }
    let installed = match firewall.install_with(ports, &resolvers) {
        Ok(listed) => Some(Installed { listed, resolvers }),
        Err(error) => {
            warn(
                &mut status,
                format!("The firewall of apps can't be put in place: {error}. Until it is, apps may lack the internet, or reach more than they should."),
            );
            None
        }
    };
    Look { installed, status }
}

fn repaired(status: &mut agent::NetworkStatus, sentence: String) {
    tracing::warn!("{sentence}");
    (status.repair, status.repaired_unix_ms) = (sentence, unix_ms());
}
