// Next.js start-up hook: sets up the process before the first request, so that it fails fast.
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return;
  const { parts } = await import('./server/parts.ts');
  const { log } = await parts();
  log.info({}, 'the web app is ready');
}
