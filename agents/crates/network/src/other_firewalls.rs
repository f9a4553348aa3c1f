//! Other firewalls of the server (Docker, ufw, firewalld) that drop what the server forwards. Each base chain of the kernel must accept
//! a packet, so theirs get a rule that leaves the decision on Fairlead's devices to Fairlead's own table.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::firewall::{Firewall, FirewallError};

/// Table of firewalld, which refuses by a last rule of its chain instead of by a policy.
const FIREWALLD: &str = "firewalld";
/// Tables of the old interface, which nftables does not list, and their programs.
const LEGACY: [(&str, &str); 2] =
    [("/proc/net/ip_tables_names", "iptables-legacy"), ("/proc/net/ip6_tables_names", "ip6tables-legacy")];

#[derive(Deserialize)]
struct Listing {
    nftables: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    chain: Option<Chain>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Chain {
    family: String,
    table: String,
    name: String,
    hook: Option<String>,
    policy: Option<String>,
}

impl Chain {
    /// Reports whether it may drop packets that the server forwards.
    fn stops_forwarding(&self) -> bool {
        self.hook.as_deref() == Some("forward")
            && matches!(self.family.as_str(), "ip" | "ip6" | "inet")
            && (self.policy.as_deref() == Some("drop") || self.table == FIREWALLD)
    }
}

/// Adds the missing rules. Returns the chains that got one, for the log.
pub(crate) fn open(firewall: &Firewall) -> Result<Vec<String>, FirewallError> {
    let listing = firewall.nft(&["-j", "list", "chains"], "")?;
    let prefix = firewall.device_prefix();
    let comment = format!("fairlead:{prefix}");
    let mut opened = Vec::new();
    for chain in chains(&listing)?.iter().filter(|chain| chain.stops_forwarding()) {
        let Chain { family, table, name, .. } = chain;
        if firewall.nft(&["list", "chain", family, table, name], "")?.contains(&comment) {
            continue;
        }
        let rules = format!(
            "insert rule {family} {table} {name} iifname \"{prefix}*\" counter accept comment \"{comment}\"\n\
             insert rule {family} {table} {name} oifname \"{prefix}*\" ct state established,related counter accept comment \"{comment}\"\n"
        );
        firewall.nft(&["-f", "-"], &rules)?;
        opened.push(format!("{family} {table} {name}"));
    }
    for (tables, program) in LEGACY {
        opened.extend(open_legacy(Path::new(tables), program, prefix)?);
    }
    Ok(opened)
}

/// Removes the rules that `open` added, by their comment and, in the old interface, by their device.
pub(crate) fn close(firewall: &Firewall) -> Result<(), FirewallError> {
    let listing = firewall.nft(&["-j", "list", "chains"], "")?;
    let prefix = firewall.device_prefix();
    let comment = format!("comment \"fairlead:{prefix}\"");
    for Chain { family, table, name, .. } in chains(&listing)?.iter().filter(|chain| chain.stops_forwarding()) {
        let rules = firewall.nft(&["-a", "list", "chain", family, table, name], "")?;
        for handle in handles(&rules, &comment) {
            firewall.nft(&["delete", "rule", family, table, name, "handle", handle], "")?;
        }
    }
    let devices = format!("{prefix}+");
    for (tables, program) in LEGACY.iter().filter(|(tables, _)| Path::new(tables).exists()) {
        for rule in legacy_rules(&devices) {
            let delete = [&["-w", "-D", "FORWARD"][..], &rule, &["-j", "ACCEPT"]].concat();
            // Deletes one rule at a time, and fails when none is left or the program is missing.
            let removed = || {
                let mut command = Command::new(program);
                command.args(&delete).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::null()).status()
            };
            while removed().is_ok_and(|status| status.success()) {
                tracing::debug!(tables, "removed a rule");
            }
        }
    }
    Ok(())
}

/// Returns the handles of the rules with this comment.
fn handles<'a>(rules: &'a str, comment: &str) -> Vec<&'a str> {
    let ours = rules.lines().filter(|line| line.contains(comment));
    ours.filter_map(|line| line.rsplit_once("# handle ").map(|(_, handle)| handle.trim())).collect()
}

fn legacy_rules(devices: &str) -> [Vec<&str>; 2] {
    let established = ["-m", "conntrack", "--ctstate", "ESTABLISHED,RELATED"];
    [vec!["-i", devices], [&["-o", devices][..], &established].concat()]
}

fn chains(listing: &str) -> Result<Vec<Chain>, FirewallError> {
    let listing: Listing = serde_json::from_str(listing)
        .map_err(|error| FirewallError::Refused(format!("its list of chains can't be read ({error})")))?;
    Ok(listing.nftables.into_iter().filter_map(|entry| entry.chain).collect())
}

fn open_legacy(tables: &Path, program: &str, prefix: &str) -> Result<Option<String>, FirewallError> {
    // Without the file or the table there are no such rules, and the program would load the module.
    if !std::fs::read_to_string(tables).is_ok_and(|names| names.lines().any(|name| name == "filter")) {
        return Ok(None);
    }
    let run = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output()
    };
    let Ok(policy) = run(&["-w", "-S", "FORWARD"]) else { return Ok(None) };
    if !String::from_utf8_lossy(&policy.stdout).starts_with("-P FORWARD DROP") {
        return Ok(None);
    }
    let devices = format!("{prefix}+");
    let mut opened = None;
    for rule in legacy_rules(&devices) {
        let with = |verb: &'static str| [&["-w", verb, "FORWARD"][..], &rule, &["-j", "ACCEPT"]].concat();
        if !run(&with("-C"))?.status.success() {
            run(&with("-I"))?;
            opened = Some(format!("{program} FORWARD"));
        }
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_that_stop_forwarding_are_those_of_docker_ufw_and_firewalld() {
        let listing = r#"{"nftables": [{"metainfo": {"version": "1.0.6"}},
            {"chain": {"family": "ip", "table": "filter", "name": "FORWARD", "handle": 1, "type": "filter", "hook": "forward", "prio": 0, "policy": "drop"}},
            {"chain": {"family": "ip", "table": "filter", "name": "DOCKER-USER", "handle": 2}},
            {"chain": {"family": "inet", "table": "firewalld", "name": "filter_FORWARD", "handle": 3, "type": "filter", "hook": "forward", "prio": 10, "policy": "accept"}},
            {"chain": {"family": "inet", "table": "fairlead_00", "name": "forward", "handle": 4, "type": "filter", "hook": "forward", "prio": -10, "policy": "accept"}},
            {"chain": {"family": "ip", "table": "filter", "name": "INPUT", "handle": 5, "type": "filter", "hook": "input", "prio": 0, "policy": "drop"}}]}"#;
        let chains = chains(listing).unwrap();
        let stopping: Vec<&str> =
            chains.iter().filter(|chain| chain.stops_forwarding()).map(|chain| chain.name.as_str()).collect();
        assert_eq!(stopping, ["FORWARD", "filter_FORWARD"]);
    }

    #[test]
    fn only_rules_with_the_comment_of_this_data_folder_are_removed() {
        let rules = "table ip filter {\n\tchain FORWARD { # handle 1\n\t\tiifname \"fl12ab*\" counter packets 0 bytes 0 accept \
            comment \"fairlead:fl12ab\" # handle 7\n\t\tiifname \"fl12ab9*\" accept comment \"fairlead:fl12ab9\" # handle 8\n\
            \t\ttcp dport 80 accept # handle 9\n\t}\n}\n";
        assert_eq!(handles(rules, "comment \"fairlead:fl12ab\""), ["7"]);
    }
}
