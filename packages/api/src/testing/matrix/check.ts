// Checks that the API behaves as declared: every procedure, called by every role, with own, foreign and unknown ids in
// each id field.
// Invariant: a foreign id gets exactly the response of a missing one.
import { type Permission, permissionSchema, permissionsOf } from '@fairlead/core/role';
import type { AnyRouter } from '@trpc/server';
import { answerAuditExport } from '../../answer-audit-export.ts';
import { answerAuth } from '../../answer-auth.ts';
import { answerRequest } from '../../answer-request.ts';
import type { ApiParts } from '../../context.ts';
import { answerHttp } from '../../http/answer-http.ts';
import { apiRouter } from '../../router.ts';
import { emptyRepository, type TestApi } from '../test-api.ts';
import { type Answer, callProcedure } from './call.ts';
import { type DeclaredProcedure, declaredProcedures, isOfMembers } from './declared.ts';
import { samplesFor } from './examples.ts';
import { checkFactors } from './factors.ts';
import { checkProtected } from './protected.ts';
import { checkReferences } from './references.ts';
import { checkRoutes, type RouteHandlers } from './routes.ts';
import { byReferences, type IdPlace, type Sample, unknownOf, withValueAt } from './sample.ts';
import { type Person, setStage } from './stage.ts';
import { checkStreams } from './streams.ts';
import { undoing } from './undo.ts';

export interface MatrixReport {
  readonly procedures: number;
  readonly calls: number;
  /** Each a sentence: who called what with what, and what came of it. */
  readonly leaks: readonly string[];
  /** Mutations that changed what visitors of an environment get while it was not protected. */
  readonly effective: readonly string[];
  /** Procedures that took the reference to another environment from a person who may act in both. */
  readonly crossing: readonly string[];
  /** Procedures that refused an input for a further permission, with the error that says why. */
  readonly withheld: readonly string[];
}

const refusals: ReadonlySet<string> = new Set(['session.required', 'organization.not_found', 'permission.denied']);

export interface MatrixOptions {
  /** Another one in the tests of this check only. */
  readonly router?: AnyRouter;
  /** Route files to call; without them, those that the API has itself. */
  readonly routes?: RouteHandlers;
  /**
   * True to send foreign ids as owner and as two roles only, that of the procedure's permission alone and that of all others:
   * enough while no procedure asks for the name of another role.
   */
  readonly short?: boolean;
}

export async function checkMatrix(
  api: TestApi,
  { router = apiRouter, routes, short = false }: MatrixOptions = {},
): Promise<MatrixReport> {
  const stage = await setStage(api);
  const report = { procedures: 0, calls: 0, leaks: [] as string[] };
  const withheld = new Set<string>();
  const kept: ApiParts = { ...api.parts, outbound: emptyRepository };
  const undone: ApiParts = { ...kept, database: undoing(api.parts.database) };

  const call = async (procedure: DeclaredProcedure, person: Person, input: unknown, keep = false): Promise<Answer> => {
    report.calls += 1;
    const answer = await callProcedure(
      { parts: keep ? kept : undone, router, live: api.live },
      procedure,
      person,
      input,
    );
    const sent = JSON.stringify(input) ?? '';
    const trace = stage.foreignTraces.find((each) => answer.text.includes(each) && !sent.includes(each));
    const who = `${procedure.path} as ${person.name} with ${sent}`;
    if (trace !== undefined) report.leaks.push(`${who} told of a foreign row: ${trace}`);
    if (answer.outcome === 'internal.unexpected') {
      const [logged] = api.errors.slice(-1) as { readonly err?: unknown }[];
      report.leaks.push(`${who} failed unexpectedly: ${String(logged?.err)}`);
    }
    return answer;
  };
  const expectOutcome = (procedure: DeclaredProcedure, person: Person, answer: Answer, expected: string): void => {
    if (answer.outcome === expected) return;
    report.leaks.push(`${procedure.path} as ${person.name} answered ${answer.outcome} where ${expected} is declared`);
  };

  const inputsOf = (procedure: DeclaredProcedure) => samplesFor(procedure, stage.own);

  let before = await stage.foreignFingerprint();
  for (const procedure of declaredProcedures(router)) {
    report.procedures += 1;
    const samples = inputsOf(procedure);
    if (isOfMembers(procedure.access)) {
      await checkOutsiders(procedure, byReferences(samples));
      await checkRoles(procedure, procedure.access, samples);
      await checkFurther(procedure, samples);
      await checkGrants(procedure, procedure.access, byReferences(samples));
    } else if (procedure.access === 'operator') {
      await checkOperator(procedure, samples);
    } else {
      await checkOpen(procedure, samples);
    }
    const after = await stage.foreignFingerprint();
    if (after !== before) report.leaks.push(`${procedure.path} changed a foreign row`);
    before = after;
  }
  const own = await checkRoutes(stage, routes ?? routesOf(api.parts), {
    authOptions: api.authOptions,
    complete: routes !== undefined,
  });
  // Runs after the routes, which count calls and need sessions that are still fresh.
  const part = { api, stage, router, parts: kept, samplesFor: inputsOf };
  const references = await checkReferences(part);
  const protection = await checkProtected(part);
  // Runs only if the web app's own routes are checked too: the API's tests make these calls themselves.
  const sessions =
    routes === undefined ? [] : [await checkFactors(api, stage, router), await checkStreams(api, stage, router)];
  const parts = [report, references, protection, own, ...sessions];
  return {
    procedures: report.procedures,
    calls: parts.reduce((sum, { calls }) => sum + calls, 0),
    leaks: parts.flatMap(({ leaks }) => leaks),
    effective: protection.effective,
    crossing: references.crossing,
    withheld: [...withheld].sort(),
  };

  /** Checks that people outside the organization learn nothing, with any input. */
  async function checkOutsiders(procedure: DeclaredProcedure, samples: readonly Sample[]): Promise<void> {
    for (const input of [{ nonsense: true }, ...samples.map(({ value }) => value)]) {
      const { nobody, stranger, foreignOwner } = stage;
      expectOutcome(procedure, nobody, await call(procedure, nobody, input, true), 'session.required');
      for (const person of [stranger, foreignOwner]) {
        expectOutcome(procedure, person, await call(procedure, person, input, true), 'organization.not_found');
      }
    }
  }

  /** Sends every sample as a role of the permission alone and as one of all others; one per references as the rest. */
  async function checkRoles(
    procedure: DeclaredProcedure,
    permission: Permission,
    samples: readonly Sample[],
  ): Promise<void> {
    for (const person of stage.roles) {
      const allowed = permissionsOf(person.role).includes(permission);
      await checkMember(procedure, person, allowed, byReferences(samples));
    }
    // A stream may need more for each thing that it streams: its own tests check that.
    if (procedure.type !== 'subscription') {
      await stage.setCustom([permission, ...(procedure.alsoNeeds?.permissions ?? [])]);
      await checkMember(procedure, { ...stage.custom, name: `a role of ${permission} alone` }, true, samples);
    }
    await stage.setCustom(permissionSchema.options.filter((each) => each !== permission));
    await checkMember(procedure, { ...stage.custom, name: `a role of all but ${permission}` }, false, samples);
  }

  /** Checks that only a person without the further permission is refused for it. */
  async function checkFurther(procedure: DeclaredProcedure, samples: readonly Sample[]): Promise<void> {
    const { permissions = [], denials = [] } = procedure.alsoNeeds ?? {};
    if (denials.length === 0) return;
    for (const lacking of [[], permissions]) {
      await stage.setCustom(permissionSchema.options.filter((each) => !lacking.includes(each)));
      const person = { ...stage.custom, name: `a role of all but ${lacking.join(', ') || 'nothing'}` };
      for (const { value } of samples) {
        const { outcome } = await call(procedure, person, value);
        if (!denials.some((denial) => denial === outcome)) continue;
        if (lacking.length > 0) withheld.add(procedure.path);
        else report.leaks.push(`${procedure.path} as ${person.name} answered ${outcome}`);
      }
    }
  }

  async function checkMember(
    procedure: DeclaredProcedure,
    person: Person,
    allowed: boolean,
    samples: readonly Sample[],
  ): Promise<void> {
    if (!allowed) {
      expectOutcome(procedure, person, await call(procedure, person, { nonsense: true }, true), 'permission.denied');
    }
    for (const { value, ids } of samples) {
      const answer = await call(procedure, person, value);
      if (allowed) requireReached(procedure, person, answer, ids);
      else expectOutcome(procedure, person, answer, 'permission.denied');
    }
    if (short && 'role' in person && person.role !== 'owner') return;
    // A denial holds for any input; a permitted role must learn nothing from any branch of it.
    for (const { value, ids } of allowed ? samples : byReferences(samples)) {
      for (const place of ids) await checkForeignId(procedure, person, allowed, value, place);
    }
  }

  async function checkForeignId(
    procedure: DeclaredProcedure,
    person: Person,
    allowed: boolean,
    value: unknown,
    place: IdPlace,
  ): Promise<void> {
    const foreign = stage.foreign.get(place.kind);
    if (foreign === undefined) throw new TypeError(`${procedure.path}: there is no foreign row of kind ${place.kind}`);
    // Commits, because the call must change nothing: the fingerprint of the foreign rows reveals a change.
    const answer = await call(procedure, person, withValueAt(value, place.path, foreign), true);
    const unknown = await call(procedure, person, withValueAt(value, place.path, unknownOf(place.kind)));
    const expected = allowed ? unknown.outcome : 'permission.denied';
    if (answer.outcome !== expected) {
      report.leaks.push(
        `${procedure.path} as ${person.name} answered ${answer.outcome} to a foreign id in ${place.path.join('.')}, ` +
          `and ${expected} to one that does not exist`,
      );
    }
  }

  /** A grant opens a procedure where it was given, as narrowly as the procedure declares, and nowhere else. */
  async function checkGrants(
    procedure: DeclaredProcedure,
    permission: Permission,
    samples: readonly Sample[],
  ): Promise<void> {
    if (procedure.type === 'subscription') return;
    if (procedure.lists === true) return checkLists(procedure, permission, samples);
    const grain = procedure.grain ?? 'organization';
    const cases = [
      { place: 'elsewhere', opens: grain === 'anywhere' },
      { place: 'environment', opens: grain === 'environment' || grain === 'anywhere' },
      { place: 'project', opens: grain !== 'organization' },
    ] as const;
    for (const { place, opens } of cases) {
      await stage.setGrant([permission, ...(procedure.alsoNeeds?.permissions ?? [])], place);
      const person = { ...stage.granted, name: `a grant of ${permission} (${place})` };
      const outcomes: string[] = [];
      for (const { value, ids } of samples) {
        outcomes.push((await call(procedure, person, value)).outcome);
        for (const id of ids) await checkForeignGrant(procedure, person, value, id);
      }
      const denied = outcomes.filter((outcome) => outcome === 'permission.denied').length;
      // Some inputs name a wider scope than the grant's: one accepted call is enough if it opens, and none is
      // accepted if it is closed.
      if (opens ? denied === outcomes.length : denied !== outcomes.length) {
        report.leaks.push(`${procedure.path} as ${person.name} answered ${outcomes.join(', ')}`);
      }
    }
  }

  /** Checks lists: any holder of the permission gets the rows that the grant covers and no others. */
  async function checkLists(
    procedure: DeclaredProcedure,
    permission: Permission,
    samples: readonly Sample[],
  ): Promise<void> {
    const rowsIn = ({ text }: Answer) => stage.placed.filter((id) => text.includes(id));
    await stage.setCustom([permission]);
    const cases = [
      { place: 'elsewhere', sees: false },
      { place: 'environment', sees: procedure.grain === 'environment' },
      { place: 'project', sees: true },
    ] as const;
    let rows = 0;
    for (const { value, ids } of samples) {
      const whole = rowsIn(await call(procedure, stage.custom, value));
      rows += whole.length;
      for (const { place, sees } of cases) {
        await stage.setGrant([permission], place);
        const person = { ...stage.granted, name: `a grant of ${permission} (${place})` };
        const answer = await call(procedure, person, value);
        expectOutcome(procedure, person, answer, 'ok');
        const [shown, expected] = [rowsIn(answer), sees ? whole : []];
        if (shown.join() !== expected.join()) {
          report.leaks.push(
            `${procedure.path} as ${person.name} shows ${shown.join(', ') || 'nothing'} of ${whole.join(', ')}`,
          );
        }
        for (const id of ids) await checkForeignGrant(procedure, person, value, id);
      }
    }
    if (rows === 0) report.leaks.push(`${procedure.path} shows no row that a grant could cover`);
  }

  async function checkForeignGrant(
    procedure: DeclaredProcedure,
    person: Person,
    value: unknown,
    place: IdPlace,
  ): Promise<void> {
    const foreign = await call(procedure, person, withValueAt(value, place.path, stage.foreign.get(place.kind)), true);
    const unknown = await call(procedure, person, withValueAt(value, place.path, unknownOf(place.kind)));
    if (foreign.outcome === unknown.outcome) return;
    report.leaks.push(`${procedure.path} as ${person.name} tells a foreign id in ${place.path.join('.')} from no id`);
  }

  /** Only owners of the organization that was set up may call it, with any input. */
  async function checkOperator(procedure: DeclaredProcedure, samples: readonly Sample[]): Promise<void> {
    await checkOutsiders(procedure, samples);
    for (const { value } of samples) {
      for (const person of [...stage.roles, stage.custom, stage.granted]) {
        const answer = await call(procedure, person, value);
        if ('role' in person && person.role === 'owner')
          requireReached(procedure, person, answer, [{ path: [], kind: '' }]);
        else expectOutcome(procedure, person, answer, 'control_plane.operator_only');
      }
    }
  }

  /** Checks a public or signed-in procedure: it reveals no foreign data, and a signed-in one needs a session. */
  async function checkOpen(procedure: DeclaredProcedure, samples: readonly Sample[]): Promise<void> {
    for (const { value, ids } of samples) {
      const inputs = [value, ...ids.map(({ path, kind }) => withValueAt(value, path, stage.foreign.get(kind)))];
      for (const input of inputs) {
        const answer = await call(procedure, stage.nobody, input);
        if (procedure.access === 'signed_in') expectOutcome(procedure, stage.nobody, answer, 'session.required');
        // Such a call may end the session or the account of its caller.
        const person = await stage.throwaway();
        const signedIn = await call(procedure, person, input);
        if (signedIn.outcome === 'session.required') expectOutcome(procedure, person, signedIn, 'ok');
      }
    }
  }

  /** A call that is refused for its input, or a read that finds nothing, would prove nothing about who may make it. */
  function requireReached(
    procedure: DeclaredProcedure,
    person: Person,
    { outcome }: Answer,
    ids: readonly IdPlace[],
  ): void {
    if (refusals.has(outcome)) {
      report.leaks.push(`${procedure.path} as ${person.name} answered ${outcome} where it is declared to be allowed`);
    }
    // The stage's GitHub App has no key: a call that reaches GitHub ends where it opens one.
    if (procedure.path.startsWith('github.') && outcome === 'secret.undecryptable') return;
    const isRead = procedure.type !== 'mutation' && !ids.some(({ kind }) => kind === 'cursor');
    if (outcome !== 'internal.unexpected' && (outcome === 'input.invalid' || (isRead && outcome !== 'ok'))) {
      throw new TypeError(`${procedure.path} answered ${outcome} to a made-up input: add an example of a valid one`);
    }
  }
}

function routesOf(parts: ApiParts): RouteHandlers {
  const api = (request: Request) => answerRequest(parts, request);
  const http = (request: Request) => answerHttp(parts, request);
  const auth = (request: Request) => answerAuth(parts, request);
  return {
    'api/auth/[...all]/route.ts': { GET: auth, POST: auth },
    'api/trpc/[trpc]/route.ts': { GET: api, POST: api },
    'api/audit/export/route.ts': { GET: (request) => answerAuditExport(parts, request) },
    'api/v1/[...path]/route.ts': { GET: http, POST: http },
  };
}
