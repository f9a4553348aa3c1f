// Formats numbers, sizes and durations. Pure: the viewer's locale is a parameter, so that server and browser render the
// same text.

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

export type NumberFormats = ReturnType<typeof numberFormats>;

/** Returns the number formats of a locale. Words and units stay English. */
export function numberFormats(locale: string) {
  const formatters = new Map<string, Intl.NumberFormat>();

  function decimal(value: number, digitsMax: number, digitsMin = 0): string {
    const key = `${digitsMin} ${digitsMax}`;
    let formatter = formatters.get(key);
    if (formatter === undefined) {
      formatter = new Intl.NumberFormat(plainLocale(locale), {
        minimumFractionDigits: digitsMin,
        maximumFractionDigits: digitsMax,
      });
      formatters.set(key, formatter);
    }
    return formatter.format(value);
  }

  /** Formats three significant digits; more would suggest a precision that was not measured. */
  function significant(value: number): string {
    const size = Math.abs(value);
    // A value above zero never reads 0: an error every ten minutes is not no error.
    if (size > 0 && size < 0.005) return `${value < 0 ? '>-' : '<'}${decimal(0.01, 2)}`;
    return decimal(value, size >= 100 ? 0 : size >= 10 ? 1 : 2);
  }

  function formatCount(value: number): string {
    if (!Number.isFinite(value)) return '–';
    const size = Math.abs(value);
    if (size >= 1e9) return `${significant(value / 1e9)}B`;
    if (size >= 1e6) return `${significant(value / 1e6)}M`;
    if (size >= 1e4) return `${significant(value / 1e3)}k`;
    return significant(value);
  }

  function formatInteger(value: number): string {
    return Number.isFinite(value) ? decimal(value, 0) : '–';
  }

  function plural(count: number, one: string, many = `${one}s`, format = formatInteger): string {
    return `${format(count)} ${count === 1 ? one : many}`;
  }

  /** Formats milliseconds in the most readable unit. */
  function formatMs(ms: number | null | undefined): string {
    if (ms === null || ms === undefined || !Number.isFinite(ms)) return '–';
    if (ms === 0) return '0 ms';
    if (ms < 1) return `${Math.max(1, Math.round(ms * 1000))} µs`;
    if (ms < 1000) return `${significant(ms)} ms`;
    if (ms < 60_000) return `${significant(ms / 1000)} s`;
    return formatDuration(ms);
  }

  function formatBytes(bytes: number | null | undefined): string {
    if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return '–';
    let value = bytes;
    let unit = 0;
    while (Math.abs(value) >= 1000 && unit < BYTE_UNITS.length - 1) {
      value /= 1024;
      unit += 1;
    }
    return `${unit === 0 ? Math.round(value) : significant(value)} ${BYTE_UNITS[unit] ?? 'B'}`;
  }

  /**
   * Formats thousandths of a core as a share of the whole machine, 0 to 100 %; with an unknown number of cores, as cores.
   */
  function formatCpu(millis: number | null | undefined, cores: number): string {
    if (millis === null || millis === undefined || !Number.isFinite(millis)) return '–';
    // A sample that took longer than its second counts a little more than there is.
    if (cores > 0) return `${significant(Math.min(100, millis / 10 / cores))} %`;
    return plural(millis / 1000, 'core', 'cores', significant);
  }

  function formatPercent(share: number): string {
    return Number.isFinite(share) ? `${significant(share * 100)} %` : '–';
  }

  /** Formats a ratio to a baseline as `1.42×`. */
  function formatRatio(ratio: number): string {
    const digits = ratio >= 10 ? 1 : 2;
    return Number.isFinite(ratio) ? `${decimal(ratio, digits, digits)}×` : '–';
  }

  /** Formats a value of a table column with fixed decimals, so that the points line up; empty for null. */
  function formatFixed(value: number | null, decimals: number): string {
    return value === null || !Number.isFinite(value) ? '' : decimal(value, decimals, decimals);
  }

  /** Formats a duration: `840 ms`, `4.2 s`, `2 m 05 s`, `1 h 03 m`. */
  function formatDuration(ms: number | null | undefined): string {
    if (ms === null || ms === undefined || !Number.isFinite(ms)) return '–';
    if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
    if (ms < 60_000) return `${decimal(Math.floor(ms / 100) / 10, 1, 1)} s`;
    const seconds = Math.floor(ms / 1000);
    const minutes = Math.floor(seconds / 60);
    if (minutes < 60) return `${minutes} m ${pad(seconds % 60)} s`;
    const hours = Math.floor(minutes / 60);
    if (hours < 48) return `${hours} h ${pad(minutes % 60)} m`;
    return `${decimal(Math.floor(hours / 24), 0)} d ${hours % 24} h`;
  }

  return {
    formatCount,
    formatInteger,
    plural,
    formatMs,
    formatBytes,
    formatCpu,
    formatPercent,
    formatRatio,
    formatFixed,
    formatDuration,
  };
}

/** Keeps Latin digits and the calendar of ISO 8601 in every locale: they stand beside those of logs, hashes and code. */
export function plainLocale(locale: string): string {
  return `${locale}-u-ca-gregory-nu-latn`;
}

const MINUTE_MS = 60_000;

/** Formats a relative time, coarse on purpose: the exact time is shown on hover. */
export function formatAgo(at: Date, now: number): string {
  const ms = now - at.getTime();
  if (ms < 0) return formatIn(-ms);
  if (ms < 5000) return 'just now';
  return `${coarse(ms)} ago`;
}

function formatIn(ms: number): string {
  return ms < 5000 ? 'just now' : `in ${coarse(ms + slackMs(ms))}`;
}

/** Hours round down, and an hour from now stays one for a minute. Days round up: a week from now is a week all its first day. */
function slackMs(ms: number): number {
  if (ms < 2 * MINUTE_MS) return 0;
  return (ms < 48 * 60 * MINUTE_MS ? MINUTE_MS : 24 * 60 * MINUTE_MS) - 1;
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

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
