//! Root file system of a confined program: the server's own top-level folders, `/app` and `/runtimes`. It is prepared before a
//! fork; entering it only makes system calls.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Component, Path};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The app: the source of a build, the release of an instance.
pub const APP: &str = "/app";
/// Runtimes and tools that the agent fetched, one folder each.
pub const RUNTIMES: &str = "/runtimes";

/// Folders of programs in an app's folder, the first of `PATH`.
pub const PROGRAMS: [&str; 3] = [".fairlead/bin", ".venv/bin", "node_modules/.bin"];

/// Targets of links that lead to the same files in each app's view, on each server with the same system.
const SHARED: [&str; 2] = ["usr", "runtimes"];

/// True if an absolute link leads to the system's programs, to a runtime, or into the app itself.
pub fn leads_inside(target: &Path) -> bool {
    let mut parts = target.components();
    let first = match (parts.next(), parts.next()) {
        (Some(Component::RootDir), Some(Component::Normal(first))) => first,
        _ => return false,
    };
    let is_known = SHARED.iter().any(|name| first == *name) || Path::new("/").join(first) == Path::new(APP);
    let rest: Vec<Component<'_>> = parts.collect();
    is_known && !rest.is_empty() && rest.iter().all(|part| matches!(part, Component::Normal(_)))
}

/// Root file system that is ready to be entered.
#[derive(Debug)]
pub struct RootView {
    /// Folder in which it is put together.
    staging: CString,
    /// Top-level folders of the server: their path there, and in the staging folder.
    folders: Vec<(CString, CString)>,
    /// Top-level links of the server: their target, and their path in the staging folder.
    links: Vec<(CString, CString)>,
    app: (CString, CString),
    runtimes: Option<(CString, CString)>,
}

impl RootView {
    /// Lists the server's top-level folders. `app` becomes `/app`; `runtimes` becomes `/runtimes` and can't be written there.
    /// `staging` is a folder inside of a top-level folder. Nothing changes in it outside of the view.
    pub fn new(app: &Path, runtimes: Option<&Path>, staging: &Path) -> io::Result<Self> {
        let text = |bytes: Vec<u8>| CString::new(bytes).map_err(io::Error::other);
        let path = |path: &Path| text(path.as_os_str().as_bytes().to_vec());
        let inside = |name: &str| path(&staging.join(name.trim_start_matches('/')));
        let (mut folders, mut links) = (Vec::new(), Vec::new());
        for entry in fs::read_dir("/")? {
            let entry = entry?;
            let (from, kind) = (entry.path(), entry.file_type()?);
            if from == Path::new(APP) || from == Path::new(RUNTIMES) {
                continue;
            }
            let at = path(&staging.join(entry.file_name()))?;
            if kind.is_dir() {
                folders.push((path(&from)?, at));
            } else if kind.is_symlink() {
                links.push((text(fs::read_link(&from)?.into_os_string().into_vec())?, at));
            }
        }
        let runtimes = runtimes.map(|from| Ok::<_, io::Error>((path(from)?, inside(RUNTIMES)?))).transpose()?;
        Ok(Self { staging: path(staging)?, folders, links, app: (path(app)?, inside(APP)?), runtimes })
    }

    /// Makes the view the root of this process, which must have a mount namespace of its own without shared mounts. Afterwards the
    /// working directory is `/`. Neither allocates nor locks, so that it can run between fork and exec.
    #[allow(unsafe_code)]
    pub fn enter(&self) -> io::Result<()> {
        let none = std::ptr::null();
        let (staging, hardened) = (self.staging.as_ptr(), libc::MS_NOSUID | libc::MS_NODEV);
        // SAFETY: system calls with constants and with strings that outlive them.
        unsafe {
            let options = c"mode=0755,size=64k,nr_inodes=4k";
            done(libc::mount(c"tmpfs".as_ptr(), staging, c"tmpfs".as_ptr(), hardened, options.as_ptr().cast()))?;
            // The staging folder lies below a top-level folder; an unbindable mount does not become part of its copy.
            done(libc::mount(none, staging, none, libc::MS_UNBINDABLE, none.cast()))?;
            for (target, at) in &self.links {
                done(libc::symlink(target.as_ptr(), at.as_ptr()))?;
            }
            for (from, at) in &self.folders {
                done(libc::mkdir(at.as_ptr(), 0o755))?;
                let bound = libc::mount(from.as_ptr(), at.as_ptr(), none, libc::MS_BIND | libc::MS_REC, none.cast());
                // A folder that vanished, or a network mount that is broken, stays empty.
                if bound != 0 && *libc::__errno_location() == libc::EPERM {
                    return Err(io::Error::last_os_error());
                }
            }
            bind(&self.app, libc::MS_BIND)?;
            if let Some(runtimes) = &self.runtimes {
                bind(runtimes, libc::MS_BIND)?;
                let flags = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY | hardened;
                done(libc::mount(none, runtimes.1.as_ptr(), none, flags, none.cast()))?;
            }
            let flags = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY | hardened;
            done(libc::mount(none, staging, none, flags, none.cast()))?;
            // With the same folder twice, the old root lies on top of the new one, until it is detached (pivot_root(2)).
            done(libc::chdir(staging))?;
            if libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            done(libc::umount2(c".".as_ptr(), libc::MNT_DETACH))?;
            done(libc::chdir(c"/".as_ptr()))
        }
    }
}

/// True if this process can give its children a separate root; checked once.
pub fn is_possible() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let tried = || {
            let mut command = Command::new("true");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            enter_on_start(&mut command, RootView::new(Path::new("/usr"), None, Path::new("/usr/bin"))?);
            command.status()
        };
        match tried() {
            Ok(status) => rustix::process::geteuid().is_root() && status.success(),
            Err(error) => {
                tracing::debug!(%error, "programs get no root file system of their own");
                false
            }
        }
    })
}

/// Makes a command enter the view in its own mount namespace.
#[allow(unsafe_code)]
fn enter_on_start(command: &mut Command, view: RootView) {
    let enter = move || {
        let none = std::ptr::null();
        // SAFETY: system calls with constants.
        unsafe {
            done(libc::unshare(libc::CLONE_NEWNS))?;
            done(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()))?;
        }
        view.enter()
    };
    // SAFETY: between fork and exec only system calls are made: nothing allocates, locks or touches shared state.
    unsafe { command.pre_exec(enter) };
}

/// Makes a folder and binds another one to it.
#[allow(unsafe_code)]
unsafe fn bind((from, at): &(CString, CString), flags: libc::c_ulong) -> io::Result<()> {
    // SAFETY: system calls with strings that outlive them.
    unsafe {
        done(libc::mkdir(at.as_ptr(), 0o755))?;
        done(libc::mount(from.as_ptr(), at.as_ptr(), std::ptr::null(), flags, std::ptr::null()))
    }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_links_lead_to_the_system_to_runtimes_or_into_the_app_and_nowhere_else() {
        for inside in ["/usr/bin/python3", "/runtimes/python@3.13.1/bin/python3", "/app/node_modules/x"] {
            assert!(leads_inside(Path::new(inside)), "{inside}");
        }
        for outside in
            ["/usr", "/app", "/etc/passwd", "/usr/../etc/passwd", "/app/../etc", "/", "usr/bin", "/application/x"]
        {
            assert!(!leads_inside(Path::new(outside)), "{outside}");
        }
    }

    #[test]
    fn a_program_sees_its_app_and_the_server_but_neither_what_is_above_nor_a_way_to_write_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let possible = is_possible();
        assert_eq!(possible, rustix::process::geteuid().is_root(), "root of this machine may make mounts");
        if !possible {
            return;
        }
        let (app, runtimes, staging) = (dir.path().join("app"), dir.path().join("runtimes"), dir.path().join("root"));
        for folder in [&app, &runtimes, &staging] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(dir.path().join("decoy"), "").unwrap();
        fs::write(app.join("mine"), "").unwrap();
        fs::write(runtimes.join("tool"), "").unwrap();
        let run = |words: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", words]);
            enter_on_start(&mut command, RootView::new(&app, Some(&runtimes), &staging).unwrap());
            let output = command.output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let top = run("pwd; ls /; ls /app /app/.. /runtimes");
        assert!(top.starts_with("/\n") && top.contains("mine") && top.contains("tool"), "{top}");
        for name in ["app", "runtimes", "usr", "proc", "etc"] {
            assert!(top.lines().any(|line| line == name), "{name}: {top}");
        }
        assert!(!top.contains("decoy"), "{top}");
        // Control: the server's files are at their own paths.
        assert_eq!(run(&format!("ls {}", dir.path().display())), "app\ndecoy\nroot\nruntimes\n");
        assert_eq!(
            run("touch /new 2>/dev/null || echo refused; touch /runtimes/new 2>/dev/null || echo refused"),
            "refused\nrefused\n"
        );
        assert_eq!(run("touch /app/new && echo written"), "written\n");
        assert!(app.join("new").exists());
        assert_eq!(fs::read_dir(&staging).unwrap().count(), 0);
        // The staging folders are not part of the view, so mounts don't pile up.
        let twice = run("grep -c '/root/' /proc/self/mountinfo");
        assert_eq!(twice.trim(), "0");
    }
}
