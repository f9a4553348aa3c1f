//! Merges statistics frames of several proxies into one, because a draining proxy and its successor serve at once.
//! Invariant: pure functions without I/O.

use std::collections::BTreeMap;

use fairlead_wire::local::{
    ProxyAppStats, ProxyInstanceStats, ProxyLoadBalancingStats, ProxyRouteMetrics, ProxyRouteResponses, ProxySideStats,
    ProxyStats,
};

/// Statistics of one draining proxy for the next frame: counts since the last one, and current in-flight requests.
#[derive(Debug, Default)]
pub(super) struct DrainingShare {
    frame: ProxyStats,
}

impl DrainingShare {
    /// Adds a frame of the draining proxy.
    pub(super) fn add(&mut self, frame: ProxyStats) {
        let counted = self.take_counts();
        self.frame = frame;
        add_counts(&mut self.frame, &counted);
    }

    /// Records the exit of the proxy: nothing is in flight any more, but its last counts are still reported.
    pub(super) fn end(&mut self) {
        let counted = self.take_counts();
        self.frame = ProxyStats { generation: u64::MAX, ..counted };
    }

    /// Adds these statistics to a frame. In-flight numbers stay for the next frame too.
    pub(super) fn add_to(&mut self, frame: &mut ProxyStats) {
        let mine = &self.frame;
        add_counts(frame, mine);
        frame.open_connections += mine.open_connections;
        // The frame reports the oldest generation that any proxy serves.
        frame.generation = frame.generation.min(mine.generation);
        let mut apps: BTreeMap<&str, u32> = mine.apps.iter().map(|app| (app.app_key.as_str(), app.in_flight)).collect();
        for app in &mut frame.apps {
            app.in_flight += apps.remove(app.app_key.as_str()).unwrap_or(0);
        }
        let mut instances: BTreeMap<&str, u32> =
            mine.instances.iter().map(|instance| (instance.instance_id.as_str(), instance.in_flight)).collect();
        for instance in &mut frame.instances {
            instance.in_flight += instances.remove(instance.instance_id.as_str()).unwrap_or(0);
        }
        let others = instances.into_iter().map(|(id, in_flight)| (id.to_owned(), in_flight));
        let others = others.map(|(instance_id, in_flight)| ProxyInstanceStats { instance_id, in_flight });
        frame.instances.extend(others);
        self.take_counts();
    }

    /// Takes the counts and resets them to zero.
    fn take_counts(&mut self) -> ProxyStats {
        let frame = &mut self.frame;
        let mut counts = ProxyStats {
            malformed_requests: std::mem::take(&mut frame.malformed_requests),
            accept_pauses: std::mem::take(&mut frame.accept_pauses),
            rejected_connections: std::mem::take(&mut frame.rejected_connections),
            panics: std::mem::take(&mut frame.panics),
            access_log_dropped: std::mem::take(&mut frame.access_log_dropped),
            route_responses: std::mem::take(&mut frame.route_responses),
            route_metrics: std::mem::take(&mut frame.route_metrics),
            sides: std::mem::take(&mut frame.sides),
            ..ProxyStats::default()
        };
        for app in &mut frame.apps {
            let gauges =
                ProxyAppStats { app_key: app.app_key.clone(), in_flight: app.in_flight, ..ProxyAppStats::default() };
            counts.apps.push(ProxyAppStats { in_flight: 0, ..std::mem::replace(app, gauges) });
        }
        counts
    }
}

fn add_counts(sum: &mut ProxyStats, other: &ProxyStats) {
    // The pattern names every field, so a new field cannot be forgotten.
    let ProxyStats {
        duration_ms: _,
        apps,
        instances: _,
        open_connections: _,
        malformed_requests,
        generation: _,
        accept_pauses,
        rejected_connections,
        panics,
        access_log_dropped,
        route_responses,
        route_metrics,
        sides,
    } = other;
    sum.malformed_requests += malformed_requests;
    sum.accept_pauses += accept_pauses;
    sum.rejected_connections += rejected_connections;
    sum.panics += panics;
    sum.access_log_dropped += access_log_dropped;
    for route in route_responses {
        match sum.route_responses.iter_mut().find(|known| known.route == route.route) {
            Some(known) => add_route_responses(known, route),
            None => sum.route_responses.push(route.clone()),
        }
    }
    for route in route_metrics {
        match sum.route_metrics.iter_mut().find(|known| known.app_key == route.app_key && known.route == route.route) {
            Some(known) => add_route_metrics(known, route),
            None => sum.route_metrics.push(route.clone()),
        }
    }
    for side in sides {
        match sum.sides.iter_mut().find(|known| known.side == side.side) {
            Some(known) => add_side(known, side),
            None => sum.sides.push(side.clone()),
        }
    }
    for app in apps {
        match sum.apps.iter_mut().find(|known| known.app_key == app.app_key) {
            Some(known) => add_app(known, app),
            None => {
                let mut new = ProxyAppStats { app_key: app.app_key.clone(), ..ProxyAppStats::default() };
                add_app(&mut new, app);
                sum.apps.push(new);
            }
        }
    }
}

fn add_route_responses(sum: &mut ProxyRouteResponses, other: &ProxyRouteResponses) {
    let ProxyRouteResponses { route: _, counts } = other;
    for (reason, count) in counts {
        let sum = sum.counts.entry(reason.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
}

fn add_app(sum: &mut ProxyAppStats, other: &ProxyAppStats) {
    let ProxyAppStats {
        app_key: _,
        requests,
        errors,
        client_errors,
        latency_index,
        latency_count,
        latency_sum_us,
        bytes_received,
        bytes_sent,
        in_flight: _,
        load_balancing,
    } = other;
    sum.requests = sum.requests.saturating_add(*requests);
    sum.errors = sum.errors.saturating_add(*errors);
    sum.client_errors = sum.client_errors.saturating_add(*client_errors);
    sum.latency_sum_us += latency_sum_us;
    sum.bytes_received += bytes_received;
    sum.bytes_sent += bytes_sent;
    if let Some(load_balancing) = load_balancing {
        add_load_balancing(sum.load_balancing.get_or_insert_default(), load_balancing);
    }
    add_latency((&mut sum.latency_index, &mut sum.latency_count), (latency_index, latency_count));
}

fn add_route_metrics(sum: &mut ProxyRouteMetrics, other: &ProxyRouteMetrics) {
    let ProxyRouteMetrics {
        app_key: _,
        route: _,
        requests,
        errors,
        client_errors,
        latency_index,
        latency_count,
        latency_sum_us,
    } = other;
    sum.requests = sum.requests.saturating_add(*requests);
    sum.errors = sum.errors.saturating_add(*errors);
    sum.client_errors = sum.client_errors.saturating_add(*client_errors);
    sum.latency_sum_us += latency_sum_us;
    add_latency((&mut sum.latency_index, &mut sum.latency_count), (latency_index, latency_count));
}

fn add_side(sum: &mut ProxySideStats, other: &ProxySideStats) {
    let ProxySideStats { side: _, requests, errors, latency_index, latency_count, latency_sum_us } = other;
    sum.requests = sum.requests.saturating_add(*requests);
    sum.errors = sum.errors.saturating_add(*errors);
    sum.latency_sum_us += latency_sum_us;
    add_latency((&mut sum.latency_index, &mut sum.latency_count), (latency_index, latency_count));
}

/// Adds the buckets of one histogram to another.
fn add_latency((indexes, counts): (&mut Vec<u32>, &mut Vec<u64>), (index, count): (&[u32], &[u64])) {
    let mut latency: BTreeMap<u32, u64> = BTreeMap::new();
    for (index, count) in indexes.iter().zip(&*counts).chain(index.iter().zip(count)) {
        *latency.entry(*index).or_default() += count;
    }
    (*indexes, *counts) = latency.into_iter().unzip();
}

/// Adds the counts. Gauges come only from the serving proxy.
fn add_load_balancing(sum: &mut ProxyLoadBalancingStats, other: &ProxyLoadBalancingStats) {
    let ProxyLoadBalancingStats {
        queued,
        queue_timeouts,
        queue_full,
        load_shed,
        retries,
        ejections,
        queue_length: _,
        ejected: _,
        unhealthy: _,
    } = other;
    sum.queued = sum.queued.saturating_add(*queued);
    sum.queue_timeouts = sum.queue_timeouts.saturating_add(*queue_timeouts);
    sum.queue_full = sum.queue_full.saturating_add(*queue_full);
    sum.load_shed = sum.load_shed.saturating_add(*load_shed);
    sum.retries = sum.retries.saturating_add(*retries);
    sum.ejections = sum.ejections.saturating_add(*ejections);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(generation: u64, requests: u32, in_flight: u32) -> ProxyStats {
        let app = ProxyAppStats {
            app_key: "a".into(),
            requests,
            in_flight,
            latency_index: vec![3, requests],
            latency_count: vec![1, 2],
            ..ProxyAppStats::default()
        };
        let route_metrics = ProxyRouteMetrics {
            app_key: "a".into(),
            route: format!("{}.test/", generation % 2),
            requests,
            latency_index: vec![requests],
            latency_count: vec![1],
            ..ProxyRouteMetrics::default()
        };
        let instance = |id: &str| ProxyInstanceStats { instance_id: id.into(), in_flight };
        ProxyStats {
            apps: vec![app],
            route_metrics: vec![route_metrics],
            instances: vec![instance("ins_1"), instance(&format!("ins_of_{generation}"))],
            open_connections: in_flight,
            malformed_requests: 1,
            generation,
            ..ProxyStats::default()
        }
    }

    #[test]
    fn counts_are_added_once_and_in_flight_numbers_until_the_end() {
        let mut share = DrainingShare::default();
        share.add(frame(7, 10, 5));
        share.add(frame(7, 20, 4));
        let mut first = frame(9, 1, 1);
        share.add_to(&mut first);
        assert_eq!((first.apps[0].requests, first.apps[0].in_flight, first.open_connections), (31, 5, 5));
        assert_eq!((first.generation, first.malformed_requests), (7, 3));
        assert_eq!(
            (&first.apps[0].latency_index, &first.apps[0].latency_count),
            (&vec![1, 3, 10, 20], &vec![2, 3, 2, 2])
        );
        let in_flight: Vec<_> = first.instances.iter().map(|i| (i.instance_id.as_str(), i.in_flight)).collect();
        assert_eq!(in_flight, [("ins_1", 5), ("ins_of_9", 1), ("ins_of_7", 4)]);
        assert_eq!((first.route_metrics.len(), first.route_metrics[0].requests), (1, 31));
        assert_eq!(
            (&first.route_metrics[0].latency_index, &first.route_metrics[0].latency_count),
            (&vec![1, 10, 20], &vec![1, 1, 1])
        );
        let mut second = frame(8, 1, 1);
        share.add_to(&mut second);
        assert_eq!((second.route_metrics.len(), second.route_metrics[0].requests), (1, 1));
        let mut second = frame(9, 1, 1);
        share.add_to(&mut second);
        assert_eq!((second.apps[0].requests, second.apps[0].in_flight, second.generation), (1, 5, 7));
        share.add(frame(7, 3, 4));
        share.end();
        let mut last = frame(9, 1, 1);
        share.add_to(&mut last);
        assert_eq!((last.apps[0].requests, last.apps[0].in_flight, last.open_connections), (4, 1, 1));
        assert_eq!((last.generation, last.instances.len()), (9, 2));
    }
}
