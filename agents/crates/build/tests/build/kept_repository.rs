//! Repositories that builds keep for the next build: fetches only changes, and clones again if one can't be used.

use std::path::Path;

use super::*;

/// Bytes of a file that compression shrinks little, so that fetching it shows in the bytes that the host sent.
const LARGE: usize = 200_000;

fn noise(seed: u8) -> String {
    let mut state = u32::from(seed) + 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'0' + ((state >> 24) % 75) as u8)
    };
    (0..LARGE).map(|_| next()).collect()
}

impl Server {
    /// Builds, and returns the log and the folder that the release gets.
    async fn release(&self, spec: &BuildSpec) -> (Ears, PathBuf) {
        let mut ears = Ears::default();
        let made = self.build(spec, &mut ears).await.unwrap();
        let folder = self.folder.path().join("releases").join(spec.deployment.as_str());
        let artifact = artifact_path(&self.options.artifacts, &made.artifact.digest).unwrap();
        unpack(&artifact, &made.artifact.digest, &folder).unwrap();
        (ears, folder)
    }

    fn kept(&self) -> PathBuf {
        self.options.caches.join("app_a.git/git")
    }
}

fn cloned_anew(ears: &Ears) -> bool {
    ears.lines.iter().any(|line| line.contains("Cloning it again"))
}

#[tokio::test]
async fn a_second_build_fetches_only_what_changed_whatever_became_of_the_branch() {
    let (host, server) = (GitHost::start(), Server::new());
    let repository = host.repository("app.git", &[("index.html", "one"), ("large", &noise(1))]);
    let read = |folder: &Path| std::fs::read_to_string(folder.join("index.html")).unwrap();
    let (_, folder) = server.release(&spec(host.url("app.git"), "main")).await;
    assert_eq!(read(&folder), "one");
    assert!(host.sent_bytes() > LARGE as u64 / 2);
    let built = |git_ref: String, text: &'static str| {
        let (host, server) = (&host, &server);
        async move {
            let (ears, folder) = server.release(&spec(host.url("app.git"), &git_ref)).await;
            assert_eq!((read(&folder).as_str(), cloned_anew(&ears)), (text, false), "{git_ref}");
            assert_eq!(std::fs::read_to_string(folder.join("large")).unwrap(), noise(1));
            let sent = host.sent_bytes();
            assert!(sent < 8_000, "{git_ref}: {sent} bytes were sent");
        }
    };
    repository.commit("Second commit", &[("index.html", "two")]);
    built("main".into(), "two").await;
    built("main".into(), "two").await;
    // A force-push.
    repository.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let hash = repository.commit("Another second commit", &[("index.html", "other")]);
    built("main".into(), "other").await;
    repository.git(&["tag", "-a", "-m", "Annotated", "v1"]);
    repository.git(&["checkout", "--quiet", "-b", "next"]);
    repository.commit("Third commit", &[("index.html", "three")]);
    built("next".into(), "three").await;
    built("v1".into(), "other").await;
    built(hash, "other").await;
    built(String::new(), "three").await;
    repository.git(&["checkout", "--quiet", "main"]);
    repository.git(&["branch", "--quiet", "-D", "next"]);
    built("main".into(), "other").await;

    std::fs::remove_dir_all(&server.options.artifacts).unwrap();
    std::fs::create_dir(&server.options.artifacts).unwrap();
    server.fails(&spec(host.url("app.git"), "next"), "build.ref_not_found", "no branch or tag").await;
    host.sent_bytes();
    built("main".into(), "other").await;
    let without = BuildSpec { without_cache: true, ..spec(host.url("app.git"), "main") };
    server.release(&without).await;
    assert!(host.sent_bytes() > LARGE as u64 / 2, "without the cache, all of it is fetched");
}

#[tokio::test]
async fn a_kept_repository_that_is_broken_or_of_another_address_is_cloned_anew() {
    let (host, server) = (GitHost::start(), Server::new());
    host.repository("app.git", &[("index.html", "one"), ("large", &noise(1))]);
    host.repository("other.git", &[("index.html", "other"), ("large", &noise(1))]);
    server.release(&spec(host.url("app.git"), "main")).await;
    let owner = server.options.user;
    let give = |path: &Path| std::os::unix::fs::chown(path, owner, owner).unwrap();
    let packs = || std::fs::read_dir(server.kept().join("objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    let objects = || walk(&server.kept().join("objects"));
    let cases: [(&str, &dyn Fn()); 6] = [
        ("objects are empty", &|| objects().iter().for_each(|path| std::fs::write(path, "").unwrap())),
        ("objects are gone", &|| objects().iter().for_each(|path| std::fs::remove_file(path).unwrap())),
        ("objects are cut", &|| {
            for path in objects() {
                let bytes = std::fs::read(&path).unwrap();
                std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
            }
        }),
        ("a lock stays", &|| {
            std::fs::write(server.kept().join("shallow.lock"), "").unwrap();
            std::fs::write(server.kept().join("index.lock"), "").unwrap();
            give(&server.kept().join("index.lock"));
        }),
        ("settings are noise", &|| std::fs::write(server.kept().join("config"), "[\0").unwrap()),
        ("it is a file", &|| {
            std::fs::remove_dir_all(server.kept()).unwrap();
            std::fs::write(server.kept(), "").unwrap();
        }),
    ];
    assert!(packs().count() + objects().len() > 0);
    for (what, damage) in cases {
        damage();
        host.sent_bytes();
        let (_, folder) = server.release(&spec(host.url("app.git"), "main")).await;
        assert_eq!(std::fs::read_to_string(folder.join("large")).unwrap(), noise(1), "{what}");
        assert!(host.sent_bytes() > LARGE as u64 / 2, "{what}");
        server.release(&spec(host.url("app.git"), "main")).await;
        assert!(host.sent_bytes() < 8_000, "{what}: the new one is kept");
    }
    let (_, folder) = server.release(&spec(host.url("other.git"), "main")).await;
    assert_eq!(std::fs::read_to_string(folder.join("index.html")).unwrap(), "other");
    assert!(host.sent_bytes() > LARGE as u64 / 2);
}

/// Files below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn commands_of_a_build_reach_no_kept_repository() {
    let (host, server) = (GitHost::start(), Server::new());
    let script = "const fs = require('fs'), path = require('path');\
        const kept = path.join(process.env.npm_config_cache, '../../../app_a.git');\
        for (const act of [() => fs.readdirSync(kept), () => fs.writeFileSync(path.join(kept, 'git/config'), 'x'),\
        () => fs.renameSync(kept, kept + '2')]) { try { act(); console.log('reached'); } catch (error) { console.log(error.code); } }\
        fs.mkdirSync('dist');";
    let files = [("package.json", PACKAGE), ("package-lock.json", LOCK), ("build.js", script), ("server.js", "// x")];
    host.repository("app.git", &files);
    for _ in 0..2 {
        let (ears, _) = server.release(&spec(host.url("app.git"), "main")).await;
        let refused = ears.lines.iter().filter(|line| ["EACCES", "ENOENT", "EROFS"].contains(&line.as_str())).count();
        assert_eq!(refused, 3, "{:#?}", ears.lines);
    }
    assert!(server.kept().join("HEAD").is_file());
}

#[tokio::test]
async fn credentials_open_a_repository_and_its_submodules_and_are_not_kept() {
    let (host, mut server) = (GitHost::start(), Server::new());
    let part = host.repository("private-part.git", &[("part.js", "// part")]);
    let repository = host.repository("private-whole.git", &[("index.html", "x")]);
    repository.submodule("lib", "../private-part.git", &part.git(&["rev-parse", "HEAD"]));
    // Git gets opened credentials the same way: as settings in variables.
    let settings = [
        ("GIT_CONFIG_COUNT", "1".to_owned()),
        ("GIT_CONFIG_KEY_0", format!("http.http://{}/.extraHeader", host.address)),
        ("GIT_CONFIG_VALUE_0", "Authorization: Basic YWRhOm9wZW4tc2VzYW1l".to_owned()),
    ];
    server.options.environment.extend(settings.map(|(name, value)| (name.to_owned(), value)));
    for _ in 0..2 {
        let (ears, folder) = server.release(&spec(host.url("private-whole.git"), "main")).await;
        assert_eq!(std::fs::read_to_string(folder.join("lib/part.js")).unwrap(), "// part");
        assert!(!cloned_anew(&ears));
    }
    let kept = walk(&server.kept());
    assert!(!kept.is_empty());
    for path in kept {
        let bytes = std::fs::read(&path).unwrap();
        for secret in ["open-sesame", "YWRhOm9wZW4tc2VzYW1l", "ada:"] {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{}", path.display());
        }
    }
}

#[tokio::test]
async fn kept_submodules_fetch_only_what_changed_and_follow_their_address() {
    let (host, server) = (GitHost::start(), Server::new());
    let part = host.repository("part.git", &[("part.js", "one"), ("large", &noise(2))]);
    let inner = host.repository("inner.git", &[("inner.js", "inner")]);
    part.submodule("inner", "../inner.git", &inner.git(&["rev-parse", "HEAD"]));
    let repository = host.repository("whole.git", &[("index.html", "x")]);
    repository.submodule("lib", "../part.git", &part.git(&["rev-parse", "HEAD"]));
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (_, folder) = server.release(&spec(host.url("whole.git"), "main")).await;
    assert_eq!((read(&folder, "lib/part.js").as_str(), read(&folder, "lib/inner/inner.js").as_str()), ("one", "inner"));
    host.sent_bytes();

    let hash = part.commit("Second commit", &[("part.js", "two")]);
    repository.submodule("lib", "../part.git", &hash);
    let (ears, folder) = server.release(&spec(host.url("whole.git"), "main")).await;
    assert_eq!((read(&folder, "lib/part.js").as_str(), read(&folder, "lib/inner/inner.js").as_str()), ("two", "inner"));
    let sent = host.sent_bytes();
    assert!(sent < 16_000 && !cloned_anew(&ears), "{sent}");

    std::fs::rename(host.root().join("part.git"), host.root().join("moved.git")).unwrap();
    let moved = host.reopen("moved.git");
    let hash = moved.commit("Third commit", &[("part.js", "three")]);
    repository.submodule("lib", &host.url("moved.git"), &hash);
    let (ears, folder) = server.release(&spec(host.url("whole.git"), "main")).await;
    assert_eq!((read(&folder, "lib/part.js").as_str(), read(&folder, "lib/large").len()), ("three", LARGE));
    assert!(host.sent_bytes() < 16_000 && !cloned_anew(&ears), "{:#?}", ears.lines);
}

#[tokio::test]
async fn large_files_come_once_also_those_of_submodules() {
    let (host, server) = (GitHost::start(), Server::new());
    let part = host.repository("part.git", &[("part.js", "one")]);
    part.large_file("inner.bin", noise(3).as_bytes());
    let repository = host.repository("whole.git", &[("index.html", "x")]);
    repository.large_file("outer.bin", noise(4).as_bytes());
    repository.submodule("lib", "../part.git", &part.git(&["rev-parse", "HEAD"]));
    for (page, bytes) in [("a", 2 * LARGE as u64), ("b", 0), ("c", 0)] {
        let (ears, folder) = server.release(&spec(host.url("whole.git"), "main")).await;
        assert_eq!(std::fs::read_to_string(folder.join("outer.bin")).unwrap(), noise(4), "{:#?}", ears.lines);
        assert_eq!(std::fs::read_to_string(folder.join("lib/inner.bin")).unwrap(), noise(3));
        let sent = host.sent_bytes();
        assert!((bytes..bytes + 30_000).contains(&sent), "{sent}");
        repository.commit("A page", &[("index.html", page)]);
    }
}
