//! Addresses that toolchains are fetched from. Each can be a mirror in the layout that its publisher has.

/// Addresses of the sources, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirrors {
    /// Registry of npm, for Node, Bun, Deno and package managers.
    pub npm: String,
    /// Python package index that answers in JSON (PEP 691), for uv and the list of Python builds.
    pub pypi: String,
    /// Module proxy of Go.
    pub go: String,
    /// URL of Go's checksum database.
    pub go_sums: String,
    /// Release downloads of python-build-standalone, tried in turn.
    pub python: Vec<String>,
    /// URL of Rust's distribution server.
    pub rust: String,
}

impl Mirrors {
    /// Takes the addresses that package managers are told by variables, else those of the publishers. An address that the agent
    /// can't use, such as one with a password, is left to the package managers.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&str]| {
            let values = names.iter().filter_map(|name| variable(name));
            values.map(|value| value.trim_end_matches('/').to_owned()).find(|value| is_usable(value))
        };
        // A list of proxies, separated by commas or bars.
        let proxy = variable("GOPROXY").and_then(|list| {
            let mut proxies = list.split([',', '|']).map(|one| one.trim().trim_end_matches('/'));
            proxies.find(|one| is_usable(one)).map(str::to_owned)
        });
        // A name, and the address where that is another.
        let sums = variable("GOSUMDB").and_then(|text| Some(text.split_whitespace().nth(1)?.to_owned()));
        let go = proxy.unwrap_or_else(|| "https://proxy.golang.org".to_owned());
        let or = |found: Option<String>, usual: &str| found.unwrap_or_else(|| usual.to_owned());
        Self {
            npm: or(first(&["npm_config_registry", "NPM_CONFIG_REGISTRY"]), "https://registry.npmjs.org"),
            pypi: or(first(&["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"]), "https://pypi.org/simple"),
            go_sums: sums.filter(|url| is_usable(url)).unwrap_or_else(|| sums_of(&go)),
            go,
            python: first(&["UV_PYTHON_INSTALL_MIRROR"]).map_or_else(
                || {
                    vec![
                        "https://releases.astral.sh/github/python-build-standalone/releases/download".to_owned(),
                        "https://github.com/astral-sh/python-build-standalone/releases/download".to_owned(),
                    ]
                },
                |mirror| vec![mirror],
            ),
            rust: or(first(&["RUSTUP_DIST_SERVER"]), "https://static.rust-lang.org"),
        }
    }

    /// Replaces Go's proxy and, unless another is named, its checksum database.
    pub fn with_go(mut self, proxy: &str) -> Self {
        proxy.trim_end_matches('/').clone_into(&mut self.go);
        self.go_sums = sums_of(&self.go);
        self
    }
}

impl Default for Mirrors {
    fn default() -> Self {
        Self::from_variables(|_| None)
    }
}

/// Reports whether the agent can fetch from an address: HTTPS, or HTTP on this machine, and no password.
pub fn is_usable(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let local = ["127.0.0.1", "localhost", "[::1]"]
        .iter()
        .any(|host| authority.strip_prefix(host).is_some_and(|port| port.is_empty() || port.starts_with(':')));
    !authority.is_empty() && !authority.contains('@') && (scheme == "https" || (scheme == "http" && local))
}

/// A proxy of Go passes the database on (golang.org/design/25530-sumdb).
fn sums_of(proxy: &str) -> String {
    format!("{proxy}/sumdb/sum.golang.org")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_are_those_of_the_package_managers_unless_the_agent_cant_use_them() {
        let variables = [
            ("NPM_CONFIG_REGISTRY", "https://npm.example.com/"),
            ("UV_INDEX_URL", "https://user:word@pypi.example.com/simple"),
            ("PIP_INDEX_URL", "https://pypi.example.com/simple/"),
            ("GOPROXY", "http://go.example.com,https://go.example.com|direct"),
            ("UV_PYTHON_INSTALL_MIRROR", "http://127.0.0.1:81/python"),
        ];
        let found = Mirrors::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        assert_eq!(found.npm, "https://npm.example.com");
        assert_eq!(found.pypi, "https://pypi.example.com/simple");
        assert_eq!(found.go, "https://go.example.com");
        assert_eq!(found.go_sums, "https://go.example.com/sumdb/sum.golang.org");
        assert_eq!(found.python, ["http://127.0.0.1:81/python"]);
        assert_eq!(found.rust, "https://static.rust-lang.org");
        for bad in ["", "pypi.org", "http://pypi.org", "https://", "http://localhost.example.com/", "ftp://a/"] {
            assert!(!is_usable(bad), "{bad}");
        }
    }
}
