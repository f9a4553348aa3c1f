// State of the fields of a plan's load. Pure.
import { headerFault, loadMethods, WORKERS_MAX } from '@fairlead/core/benchmark/load';
import type { BenchmarkLoad, LoadRequest } from '@fairlead/core/benchmark/schema';

export interface RequestDraft {
  readonly method: LoadRequest['method'];
  readonly path: string;
  readonly weight: string;
  /** One header per line, such as `Accept: text/html`. */
  readonly headers: string;
  readonly body: string;
}

export interface StageDraft {
  readonly seconds: string;
  readonly rate: string;
}

export const emptyRequest: RequestDraft = { method: 'GET', path: '/', weight: '1', headers: '', body: '' };
export const emptyCall: RequestDraft = { ...emptyRequest, method: 'POST' };
export const emptyStage: StageDraft = { seconds: '10', rate: '200' };

export const methodOptions = loadMethods.map((value) => ({ value, label: value }));

export function takesBody(method: LoadRequest['method']): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
}

export function requestDraftOf({ method, path, weight, headers, body }: LoadRequest): RequestDraft {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return { method, path, weight: String(weight), headers: lines.join('\n'), body };
}

export function stageDraftOf({ durationMs, requestsPerSecond }: BenchmarkLoad['stages'][number]): StageDraft {
  return { seconds: String(durationMs / 1000), rate: String(requestsPerSecond) };
}

interface RequestFaults {
  readonly path?: string;
  readonly weight?: string;
  readonly headers?: string;
}

export function requestFaults({ path, weight, headers }: RequestDraft): RequestFaults {
  const fault = headersOf(headers)
    .map(([name, value]) => headerFault(name, value))
    .find((each) => each !== null);
  return {
    ...(/^\/[\x21-\x7e]*$/.test(path) ? {} : { path: 'A path starts with / and has no spaces.' }),
    ...(isWhole(weight, 1000) ? {} : { weight: 'Enter a number from 1 to 1000.' }),
    ...(fault === undefined ? {} : { headers: fault }),
  };
}

interface StageFaults {
  readonly seconds?: string;
  readonly rate?: string;
}

export function stageFaults({ seconds, rate }: StageDraft): StageFaults {
  const time = seconds.trim() === '' ? Number.NaN : Number(seconds);
  return {
    ...(time >= 0.5 && time <= 300 ? {} : { seconds: 'Enter 0.5 to 300 seconds.' }),
    ...(isWhole(rate, 100_000) ? {} : { rate: 'Enter a number from 1 to 100000.' }),
  };
}

export function thinkTimeFault(text: string): string | undefined {
  return text === '' || text === '0' || isWhole(text, 60_000) ? undefined : 'Enter 0 to 60000 milliseconds.';
}

export function workersFault(text: string): string | undefined {
  return text === '' || isWhole(text, WORKERS_MAX) ? undefined : `Enter a number from 1 to ${WORKERS_MAX}.`;
}

/** Returns null while a field is invalid. `workers` is empty for the automatic number. */
export function loadOf(
  requests: readonly RequestDraft[],
  thinkTime: string,
  stages: readonly StageDraft[],
  workers: string,
): BenchmarkLoad | null {
  const isWrong =
    requests.some((each) => Object.keys(requestFaults(each)).length > 0) ||
    stages.some((each) => Object.keys(stageFaults(each)).length > 0) ||
    thinkTimeFault(thinkTime) !== undefined ||
    workersFault(workers) !== undefined;
  if (isWrong) return null;
  return {
    requests: requests.map(({ method, path, weight, headers, body }) => ({
      ...{ method, path, weight: Number(weight) },
      headers: Object.fromEntries(headersOf(headers)),
      body: takesBody(method) ? body : '',
    })),
    thinkTimeMs: Number(thinkTime),
    stages: stages.map(({ seconds, rate }) => ({
      durationMs: Math.round(Number(seconds) * 1000),
      requestsPerSecond: Number(rate),
    })),
    ...(workers === '' ? {} : { workers: Number(workers) }),
  };
}

function headersOf(text: string): [name: string, value: string][] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name.trim(), value.join(':').trim()];
    });
}

function isWhole(text: string, most: number): boolean {
  return /^\d{1,6}$/.test(text) && Number(text) >= 1 && Number(text) <= most;
}
