//! Watch over the firewall of apps' own networks: what another program flushed or switched off comes back.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use fairlead_network::{Firewall, FirewallError, PublicPorts, remote_resolvers};

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

/// Reinstalls the rules whenever they differ from what was installed or the server's resolvers have changed, and forwarding whenever
/// it is off. Runs for ever.
pub(crate) async fn keep(firewall: Firewall, ports: PublicPorts) {
    let mut installed = None;
    loop {
        let (firewall, ports, before) = (firewall.clone(), ports.clone(), installed.take());
        let kept = tokio::task::spawn_blocking(move || keep_once(&firewall, &ports, before)).await;
        installed = match kept {
            Ok(Ok(installed)) => Some(installed),
            Ok(Err(error)) => {
                tracing::error!(%error, "the firewall of apps can't be kept; they may lack the internet");
                None
            }
            Err(error) => {
                tracing::error!(%error, "the firewall of apps can't be looked at");
                None
            }
        };
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn keep_once(
    firewall: &Firewall,
    ports: &PublicPorts,
    installed: Option<Installed>,
) -> Result<Installed, FirewallError> {
    if let Err(error) = firewall.enable_forwarding() {
        tracing::warn!(%error, "the server can't forward what apps send");
    }
    match firewall.open_other_firewalls() {
        Ok(opened) if opened.is_empty() => {}
        Ok(opened) => {
            tracing::info!(chains = opened.join(", "), "another firewall drops what is forwarded; apps pass it now")
        }
        Err(error) => tracing::warn!(%error, "another firewall may drop what apps send"),
    }
    let resolvers = remote_resolvers();
    if let Some(installed) = installed {
        match firewall.list() {
            Ok(listed) if listed == installed.listed && resolvers == installed.resolvers => return Ok(installed),
            Ok(listed) if listed == installed.listed => tracing::info!("the server has other resolvers now"),
            _ => tracing::warn!("another program changed the firewall of apps; it is installed again"),
        }
    }
    Ok(Installed { listed: firewall.install_with(ports, &resolvers)?, resolvers })
}
