// Web pages of the fake GitHub: creating an app from a manifest, and installing it. One button each.
import { createHash } from 'node:crypto';
import { Refusal } from './auth.ts';
import { type FakeState, makeKey, secretOf, takeId } from './state.ts';

interface Manifest {
  readonly name: string;
  readonly url: string;
  readonly redirect_url: string;
  readonly callback_urls?: readonly string[];
  readonly public?: boolean;
  readonly default_permissions: Readonly<Record<string, string>>;
  readonly default_events?: readonly string[];
  readonly hook_attributes?: { readonly url: string };
}

const readNames = ['contents', 'metadata', 'checks', 'statuses', 'deployments', 'pull_requests'];

/** Page that asks to create the app of a manifest. */
export function newAppPage(manifest: string, state: string, owner: string): string {
  const { name } = JSON.parse(manifest) as Manifest;
  return page(
    `Create GitHub App for ${owner}`,
    `<p>${escapeHtml(name)}</p><form method="post" action="/_create">${hidden({ manifest, state, owner })}
     <button>Create GitHub App for ${escapeHtml(owner)}</button></form>`,
  );
}

/** Creates the app; returns the address to which the browser goes. */
export function createApp(fake: FakeState, form: URLSearchParams): string {
  const manifest = JSON.parse(form.get('manifest') ?? '{}') as Manifest;
  const unknown = Object.keys(manifest.default_permissions).filter((name) => !readNames.includes(name));
  if (unknown.length > 0) throw new Refusal(422, `unknown permissions ${unknown.join(', ')}`);
  if (manifest.name.length > 34) throw new Refusal(422, 'Name is too long (maximum is 34 characters)');
  const slug = manifest.name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  if (fake.apps.some((app) => app.slug === slug)) throw new Refusal(422, 'Name has already been taken');
  const app = {
    id: takeId(fake),
    slug,
    name: manifest.name,
    ownerLogin: form.get('owner') ?? '',
    clientId: secretOf('Iv'),
    clientSecret: secretOf('secret'),
    webhookSecret: secretOf('hook'),
    ...makeKey(),
    permissions: manifest.default_permissions,
    events: manifest.default_events ?? [],
    hookUrl: manifest.hook_attributes?.url ?? null,
    homepageUrl: manifest.url,
    callbackUrls: manifest.callback_urls ?? [],
    isPublic: manifest.public ?? false,
  };
  fake.apps.push(app);
  const code = secretOf('code');
  fake.manifestCodes.set(code, app.id);
  return withQuery(manifest.redirect_url, { code, state: form.get('state') ?? '' });
}

export function installPage(fake: FakeState, slug: string, state: string): string {
  const app = fake.apps.find((each) => each.slug === slug);
  if (app === undefined) throw new Refusal(404, 'Not Found');
  return page(
    `Install ${app.name}`,
    `<form method="post" action="/_install">${hidden({ slug, state, account: app.ownerLogin })}
     <button>Install</button></form>`,
  );
}

/** Installs the app on all repositories of its owner; returns the address to which the browser goes. */
export function install(fake: FakeState, form: URLSearchParams): string {
  const app = fake.apps.find((each) => each.slug === form.get('slug'));
  const account = fake.accounts.find((each) => each.login === form.get('account'));
  if (app === undefined || account === undefined) throw new Refusal(404, 'Not Found');
  if (!app.isPublic && account.login !== app.ownerLogin) throw new Refusal(404, 'Not Found');
  let installation = fake.installations.find((each) => each.appId === app.id && each.account.id === account.id);
  if (installation === undefined) {
    const { permissions } = app;
    const id = takeId(fake);
    installation = { id, appId: app.id, account, repositoryIds: null, suspendedAt: null, permissions };
    fake.installations.push(installation);
  }
  const code = secretOf('oauth');
  fake.oauthCodes.set(code, { login: fake.person, appId: app.id });
  return withQuery(app.callbackUrls[0] ?? '', {
    code,
    installation_id: String(installation.id),
    setup_action: 'install',
    state: form.get('state') ?? '',
  });
}

/** Page that asks a person to prove their account to an app. */
export function authorizePage(fake: FakeState, query: URLSearchParams): string {
  const app = requireClient(fake, query);
  return page(
    `Authorize ${app.name}`,
    `<form method="post" action="/_authorize">${hidden(Object.fromEntries(query))}
     <button>Authorize ${escapeHtml(app.name)}</button></form>`,
  );
}

/** Authorizes the app as the person in front of the browser; returns the address to which the browser goes. */
export function authorize(fake: FakeState, query: URLSearchParams): string {
  const app = requireClient(fake, query);
  const code = secretOf('oauth');
  const redirectUri = query.get('redirect_uri') ?? '';
  const asked = { redirectUri, challenge: query.get('code_challenge') ?? '' };
  fake.oauthCodes.set(code, { login: fake.person, appId: app.id, asked });
  return withQuery(redirectUri, { code, state: query.get('state') ?? '' });
}

function requireClient(fake: FakeState, query: URLSearchParams) {
  const app = fake.apps.find(({ clientId }) => clientId === query.get('client_id'));
  if (app === undefined) throw new Refusal(404, 'Not Found');
  if (!app.callbackUrls.includes(query.get('redirect_uri') ?? '')) throw new Refusal(422, 'redirect_uri_mismatch');
  if (query.get('code_challenge_method') !== 'S256') throw new Refusal(422, 'this test wants PKCE');
  return app;
}

/** Exchanges a code for the token of the person who came back. GitHub answers 200 also to a refused one. */
export function exchangeCode(
  fake: FakeState,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const person = fake.oauthCodes.get(String(body.code));
  const app = fake.apps.find(({ clientId }) => clientId === body.client_id);
  if (app === undefined || app.clientSecret !== body.client_secret) return { error: 'incorrect_client_credentials' };
  if (person === undefined || person.appId !== app.id) return { error: 'bad_verification_code' };
  fake.oauthCodes.delete(String(body.code));
  const { asked } = person;
  if (asked !== undefined) {
    const challenge = createHash('sha256').update(String(body.code_verifier)).digest('base64url');
    if (challenge !== asked.challenge) return { error: 'bad_verification_code' };
    if (body.redirect_uri !== asked.redirectUri) return { error: 'redirect_uri_mismatch' };
  }
  const token = secretOf('ghu');
  fake.userTokens.set(token, person);
  return { access_token: token, token_type: 'bearer', scope: '' };
}

function withQuery(address: string, values: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
  return url.href;
}

function hidden(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`)
    .join('');
}

function page(title: string, body: string): string {
  return `<!doctype html><title>${escapeHtml(title)}</title><h1>${escapeHtml(title)}</h1>${body}`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
