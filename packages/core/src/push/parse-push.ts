// Reads the stored body of a push, by the kind of webhook that received it.
import { ZodError } from 'zod';
import { parseGithubPush } from './parse-github.ts';
import { parseWebhookPush } from './parse-webhook.ts';
import type { PushEvent } from './push-event.ts';

export type PushSource = 'github' | 'app';

/** Throws a SyntaxError or a ZodError for a body that is not a push. */
export function parsePush(source: PushSource, body: string): PushEvent {
  if (source === 'github') return parseGithubPush(JSON.parse(body));
  return parseWebhookPush(body.trim() === '' ? {} : JSON.parse(body));
}

/** True for the errors of `parsePush`: the same body fails again. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof ZodError;
}
