// Progress output of `npm start`: a line for each step with its duration. On a terminal, running steps share one live
// line; elsewhere a heartbeat line appears every 15 s.
const SIGN_OF_LIFE_MS = 15_000;
const REDRAW_MS = 200;

export interface Progress {
  step<T>(label: string, work: (detail: (text: string) => void) => Promise<T>): Promise<T>;
  note(line: string): void;
}

interface Running {
  readonly label: string;
  readonly startedAt: number;
  detail: string;
}

export function createProgress(out: NodeJS.WriteStream = process.stdout): Progress {
  const running = new Set<Running>();
  let timer: NodeJS.Timeout | undefined;

  const clear = () => out.isTTY && out.write('\r\u001b[K');
  const draw = () => {
    const line = [...running].map((step) => describe(step)).join('  ·  ');
    out.write(`\r\u001b[K  …  ${line.slice(0, Math.max((out.columns ?? 80) - 6, 20))}`);
  };
  const tick = () => {
    if (out.isTTY) draw();
    else for (const step of running) out.write(`  …  ${describe(step)}\n`);
  };
  const print = (line: string) => {
    clear();
    out.write(`${line}\n`);
    if (out.isTTY && running.size > 0) draw();
  };

  return {
    note: print,
    async step(label, work) {
      const step: Running = { label, startedAt: performance.now(), detail: '' };
      running.add(step);
      timer ??= setInterval(tick, out.isTTY ? REDRAW_MS : SIGN_OF_LIFE_MS);
      if (out.isTTY) draw();
      let mark = 'FAIL';
      try {
        const result = await work((text) => {
          step.detail = text;
        });
        mark = ' ok ';
        return result;
      } finally {
        running.delete(step);
        if (running.size === 0) {
          clearInterval(timer);
          timer = undefined;
        }
        print(
          `${mark === ' ok ' ? '  ok' : 'FAIL'} ${label}${step.detail === '' ? '' : ` · ${step.detail}`} · ${elapsed(step)}`,
        );
      }
    },
  };
}

function describe(step: Running): string {
  return `${step.label}${step.detail === '' ? '' : ` · ${step.detail}`} · ${elapsed(step)}`;
}

function elapsed({ startedAt }: Running): string {
  return formatElapsed(performance.now() - startedAt);
}

export function formatElapsed(milliseconds: number): string {
  const tenths = Math.round(milliseconds / 100);
  if (tenths < 100) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
