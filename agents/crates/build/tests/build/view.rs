//! Root file system that a build's commands see: the app at `/app`, and nothing of the data folder's surroundings above it.

use std::path::Path;
use std::process::Command;

use super::*;

/// Looks around as tools that search upward do.
const LOOK: &str = r#"
const fs = require('fs'), path = require('path');
const found = [];
for (let folder = process.cwd(); ; folder = path.dirname(folder)) {
    for (const name of ['package.json', 'tsconfig.json', '.yarnrc', 'node_modules']) {
        if (fs.existsSync(path.join(folder, name))) found.push(path.join(folder, name));
    }
    if (folder === path.dirname(folder)) break;
}
let decoy = 'absent';
try { require.resolve('x'); decoy = 'present'; } catch {}
console.log('cwd=' + process.cwd(), 'decoy=' + decoy, 'found=' + found);
console.log('path=' + process.env.PATH);
console.log('tmp=' + require('os').tmpdir());
fs.writeFileSync('made', 'x');
"#;

/// Fairlead's own clone, as it lies above the default data folder.
fn decoy() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    for (name, text) in [
        ("package.json", r#"{"name":"decoy","packageManager":"npm@11.0.0"}"#),
        ("tsconfig.json", "{}"),
        (".yarnrc", "--install.production true\n"),
        ("node_modules/@types/x/index.d.ts", "export const x: number;"),
        ("node_modules/x/index.js", "module.exports = 'decoy';"),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[tokio::test]
async fn a_build_sees_nothing_above_its_source_but_the_system() {
    let (host, decoy) = (GitHost::start(), decoy());
    let server = Server::below(decoy.path());
    if server.options.user.is_none() {
        return;
    }
    // Control: without a view, node finds the module of the folder above.
    let control = Command::new("node").args(["-e", LOOK]).current_dir(&server.options.builds).output().unwrap();
    let control = String::from_utf8(control.stdout).unwrap();
    assert!(control.contains("decoy=present") && control.contains("/tsconfig.json"), "{control}");
    std::fs::remove_file(server.options.builds.join("made")).unwrap();

    let manifest = "[build]\nbuild_command = 'node look.js'\n[run]\nstart_command = 'node look.js'\n";
    let files = [("web/package.json", "{}"), ("web/fairlead.toml", manifest), ("web/look.js", LOOK)];
    host.repository("a.git", &files);
    let mut ears = Ears::default();
    let spec = BuildSpec { root_folder: "web".into(), ..spec(host.url("a.git"), "main") };
    let built = server.build(&spec, &mut ears).await;
    let built = built.unwrap_or_else(|error| panic!("{error}\n{}", ears.lines.join("\n")));
    let line = |start: &str| ears.lines.iter().find(|line| line.starts_with(start)).cloned().unwrap_or_default();
    assert_eq!(line("cwd="), "cwd=/app/web decoy=absent found=/app/web/package.json");
    let path = "path=/app/web/.fairlead/bin:/app/web/.venv/bin:/app/web/node_modules/.bin:";
    assert!(line("path=").starts_with(path), "{}", line("path="));
    assert_eq!(line("tmp="), "tmp=/tmp");

    let release = server.folder.path().join("release");
    let artifact = artifact_path(&server.options.artifacts, &built.artifact.digest).unwrap();
    unpack(&artifact, &built.artifact.digest, &release).unwrap();
    assert!(release.join("made").exists(), "what it makes at /app is packed");
    assert!(!Path::new("/app/web").exists());
}

#[tokio::test]
async fn a_build_that_moves_its_folder_away_can_not_lead_the_next_command_out_of_its_rights() {
    let (host, server) = (GitHost::start(), Server::new());
    if server.options.user.is_none() {
        return;
    }
    let closed = server.folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
    let manifest = format!(
        "[build]\ninstall_command = 'sh swap.sh {}'\nbuild_command = 'pwd'\n[run]\nstart_command = 'true'\n",
        closed.display()
    );
    let swap = "mv ../web ../other\nln -s \"$1\" ../web\n";
    host.repository("a.git", &[("web/fairlead.toml", &manifest), ("web/swap.sh", swap), ("web/index.html", "")]);
    let spec = BuildSpec { root_folder: "web".into(), ..spec(host.url("a.git"), "main") };
    let mut ears = Ears::default();
    server.build(&spec, &mut ears).await.unwrap_err();
    // `pwd` would say so.
    assert!(!ears.lines.iter().any(|line| line.starts_with('/')), "{:#?}", ears.lines);
    assert!(ears.lines.iter().any(|line| line == "$ pwd"), "{:#?}", ears.lines);
}
