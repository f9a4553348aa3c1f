//! Table of what tools write when they fail: the class of the failure, and words that one line has, all of them.
//! The first match decides: causes come before symptoms.

use Class::*;

/// Causes of a failed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The lock file does not match: what updates it, and what to commit.
    Lock {
        update: &'static str,
        files: &'static str,
    },
    Fonts,
    Network,
    Credentials,
    /// Another version of a runtime is needed: the first half of what to do.
    Runtime(&'static str),
    NotFound,
    Conflict,
    Heap,
    Killed,
    Script,
    /// Something is compiled: packages of Debian that this needs.
    Compiler(&'static str),
    Header,
    Module,
    Code,
    Program,
    Denied,
    File,
}

impl Class {
    /// Code in the contract's error table.
    pub(super) fn code(self) -> &'static str {
        match self {
            Lock { .. } => "build.lock_outdated",
            Fonts | Network => "build.network_failed",
            Credentials => "build.credentials_missing",
            Runtime(_) => "build.version_unsupported",
            NotFound => "build.package_not_found",
            Conflict => "build.dependency_conflict",
            Heap | Killed => "build.out_of_memory",
            Script => "build.script_missing",
            Compiler(_) | Header => "build.compiler_missing",
            Module => "build.module_missing",
            Code => "build.code_invalid",
            Program => "build.program_missing",
            Denied => "build.write_denied",
            File => "build.file_missing",
        }
    }

    /// Reports whether a missing variable explains it.
    pub(super) fn follows_variables(self) -> bool {
        matches!(self, Code | Module | Denied | File | Program)
    }
}

const NPM: Class = Lock { update: "npm install", files: "package.json and package-lock.json" };
const PNPM: Class = Lock { update: "pnpm install", files: "package.json and pnpm-lock.yaml" };
const YARN: Class = Lock { update: "yarn install", files: "package.json and yarn.lock" };
const BUN: Class = Lock { update: "bun install", files: "package.json and bun.lock" };
const DENO: Class = Lock { update: "deno install", files: "deno.json and deno.lock" };
const UV: Class = Lock { update: "uv lock", files: "pyproject.toml and uv.lock" };
const POETRY: Class = Lock { update: "poetry lock", files: "pyproject.toml and poetry.lock" };
const PIPENV: Class = Lock { update: "pipenv lock", files: "Pipfile and Pipfile.lock" };
const GO: Class = Lock { update: "go mod tidy", files: "go.mod and go.sum" };
const CARGO: Class = Lock { update: "cargo update --workspace", files: "Cargo.toml and Cargo.lock" };

const NODE_VERSION: Class = Runtime("Name one that fits in .nvmrc or in `engines` of package.json");
const MANAGER_VERSION: Class = Runtime("Name the package manager's version as `packageManager` in package.json");
const PYTHON_VERSION: Class = Runtime("Name one that fits in .python-version, or change `requires-python`");
const GO_VERSION: Class = Runtime("Install a newer Go on this server, or lower `go` in go.mod");
const RUST_VERSION: Class = Runtime("Install a newer Rust on this server, or take an older version of the crate");

const C_COMPILER: Class = Compiler("build-essential");

pub(super) const RULES: &[(Class, &[&str])] = &[
    // Lock files.
    (NPM, &["npm error", "lock file's", "does not satisfy"]),
    (NPM, &["npm error Missing: ", "from lock file"]),
    (NPM, &["can only install packages when your package.json and"]),
    (NPM, &["can only install with an existing package-lock.json"]),
    (PNPM, &["ERR_PNPM_OUTDATED_LOCKFILE"]),
    (PNPM, &["ERR_PNPM_NO_LOCKFILE"]),
    (PNPM, &["ERR_PNPM_LOCKFILE_CONFIG_MISMATCH"]),
    (YARN, &["Your lockfile needs to be updated"]),
    (YARN, &["The lockfile would have been modified by this install"]),
    (BUN, &["lockfile had changes, but lockfile is frozen"]),
    (DENO, &["The lockfile is out of date"]),
    (UV, &["The lockfile at", "needs to be updated"]),
    (UV, &["Unable to find lockfile at"]),
    (POETRY, &["pyproject.toml changed significantly since poetry.lock"]),
    (PIPENV, &["Pipfile.lock", "out of date"]),
    (CARGO, &["lock file", "because --locked was passed"]),
    (GO, &["missing go.sum entry"]),
    (GO, &["no required module provides package"]),
    (GO, &["go: updates to go.mod needed"]),
    // The network.
    (Fonts, &["Failed to fetch", "Google Fonts"]),
    (Fonts, &["fonts.googleapis.com"]),
    (Fonts, &["fonts.gstatic.com"]),
    (Network, &["getaddrinfo ENOTFOUND"]),
    (Network, &["getaddrinfo EAI_AGAIN"]),
    (Network, &["connect ECONNREFUSED"]),
    (Network, &["connect ETIMEDOUT"]),
    (Network, &["connect EHOSTUNREACH"]),
    (Network, &["connect ENETUNREACH"]),
    (Network, &["npm error network request to"]),
    (Network, &["Could not resolve host"]),
    (Network, &["Failed to connect to "]),
    (Network, &["dial tcp"]),
    (Network, &["Failed to resolve '"]),
    (Network, &["after connection broken by"]),
    (Network, &["Can't reach database server"]),
    (Network, &["error sending request for url"]),
    (Network, &["JSR package manifest for '", "failed to load"]),
    (Network, &["DNSResolveFailed"]),
    (Network, &["ConnectionRefused downloading"]),
    (Network, &["npm error code ECONNRESET"]),
    (Network, &["npm error code ETIMEDOUT"]),
    (Network, &["ERR_SOCKET_TIMEOUT"]),
    (Network, &["Name or service not known"]),
    (Network, &["Temporary failure in name resolution"]),
    (Network, &["ssh: connect to host"]),
    // Credentials.
    (Credentials, &["npm error 401"]),
    (Credentials, &["npm error 403"]),
    (Credentials, &["npm error code E401"]),
    (Credentials, &["npm error code E403"]),
    (Credentials, &["npm error code ENEEDAUTH"]),
    (Credentials, &["ERR_PNPM_FETCH_401"]),
    (Credentials, &["ERR_PNPM_FETCH_403"]),
    (Credentials, &["YN0041"]),
    (Credentials, &["error: GET http", " - 401"]),
    (Credentials, &["error: GET http", " - 403"]),
    (Credentials, &["error An unexpected error occurred", "401 Unauthorized"]),
    (Credentials, &["Request failed", "401 Unauthorized"]),
    (Credentials, &["Request failed", "403 Forbidden"]),
    (Credentials, &["lack of valid authentication credentials"]),
    (Credentials, &["HTTP status client error (401"]),
    (Credentials, &["HTTP status client error (403"]),
    (Credentials, &["401 Error, Credentials not correct"]),
    (Credentials, &["could not read Username for"]),
    (Credentials, &["Permission denied (publickey"]),
    (Credentials, &["reading http", "401 Unauthorized"]),
    (Credentials, &["reading http", "403 Forbidden"]),
    // Versions of runtimes and managers.
    (NODE_VERSION, &["Not compatible with your version of node/npm"]),
    (NODE_VERSION, &["npm error code EBADENGINE"]),
    (NODE_VERSION, &["ERR_PNPM_UNSUPPORTED_ENGINE"]),
    (NODE_VERSION, &["The engine \"", "is incompatible with this module"]),
    (NODE_VERSION, &["Node.js version", "is required"]),
    (NODE_VERSION, &["requires Node.js version"]),
    (MANAGER_VERSION, &["This project's package.json defines \"packageManager\""]),
    (MANAGER_VERSION, &["ERR_PNPM_BAD_PM_VERSION"]),
    (MANAGER_VERSION, &["ERR_PNPM_LOCKFILE_BREAKING_CHANGE"]),
    (PYTHON_VERSION, &["No interpreter found for Python"]),
    (PYTHON_VERSION, &["Python version", "does not satisfy Python"]),
    (PYTHON_VERSION, &["requires a different Python"]),
    (PYTHON_VERSION, &["currently activated Python version", "is not supported by the project"]),
    (PYTHON_VERSION, &["is incompatible with the project's Python requirement"]),
    (GO_VERSION, &["requires go >="]),
    (RUST_VERSION, &["is not supported by the following package"]),
    (RUST_VERSION, &["requires rustc"]),
    (RUST_VERSION, &["feature `edition2024` is required"]),
    // Packages that are not there.
    (NotFound, &["npm error 404", "Not Found - GET"]),
    (NotFound, &["npm error code E404"]),
    (NotFound, &["No matching version found for"]),
    (NotFound, &["npm error code ETARGET"]),
    (NotFound, &["ERR_PNPM_FETCH_404"]),
    (NotFound, &["error Couldn't find package"]),
    (NotFound, &["error Couldn't find any versions for"]),
    (NotFound, &["YN0035", "not found"]),
    (NotFound, &["YN0082"]),
    (NotFound, &["error: GET http", " - 404"]),
    (NotFound, &["error: No version matching"]),
    (NotFound, &["was not found in the package registry"]),
    (NotFound, &["there is no version of"]),
    (NotFound, &["HTTP status client error (404"]),
    (NotFound, &["No matching distribution found for"]),
    (NotFound, &["Package ", ") not found."]),
    (NotFound, &["no matching package named"]),
    (NotFound, &["failed to select a version for"]),
    (NotFound, &["unknown revision"]),
    (NotFound, &["reading http", "404 Not Found"]),
    // Dependencies that do not agree.
    (Conflict, &["npm error peer "]),
    (Conflict, &["npm error code ERESOLVE"]),
    (Conflict, &["ERR_PNPM_PEER_DEP_ISSUES"]),
    // Memory.
    (Heap, &["JavaScript heap out of memory"]),
    (Killed, &["npm error signal SIGKILL"]),
    (Killed, &["error Command failed with signal \"SIGKILL\""]),
    (Killed, &["signal: 9, SIGKILL"]),
    (Killed, &["signal: killed"]),
    // Scripts.
    (Script, &["Missing script: "]),
    (Script, &["Script not found \""]),
    (Script, &["error Command \"", "\" not found."]),
    (Script, &["Usage Error: Couldn't find a script named"]),
    // Compilers and headers.
    (Compiler("python3-dev build-essential"), &["fatal error: Python.h: No such file"]),
    (Compiler("libpq-dev"), &["fatal error: libpq-fe.h: No such file"]),
    (Compiler("libpq-dev"), &["pg_config executable not found"]),
    (Compiler("default-libmysqlclient-dev pkg-config"), &["Can not find valid pkg-config name"]),
    (Compiler("python3 build-essential"), &["gyp ERR! stack Error: Could not find any Python installation"]),
    (Compiler("pkg-config"), &["pkg-config", "could not be found"]),
    (Compiler("pkg-config"), &["Could not run `PKG_CONFIG"]),
    (Compiler("pkg-config libssl-dev"), &["Could not find directory of OpenSSL installation"]),
    (Compiler("cmake"), &["is `cmake` not installed?"]),
    (Compiler("protobuf-compiler"), &["Could not find `protoc`"]),
    (C_COMPILER, &["gyp ERR!", "not found: make"]),
    (C_COMPILER, &["linker `cc` not found"]),
    (C_COMPILER, &["failed to find tool", "cc"]),
    (C_COMPILER, &["C compiler \"", "not found"]),
    (C_COMPILER, &["error: command 'gcc' failed: No such file or directory"]),
    (C_COMPILER, &["error: command 'cc' failed: No such file or directory"]),
    (C_COMPILER, &["Unknown compiler(s): [["]),
    (C_COMPILER, &["unable to execute 'gcc'"]),
    (C_COMPILER, &["gcc: not found"]),
    (C_COMPILER, &["g++: not found"]),
    (C_COMPILER, &["make: not found"]),
    (Header, &["fatal error: ", ".h: No such file or directory"]),
    (C_COMPILER, &["gyp ERR! build error"]),
    // Imports.
    (Module, &["error TS2307"]),
    (Module, &["Module not found: "]),
    (Module, &["Rollup failed to resolve import"]),
    (Module, &["Error: Cannot find module '"]),
    (Module, &["Cannot find package '"]),
    (Module, &["ERROR", "Could not resolve \""]),
    (Module, &["ModuleNotFoundError: No module named"]),
    (Module, &["ImportError: cannot import name"]),
    (Module, &["is not in std ("]),
    (Module, &["error: Module not found \""]),
    // The app's own code.
    (Code, &["error TS"]),
    (Code, &["Type error: "]),
    (Code, &["error[E0"]),
    (Code, &["SyntaxError: "]),
    (Code, &["IndentationError: "]),
    (Code, &[".go:", ": undefined: "]),
    (Code, &[".go:", ": syntax error"]),
    (Code, &[".go:", "declared and not used"]),
    (Code, &[".go:", "imported and not used"]),
    (Code, &[".go:", ": cannot use "]),
    (Code, &[".go:", "missing return"]),
    (Code, &[".go:", "expected '"]),
    (Code, &["error: could not compile"]),
    (Code, &["Failed to compile"]),
    (Code, &["Parsing error: "]),
    (Code, &["Error occurred prerendering page"]),
    // Programs.
    (Program, &["sh: ", ": not found"]),
    (Program, &[": command not found"]),
    (Program, &["env: ", "No such file or directory"]),
    // Files.
    (Denied, &["EACCES: permission denied"]),
    (Denied, &["EROFS: read-only file system"]),
    (Denied, &["PermissionError: [Errno 13]"]),
    (Denied, &["Read-only file system"]),
    (File, &["ENOENT: no such file or directory"]),
    (File, &["FileNotFoundError: [Errno 2]"]),
];
