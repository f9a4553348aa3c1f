// Log of the process: JSON lines on standard output, with the process's name. Invariant: no secrets and no messages.
import type { Log } from '@fairlead/core/kernel';
import { pino } from 'pino';

export function createLog(level: string): Log {
  const log = pino({ level, base: { process: 'web' } });
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
  };
}
