// Next.js start-up hook: checks the process before the first request, so that it fails fast.
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return;
  const { start } = await import('./server/start.ts');
  await start();
}
