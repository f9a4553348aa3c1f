//! Tests of the spool: order, growth, limits and recovery after a kill.

use std::fs::{self, OpenOptions};
use std::io::Write;

use fairlead_wire::agent::{Frame, push};

use super::{Spool, SpoolLimits};

fn frame(at: u64) -> push::Body {
    push::Body::Frame(Frame { agent_unix_ms: at, ..Frame::default() })
}

fn sequences(spool: &mut Spool) -> Vec<u64> {
    std::iter::from_fn(|| spool.read().unwrap()).map(|push| push.sequence).collect()
}

const SMALL: SpoolLimits = SpoolLimits { segment_bytes: 60, total_bytes: 200 };

#[test]
fn unacknowledged_pushes_are_read_again_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), SpoolLimits::default()).unwrap();
    for at in 0..5 {
        spool.append(frame(at)).unwrap();
    }
    assert_eq!(sequences(&mut spool), [1, 2, 3, 4, 5]);
    drop(spool);
    let mut spool = Spool::open(dir.path(), SpoolLimits::default()).unwrap();
    spool.rewind(2).unwrap();
    assert_eq!(sequences(&mut spool), [3, 4, 5]);
    assert_eq!(spool.append(frame(9)).unwrap(), 6);
    assert_eq!(sequences(&mut spool), [6]);
}

#[test]
fn sequences_never_start_over_even_when_everything_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), SMALL).unwrap();
    for at in 0..20 {
        let sequence = spool.append(frame(at)).unwrap();
        spool.acknowledge(sequence).unwrap();
    }
    drop(spool);
    assert!(fs::read_dir(dir.path()).unwrap().count() <= 2);
    assert_eq!(Spool::open(dir.path(), SMALL).unwrap().append(frame(0)).unwrap(), 21);
}

#[test]
fn after_a_lost_folder_sequences_continue_after_those_of_the_control_plane() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), SpoolLimits::default()).unwrap();
    spool.append(frame(0)).unwrap();
    spool.rewind(700).unwrap();
    assert!(sequences(&mut spool).is_empty());
    assert_eq!(spool.append(frame(1)).unwrap(), 701);
    assert_eq!(sequences(&mut spool), [701]);
}

#[test]
fn a_torn_tail_costs_only_the_torn_record() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), SpoolLimits::default()).unwrap();
    spool.append(frame(0)).unwrap();
    spool.append(frame(1)).unwrap();
    drop(spool);
    let path = dir.path().join(format!("{:020}.seg", 1));
    let whole = fs::metadata(&path).unwrap().len();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(whole - 1).unwrap();
    let mut spool = Spool::open(dir.path(), SpoolLimits::default()).unwrap();
    assert_eq!(spool.append(frame(2)).unwrap(), 2);
    assert_eq!(sequences(&mut spool), [1, 2]);
    drop(spool);
    // Zeros where a record should be are what ext4 may leave after a power cut.
    OpenOptions::new().append(true).open(&path).unwrap().write_all(&[0xff; 64]).unwrap();
    assert_eq!(sequences(&mut Spool::open(dir.path(), SpoolLimits::default()).unwrap()), [1, 2]);
}

#[test]
fn a_full_spool_gives_up_the_oldest_and_counts_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), SMALL).unwrap();
    for at in 0..100 {
        spool.append(frame(at)).unwrap();
    }
    let kept = sequences(&mut spool);
    assert_eq!(kept.len() as u64 + spool.dropped(), 100);
    assert_eq!(kept.last(), Some(&100));
    assert!(kept.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert!(fs::read_dir(dir.path()).unwrap().count() <= 5);
}

#[test]
fn a_rewind_in_the_middle_of_a_segment_starts_exactly_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), SMALL).unwrap();
    for at in 0..9 {
        spool.append(frame(at)).unwrap();
    }
    assert_eq!(spool.read().unwrap().map(|push| push.sequence), Some(1));
    for acked in [3, 4, 7, 9] {
        spool.rewind(acked).unwrap();
        assert_eq!(sequences(&mut spool), (acked + 1..=9).collect::<Vec<_>>());
    }
}
