// Certificate authority with a wrong clock: it signs the request of an order for a time of the test's choice. Its root is its
// own, so no visitor trusts it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../tools/lib/command.ts';

const CONFIGURATION = `[ca]
default_ca = skewed
[skewed]
new_certs_dir = .
database = index.txt
rand_serial = yes
certificate = ca.pem
private_key = ca.key
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = optional
`;

/** Returns a certificate in PEM for a request in DER. */
export async function signAt(folder: string, request: Buffer, notBefore: Date, notAfter: Date): Promise<string> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'ca.cnf'), CONFIGURATION);
  writeFileSync(join(folder, 'index.txt'), '');
  writeFileSync(join(folder, 'request.der'), request);
  const openssl = async (...args: readonly string[]) => {
    const { code, output } = await run('openssl', args, { cwd: folder });
    if (code !== 0) throw new Error(output);
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'ca.key'];
  await openssl('req', '-x509', ...key, '-subj', '/CN=skewed', '-out', 'ca.pem');
  await openssl('req', '-in', 'request.der', '-inform', 'der', '-out', 'request.pem');
  const times = ['-startdate', timeOf(notBefore), '-enddate', timeOf(notAfter)];
  await openssl('ca', '-batch', '-config', 'ca.cnf', '-in', 'request.pem', ...times, '-notext', '-out', 'leaf.pem');
  return readFileSync(join(folder, 'leaf.pem'), 'utf8');
}

/** GeneralizedTime of openssl. */
function timeOf(date: Date): string {
  return `${date.toISOString().replace(/\D/g, '').slice(0, 14)}Z`;
}
