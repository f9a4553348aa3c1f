use super::*;

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Files) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let files = Files::new(dir.path().to_path_buf());
    (dir, files)
}

fn way(
    files: &[(&str, &str)],
    builder: Builder,
    overrides: &BuildOverrides,
    engine: bool,
) -> Result<BuildMethod, InspectError> {
    let (_dir, files) = folder(files);
    inspect(&files, PlanRequest { builder, overrides, engine, root_folder: "", shown: "the repository" })
}

fn plan(files: &[(&str, &str)]) -> Plan {
    match way(files, Builder::Detected, &BuildOverrides::default(), false).unwrap() {
        BuildMethod::Native(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

fn refused(files: &[(&str, &str)]) -> InspectError {
    way(files, Builder::Detected, &BuildOverrides::default(), false).unwrap_err()
}

/// Install, build and start as people would type them.
fn typed(plan: &Plan) -> (Vec<String>, Vec<String>, String) {
    let all = |tasks: &[PlanCommand]| tasks.iter().map(|task| display_command(&task.command)).collect::<Vec<_>>();
    (all(&plan.install), all(&plan.build), display_command(&plan.start))
}

const SCRIPTS: &str = r#"{"scripts":{"build":"x","start":"node server.js"},"dependencies":{"a":"1"}}"#;

const COMMITTED: &str = r#"
[build]
install_command = ["npm", "ci", "--ignore-scripts"]
build_command = "npm run compile"

[run]
start_command = ["node", "a b.js"]
health_path = "/healthz"
release_command = "node migrate.js"
listen = "socket"

[workers.mail]
command = "node mail.js"

[workers.clock]
command = ["node", "clock.js"]
instances = 2
stays_awake = true
"#;

#[test]
fn a_committed_manifest_replaces_what_was_set_and_that_what_is_detected() {
    let files = [
        ("package.json", SCRIPTS),
        ("package-lock.json", "{}"),
        ("fairlead.toml", COMMITTED),
        ("Procfile", "mail: x\nlate: node late.js\n"),
    ];
    let committed = plan(&files);
    let (install, build, start) = typed(&committed);
    assert_eq!((install, build), (strings(&["npm ci --ignore-scripts"]), strings(&["npm run compile"])));
    assert_eq!(start, "node \"a b.js\"");
    assert_eq!(
        (committed.health_path.as_str(), display_command(&committed.release_command)),
        ("/healthz", "node migrate.js".into())
    );
    let workers: Vec<_> =
        committed.workers.iter().map(|one| (one.name.as_str(), display_command(&one.command), one.instances)).collect();
    let expected = [("clock", "node clock.js", 2), ("mail", "node mail.js", 1), ("late", "node late.js", 1)];
    assert_eq!(workers, expected.map(|(name, command, count)| (name, command.to_owned(), count)));
    let awake: Vec<_> = committed.workers.iter().map(|one| one.stays_awake).collect();
    assert_eq!((awake, committed.listens_on_socket), (vec![true, false, false], true));
    assert!(!plan(&files[..2]).listens_on_socket);
    let overrides = BuildOverrides { start_command: strings(&["node", "other.js"]), ..BuildOverrides::default() };
    let start = |files: &[(&str, &str)]| match way(files, Builder::Native, &overrides, true).unwrap() {
        BuildMethod::Native(plan) => display_command(&plan.start),
        other => panic!("{other:?}"),
    };
    assert_eq!(start(&files), "node \"a b.js\"");
    assert_eq!(start(&files[..2]), "node other.js");
}

#[test]
fn a_manifest_with_a_mistake_is_an_error_that_names_it() {
    let rows = [
        ("[build]\ninstal = \"x\"", "unknown field `instal`"),
        ("[bulid]", "unknown field `bulid`"),
        ("[tools]\nnodejs = \"22\"", "`tools.nodejs`"),
        ("[run]\nstart_command = []", "`run.start_command` is not a command"),
        ("[run]\nhealth_path = \"healthz\"", "`run.health_path`"),
        ("[run]\nlisten = \"pipe\"", "unknown variant `pipe`"),
        ("[build]\ndockerfile = \"D\"\n[run]\nlisten = \"socket\"", "a container can't listen"),
        ("[workers.web]\ncommand = \"x\"", "`workers.web`"),
        ("[workers.a]\ncommand = \"x\"\ninstances = 0", "`workers.a.instances`"),
        ("[workers.a]", "missing field `command`"),
        ("[build]\noutput_folder = \"../x\"", "`build.output_folder`"),
        ("[build]\ncache = [\"../x\"]", "`build.cache`"),
        ("[build]\ncache = [\"/tmp\"]", "`build.cache`"),
        ("[build]\ncache = [\".\"]", "`build.cache`"),
        ("[build]\ncache = [\"web/node_modules/\"]", "`build.cache`"),
        ("[build]\ncache = [\"a/.git/b\"]", "`build.cache`"),
        ("[site]\nfallback = true", "`site.fallback` is `true`"),
        ("[site]\nfallback = 1", "neither the path of a page nor `false`"),
        ("[site]\nfallback = \"../index.html\"", "inside the folder that is served"),
        ("[site]\nfallback = \".hidden/index.html\"", "inside the folder that is served"),
        ("[site]\nfallback = \"app.js\"", "inside the folder that is served"),
        ("[site]\nfalback = false", "unknown field `falback`"),
        ("[site]\nfallback = \"a.html\"\n[run]\nstart_command = \"x\"", "is for static sites"),
        ("[build]\ndockerfile = \"D\"\n[site]\nfallback = false", "is for static sites"),
        ("[build", "line 1"),
    ];
    for (text, words) in rows {
        let error = refused(&[("index.html", ""), ("D", ""), ("fairlead.toml", text)]);
        assert!(matches!(error, InspectError::Manifest(_)), "{error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
    let error = refused(&[("index.html", ""), ("Procfile", "web gunicorn\n")]);
    assert!(error.to_string().contains("Line 1 of the Procfile"), "{error}");
}

#[test]
fn a_committed_fallback_replaces_that_of_the_preset() {
    let package = r#"{"scripts":{"build":"vite build"},"devDependencies":{"vite":"1"}}"#;
    let fallback =
        |text: &str| plan(&[("package.json", package), ("index.html", ""), ("fairlead.toml", text)]).fallback;
    assert_eq!(fallback(""), Fallback::app());
    assert_eq!(fallback("[build]\noutput_folder = \"x\""), Fallback::app());
    assert_eq!(fallback("[site]\nfallback = \"shell/app.html\""), Fallback::Required("shell/app.html".to_owned()));
    assert_eq!(fallback("[site]\nfallback = false").pages(), &[] as &[String]);
}

#[test]
fn a_dockerfile_is_built_by_an_engine_where_there_is_one_or_where_it_is_asked_for() {
    let files = [("Dockerfile", "FROM scratch"), ("package.json", "{}"), ("index.js", "")];
    let none = BuildOverrides::default();
    let is_docker = |way: BuildMethod| matches!(way, BuildMethod::Dockerfile { .. });
    assert!(is_docker(way(&files, Builder::Detected, &none, true).unwrap()));
    assert!(!is_docker(way(&files, Builder::Detected, &none, false).unwrap()));
    assert!(!is_docker(way(&files, Builder::Native, &none, true).unwrap()));
    assert!(is_docker(way(&files, Builder::Dockerfile, &none, false).unwrap()));
    let other = BuildOverrides { dockerfile: "deploy/Dockerfile".into(), ..none };
    let error = way(&files, Builder::Detected, &other, true).unwrap_err();
    assert!(error.to_string().contains("`deploy/Dockerfile`"), "{error}");
}

#[test]
fn an_example_of_variables_names_them_and_no_value_is_kept() {
    let text = "# db\nDATABASE_URL=postgres://x\nexport API_KEY=abc\n\nBAD-NAME=1\nDATABASE_URL=again\n";
    let plan = plan(&[("index.html", ""), (".env.example", text)]);
    assert_eq!(plan.expected_variables, ["DATABASE_URL", "API_KEY"]);
    assert!(!format!("{plan:?}").contains("abc"));
}

#[test]
fn an_unknown_source_names_the_files_that_are_looked_for() {
    let nothing = refused(&[("notes", "")]).to_string();
    assert!(nothing.contains("package.json") && nothing.contains("root folder"), "{nothing}");
    let broken = refused(&[("package.json", "{,}")]).to_string();
    assert!(broken.contains("line 1"), "{broken}");
    let unclear = refused(&[("requirements.txt", "")]).to_string();
    assert!(unclear.contains("main.py"), "{unclear}");
    let many =
        refused(&[("go.mod", "module x\ngo 1.26\n"), ("cmd/a/x.go", "package main"), ("cmd/b/x.go", "package main")])
            .to_string();
    assert!(many.contains("cmd/a, cmd/b"), "{many}");
}

#[test]
fn folders_that_hold_an_app_are_named_for_a_choice() {
    let error = refused(&[("web/package.json", "{}"), ("services/api/go.mod", "module x")]);
    assert_eq!((error.code(), error.app_folders()), ("build.not_detected", &["web".into(), "services/api".into()][..]));
    assert!(error.to_string().contains("`web`, `services/api`"), "{error}");
    let workspace = refused(&[("package.json", r#"{"workspaces":["apps/*"]}"#), ("apps/shop/package.json", "{}")]);
    assert_eq!(workspace.app_folders(), ["apps/shop"]);
    assert!(refused(&[("notes", "")]).app_folders().is_empty());
}

/// Files that repeat themselves without an end, or would fill the agent's memory: each plan is made or refused at once.
#[test]
fn hostile_files_are_planned_or_refused_in_bounded_time() {
    let scripts: Vec<String> =
        (0..60).map(|number| format!("\"a{number}\":\"run-s {}\"", "a* ".repeat(60).trim_end())).collect();
    let scripts = format!("{{\"scripts\":{{{},\"start\":\"run-s a*\"}}}}", scripts.join(","));
    way(&[("package.json", &scripts)], Builder::Detected, &BuildOverrides::default(), false).unwrap();

    let includes = format!("flask\n{}", "-r requirements.txt\n-r ./requirements.txt\n".repeat(2000));
    plan(&[("requirements.txt", &includes), ("app.py", "app = Flask(__name__)")]);

    let members = format!("[workspace]\nmembers = [{}]\n", "\"a/*\",".repeat(100_000));
    let package = "[package]\nname = \"one\"\nversion = \"1.0.0\"\n";
    let made = plan(&[("Cargo.toml", &members), ("a/one/Cargo.toml", package), ("a/one/src/main.rs", "")]);
    assert_eq!(made.runtime, "rust");

    let settings: Vec<(String, String)> =
        (0..200).map(|number| (format!("s/x{number}.py"), "#".repeat(1 << 20))).collect();
    let manage = "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 's')";
    let mut files = vec![("manage.py", manage), ("requirements.txt", "django"), ("s/wsgi.py", "application = 1")];
    files.extend(settings.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    plan(&files);
}

#[test]
fn reading_a_source_is_bounded() {
    let (_dir, files) = folder(&[("a", &"x".repeat(4 << 20))]);
    let read = (0..200).take_while(|_| files.text("a").is_ok()).count();
    assert!((32..100).contains(&read), "{read}");
}

#[test]
fn an_app_is_pruned_where_it_asks_for_it_or_starts_its_framework() {
    let next = r#"{"dependencies":{"next":"16"},"scripts":{"start":"next start -p 3000"}}"#;
    let custom = r#"{"dependencies":{"next":"16"},"scripts":{"start":"node server.js"}}"#;
    let root = r#"{"workspaces":["a"],"dependencies":{"next":"16"},"scripts":{"start":"next start"}}"#;
    let prunes =
        |package: &str, manifest: &str| plan(&[("package.json", package), ("fairlead.toml", manifest)]).prune_packages;
    let (yes, no) = ("[build]\nprune = true", "[build]\nprune = false");
    assert_eq!([next, custom, root].map(|package| prunes(package, "")), [true, false, false]);
    assert_eq!([next, custom, root].map(|package| prunes(package, yes)), [true, true, false]);
    assert_eq!([next, custom, root].map(|package| prunes(package, no)), [false; 3]);
    assert!(!plan(&[("main.py", ""), ("requirements.txt", "flask"), ("fairlead.toml", yes)]).prune_packages);
}
