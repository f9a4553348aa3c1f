// Rotates an app's deploy key: it makes the pair, encrypts the private key at once and returns the public key.
import { recordAudit } from '../audit/index.ts';
import type { Ctx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import type { CredentialView, RotateKeyInput } from './schema.ts';
import { createSshKey } from './ssh-key.ts';
import { requireApp, writeCredential } from './store.ts';

/** Replaces the key. The older one cannot read the repository any more once its host has the new one. */
export async function rotateKey(ctx: Ctx, input: RotateKeyInput, keys: SecretKeys): Promise<CredentialView> {
  const { appId, knownHosts } = input;
  const { slug } = await requireApp(ctx, appId);
  const { publicKey, privateKey } = createSshKey(`fairlead-${slug}`);
  const name = await writeCredential(ctx, appId, { kind: 'ssh', publicKey, knownHosts, secret: privateKey }, keys);
  await recordAudit(ctx, {
    action: 'credential.rotate',
    target: { kind: 'app', id: appId, label: name },
    after: { kind: 'ssh', publicKey },
  });
  return { kind: 'ssh', host: '', username: '', publicKey, knownHosts, createdAt: ctx.clock.now() };
}
