//! Settings of the whole proxy, with their bounds and warnings.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{Checked, Parsed, TrafficPart, few, networks, or, unknown, within, wrong};
use crate::message;

const COUNT_MAX: u32 = 1_000_000;

const TRUSTS_THIS_MACHINE: &str = "trusted_proxies contains this machine itself: every app on it can then claim any client address, \
                                   past address rules and limits of clients";

/// Settings of the whole proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxySettings {
    /// Trusted proxies in front of this one, which may name the client's address.
    pub trusted_proxies: Vec<IpNet>,
    /// Trusts Cloudflare's published ranges, and the client in their `CF-Connecting-IP`.
    pub cloudflare: bool,
    /// Expects a PROXY protocol header (v1 or v2) at the start of connections from trusted proxies.
    pub proxy_protocol: bool,
    /// Offers HTTP/3.
    pub http3: bool,
    /// Connections of one client address (IPv6: one /64) to one core; zero for no limit.
    pub connections_per_client: u32,
    pub access_log: AccessLog,
}

impl Default for ProxySettings {
    fn default() -> Self {
        Self {
            trusted_proxies: Vec::new(),
            cloudflare: false,
            proxy_protocol: false,
            http3: true,
            connections_per_client: 1024,
            access_log: AccessLog::default(),
        }
    }
}

/// Access log settings. The log always contains failures (5xx) while it is enabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessLog {
    /// True to write an access log.
    pub enabled: bool,
    /// Format of an entry.
    pub format: LogFormat,
    /// Sampling: requests out of 1000 successful ones that are logged.
    pub sample_permille: u32,
    /// Size in bytes at which a file is closed and renamed to a numbered one.
    pub file_bytes_max: u64,
    /// Number of closed files to keep.
    pub files_max: u32,
}

impl Default for AccessLog {
    fn default() -> Self {
        Self {
            enabled: true,
            format: LogFormat::Json,
            sample_permille: 10,
            file_bytes_max: 64 * 1024 * 1024,
            files_max: 5,
        }
    }
}

/// Format of an access log entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// One JSON object for each entry.
    #[default]
    Json,
    /// "Combined" format, which web servers have written since NCSA.
    Combined,
}

impl ProxySettings {
    /// Returns a warning about valid but risky settings.
    pub fn warnings(&self) -> Vec<&'static str> {
        if self.trusts_this_machine() { vec![TRUSTS_THIS_MACHINE] } else { Vec::new() }
    }

    /// True if a process on this machine counts as a trusted proxy.
    fn trusts_this_machine(&self) -> bool {
        let loopback = [(Ipv4Addr::LOCALHOST.into(), 8), (Ipv6Addr::LOCALHOST.into(), 128)];
        let loopback = loopback.map(|(address, prefix)| IpNet::new_assert(address, prefix));
        let meets = |net: &IpNet| loopback.iter().any(|local| local.contains(net) || net.contains(local));
        self.trusted_proxies.iter().any(meets)
    }
}

impl TrafficPart for ProxySettings {
    type Message = message::ProxySettings;

    fn from_message(message: message::ProxySettings) -> Parsed<Self> {
        let default = ProxySettings::default();
        let log = message.access_log.unwrap_or_default();
        Ok(Self {
            trusted_proxies: networks("trusted_proxies", &message.trusted_proxies)?,
            cloudflare: message.cloudflare,
            proxy_protocol: message.proxy_protocol,
            http3: message.http3.unwrap_or(default.http3),
            connections_per_client: message.connections_per_client.unwrap_or(default.connections_per_client),
            access_log: AccessLog {
                enabled: log.enabled.unwrap_or(default.access_log.enabled),
                format: match message::LogFormat::try_from(log.format) {
                    Ok(message::LogFormat::Unspecified | message::LogFormat::Json) => LogFormat::Json,
                    Ok(message::LogFormat::Combined) => LogFormat::Combined,
                    Err(_) => return unknown("access_log.format"),
                },
                sample_permille: log.sample_permille.unwrap_or(default.access_log.sample_permille),
                file_bytes_max: match log.file_bytes_max {
                    0 => default.access_log.file_bytes_max,
                    bytes => bytes,
                },
                files_max: or(log.files_max, default.access_log.files_max),
            },
        })
    }

    fn check(&self) -> Checked {
        few("trusted_proxies", self.trusted_proxies.len())?;
        if self.proxy_protocol && self.trusted_proxies.is_empty() && !self.cloudflare {
            return wrong("proxy_protocol", "needs `trusted_proxies`: nobody else may connect then");
        }
        within("connections_per_client", self.connections_per_client, 0, COUNT_MAX)?;
        within("access_log.sample_permille", self.access_log.sample_permille, 0, 1000)?;
        within("access_log.files_max", self.access_log.files_max, 1, 1000)?;
        if !(64 * 1024..=16 * 1024 * 1024 * 1024).contains(&self.access_log.file_bytes_max) {
            return wrong("access_log.file_bytes_max", "is not between 64 KiB and 16 GiB");
        }
        Ok(())
    }
}
