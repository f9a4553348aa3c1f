//! What a core counts for each route that leads to an app. A route has numbers only while something is counted for it, so
//! that a hundred thousand quiet ones cost a word each. Must never be locked: one core, one writer.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use fairlead_telemetry::Histogram;

use crate::snapshot::Snapshot;

/// Numbers of one route on one core since the last collection.
#[derive(Debug, Default)]
pub(crate) struct RouteCounters {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) client_errors: u64,
    pub(crate) latency: Histogram,
}

impl RouteCounters {
    /// Adds another core's, or another route's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.client_errors += other.client_errors;
        self.latency.merge(&other.latency);
    }
}

/// A route that something was asked of.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    /// Host and path prefix with a final slash.
    route: Arc<str>,
    app: Box<str>,
    numbers: RefCell<RouteCounters>,
}

impl RouteMetrics {
    /// One that belongs to a side of a canary instead.
    pub(crate) fn side(name: &str) -> Rc<Self> {
        Rc::new(Self { route: Arc::from(""), app: name.into(), numbers: RefCell::default() })
    }

    /// Whose they are.
    pub(crate) fn name(&self) -> &str {
        &self.app
    }

    /// Counts one exchange, as its app does.
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

/// One route's numbers as a core hands them over.
#[derive(Debug)]
pub(crate) struct RouteMetricsReport {
    pub(crate) route: Arc<str>,
    pub(crate) app: Box<str>,
    pub(crate) numbers: RouteCounters,
}

/// The routes of the snapshot in use, and those of former ones that are not collected yet.
#[derive(Debug, Default)]
pub(crate) struct RouteMetricsTable {
    /// Parallel to the snapshot's routes.
    slots: Vec<Option<Rc<RouteMetrics>>>,
    retired: Vec<Rc<RouteMetrics>>,
}

impl RouteMetricsTable {
    /// The numbers of a route that leads to `app`.
    pub(crate) fn of(&mut self, index: usize, route: &Arc<str>, app: &str) -> Option<Rc<RouteMetrics>> {
        let slot = self.slots.get_mut(index)?;
        let route_metrics = slot.get_or_insert_with(|| {
            Rc::new(RouteMetrics { route: Arc::clone(route), app: app.into(), numbers: RefCell::default() })
        });
        Some(Rc::clone(route_metrics))
    }

    /// Goes over to another snapshot. A route that stays where it was keeps its numbers.
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

    /// Hands the numbers since the last collection over and forgets the routes that nobody asks of.
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

/// The same of sides. Those that no instance has any more are forgotten once they are told.
pub(crate) fn collect_sides(sides: &mut Vec<Rc<RouteMetrics>>) -> Vec<RouteMetricsReport> {
    let mut stats = Vec::new();
    sides.retain(|side| take(side, &mut stats));
    stats
}

/// Takes what a route counted; `false` when there is nothing, and nothing to come.
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
