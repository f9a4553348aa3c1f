// Installs node_modules from package-lock.json and locates its Node, for `npm start` and `npm test`. Free of
// dependencies: runs on the system's Node before anything is installed.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NODE_MIN = [20, 20];
/** Niceness of cargo, so that it yields to npm and Next.js. */
const CARGO_NICENESS = '5';

/** Error with one line for the user: what is wrong and what to do. */
export class SetupError extends Error {}

/** Checks for programs that no registry provides: `cc` links Rust, git fetches sources. */
export async function checkPrograms({ rust }) {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])) {
    throw new SetupError(`Node ${process.versions.node} is too old: install Node ${NODE_MIN.join('.')} or newer`);
  }
  const missing = async (program, args, what) => {
    if (!(await succeeds(program, args))) throw new SetupError(`${program} is missing: ${what}`);
  };
  await missing('git', ['--version'], 'install it with apt-get install git');
  if (rust) await missing('cargo', ['--version'], 'install Rust from https://rustup.rs');
  if (rust) await missing('cc', ['--version'], 'install a C compiler with apt-get install build-essential');
  await missing('npm', ['--version'], 'install npm beside Node');
}

/**
 * Returns cargo's arguments for one target of the agent with the features of `cargo test --workspace`. Cargo unifies the
 * features of selected packages: `-p` alone, or no target with dev-dependencies, would recompile most crates.
 */
export function likeTests(kind, name) {
  return ['--workspace', kind, name, '--example', 'stand'];
}

/**
 * Starts cargo beside npm, so that no core waits for the other's downloads. The second half of the command runs the same
 * build again: it waits for this one and finds it done.
 */
export function startCargo(root, args) {
  const target = ['--locked', '--quiet', '--target-dir', join(root, 'agents/target')];
  const [command, ...rest] = args;
  const build = ['cargo', command, '--manifest-path', join(root, 'agents/Cargo.toml'), ...target, ...rest];
  const cargo = spawn('nice', ['-n', CARGO_NICENESS, ...build], { stdio: 'ignore' });
  // A failure shows in the second half.
  cargo.once('error', () => undefined);
  process.once('exit', () => cargo.kill());
}

/** Installs from the lock file unless node_modules is up to date. */
export async function installDependencies(root, { report, signal } = {}) {
  const lock = readLock(root);
  if (isInstalled(root, lock)) return { installed: false };
  report?.();
  const lines = [];
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const code = await execute(
    'npm',
    args,
    { cwd: root, env: { ...process.env, CHECKPOINT_DISABLE: '1', DO_NOT_TRACK: '1' }, signal },
    (line) => {
      lines.push(line);
    },
  );
  if (code !== 0) {
    throw new SetupError(`npm ci failed: ${explainNpm(lines) || `it ended with ${code}`}`);
  }
  return { installed: true };
}

const NPM_LINES_MAX = 8;

/** Extracts npm's error from its output, without its manual and the paths of its logs. */
function explainNpm(lines) {
  const said = lines.map((line) => line.replace(/^npm error\s*/, '').trim());
  const manual = said.findIndex((line) => /^(Clean install a project|Usage:|A complete log)/.test(line));
  const words = (manual === -1 ? said : said.slice(0, manual)).filter(
    (line) => line !== '' && !line.startsWith('code '),
  );
  const text = words.slice(0, NPM_LINES_MAX).join('\n');
  if (/EINTEGRITY|in sync|invalid/i.test(lines.join('\n'))) {
    return `${text}\nThe lock file does not fit: restore it with git checkout package-lock.json, or run npm install after a change of package.json`;
  }
  if (/ENOSPC/.test(lines.join('\n'))) return 'the disk is full: make room first';
  return text;
}

function readLock(root) {
  const file = join(root, 'package-lock.json');
  if (!existsSync(file))
    throw new SetupError('package-lock.json is missing: restore it with git checkout package-lock.json');
  try {
    const lock = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof lock.packages !== 'object' || lock.packages === null) throw new Error('it lists no packages');
    return lock;
  } catch (error) {
    throw new SetupError(
      `package-lock.json is broken (${error.message}): restore it with git checkout package-lock.json`,
    );
  }
}

/** True if npm's own record of what it installed matches the lock file, entry by entry. */
function isInstalled(root, lock) {
  const record = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(record)) return false;
  let installed;
  try {
    installed = JSON.parse(readFileSync(record, 'utf8')).packages;
  } catch {
    return false; // a crash truncated the record: install again
  }
  for (const [path, wanted] of Object.entries(lock.packages)) {
    if (path === '' || wanted.link || !path.includes('node_modules/')) continue;
    const have = installed[path];
    if (have === undefined ? !wanted.optional : have.integrity !== wanted.integrity || have.version !== wanted.version)
      return false;
  }
  return existsSync(nodeOf(root));
}

/** Returns the lock file's Node 24, or the running Node if its platform has no package and it is new enough. */
export function nodeOf(root) {
  const packaged = join(root, `node_modules/node-${process.platform}-${process.arch}/bin/node`);
  if (existsSync(packaged)) return packaged;
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath;
  return packaged;
}

/** Runs `script` on the lock file's Node in place of this process: same terminal, forwarded signals, same exit code. */
export function handOver(root, script, args, nodeArgs = []) {
  const node = nodeOf(root);
  if (!existsSync(node))
    throw new SetupError(
      `no Node 24 for ${process.platform}-${process.arch} in the lock file: install Node 24 and run this with it`,
    );
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...nodeArgs, join(root, script), ...args], {
    stdio: 'inherit',
  });
  // The terminal sends Ctrl-C to both processes; a repeated signal is harmless.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => {
    console.error(`cannot start ${node}: ${error.message}`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
}

function succeeds(program, args) {
  return new Promise((done) => {
    const child = spawn(program, args, { stdio: 'ignore' });
    child.once('error', () => done(false));
    child.once('close', (code) => done(code === 0));
  });
}

function execute(program, args, options, onLine) {
  return new Promise((done) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let rest = '';
    const collect = (chunk) => {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      parts.forEach(onLine);
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    child.once('error', (error) => {
      onLine(error.message);
      done(127);
    });
    child.once('close', (code) => {
      if (rest !== '') onLine(rest);
      done(code ?? 1);
    });
  });
}
