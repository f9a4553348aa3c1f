// The page of the sample app, rendered once at start.

const escapeHtml = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** @param {{ startedAt: Date, version: string, release: string }} facts */
export function page(facts) {
  return Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hello from Fairlead</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='none' stroke='%23e8590c' stroke-width='2'%3E%3Ccircle cx='8' cy='8' r='5'/%3E%3Cpath d='M1 13 15 3'/%3E%3C/svg%3E">
<style>
  :root { color-scheme: light dark; --ink: #1c2430; --soft: #5d6878; --ground: #f7f8fa; --card: #fff; --line: #e3e7ec; --accent: #c2410c }
  @media (prefers-color-scheme: dark) { :root { --ink: #e8ecf2; --soft: #9aa6b6; --ground: #0f141b; --card: #171d26; --line: #283140; --accent: #fb923c } }
  * { box-sizing: border-box }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px; background: var(--ground); color: var(--ink);
         font: 400 16px/1.5 Geist, ui-sans-serif, system-ui, sans-serif }
  main { width: min(520px, 100%); background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 32px }
  svg { color: var(--accent) }
  h1 { margin: 16px 0 4px; font-size: 28px; font-weight: 600; letter-spacing: -.01em }
  p { margin: 0 0 24px; color: var(--soft) }
  dl { margin: 0; display: grid; grid-template-columns: auto 1fr; gap: 8px 24px; font-size: 14px }
  dt { color: var(--soft) }
  dd { margin: 0; font-family: "Geist Mono", ui-monospace, monospace; font-size: 13px; overflow-wrap: anywhere }
</style>
</head>
<body>
<main>
  <svg width="40" height="40" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.6" aria-hidden="true">
    <circle cx="8" cy="8" r="5"/><path d="M1 13 15 3"/>
  </svg>
  <h1>It runs.</h1>
  <p>This page comes from your own server: cloned, built, checked and routed by Fairlead.</p>
  <dl>
    <dt>Release</dt><dd>${escapeHtml(facts.release)}</dd>
    <dt>Node</dt><dd>${escapeHtml(facts.version)}</dd>
    <dt>Started</dt><dd>${escapeHtml(facts.startedAt.toISOString())}</dd>
  </dl>
</main>
</body>
</html>
`);
}
