// Addresses of the API of github.com and of a GitHub Enterprise Server, from the origin of its web pages. Pure.

const githubDotCom = 'https://github.com';

/** Base of the REST API. */
export function apiUrlOf(baseUrl: string): string {
  return baseUrl === githubDotCom ? 'https://api.github.com' : `${baseUrl}/api/v3`;
}
