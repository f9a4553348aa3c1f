// Formats numbers, sizes and times. Pure; never reads the clock or the machine's locale, so server and browser render
// the same text.

/** Formats a count with three significant digits; more would suggest a precision that was not measured. */
export function formatCount(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1e9) return `${trim(value / 1e9)}B`;
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e4) return `${trim(value / 1e3)}k`;
  if (size >= 100 || Number.isInteger(value)) return groupThousands(Math.round(value));
  return trim(value);
}

export function formatInteger(value: number): string {
  return Number.isFinite(value) ? groupThousands(Math.round(value)) : '–';
}

/** Formats milliseconds in the most readable unit. */
export function formatMs(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return '–';
  if (ms === 0) return '0 ms';
  if (ms < 1) return `${Math.max(1, Math.round(ms * 1000))} µs`;
  if (ms < 1000) return `${trim(ms)} ms`;
  if (ms < 60_000) return `${trim(ms / 1000)} s`;
  return formatDuration(ms);
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return '–';
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(value) : trim(value)} ${BYTE_UNITS[unit] ?? 'B'}`;
}

/**
 * Formats thousandths of a core as a share of the whole machine, 0 to 100 %; with an unknown number of cores, as cores.
 */
export function formatCpu(millis: number | null | undefined, cores: number): string {
  if (millis === null || millis === undefined || !Number.isFinite(millis)) return '–';
  // A sample that took longer than its second counts a little more than there is.
  return cores > 0 ? `${trim(Math.min(100, millis / 10 / cores))} %` : plural(millis / 1000, 'core', 'cores', trim);
}

export function formatPercent(share: number): string {
  return Number.isFinite(share) ? `${trim(share * 100)} %` : '–';
}

/** Formats a ratio to a baseline as `1.42×`. */
export function formatRatio(ratio: number): string {
  return Number.isFinite(ratio) ? `${ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2)}×` : '–';
}

/** Formats a value of a table column with fixed decimals, so that the points line up; empty for null. */
export function formatFixed(value: number | null, decimals: number): string {
  return value === null || !Number.isFinite(value) ? '' : value.toFixed(decimals);
}

/** Formats a duration: `840 ms`, `4.2 s`, `2 m 05 s`, `1 h 03 m`. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return '–';
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${pad(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${pad(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Formats a relative time, coarse on purpose: the exact time is shown on hover. */
export function formatAgo(at: Date, now: number): string {
  const ms = now - at.getTime();
  if (ms < 0) return formatIn(-ms);
  if (ms < 5000) return 'just now';
  return `${coarse(ms)} ago`;
}

function formatIn(ms: number): string {
  // A week from now is not 6 days a second later: what is still to come counts as whole.
  return ms < 5000 ? 'just now' : `in ${coarse(ms + roundUpMs(ms))}`;
}

function roundUpMs(ms: number): number {
  const minute = 60_000;
  if (ms < 2 * minute) return 0;
  return (ms < 120 * minute ? minute : ms < 48 * 60 * minute ? 60 * minute : 24 * 60 * minute) - 1;
}

function coarse(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h`;
  const days = Math.floor(hours / 24);
  if (days < 31) return days === 1 ? '1 day' : `${days} days`;
  const months = Math.floor(days / 30.44);
  return months < 12 ? `${months} mo` : `${Math.floor(days / 365.25)} y`;
}

/** Formats an absolute time in UTC, because server and browser must agree before hydration. */
export function formatAbsolute(at: Date): string {
  return Number.isNaN(at.getTime()) ? '' : `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

export function shortHash(hash: string): string {
  return hash.slice(0, 7);
}

/** Returns the path of a repository's URL, `owner/name`. */
export function repositoryName(url: string): string {
  const path = url
    .replace(/^[a-z+]+:\/\/[^/]*\//, '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '');
  return path.split('/').slice(-2).join('/');
}

export function plural(count: number, one: string, many = `${one}s`, format = formatInteger): string {
  return `${format(count)} ${count === 1 ? one : many}`;
}

function trim(value: number): string {
  const size = Math.abs(value);
  // A value above zero never reads 0: an error every ten minutes is not no error.
  if (size > 0 && size < 0.005) return value < 0 ? '>-0.01' : '<0.01';
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  const text = value.toFixed(digits);
  return text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : groupThousands(Number(text));
}

function groupThousands(value: number): string {
  // A narrow no-break space groups thousands: readable in every language, and it never wraps.
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
