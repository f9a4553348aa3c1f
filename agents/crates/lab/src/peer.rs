//! Proxies that the lab compares.

use fairlead_model::BenchmarkTarget;

use crate::program::{LabProgram, Replacements, replaced};

/// Proxy with a configuration that is equivalent to the others'.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) target: BenchmarkTarget,
    pub(crate) program: LabProgram,
    /// Arguments of a command that gives the running proxy its routes; empty: its files name them.
    pub(crate) route_arguments: &'static [&'static str],
    /// Changes of its configuration files so that it forwards gRPC, as (text, replacement).
    pub(crate) grpc: Replacements,
}

const NGINX_WEBSOCKET: &str = "
        # nginx forwards an upgrade only where it is told to.
        location = /probe/websocket {
            proxy_pass http://app;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
            proxy_set_header Host $host;
        }
";

/// nginx has directives of its own for gRPC.
const NGINX_GRPC: Replacements = &[
    (
        "proxy_pass http://app;\n            proxy_http_version 1.1;\n            proxy_set_header Connection \"\";",
        "grpc_pass grpc://app;",
    ),
    (NGINX_WEBSOCKET, ""),
    ("proxy_set_header", "grpc_set_header"),
];

const HAPROXY_GRPC: Replacements = &[("server app @APP@", "server app @APP@ proto h2")];

const ENVOY_GRPC: Replacements = &[(
    "      connect_timeout: 5s\n",
    concat!(
        "      connect_timeout: 5s\n",
        "      typed_extension_protocol_options:\n",
        "        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:\n",
        "          \"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions\n",
        "          explicit_http_config: { http2_protocol_options: {} }\n",
    ),
)];

const CADDY_GRPC: Replacements = &[("versions 1.1", "versions h2c")];
const TRAEFIK_GRPC: Replacements = &[("url: http://@APP@", "url: h2c://@APP@")];
const GODOXY_GRPC: Replacements = &[("scheme: http\n", "scheme: h2c\n")];
const FAIRLEAD_GRPC: Replacements =
    &[("queue_timeout_ms = 60000", "queue_timeout_ms = 60000, upstream_protocol = \"http2\"")];

const GO: &[(&str, &str)] = &[("GOMAXPROCS", "@WORKERS@")];

/// Keeps its state and its control socket in the folder of the run.
const KAMAL: &[(&str, &str)] = &[
    ("GOMAXPROCS", "@WORKERS@"),
    ("HOME", "@FOLDER@"),
    ("XDG_CONFIG_HOME", "@FOLDER@/run"),
    ("XDG_RUNTIME_DIR", "@FOLDER@/run"),
    ("KAMAL_PROXY_SOCKET", "@FOLDER@/run/kamal-proxy.sock"),
];

/// Environment of GoDoxy, which takes no arguments. Without TCP routes, it needs no SNI routing.
const GODOXY: &[(&str, &str)] = &[
    ("GOMAXPROCS", "@WORKERS@"),
    ("GODOXY_HTTP_ADDR", "127.0.0.1:@HTTP_PORT@"),
    ("GODOXY_HTTPS_ADDR", "127.0.0.1:@HTTPS_PORT@"),
    ("GODOXY_HTTP3_ENABLED", "true"),
    ("GODOXY_SNI_ROUTING_FOR_TCP_ROUTES", "false"),
    ("GODOXY_API_ADDR", "127.0.0.1:@METRICS_PORT@"),
    ("GODOXY_API_USER", "lab"),
    ("GODOXY_API_PASSWORD", "@SECRET@"),
    ("GODOXY_METRICS_DISABLE_CPU", "true"),
    ("GODOXY_METRICS_DISABLE_MEMORY", "true"),
    ("GODOXY_METRICS_DISABLE_DISK", "true"),
    ("GODOXY_METRICS_DISABLE_NETWORK", "true"),
    ("GODOXY_METRICS_DISABLE_SENSORS", "true"),
    // At each start, GoDoxy fetches icons for its dashboard. Nothing listens on this port, so the fetch fails at once.
    ("HTTPS_PROXY", "http://127.0.0.1:9"),
];

const PEERS: &[Peer] = &[
    Peer {
        target: BenchmarkTarget::Nginx,
        program: LabProgram {
            name: "nginx",
            version: &["-v"],
            files: &[("nginx.conf", include_str!("../peers/nginx.conf"))],
            arguments: &["-c", "@CONFIG@", "-p", "@FOLDER@"],
            environment: &[],
        },
        route_arguments: &[],
        grpc: NGINX_GRPC,
    },
    Peer {
        target: BenchmarkTarget::Haproxy,
        program: LabProgram {
            name: "haproxy",
            version: &["-v"],
            files: &[("haproxy.cfg", include_str!("../peers/haproxy.cfg"))],
            arguments: &["-db", "-f", "@CONFIG@"],
            environment: &[],
        },
        route_arguments: &[],
        grpc: HAPROXY_GRPC,
    },
    Peer {
        target: BenchmarkTarget::Envoy,
        program: LabProgram {
            name: "envoy",
            version: &["--version"],
            files: &[("envoy.yaml", include_str!("../peers/envoy.yaml"))],
            arguments: &["-c", "@CONFIG@", "--concurrency", "@WORKERS@", "--disable-hot-restart", "-l", "error"],
            environment: &[],
        },
        route_arguments: &[],
        grpc: ENVOY_GRPC,
    },
    Peer {
        target: BenchmarkTarget::Caddy,
        program: LabProgram {
            name: "caddy",
            version: &["version"],
            files: &[("Caddyfile", include_str!("../peers/Caddyfile"))],
            arguments: &["run", "--adapter", "caddyfile", "--config", "@CONFIG@"],
            environment: GO,
        },
        route_arguments: &[],
        grpc: CADDY_GRPC,
    },
    Peer {
        target: BenchmarkTarget::Traefik,
        program: LabProgram {
            name: "traefik",
            version: &["version"],
            files: &[
                ("traefik.yaml", include_str!("../peers/traefik.yaml")),
                ("traefik-routes.yaml", include_str!("../peers/traefik-routes.yaml")),
            ],
            arguments: &["--configFile=@CONFIG@"],
            environment: GO,
        },
        route_arguments: &[],
        grpc: TRAEFIK_GRPC,
    },
    Peer {
        target: BenchmarkTarget::H2o,
        program: LabProgram {
            name: "h2o",
            version: &["-v"],
            files: &[("h2o.yaml", include_str!("../peers/h2o.yaml"))],
            arguments: &["-m", "worker", "-c", "@CONFIG@"],
            environment: &[],
        },
        route_arguments: &[],
        grpc: &[],
    },
    Peer {
        target: BenchmarkTarget::KamalProxy,
        program: LabProgram {
            name: "kamal-proxy",
            version: &[],
            files: &[],
            arguments: &["run", "--http-port", "@HTTP_PORT@", "--https-port", "@HTTPS_PORT@", "--http3"],
            environment: KAMAL,
        },
        route_arguments: &[
            "deploy",
            "bench",
            "--target",
            "@APP@",
            "--host",
            "@HOST@",
            "--tls",
            "--tls-certificate-path",
            "@CERTIFICATE@/leaf.pem",
            "--tls-private-key-path",
            "@CERTIFICATE@/leaf-key.pem",
            "--tls-redirect=false",
            "--health-check-path",
            "/",
        ],
        grpc: &[],
    },
    Peer {
        target: BenchmarkTarget::Spooky,
        program: LabProgram {
            name: "spooky",
            version: &["--version"],
            files: &[("spooky.yaml", include_str!("../peers/spooky.yaml"))],
            arguments: &["--config", "@CONFIG@"],
            environment: &[],
        },
        route_arguments: &[],
        grpc: &[],
    },
    Peer {
        target: BenchmarkTarget::Godoxy,
        program: LabProgram {
            name: "godoxy",
            version: &[],
            // GoDoxy reads `config` below its working directory.
            files: &[
                ("config/config.yml", include_str!("../peers/godoxy.yaml")),
                ("config/routes.yml", include_str!("../peers/godoxy-routes.yaml")),
            ],
            arguments: &[],
            environment: GODOXY,
        },
        route_arguments: &[],
        grpc: GODOXY_GRPC,
    },
];

/// Fairlead's own proxy, standalone and with its policies on.
pub(crate) const FAIRLEAD: Peer = Peer {
    target: BenchmarkTarget::Proxy,
    program: LabProgram {
        name: "fairlead-agent",
        version: &["version"],
        files: &[("fairlead.toml", include_str!("../peers/fairlead.toml"))],
        arguments: &["proxy", "--config", "@CONFIG@"],
        environment: &[("RUST_LOG", "warn")],
    },
    route_arguments: &[],
    grpc: FAIRLEAD_GRPC,
};

/// Returns the peer behind a target; `None` for the lab's own ones.
pub(crate) fn peer(target: BenchmarkTarget) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.target == target)
}

impl Peer {
    /// Returns the changes of its configuration files: none without gRPC.
    pub(crate) fn replacements(&self, is_grpc: bool) -> Replacements {
        if is_grpc { self.grpc } else { &[] }
    }

    /// Returns its configuration files, or the commands that stand for them.
    pub(crate) fn configuration(&self, is_grpc: bool) -> String {
        let LabProgram { name, arguments, .. } = self.program;
        match self.route_arguments {
            [] => replaced(&self.program.configuration(), self.replacements(is_grpc)),
            route => format!("{name} {}\n{name} {}\n", arguments.join(" "), route.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use fairlead_model::{BenchmarkProtocol, LabApp};

    use super::*;
    use crate::program::Values;
    use crate::server::SERVERS;

    #[test]
    fn files_have_what_is_replaced_for_grpc() {
        for peer in PEERS.iter().chain([&FAIRLEAD]) {
            assert_eq!(peer.grpc.is_empty(), !peer.target.speaks(BenchmarkProtocol::Grpc), "{:?}", peer.target);
            let plain = peer.configuration(false);
            assert!(peer.grpc.iter().all(|(text, _)| plain.contains(text)), "{:?}", peer.target);
        }
        let nginx = peer(BenchmarkTarget::Nginx).unwrap().configuration(true);
        assert!(nginx.contains("grpc_pass grpc://app;") && !nginx.contains("proxy_set"), "{nginx}");
        let godoxy = peer(BenchmarkTarget::Godoxy).unwrap().configuration(true);
        assert!(godoxy.contains("  scheme: h2c\n") && !godoxy.contains("scheme: http\n"), "{godoxy}");
    }

    #[test]
    fn godoxy_reads_its_files_in_a_folder_and_its_addresses_from_its_environment() {
        let program = peer(BenchmarkTarget::Godoxy).unwrap().program;
        let LabProgram { files, environment, .. } = program;
        assert_eq!(program.folders().into_iter().collect::<Vec<_>>(), [Path::new("config")]);
        let config = Path::new("/folder/config/config.yml");
        let filled: Vec<_> = files.iter().map(|(name, text)| (*name, values().fill(text, config))).collect();
        let [("config/config.yml", main), ("config/routes.yml", routes)] = &filled[..] else { panic!("{filled:?}") };
        assert!(main.contains("cert_path: \"/certificate/leaf.pem\"") && main.contains("- routes.yml"), "{main}");
        let route = "\"bench.localhost\":\n  scheme: http\n  host: \"127.0.0.1\"\n  port: \"3000\"\n";
        assert!(routes.contains(route), "{routes}");
        let value =
            |name| environment.iter().find(|(each, _)| *each == name).map(|(_, value)| values().fill(value, config));
        for (name, expected) in [
            ("GODOXY_HTTPS_ADDR", "127.0.0.1:1"),
            ("GODOXY_HTTP_ADDR", "127.0.0.1:2"),
            ("GODOXY_API_ADDR", "127.0.0.1:3"),
            ("GODOXY_API_PASSWORD", "secret"),
            ("GODOXY_HTTP3_ENABLED", "true"),
            ("GOMAXPROCS", "2"),
        ] {
            assert_eq!(value(name).as_deref(), Some(expected), "{name}");
        }
    }

    fn values() -> Values {
        Values {
            folder: "/folder".into(),
            certificate: "/certificate".into(),
            host: "bench.localhost".into(),
            app: ([127, 0, 0, 1], 3000).into(),
            https_port: 1,
            http_port: 2,
            metrics_port: 3,
            workers: 2,
            secret: "secret".into(),
            response: LabApp {
                response_bytes: 13,
                response_delay: Duration::from_millis(20),
                error_every: 0,
                serves_probes: false,
                speaks_grpc: false,
            },
            replacements: &[],
        }
    }

    #[test]
    fn templates_use_only_names_that_have_a_value() {
        let values = values();
        let peers = PEERS.iter().chain([&FAIRLEAD]).map(|peer| (peer.program, peer.route_arguments));
        for (program, route) in peers.chain(SERVERS.iter().map(|server| (server.program, &[][..]))) {
            let texts = program.files.iter().map(|(_, text)| text).chain(program.arguments).chain(route);
            for text in texts.chain(program.environment.iter().map(|(_, value)| value)) {
                let filled = values.fill(text, Path::new("/folder/config"));
                let left = filled.split_once('@').map(|(_, rest)| rest);
                // `@type` is Envoy's.
                assert!(left.is_none_or(|rest| rest.starts_with("type\"")), "{}: {filled}", program.name);
            }
        }
    }
}
