// Types of install.mjs for the tools in TypeScript.
export class SetupError extends Error {}
export function checkPrograms(wanted: { readonly rust: boolean }): Promise<void>;
export function installDependencies(
  root: string,
  options?: { readonly report?: () => void },
): Promise<{ readonly installed: boolean }>;
export function nodeOf(root: string): string;
export function handOver(root: string, script: string, args: readonly string[], nodeArgs?: readonly string[]): void;
export function likeTests(kind: '--bin' | '--example', name: string): string[];
export function startCargo(root: string, args: readonly string[]): void;
