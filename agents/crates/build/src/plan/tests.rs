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

fn way(files: &[(&str, &str)], builder: Builder, overrides: &BuildOverrides, engine: bool) -> Result<Way, BuildError> {
    let (_dir, files) = folder(files);
    decide(&files, Wish { builder, overrides, engine, shown: "the repository" })
}

fn plan(files: &[(&str, &str)]) -> Plan {
    match way(files, Builder::Detected, &BuildOverrides::default(), false).unwrap() {
        Way::Native(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

fn refused(files: &[(&str, &str)]) -> BuildError {
    way(files, Builder::Detected, &BuildOverrides::default(), false).unwrap_err()
}

/// Install, build and start as people would type them.
fn typed(plan: &Plan) -> (Vec<String>, Vec<String>, String) {
    let all = |tasks: &[Task]| tasks.iter().map(|task| shown(&task.command)).collect::<Vec<_>>();
    (all(&plan.install), all(&plan.build), shown(&plan.start))
}

const SCRIPTS: &str = r#"{"scripts":{"build":"x","start":"node server.js"},"dependencies":{"a":"1"}}"#;

/// One row an app as people have them: its files, and what becomes of them.
#[test]
fn the_files_of_an_app_tell_how_it_is_installed_built_and_started() {
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a [&'a str], &'a [&'a str], &'a str);
    let go = ("go.mod", "module a\n\ngo 1.26.8\n");
    let rows: &[Row<'_>] = &[
        (
            "npm",
            &[("package.json", SCRIPTS), ("package-lock.json", "{}")],
            "node",
            &["npm ci --include=dev --no-audit --no-fund"],
            &["npm run build"],
            "node server.js",
        ),
        (
            "npm without a lock file",
            &[("package.json", SCRIPTS)],
            "node",
            &["npm install --include=dev --no-audit --no-fund"],
            &["npm run build"],
            "node server.js",
        ),
        ("nothing to install", &[("package.json", "{}"), ("index.js", "")], "node", &[], &[], "node index.js"),
        (
            "pnpm",
            &[("package.json", SCRIPTS), ("pnpm-lock.yaml", "")],
            "node",
            &["pnpm install --frozen-lockfile --prod=false"],
            &["pnpm run build"],
            "node server.js",
        ),
        (
            "yarn 1",
            &[("package.json", SCRIPTS), ("yarn.lock", "# yarn lockfile v1\n")],
            "node",
            &["yarn install --frozen-lockfile --production=false"],
            &["yarn run build"],
            "node server.js",
        ),
        (
            "yarn of today",
            &[("package.json", SCRIPTS), ("yarn.lock", "__metadata:\n  version: 8\n")],
            "node",
            &["yarn install --immutable"],
            &["yarn run build"],
            "node server.js",
        ),
        (
            "bun",
            &[("package.json", r#"{"dependencies":{"a":"1"}}"#), ("bun.lock", ""), ("server.ts", "")],
            "bun",
            &["bun install --frozen-lockfile"],
            &[],
            "bun server.ts",
        ),
        (
            "a manager that is named goes before a lock file",
            &[
                ("package.json", r#"{"packageManager":"pnpm@9.1.0","scripts":{"start":"next start"}}"#),
                ("yarn.lock", ""),
            ],
            "node",
            &[],
            &[],
            "pnpm start",
        ),
        (
            "a site of a builder",
            &[("package.json", r#"{"scripts":{"build":"vite build"}}"#)],
            "static",
            &[],
            &["npm run build"],
            "fairlead-agent static .",
        ),
        ("a site", &[("index.html", "hi")], "static", &[], &[], "fairlead-agent static ."),
        (
            "deno with tasks",
            &[("deno.json", r#"{"tasks":{"start":"x","build":"y"}}"#), ("deno.lock", "{}")],
            "deno",
            &["deno install --frozen"],
            &["deno task build"],
            "env DENO_DIR=.fairlead/deno deno task start",
        ),
        (
            "deno without",
            &[("deno.jsonc", "{ /* nothing */ }"), ("main.ts", "")],
            "deno",
            &["deno install --entrypoint main.ts"],
            &[],
            "env DENO_DIR=.fairlead/deno deno run --cached-only --allow-net --allow-env --allow-read main.ts",
        ),
        (
            "uv",
            &[
                ("pyproject.toml", "[project]\nname='a'\ndependencies=['flask']\n"),
                ("uv.lock", "[[package]]\nname = \"gunicorn\"\n"),
                ("app.py", "app = Flask(__name__)"),
            ],
            "python",
            &[
                "uv export --locked --no-dev --no-emit-workspace --quiet -o .fairlead/requirements.txt",
                "uv pip install --target .fairlead/packages -r .fairlead/requirements.txt",
            ],
            &[],
            "env PYTHONPATH=.fairlead/packages:.:src PYTHONUNBUFFERED=1 python3 -m gunicorn app:app",
        ),
        (
            "requirements and a version",
            &[("requirements.txt", "requests==2\n"), ("main.py", "print(1)"), (".python-version", "3.12.4\n")],
            "python",
            &["uv pip install --target .fairlead/packages -r requirements.txt --python 3.12"],
            &[],
            "env PYTHONPATH=.fairlead/packages:.:src PYTHONUNBUFFERED=1 python3.12 main.py",
        ),
        (
            "django",
            &[("requirements.txt", "django\ngunicorn\n"), ("manage.py", ""), ("shop/wsgi.py", "")],
            "python",
            &["uv pip install --target .fairlead/packages -r requirements.txt"],
            &[],
            "env PYTHONPATH=.fairlead/packages:.:src PYTHONUNBUFFERED=1 python3 -m gunicorn shop.wsgi",
        ),
        (
            "go",
            &[go, ("main.go", "package main")],
            "go",
            &[],
            &["go build -trimpath -buildvcs=false -o .fairlead/bin/app ."],
            ".fairlead/bin/app",
        ),
        (
            "go with its program below cmd",
            &[go, ("cmd/api/main.go", "package main")],
            "go",
            &[],
            &["go build -trimpath -buildvcs=false -o .fairlead/bin/app ./cmd/api"],
            ".fairlead/bin/app",
        ),
        (
            "rust",
            &[("Cargo.toml", "[package]\nname='web-app'\n"), ("Cargo.lock", "")],
            "rust",
            &[],
            &["cargo install --path . --root .fairlead --no-track --force --locked"],
            ".fairlead/bin/web-app",
        ),
        (
            "rust with a program of another name",
            &[("Cargo.toml", "[package]\nname='a'\n[[bin]]\nname='serve'\npath='x.rs'\n"), ("Cargo.lock", "")],
            "rust",
            &[],
            &["cargo install --path . --root .fairlead --no-track --force --locked"],
            ".fairlead/bin/serve",
        ),
    ];
    for (name, files, runtime, install, build, start) in rows {
        let plan = plan(files);
        assert_eq!(plan.runtime, *runtime, "{name}");
        assert_eq!(typed(&plan), (strings(install), strings(build), (*start).to_owned()), "{name}");
        assert!(plan.sentences.iter().all(|sentence| sentence.ends_with('.')), "{name}: {:?}", plan.sentences);
    }
}

#[test]
fn a_plain_start_script_needs_no_shell_and_any_other_goes_through_its_manager() {
    let start = |package: &str| shown(&plan(&[("package.json", package)]).start);
    assert_eq!(start(r#"{"scripts":{"start":"node  server.js --port=1"}}"#), "node server.js --port=1");
    for script in
        ["node a.js && node b.js", "next start", "NODE_ENV=x node a.js", "node \\\"a b.js\\\"", "node $X", "node"]
    {
        assert_eq!(start(&format!(r#"{{"scripts":{{"start":"{script}"}}}}"#)), "npm start", "{script}");
    }
    assert_eq!(start(r#"{"scripts":{"start":"node a.js","prestart":"x"}}"#), "npm start");
    assert_eq!(refused(&[("package.json", r#"{"main":"../../etc/passwd"}"#)]).failure().code, "build.not_detected");
}

#[test]
fn versions_come_from_the_files_that_name_them_and_their_source_is_told() {
    let wants = |files: &[(&str, &str)]| -> Vec<(Tool, Option<(String, &'static str)>)> {
        plan(files).tools.into_iter().map(|want| (want.tool, want.version)).collect()
    };
    let some = |version: &str, file| Some((version.to_owned(), file));
    let package = r#"{"engines":{"node":">=20"},"packageManager":"pnpm@9.1.0+sha512.abc"}"#;
    let rows = [
        (
            wants(&[("package.json", package), ("index.js", "")]),
            vec![
                (Tool::Node, some(">=20", "package.json (engines)")),
                (Tool::Pnpm, some("9.1.0", "package.json (packageManager)")),
            ],
        ),
        (
            wants(&[("package.json", package), ("index.js", ""), (".nvmrc", "# ours\nv22\n")]),
            vec![(Tool::Node, some("v22", ".nvmrc")), (Tool::Pnpm, some("9.1.0", "package.json (packageManager)"))],
        ),
        (
            wants(&[("package.json", "{}"), ("index.js", ""), ("bun.lock", ""), (".bun-version", "1.4.5")]),
            vec![(Tool::Bun, some("1.4.5", ".bun-version"))],
        ),
        (
            wants(&[("go.mod", "module a\ngo 1.25\ntoolchain go1.26.8\n"), ("main.go", "")]),
            vec![(Tool::Go, some(">=1.26.8", "go.mod"))],
        ),
        (
            wants(&[("deno.json", "{}"), ("main.ts", ""), (".deno-version", "2.9.6")]),
            vec![(Tool::Deno, some("2.9.6", ".deno-version"))],
        ),
        (wants(&[("requirements.txt", "a"), ("main.py", "")]), vec![(Tool::Uv, None)]),
    ];
    for (found, expected) in rows {
        assert_eq!(found, expected);
    }
}

const COMMITTED: &str = r#"
[build]
install = ["npm", "ci", "--ignore-scripts"]
build = "npm run compile"

[run]
start = ["node", "a b.js"]
health = "/healthz"
release = "node migrate.js"
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
        (committed.health_path.as_str(), shown(&committed.release_command)),
        ("/healthz", "node migrate.js".into())
    );
    let workers: Vec<_> =
        committed.workers.iter().map(|one| (one.name.as_str(), shown(&one.command), one.instances)).collect();
    let expected = [("clock", "node clock.js", 2), ("mail", "node mail.js", 1), ("late", "node late.js", 1)];
    assert_eq!(workers, expected.map(|(name, command, count)| (name, command.to_owned(), count)));
    let awake: Vec<_> = committed.workers.iter().map(|one| one.stays_awake).collect();
    assert_eq!((awake, committed.listens_on_socket), (vec![true, false, false], true));
    assert!(!plan(&files[..2]).listens_on_socket);
    let overrides = BuildOverrides { start: strings(&["node", "other.js"]), ..BuildOverrides::default() };
    let start = |files: &[(&str, &str)]| match way(files, Builder::Native, &overrides, true).unwrap() {
        Way::Native(plan) => shown(&plan.start),
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
        ("[run]\nstart = \"node a.js && b\"", "`run.start` needs a shell"),
        ("[run]\nstart = []", "`run.start` is not a command"),
        ("[run]\nhealth = \"healthz\"", "`run.health`"),
        ("[run]\nlisten = \"pipe\"", "unknown variant `pipe`"),
        ("[build]\ndockerfile = \"D\"\n[run]\nlisten = \"socket\"", "reached by its port"),
        ("[workers.web]\ncommand = \"x\"", "`workers.web`"),
        ("[workers.a]\ncommand = \"x\"\ninstances = 0", "`workers.a.instances`"),
        ("[workers.a]", "missing field `command`"),
        ("[build]\noutput = \"../x\"", "`build.output`"),
        ("[build", "line 1"),
    ];
    for (text, words) in rows {
        let error = refused(&[("index.html", ""), ("D", ""), ("fairlead.toml", text)]);
        assert_eq!(error.failure().code, "build.manifest_invalid", "{error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
    let error = refused(&[("index.html", ""), ("Procfile", "web: gunicorn a:b --bind 0.0.0.0:$PORT\n")]);
    assert!(error.to_string().contains("Line 1 of the Procfile"), "{error}");
}

#[test]
fn a_dockerfile_is_built_by_an_engine_where_there_is_one_or_where_it_is_asked_for() {
    let files = [("Dockerfile", "FROM scratch"), ("package.json", "{}"), ("index.js", "")];
    let none = BuildOverrides::default();
    let is_docker = |way: Way| matches!(way, Way::Dockerfile { .. });
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
fn what_nobody_knows_says_what_is_looked_for() {
    let nothing = refused(&[("Gemfile", "")]).to_string();
    assert!(nothing.contains("package.json") && nothing.contains("root folder"), "{nothing}");
    let broken = refused(&[("package.json", "{,}")]).to_string();
    assert!(broken.contains("line 1"), "{broken}");
    let unclear = refused(&[("requirements.txt", "")]).to_string();
    assert!(unclear.contains("main.py"), "{unclear}");
    let many = refused(&[("go.mod", "module a\ngo 1.26\n"), ("cmd/a/x.go", ""), ("cmd/b/x.go", "")]).to_string();
    assert!(many.contains("a, b"), "{many}");
}
