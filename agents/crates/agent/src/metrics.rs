//! Prometheus endpoint: serves totals since the start of this process in text format 0.0.4. Answers only `GET /metrics`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairlead_model::AppKey;
use fairlead_runtime::Wakes;
use fairlead_telemetry::{Histogram, bucket_upper_us};
use fairlead_wire::local::{ProxyAppStats, ProxyStats};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Limit for one request and its response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const REQUEST_BYTES_MAX: usize = 8 * 1024;
/// Upper bounds of the latency buckets, in microseconds.
const BOUNDS_US: [u64; 14] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000,
];

/// Totals since the start of this process, shared by the reconciler and the endpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics(Arc<Mutex<Totals>>);

#[derive(Debug, Default)]
struct Totals {
    apps: BTreeMap<String, AppTotals>,
    /// Rejected requests by route and reason.
    rejected: BTreeMap<String, BTreeMap<String, u64>>,
    instances: BTreeMap<String, u32>,
    wakes: BTreeMap<String, Wakes>,
    open_connections: u32,
    malformed_requests: u64,
    access_log_dropped: u64,
    accept_pauses: u64,
    rejected_connections: u64,
    panics: u64,
    trash_folders: usize,
    trash_stuck: usize,
}

#[derive(Debug, Default)]
struct AppTotals {
    requests: u64,
    errors: u64,
    client_errors: u64,
    bytes_received: u64,
    bytes_sent: u64,
    in_flight: u32,
    latency: Histogram,
    queued: u64,
    rejected: RejectedRequests,
    retries: u64,
    ejections: u64,
    queue_length: u32,
    ejected: u32,
    unhealthy: u32,
}

/// Requests that the proxy rejected because an app had no capacity, by reason.
#[derive(Debug, Default)]
struct RejectedRequests {
    queue_timeout: u64,
    queue_full: u64,
    load_shed: u64,
}

impl Metrics {
    /// Adds the counts of one report of the proxy.
    pub(crate) fn add(&self, stats: &ProxyStats) {
        let mut totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        totals.open_connections = stats.open_connections;
        totals.malformed_requests += stats.malformed_requests;
        totals.access_log_dropped += stats.access_log_dropped;
        totals.accept_pauses += u64::from(stats.accept_pauses);
        totals.rejected_connections += u64::from(stats.rejected_connections);
        totals.panics += u64::from(stats.panics);
        totals.instances =
            stats.instances.iter().map(|instance| (instance.instance_id.clone(), instance.in_flight)).collect();
        for route in &stats.route_responses {
            let totals = totals.rejected.entry(route.route.clone()).or_default();
            for (reason, count) in &route.counts {
                *totals.entry(reason.clone()).or_default() += u64::from(*count);
            }
        }
        for app in &stats.apps {
            totals.apps.entry(app.app_key.clone()).or_default().add(app);
        }
    }

    /// Sets the wake counts of apps.
    pub(crate) fn wakes(&self, wakes: &BTreeMap<AppKey, Wakes>) {
        let mut totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        totals.wakes = wakes.iter().map(|(key, wakes)| (fairlead_wire::app_key(key), *wakes)).collect();
    }

    /// Sets how many folders wait in the trash, and how many of them could not be removed.
    pub(crate) fn trash(&self, folders: usize, stuck: usize) {
        let mut totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (totals.trash_folders, totals.trash_stuck) = (folders, stuck);
    }

    /// Serves on `address` until the runtime ends. Returns the bound address.
    pub(crate) async fn listen(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        let metrics = self.clone();
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    // Serves one request at a time: its only clients are scrapers and people.
                    Ok((stream, _)) => match timeout(ANSWER_TIMEOUT, metrics.answer(stream)).await {
                        Ok(Ok(())) => {}
                        Ok(Err(error)) => tracing::debug!(%error, "a request for metrics ended early"),
                        Err(_) => tracing::debug!("a request for metrics timed out"),
                    },
                    Err(error) => {
                        tracing::warn!(%error, "the metrics endpoint can't accept connections");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        });
        Ok(bound)
    }

    async fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut request = Vec::new();
        while !request.windows(4).any(|window| window == b"\r\n\r\n") {
            if request.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut request).await? == 0 {
                return Ok(());
            }
        }
        let is_metrics = request.starts_with(b"GET /metrics ") || request.starts_with(b"GET /metrics?");
        let (status, body) =
            if is_metrics { ("200 OK", self.text()) } else { ("404 Not Found", "see /metrics\n".to_owned()) };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.shutdown().await
    }

    fn text(&self) -> String {
        let totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = MetricsText::default();
        text.family("fairlead_open_connections", "gauge", "Open client connections.");
        text.sample("fairlead_open_connections", &[], totals.open_connections);
        text.family("fairlead_malformed_requests_total", "counter", "Requests that were not valid HTTP.");
        text.sample("fairlead_malformed_requests_total", &[], totals.malformed_requests);
        let name = "fairlead_access_log_dropped_batches_total";
        text.family(name, "counter", "Batches of access log entries that were dropped because the disk was too slow.");
        text.sample(name, &[], totals.access_log_dropped);
        for (name, help, total) in [
            (
                "fairlead_accept_pauses_total",
                "Pauses in accepting connections because the proxy was full.",
                totals.accept_pauses,
            ),
            (
                "fairlead_rejected_connections_total",
                "Connections closed because their client had the maximum number.",
                totals.rejected_connections,
            ),
            ("fairlead_panics_total", "Connections that a panic of the proxy ended.", totals.panics),
        ] {
            text.family(name, "counter", help);
            text.sample(name, &[], total);
        }
        for (name, help, count) in [
            ("fairlead_trash_folders", "Unused folders that are waiting to be removed.", totals.trash_folders),
            ("fairlead_trash_stuck", "Folders that could not be removed; the log names them.", totals.trash_stuck),
        ] {
            text.family(name, "gauge", help);
            text.sample(name, &[], count);
        }
        text.family("fairlead_requests_total", "counter", "Requests by status class.");
        for (app, of) in &totals.apps {
            let fine = of.requests.saturating_sub(of.errors + of.client_errors);
            for (class, count) in [("ok", fine), ("4xx", of.client_errors), ("5xx", of.errors)] {
                text.sample("fairlead_requests_total", &[("app", app), ("class", class)], count);
            }
        }
        type Number = fn(&AppTotals) -> u64;
        let numbers: [(&str, &str, &str, Number); 9] = [
            ("fairlead_received_bytes_total", "counter", "Bytes received in requests.", |of| of.bytes_received),
            ("fairlead_sent_bytes_total", "counter", "Bytes sent in responses.", |of| of.bytes_sent),
            ("fairlead_in_flight", "gauge", "Requests in flight.", |of| of.in_flight.into()),
            ("fairlead_queued_total", "counter", "Requests that waited in the queue.", |of| of.queued),
            ("fairlead_queue_length", "gauge", "Requests in the queue.", |of| of.queue_length.into()),
            ("fairlead_retries_total", "counter", "Retries of requests.", |of| of.retries),
            ("fairlead_ejections_total", "counter", "Outlier ejections of instances.", |of| of.ejections),
            ("fairlead_ejected", "gauge", "Instances ejected by outlier ejection.", |of| of.ejected.into()),
            ("fairlead_unhealthy", "gauge", "Instances that fail the active health check.", |of| of.unhealthy.into()),
        ];
        for (name, kind, help, number) in numbers {
            text.family(name, kind, help);
            for (app, of) in &totals.apps {
                text.sample(name, &[("app", app)], number(of));
            }
        }
        text.family(
            "fairlead_rejected_requests_total",
            "counter",
            "Requests rejected because the app was busy, by reason.",
        );
        for (app, of) in &totals.apps {
            let rejected = [
                ("queue_timeout", of.rejected.queue_timeout),
                ("queue_full", of.rejected.queue_full),
                ("load_shedding", of.rejected.load_shed),
            ];
            for (reason, count) in rejected {
                text.sample("fairlead_rejected_requests_total", &[("app", app), ("reason", reason)], count);
            }
        }
        text.family(
            "fairlead_route_responses_total",
            "counter",
            "Responses that the proxy sent instead of the app, by route and reason.",
        );
        for (route, counts) in &totals.rejected {
            for (reason, count) in counts {
                text.sample("fairlead_route_responses_total", &[("route", route), ("reason", reason)], count);
            }
        }
        text.family("fairlead_wakes_total", "counter", "Times that a request woke a sleeping app.");
        for (app, wakes) in &totals.wakes {
            text.sample("fairlead_wakes_total", &[("app", app)], wakes.count);
        }
        text.family("fairlead_wake_seconds_total", "counter", "Time that requests waited for an app to wake.");
        for (app, wakes) in &totals.wakes {
            text.sample("fairlead_wake_seconds_total", &[("app", app)], wakes.total.as_secs_f64());
        }
        text.family("fairlead_instance_in_flight", "gauge", "Requests in flight by instance.");
        for (instance, in_flight) in &totals.instances {
            text.sample("fairlead_instance_in_flight", &[("instance", instance)], *in_flight);
        }
        text.family(
            "fairlead_request_duration_seconds",
            "histogram",
            "Time from the head of a request to the end of its response.",
        );
        for (app, of) in &totals.apps {
            text.histogram("fairlead_request_duration_seconds", app, &of.latency);
        }
        text.0
    }
}

impl AppTotals {
    fn add(&mut self, stats: &ProxyAppStats) {
        self.requests += u64::from(stats.requests);
        self.errors += u64::from(stats.errors);
        self.client_errors += u64::from(stats.client_errors);
        self.bytes_received += stats.bytes_received;
        self.bytes_sent += stats.bytes_sent;
        self.in_flight = stats.in_flight;
        if let Some(load_balancing) = &stats.load_balancing {
            self.queued += u64::from(load_balancing.queued);
            self.rejected.queue_timeout += u64::from(load_balancing.queue_timeouts);
            self.rejected.queue_full += u64::from(load_balancing.queue_full);
            self.rejected.load_shed += u64::from(load_balancing.load_shed);
            self.retries += u64::from(load_balancing.retries);
            self.ejections += u64::from(load_balancing.ejections);
            (self.queue_length, self.ejected, self.unhealthy) =
                (load_balancing.queue_length, load_balancing.ejected, load_balancing.unhealthy);
        }
        let buckets = stats.latency_index.iter().copied().zip(stats.latency_count.iter().copied());
        match Histogram::from_sparse(buckets, stats.latency_sum_us) {
            Ok(latency) => self.latency.merge(&latency),
            Err(error) => tracing::warn!(%error, app = stats.app_key, "latencies of the proxy can't be read"),
        }
    }
}

/// Encoder of the Prometheus text format.
#[derive(Default)]
struct MetricsText(String);

impl MetricsText {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            self.line(format_args!("{}{label}=\"{text}\"", if index == 0 { '{' } else { ',' }));
        }
        self.line(format_args!("{} {value}\n", if labels.is_empty() { "" } else { "}" }));
    }

    fn histogram(&mut self, name: &str, app: &str, latency: &Histogram) {
        let (bucket, seconds) = (format!("{name}_bucket"), |us: u64| us as f64 / 1e6);
        for bound in BOUNDS_US {
            // Counts a bucket below a bound only if the whole bucket lies below it.
            let below: u64 =
                latency.sparse().filter(|(index, _)| bucket_upper_us(*index) <= bound).map(|(_, count)| count).sum();
            self.sample(&bucket, &[("app", app), ("le", &seconds(bound).to_string())], below);
        }
        self.sample(&bucket, &[("app", app), ("le", "+Inf")], latency.count());
        self.sample(&format!("{name}_sum"), &[("app", app)], seconds(latency.sum_us()));
        self.sample(&format!("{name}_count"), &[("app", app)], latency.count());
    }

    fn line(&mut self, parts: std::fmt::Arguments<'_>) {
        if self.0.write_fmt(parts).is_err() {
            tracing::error!("metrics could not be written into memory");
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlead_wire::local::{ProxyLoadBalancingStats, ProxyRouteResponses};

    use super::*;

    fn stats(latencies_us: &[u64]) -> ProxyStats {
        let mut latency = Histogram::new();
        latencies_us.iter().for_each(|us| latency.record(*us));
        let (latency_index, latency_count) = latency.sparse().unzip();
        let app = ProxyAppStats {
            app_key: "a\"b".into(),
            requests: 3,
            errors: 1,
            latency_index,
            latency_count,
            latency_sum_us: latency.sum_us(),
            in_flight: 2,
            load_balancing: Some(ProxyLoadBalancingStats {
                queued: 5,
                load_shed: 2,
                unhealthy: 1,
                ..ProxyLoadBalancingStats::default()
            }),
            ..ProxyAppStats::default()
        };
        let route = ProxyRouteResponses { route: "a.test/".into(), counts: BTreeMap::from([("denied".into(), 2)]) };
        ProxyStats { apps: vec![app], route_responses: vec![route], open_connections: 7, ..ProxyStats::default() }
    }

    #[tokio::test]
    async fn totals_accumulate_and_are_served_in_the_text_format() {
        let metrics = Metrics::default();
        metrics.add(&stats(&[400, 3_000, 20_000_000]));
        metrics.add(&stats(&[400]));
        metrics.trash(3, 1);
        let address = metrics.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let ask = async |path: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let answer = ask("/metrics").await;
        for line in [
            "HTTP/1.1 200 OK",
            "fairlead_open_connections 7",
            "fairlead_trash_folders 3",
            "fairlead_trash_stuck 1",
            "fairlead_requests_total{app=\"a\\\"b\",class=\"ok\"} 4",
            "fairlead_requests_total{app=\"a\\\"b\",class=\"5xx\"} 2",
            "fairlead_route_responses_total{route=\"a.test/\",reason=\"denied\"} 4",
            "fairlead_in_flight{app=\"a\\\"b\"} 2",
            "fairlead_queued_total{app=\"a\\\"b\"} 10",
            "fairlead_rejected_requests_total{app=\"a\\\"b\",reason=\"load_shedding\"} 4",
            "fairlead_unhealthy{app=\"a\\\"b\"} 1",
            "fairlead_request_duration_seconds_bucket{app=\"a\\\"b\",le=\"0.0005\"} 2",
            "fairlead_request_duration_seconds_bucket{app=\"a\\\"b\",le=\"0.005\"} 3",
            "fairlead_request_duration_seconds_bucket{app=\"a\\\"b\",le=\"+Inf\"} 4",
            "fairlead_request_duration_seconds_count{app=\"a\\\"b\"} 4",
        ] {
            assert!(answer.lines().any(|found| found == line), "{line} is not in:\n{answer}");
        }
        assert!(ask("/").await.starts_with("HTTP/1.1 404 "));
    }
}
