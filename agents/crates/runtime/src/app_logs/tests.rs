//! Tests of stored log lines, written as shims write them.

use std::sync::atomic::AtomicBool;

use fairlead_model::{AppId, EnvironmentId};

use super::*;
use crate::shim::log::{LogWriter, Pipe, SEGMENT_BYTES_MAX};

static GO_ON: AtomicBool = AtomicBool::new(false);

struct World {
    _dir: tempfile::TempDir,
    folders: Folders,
    key: AppKey,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::new(dir.path()).unwrap();
        folders.create().unwrap();
        let key = AppKey { app: AppId::parse("app_a").unwrap(), environment: EnvironmentId::parse("env_p").unwrap() };
        Self { _dir: dir, folders, key }
    }

    fn folder(&self, process: &str, instance: &str) -> PathBuf {
        let (instance, release) = (InstanceId::parse(instance).unwrap(), ReleaseId::parse("rel_1").unwrap());
        let folder = folder_for(&self.folders, &self.key, process, &instance, &release);
        fs::create_dir_all(folder.parent().unwrap()).unwrap();
        folder
    }

    fn writer(&self, process: &str, instance: &str) -> LogWriter {
        LogWriter::open(&self.folder(process, instance)).unwrap()
    }

    fn lives(&self, instance: &str) {
        fs::create_dir_all(self.folders.instances().join(instance)).unwrap();
    }

    fn filter(&self) -> LogFilter {
        LogFilter::new(self.key.clone())
    }

    fn texts(&self, filter: &LogFilter) -> (Vec<String>, bool) {
        let (_, lines, more) = LogFollower::begin(&self.folders, filter.clone(), &GO_ON).unwrap();
        (lines.into_iter().map(|line| line.text).collect(), more)
    }

    fn bytes(&self) -> u64 {
        crate::volumes::bytes_below(&self.folders.app_logs())
    }
}

#[test]
fn lines_of_all_instances_come_in_the_order_of_time_and_only_those_that_are_asked_for() {
    let world = World::new();
    let (mut one, mut two) = (world.writer("web", "ins_1"), world.writer("queue", "ins_2"));
    one.take(Pipe::Out, b"INFO first\n", 10);
    two.take(Pipe::Err, b"ERROR second: disk\n", 20);
    one.take(Pipe::Out, b"WARN third\n", 30);
    one.take(Pipe::Out, b"Disk fourth\n", 40);
    assert_eq!(world.texts(&world.filter()).0, ["INFO first", "ERROR second: disk", "WARN third", "Disk fourth"]);
    let of = |filter: LogFilter| world.texts(&filter);
    let filter = || world.filter();
    assert_eq!(of(filter().matching("DISK", false).unwrap()).0, ["ERROR second: disk", "Disk fourth"]);
    assert_eq!(of(filter().matching("^(INFO|Disk) f", true).unwrap()).0, ["INFO first", "Disk fourth"]);
    assert_eq!(of(filter().matching(".", false).unwrap()).0.len(), 0, "a text is no pattern");
    assert_eq!(of(filter().at_least("warn").unwrap()).0, ["ERROR second: disk", "WARN third"]);
    assert_eq!(of(filter().between(20, 30)).0, ["ERROR second: disk", "WARN third"]);
    assert_eq!(of(filter().newest(2)), (vec!["WARN third".into(), "Disk fourth".into()], true));
    assert!(!of(filter().newest(4)).1);
    assert_eq!(of(filter().by("queue", "")).0, ["ERROR second: disk"]);
    assert_eq!(of(filter().by("", "ins_1")).0.len(), 3);
    let line = LogFollower::begin(&world.folders, filter().between(20, 20), &GO_ON).unwrap().1.remove(0);
    assert_eq!((line.instance.as_str(), line.process.as_str(), line.release.as_str()), ("ins_2", "queue", "rel_1"));
    assert_eq!((line.stream, line.level), (fairlead_model::LogStream::Stderr, Some(LogLevel::Error)));
}

#[test]
fn a_pattern_that_is_none_or_too_dear_is_refused_in_a_sentence() {
    let world = World::new();
    for bad in ["(", "[a-", r"(\w{200}){200}"] {
        let error = world.filter().matching(bad, true).unwrap_err();
        assert!(error.to_string().ends_with('.'), "{error}");
    }
    assert!(world.filter().matching(&"a".repeat(501), false).is_err());
    assert!(world.filter().at_least("loud").is_err());
}

#[test]
fn what_is_closed_is_packed_and_found_as_before() {
    let world = World::new();
    world.lives("ins_1");
    let mut writer = world.writer("web", "ins_1");
    let chunk: Vec<u8> =
        (0..2000).flat_map(|n| format!("line {n} of many that are all alike\n").into_bytes()).collect();
    let mut at = 1_000;
    // Below the rate limit of a writer.
    for _ in 0..80 {
        writer.take(Pipe::Out, &chunk, at);
        at += 1_000;
    }
    writer.take(Pipe::Out, b"the last\n", at);
    let (before, more) = world.texts(&world.filter().newest(3000));
    assert!(more);
    let raw = world.bytes();
    tidy_app_logs(&world.folders, at).unwrap();
    let segments = segments_of(&world.folder("web", "ins_1")).unwrap();
    assert_eq!(segments.iter().filter(|one| !one.packed).count(), OPEN_SEGMENTS, "{segments:?}");
    assert!(segments.iter().filter(|one| one.packed).count() >= 2, "{segments:?}");
    assert!(world.bytes() < raw / 2);
    assert_eq!(world.texts(&world.filter().newest(3000)).0, before);
    assert_eq!(before.last().unwrap(), "the last");
    let early = world.filter().between(2_000, 2_000).newest(5000);
    let found = world.texts(&early).0.len();
    assert_eq!(found % 2000, 0, "a packed segment holds whole lines");

    // An instance that is gone is packed completely.
    fs::remove_dir(world.folders.instances().join("ins_1")).unwrap();
    tidy_app_logs(&world.folders, at).unwrap();
    assert!(segments_of(&world.folder("web", "ins_1")).unwrap().iter().all(|one| one.packed));
    assert_eq!(world.texts(&world.filter().newest(3000)).0, before);
    // After a crash between packing and removing, no line appears twice.
    let copy = world.folder("web", "ins_1").join("0000000008.log");
    fs::write(&copy, "1 o twice\n").unwrap();
    let number = segments_of(&world.folder("web", "ins_1")).unwrap().iter().map(|one| one.number).max().unwrap();
    fs::rename(&copy, copy.with_file_name(format!("{number:010}.log"))).unwrap();
    assert_eq!(world.texts(&world.filter().newest(3000)).0, before);
    tidy_app_logs(&world.folders, at).unwrap();
    assert!(segments_of(&world.folder("web", "ins_1")).unwrap().iter().all(|one| one.packed));
}

#[test]
fn what_is_too_old_or_too_much_goes_oldest_first_and_leaves_no_folder_behind() {
    let world = World::new();
    let folder = world.folder("web", "ins_1");
    fs::create_dir_all(&folder).unwrap();
    // Text that does not compress: the limit applies to bytes on disk.
    let noise = |seed: u64| {
        let mut state = seed;
        let mut text = String::from("1000 o ");
        while text.len() < SEGMENT_BYTES_MAX as usize * 8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push(char::from(33 + u8::try_from(state >> 57).unwrap() % 90));
        }
        text + "\n"
    };
    for number in 1..=12u64 {
        let text = noise(number).replacen("1000", &(number * 1_000).to_string(), 1);
        fs::write(folder.join(format!("{number:010}.log")), text).unwrap();
    }
    tidy_app_logs(&world.folders, 12_000).unwrap();
    let left: Vec<u64> = segments_of(&folder).unwrap().iter().map(|one| one.number).collect();
    assert!(world.bytes() <= PROCESS_BYTES_MAX + 1024 * 1024, "{}", world.bytes());
    assert!(left.len() < 12 && left.last() == Some(&12), "{left:?}");
    let later = 20_000 + u64::try_from(AGE_MAX.as_millis()).unwrap();
    tidy_app_logs(&world.folders, later).unwrap();
    assert_eq!(fs::read_dir(world.folders.app_logs()).unwrap().count(), 0);
}

#[test]
fn a_follower_gets_each_line_once_also_over_new_segments_and_new_instances() {
    let world = World::new();
    world.lives("ins_1");
    let mut writer = world.writer("web", "ins_1");
    writer.take(Pipe::Out, b"before\n", 1);
    let filter = world.filter().matching("o", false).unwrap();
    let (mut follower, lines, more) = LogFollower::begin(&world.folders, filter, &GO_ON).unwrap();
    assert_eq!((lines.len(), more), (1, false));
    let texts = |follower: &mut LogFollower| {
        let lines = follower.poll(&world.folders).unwrap();
        lines.into_iter().map(|line| line.text).collect::<Vec<_>>()
    };
    assert!(texts(&mut follower).is_empty());
    writer.take(Pipe::Out, b"one\nxx\nhalf a wo", 2);
    assert_eq!(texts(&mut follower), ["one"]);
    writer.take(Pipe::Out, b"rd\n", 3);
    drop(writer);
    // A restart begins another segment; another instance has another folder.
    world.writer("web", "ins_1").take(Pipe::Out, b"second start of it\n", 4);
    world.writer("web", "ins_2").take(Pipe::Out, b"another one\n", 5);
    assert_eq!(texts(&mut follower), ["half a word", "second start of it", "another one"]);
    assert!(texts(&mut follower).is_empty());
}

#[test]
fn a_search_that_is_cancelled_ends() {
    let world = World::new();
    let mut writer = world.writer("web", "ins_1");
    writer.take(Pipe::Out, &b"x\n".repeat(5_000), 1);
    let (_, lines, _) = LogFollower::begin(&world.folders, world.filter(), &AtomicBool::new(true)).unwrap();
    assert!(lines.len() < 5_000, "{}", lines.len());
}
