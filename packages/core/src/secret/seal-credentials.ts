// Seals source credentials for the server that builds: decrypts them and seals them to that server's key at once, like
// secrets, under names that only the builder knows.
import { create, toBinary } from '@bufbuild/protobuf';
import { SecretBundleSchema, SecretDelivery } from '@fairlead/contract/agent';
import { Encrypter } from 'age-encryption';
import type { OrganizationCtx } from '../kernel/index.ts';
import { type BuildSource, credentialsFor } from '../source/index.ts';
import type { SecretKeys } from './data-key.ts';
import type { SealedSnapshot } from './secret-sealer.ts';

export interface BuildPlacement {
  readonly appId: string;
  readonly environmentId: string;
  readonly source: BuildSource;
}

/** Returns sealed credentials for each app; apps with a public source are missing. */
export async function sealCredentials(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  recipient: string,
  placements: readonly BuildPlacement[],
): Promise<Map<string, SealedSnapshot>> {
  const sealed = new Map<string, SealedSnapshot>();
  for (const { appId, environmentId, source } of placements) {
    const rows = await ctx.tx.sourceCredential.findMany({
      where: { appId, organizationId: ctx.organizationId },
      include: { dataKey: true },
      orderBy: { id: 'asc' },
    });
    // A registry's and a repository's go by the same names, and a build needs one of them.
    const wanted = credentialsFor(rows, source, ctx.clock.now());
    const values: { name: string; value: Uint8Array }[] = [];
    for (const row of wanted) {
      const plain = await keys.open(ctx.organizationId, {
        versionId: row.id,
        envelope: row.envelope,
        dataKey: row.dataKey,
      });
      if (row.kind === 'ssh') {
        values.push({ name: 'ssh_key', value: plain });
        if (row.knownHosts !== '') values.push({ name: 'ssh_known_hosts', value: Buffer.from(row.knownHosts, 'utf8') });
      } else {
        values.push({ name: 'username', value: Buffer.from(row.username, 'utf8') }, { name: 'password', value: plain });
      }
    }
    if (values.length === 0) continue;
    const version = wanted.map(({ id }) => id).join('+');
    const bundle = create(SecretBundleSchema, {
      appId,
      environmentId,
      version,
      secrets: values.map((each) => ({ ...each, delivery: SecretDelivery.FILE })),
    });
    const encrypter = new Encrypter();
    encrypter.addRecipient(recipient);
    sealed.set(appId, {
      sealed: new Uint8Array(await encrypter.encrypt(toBinary(SecretBundleSchema, bundle))),
      version,
      problem: null,
    });
  }
  return sealed;
}
