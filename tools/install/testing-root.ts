// Root folders for the installer's tests: this machine's programs, with folders of their own for everything that the
// installer writes, a systemctl that records calls, and a small release signed by a key of the test. Invariant: everything
// else of the machine is read-only, because the installer is root and deletes folders.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renderInstaller, writeInstaller } from '../release/installer.ts';

/** Writable folders of the installer, each an own one below the test's folder. */
const FOLDERS = ['opt', 'etc', 'run', 'var', 'usr/local/bin'];

const ENTER = `set -e
root=$1; shift
for folder in ${FOLDERS.join(' ')}; do mount --bind "$root/$folder" "/$folder"; done
mount --bind "$root" "$root"
mount -o remount,bind,ro /
exec env -i PATH="$root/fake:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" ROOT="$root" "$@"`;

/** Starting the unit runs what ExecStart names; a release that prints no summary counts as failed. */
export const SYSTEMCTL = `#!/bin/sh
echo "$*" >>"$ROOT/calls"
case "$*" in
  'restart fairlead.service' | 'start fairlead.service')
    command=$(sed -n 's/^ExecStart=//p' /etc/systemd/system/fairlead.service)
    if $command >>/var/log/fairlead/start.log 2>&1; then : >"$ROOT/active"; else rm -f "$ROOT/active"; fi ;;
  'stop fairlead.service') rm -f "$ROOT/active" ;;
  'is-active --quiet fairlead.service') [ -e "$ROOT/active" ] ;;
esac
`;

/** Stands in for `bin/fairlead`: counts its starts in the database, as a migration changes it. */
const PROGRAM = `#!/bin/sh
root=$(dirname "$(dirname "$(readlink -f "$0")")")
echo "$(basename "$root") $*" >>"$ROOT/programs"
data=/var/lib/fairlead-control-plane
case "$1" in
  update | update-requested | uninstall) exec sh "$root/tools/install/install.sh" "$@" ;;
  health) exit "$(cat "$root/health")" ;;
  start)
    mkdir -p $data/postgres $data/secrets
    basename "$root" >>$data/postgres/migrations
    [ -e $data/fairlead.json ] || echo '{"format":1}' >$data/fairlead.json
    [ -e $data/secrets/master-key ] || echo key >$data/secrets/master-key
    url=$(sed -n 's/^public_url = "\\(.*\\)"/\\1/p' /etc/fairlead/fairlead.toml)
    folder=$data/agent/ca
    [ -z "$url" ] || folder=$data/agent/control-ca/\${url#https://}
    mkdir -p "$folder"
    printf -- '-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n' >"$folder/ca.pem"
    printf '  Fairlead is up, after 1 s.\\n  Setup       %s/setup#token=secret\\n' "\${url:-http://localhost:4400}"
    [ -z "$url" ] || printf '  Authority   %s\\n' "$folder/ca.pem" ;;
esac
`;

export interface Result {
  readonly code: number | null;
  readonly output: string;
}

export interface ReleaseOptions {
  readonly version: string;
  /** Exit code of its health check. */
  readonly health?: number;
}

export class TestRoot {
  readonly folder = mkdtempSync(join(tmpdir(), 'fairlead-installer-'));
  readonly #key: KeyObject;
  readonly #keyNumber = randomBytes(8);
  readonly publicKey: string;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    this.#key = privateKey;
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    this.publicKey = Buffer.concat([Buffer.from('Ed'), this.#keyNumber, raw]).toString('base64');
    for (const folder of [
      ...FOLDERS,
      'fake',
      'run/systemd/system',
      'etc/systemd/system',
      'var/lib',
      'var/backups',
      'var/log',
      'var/tmp',
    ])
      mkdirSync(join(this.folder, folder), { recursive: true });
    // Programs such as awk are links through /etc/alternatives.
    for (const name of ['os-release', 'alternatives'])
      cpSync(join('/etc', name), this.path('etc', name), {
        recursive: true,
        dereference: name === 'os-release',
        verbatimSymlinks: name !== 'os-release',
      });
    this.program('systemctl', SYSTEMCTL);
    for (const name of ['apt-get', 'groupadd', 'useradd', 'chown'])
      this.program(name, `#!/bin/sh\necho "${name} $*" >>"$ROOT/calls"\n`);
    this.program('getent', '#!/bin/sh\nexit 2\n');
    this.program('nft', '#!/bin/sh\n');
    // The release exists for these two processors, and tests run on any.
    this.program('uname', '#!/bin/sh\ncase "$1" in -m) echo x86_64 ;; *) echo Linux ;; esac\n');
  }

  path(...parts: readonly string[]): string {
    return join(this.folder, ...parts);
  }

  program(name: string, text: string): void {
    writeFileSync(this.path('fake', name), text);
    chmodSync(this.path('fake', name), 0o755);
  }

  read(...parts: readonly string[]): string {
    const file = this.path(...parts);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** Writes the files of a release into a folder and returns it. */
  release({ version, health = 0 }: ReleaseOptions): string {
    const to = this.path(`dist-${version}`);
    const stage = this.path('stage', `fairlead-${version}`);
    mkdirSync(join(stage, 'bin'), { recursive: true });
    mkdirSync(to);
    writeFileSync(join(stage, 'health'), String(health));
    writeFileSync(join(stage, 'bin/fairlead'), PROGRAM);
    chmodSync(join(stage, 'bin/fairlead'), 0o755);
    writeInstaller(stage, [this.publicKey]);
    const name = `fairlead-${version}-linux-x64.tar.gz`;
    execFileSync('tar', ['-czf', join(to, name), '-C', this.path('stage'), `fairlead-${version}`]);
    writeFileSync(join(to, 'install.sh'), renderInstaller([this.publicKey]));
    const digest = createHash('sha256')
      .update(readFileSync(join(to, name)))
      .digest('hex');
    writeFileSync(join(to, 'SHA256SUMS'), `${digest}  ${name}\n`);
    this.sign(join(to, 'SHA256SUMS'), `fairlead ${version} SHA256SUMS`);
    return to;
  }

  /** Signs in the format of minisign. */
  sign(file: string, comment: string): void {
    const digest = createHash('blake2b512').update(readFileSync(file)).digest();
    const signature = sign(null, digest, this.#key);
    const ofComment = sign(null, Buffer.concat([signature, Buffer.from(comment)]), this.#key);
    const line = Buffer.concat([Buffer.from('ED'), this.#keyNumber, signature]).toString('base64');
    writeFileSync(
      `${file}.minisig`,
      `untrusted comment: test\n${line}\ntrusted comment: ${comment}\n${ofComment.toString('base64')}\n`,
    );
  }

  run(command: readonly string[], input = ''): Result {
    const namespace = ['--mount', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])];
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      [...namespace, 'sh', '-c', ENTER, 'sh', this.folder, ...command],
      { input, encoding: 'utf8' },
    );
    return { code: status, output: `${stdout}${stderr}` };
  }

  install(from: string, ...args: readonly string[]): Result {
    return this.run(['sh', join(from, 'install.sh'), '--from', from, ...args]);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
