// Runs once when the server starts, before the first request: a process that cannot serve says so at once.
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return;
  const { start } = await import('./server/start.ts');
  await start();
}
