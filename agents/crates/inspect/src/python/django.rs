//! Django (docs.djangoproject.com): migrations, static files and the server of its WSGI or ASGI application.

use super::project::PythonProject;
use super::server::PythonServer;
use crate::files::quoted_after;
use crate::{AppSource, Files, PlanCommand, command_line};

pub(super) fn server(app_source: AppSource<'_>, project: &PythonProject) -> PythonServer {
    let files = app_source.app;
    let manage = files.search("manage.py");
    let module = quoted_argument(&manage, "DJANGO_SETTINGS_MODULE");
    let settings = module.as_deref().map(|module| settings_text(files, module)).unwrap_or_default();
    let asgi = quoted_after(&settings, "ASGI_APPLICATION")
        .filter(|_| project.depends_on("channels") || project.depends_on("daphne"));
    let wsgi = quoted_after(&settings, "WSGI_APPLICATION");
    let target = |path: &str| path.rsplit_once('.').map(|(module, object)| format!("{module}:{object}"));
    let mut adds = Vec::new();
    let serve = match (asgi.as_deref().and_then(target), wsgi.as_deref().and_then(target)) {
        (Some(asgi), _) if project.depends_on("daphne") => format!("daphne -b 0.0.0.0 -p \"$PORT\" {asgi}"),
        (Some(asgi), _) => {
            adds.extend((!project.depends_on("uvicorn")).then_some("uvicorn"));
            format!("uvicorn {asgi} --host 0.0.0.0 --port \"$PORT\" --proxy-headers")
        }
        (None, wsgi) => {
            adds.extend((!project.depends_on("gunicorn")).then_some("gunicorn"));
            let found =
                wsgi.or_else(|| nearest(files, "wsgi.py")).unwrap_or_else(|| "config.wsgi:application".to_owned());
            format!("gunicorn {found}")
        }
    };
    let mut server = PythonServer {
        framework: "Django",
        found: "a Django app (manage.py)".to_owned(),
        adds,
        ..PythonServer::default()
    };
    if settings.contains("STATIC_ROOT") {
        let collect = PlanCommand::new(&["python", "manage.py", "collectstatic", "--noinput"]);
        server.build.push(PlanCommand { in_app: true, may_fail: true, ..collect });
    }
    let line = format!("python manage.py migrate --noinput && {serve}");
    server.start = command_line::command(&line).unwrap_or_default();
    server.remarks.push("It migrates its database at each start. A start command in the settings, in fairlead.toml or in a Procfile replaces that.".to_owned());
    if settings.contains("django.db.backends.sqlite3") {
        server.remarks.push("Its settings name a SQLite database, and a file beside the code is lost at the next start. Add a volume and keep the database there, or use a database server.".to_owned());
    }
    server
}

/// Second argument of `os.environ.setdefault("NAME", "value")`.
fn quoted_argument(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(name)?;
    let rest = rest.trim_start_matches(['"', '\'']).trim_start().strip_prefix(',')?.trim_start();
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    rest[1..].split(quote).next().map(str::to_owned)
}

/// Files of a package of settings that are looked at.
const SETTINGS_MAX: usize = 20;

/// Text of the settings, with the files beside them when they are a package.
fn settings_text(files: &Files, module: &str) -> String {
    let path = module.replace('.', "/");
    let file = format!("{path}.py");
    if files.has(&file) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        return [files.search(&file), files.search(&format!("{folder}/base.py"))].concat();
    }
    files
        .names(&path)
        .iter()
        .filter(|name| name.ends_with(".py"))
        .take(SETTINGS_MAX)
        .map(|name| files.search(&format!("{path}/{name}")))
        .collect()
}

/// Application of the nearest file of a name, as `package.wsgi:application`.
fn nearest(files: &Files, name: &str) -> Option<String> {
    let file = files.ending(name, 2).into_iter().find(|path| path.ends_with(&format!("/{name}")))?;
    Some(format!("{}:application", file.trim_end_matches(".py").replace('/', ".")))
}
