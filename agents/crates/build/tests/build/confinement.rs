//! Attempts of a hostile build: the same attempts by a command of a build, and by a bare process with the same rights.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::*;

/// Tries what no build needs; prints each attempt with its error, zero for none. Arguments: a file and a folder of others, and
/// the name of an abstract socket of theirs.
const INTRUDER: &str = r#"
use Socket;
my ($file, $folder, $socket) = @ARGV;
sub say_how { my ($name, $ok) = @_; my $error = $ok ? 0 : $! + 0; print "$name=$error\n"; }
say_how('read', open(my $in, '<', $file));
say_how('write', open(my $out, '>', "$folder/left"));
socket(my $peer, PF_UNIX, SOCK_STREAM, 0) or die;
say_how('abstract', connect($peer, pack('S a*', AF_UNIX, "\0$socket")));
say_how('namespace', syscall(272, 0x10000000) == 0);
say_how('shadow', open(my $shadow, '<', '/etc/shadow'));
say_how('hosts', open(my $hosts, '<', '/etc/hosts'));
say_how('null', open(my $null, '>', '/dev/null'));
say_how('home', open(my $home, '>', "$ENV{HOME}/mine"));
say_how('tmp', open(my $tmp, '>', '/tmp/fairlead-test-' . $$));
unlink('/tmp/fairlead-test-' . $$);
open(my $status, '<', '/proc/self/status') or die;
print map { /^Seccomp:\s+(\d)/ ? "seccomp=$1\n" : () } <$status>;
"#;

fn outcomes<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    lines.filter_map(|line| line.split_once('=')).map(|(name, outcome)| (name.into(), outcome.into())).collect()
}

/// Runs a build of one command, without an engine or a registry.
fn manifest(command: &str) -> String {
    format!("[build]\nbuild_command = '{command}'\n[run]\nstart_command = 'true'\n")
}

#[tokio::test]
async fn a_build_reaches_its_own_files_and_no_more_of_the_kernel_than_an_app() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (host, server) = (GitHost::start(), Server::new());
    // Readable by every user of the server, as files often are by mistake.
    let others = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = others.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for (path, mode) in [(others.path(), 0o777), (&file, 0o644)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let socket = format!("fairlead-test-builds-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&socket).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let arguments = [file.to_str().unwrap(), others.path().to_str().unwrap(), &socket];

    let bare = Command::new("perl").args(["-e", INTRUDER]).args(arguments).uid(89_998).gid(89_998).output().unwrap();
    let bare = outcomes(std::str::from_utf8(&bare.stdout).unwrap().lines());
    for possible in ["read", "write", "abstract", "namespace"] {
        assert_eq!(bare[possible], "0", "{possible} is possible without a sandbox: {bare:?}");
    }
    assert_eq!(bare["seccomp"], "0");
    std::fs::remove_file(others.path().join("left")).unwrap();

    let command = format!("perl intruder.pl {}", arguments.join(" "));
    host.repository(
        "intruder.git",
        &[("fairlead.toml", &manifest(&command)), ("index.html", ""), ("intruder.pl", INTRUDER)],
    );
    let mut ears = Ears::default();
    let built = server.build(&spec(host.url("intruder.git"), "main"), &mut ears).await;
    built.unwrap_or_else(|error| panic!("{error}\n{}", ears.lines.join("\n")));
    let build = outcomes(ears.lines.iter().map(String::as_str));
    for (attempt, error) in [("read", "13"), ("write", "13"), ("shadow", "13"), ("abstract", "1"), ("namespace", "1")] {
        assert_eq!(build[attempt], error, "{attempt}: {build:?}");
    }
    for own in ["hosts", "null", "home", "tmp"] {
        assert_eq!(build[own], "0", "{own}: {build:?}");
    }
    assert_eq!(build["seccomp"], "2");
    assert!(!others.path().join("left").exists());
}

/// Writes the given number of MiB into a target: a folder, the cache, or below more names than a path may have.
const WRITER: &str = r#"
my ($place, $name, $mebibytes) = @ARGV;
if ($place eq 'cache') { $place = $ENV{npm_config_cache}; mkdir $place; }
print -e "$place/$name" ? "kept\n" : "absent\n";
if ($place eq 'deep') {
    $place = '.';
    for (1 .. 30) { my $long = 'n' x 200; mkdir $long; chdir $long or die "chdir: $!"; }
}
open(my $out, '>', "$place/$name") or die "open: $!";
for (1 .. $mebibytes) { print $out 'x' x (1 << 20) or die "print: $!"; }
close $out or die "close: $!";
print "wrote\n";
"#;

#[tokio::test]
async fn what_a_build_writes_counts_wherever_it_lies_and_is_gone_after_it() {
    let (host, server) = (GitHost::start(), Server::new());
    if server.options.user.is_none() {
        return;
    }
    let name = format!("fairlead-test-{}", std::process::id());
    for (number, place) in ["/var/tmp", "/dev/shm", "cache", "deep"].into_iter().enumerate() {
        for mebibytes in [1, 24] {
            let command = format!("perl writer.pl {place} {name} {mebibytes}");
            let repository = format!("{number}-{mebibytes}.git");
            host.repository(
                &repository,
                &[("fairlead.toml", &manifest(&command)), ("index.html", ""), ("writer.pl", WRITER)],
            );
            let limits = BuildLimits { disk_bytes_max: 16 << 20, ..BuildLimits::default() };
            let spec = BuildSpec { limits, without_cache: true, ..spec(host.url(&repository), "main") };
            let ears = if mebibytes == 1 {
                let mut ears = Ears::default();
                let built = server.build(&spec, &mut ears).await;
                built.unwrap_or_else(|error| panic!("{place}: {error}\n{}", ears.lines.join("\n")));
                std::fs::remove_dir_all(&server.options.artifacts).unwrap();
                std::fs::create_dir(&server.options.artifacts).unwrap();
                ears
            } else {
                server.fails(&spec, "build.too_large", "more than the 16 MiB").await
            };
            assert!(ears.lines.iter().any(|line| line == "wrote"), "{place}: {:#?}", ears.lines);
            assert!(!std::path::Path::new(place).join(&name).exists(), "{place} is as it was");
        }
    }
}

#[tokio::test]
async fn a_cache_is_kept_until_it_leaves_its_builds_no_room() {
    let (host, server) = (GitHost::start(), Server::new());
    let limits = BuildLimits { disk_bytes_max: 16 << 20, ..BuildLimits::default() };
    let mut found = Vec::new();
    for (round, mebibytes) in [1, 12, 1].into_iter().enumerate() {
        let command = format!("perl writer.pl cache kept {mebibytes}");
        let repository = format!("{round}.git");
        host.repository(
            &repository,
            &[("fairlead.toml", &manifest(&command)), ("index.html", ""), ("writer.pl", WRITER)],
        );
        let mut ears = Ears::default();
        let built = server.build(&BuildSpec { limits, ..spec(host.url(&repository), "main") }, &mut ears).await;
        built.unwrap_or_else(|error| panic!("{error}\n{}", ears.lines.join("\n")));
        found.extend(ears.lines.into_iter().filter(|line| line == "kept" || line == "absent"));
    }
    assert_eq!(found, ["absent", "kept", "absent"]);
}
