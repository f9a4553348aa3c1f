// Events of webhooks that are stored and processed; others get an answer only.
import { z } from 'zod';
import { isCheckEvent, isGithubEvent, parseCheckRequest, parseGithubEvent } from '../github/index.ts';
import { changesPreview, parsePullRequest } from '../preview/index.ts';
import { isUnreadable, type PushSource, parsePush } from './parse-push.ts';
import { objectHashSchema } from './push-event.ts';

interface ReceivedEvent {
  readonly source: PushSource;
  readonly event: string;
  readonly body: string;
}

export type EventReading =
  /** `name`: the event, with its action where processing does not read it again. */
  | { readonly state: 'stored'; readonly name: string }
  /** Fairlead does nothing for the event, or for this action of it. */
  | { readonly state: 'ignored' }
  | { readonly state: 'unreadable' };

const ignored: EventReading = { state: 'ignored' };

/** Decides if a delivery is stored. */
export function readEvent({ source, event, body }: ReceivedEvent): EventReading {
  const stored: EventReading = { state: 'stored', name: event };
  try {
    if (event === 'push') {
      parsePush(source, body);
      return stored;
    }
    if (source !== 'github') return ignored;
    if (isGithubEvent(event)) return { state: 'stored', name: `${event}.${parseGithubEvent(event, body).action}` };
    if (event === 'pull_request') return changesPreview(parsePullRequest(body)) ? stored : ignored;
    return isCheckEvent(event) && parseCheckRequest(event, body) !== null ? stored : ignored;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return { state: 'unreadable' };
  }
}

const checkRequests: readonly (string | null)[] = ['rerequested', 'requested_action'];

/** False: `readEvent` ignores every such event of a GitHub App, so its body need not be fetched. */
export function mayBeStored(event: string, action: string | null): boolean {
  if (isCheckEvent(event)) return checkRequests.includes(action);
  return event === 'push' || event === 'pull_request' || isGithubEvent(event);
}

/** Actions of check runs that report results. All others are requests of people. */
const checkActionSchema = z.enum(['created', 'completed']);
const checkedSchema = z.object({ head_sha: objectHashSchema });
const checkEventSchema = z.union([
  z.object({ action: checkActionSchema, check_run: checkedSchema }).transform((body) => body.check_run.head_sha),
  z.object({ action: checkActionSchema, check_suite: checkedSchema }).transform((body) => body.check_suite.head_sha),
  z.object({ sha: objectHashSchema, context: z.string() }).transform((body) => body.sha),
]);
const checkEvents: readonly string[] = ['check_run', 'check_suite', 'status'];

/** Returns the commit of an event about its checks; null for another event or shape. */
export function checkedCommitOf({ source, event, body }: ReceivedEvent): string | null {
  if (source !== 'github' || !checkEvents.includes(event)) return null;
  try {
    return checkEventSchema.parse(JSON.parse(body));
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return null;
  }
}

/** Returns the event of a stored name. */
export function eventOfName(name: string): string {
  return name.split('.', 1)[0] ?? '';
}
