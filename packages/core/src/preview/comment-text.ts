// Text of the comment on a pull request, in GitHub's Markdown. Pure.
import type { PreviewState } from './schema.ts';

export interface CommentFacts {
  readonly appId: string;
  readonly appName: string;
  readonly state: PreviewState;
  readonly problem: string;
  readonly headHash: string;
  /** Null: nothing is deployed. */
  readonly deployment: {
    readonly number: number;
    readonly state: string;
    readonly commitHash: string;
    readonly url: string | null;
    readonly failureMessage: string | null;
  } | null;
  /** Address of the preview; null: it has none. */
  readonly previewUrl: string | null;
  /** Differences of the live deployment from the one before; null: it is the first. */
  readonly changes: { readonly settings: readonly string[]; readonly secrets: readonly string[] } | null;
}

/** Returns the marker that finds the comment again. It has no id of the preview, because the preview's row may be deleted. */
export function commentMarker(appId: string): string {
  return `<!-- fairlead preview ${appId} -->`;
}

const sentences: Readonly<Record<Exclude<PreviewState, 'active' | 'failed' | 'unnamed'>, string>> = {
  waiting: 'A member must approve this commit from a fork before Fairlead builds it.',
  limited: 'The app has its maximum number of previews. This one starts when another ends.',
  draft: 'Drafts have no preview. It starts when the pull request is ready for review.',
  expired: 'The preview ended at its maximum age. The next push creates it again.',
  removed: 'A member removed the preview. The next push creates it again.',
  off: 'Previews of this app are switched off.',
  closed: 'The pull request is closed, and its preview is removed.',
};

const deploymentStates: Readonly<Record<string, string>> = {
  queued: 'Queued',
  building: 'Building',
  releasing: 'Deploying',
  rolling_out: 'Deploying',
  live: 'Live',
  failed: 'Failed',
  cancelled: 'Cancelled',
  superseded: 'Superseded',
};

export function commentText(facts: CommentFacts): string {
  const { appId, appName, state, problem, headHash, deployment, previewUrl, changes } = facts;
  const isServed = state === 'active' || state === 'waiting';
  const lines = [commentMarker(appId), `### Preview of ${escaped(appName)}`, ''];
  if (state === 'failed' || state === 'unnamed') lines.push(escaped(problem), '');
  else if (state !== 'active') lines.push(sentences[state], '');
  if (state === 'waiting') lines.push(`Waiting: \`${headHash.slice(0, 7)}\``, '');
  if (!isServed || deployment === null) return lines.join('\n').trimEnd();
  const label = deploymentStates[deployment.state] ?? deployment.state;
  const log = `Deployment ${deployment.number}`;
  lines.push(
    '| State | Commit | Preview | Log |',
    '|---|---|---|---|',
    `| ${label} | \`${deployment.commitHash.slice(0, 7)}\` | ${previewUrl ?? '–'} | ${
      deployment.url === null ? log : `[${log}](${deployment.url})`
    } |`,
    '',
  );
  if (deployment.failureMessage !== null) lines.push(`> ${escaped(deployment.failureMessage)}`, '');
  if (changes !== null) {
    if (changes.settings.length > 0) lines.push(`Changed settings: ${namesOf(changes.settings)}`);
    if (changes.secrets.length > 0) lines.push(`Changed secrets: ${namesOf(changes.secrets)}`);
    if (changes.settings.length + changes.secrets.length === 0) lines.push('Settings and secrets are unchanged.');
  }
  return lines.join('\n').trimEnd();
}

function namesOf(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

/** Keeps text from being Markdown, HTML or a mention. */
function escaped(text: string): string {
  return text
    .replace(/[\r\n]+/g, ' ')
    .replace(/[\\`*_{}[\]<>()#+!|~]/g, '\\$&')
    .replaceAll('@', '@\u200b');
}
