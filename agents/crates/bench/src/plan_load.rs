//! Requests, think time and stages of a plan document. Invariant: the rules are those of
//! packages/core/src/benchmark/load.ts.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fairlead_model::{BenchmarkLoad, BenchmarkRequest, BenchmarkScenario, BenchmarkStage};
use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::plan_document::present;
use crate::plan_rules::{is_path, utf16_length, within};

const REQUESTS_MAX: usize = 50;
const STAGES_MAX: usize = 10;
const HEADERS_MAX: usize = 20;
const WORKERS_MAX: usize = 64;
/// Most UTF-16 code units of a body.
const BODY_MAX: usize = 65_536;
/// Most bytes of all headers and bodies of a plan.
const LOAD_BYTES_MAX: usize = 128 * 1024;
const SAFE_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// Value of a header in a run, which never shows it.
const REDACTED: &str = "[redacted]";
/// Replaces the query of a path in a run, which never shows it.
const REDACTED_QUERY: &str = "?[redacted]";
/// Most characters of a path.
pub(crate) const PATH_MAX: usize = 500;

/// Load beyond one GET of a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LoadSpec {
    pub requests: Vec<RequestSpec>,
    pub think_time_ms: u32,
    pub stages: Vec<StageSpec>,
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    #[serde(default = "get")]
    pub method: String,
    pub path: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub body: String,
    #[serde(default = "one")]
    pub weight: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StageSpec {
    pub duration_ms: u32,
    /// Rate at its end.
    pub requests_per_second: u32,
}

fn get() -> String {
    "GET".to_owned()
}

fn one() -> u32 {
    1
}

impl LoadSpec {
    pub(crate) fn bound_faults(&self, faults: &mut Vec<String>) {
        within(faults, "load.requests: entries", self.requests.len(), 0, REQUESTS_MAX);
        within(faults, "load.thinkTimeMs", self.think_time_ms as usize, 0, 60_000);
        within(faults, "load.stages: entries", self.stages.len(), 0, STAGES_MAX);
        for stage in &self.stages {
            within(faults, "load.stages.durationMs", stage.duration_ms as usize, 500, 300_000);
            within(faults, "load.stages.requestsPerSecond", stage.requests_per_second as usize, 1, 100_000);
        }
        if let Some(workers) = self.workers {
            within(faults, "load.workers", workers as usize, 1, WORKERS_MAX);
        }
        for request in &self.requests {
            request.bound_faults(faults);
        }
    }

    /// Returns the combinations that can't be measured: `loadFaults` of load.ts.
    pub(crate) fn faults(&self, path: &str, scenario: BenchmarkScenario, has_rate: bool) -> Vec<(bool, &'static str)> {
        let has_requests = !self.requests.is_empty();
        let has_think_time = self.think_time_ms > 0;
        let has_stages = !self.stages.is_empty();
        let has_own_requests = matches!(scenario, BenchmarkScenario::Latency | BenchmarkScenario::Wake);
        let bytes: usize = self.requests.iter().map(RequestSpec::bytes).sum();
        let has_body = |request: &RequestSpec| !request.body.is_empty() && request.is_safe();
        let mut paths = self.requests.iter().map(|request| request.path.as_str()).chain([path]);
        let lacks_queries = paths.any(|path| path.ends_with(REDACTED_QUERY));
        vec![
            (has_requests && path != "/", "Requests have their own paths: leave the path at /."),
            (bytes > LOAD_BYTES_MAX, "The headers and bodies of all requests have at most 128 KiB."),
            (self.requests.iter().any(has_body), "GET, HEAD and OPTIONS have no body."),
            (lacks_queries, "A run keeps no queries: enter them again, or start the saved plan."),
            (
                !lacks_queries && self.requests.iter().any(RequestSpec::is_redacted),
                "A run keeps no values of headers and no bodies: enter them again, or start the saved plan.",
            ),
            (
                has_think_time && has_rate,
                "Think time is for a closed loop: requests per second decide when requests are sent.",
            ),
            (
                has_own_requests && (has_requests || has_think_time),
                "This scenario has requests of its own, without think time.",
            ),
            (has_stages && !has_rate, "Stages begin at requests per second: enter them."),
            (has_stages && scenario != BenchmarkScenario::Matrix, "Stages can’t be combined with a scenario."),
        ]
    }

    /// True if the requests, or else the plan's path, name methods of gRPC.
    pub(crate) fn has_grpc_methods(&self, path: Option<&str>) -> bool {
        let own = self.requests.iter().map(|request| request.path.as_str());
        let mut paths = own.chain(path.filter(|_| self.requests.is_empty()));
        paths.all(|path| GRPC_PATH.is_match(path))
    }

    pub(crate) fn is_posted(&self) -> bool {
        self.requests.iter().all(|request| request.method == "POST")
    }

    /// True if each body is a message in base64, or that of a run, which another rule refuses.
    pub(crate) fn has_grpc_messages(&self) -> bool {
        let is_message = |body: &str| REDACTED_BODY.is_match(body) || BASE64_STANDARD.decode(body).is_ok();
        self.requests.iter().all(|request| is_message(&request.body))
    }

    /// Returns the load without queries, values of headers and bodies: documents of runs never show them.
    pub(crate) fn redacted(&self) -> Self {
        let request = |request: &RequestSpec| RequestSpec {
            path: without_query(&request.path),
            headers: request.headers.keys().map(|name| (name.clone(), REDACTED.to_owned())).collect(),
            body: match request.body.len() {
                0 => String::new(),
                bytes => format!("[redacted: {bytes} bytes]"),
            },
            ..request.clone()
        };
        Self { requests: self.requests.iter().map(request).collect(), ..self.clone() }
    }

    /// Returns the load as sentences of numbers and methods: `describeLoad` of load.ts.
    pub(crate) fn sentences(&self, rate: Option<u32>) -> Vec<String> {
        let weight = |requests: &mut dyn Iterator<Item = &RequestSpec>| -> u32 { requests.map(|it| it.weight).sum() };
        let total = weight(&mut self.requests.iter());
        let share = |method: &&'static str| match weight(&mut self.requests.iter().filter(|it| it.method == **method)) {
            0 => None,
            part => Some(format!("{method} {} %", (1000.0 * f64::from(part) / f64::from(total)).round() / 10.0)),
        };
        let shares: Vec<_> = BenchmarkRequest::METHODS.iter().filter_map(share).collect();
        let stage = |stage: &StageSpec| {
            format!("{} after {} s", stage.requests_per_second, f64::from(stage.duration_ms) / 1000.0)
        };
        let stages: Vec<_> = self.stages.iter().map(stage).collect();
        let mut sentences = Vec::new();
        if !shares.is_empty() {
            sentences.push(format!("Methods of the load: {}.", shares.join(", ")));
        }
        if self.think_time_ms > 0 {
            let wait = self.think_time_ms;
            sentences.push(format!(
                "Each client waits {wait} ms between a response and its next request, which is not latency."
            ));
        }
        if let (Some(rate), false) = (rate, stages.is_empty()) {
            let stages = stages.join(", ");
            sentences.push(format!(
                "Each stage is measured by itself. The rate begins at {rate} requests per second and changes evenly: {stages}."
            ));
        }
        if let Some(workers) = self.workers {
            sentences.push(format!("Threads that generate load: {workers}, or one per core if there are fewer cores."));
        }
        sentences
    }

    /// Returns the load as the control plane would send it.
    pub(crate) fn to_load(&self) -> BenchmarkLoad {
        let milliseconds = |count: u32| Duration::from_millis(count.into());
        let request = |request: &RequestSpec| BenchmarkRequest {
            method: request.method.clone(),
            path: request.path.clone(),
            headers: request.headers.clone().into_iter().collect(),
            body: request.body.clone(),
            weight: request.weight,
        };
        let stage = |stage: &StageSpec| BenchmarkStage {
            duration: milliseconds(stage.duration_ms),
            rate: stage.requests_per_second.into(),
        };
        BenchmarkLoad {
            requests: self.requests.iter().map(request).collect(),
            think_time: milliseconds(self.think_time_ms),
            stages: self.stages.iter().map(stage).collect(),
            workers: self.workers.and_then(NonZeroU32::new),
        }
    }
}

impl RequestSpec {
    fn bound_faults(&self, faults: &mut Vec<String>) {
        if !BenchmarkRequest::METHODS.contains(&self.method.as_str()) {
            faults.push(format!("A request has one of the methods {}.", BenchmarkRequest::METHODS.join(", ")));
        }
        if !is_path(&self.path) {
            faults.push("A path starts with / and has no spaces.".to_owned());
        }
        if DOT_SEGMENT.is_match(&self.path) {
            faults.push("A path has no . or .. between slashes.".to_owned());
        }
        within(faults, "load.requests.path: characters", utf16_length(&self.path), 1, PATH_MAX);
        within(faults, "load.requests.body: characters", utf16_length(&self.body), 0, BODY_MAX);
        if self.body.contains('\0') {
            faults.push("A body has no NUL and no unpaired surrogate.".to_owned());
        }
        within(faults, "load.requests.weight", self.weight as usize, 1, 1000);
        faults.extend(self.headers.iter().filter_map(|(name, value)| header_fault(name, value)));
        if self.headers.len() > HEADERS_MAX {
            faults.push("A request has at most 20 headers.".to_owned());
        }
        let mut names: Vec<_> = self.headers.keys().map(|name| name.to_lowercase()).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair.first() == pair.last()) {
            faults.push("Name each header once.".to_owned());
        }
    }

    fn is_safe(&self) -> bool {
        SAFE_METHODS.contains(&self.method.as_str())
    }

    fn is_redacted(&self) -> bool {
        self.headers.values().any(|value| value == REDACTED) || REDACTED_BODY.is_match(&self.body)
    }

    /// Size of body and headers, these as JSON.
    fn bytes(&self) -> usize {
        // Each header has four quotes, a colon and a comma; the braces take the place of the last comma.
        let escaped = |text: &String| text.len() + text.matches(['"', '\\']).count();
        let headers: usize = self.headers.iter().map(|(name, value)| escaped(name) + escaped(value) + 6).sum();
        self.body.len() + headers.max(1) + 1
    }
}

/// Returns the path with its query and fragment redacted, as runs and messages show it. It has at most `PATH_MAX` characters.
pub(crate) fn without_query(path: &str) -> String {
    match path.split_once(['?', '#']) {
        None => path.to_owned(),
        Some((start, _)) => {
            let start = start.chars().take(PATH_MAX - REDACTED_QUERY.len());
            start.chain(REDACTED_QUERY.chars()).collect()
        }
    }
}

/// Returns why a plan can't hold a header.
fn header_fault(name: &str, value: &str) -> Option<String> {
    let is_reserved = |reserved: &&str| name.eq_ignore_ascii_case(reserved);
    if !HEADER_NAME.is_match(name) {
        let start: String = name.chars().take(100).collect();
        Some(format!("“{start}” is not a header name."))
    } else if value.len() > 2000 || !value.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
        Some(format!("The value of {name} has at most 2000 printable ASCII characters."))
    } else if BenchmarkRequest::RESERVED_HEADERS.iter().any(is_reserved) {
        Some(format!("The load generator sets {name} itself."))
    } else if CREDENTIALS.is_match(name) {
        Some(format!("A plan is stored and shared, so it can't hold credentials such as {name}."))
    } else {
        None
    }
}

static HEADER_NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$"));
static CREDENTIALS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        "(?i-u)auth|cookie|token|secret|passw|session|credential|api[-_]?key|access[-_]?key|private[-_]?key|jwt|csrf|",
        "signature|pwd"
    ))
});
static GRPC_PATH: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:/[^/?#]+){2,}$"));
static DOT_SEGMENT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i-u)/(?:\.|%2e){1,2}(?:[/?#]|$)"));
static REDACTED_BODY: LazyLock<Regex> = LazyLock::new(|| regex(r"^\[redacted: [0-9]{1,6} bytes\]$"));

#[expect(clippy::expect_used, reason = "patterns are constants")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(sizes: &[usize]) -> LoadSpec {
        let request = |size: &usize| RequestSpec {
            method: "PUT".to_owned(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            body: "x".repeat(*size),
            weight: 1,
        };
        LoadSpec { requests: sizes.iter().map(request).collect(), ..LoadSpec::default() }
    }

    #[test]
    fn a_body_is_measured_as_javascript_does() {
        let faults = |body: String| {
            let mut faults = Vec::new();
            let request = RequestSpec { body, ..load(&[0]).requests.remove(0) };
            LoadSpec { requests: vec![request], ..LoadSpec::default() }.bound_faults(&mut faults);
            faults.len()
        };
        assert_eq!(faults("x".repeat(BODY_MAX)), 0);
        assert_eq!(faults("x".repeat(BODY_MAX + 1)), 1);
        assert_eq!(faults("😀".repeat(BODY_MAX / 2)), 0);
        assert_eq!(faults("😀".repeat(BODY_MAX / 2 + 1)), 1);
    }

    fn faults(request: RequestSpec) -> Vec<String> {
        let mut faults = Vec::new();
        LoadSpec { requests: vec![request], ..LoadSpec::default() }.bound_faults(&mut faults);
        faults
    }

    #[test]
    fn a_body_has_no_nul() {
        let request = |body: &str| RequestSpec { body: body.to_owned(), ..load(&[0]).requests.remove(0) };
        assert!(faults(request("\u{1}\r\n😀")).is_empty());
        assert_eq!(faults(request("a\0b")), ["A body has no NUL and no unpaired surrogate."]);
    }

    #[test]
    fn a_path_has_no_dot_segment() {
        let request = |path: &str| RequestSpec { path: path.to_owned(), ..load(&[0]).requests.remove(0) };
        for path in ["/shop/..#/x", "/shop/..", "/.?a", "/%2E./a", "/a/%2e#"] {
            assert_eq!(faults(request(path)), ["A path has no . or .. between slashes."], "{path}");
        }
        for path in ["/shop/...", "/.well-known/a", "/a..#/x", "/#/.a"] {
            assert!(faults(request(path)).is_empty(), "{path}");
        }
    }

    #[test]
    fn a_header_has_no_credentials_and_no_control_characters() {
        for name in [
            "Authorization",
            "x-api_key",
            "X-ApiKey",
            "access-key-id",
            "accesskey",
            "X-Private_Key",
            "X-JWT",
            "X-CSRF",
            "x-amz-signature",
            "x-pwd",
        ] {
            assert!(header_fault(name, "a").unwrap().contains("credentials such as"), "{name}");
        }
        for name in ["accept", "x-key", "x-access", "x-private"] {
            assert_eq!(header_fault(name, "a"), None, "{name}");
        }
        for value in ["a\0", "a\r\nb: c", "\u{7f}"] {
            assert!(header_fault("x-a", value).unwrap().contains("printable ASCII"), "{value:?}");
        }
    }

    #[test]
    fn all_requests_together_have_a_size() {
        let is_too_large = |load: &LoadSpec| {
            let faults = load.faults("/", BenchmarkScenario::Matrix, false);
            faults.iter().any(|(is_fault, message)| *is_fault && message.contains("128 KiB"))
        };
        // Headers count as JSON: `{"x-a":"\"\\"}` and `{}`.
        let mut load = load(&[60_000, 71_056]);
        load.requests[0].headers.insert("x-a".to_owned(), "\"\\".to_owned());
        assert!(!is_too_large(&load));
        load.requests[1].body.push('x');
        assert!(is_too_large(&load));
    }

    #[test]
    fn a_path_is_shown_without_its_query() {
        assert_eq!(without_query("/search?q=canary&page=2"), "/search?[redacted]");
        assert_eq!(without_query("/search?[redacted]"), "/search?[redacted]");
        assert_eq!(without_query("/plain"), "/plain");
        for path in ["/a#canary", "/a#canary?b", "/a?b#canary", "/a#"] {
            assert_eq!(without_query(path), "/a?[redacted]", "{path}");
        }
        let long = format!("/{}?b", "a".repeat(497));
        assert_eq!(without_query(&long), format!("/{}?[redacted]", "a".repeat(488)));
    }

    #[test]
    fn a_run_shows_the_shape_of_its_load_only() {
        let mut load = load(&[12, 0]);
        load.requests[0].headers.insert("x-a".to_owned(), "b".to_owned());
        load.requests[1] = RequestSpec { method: "GET".to_owned(), weight: 2, ..load.requests[1].clone() };
        load.requests[0].path = "/a?b=c".to_owned();
        load.stages = vec![StageSpec { duration_ms: 1500, requests_per_second: 20 }];
        load.workers = Some(3);
        let redacted = load.redacted();
        assert_eq!(redacted.requests[0].path, "/a?[redacted]");
        assert_eq!(redacted.requests[0].headers["x-a"], "[redacted]");
        assert_eq!(redacted.requests[0].body, "[redacted: 12 bytes]");
        assert_eq!(redacted.requests[1].body, "");
        assert!(redacted.requests[0].is_redacted());
        assert_eq!(
            load.sentences(Some(10)),
            [
                "Methods of the load: GET 66.7 %, PUT 33.3 %.",
                "Each stage is measured by itself. The rate begins at 10 requests per second and changes evenly: 20 after 1.5 s.",
                "Threads that generate load: 3, or one per core if there are fewer cores.",
            ]
        );
    }
}
