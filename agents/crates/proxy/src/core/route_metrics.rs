//! Request metrics of each route of an app, on one core. A route has counters only while requests arrive, so that a
//! hundred thousand quiet routes cost one word each.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use fairlead_telemetry::Histogram;

use crate::snapshot::Snapshot;

/// Counters of one route on one core since the last collection.
#[derive(Debug, Default)]
pub(crate) struct RouteCounters {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) client_errors: u64,
    pub(crate) latency: Histogram,
}

impl RouteCounters {
    /// Adds the counters of another core or route.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.client_errors += other.client_errors;
        self.latency.merge(&other.latency);
    }
}

/// Metrics of one route with traffic.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    /// Host and path prefix with a final slash.
    route: Arc<str>,
    app: Box<str>,
    numbers: RefCell<RouteCounters>,
}

impl RouteMetrics {
    /// Creates metrics of a side of a canary.
    pub(crate) fn side(name: &str) -> Rc<Self> {
        Rc::new(Self { route: Arc::from(""), app: name.into(), numbers: RefCell::default() })
    }

    /// Returns the key of the app, or the name of the side.
    pub(crate) fn name(&self) -> &str {
        &self.app
    }

    /// Counts one exchange, as the app does.
    pub(crate) fn count(&self, status: Option<u16>, latency_us: Option<u64>) {
        let mut numbers = self.numbers.borrow_mut();
        numbers.requests += 1;
        match status {
            Some(500..) => numbers.errors += 1,
            Some(400..) => numbers.client_errors += 1,
            _ => {}
        }
        if let Some(us) = latency_us {
            numbers.latency.record(us);
        }
    }
}

/// Collected counters of one route.
#[derive(Debug)]
pub(crate) struct RouteMetricsReport {
    pub(crate) route: Arc<str>,
    pub(crate) app: Box<str>,
    pub(crate) numbers: RouteCounters,
}

/// Metrics of the routes of the current snapshot, and of former routes that are not collected yet.
#[derive(Debug, Default)]
pub(crate) struct RouteMetricsTable {
    /// Parallel to the routes of the snapshot.
    slots: Vec<Option<Rc<RouteMetrics>>>,
    retired: Vec<Rc<RouteMetrics>>,
}

impl RouteMetricsTable {
    /// Returns the metrics of a route of `app`.
    pub(crate) fn of(&mut self, index: usize, route: &Arc<str>, app: &str) -> Option<Rc<RouteMetrics>> {
        let slot = self.slots.get_mut(index)?;
        let route_metrics = slot.get_or_insert_with(|| {
            Rc::new(RouteMetrics { route: Arc::clone(route), app: app.into(), numbers: RefCell::default() })
        });
        Some(Rc::clone(route_metrics))
    }

    /// Switches to another snapshot. A route at the same index with the same key and app keeps its metrics.
    pub(crate) fn apply(&mut self, snapshot: &Snapshot) {
        let old = std::mem::replace(&mut self.slots, vec![None; snapshot.routes.len()]);
        for (index, route_metrics) in old.into_iter().enumerate() {
            let Some(route_metrics) = route_metrics else { continue };
            let stays = snapshot.routes.get(index).is_some_and(|route| {
                route.key == route_metrics.route
                    && route.app.is_some_and(|app| snapshot.apps[app as usize].key == route_metrics.app)
            });
            if stays {
                self.slots[index] = Some(route_metrics);
            } else {
                self.retired.push(route_metrics);
            }
        }
    }

    /// Returns the counters since the last collection and drops the metrics of idle routes.
    pub(crate) fn collect(&mut self) -> Vec<RouteMetricsReport> {
        let mut stats = Vec::new();
        for slot in &mut self.slots {
            if let Some(route_metrics) = slot
                && !take(route_metrics, &mut stats)
            {
                *slot = None;
            }
        }
        self.retired.retain(|route_metrics| take(route_metrics, &mut stats));
        stats
    }
}

/// Collects sides of canaries. Drops those without an instance once they are collected.
pub(crate) fn collect_sides(sides: &mut Vec<Rc<RouteMetrics>>) -> Vec<RouteMetricsReport> {
    let mut stats = Vec::new();
    sides.retain(|side| take(side, &mut stats));
    stats
}

/// Takes the counters of a route; `false` if there are none and nothing refers to the route.
fn take(route_metrics: &Rc<RouteMetrics>, stats: &mut Vec<RouteMetricsReport>) -> bool {
    let numbers = route_metrics.numbers.take();
    let some = numbers.requests > 0;
    if some {
        stats.push(RouteMetricsReport {
            route: Arc::clone(&route_metrics.route),
            app: route_metrics.app.clone(),
            numbers,
        });
    }
    some || Rc::strong_count(route_metrics) > 1
}
