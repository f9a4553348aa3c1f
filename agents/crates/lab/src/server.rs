//! App servers that answer in the lab instead of its own app: their programs, apps and arguments.

use fairlead_model::LabServer;

use crate::program::LabProgram;

/// App server with an app that answers as the lab's own does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabAppServer {
    server: LabServer,
    pub(crate) program: LabProgram,
}

pub(crate) const SERVERS: &[LabAppServer] = &[
    LabAppServer {
        server: LabServer::NodeCluster,
        program: LabProgram {
            name: "node",
            version: &["--version"],
            files: &[("app.mjs", include_str!("../servers/node.mjs"))],
            arguments: &["@CONFIG@"],
            environment: &[("NODE_ENV", "production")],
        },
    },
    LabAppServer {
        server: LabServer::Uvicorn,
        program: LabProgram {
            name: "uvicorn",
            version: &["--version"],
            files: &[("lab_app.py", include_str!("../servers/asgi.py"))],
            arguments: &[
                "lab_app:app",
                "--app-dir",
                "@FOLDER@",
                "--host",
                "127.0.0.1",
                "--port",
                "@APP_PORT@",
                "--workers",
                "@WORKERS@",
                "--backlog",
                "4096",
                "--timeout-keep-alive",
                "75",
                "--log-level",
                "warning",
                "--no-access-log",
            ],
            environment: &[],
        },
    },
    LabAppServer {
        server: LabServer::Puma,
        program: LabProgram {
            name: "puma",
            version: &["--version"],
            files: &[("puma.rb", include_str!("../servers/puma.rb"))],
            arguments: &["-C", "@CONFIG@"],
            environment: &[("RACK_ENV", "production")],
        },
    },
];

/// Returns the program of a server; `None` for the lab's own app.
pub(crate) fn app_server(server: LabServer) -> Option<&'static LabProgram> {
    SERVERS.iter().find(|known| known.server == server).map(|known| &known.program)
}
