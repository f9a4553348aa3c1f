//! Rules inside of a namespace without root. They see packets before `pasta` does.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::process::{Command, Stdio};

use rustix::thread::CapabilitySet;

use super::RootlessLink;
use super::capabilities::with_capability;
use crate::FirewallError;
use crate::firewall::{DENIED, DENIED_V6, PRIVATE, PRIVATE_V6};

/// Installs or replaces the rules in the namespace of the calling thread, all at once.
pub(super) fn install(link: &RootlessLink, server: &BTreeSet<IpAddr>) -> Result<(), FirewallError> {
    let start = || {
        Command::new(&link.nft)
            .args(["-f", "-"])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
    };
    let mut child = with_capability(CapabilitySet::NET_ADMIN, start)?;
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(rules(link, server).as_bytes()) {
            // Its own words come on standard error.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {}
        }
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let line = reason.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(FirewallError::Refused(line.trim().to_owned()))
}

/// Renders the table (nft(8)). Neighbour discovery has link-local and multicast addresses, which are denied otherwise.
/// `pasta` binds the server's port from which an app sends over UDP, and passes on what anyone sends there: only answers get in.
fn rules(link: &RootlessLink, server: &BTreeSet<IpAddr>) -> String {
    let (mut to_server, mut private) = (String::new(), String::new());
    for (family, has) in [("ip", IpAddr::is_ipv4 as fn(&IpAddr) -> bool), ("ip6", IpAddr::is_ipv6)] {
        let list: Vec<String> = server.iter().filter(|address| has(address)).map(IpAddr::to_string).collect();
        if list.is_empty() {
            continue;
        }
        let list = list.join(", ");
        for (protocol, ports) in [("tcp", &link.ports.tcp), ("udp", &link.ports.udp)] {
            if !ports.is_empty() {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                let ports = ports.join(", ");
                // A write to a string can't fail.
                writeln!(to_server, "\t\t{family} daddr {{ {list} }} {protocol} dport {{ {ports} }} accept").ok();
            }
        }
        writeln!(to_server, "\t\t{family} daddr {{ {list} }} goto refuse").ok();
    }
    if !link.private {
        writeln!(private, "\t\tip daddr {{ {PRIVATE} }} goto refuse").ok();
        writeln!(private, "\t\tip6 daddr {{ {PRIVATE_V6} }} goto refuse").ok();
    }
    format!(
        r#"table inet fairlead
delete table inet fairlead
table inet fairlead {{
	chain refuse {{
		meta l4proto tcp reject with tcp reset
		reject with icmpx type admin-prohibited
	}}
	chain output {{
		type filter hook output priority 0; policy accept;
		oifname "lo" accept
		icmpv6 type {{ nd-neighbor-solicit, nd-neighbor-advert }} accept
{to_server}		ip daddr {{ {DENIED} }} goto refuse
		ip6 daddr {{ {DENIED_V6} }} goto refuse
{private}	}}
	chain input {{
		type filter hook input priority 0; policy drop;
		iifname "lo" accept
		icmpv6 type {{ nd-neighbor-solicit, nd-neighbor-advert }} accept
		ct state established,related accept
	}}
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_ports_of_the_server_pass_and_private_networks_need_a_setting() {
        let ports = crate::PublicPorts { tcp: [80, 443].into(), udp: [443].into() };
        let link = RootlessLink { pasta: "pasta".into(), nft: "nft".into(), private: false, ports };
        let server = ["192.0.2.1", "2001:db8::1"].map(|address| address.parse().unwrap()).into();
        let strict = rules(&link, &server);
        for line in [
            "ip daddr { 192.0.2.1 } tcp dport { 80, 443 } accept",
            "ip6 daddr { 2001:db8::1 } udp dport { 443 } accept",
            "ip daddr { 192.0.2.1 } goto refuse",
            "ip6 daddr { 2001:db8::1 } goto refuse",
        ] {
            assert!(strict.contains(line), "{strict}");
        }
        assert!(strict.contains(PRIVATE) && strict.contains(PRIVATE_V6));
        let open = rules(&RootlessLink { private: true, ..link }, &BTreeSet::new());
        assert!(!open.contains(PRIVATE) && !open.contains(PRIVATE_V6) && open.contains(DENIED), "{open}");
    }
}
