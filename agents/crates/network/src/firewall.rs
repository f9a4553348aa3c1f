//! Firewall of all namespaces of one data folder: one table of nftables that knows their devices by name, so that no instance needs a
//! rule of its own. Invariant: a table is replaced whole, so that no packet meets half of it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fairlead_base::folders::fingerprint;
use serde::{Deserialize, Serialize};

use crate::netlink::Netlink;
use crate::resolvers::remote_resolvers;

/// Prefix of the names of all Fairlead devices, also of those of other data folders.
const DEVICE_PREFIX: &str = "fl";
/// Group of devices without private network access. The next number is the group of those with it.
const GROUP: u32 = 0x666c_0000;
/// Folders of `nft` beside those of `PATH`.
const SYSTEM_PROGRAMS: [&str; 2] = ["/usr/sbin", "/sbin"];
const CONNECTIONS_TRACKED: &str = "/proc/sys/net/netfilter/nf_conntrack_max";
/// Limit of a namespace's connections if the kernel does not say how many it tracks, and the lowest limit.
const FLOWS: u32 = 8192;
const FLOWS_MIN: u32 = 1024;
const IPV6_FORWARDING: &str = "/proc/sys/net/ipv6/conf/all/forwarding";
const IPV6_DEVICES: &str = "/proc/sys/net/ipv6/conf";

/// Addresses that no app reaches: link-local, loopback, multicast, other apps, and metadata services of clouds that are not
/// link-local: Azure, Oracle and Alibaba; over IPv6 Amazon, Google, Scaleway, Akamai, Oracle and Alibaba, and the link-local one and
/// those of IPv4 through a translator (RFC 6052).
pub(crate) const DENIED: &str =
    "0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 198.18.0.0/15, 224.0.0.0/3, 168.63.129.16, 192.0.0.192, 100.100.100.200";
pub(crate) const DENIED_V6: &str = "::/128, ::1/128, fe80::/10, ff00::/8, fd66:6c64::/32, fd00:ec2::/32, fd20:ce::254, fd00:42::42, \
    fd00:a9fe:a9fe::1, fd00:c1::a9fe:a9fe, fd00:100::100:200, 64:ff9b::a9fe:0/112, 64:ff9b::a83f:8110, 64:ff9b::c000:c0, \
    64:ff9b::6464:64c8";
/// Addresses of private networks (RFC 1918, RFC 6598, RFC 4193) and IPv6 forms of IPv4 addresses (RFC 6052, RFC 4291, RFC 3056).
pub(crate) const PRIVATE: &str = "10.0.0.0/8, 100.64.0.0/10, 172.16.0.0/12, 192.168.0.0/16, 192.0.0.0/24";
pub(crate) const PRIVATE_V6: &str = "fc00::/7, fec0::/10, ::ffff:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48, 2002::/16";

/// Public ports of the proxy, which apps may use too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicPorts {
    pub tcp: BTreeSet<u16>,
    pub udp: BTreeSet<u16>,
}

/// Reason why the firewall could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum FirewallError {
    /// The program is missing.
    #[error("`nft` is not installed; install the package nftables, then restart the agent")]
    Missing,
    /// The program could not be run.
    #[error("`nft` can't be run: {0}")]
    Run(#[from] io::Error),
    /// The kernel or the program refused.
    #[error("nftables refused: {0}")]
    Refused(String),
}

/// The table of one data folder.
#[derive(Debug, Clone)]
pub struct Firewall {
    table: String,
    prefix: String,
    folder: PathBuf,
    program: PathBuf,
}

impl Firewall {
    /// Names the table after the data folder, so that two agents on one server don't meet. Fails where `nft` is missing.
    pub fn of(data_folder: &Path) -> Result<Self, FirewallError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(SYSTEM_PROGRAMS.iter().map(PathBuf::from));
        let program = folders.map(|folder| folder.join("nft")).find(|program| program.is_file());
        let program = program.ok_or(FirewallError::Missing)?;
        let hash = fingerprint(data_folder);
        Ok(Self {
            table: format!("fairlead_{hash:016x}"),
            prefix: format!("{DEVICE_PREFIX}{:04x}", hash & 0xffff),
            folder: data_folder.to_owned(),
            program,
        })
    }

    /// Prefix of the names of its devices.
    pub fn device_prefix(&self) -> &str {
        &self.prefix
    }

    /// Group of a device: with `private`, its namespace reaches private networks too.
    pub fn device_group(private: bool) -> u32 {
        GROUP + u32::from(private)
    }

    /// Installs or replaces the rules. Returns the kernel's listing of them.
    pub fn install(&self, ports: &PublicPorts) -> Result<String, FirewallError> {
        self.install_with(ports, &remote_resolvers())
    }

    /// Installs the rules with these resolvers of the server instead of those that it has now.
    pub fn install_with(&self, ports: &PublicPorts, resolvers: &BTreeSet<IpAddr>) -> Result<String, FirewallError> {
        self.nft(&["-f", "-"], &self.rules(ports, resolvers))?;
        self.list()
    }

    /// Asks the kernel whether it would take the rules, and changes nothing.
    pub fn check(&self) -> Result<(), FirewallError> {
        self.nft(&["-c", "-f", "-"], &self.rules(&PublicPorts::default(), &remote_resolvers())).map(drop)
    }

    /// Lists the rules without counters and without elements of sets.
    pub fn list(&self) -> Result<String, FirewallError> {
        self.nft(&["-s", "-t", "list", "table", "inet", &self.table], "")
    }

    /// Removes the nftables table of the agent.
    pub fn remove(&self) -> Result<(), FirewallError> {
        self.nft(&["-f", "-"], &format!("table inet {0}\ndelete table inet {0}\n", self.table)).map(drop)
    }

    /// Lets the server forward what its devices send and receive. Returns whether it forwards IPv6.
    pub fn enable_forwarding(&self) -> io::Result<bool> {
        enable_forwarding(&self.prefix)
    }

    /// Adds rules to other firewalls of the server that would drop packets of its devices. Returns the changed chains.
    pub fn open_other_firewalls(&self) -> Result<Vec<String>, FirewallError> {
        crate::other_firewalls::open(self)
    }

    /// Removes the rules that `open_other_firewalls` added.
    pub fn close_other_firewalls(&self) -> Result<(), FirewallError> {
        crate::other_firewalls::close(self)
    }

    /// Removes the rules of data folders that are gone.
    pub fn remove_abandoned(&self) -> Result<(), FirewallError> {
        let tables = self.nft(&["list", "tables", "inet"], "")?;
        for table in tables.lines().filter_map(|line| line.strip_prefix("table inet ")) {
            if !table.starts_with("fairlead_") || table == self.table {
                continue;
            }
            let listed = self.nft(&["-t", "list", "table", "inet", table], "")?;
            let folder = listed.split('"').nth(1).map(Path::new);
            if folder.is_some_and(|folder| folder.is_absolute() && !folder.exists()) {
                self.nft(&["delete", "table", "inet", table], "")?;
            }
        }
        Ok(())
    }

    /// Runs `nft` with these arguments and this input. Returns its output.
    pub(crate) fn nft(&self, arguments: &[&str], input: &str) -> Result<String, FirewallError> {
        let mut child = Command::new(&self.program)
            .args(arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        let output = child.wait_with_output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let reason = String::from_utf8_lossy(&output.stderr);
        let line = reason.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
        Err(FirewallError::Refused(line.trim().to_owned()))
    }

    /// Renders the table (nft(8)).
    fn rules(&self, ports: &PublicPorts, resolvers: &BTreeSet<IpAddr>) -> String {
        let Self { table, prefix, folder, .. } = self;
        let (private, flows) = (Self::device_group(true), flows_max());
        let mut public = String::new();
        for (protocol, numbers) in [("tcp", &ports.tcp), ("udp", &ports.udp)] {
            if !numbers.is_empty() {
                let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
                // A write to a string can't fail.
                writeln!(public, "\t\t{protocol} dport {{ {} }} fib daddr type local accept", numbers.join(", ")).ok();
            }
        }
        let mut resolve = String::new();
        for (family, has) in
            [("ip", IpAddr::is_ipv4 as fn(&IpAddr) -> bool), ("ip6", IpAddr::is_ipv6 as fn(&IpAddr) -> bool)]
        {
            let list: Vec<String> = resolvers.iter().filter(|address| has(address)).map(IpAddr::to_string).collect();
            for protocol in ["tcp", "udp"].into_iter().filter(|_| !list.is_empty()) {
                writeln!(resolve, "\t\t{family} daddr {{ {} }} {protocol} dport 53 accept", list.join(", ")).ok();
            }
        }
        // A quote in the path would end the comment.
        let folder = folder.display().to_string().replace(['"', '\n'], "?");
        format!(
            r#"table inet {table}
delete table inet {table}
table inet {table} {{
	comment "{folder}"
	set flows {{
		type ipv4_addr
		size 65535
		flags dynamic
	}}
	set flows_v6 {{
		type ipv6_addr
		size 65535
		flags dynamic
	}}
	chain leave {{
		ct state established,related accept
		ct state invalid drop
		fib saddr . iif oif missing drop
		ct state new add @flows {{ ip saddr ct count over {flows} }} drop
		ct state new add @flows_v6 {{ ip6 saddr ct count over {flows} }} drop
	}}
	chain refuse {{
		meta l4proto tcp reject with tcp reset
		reject with icmpx type admin-prohibited
	}}
	chain resolve {{
{resolve}	}}
	chain to_server {{
		jump leave
		jump resolve
{public}		goto refuse
	}}
	chain to_world {{
		jump leave
		jump resolve
		oifname "{DEVICE_PREFIX}*" goto refuse
		ip daddr {{ {DENIED} }} goto refuse
		ip6 daddr {{ {DENIED_V6} }} goto refuse
		iifgroup {private} accept
		ip daddr {{ {PRIVATE} }} goto refuse
		ip6 daddr {{ {PRIVATE_V6} }} goto refuse
		accept
	}}
	chain into {{
		ct state established,related accept
		drop
	}}
	chain input {{
		type filter hook input priority -10; policy accept;
		iifname "{prefix}*" goto to_server
	}}
	chain forward {{
		type filter hook forward priority -10; policy accept;
		iifname "{prefix}*" goto to_world
		oifname "{prefix}*" goto into
	}}
	chain output {{
		type filter hook output priority -10; policy accept;
		oifname "{prefix}*" goto into
	}}
	chain postrouting {{
		type nat hook postrouting priority 100; policy accept;
		iifname "{prefix}*" meta l4proto {{ tcp, udp }} masquerade to :1024-65535
		iifname "{prefix}*" masquerade
	}}
}}
"#
        )
    }
}

/// Lets the server route the packets of namespaces: over IPv4 on the devices of its default route, which leaves other devices as they
/// are; over IPv6 on all devices, because the kernel has no setting per device. Returns whether it routes IPv6.
fn enable_forwarding(prefix: &str) -> io::Result<bool> {
    let mut netlink = Netlink::open()?;
    // Its own devices forward from the beginning, but a change of the server's setting changes all devices.
    let own = netlink.devices_named(prefix)?.into_iter().map(|(index, _)| index);
    for index in netlink.default_devices(false)?.into_iter().chain(own) {
        netlink.forward(index)?;
    }
    let devices = netlink.default_devices(true)?;
    // A server without IPv6 has no such file.
    let Ok(forwards) = std::fs::read_to_string(IPV6_FORWARDING) else { return Ok(false) };
    if devices.is_empty() || forwards.trim() == "1" {
        return Ok(!devices.is_empty());
    }
    if let Err(error) = enable_ipv6_forwarding(&netlink, &devices) {
        tracing::warn!(%error, "the server can't forward IPv6: apps reach the internet over IPv4 only");
        return Ok(false);
    }
    Ok(true)
}

/// A router ignores the advertisements that its own default route may come from, unless told otherwise (ip-sysctl).
fn enable_ipv6_forwarding(netlink: &Netlink, devices: &[u32]) -> io::Result<()> {
    for index in devices {
        let name = rustix::net::netdevice::index_to_name(netlink.as_fd(), *index)?;
        let setting = Path::new(IPV6_DEVICES).join(name).join("accept_ra");
        if std::fs::read_to_string(&setting)?.trim() == "1" {
            std::fs::write(&setting, "2")?;
        }
    }
    std::fs::write(IPV6_FORWARDING, "1")
}

/// Returns the connections that one namespace may have at once over each of IPv4 and IPv6: a sixteenth of what the kernel tracks, so
/// that one instance can't use up all of them.
fn flows_max() -> u32 {
    let tracked = std::fs::read_to_string(CONNECTIONS_TRACKED).ok().and_then(|text| text.trim().parse().ok());
    tracked.map_or(FLOWS, |tracked: u32| (tracked / 16).max(FLOWS_MIN))
}
