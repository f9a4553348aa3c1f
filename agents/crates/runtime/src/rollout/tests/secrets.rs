//! Tests of secrets that the control plane can't seal for a while: those sealed before stay in use.

use fairlead_model::SealedSecrets;

use super::*;

const HELD_BACK: &[u8] = &[0];

fn sealed(bytes: &[u8], version: &str) -> Option<SealedSecrets> {
    Some(SealedSecrets { sealed: bytes.to_vec(), version: version.into() })
}

/// Makes release 1 live with these secrets.
fn live_with(bytes: &[u8]) -> AppSpec {
    let mut spec = spec(Some(1), None);
    spec.live.as_mut().unwrap().secrets = sealed(bytes, "v1");
    spec
}

impl World {
    fn serving_with(bytes: &[u8]) -> Self {
        let mut world = Self::new(AppRecord::default());
        world.desire(live_with(bytes));
        world.bring_up(1);
        world.confirm();
        world
    }

    /// Returns the secrets of the last start.
    fn given(&self) -> Vec<u8> {
        let given = self.actions.iter().rev().find_map(|action| match action {
            RolloutAction::Start { release, .. } => Some(release.secrets.clone().unwrap().sealed),
            _ => None,
        });
        given.unwrap()
    }

    /// Crashes the instance and returns the secrets of its restart.
    fn start_again(&mut self) -> Vec<u8> {
        let instance = self.instance(1);
        self.crash(&instance);
        self.actions.clear();
        self.pass(Duration::from_secs(10));
        let given = self.given();
        self.bring_up(1);
        given
    }
}

#[test]
fn what_crashes_while_its_secrets_are_held_back_is_started_with_those_it_had() {
    let mut world = World::serving_with(b"first");
    world.desire(live_with(HELD_BACK));
    assert_eq!(world.start_again(), b"first");
    // A restarted agent has them too: they are in the record.
    let mut world = World::new(world.state().record());
    world.desire(live_with(HELD_BACK));
    assert_eq!(world.given(), b"first");
    world.bring_up(1);
    // Newly sealed secrets apply from then on.
    world.desire(live_with(b"second"));
    assert_eq!(world.start_again(), b"second");
}

#[test]
fn a_restart_takes_what_the_same_version_had_and_another_version_stays_held_back() {
    for (version, given) in [("v1", b"first".as_slice()), ("v2", HELD_BACK)] {
        let mut world = World::serving_with(b"first");
        let mut spec = live_with(HELD_BACK);
        spec.candidate = spec_of_candidate(version);
        world.actions.clear();
        world.desire(spec);
        assert_eq!(world.given(), given, "{version}");
    }
}

/// Makes a candidate of release 1 with secrets of that version that are held back.
fn spec_of_candidate(version: &str) -> Option<Rollout> {
    let mut rollout = spec(None, Some(1)).candidate;
    rollout.as_mut().unwrap().release.secrets = sealed(HELD_BACK, version);
    rollout
}
