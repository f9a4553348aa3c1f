// Check of live streams: each ends soon after the session, the membership, the right or the proven factor that opened it, and no
// person holds more open streams than the bound.
import { proveSecondFactor } from '@fairlead/auth/testing/insert-passkey';
import { AppError } from '@fairlead/contract/errors';
import { type AnyRouter, TRPCError } from '@trpc/server';
import { createContext } from '../../context.ts';
import { createOpenStreams } from '../../open-streams.ts';
import { createCallerFactory } from '../../procedures.ts';
import type { TestApi } from '../test-api.ts';
import { type DeclaredProcedure, declaredProcedures } from './declared.ts';
import { newOwner, type SessionsReport, whileTwoFactorIsRequired } from './factors.ts';
import { samplesOf } from './sample.ts';
import type { Person, Stage } from './stage.ts';

type Owner = Person & { readonly userId: string };

interface Ending {
  readonly name: string;
  readonly code: string;
  /** Takes the access away, and calls `ended` while it is away. */
  readonly take: (api: TestApi, stage: Stage, owner: Owner, ended: () => Promise<void>) => Promise<void>;
}

const personMax = 3;
/** A stream that stays open for this time after its access is gone counts as not ended. */
const stillOpenMs = 10_000;

const endings: readonly Ending[] = [
  {
    name: 'the session',
    code: 'session.required',
    take: async (api, _stage, { userId }, ended) => {
      await api.world.system(({ tx }) => tx.session.deleteMany({ where: { userId } }));
      await ended();
    },
  },
  {
    name: 'the membership',
    code: 'organization.not_found',
    take: async (api, _stage, { userId }, ended) => {
      await api.world.system(({ tx }) => tx.member.deleteMany({ where: { userId } }));
      await ended();
    },
  },
  {
    name: 'the right',
    code: 'permission.denied',
    take: async (api, stage, { userId }, ended) => {
      await stage.setCustom([]);
      const custom = await api.world.system(({ tx }) =>
        tx.customRole.findFirstOrThrow({ where: { organizationId: stage.ownId, name: 'Custom' } }),
      );
      await api.world.system(({ tx }) => tx.member.updateMany({ where: { userId }, data: { role: custom.id } }));
      await ended();
    },
  },
  {
    name: 'the proof of a factor',
    code: 'organization.two_factor_required',
    take: (api, stage, _owner, ended) => whileTwoFactorIsRequired(api, stage, ended),
  },
];

export async function checkStreams(
  api: TestApi,
  stage: Stage,
  router: AnyRouter,
  openMs = stillOpenMs,
): Promise<SessionsReport> {
  const leaks: string[] = [];
  let calls = 0;
  const streams = createOpenStreams({
    database: api.parts.database,
    log: api.parts.log,
    limits: { personMax, organizationMax: 1000 },
    recheckMs: 20,
  });
  const parts = { ...api.parts, streams };
  const owner = () => newOwner(api, stage, 'an owner who watches');

  /** Resolves once the stream listens, with its end as a code; a refused stream has ended already. */
  const open = async (procedure: DeclaredProcedure, person: Person, input: unknown) => {
    calls += 1;
    const left = new AbortController();
    const context = createContext(parts, {
      headers: new Headers({ cookie: person.cookie ?? '' }),
      organizationSlug: person.slug,
    });
    const caller = createCallerFactory(router)(context, { signal: left.signal });
    const call = procedure.path
      .split('.')
      .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], caller) as (
      given: unknown,
    ) => Promise<AsyncIterable<unknown>>;
    const listening = Promise.withResolvers<void>();
    const before = api.live.subscriptions.length;
    api.live.onSubscribe = () => {
      if (api.live.subscriptions.length > before) listening.resolve();
    };
    const end = (async (): Promise<string> => {
      for await (const _event of await call(input)) void _event;
      return 'ok';
    })().catch(codeOf);
    await Promise.race([listening.promise, end]);
    api.live.onSubscribe = null;
    return { end, leave: () => left.abort() };
  };

  for (const procedure of declaredProcedures(router).filter(({ type }) => type === 'subscription')) {
    const [sample] = procedure.input === null ? [] : samplesOf(procedure.input, stage.own);
    const input = sample?.value;
    for (const ending of endings) {
      const person = await owner();
      const stream = await open(procedure, person, input);
      // A twin that keeps its access keeps its stream, so time alone does not end it.
      const twin = await owner();
      await proveSecondFactor(api.db.database, twin.userId);
      const kept = await open(procedure, twin, input);
      await ending.take(api, stage, person, async () => {
        const code = await Promise.race([stream.end, after(openMs)]);
        stream.leave();
        if (code !== ending.code) leaks.push(`${procedure.path} without ${ending.name} answered ${code}`);
      });
      kept.leave();
      const end = await kept.end;
      if (end !== 'ok') leaks.push(`${procedure.path} as a twin that kept its access answered ${end}`);
    }
    const person = await owner();
    const opened = [];
    for (let at = 0; at < personMax; at += 1) opened.push(await open(procedure, person, input));
    const refused = await open(procedure, person, input);
    const beyond = await Promise.race([refused.end, after(openMs)]);
    refused.leave();
    if (beyond !== 'request.too_many') leaks.push(`${procedure.path} beyond the bound answered ${beyond}`);
    for (const stream of opened) stream.leave();
    for (const stream of opened) await stream.end;
    const again = await open(procedure, person, input);
    again.leave();
    const freed = await again.end;
    if (freed !== 'ok') leaks.push(`${procedure.path} after others were closed answered ${freed}`);
  }
  return { calls, leaks };
}

function after(ms: number): Promise<string> {
  return new Promise((resolve) => setTimeout(resolve, ms, 'nothing: it is still open').unref());
}

function codeOf(error: unknown): string {
  if (error instanceof AppError) return error.code;
  if (!(error instanceof TRPCError)) throw error;
  const published = (error.cause as { readonly published?: { readonly errorCode: string } } | undefined)?.published;
  return published?.errorCode ?? error.code;
}
