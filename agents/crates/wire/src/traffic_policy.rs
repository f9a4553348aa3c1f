//! Conversion of traffic policy between messages and `model`: validates incoming values and applies the defaults of
//! absent fields.

use fairlead_model::{self as model, TrafficError};

use crate::traffic as wire;

type Parsed<T> = Result<T, TrafficError>;

fn unknown<T>(field: &str) -> Parsed<T> {
    Err(TrafficError::new(field, "holds one that is unknown here"))
}

/// Returns the default for zero.
fn or(value: u32, default: u32) -> u32 {
    if value == 0 { default } else { value }
}

/// Parses the policy of a route.
pub fn route_policy(message: &wire::RoutePolicy) -> Parsed<model::RoutePolicy> {
    let limits = message.limits.unwrap_or_default();
    let policy = model::RoutePolicy {
        serve_plain_http: message.serve_plain_http,
        strip_prefix: message.strip_prefix,
        request_headers: header_rules("request_headers", &message.request_headers)?,
        response_headers: header_rules("response_headers", &message.response_headers)?,
        basic_auth: message.basic_auth.as_ref().map(|auth| model::BasicAuth {
            realm: auth.realm.clone(),
            users: auth.users.iter().map(basic_user).collect(),
        }),
        allow: networks("allow", &message.allow)?,
        deny: networks("deny", &message.deny)?,
        maintenance: message.maintenance.as_ref().map(page),
        error_pages: message.error_pages.iter().enumerate().map(error_page).collect::<Parsed<_>>()?,
        limits: model::RouteLimits {
            client_requests_per_second: limits.client_requests_per_second,
            client_burst: limits.client_burst,
            client_in_flight: limits.client_in_flight,
            requests_per_second: limits.requests_per_second,
            burst: limits.burst,
            in_flight: limits.in_flight,
        },
        priority: match wire::Priority::try_from(message.priority) {
            Ok(wire::Priority::Low) => model::Priority::Low,
            Ok(wire::Priority::Unspecified | wire::Priority::Normal) => model::Priority::Normal,
            Ok(wire::Priority::High) => model::Priority::High,
            Err(_) => return unknown("priority"),
        },
        compress: message.compress,
        request_body_bytes_max: message.request_body_bytes_max,
    };
    policy.check()?;
    Ok(policy)
}

/// Encodes a route's policy; `None` for the default.
pub fn route_policy_message(policy: &model::RoutePolicy) -> Option<wire::RoutePolicy> {
    if *policy == model::RoutePolicy::default() {
        return None;
    }
    let limits = &policy.limits;
    Some(wire::RoutePolicy {
        serve_plain_http: policy.serve_plain_http,
        strip_prefix: policy.strip_prefix,
        request_headers: policy.request_headers.iter().map(header_rule_message).collect(),
        response_headers: policy.response_headers.iter().map(header_rule_message).collect(),
        basic_auth: policy.basic_auth.as_ref().map(|auth| wire::BasicAuth {
            realm: auth.realm.clone(),
            users: auth.users.iter().map(basic_user_message).collect(),
        }),
        allow: policy.allow.iter().map(ToString::to_string).collect(),
        deny: policy.deny.iter().map(ToString::to_string).collect(),
        maintenance: policy.maintenance.as_ref().map(page_message),
        error_pages: policy.error_pages.iter().map(error_page_message).collect(),
        limits: Some(wire::RouteLimits {
            client_requests_per_second: limits.client_requests_per_second,
            client_burst: limits.client_burst,
            client_in_flight: limits.client_in_flight,
            requests_per_second: limits.requests_per_second,
            burst: limits.burst,
            in_flight: limits.in_flight,
        }),
        priority: match policy.priority {
            model::Priority::Low => wire::Priority::Low,
            model::Priority::Normal => wire::Priority::Normal,
            model::Priority::High => wire::Priority::High,
        }
        .into(),
        compress: policy.compress,
        request_body_bytes_max: policy.request_body_bytes_max,
    })
}

fn header_rules(field: &str, rules: &[wire::HeaderRule]) -> Parsed<Vec<model::HeaderRule>> {
    let rule = |rule: &wire::HeaderRule| {
        let action = match wire::HeaderAction::try_from(rule.action) {
            Ok(wire::HeaderAction::Set) => model::HeaderAction::Set,
            Ok(wire::HeaderAction::Append) => model::HeaderAction::Append,
            Ok(wire::HeaderAction::Remove) => model::HeaderAction::Remove,
            Ok(wire::HeaderAction::Unspecified) | Err(_) => return unknown(&format!("{field}.action")),
        };
        Ok(model::HeaderRule { action, name: rule.name.clone(), value: rule.value.clone() })
    };
    rules.iter().map(rule).collect()
}

fn header_rule_message(rule: &model::HeaderRule) -> wire::HeaderRule {
    let action = match rule.action {
        model::HeaderAction::Set => wire::HeaderAction::Set,
        model::HeaderAction::Append => wire::HeaderAction::Append,
        model::HeaderAction::Remove => wire::HeaderAction::Remove,
    };
    wire::HeaderRule { action: action.into(), name: rule.name.clone(), value: rule.value.clone() }
}

fn basic_user(user: &wire::BasicUser) -> model::BasicUser {
    model::BasicUser { name: user.name.clone(), password_hash: user.password_hash.clone() }
}

fn basic_user_message(user: &model::BasicUser) -> wire::BasicUser {
    wire::BasicUser { name: user.name.clone(), password_hash: user.password_hash.clone() }
}

fn networks(field: &str, texts: &[String]) -> Parsed<Vec<ipnet::IpNet>> {
    let network = |text: &String| match (text.parse::<ipnet::IpNet>(), text.parse::<std::net::IpAddr>()) {
        (Ok(network), _) => Ok(network),
        (_, Ok(address)) => Ok(address.into()),
        _ => {
            let shown: String = text.chars().take(80).collect();
            Err(TrafficError::new(field, format!("`{shown}` is not an address range like 192.0.2.0/24")))
        }
    };
    texts.iter().map(network).collect()
}

fn page(page: &wire::Page) -> model::Page {
    model::Page {
        content_type: page.content_type.clone(),
        body: page.body.clone(),
        retry_after_seconds: page.retry_after_seconds,
    }
}

fn page_message(page: &model::Page) -> wire::Page {
    wire::Page {
        content_type: page.content_type.clone(),
        body: page.body.clone(),
        retry_after_seconds: page.retry_after_seconds,
    }
}

fn error_page((index, found): (usize, &wire::ErrorPage)) -> Parsed<model::ErrorPage> {
    let at = format!("error_pages[{index}]");
    let status = |value: u32| u16::try_from(value).map_err(|_| TrafficError::new(&at, "has a status beyond 599"));
    let found_page = found.page.as_ref().ok_or_else(|| TrafficError::new(format!("{at}.page"), "is missing"))?;
    Ok(model::ErrorPage {
        from: status(found.from)?,
        to: status(found.to)?,
        replace_app: found.replace_app,
        page: page(found_page),
    })
}

fn error_page_message(found: &model::ErrorPage) -> wire::ErrorPage {
    wire::ErrorPage {
        from: found.from.into(),
        to: found.to.into(),
        replace_app: found.replace_app,
        page: Some(page_message(&found.page)),
    }
}

/// Parses a redirect and validates it.
pub fn redirect(message: &wire::Redirect) -> Parsed<model::Redirect> {
    let status = u16::try_from(message.status).map_err(|_| TrafficError::new("status", "is not a status"))?;
    let redirect = model::Redirect { status, to: message.to.clone(), keep_path: message.keep_path };
    redirect.check()?;
    Ok(redirect)
}

/// Encodes a redirect as a message.
pub fn redirect_message(redirect: &model::Redirect) -> wire::Redirect {
    wire::Redirect { status: redirect.status.into(), to: redirect.to.clone(), keep_path: redirect.keep_path }
}

/// Parses the traffic settings of an app; `None` is the default.
pub fn app_traffic(message: Option<&wire::AppTraffic>) -> Parsed<model::AppTraffic> {
    let default = model::AppTraffic::default();
    let Some(message) = message else { return Ok(default) };
    let traffic = model::AppTraffic {
        upstream_protocol: match wire::UpstreamProtocol::try_from(message.upstream_protocol) {
            Ok(wire::UpstreamProtocol::Unspecified | wire::UpstreamProtocol::Http1) => model::UpstreamProtocol::Http1,
            Ok(wire::UpstreamProtocol::Http2) => model::UpstreamProtocol::Http2,
            Err(_) => return unknown("upstream_protocol"),
        },
        tls: message
            .tls
            .as_ref()
            .map(|tls| model::UpstreamTls { server_name: tls.server_name.clone(), ca_pem: tls.ca_pem.clone() }),
        load_balancing: match wire::LoadBalancing::try_from(message.load_balancing) {
            Ok(wire::LoadBalancing::Unspecified | wire::LoadBalancing::LeastLoaded) => {
                model::LoadBalancing::LeastLoaded
            }
            Ok(wire::LoadBalancing::RoundRobin) => model::LoadBalancing::RoundRobin,
            Err(_) => return unknown("load_balancing"),
        },
        sticky_sessions: match message.sticky_sessions.as_ref().and_then(|sticky| sticky.by.as_ref()) {
            None | Some(wire::sticky_sessions::By::ClientAddress(false)) => None,
            Some(wire::sticky_sessions::By::Cookie(name)) => Some(model::StickySessions::Cookie(name.clone())),
            Some(wire::sticky_sessions::By::ClientAddress(true)) => Some(model::StickySessions::ClientAddress),
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
        outlier_ejection: message.outlier_ejection.map_or(default.outlier_ejection, |ejection| {
            model::OutlierEjection {
                consecutive_failures: ejection.consecutive_failures,
                ejection_time_ms: ejection.ejection_time_ms,
                ejected_percent_max: ejection.ejected_percent_max,
            }
        }),
        health_check: message.health_check.as_ref().map(|check| model::ActiveHealthCheck {
            path: check.path.clone(),
            interval_ms: check.interval_ms,
            timeout_ms: check.timeout_ms,
            healthy_threshold: check.healthy_threshold,
            unhealthy_threshold: check.unhealthy_threshold,
        }),
    };
    traffic.check()?;
    Ok(traffic)
}

/// Encodes an app's traffic settings; `None` for the default.
pub fn app_traffic_message(traffic: &model::AppTraffic) -> Option<wire::AppTraffic> {
    if *traffic == model::AppTraffic::default() {
        return None;
    }
    Some(wire::AppTraffic {
        upstream_protocol: match traffic.upstream_protocol {
            model::UpstreamProtocol::Http1 => wire::UpstreamProtocol::Http1,
            model::UpstreamProtocol::Http2 => wire::UpstreamProtocol::Http2,
        }
        .into(),
        tls: traffic
            .tls
            .as_ref()
            .map(|tls| wire::UpstreamTls { server_name: tls.server_name.clone(), ca_pem: tls.ca_pem.clone() }),
        load_balancing: match traffic.load_balancing {
            model::LoadBalancing::LeastLoaded => wire::LoadBalancing::LeastLoaded,
            model::LoadBalancing::RoundRobin => wire::LoadBalancing::RoundRobin,
        }
        .into(),
        sticky_sessions: traffic.sticky_sessions.as_ref().map(|sticky| wire::StickySessions {
            by: Some(match sticky {
                model::StickySessions::Cookie(name) => wire::sticky_sessions::By::Cookie(name.clone()),
                model::StickySessions::ClientAddress => wire::sticky_sessions::By::ClientAddress(true),
            }),
        }),
        slow_start_ms: traffic.slow_start_ms,
        connections_per_instance: traffic.connections_per_instance,
        in_flight_per_instance: traffic.in_flight_per_instance,
        in_flight_per_app: traffic.in_flight_per_app,
        queue_length_max: Some(traffic.queue_length_max),
        queue_timeout_ms: traffic.queue_timeout_ms,
        response_timeout_ms: traffic.response_timeout_ms,
        load_shedding: traffic.load_shedding,
        retry_budget_percent: Some(traffic.retry_budget_percent),
        outlier_ejection: Some(wire::OutlierEjection {
            consecutive_failures: traffic.outlier_ejection.consecutive_failures,
            ejection_time_ms: traffic.outlier_ejection.ejection_time_ms,
            ejected_percent_max: traffic.outlier_ejection.ejected_percent_max,
        }),
        health_check: traffic.health_check.as_ref().map(|check| wire::ActiveHealthCheck {
            path: check.path.clone(),
            interval_ms: check.interval_ms,
            timeout_ms: check.timeout_ms,
            healthy_threshold: check.healthy_threshold,
            unhealthy_threshold: check.unhealthy_threshold,
        }),
    })
}

/// Parses the settings of the proxy; `None` is the default.
pub fn proxy_settings(message: Option<&wire::ProxySettings>) -> Parsed<model::ProxySettings> {
    let default = model::ProxySettings::default();
    let Some(message) = message else { return Ok(default) };
    let log = message.access_log.unwrap_or_default();
    let settings = model::ProxySettings {
        trusted_proxies: networks("trusted_proxies", &message.trusted_proxies)?,
        cloudflare: message.cloudflare,
        proxy_protocol: message.proxy_protocol,
        http3: message.http3.unwrap_or(default.http3),
        connections_per_client: message.connections_per_client.unwrap_or(default.connections_per_client),
        access_log: model::AccessLog {
            enabled: log.enabled.unwrap_or(default.access_log.enabled),
            format: match wire::LogFormat::try_from(log.format) {
                Ok(wire::LogFormat::Unspecified | wire::LogFormat::Json) => model::LogFormat::Json,
                Ok(wire::LogFormat::Combined) => model::LogFormat::Combined,
                Err(_) => return unknown("access_log.format"),
            },
            sample_permille: log.sample_permille.unwrap_or(default.access_log.sample_permille),
            file_bytes_max: match log.file_bytes_max {
                0 => default.access_log.file_bytes_max,
                bytes => bytes,
            },
            files_max: or(log.files_max, default.access_log.files_max),
        },
    };
    settings.check()?;
    Ok(settings)
}

/// Encodes the settings of the proxy; `None` for the default.
pub fn proxy_settings_message(settings: &model::ProxySettings) -> Option<wire::ProxySettings> {
    if *settings == model::ProxySettings::default() {
        return None;
    }
    let log = &settings.access_log;
    Some(wire::ProxySettings {
        trusted_proxies: settings.trusted_proxies.iter().map(ToString::to_string).collect(),
        cloudflare: settings.cloudflare,
        proxy_protocol: settings.proxy_protocol,
        http3: Some(settings.http3),
        connections_per_client: Some(settings.connections_per_client),
        access_log: Some(wire::AccessLog {
            enabled: Some(log.enabled),
            format: match log.format {
                model::LogFormat::Json => wire::LogFormat::Json,
                model::LogFormat::Combined => wire::LogFormat::Combined,
            }
            .into(),
            sample_permille: Some(log.sample_permille),
            file_bytes_max: log.file_bytes_max,
            files_max: log.files_max,
        }),
    })
}

#[cfg(test)]
mod tests {
    use fairlead_model::{HeaderAction, Priority, StickySessions};

    use super::*;

    #[test]
    fn nothing_is_lost_between_a_policy_and_its_message() {
        let page = model::Page { content_type: "text/plain".into(), body: "soon".into(), retry_after_seconds: 9 };
        let rule = |action| model::HeaderRule { action, name: "x-a".into(), value: String::new() };
        let hash = format!("pbkdf2-sha256:100000:{}:{}=", "A".repeat(24), "A".repeat(43));
        let policy = model::RoutePolicy {
            serve_plain_http: true,
            strip_prefix: true,
            request_headers: vec![rule(HeaderAction::Set), rule(HeaderAction::Append)],
            response_headers: vec![rule(HeaderAction::Remove)],
            basic_auth: Some(model::BasicAuth {
                realm: "in".into(),
                users: vec![model::BasicUser { name: "ann".into(), password_hash: hash }],
            }),
            allow: vec!["192.0.2.0/24".parse().unwrap()],
            deny: vec!["2001:db8::/32".parse().unwrap()],
            maintenance: Some(page.clone()),
            error_pages: vec![model::ErrorPage { from: 500, to: 504, replace_app: true, page }],
            limits: model::RouteLimits {
                client_requests_per_second: 1,
                client_burst: 2,
                client_in_flight: 3,
                requests_per_second: 4,
                burst: 5,
                in_flight: 6,
            },
            priority: Priority::High,
            compress: true,
            request_body_bytes_max: 1 << 40,
        };
        assert_eq!(route_policy(&route_policy_message(&policy).unwrap()), Ok(policy));
        let traffic = model::AppTraffic {
            upstream_protocol: model::UpstreamProtocol::Http2,
            tls: Some(model::UpstreamTls { server_name: "a.test".into(), ca_pem: "x".into() }),
            load_balancing: model::LoadBalancing::RoundRobin,
            sticky_sessions: Some(StickySessions::Cookie("c".into())),
            slow_start_ms: 1,
            connections_per_instance: 2,
            in_flight_per_instance: 3,
            in_flight_per_app: 4,
            queue_length_max: 0,
            queue_timeout_ms: 6,
            response_timeout_ms: 7,
            load_shedding: true,
            retry_budget_percent: 0,
            outlier_ejection: model::OutlierEjection {
                consecutive_failures: 0,
                ejection_time_ms: 900,
                ejected_percent_max: 10,
            },
            health_check: Some(model::ActiveHealthCheck {
                path: "/up".into(),
                interval_ms: 10,
                timeout_ms: 11,
                healthy_threshold: 2,
                unhealthy_threshold: 4,
            }),
        };
        assert_eq!(app_traffic(app_traffic_message(&traffic).as_ref()), Ok(traffic));
        let settings = model::ProxySettings {
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
            cloudflare: true,
            proxy_protocol: true,
            http3: false,
            connections_per_client: 0,
            access_log: model::AccessLog {
                enabled: false,
                format: model::LogFormat::Combined,
                sample_permille: 0,
                file_bytes_max: 1 << 20,
                files_max: 2,
            },
        };
        assert_eq!(proxy_settings(proxy_settings_message(&settings).as_ref()), Ok(settings));
    }

    #[test]
    fn what_is_absent_is_the_default_and_what_is_wrong_is_named() {
        assert_eq!(route_policy(&wire::RoutePolicy::default()), Ok(model::RoutePolicy::default()));
        assert_eq!(app_traffic(Some(&wire::AppTraffic::default())), Ok(model::AppTraffic::default()));
        assert_eq!(app_traffic(None), Ok(model::AppTraffic::default()));
        assert_eq!(proxy_settings(Some(&wire::ProxySettings::default())), Ok(model::ProxySettings::default()));
        let policy = wire::RoutePolicy { allow: vec!["nowhere".into()], ..Default::default() };
        assert_eq!(route_policy(&policy).unwrap_err().field, "allow");
        let policy = wire::RoutePolicy { priority: 77, ..Default::default() };
        assert_eq!(route_policy(&policy).unwrap_err().field, "priority");
        let policy = wire::RoutePolicy { request_body_bytes_max: u64::MAX, ..Default::default() };
        assert_eq!(route_policy(&policy).unwrap_err().field, "request_body_bytes_max");
        let one = wire::RoutePolicy { allow: vec!["192.0.2.7".into()], ..Default::default() };
        assert_eq!(route_policy(&one).unwrap().allow[0].to_string(), "192.0.2.7/32");
    }
}
