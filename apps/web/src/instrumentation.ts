// Runs once when the server starts, before the first request: refuses a database whose row-level security would not bind.
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return;
  const { start } = await import('./server/start.ts');
  await start();
}
