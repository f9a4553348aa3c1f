//! Tests the diagnosis of shortened output of real tools: npm 11, pnpm 10, yarn 1.22 and 4.18, Bun 1.4, uv, pip 23, Poetry 2,
//! Go 1.26, cargo 1.95, TypeScript 5.9. Most comes from runs on a broken app, the rest from their documentation.

use super::*;

/// Returns code and sentence of a failed command with this output.
fn told(command: &str, output: &str) -> (String, String) {
    let lines: Vec<String> = output.lines().map(str::to_owned).collect();
    let failed =
        CommandFailure { command, how: "failed with exit code 1", lines: &lines, installs: true, was_killed: false };
    let failure = diagnose(&failed).failure();
    (failure.code, failure.message)
}

/// Command, output, code, and words of the sentence.
type Row = (&'static str, &'static str, &'static str, &'static [&'static str]);

fn check(rows: &[Row]) {
    for (command, output, code, words) in rows {
        let (found, sentence) = told(command, output);
        assert_eq!(found, *code, "{output}\n{sentence}");
        for word in *words {
            assert!(sentence.contains(word), "{word}: {sentence}");
        }
        if *code != "build.lock_outdated" {
            assert!(!sentence.to_lowercase().contains("lock file"), "{sentence}");
        }
    }
}

#[test]
fn an_old_lock_file_names_the_command_that_updates_it() {
    check(&[
        (
            "npm ci",
            "npm error code EUSAGE\nnpm error\nnpm error `npm ci` can only install packages when your package.json and package-lock.json or npm-shrinkwrap.json are in sync. Please update your lock file with `npm install` before continuing.\nnpm error\nnpm error Invalid: lock file's is-odd@3.0.1 does not satisfy is-odd@3.0.0\nnpm error Run \"npm help ci\" for more info",
            "build.lock_outdated",
            &[
                "The command `npm ci` failed with exit code 1: `npm error Invalid: lock file's is-odd@3.0.1",
                "run `npm install`, commit package.json and package-lock.json",
            ],
        ),
        (
            "npm ci",
            "npm ERR! code EUSAGE\nnpm ERR! \nnpm ERR! Missing: is-odd@3.0.1 from lock file",
            "build.lock_outdated",
            &["Missing: is-odd@3.0.1"],
        ),
        (
            "pnpm install --frozen-lockfile",
            " ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with \"frozen-lockfile\" because pnpm-lock.yaml is not up to date with <ROOT>/package.json",
            "build.lock_outdated",
            &["pnpm-lock.yaml is not up to date", "run `pnpm install`"],
        ),
        (
            "yarn install --frozen-lockfile",
            "[1/4] Resolving packages...\nerror Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`.\ninfo Visit https://yarnpkg.com/en/docs/cli/install for documentation about this command.",
            "build.lock_outdated",
            &["run `yarn install`, commit package.json and yarn.lock"],
        ),
        (
            "yarn install --immutable",
            "➤ YN0028: │ +  linkType: hard\n➤ YN0028: │ The lockfile would have been modified by this install, which is explicitly forbidden.\n➤ YN0000: · Failed with errors in 0s 53ms",
            "build.lock_outdated",
            &["would have been modified"],
        ),
        (
            "bun install --frozen-lockfile",
            "error: lockfile had changes, but lockfile is frozen\nnote: dependencies in package.json changed since bun.lock was saved: is-odd changed from 3.0.1 to 3.0.0",
            "build.lock_outdated",
            &["run `bun install`"],
        ),
        (
            "uv export --locked",
            "error: The lockfile at `uv.lock` needs to be updated, but `--locked` was provided.\n\nhint: To update the lockfile, run `uv lock`.",
            "build.lock_outdated",
            &["run `uv lock`, commit pyproject.toml and uv.lock"],
        ),
        (
            "poetry sync",
            "pyproject.toml changed significantly since poetry.lock was last generated. Run `poetry lock` to fix the lock file.",
            "build.lock_outdated",
            &["run `poetry lock`"],
        ),
        (
            "cargo build --release --locked",
            "error: cannot update the lock file /app/Cargo.lock because --locked was passed to prevent this\nhelp: to generate the lock file without accessing the network, remove the --locked flag",
            "build.lock_outdated",
            &["commit Cargo.toml and Cargo.lock"],
        ),
        (
            "go build",
            "main.go:2:8: missing go.sum entry for module providing package golang.org/x/text/language (imported by a); to add:\n\tgo get a",
            "build.lock_outdated",
            &["run `go mod tidy`, commit go.mod and go.sum"],
        ),
    ]);
}

#[test]
fn a_host_that_is_not_reached_is_named() {
    check(&[
        (
            "npm ci",
            "npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error network request to https://nowhere.example.invalid/x.tgz failed, reason: getaddrinfo ENOTFOUND nowhere.example.invalid\nnpm error network This is a problem related to network connectivity.",
            "build.network_failed",
            &["does not reach `nowhere.example.invalid`"],
        ),
        (
            "npm ci",
            "npm error code 128\nnpm error An unknown git error occurred\nnpm error fatal: unable to access 'https://nowhere.example.invalid/x.git/': Could not resolve host: nowhere.example.invalid",
            "build.network_failed",
            &["`nowhere.example.invalid`"],
        ),
        (
            "pnpm install",
            " ERR_PNPM_META_FETCH_FAIL  GET https://npm.nowhere.invalid/is-odd: request to https://npm.nowhere.invalid/is-odd failed, reason: getaddrinfo ENOTFOUND npm.nowhere.invalid",
            "build.network_failed",
            &["`npm.nowhere.invalid`"],
        ),
        (
            "yarn install",
            "info There appears to be trouble with your network connection. Retrying...\nerror Error: getaddrinfo ENOTFOUND npm.nowhere.invalid\n    at GetAddrInfoReqWrap.onlookupall [as oncomplete] (node:dns:122:26)",
            "build.network_failed",
            &["`npm.nowhere.invalid`"],
        ),
        (
            "yarn install",
            "➤ YN0001: │ RequestError: getaddrinfo ENOTFOUND npm.nowhere.invalid\n    at ClientRequest.<anonymous>",
            "build.network_failed",
            &["`npm.nowhere.invalid`"],
        ),
        (
            "cargo install",
            "    Updating git repository\nfailed to resolve address for git.nowhere.invalid: Name or service not known; class=Net (12)",
            "build.network_failed",
            &["does not reach `git.nowhere.invalid`"],
        ),
        (
            "deno install",
            "error: Import 'https://deno.nowhere.invalid/std/server.ts' failed.\n    0: error sending request for url (https://deno.nowhere.invalid/std/server.ts): client error (Connect): dns error: failed to lookup address information: Name or service not known",
            "build.network_failed",
            &["does not reach `deno.nowhere.invalid`"],
        ),
        (
            "deno install",
            "error: JSR package manifest for '@hono/hono' failed to load. Import 'https://jsr.nowhere.invalid/@hono/hono/meta.json' failed.",
            "build.network_failed",
            &["does not reach `jsr.nowhere.invalid`"],
        ),
        (
            "bun install",
            "error: DNSResolveFailed downloading package manifest is-odd\nerror: is-odd@3.0.1 failed to resolve",
            "build.network_failed",
            &["the package registry"],
        ),
        (
            "uv pip install",
            "error: Request failed after 3 retries in 8.9s\n  cause: Failed to fetch: https://pypi.nowhere.invalid/simple/idna/\n  cause: error sending request for url (https://pypi.nowhere.invalid/simple/idna/)\n  cause: client error (Connect)\n  cause: dns error",
            "build.network_failed",
            &["`pypi.nowhere.invalid`"],
        ),
        (
            "pip install -r requirements.txt",
            "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object>: Failed to establish a new connection: [Errno -2] Name or service not known')': /simple/idna/\nERROR: Could not find a version that satisfies the requirement idna==99.1 (from versions: none)\nERROR: No matching distribution found for idna==99.1",
            "build.network_failed",
            &["Check its network"],
        ),
        (
            "go build",
            "go: downloading golang.org/x/text v0.14.0\nmain.go:2:8: golang.org/x/text@v0.14.0: Get \"https://proxy.nowhere.invalid/golang.org/x/text/@v/v0.14.0.zip\": dial tcp: lookup proxy.nowhere.invalid on 10.255.255.53:53: no such host",
            "build.network_failed",
            &["`proxy.nowhere.invalid`"],
        ),
        (
            "cargo build",
            "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname\nCaused by:\n  [6] Could not resolve hostname (Could not resolve host: crates.nowhere.invalid)",
            "build.network_failed",
            &["`crates.nowhere.invalid`"],
        ),
        (
            "make fetch",
            "curl: (6) Could not resolve host: nowhere.example.invalid",
            "build.network_failed",
            &["`nowhere.example.invalid`"],
        ),
        (
            "make fetch",
            "curl: (7) Failed to connect to files.example.com port 443 after 21 ms: Could not connect to server",
            "build.network_failed",
            &["`files.example.com`"],
        ),
        (
            "python3 fetch.py",
            "urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>",
            "build.network_failed",
            &[],
        ),
        (
            "npm run build",
            "Failed to fetch `Inter` from Google Fonts.\nFailed to compile.",
            "build.network_failed",
            &["fonts.googleapis.com", "next/font/local"],
        ),
        (
            "npm run build",
            "Error: connect ECONNREFUSED 127.0.0.1:5432\n    at TCPConnectWrap.afterConnect\nError occurred prerendering page \"/\"",
            "build.network_failed",
            &["Nothing answers at `127.0.0.1:5432`", "when the app runs"],
        ),
        (
            "npm run build",
            "Error: getaddrinfo ENOTFOUND postgres",
            "build.network_failed",
            &["Nothing answers at `postgres`"],
        ),
    ]);
}

#[test]
fn missing_refused_and_conflicting_packages_have_their_own_codes() {
    check(&[
        (
            "npm install",
            "npm error code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/no-such-x\nnpm error 404",
            "build.package_not_found",
            &["npm error 404 Not Found - GET"],
        ),
        (
            "npm install",
            "npm error code ETARGET\nnpm error notarget No matching version found for is-odd@99.0.1.",
            "build.package_not_found",
            &["is-odd@99.0.1"],
        ),
        (
            "pnpm install",
            " ERR_PNPM_FETCH_404  GET https://registry.npmjs.org/no-such-x: Not Found - 404",
            "build.package_not_found",
            &[],
        ),
        (
            "yarn install",
            "error Couldn't find package \"no-such-x\" on the \"npm\" registry.",
            "build.package_not_found",
            &["no-such-x"],
        ),
        (
            "yarn install",
            "➤ YN0035: │ no-such-x@npm:3.0.1: Package not found\n➤ YN0035: │   Response Code: 404 (Not Found)",
            "build.package_not_found",
            &["no-such-x@npm"],
        ),
        ("yarn install", "➤ YN0082: │ is-odd@npm:99.0.1: No candidates found", "build.package_not_found", &[]),
        (
            "bun install",
            "error: GET https://registry.npmjs.org/no-such-x - 404\nerror: no-such-x@3.0.1 failed to resolve",
            "build.package_not_found",
            &[],
        ),
        (
            "uv pip install",
            "error: No solution found when resolving dependencies\n  cause: Because there is no version of idna==99.1 and you require idna==99.1, we can conclude that your requirements are unsatisfiable.",
            "build.package_not_found",
            &["idna==99.1"],
        ),
        (
            "pip install",
            "ERROR: No matching distribution found for numpy==2.4.0",
            "build.package_not_found",
            &["numpy==2.4.0"],
        ),
        ("poetry install", "Package idna (3.6) not found.", "build.package_not_found", &["idna"]),
        (
            "cargo build",
            "error: no matching package named `no-such-crate` found",
            "build.package_not_found",
            &["'no-such-crate'"],
        ),
        (
            "cargo build",
            "error: failed to select a version for the requirement `itoa = \"^99\"`",
            "build.package_not_found",
            &[],
        ),
        (
            "npm install",
            "npm error code E401\nnpm error 401 Unauthorized - GET https://npm.pkg.github.com/@acme%2fx",
            "build.credentials_missing",
            &["Also at build time", ".npmrc"],
        ),
        ("bun install", "error: GET https://npm.pkg.github.com/@acme%2fx - 401", "build.credentials_missing", &[]),
        (
            "yarn install",
            "➤ YN0041: │ @acme/x@npm:1.0.0: Invalid authentication (as an anonymous user)",
            "build.credentials_missing",
            &[],
        ),
        (
            "uv pip install",
            "error: No solution found when resolving dependencies\n  cause: Because x was not found in the package registry\nhint: An index URL could not be queried due to a lack of valid authentication credentials (401 Unauthorized)",
            "build.credentials_missing",
            &[],
        ),
        (
            "go build",
            "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
            "build.credentials_missing",
            &[],
        ),
        (
            "npm install",
            "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error Found: react@17.0.2\nnpm error Could not resolve dependency:\nnpm error peer react@\"^18.2.0\" from react-dom@18.2.0",
            "build.dependency_conflict",
            &["peer react@", "legacy-peer-deps"],
        ),
    ]);
}

#[test]
fn versions_compilers_and_memory_have_their_advice() {
    check(&[
        (
            "npm ci",
            "npm error code EBADENGINE\nnpm error engine Not compatible with your version of node/npm: a@1.0.0\nnpm error notsup Required: {\"node\":\">=99\"}",
            "build.version_unsupported",
            &[".nvmrc"],
        ),
        (
            "pnpm install",
            " ERR_PNPM_UNSUPPORTED_ENGINE  Unsupported environment (bad pnpm and/or Node.js version)",
            "build.version_unsupported",
            &[],
        ),
        (
            "yarn install",
            "error a@1.0.0: The engine \"node\" is incompatible with this module. Expected version \">=99\". Got \"20.20.2\"\nerror Found incompatible module.",
            "build.version_unsupported",
            &["Expected version"],
        ),
        (
            "yarn install",
            "error This project's package.json defines \"packageManager\": \"yarn@npm@11.19.1\". However the current global version of Yarn is 1.22.22.",
            "build.version_unsupported",
            &["packageManager"],
        ),
        (
            "uv pip install",
            "error: No interpreter found for Python 3.14 in managed installations or search path",
            "build.version_unsupported",
            &[".python-version"],
        ),
        (
            "uv pip install",
            "  cause: Because the current Python version (3.11.7) does not satisfy Python>=3.14 and a==1 depends on Python>=3.14",
            "build.version_unsupported",
            &[],
        ),
        (
            "uv sync --locked",
            "error: The requested interpreter resolved to Python 3.11.2, which is incompatible with the project's Python requirement: '>=3.13' (from 'project.requires-python')",
            "build.version_unsupported",
            &[".python-version"],
        ),
        (
            "go build",
            "go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)",
            "build.version_unsupported",
            &["go.mod"],
        ),
        (
            "cargo build",
            "error: rustc 1.95.0 is not supported by the following package:\n  a@0.1.0 requires rustc 1.99",
            "build.version_unsupported",
            &["Rust"],
        ),
        (
            "npm ci",
            "gyp ERR! stack Error: Could not find any Python installation to use\nnpm error code 1",
            "build.compiler_missing",
            &["apt-get install python3 build-essential"],
        ),
        (
            "npm ci",
            "gyp ERR! build error \ngyp ERR! stack Error: not found: make\ngyp ERR! stack at getNotFoundError",
            "build.compiler_missing",
            &["build-essential"],
        ),
        (
            "uv pip install",
            "      src/x.c:1:10: fatal error: Python.h: No such file or directory",
            "build.compiler_missing",
            &["python3-dev"],
        ),
        ("uv pip install", "      Error: pg_config executable not found.", "build.compiler_missing", &["libpq-dev"]),
        (
            "uv pip install",
            "      error: command 'gcc' failed: No such file or directory",
            "build.compiler_missing",
            &["build-essential"],
        ),
        (
            "cargo build",
            "error: linker `cc` not found\n  |\n  = note: No such file or directory (os error 2)\nerror: could not compile `a`",
            "build.compiler_missing",
            &["build-essential"],
        ),
        (
            "go build",
            "# runtime/cgo\ncgo: C compiler \"gcc\" not found: exec: \"gcc\": executable file not found in $PATH",
            "build.compiler_missing",
            &[],
        ),
        (
            "go build",
            "./main.go:2:11: fatal error: nothing.h: No such file or directory",
            "build.compiler_missing",
            &["`-dev`"],
        ),
        (
            "npm run build",
            "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----",
            "build.out_of_memory",
            &["--max-old-space-size"],
        ),
        ("npm run build", "npm error signal SIGKILL", "build.out_of_memory", &["more memory"]),
    ]);
}

#[test]
fn errors_of_the_code_name_their_first_line() {
    check(&[
        (
            "npm run build",
            "> tsc\nsrc/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\nsrc/a.ts(1,24): error TS2304: Cannot find name 'y'.\nnpm error code 2",
            "build.code_invalid",
            &["`src/a.ts(1,7): error TS2322", "own code"],
        ),
        (
            "npm run build",
            "Failed to compile.\n\n./app/page.tsx:3:7\nType error: Type 'string' is not assignable to type 'number'.",
            "build.code_invalid",
            &["Type error: Type 'string'"],
        ),
        ("go build", "# a\n./main.go:2:14: undefined: x", "build.code_invalid", &["./main.go:2:14: undefined: x"]),
        (
            "cargo build",
            "error[E0425]: cannot find value `x` in this scope\n --> src/main.rs:1:12\nerror: could not compile `a` (bin \"a\") due to 1 previous error",
            "build.code_invalid",
            &["error[E0425]"],
        ),
        (
            "python3 manage.py collectstatic",
            "  File \"/app/main.py\", line 1\n    def x(:\n          ^\nSyntaxError: invalid syntax",
            "build.code_invalid",
            &["SyntaxError"],
        ),
        (
            "npm run build",
            "node:internal/modules/cjs/loader:1210\n  throw err;\nError: Cannot find module 'express'\nRequire stack:\n- /app/a.js",
            "build.module_missing",
            &["Cannot find module 'express'"],
        ),
        (
            "npm run build",
            "src/a.ts(1,19): error TS2307: Cannot find module './B' or its corresponding type declarations.",
            "build.module_missing",
            &["upper and lower case"],
        ),
        (
            "npm run build",
            "Failed to compile.\n./app/page.tsx:1:1\nModule not found: Can't resolve './button'",
            "build.module_missing",
            &["./button"],
        ),
        (
            "python3 m.py",
            "Traceback (most recent call last):\nModuleNotFoundError: No module named 'nothing_here'",
            "build.module_missing",
            &["nothing_here"],
        ),
        (
            "npm run build",
            "npm error Missing script: \"build\"\nnpm error\nnpm error To see a list of scripts, run:",
            "build.script_missing",
            &["no such script"],
        ),
        ("pnpm run build", " ERR_PNPM_NO_SCRIPT  Missing script: build", "build.script_missing", &[]),
        ("yarn run build", "error Command \"build\" not found.", "build.script_missing", &[]),
        ("bun run build", "error: Script not found \"build\"", "build.script_missing", &[]),
        (
            "npm run build",
            "> a@1.0.0 build\n> vite build\n\nsh: 1: vite: not found",
            "build.program_missing",
            &["no program `vite`"],
        ),
        (
            "bun run build",
            "$ vite build\n/usr/bin/bash: line 1: vite: command not found\nerror: script \"build\" exited with code 127",
            "build.program_missing",
            &["no program `vite`"],
        ),
        ("./run", "/usr/bin/env: ‘deno’: No such file or directory", "build.program_missing", &["no program `deno`"]),
        ("npm run build", "Error: EACCES: permission denied, open '/etc/x'", "build.write_denied", &["$HOME"]),
        (
            "npm run build",
            "Error: ENOENT: no such file or directory, open './data.json'",
            "build.file_missing",
            &["data.json"],
        ),
        (
            "npm run build",
            "Error: Environment variable not found: DATABASE_URL.",
            "build.variable_missing",
            &["needs the variable `DATABASE_URL`", "scope “Build only”"],
        ),
        (
            "npm run build",
            "❌ Invalid environment variables: { AUTH_SECRET: [ 'Required' ] }\nFailed to compile.",
            "build.variable_missing",
            &["`AUTH_SECRET`"],
        ),
    ]);
}

#[test]
fn a_warning_is_no_reason() {
    check(&[
        (
            "pnpm install",
            " WARN  GET https://registry.npmjs.org/x error (ENOTFOUND). Will retry in 10 seconds. 2 retries left.\n ERR_PNPM_FETCH_404  GET https://registry.npmjs.org/x: Not Found - 404",
            "build.package_not_found",
            &[],
        ),
        (
            "npm ci",
            "npm warn EBADENGINE Unsupported engine {\nnpm error Missing script: \"build\"",
            "build.script_missing",
            &[],
        ),
        (
            "npm run build",
            "warning: Could not resolve host: telemetry.example.com\nsrc/a.ts(1,7): error TS2322: Type 'string' is not assignable",
            "build.code_invalid",
            &[],
        ),
    ]);
}

#[test]
fn an_unknown_failure_quotes_the_line_that_tells_most() {
    let output = "building\nError: the moon is in the wrong house\n    at build (/app/build.js:1:2)\nnpm error code 1\nnpm error path /app\nnpm error command failed\nnpm error command sh -c node build.js\nnpm error A complete log of this run can be found in: /root/x.log";
    let (code, sentence) = told("npm run build", output);
    assert_eq!(code, "build.install_failed");
    assert_eq!(
        sentence,
        "The command `npm run build` failed with exit code 1: `Error: the moon is in the wrong house`. The last lines of the log say why."
    );
    let (_, silent) = told("make", "");
    assert_eq!(silent, "The command `make` failed with exit code 1. The last lines of the log say why.");
    let (_, plain) = told("make", "step one\nstep two\n");
    assert!(plain.contains("code 1: `step two`."), "{plain}");
}

#[test]
fn a_killed_command_ran_out_of_memory_and_a_long_line_is_cut() {
    let lines = ["src/a.ts(1,7): error TS2322: x".to_owned()];
    let failed = CommandFailure { command: "tsc", how: "was killed", lines: &lines, installs: false, was_killed: true };
    assert_eq!(diagnose(&failed).failure().code, "build.out_of_memory");
    let (_, sentence) = told("tsc", &format!("a.ts(1,1): error TS1: {}", "x".repeat(4000)));
    assert!(sentence.len() < 500, "{sentence}");
}
