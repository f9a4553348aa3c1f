use std::fs;
use std::path::{Path, PathBuf};

use fairlead_inspect::Cache;
use fairlead_model::{Secret, SecretDelivery};
use rustix::fs::{CWD, FileType, Mode};

use super::fingerprint::{Install, InstallSnapshot, Unusable, environment_key, install_key};
use super::kept_folders::{KeptFolders, ReuseKeys};
use super::secrets_digest;

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn key(source: &Path, packages_with_scripts: usize) -> Option<String> {
    let install = Install { source, packages_with_scripts, commands: "npm ci".to_owned() };
    install_key(&install, "node@24.1.0").unwrap()
}

#[test]
fn an_install_has_another_key_once_something_that_it_reads_changes() {
    let dir = tempfile::tempdir().unwrap();
    let app = dir.path();
    write(app, &[("package.json", "{}"), ("package-lock.json", "{}"), ("patches/a.patch", "a"), ("src/a.js", "a")]);
    let first = key(app, 0).unwrap();
    write(app, &[("src/a.js", "b"), ("src/b.js", "b"), (".git/package.json", "[")]);
    assert_eq!(key(app, 0).unwrap(), first, "sources of the app are no inputs");
    for (name, text) in [
        ("package-lock.json", "{ }"),
        ("package.json", "{ }"),
        ("patches/a.patch", "b"),
        (".npmrc", "omit=optional"),
        ("packages/a/package.json", "{}"),
        (".yarn/plugins/a.cjs", ""),
    ] {
        let before = key(app, 0).unwrap();
        write(app, &[(name, text)]);
        assert_ne!(key(app, 0).unwrap(), before, "{name}");
    }
    let other = Install { source: app, packages_with_scripts: 0, commands: "npm ci --omit=dev".to_owned() };
    assert_ne!(install_key(&other, "node@24.1.0").unwrap(), key(app, 0));
    let same = Install { commands: "npm ci".to_owned(), ..other };
    assert_ne!(install_key(&same, "node@24.2.0").unwrap(), key(app, 0));
}

#[test]
fn an_install_that_may_read_anything_of_the_app_has_no_key() {
    for (name, text) in [
        ("package.json", r#"{"dependencies":{"a":"file:a"}}"#),
        ("package.json", r#"{"devDependencies":{"a":"../a"}}"#),
        ("package.json", r#"{"overrides":{"a":"link:a"}}"#),
        ("package.json", r#"{"overrides":{"a":{"b":"file:b"}}}"#),
        ("package.json", r#"{"pnpm":{"overrides":{"a":"link:a"}}}"#),
        ("package.json", r#"{"dependenciesMeta":{"a":{"injected":true}}}"#),
        ("package.json", r#"{"scripts":{"postinstall":"prisma generate"}}"#),
        ("package.json", "["),
        ("packages/a/package.json", r#"{"scripts":{"prepare":"tsc"}}"#),
        (".pnpmfile.cjs", ""),
        ("binding.gyp", ""),
        ("node_modules/a/index.js", ""),
    ] {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &[(name, text)]);
        assert_eq!(key(dir.path(), 0), None, "{name} {text}");
    }
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc/hostname", dir.path().join("package-lock.json")).unwrap();
    assert_eq!(key(dir.path(), 0), None);
    // The agent's memory is bounded, whatever a repository holds.
    for (name, bytes) in [("package.json", 5 << 20), ("package-lock.json", 65 << 20)] {
        let dir = tempfile::tempdir().unwrap();
        fs::File::create(dir.path().join(name)).unwrap().set_len(bytes).unwrap();
        assert_eq!(key(dir.path(), 0), None, "{name}");
    }
    // Nothing may hold up the agent.
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("package.json");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(key(dir.path(), 0), None);
    // The build runs these itself.
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("package.json", r#"{"scripts":{"postinstall":"prisma generate"}}"#)]);
    assert!(key(dir.path(), 1).is_some());
}

#[test]
fn secrets_have_a_digest_of_their_own_in_each_cache() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = |name: &str, value: &str| Secret {
        name: name.into(),
        value: value.as_bytes().to_vec().into(),
        delivery: SecretDelivery::Environment,
    };
    let digest = |folder: &Path, secrets: &[Secret]| secrets_digest(folder, secrets).unwrap();
    let first = digest(one.path(), &[secret("A", "bc")]);
    assert_eq!(digest(one.path(), &[secret("A", "bc")]), first);
    for other in [vec![secret("A", "bd")], vec![secret("AB", "c")], vec![secret("A", "bc"), secret("B", "")], vec![]] {
        assert_ne!(digest(one.path(), &other), first);
    }
    assert_ne!(digest(two.path(), &[secret("A", "bc")]), first);
}

#[test]
fn dependencies_whose_install_may_read_the_app_are_unusable() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"{"scripts":{"postinstall":"node install.js"}}"#;
    write(dir.path(), &[("node_modules/esbuild/package.json", script), ("node_modules/a/test/package.json", script)]);
    let snapshot = || InstallSnapshot::of(dir.path(), &["node_modules".into()], &[]).unwrap();
    assert!(snapshot().is_ok());
    let client = "node_modules/@prisma/client/package.json";
    write(dir.path(), &[(client, script)]);
    assert_eq!(snapshot().unwrap_err(), Unusable::InstallScript(client.into()));
    fs::remove_file(dir.path().join(client)).unwrap();
    assert!(snapshot().is_ok());
    fs::File::create(dir.path().join(client)).unwrap().set_len(5 << 20).unwrap();
    assert_eq!(snapshot().unwrap_err(), Unusable::InstallScript(client.into()), "too large to be parsed");
}

#[test]
fn an_environment_has_a_key_while_all_its_requirements_have_versions() {
    let dir = tempfile::tempdir().unwrap();
    let install = Install { source: dir.path(), packages_with_scripts: 0, commands: "uv sync".to_owned() };
    let key = |settings: &str| environment_key(&install, settings).unwrap();
    write(dir.path(), &[("requirements.txt", "django==5.2\n-r base.in"), ("base.in", "gunicorn"), ("app.py", "1")]);
    let first = key("python@3.13.1").unwrap();
    write(dir.path(), &[("app.py", "2"), ("README.md", "-e .")]);
    assert_eq!(key("python@3.13.1").unwrap(), first);
    assert_ne!(key("python@3.13.2").unwrap(), first);
    for (name, text) in [("base.in", "gunicorn>23"), ("sub/pyproject.toml", ""), ("uv.lock", ""), ("setup.py", "")] {
        let before = key("").unwrap();
        write(dir.path(), &[(name, text)]);
        assert_ne!(key("").unwrap(), before, "{name}");
    }
    for (name, text) in [
        ("requirements.txt", "  -e ."),
        ("requirements.txt", "./vendor/a"),
        ("requirements.txt", "a @ https://example.com/a.whl"),
        ("base.in", "git+https://example.com/a@main"),
        ("uv.lock", "source = { directory = \"../a\" }"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &[(name, text)]);
        assert_eq!(environment_key(&Install { source: dir.path(), ..install.clone() }, "").unwrap(), None, "{text}");
    }
}

/// Builds of one app and its cache.
struct Builds {
    dir: tempfile::TempDir,
    caches: Vec<Cache>,
}

impl Builds {
    fn new() -> Self {
        let cache = |folder: &str, stale: &str| Cache { folder: folder.into(), stale: stale.into() };
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("cache/own")).unwrap();
        Self { dir, caches: vec![cache("web/.next/cache", "fetch-cache"), cache("node_modules/.cache", "")] }
    }

    /// Begins a build with these keys in a folder of its own, in which the repository has the folder `web`.
    fn begin(&self, name: &str, settings: &str, install: &str) -> (KeptFolders, PathBuf) {
        let (base, home) = (self.dir.path().join(name), self.dir.path().join(format!("{name}-home")));
        fs::create_dir_all(base.join("web")).unwrap();
        fs::create_dir(&home).unwrap();
        let keys = ReuseKeys { settings: settings.into(), install: Some(install.into()) };
        let all = self.dir.path().join("cache");
        (KeptFolders::begin((&all, &all.join("own")), &home, &base, &self.caches, None, &keys).unwrap(), base)
    }

    fn install(&self, kept: &mut KeptFolders, base: &Path) {
        assert!(!kept.restore_dependencies().unwrap());
        write(base, &[("node_modules/a/index.js", "a"), ("web/node_modules/b/index.js", "b")]);
        kept.installed().unwrap();
        kept.restore_caches().unwrap();
    }

    fn end(kept: KeptFolders) -> Option<Unusable> {
        kept.take_caches().unwrap();
        kept.save().unwrap()
    }

    /// Makes a first build that is kept as `settings` and `install`.
    fn first(&self) {
        let (mut kept, base) = self.begin("first", "settings", "install");
        self.install(&mut kept, &base);
        let caches =
            [("web/.next/cache/a", "1"), ("web/.next/cache/fetch-cache/b", "2"), ("node_modules/.cache/c", "3")];
        write(&base, &caches);
        kept.take_caches().unwrap();
        assert!(!base.join("web/.next/cache").exists() && !base.join("node_modules/.cache").exists());
        assert!(base.join("node_modules/a/index.js").exists(), "dependencies are packed");
        assert_eq!(kept.save().unwrap(), None);
    }

    fn kept(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path().join("cache/own")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn the_next_build_gets_dependencies_and_caches_of_tools_once() {
    let builds = Builds::new();
    builds.first();
    assert_eq!(builds.kept(), ["caches-settings", "dependencies-install"]);
    let (mut kept, base) = builds.begin("second", "settings", "install");
    assert!(kept.restore_dependencies().unwrap());
    assert_eq!(fs::read_to_string(base.join("web/node_modules/b/index.js")).unwrap(), "b");
    kept.installed().unwrap();
    kept.restore_caches().unwrap();
    assert_eq!(fs::read_to_string(base.join("web/.next/cache/a")).unwrap(), "1");
    assert_eq!(fs::read_to_string(base.join("node_modules/.cache/c")).unwrap(), "3");
    assert!(!base.join("web/.next/cache/fetch-cache").exists());
    // A build that fails, or another one at the same time, leaves nothing to the next one.
    assert!(builds.kept().is_empty());
    assert_eq!(Builds::end(kept), None);
    assert_eq!(builds.kept(), ["caches-settings", "dependencies-install"]);
}

#[test]
fn what_was_kept_for_other_keys_or_another_lock_file_goes() {
    let builds = Builds::new();
    builds.first();
    write(builds.dir.path(), &[("cache/old/dependencies-a/node_modules/a", ""), ("cache/old/caches-settings/a", "")]);
    let (mut kept, base) = builds.begin("second", "settings", "other");
    assert!(!kept.restore_dependencies().unwrap());
    assert!(!base.join("node_modules").exists());
    assert_eq!(builds.kept(), ["caches-settings"]);
    assert!(!builds.dir.path().join("cache/old/dependencies-a").exists());
    assert!(builds.dir.path().join("cache/old/caches-settings").exists());
    drop(builds.begin("third", "other", "other"));
    assert!(builds.kept().is_empty());
}

#[test]
fn dependencies_that_a_build_changed_are_not_kept() {
    let changes: [&dyn Fn(&Path); 3] = [
        &|base| write(base, &[("node_modules/a/index.js", "b")]),
        &|base| fs::rename(base.join("node_modules/a/index.js"), base.join("node_modules/a/other.js")).unwrap(),
        &|base| {
            let file = base.join("node_modules/a/index.js");
            let time = fs::metadata(&file).unwrap().modified().unwrap();
            fs::write(&file, "c").unwrap();
            fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        },
    ];
    for change in changes {
        let builds = Builds::new();
        let (mut kept, base) = builds.begin("first", "settings", "install");
        builds.install(&mut kept, &base);
        change(&base);
        assert_eq!(Builds::end(kept), Some(Unusable::Changed("node_modules/a/index.js".into())));
        assert!(builds.kept().is_empty());
    }
}

#[test]
fn what_a_build_adds_to_its_dependencies_is_not_kept() {
    let builds = Builds::new();
    let (mut kept, base) = builds.begin("first", "settings", "install");
    builds.install(&mut kept, &base);
    write(&base, &[("node_modules/$app/types/index.d.ts", ""), ("node_modules/$app/env.d.ts", "")]);
    write(&base, &[("web/node_modules/b/generated.js", ""), ("web/node_modules/b/index.js.map", "")]);
    assert_eq!(Builds::end(kept), None);
    let (mut kept, base) = builds.begin("second", "settings", "install");
    assert!(kept.restore_dependencies().unwrap());
    assert!(!base.join("node_modules/$app").exists() && !base.join("web/node_modules/b/generated.js").exists());
    assert_eq!(fs::read_dir(base.join("web/node_modules/b")).unwrap().count(), 1);
}

#[test]
fn dependencies_that_the_app_leaves_behind_are_kept_too() {
    let builds = Builds::new();
    let (mut kept, base) = builds.begin("first", "settings", "install");
    builds.install(&mut kept, &base);
    kept.leave_behind(Path::new("node_modules")).unwrap();
    assert!(!base.join("node_modules").exists());
    assert_eq!(Builds::end(kept), None);
    let (mut kept, base) = builds.begin("second", "settings", "install");
    assert!(kept.restore_dependencies().unwrap());
    assert!(base.join("node_modules/a/index.js").exists());
}

#[test]
fn an_environment_is_kept_as_its_update_left_it() {
    let builds = Builds::new();
    let begin = |name: &str| {
        let (base, home) = (builds.dir.path().join(name), builds.dir.path().join(format!("{name}-home")));
        [&base, &home].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let all = builds.dir.path().join("cache");
        let keys = ReuseKeys { settings: "settings".into(), install: Some("install".into()) };
        (KeptFolders::begin((&all, &all.join("own")), &home, &base, &[], Some(".venv"), &keys).unwrap(), base)
    };
    let (mut kept, base) = begin("first");
    assert!(!kept.restore_dependencies().unwrap());
    write(&base, &[(".venv/lib/a.py", "1"), (".venv/lib/b.py", ""), ("node_modules/a/index.js", "")]);
    kept.installed().unwrap();
    write(&base, &[(".venv/lib/__pycache__/a.pyc", "")]);
    assert_eq!(Builds::end(kept), None);
    let (mut kept, base) = begin("second");
    assert!(kept.restore_dependencies().unwrap());
    assert!(!base.join("node_modules").exists() && !base.join(".venv/lib/__pycache__").exists());
    // The update installs a newer version.
    write(&base, &[(".venv/lib/a.py", "2")]);
    kept.installed().unwrap();
    assert_eq!(Builds::end(kept), None);
    let (mut kept, base) = begin("third");
    assert!(kept.restore_dependencies().unwrap());
    assert_eq!(fs::read_to_string(base.join(".venv/lib/a.py")).unwrap(), "2");
    kept.installed().unwrap();
    write(&base, &[(".venv/lib/b.py", "changed")]);
    assert_eq!(Builds::end(kept), Some(Unusable::Changed(".venv/lib/b.py".into())));
}

#[test]
fn nothing_is_moved_through_a_link_or_over_files_of_the_repository() {
    let builds = Builds::new();
    builds.first();
    let (mut kept, base) = builds.begin("second", "settings", "install");
    let outside = builds.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir(base.join("web")).unwrap();
    std::os::unix::fs::symlink(&outside, base.join("web")).unwrap();
    assert!(!kept.restore_dependencies().unwrap(), "one of its folders would lie outside");
    assert!(!base.join("node_modules").exists());
    write(&outside, &[(".next/cache/a", "")]);
    kept.take_caches().unwrap();
    assert!(outside.join(".next/cache/a").exists());

    let builds = Builds::new();
    builds.first();
    let (mut kept, base) = builds.begin("second", "settings", "install");
    write(&base, &[("node_modules/a/index.js", "of the repository")]);
    assert!(!kept.restore_dependencies().unwrap());
    assert_eq!(fs::read_to_string(base.join("node_modules/a/index.js")).unwrap(), "of the repository");
}
