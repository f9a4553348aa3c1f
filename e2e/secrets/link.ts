// Agent side of the link for the drill: reads states, reports, and opens sealed values.
import { fromBinary } from '@bufbuild/protobuf';
import { DesiredStateSchema, SecretBundleSchema } from '@fairlead/contract/agent';
import type { OpenFakeLink } from '@fairlead/testkit';
import { Decrypter } from 'age-encryption';
import type { Planted } from './search.ts';

type DesiredState = ReturnType<typeof decodeState>;
function decodeState(bytes: Uint8Array) {
  return fromBinary(DesiredStateSchema, bytes);
}

/** Syncs until the expected state arrives; keeps everything received meanwhile. */
export async function nextState(
  link: OpenFakeLink,
  keep: (name: string, bytes: Uint8Array) => void,
  isAwaited: (state: DesiredState) => boolean,
): Promise<DesiredState> {
  for (;;) {
    link.send({ case: 'sync', value: {} });
    const { state: bytes } = await link.next('state');
    const state = decodeState(bytes);
    keep(`desired state ${state.version?.number}`, bytes);
    if (isAwaited(state)) return state;
    await link.next('desired');
  }
}

let reportId = 0n;
export function report(link: OpenFakeLink, part: object): void {
  reportId += 1n;
  link.send({ case: 'report', value: { reportId, ...part } });
}

/** The search proves nothing if the secrets never arrived. */
export async function requireArrived(
  state: DesiredState,
  identity: string,
  planted: readonly Planted[],
): Promise<void> {
  const sealed = state.apps[0]?.live?.secrets?.sealed;
  if (sealed === undefined) throw new Error('the live release came without its secrets');
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const bundle = fromBinary(SecretBundleSchema, await decrypter.decrypt(sealed));
  const arrived = new Map(bundle.secrets.map(({ name, value }) => [name, Buffer.from(value).toString('utf8')]));
  const lost = planted.filter(({ name, value }) => arrived.get(name) !== value);
  if (lost.length > 0) throw new Error(`${lost.length} secrets did not arrive at the server`);
}
