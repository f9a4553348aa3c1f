//! Traffic settings of one app: load balancing, queue, timeouts and health checks, with their bounds.

use serde::{Deserialize, Serialize};

use super::{Checked, Parsed, TrafficPart, or, unknown, within, wrong};
use crate::message;

/// Maximum length of certificate authorities in PEM.
const PEM_BYTES_MAX: usize = 64 * 1024;
/// One hour: a longer time is a mistake.
const MILLISECONDS_MAX: u32 = 3_600_000;
const COUNT_MAX: u32 = 1_000_000;

/// Traffic settings between the proxy and the instances of one app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AppTraffic {
    /// Protocol between the proxy and the instances.
    pub upstream_protocol: UpstreamProtocol,
    /// TLS settings; `None` for plain TCP.
    pub tls: Option<UpstreamTls>,
    /// Algorithm that picks an instance.
    pub load_balancing: LoadBalancing,
    /// Sticky sessions; `None` turns them off.
    pub sticky_sessions: Option<StickySessions>,
    /// Slow start: time in which a new instance's share of requests grows to its full weight.
    pub slow_start_ms: u32,
    /// Connections to one instance; zero: adaptive.
    pub connections_per_instance: u32,
    /// In-flight requests of one instance; zero: as many as there are connections.
    pub in_flight_per_instance: u32,
    /// In-flight requests of the app on this server; zero for no limit.
    pub in_flight_per_app: u32,
    /// Maximum number of requests in the wait queue on this server.
    pub queue_length_max: u32,
    /// Queue timeout: the longest time that a request may wait.
    pub queue_timeout_ms: u32,
    /// Response timeout: from the end of a request to the head of its response.
    pub response_timeout_ms: u32,
    /// Load shedding: refuse requests by priority when the queue stays long.
    pub load_shedding: bool,
    /// Retry budget: retries as a percentage of requests.
    pub retry_budget_percent: u32,
    /// Outlier ejection (circuit breaker) of failing instances.
    pub outlier_ejection: OutlierEjection,
    /// Active health check by the proxy; `None` turns it off.
    pub health_check: Option<ActiveHealthCheck>,
}

impl Default for AppTraffic {
    fn default() -> Self {
        Self {
            upstream_protocol: UpstreamProtocol::Http1,
            tls: None,
            load_balancing: LoadBalancing::LeastLoaded,
            sticky_sessions: None,
            slow_start_ms: 0,
            connections_per_instance: 0,
            in_flight_per_instance: 0,
            in_flight_per_app: 0,
            queue_length_max: 8192,
            queue_timeout_ms: 60_000,
            response_timeout_ms: 120_000,
            load_shedding: false,
            retry_budget_percent: 20,
            outlier_ejection: OutlierEjection::default(),
            health_check: None,
        }
    }
}

/// Active health check that the proxy runs against each instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActiveHealthCheck {
    /// Path that must respond with 2xx or 3xx; empty: a TCP connection is enough.
    pub path: String,
    pub interval_ms: u32,
    /// Timeout of one check.
    pub timeout_ms: u32,
    /// Healthy threshold: successful checks in a row that make an instance healthy again.
    pub healthy_threshold: u32,
    /// Unhealthy threshold: failed checks in a row that make an instance unhealthy.
    pub unhealthy_threshold: u32,
}

impl Default for ActiveHealthCheck {
    fn default() -> Self {
        Self {
            path: "/".to_owned(),
            interval_ms: 5_000,
            timeout_ms: 2_000,
            healthy_threshold: 1,
            unhealthy_threshold: 3,
        }
    }
}

/// Protocol of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamProtocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: by prior knowledge, or by ALPN over TLS. gRPC needs it.
    Http2,
}

/// TLS between the proxy and the instances.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamTls {
    /// Name in the certificate; empty: the address.
    pub server_name: String,
    /// Certificate authorities as PEM that replace the system's.
    pub ca_pem: String,
}

/// Load balancing algorithm over the available instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadBalancing {
    /// Least loaded: picks two instances at random and takes the less loaded one (power of two choices).
    #[default]
    LeastLoaded,
    /// Round robin: takes the instances one after the other.
    RoundRobin,
}

/// Key of a sticky session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StickySessions {
    /// Cookie of this name that the proxy sets.
    Cookie(String),
    /// Address of the client.
    ClientAddress,
}

/// Outlier ejection (circuit breaker): takes an instance that fails out of the load balancer for a
/// while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutlierEjection {
    /// Failures in a row (no connection, no response, or 502, 503 or 504) until ejection; zero
    /// turns ejection off.
    pub consecutive_failures: u32,
    /// Length of the first ejection; doubles with each further one, up to ten times the first.
    pub ejection_time_ms: u32,
    /// Maximum percentage of an app's instances that may be ejected at once.
    pub ejected_percent_max: u32,
}

impl Default for OutlierEjection {
    fn default() -> Self {
        Self { consecutive_failures: 5, ejection_time_ms: 5_000, ejected_percent_max: 50 }
    }
}

impl TrafficPart for AppTraffic {
    type Message = message::AppTraffic;

    fn from_message(message: message::AppTraffic) -> Parsed<Self> {
        let default = AppTraffic::default();
        Ok(Self {
            upstream_protocol: match message::UpstreamProtocol::try_from(message.upstream_protocol) {
                Ok(message::UpstreamProtocol::Unspecified | message::UpstreamProtocol::Http1) => {
                    UpstreamProtocol::Http1
                }
                Ok(message::UpstreamProtocol::Http2) => UpstreamProtocol::Http2,
                Err(_) => return unknown("upstream_protocol"),
            },
            tls: message
                .tls
                .as_ref()
                .map(|tls| UpstreamTls { server_name: tls.server_name.clone(), ca_pem: tls.ca_pem.clone() }),
            load_balancing: match message::LoadBalancing::try_from(message.load_balancing) {
                Ok(message::LoadBalancing::Unspecified | message::LoadBalancing::LeastLoaded) => {
                    LoadBalancing::LeastLoaded
                }
                Ok(message::LoadBalancing::RoundRobin) => LoadBalancing::RoundRobin,
                Err(_) => return unknown("load_balancing"),
            },
            sticky_sessions: match message.sticky_sessions.as_ref().and_then(|sticky| sticky.by.as_ref()) {
                None | Some(message::sticky_sessions::By::ClientAddress(false)) => None,
                Some(message::sticky_sessions::By::Cookie(name)) => Some(StickySessions::Cookie(name.clone())),
                Some(message::sticky_sessions::By::ClientAddress(true)) => Some(StickySessions::ClientAddress),
            },
            slow_start_ms: message.slow_start_ms,
            connections_per_instance: message.connections_per_instance,
            in_flight_per_instance: message.in_flight_per_instance,
            in_flight_per_app: message.in_flight_per_app,
            queue_length_max: message.queue_length_max.unwrap_or(default.queue_length_max),
            queue_timeout_ms: or(message.queue_timeout_ms, default.queue_timeout_ms),
            response_timeout_ms: or(message.response_timeout_ms, default.response_timeout_ms),
            load_shedding: message.load_shedding,
            retry_budget_percent: message.retry_budget_percent.unwrap_or(default.retry_budget_percent),
            outlier_ejection: message.outlier_ejection.map_or(default.outlier_ejection, |ejection| OutlierEjection {
                consecutive_failures: ejection.consecutive_failures,
                ejection_time_ms: ejection.ejection_time_ms,
                ejected_percent_max: ejection.ejected_percent_max,
            }),
            health_check: message.health_check.as_ref().map(|check| ActiveHealthCheck {
                path: check.path.clone(),
                interval_ms: check.interval_ms,
                timeout_ms: check.timeout_ms,
                healthy_threshold: check.healthy_threshold,
                unhealthy_threshold: check.unhealthy_threshold,
            }),
        })
    }

    fn check(&self) -> Checked {
        within("slow_start_ms", self.slow_start_ms, 0, MILLISECONDS_MAX)?;
        within("connections_per_instance", self.connections_per_instance, 0, 10_000)?;
        within("in_flight_per_instance", self.in_flight_per_instance, 0, COUNT_MAX)?;
        within("in_flight_per_app", self.in_flight_per_app, 0, COUNT_MAX)?;
        within("queue_length_max", self.queue_length_max, 0, 100_000)?;
        within("queue_timeout_ms", self.queue_timeout_ms, 1, MILLISECONDS_MAX)?;
        within("response_timeout_ms", self.response_timeout_ms, 1, 24 * MILLISECONDS_MAX)?;
        within("retry_budget_percent", self.retry_budget_percent, 0, 100)?;
        within("outlier_ejection.consecutive_failures", self.outlier_ejection.consecutive_failures, 0, COUNT_MAX)?;
        within("outlier_ejection.ejection_time_ms", self.outlier_ejection.ejection_time_ms, 100, MILLISECONDS_MAX)?;
        within("outlier_ejection.ejected_percent_max", self.outlier_ejection.ejected_percent_max, 0, 100)?;
        if let Some(StickySessions::Cookie(name)) = &self.sticky_sessions {
            let token = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
            if name.is_empty() || name.len() > 64 || !token {
                return wrong("sticky_sessions.cookie", "is not a cookie name of letters, digits, `_`, `-` and `.`");
            }
        }
        if let Some(tls) = &self.tls {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':');
            if tls.server_name.len() > 253 || !tls.server_name.bytes().all(plain) {
                return wrong("tls.server_name", "is not a host name or address");
            }
            if tls.ca_pem.len() > PEM_BYTES_MAX {
                return wrong("tls.ca_pem", format!("is longer than {PEM_BYTES_MAX} bytes"));
            }
        }
        self.health_check.as_ref().map_or(Ok(()), health_check)
    }
}

fn health_check(check: &ActiveHealthCheck) -> Checked {
    let path = check.path.as_bytes();
    if !path.is_empty() && (path[0] != b'/' || path.len() > 2048 || !path.iter().all(u8::is_ascii_graphic)) {
        return wrong("health_check.path", "is not a path that starts with `/`");
    }
    within("health_check.interval_ms", check.interval_ms, 10, 600_000)?;
    within("health_check.timeout_ms", check.timeout_ms, 10, 600_000)?;
    within("health_check.healthy_threshold", check.healthy_threshold, 1, 100)?;
    within("health_check.unhealthy_threshold", check.unhealthy_threshold, 1, 100)
}
