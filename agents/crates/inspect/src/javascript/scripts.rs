//! Scripts of a package.json: which of them start a development server, and the production command that hides in a watcher.

use std::collections::BTreeSet;

use super::package::NodePackage;
use crate::command_line;

/// Look-ups of scripts that other scripts run. More are a mistake, or an attack on the server's time.
const LOOKUPS_MAX: usize = 200;

/// Development tools by their program, with the subcommands that start a server; an empty word stands for no subcommand.
const DEVELOPMENT: [(&str, &[&str]); 46] = [
    ("react-scripts", &["start"]),
    ("react-app-rewired", &["start"]),
    ("craco", &["start"]),
    ("vite", &["", "dev", "serve", "preview"]),
    ("rolldown-vite", &["", "dev", "preview"]),
    ("vite-node", &[""]),
    ("astro", &["dev", "start", "preview"]),
    ("next", &["", "dev"]),
    ("nuxt", &["", "dev", "preview", "start"]),
    ("nuxi", &["dev", "preview"]),
    ("gatsby", &["develop", "serve", "start"]),
    ("ng", &["serve", "s", "dev"]),
    ("vue-cli-service", &["serve"]),
    ("webpack", &["serve", "--watch", "-w", "watch"]),
    ("webpack-dev-server", &[""]),
    ("rspack", &["serve", "dev", "preview"]),
    ("rsbuild", &["", "dev", "preview"]),
    ("parcel", &["", "serve", "watch"]),
    ("snowpack", &["dev"]),
    ("nodemon", &[""]),
    ("ts-node-dev", &[""]),
    ("tsnd", &[""]),
    ("node-dev", &[""]),
    ("nest", &["start"]),
    ("browser-sync", &[""]),
    ("live-server", &[""]),
    ("docusaurus", &["start", "serve"]),
    ("vitepress", &["dev", "preview", "serve"]),
    ("vuepress", &["dev"]),
    ("hexo", &["server", "s"]),
    ("ember", &["serve", "s", "server"]),
    ("start-storybook", &[""]),
    ("storybook", &["dev"]),
    ("remix", &["dev", "vite:dev"]),
    ("react-router", &["dev"]),
    ("svelte-kit", &["dev", "preview"]),
    ("vinxi", &["dev"]),
    ("preact", &["watch", "serve"]),
    ("expo", &["start"]),
    ("ionic", &["serve"]),
    ("umi", &["dev"]),
    ("max", &["dev"]),
    ("wrangler", &["dev"]),
    ("elm-live", &[""]),
    ("gulp", &["", "serve", "watch", "dev"]),
    ("grunt", &["", "serve", "watch", "dev"]),
];

/// Words before the program that a script's line really runs.
const PREFIXES: [&str; 9] = ["cross-env", "env", "exec", "npx", "bunx", "dotenv", "--", "-y", "time"];

/// Development server that a script starts, such as `react-scripts start`; `None` for all else.
pub(crate) fn development_server(package: &NodePackage, script: &str) -> Option<String> {
    let mut found = None;
    visit(package, script, &mut Walk::default(), &mut |words| {
        if found.is_none() && is_development(words) {
            found = Some(words.iter().take(2).copied().collect::<Vec<_>>().join(" "));
        }
    });
    found
}

/// Scripts that were followed.
#[derive(Default)]
struct Walk<'a> {
    seen: BTreeSet<&'a str>,
    lookups: usize,
}

/// Hands each command of a script to `each`, following scripts that it runs, each once.
fn visit<'a>(package: &'a NodePackage, script: &'a str, walk: &mut Walk<'a>, each: &mut dyn FnMut(&[&str])) {
    if !walk.seen.insert(script) {
        return;
    }
    for part in script.split(['&', '|', ';', '\n']) {
        let words: Vec<&str> =
            part.split_ascii_whitespace().map(|word| word.trim_matches(['"', '\'', '`', '\\'])).collect();
        let is_prefix = |word: &&&str| PREFIXES.contains(word) || (word.contains('=') && !word.starts_with('-'));
        let skipped = words.iter().take_while(|word| word.is_empty() || is_prefix(word)).count();
        let words = &words[skipped..];
        // Arguments after `--` go to the script's own command.
        if words.contains(&"--watch") && matches!(words, ["npm" | "pnpm" | "yarn", ..]) {
            each(&["--watch"]);
            continue;
        }
        let called: Vec<&str> = match words {
            ["npm" | "pnpm" | "yarn", "run", name, ..] => vec![name],
            ["bun", "run", name, ..] if package.script(name).is_some() => vec![name],
            ["npm", "start", ..] => vec!["start"],
            ["pnpm" | "yarn", name, ..] if package.script(name).is_some() => vec![name],
            ["run-p" | "run-s" | "npm-run-all" | "npm-run-all2" | "concurrently" | "wireit", rest @ ..] => rest
                .iter()
                .map(|word| word.strip_prefix("npm:").unwrap_or(word))
                .filter(|word| !word.starts_with('-'))
                .collect(),
            [] => continue,
            _ => {
                each(words);
                continue;
            }
        };
        for name in called {
            walk.lookups += 1;
            if walk.lookups > LOOKUPS_MAX {
                return;
            }
            for script in package.scripts_like(name).take(LOOKUPS_MAX) {
                visit(package, script, walk, each);
            }
        }
    }
}

fn is_development(words: &[&str]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    const BUILDERS: [&str; 9] =
        ["sass", "node-sass", "tsc", "tailwindcss", "postcss", "rollup", "esbuild", "tsup", "babel"];
    let watches = arguments.iter().any(|word| matches!(*word, "--watch" | "-w"));
    if *program == "--watch" || (watches && BUILDERS.contains(program)) {
        return true;
    }
    let program = program.rsplit('/').next().unwrap_or_default().trim_end_matches(".js");
    if matches!(program, "node" | "bun" | "tsx" | "deno") {
        return watched(words).is_some();
    }
    let subcommand = arguments.first().copied().filter(|word| !word.starts_with('-')).unwrap_or_default();
    if matches!(program, "eleventy" | "@11ty/eleventy" | "stencil" | "jekyll") {
        return arguments.iter().any(|word| matches!(*word, "--serve" | "--watch" | "serve"));
    }
    DEVELOPMENT.iter().any(|(name, subcommands)| {
        // A folder or file may follow instead: `vite .`, `nodemon server.js`.
        let is_any = matches!(
            *name,
            "nodemon"
                | "ts-node-dev"
                | "tsnd"
                | "node-dev"
                | "live-server"
                | "browser-sync"
                | "webpack-dev-server"
                | "elm-live"
                | "vite-node"
        );
        *name == program
            && (is_any
                || subcommands.contains(&subcommand)
                || arguments.iter().any(|word| matches!(*word, "--watch" | "-w") && subcommands.contains(word)))
    })
}

/// Program and arguments of `node --watch x`, `tsx watch x`, `bun --hot x`, without the watching.
fn watched(words: &[&str]) -> Option<Vec<String>> {
    const FLAGS: [&str; 6] =
        ["--watch", "--hot", "watch", "--watch-path", "--watch-preserve-output", "--clear-screen=false"];
    let (program, rest) = words.split_first()?;
    let has = rest.iter().any(|word| FLAGS.contains(word));
    (has && matches!(*program, "node" | "bun" | "tsx")).then(|| {
        let kept = rest.iter().filter(|word| !FLAGS.contains(word));
        [*program].into_iter().chain(kept.copied()).map(str::to_owned).collect()
    })
}

/// Production command of a script that only watches files and restarts, such as `nodemon server.js`.
pub(crate) fn without_watcher(script: &str) -> Option<Vec<String>> {
    let words = command_line::plain(script)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some(command) = watched(&words) {
        return Some(command);
    }
    let (program, arguments) = words.split_first()?;
    let runner = match *program {
        "nodemon" | "node-dev" => "node",
        "ts-node-dev" | "tsnd" => "ts-node",
        _ => return None,
    };
    let file = arguments
        .iter()
        .position(|word| [".js", ".mjs", ".cjs", ".ts", ".mts"].iter().any(|end| word.ends_with(end)))?;
    // Options before the file are the watcher's own; `--exec` names another runner.
    let exec = arguments[..file].iter().position(|word| matches!(*word, "--exec" | "-x" | "-e"));
    let runner =
        exec.and_then(|at| arguments.get(at + 1)).copied().filter(|word| !word.contains(',')).unwrap_or(runner);
    Some([runner].into_iter().chain(arguments[file..].iter().copied()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(scripts: &str) -> NodePackage {
        serde_json::from_str(&format!(r#"{{"scripts":{scripts}}}"#)).unwrap()
    }

    #[test]
    fn development_servers_are_known_by_their_commands() {
        let none = package("{}");
        for script in [
            "react-scripts start",
            "cross-env PORT=3000 react-scripts start",
            "vite",
            "vite --host",
            "npx vite preview --port 80",
            "astro dev",
            "nest start --watch",
            "webpack serve --mode development",
            "webpack --watch",
            "tsc && nodemon dist/index.js",
            "node --watch server.js",
            "tsx watch src/index.ts",
            "bun run --hot src/index.ts",
            "./node_modules/.bin/next dev",
            "gulp",
            "eleventy --serve",
            "sass --watch a.scss:a.css",
            "npm run css -- --watch",
        ] {
            assert!(development_server(&none, script).is_some(), "{script}");
        }
        for script in [
            "node server.js",
            "next start -p $PORT",
            "vite build",
            "webpack --mode production",
            "sirv public --no-clear",
            "serve -s build",
            "remix-serve ./build/index.js",
            "tsx src/index.ts",
            "gulp build",
            "nest build",
            "eleventy",
            "node dist/main --watch-files=false",
        ] {
            assert_eq!(development_server(&none, script), None, "{script}");
        }
        let nested = package(r#"{"start":"npm run dev","dev":"run-p dev:*","x":"yarn serve","serve":"vite"}"#);
        assert_eq!(development_server(&nested, "yarn serve").as_deref(), Some("vite"));
        assert_eq!(development_server(&nested, "npm run x").as_deref(), Some("vite"));
        let circle = package(r#"{"a":"npm run b","b":"npm run a"}"#);
        assert_eq!(development_server(&circle, "npm run a"), None);
    }

    #[test]
    fn a_watcher_is_left_out_of_a_production_command() {
        for (script, command) in [
            ("nodemon server.js", "node server.js"),
            ("nodemon --inspect src/app.js --port 1", "node src/app.js --port 1"),
            ("nodemon --exec tsx src/app.ts", "tsx src/app.ts"),
            ("ts-node-dev --respawn src/index.ts", "ts-node src/index.ts"),
            ("node --watch index.js", "node index.js"),
            ("bun run --hot src/index.ts", "bun run src/index.ts"),
        ] {
            assert_eq!(without_watcher(script).unwrap().join(" "), command);
        }
        assert_eq!(without_watcher("vite"), None);
        assert_eq!(without_watcher("nodemon"), None);
    }
}
