//! Autoscaler of an app: scales up at once, down slowly, and to the minimum when idle, within configured bounds. Pure:
//! numbers and times are given. Never starts or stops anything.

use std::collections::VecDeque;
use std::time::Duration;

use fairlead_model::Autoscaling;

/// Time that load must stay high before the count rises: one busy second is a burst.
const UP_WINDOW: Duration = Duration::from_secs(2);
/// Time that load must stay low before the count falls: a stopped instance is missed if load comes back.
const DOWN_WINDOW: Duration = Duration::from_secs(60);
/// Maximum share of the target, in percent, on the fewer instances: otherwise the count would rise again at once.
const DOWN_FILL: u64 = 80;

/// Requests and CPU use of an app in about a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Number of finished requests.
    pub requests: u32,
    /// Number of exchanges at its instances now.
    pub in_flight: u32,
    /// Number of requests that wait for an instance now.
    pub queue_length: u32,
    /// CPU time of all instances, 1000 = one core.
    pub cpu_millis: u32,
}

impl Load {
    fn is_idle(&self) -> bool {
        self.requests == 0 && self.in_flight == 0 && self.queue_length == 0
    }
}

/// Recent load of an app, and the instance count that follows.
#[derive(Debug, Clone, Default)]
pub(super) struct Autoscaler {
    /// Number of instances that it should have; `None` before any load is known.
    pub(super) count: Option<u32>,
    /// Time of the last activity.
    busy_at: Option<Duration>,
    /// Counts that the load of each second required: to scale up to, and to scale down to.
    seen: VecDeque<(Duration, u32, u32)>,
}

impl Autoscaler {
    pub(super) fn restored(count: Option<u32>) -> Self {
        Self { count, ..Self::default() }
    }

    /// Starts with no instance, unless the number is known from before.
    pub(super) fn start_asleep(&mut self) {
        self.count.get_or_insert(0);
    }

    /// Returns the number of instances to have now; `base` applies without any known load.
    pub(super) fn count(&self, scale: &Autoscaling, base: u32) -> u32 {
        match self.count {
            Some(count) => count.clamp(scale.instances_min, scale.instances_max),
            None => base.clamp(scale.instances_min.max(1), scale.instances_max),
        }
    }

    /// Marks the app as busy, because of a request or a rollout.
    pub(super) fn busy(&mut self, at: Duration) {
        self.busy_at = Some(at);
    }

    /// Wakes a sleeping app; true if it slept.
    pub(super) fn wake(&mut self, scale: &Autoscaling, base: u32, at: Duration) -> bool {
        self.busy(at);
        let slept = self.count(scale, base) == 0;
        if slept {
            self.count = Some(1.min(scale.instances_max));
            self.seen.clear();
        }
        slept
    }

    /// Stops all instances of an app that may sleep.
    pub(super) fn sleep(&mut self) {
        self.seen.clear();
        self.count = Some(0);
    }

    /// Records the load of another second.
    pub(super) fn take(&mut self, scale: &Autoscaling, base: u32, load: &Load, at: Duration) {
        let busy_at = if load.is_idle() { *self.busy_at.get_or_insert(at) } else { *self.busy_at.insert(at) };
        let count = self.count(scale, base);
        if at.saturating_sub(busy_at) >= scale.idle_timeout {
            self.seen.clear();
            self.count = Some(count.min(scale.instances_min));
            return;
        }
        if count == 0 {
            // The app sleeps, and only a request wakes it.
            return;
        }
        let low = scale.instances_min.max(1);
        if scale.in_flight_target == 0 && scale.cpu_millis_target == 0 {
            self.count = Some(base.clamp(low, scale.instances_max));
            return;
        }
        let bounded = |count: u64| u32::try_from(count).unwrap_or(u32::MAX).clamp(low, scale.instances_max);
        let (up, down) = (bounded(needed(scale, load, 100)), bounded(needed(scale, load, DOWN_FILL)));
        self.seen.push_back((at, up, down));
        while self.seen.front().is_some_and(|(seen, ..)| at.saturating_sub(*seen) > DOWN_WINDOW) {
            self.seen.pop_front();
        }
        let covers = |window: Duration| self.seen.front().is_some_and(|(seen, ..)| at.saturating_sub(*seen) >= window);
        let lately = self.seen.iter().rev().take_while(|(seen, ..)| at.saturating_sub(*seen) <= UP_WINDOW);
        let rise = lately.map(|(_, up, _)| *up).min().unwrap_or(count);
        let fall = self.seen.iter().map(|(_, _, down)| *down).max().unwrap_or(count);
        self.count = Some(if rise > count && covers(UP_WINDOW) {
            rise
        } else if fall < count && covers(DOWN_WINDOW - UP_WINDOW) {
            fall
        } else {
            count
        });
    }
}

/// Returns the number of instances for a load if each is filled to `percent` of its targets.
fn needed(scale: &Autoscaling, load: &Load, percent: u64) -> u64 {
    let for_aim = |load: u64, target: u32| match target {
        0 => 0,
        target => (load * 100).div_ceil(u64::from(target) * percent),
    };
    let in_flight = u64::from(load.in_flight) + u64::from(load.queue_length);
    for_aim(in_flight, scale.in_flight_target).max(for_aim(load.cpu_millis.into(), scale.cpu_millis_target))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: Autoscaling = Autoscaling {
        instances_min: 0,
        instances_max: 8,
        idle_timeout: Duration::from_secs(300),
        in_flight_target: 10,
        cpu_millis_target: 500,
        wake_timeout: Duration::from_secs(30),
    };

    /// Applies one load a second for the given time each; returns the counts at the ends.
    fn counts(scale: &Autoscaling, loads: &[(u64, Load)]) -> Vec<u32> {
        let (mut autoscaler, mut at) = (Autoscaler::default(), 1_000);
        loads
            .iter()
            .map(|(seconds, load)| {
                for _ in 0..*seconds {
                    at += 1;
                    autoscaler.take(scale, 1, load, Duration::from_secs(at));
                }
                autoscaler.count(scale, 1)
            })
            .collect()
    }

    fn in_flight(in_flight: u32) -> Load {
        Load { requests: 1, in_flight, ..Load::default() }
    }

    #[test]
    fn load_that_stays_raises_the_count_and_a_burst_does_not() {
        for (loads, expected) in [
            (vec![(10, in_flight(10))], vec![1]),
            (vec![(1, in_flight(40)), (10, in_flight(5))], vec![1, 1]),
            (vec![(3, in_flight(11))], vec![2]),
            (vec![(3, in_flight(40))], vec![4]),
            (vec![(3, in_flight(4_000_000))], vec![8]),
            (vec![(3, Load { queue_length: 35, ..in_flight(0) })], vec![4]),
            (vec![(3, Load { cpu_millis: 1_501, ..in_flight(1) })], vec![4]),
            (vec![(3, Load { cpu_millis: u32::MAX, ..in_flight(u32::MAX) })], vec![8]),
        ] {
            assert_eq!(counts(&SCALE, &loads), expected, "{loads:?}");
        }
    }

    #[test]
    fn the_count_falls_only_after_a_quiet_minute_and_not_to_where_it_would_rise_again() {
        let loads = [(3, in_flight(40)), (50, in_flight(5)), (15, in_flight(5))];
        assert_eq!(counts(&SCALE, &loads), [4, 4, 1]);
        // Thirty would fit on exactly three, without any slack.
        assert_eq!(counts(&SCALE, &[(3, in_flight(40)), (200, in_flight(30))]), [4, 4]);
        assert_eq!(counts(&SCALE, &[(3, in_flight(40)), (200, in_flight(24))]), [4, 3]);
        // Load that rises and falls within the minute never lowers the count.
        let swinging: Vec<(u64, Load)> = (0..20).flat_map(|_| [(20, in_flight(40)), (20, in_flight(1))]).collect();
        assert!(counts(&SCALE, &swinging).iter().all(|count| *count == 4));
    }

    #[test]
    fn only_an_app_that_nobody_asks_sleeps_and_an_open_exchange_keeps_it_awake() {
        let idle = Load::default();
        assert_eq!(counts(&SCALE, &[(1, in_flight(1)), (299, idle), (1, idle), (100, idle)]), [1, 1, 0, 0]);
        // An idle WebSocket is one exchange in flight.
        assert_eq!(counts(&SCALE, &[(1_000, Load { in_flight: 1, ..idle })]), [1]);
        assert_eq!(counts(&SCALE, &[(1_000, Load { requests: 1, ..idle })]), [1]);
        let kept = Autoscaling { instances_min: 2, ..SCALE };
        assert_eq!(counts(&kept, &[(3, in_flight(50)), (301, idle)]), [5, 2]);
        // CPU alone, as of a background task, is no request.
        assert_eq!(counts(&SCALE, &[(301, Load { cpu_millis: 900, ..idle })]), [0]);
    }

    #[test]
    fn without_aims_the_count_is_what_was_set_and_it_sleeps_all_the_same() {
        let plain = Autoscaling { in_flight_target: 0, cpu_millis_target: 0, ..SCALE };
        assert_eq!(counts(&plain, &[(30, in_flight(500)), (301, Load::default())]), [1, 0]);
        let mut autoscaler = Autoscaler::default();
        autoscaler.take(&plain, 3, &in_flight(1), Duration::from_secs(1));
        assert_eq!(autoscaler.count(&plain, 3), 3);
        autoscaler.take(&plain, 3, &Load::default(), Duration::from_secs(400));
        assert_eq!(autoscaler.count(&plain, 3), 0);
        assert!(
            autoscaler.wake(&plain, 3, Duration::from_secs(401))
                && !autoscaler.wake(&plain, 3, Duration::from_secs(402))
        );
        assert_eq!(autoscaler.count(&plain, 3), 1);
        autoscaler.take(&plain, 3, &in_flight(1), Duration::from_secs(402));
        assert_eq!(autoscaler.count(&plain, 3), 3, "awake, it has what was set");
        autoscaler.sleep();
        assert_eq!(autoscaler.count(&plain, 3), 0);
    }
}
