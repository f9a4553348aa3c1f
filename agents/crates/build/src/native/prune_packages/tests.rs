//! Tests of what an artifact can do without, on folders as package managers leave them.

use std::os::unix::fs::symlink;

use super::search::quoted;
use super::*;

/// Writes files, and links where the content begins with `->`.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match content.strip_prefix("->") {
            Some(target) => symlink(target, path).unwrap(),
            None => fs::write(path, content).unwrap(),
        }
    }
    folder
}

fn left(base: &Path, folder: &str, commands: &[&str]) -> Vec<String> {
    let commands: Vec<String> = commands.iter().map(|command| (*command).to_owned()).collect();
    let budget = Budget::new(CancellationToken::new());
    let found = find_unused(base, Path::new(""), folder, &commands, &budget).unwrap();
    found.into_iter().map(|path| path.into_os_string().into_string().unwrap()).collect()
}

const NPM: [(&str, &str); 14] = [
    (
        "package.json",
        r##"{"dependencies": {"express": "5", "@a/b": "1"}, "devDependencies": {"eslint": "9", "dotenv": "17", "tsx": "4"},
            "imports": {"#db": {"node": "sqlite"}},
            "scripts": {"start": "node server.js", "build": "tsx build.ts", "dev": "tsx server.ts", "prestart": "echo a", "work:a": "lint"}}"##,
    ),
    ("server.js", "require('express'); if (debug) require(`dotenv/config`);"),
    (
        "node_modules/express/package.json",
        r#"{"peerDependencies": {"qs": "1", "x": "1"}, "peerDependenciesMeta": {"x": {"optional": true}}}"#,
    ),
    ("node_modules/express/node_modules/qs/package.json", "{}"),
    ("node_modules/@a/b/package.json", "{}"),
    ("node_modules/@a/c/package.json", "{}"),
    ("node_modules/x/package.json", "{}"),
    ("node_modules/eslint/package.json", r#"{"bin": {"lint": "a.js"}}"#),
    ("node_modules/eslint/a.js", ""),
    ("node_modules/.bin/lint", "->../eslint/a.js"),
    ("node_modules/dotenv/package.json", "{}"),
    ("node_modules/tsx/package.json", r#"{"bin": "a.js"}"#),
    ("node_modules/sqlite/package.json", "{}"),
    (".output/server/node_modules/eslint/package.json", "{}"),
];

#[test]
fn packages_that_nothing_loads_while_the_app_runs_are_left_out() {
    let folder = tree(&NPM);
    fs::create_dir_all(folder.path().join("node_modules/generated")).unwrap();
    let expected =
        ["node_modules/.bin/lint", "node_modules/@a/c", "node_modules/eslint", "node_modules/tsx", "node_modules/x"];
    assert_eq!(left(folder.path(), "", &["npm start"]), expected);
    assert_eq!(left(folder.path(), "", &["node server.js"]), expected);
}

#[test]
fn all_stay_where_a_command_names_one() {
    let folder = tree(&NPM);
    let commands = [
        "npm run dev",
        "tsx server.ts",
        "node --import=tsx server.ts",
        "node -r eslint/register server.js",
        "sh -c 'exec ./node_modules/.bin/lint && node server.js'",
        "npx eslint",
        "yarn build",
        "node --run dev",
        "run-p work:*",
        "node -rtsx/cjs server.js",
        "npx tsx@4 server.js",
        "node server.ts",
    ];
    for command in commands {
        assert_eq!(left(folder.path(), "", &["node server.js", command]), [""; 0], "{command}");
    }
}

#[test]
fn files_of_tests_and_configurations_of_unused_tools_keep_nothing() {
    let folder = tree(&[
        ("package.json", r#"{"dependencies": {"next": "16"}}"#),
        ("test/a.js", "import 'a'"),
        ("src/a.test.ts", "import 'a'"),
        ("vite.config.ts", "import 'vite'"),
        (".eslintrc.json", r#"["eslint-config"]"#),
        ("tsconfig.json", r#"{"types": ["a"]}"#),
        ("types.d.ts", "import 'a'"),
        (".next/server/page.js", "require(\"pg\")"),
        ("node_modules/next/package.json", "{}"),
        ("node_modules/next-sitemap/package.json", "{}"),
        ("node_modules/a/package.json", "{}"),
        ("node_modules/vite/package.json", "{}"),
        ("node_modules/eslint-config/package.json", "{}"),
        ("node_modules/typescript/package.json", "{}"),
        ("node_modules/pg/package.json", "{}"),
    ]);
    let unused = ["a", "eslint-config", "next-sitemap", "vite"].map(|name| format!("node_modules/{name}"));
    let with_typescript: Vec<String> = unused.iter().cloned().chain(["node_modules/typescript".to_owned()]).collect();
    assert_eq!(left(folder.path(), "", &["next start"]).len(), with_typescript.len());
    // Next.js reads its own configuration when it starts, by the package typescript.
    fs::write(folder.path().join("next.config.ts"), "").unwrap();
    assert_eq!(left(folder.path(), "", &["next start"]), unused);
}

#[test]
fn the_store_of_pnpm_is_followed_by_its_links() {
    let folder = tree(&[
        ("package.json", r#"{"dependencies": {"a": "1"}}"#),
        ("node_modules/a", "->.pnpm/a@1/node_modules/a"),
        ("node_modules/dev", "->.pnpm/dev@1/node_modules/dev"),
        ("node_modules/.modules.yaml", ""),
        ("node_modules/.pnpm/lock.yaml", ""),
        ("node_modules/.pnpm/a@1/node_modules/a/package.json", r#"{"dependencies": {"b": "1"}}"#),
        ("node_modules/.pnpm/a@1/node_modules/b", "->../../b@1/node_modules/b"),
        ("node_modules/.pnpm/b@1/node_modules/b/package.json", "{}"),
        ("node_modules/.pnpm/dev@1/node_modules/dev/package.json", "{}"),
        ("node_modules/.pnpm/node_modules/b", "->../b@1/node_modules/b"),
        ("node_modules/.pnpm/node_modules/dev", "->../dev@1/node_modules/dev"),
    ]);
    let expected = ["node_modules/.pnpm/dev@1", "node_modules/.pnpm/node_modules/dev", "node_modules/dev"];
    assert_eq!(left(folder.path(), "", &["pnpm start"]), expected);
}

#[test]
fn packages_of_a_workspace_that_the_app_does_not_need_lose_theirs() {
    let folder = tree(&[
        ("package.json", r#"{"workspaces": ["*"], "devDependencies": {"turbo": "2"}}"#),
        ("tool.js", "require('turbo')"),
        ("web/package.json", r#"{"dependencies": {"ui": "*"}}"#),
        ("web/server.js", ""),
        ("ui/package.json", r#"{"dependencies": {"a": "1"}, "devDependencies": {"react": "1"}}"#),
        ("ui/index.js", "import 'react'"),
        ("ui/node_modules/react/package.json", "{}"),
        ("docs/package.json", r#"{"dependencies": {"b": "1", "c": "1"}}"#),
        ("docs/node_modules/b/package.json", "{}"),
        ("node_modules/web", "->../web"),
        ("node_modules/ui", "->../ui"),
        ("node_modules/docs", "->../docs"),
        ("node_modules/a/package.json", "{}"),
        ("node_modules/c/package.json", "{}"),
        ("node_modules/turbo/package.json", "{}"),
    ]);
    let expected = ["docs/node_modules/b", "node_modules/c", "node_modules/docs", "node_modules/turbo"];
    assert_eq!(left(folder.path(), "web", &["node server.js"]), expected);
}

#[test]
fn what_a_build_put_in_the_way_keeps_all_or_changes_nothing_outside() {
    let files = [
        ("package.json", r#"{"dependencies": {"../../out": "1", "out": "1", "/etc": "1"}}"#),
        ("node_modules/out", "->/etc"),
        ("node_modules/loop", "->loop"),
        ("node_modules/.bin/out", "->/bin/sh"),
        ("node_modules/dev/package.json", "{}"),
    ];
    let folder = tree(&files);
    assert_eq!(left(folder.path(), "", &["node server.js"]), ["node_modules/dev"]);
    let fails =
        |base: &Path, folder: &str, budget: &Budget| find_unused(base, Path::new(""), folder, &[], budget).is_err();
    let budget = || Budget::new(CancellationToken::new());
    // A manifest that can't be used says nothing of what the app needs.
    for text in ["{", "[]"] {
        let folder = tree(&[&files[1..], &[("package.json", text)]].concat());
        assert!(fails(folder.path(), "", &budget()), "{text}");
    }
    let pipe = folder.path().join("node_modules/dev/package.json");
    fs::remove_file(&pipe).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    assert!(fails(folder.path(), "", &budget()));
    // Neither a link nor a stop or a bound lets it look elsewhere or for long.
    let outside = tree(&NPM);
    symlink(outside.path(), folder.path().join("web")).unwrap();
    assert!(fails(folder.path(), "web", &budget()));
    let stopped = budget();
    stopped.cancel.cancel();
    assert!(fails(outside.path(), "", &stopped));
    let spent = budget();
    spent.steps.set(5);
    assert!(fails(outside.path(), "", &spent));
}

#[test]
fn programs_that_files_and_settings_run_keep_their_packages() {
    let with = |files: &[(&str, &str)]| {
        let package = r#"{"dependencies": {"pm2": "1"}, "devDependencies": {"prisma": "1"},
            "prisma": {"seed": "seeder run"}, "scripts": {"start": "cross-env A=b node a.js", "work:a": "wait"}}"#;
        let base = [
            ("package.json", package),
            ("node_modules/prisma/package.json", r#"{"bin": {"prisma": "a.js"}, "dependencies": {"engine": "1"}}"#),
            ("node_modules/engine/package.json", "{}"),
            ("node_modules/seed-tool/package.json", r#"{"bin": {"seeder": "a.js"}}"#),
            ("node_modules/cross-env/package.json", r#"{"bin": "a.js"}"#),
            ("node_modules/pm2/package.json", r#"{"bin": "a.js"}"#),
            ("node_modules/waiter/package.json", r#"{"bin": {"wait": "a.js"}}"#),
        ];
        left(tree(&[&base, files].concat()).path(), "", &["npm start"])
    };
    let engine = ["node_modules/engine", "node_modules/prisma"];
    assert_eq!(with(&[]), [engine.as_slice(), &["node_modules/waiter"]].concat());
    for file in [
        ("start.sh", "exec npx prisma migrate deploy"),
        ("bin/www", "#!/bin/sh\nnode_modules/.bin/prisma migrate"),
        ("server.js", "execSync('npx prisma@6 migrate deploy')"),
        ("ecosystem.config.js", "module.exports = { interpreter: './node_modules/.bin/prisma' }"),
    ] {
        assert_eq!(with(&[file]), ["node_modules/waiter"], "{file:?}");
    }
    assert_eq!(with(&[("a.js", "import 'tsx/esm'"), ("node_modules/tsx/package.json", "{}")]), [""; 0]);
}

#[test]
fn a_configuration_counts_once_its_tool_does() {
    let folder = tree(&[
        ("package.json", "{}"),
        ("server.js", "require('@babel/core')"),
        (".babelrc", r#"{"presets": ["@babel/preset-env"]}"#),
        ("node_modules/@babel/core/package.json", "{}"),
        ("node_modules/@babel/preset-env/package.json", "{}"),
        ("node_modules/@babel/cli/package.json", "{}"),
    ]);
    assert_eq!(left(folder.path(), "", &["node server.js"]), ["node_modules/@babel/cli"]);
}

#[test]
fn a_name_is_found_in_any_quotes() {
    let mut names = Vec::new();
    quoted(
        br#"import"a";require('@b/c/d.js');import(`e/f`); "./node_modules/g/h.js" '../own' "x y@1" 'tail"#,
        &mut |name: &str| names.push(name.to_owned()),
    );
    for name in ["a", "@b/c", "e", "g", "x", "y", "tail"] {
        assert!(names.iter().any(|found| found == name), "{name} of {names:?}");
    }
}
