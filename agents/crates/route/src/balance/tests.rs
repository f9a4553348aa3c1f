use proptest::prelude::*;

use super::*;

/// Fixed random sequence: distributions are the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }
}

fn balancer(kind: LoadBalancing, weights: &[u32]) -> Balancer {
    let mut balancer = Balancer::default();
    balancer.set(kind, weights.iter().copied());
    balancer
}

/// Returns the requests of each instance out of `count`, with `under_way` in flight that end in random order.
fn served(kind: LoadBalancing, weights: &[u32], under_way: usize, count: usize) -> Vec<usize> {
    let (mut balancer, mut random) = (balancer(kind, weights), Random(7));
    let (mut served, mut loads, mut open) = (vec![0; weights.len()], vec![0u32; weights.len()], Vec::new());
    for _ in 0..count {
        while open.len() >= under_way {
            let ended: usize = open.swap_remove(random.next() as usize % open.len());
            loads[ended] -= 1;
        }
        let picked = balancer.pick(random.next(), |index| Some(loads[index])).unwrap();
        loads[picked] += 1;
        open.push(picked);
        served[picked] += 1;
    }
    served
}

#[test]
fn shares_follow_weights_idle_and_busy() {
    for kind in [LoadBalancing::LeastLoaded, LoadBalancing::RoundRobin] {
        for weights in [&[95, 5][..], &[1, 1, 1], &[4, 2, 1, 1], &[0, 3, 1]] {
            for under_way in [1, 4, 16, 100] {
                let total: u32 = weights.iter().sum();
                let served = served(kind, weights, under_way, 40_000);
                for (count, weight) in served.iter().zip(weights) {
                    let share = f64::from(*weight) / f64::from(total);
                    let got = *count as f64 / 40_000.0;
                    // Tolerance: one eighth, and half a percent of noise.
                    assert!((got - share).abs() <= share / 8.0 + 0.005, "{kind:?} {weights:?} {under_way}: {served:?}");
                }
            }
        }
    }
}

#[test]
fn weight_zero_gets_nothing_at_all() {
    for kind in [LoadBalancing::LeastLoaded, LoadBalancing::RoundRobin] {
        assert_eq!(served(kind, &[0, 1, 0], 8, 1000), [0, 1000, 0]);
        assert_eq!(balancer(kind, &[0, 0]).pick(1, |_| Some(0)), None);
    }
}

#[test]
fn round_robin_is_smooth_and_goes_on_when_weights_change() {
    let mut balancer = balancer(LoadBalancing::RoundRobin, &[5, 1, 1]);
    let turns = |balancer: &mut Balancer, count: usize| -> Vec<usize> {
        (0..count).map(|_| balancer.pick(0, |_| Some(0)).unwrap()).collect()
    };
    assert_eq!(turns(&mut balancer, 7), [0, 0, 1, 0, 2, 0, 0]);
    balancer.set(LoadBalancing::RoundRobin, [1, 1, 1]);
    let mut turn = turns(&mut balancer, 3);
    turn.sort_unstable();
    assert_eq!(turn, [0, 1, 2]);
}

proptest! {
    /// Compares with a model: the picked instance has room, and one is picked if any has room.
    #[test]
    fn a_pick_has_weight_and_room(
        members in prop::collection::vec((0u32..4, prop::option::of(0u32..50)), 0..8), random: u64, robin: bool,
    ) {
        let kind = if robin { LoadBalancing::RoundRobin } else { LoadBalancing::LeastLoaded };
        let weights: Vec<u32> = members.iter().map(|member| member.0).collect();
        let picked = balancer(kind, &weights).pick(random, |index| members[index].1);
        let able = |member: &(u32, Option<u32>)| member.0 > 0 && member.1.is_some();
        match picked {
            Some(index) => prop_assert!(able(&members[index])),
            None => prop_assert!(!members.iter().any(able)),
        }
    }

    #[test]
    fn among_equals_the_busiest_is_never_picked_alone(loads in prop::collection::vec(0u32..100, 2..20), random: u64) {
        let picked = balancer(LoadBalancing::LeastLoaded, &vec![1; loads.len()]).pick(random, |index| Some(loads[index])).unwrap();
        prop_assert!(loads.iter().enumerate().any(|(index, load)| index != picked && *load >= loads[picked]));
    }

    /// A whole turn of smooth weighted round robin serves each instance exactly its weight.
    #[test]
    fn a_turn_of_round_robin_serves_each_its_weight(weights in prop::collection::vec(0u32..9, 1..6)) {
        let total: u32 = weights.iter().sum();
        let mut balancer = balancer(LoadBalancing::RoundRobin, &weights);
        let mut served = vec![0; weights.len()];
        for _ in 0..total {
            served[balancer.pick(0, |_| Some(0)).unwrap()] += 1;
        }
        prop_assert_eq!(served, weights);
    }
}
