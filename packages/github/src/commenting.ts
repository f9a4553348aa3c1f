// Calls about pull requests: their comments and changed files.
import { ownerAndName } from './convert.ts';
import type { RepositoryPlace } from './reporting.ts';
import { ask, requestOf, type TransportOptions } from './transport.ts';

export interface CommentSearch {
  /** Id of the GitHub App that wrote it: anybody can write the marker. */
  readonly githubId: number;
  readonly marker: string;
}

export interface Commenting {
  /** Returns the oldest comment of the app with the marker; null: there is none. */
  findComment(place: RepositoryPlace, number: number, search: CommentSearch): Promise<number | null>;
  createComment(place: RepositoryPlace, number: number, body: string): Promise<number>;
  /** Throws GithubError not_found if somebody deleted it. */
  updateComment(place: RepositoryPlace, id: number, body: string): Promise<void>;
  /** Returns the paths that the pull request changes, also those before a renaming; null: more than GitHub lists. */
  listPullRequestFiles(place: RepositoryPlace, number: number): Promise<readonly string[] | null>;
}

const pageSize = 100;
/** Bounds a discussion of any length. */
const pagesMax = 10;
/** GitHub's maximum. */
const filesMax = 3000;

export function createCommenting(options: TransportOptions): Commenting {
  const at = ({ baseUrl, token, fullName }: RepositoryPlace) => ({
    request: requestOf(options, baseUrl, token),
    path: ownerAndName(fullName),
  });
  return {
    findComment: (place, number, { githubId, marker }) =>
      ask(options, async () => {
        const { request, path } = at(place);
        for (let page = 1; page <= pagesMax; page += 1) {
          const { data } = await request('GET /repos/{owner}/{repo}/issues/{issue_number}/comments', {
            ...path,
            issue_number: number,
            per_page: pageSize,
            page,
          });
          const found = data.find(
            ({ body, performed_via_github_app: app }) =>
              Number(app?.id ?? 0) === githubId && body?.startsWith(marker) === true,
          );
          if (found !== undefined) return Number(found.id);
          if (data.length < pageSize) break;
        }
        return null;
      }),

    listPullRequestFiles: (place, number) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const files: string[] = [];
        for (let page = 1; page <= filesMax / pageSize; page += 1) {
          const { data } = await request('GET /repos/{owner}/{repo}/pulls/{pull_number}/files', {
            ...path,
            pull_number: number,
            per_page: pageSize,
            page,
          });
          files.push(...data.flatMap((file) => [file.filename, file.previous_filename ?? file.filename]));
          if (data.length < pageSize) return [...new Set(files)];
        }
        return null;
      }),

    createComment: (place, number, body) =>
      ask(options, async () => {
        const { request, path } = at(place);
        const { data } = await request('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', {
          ...path,
          issue_number: number,
          body,
        });
        return Number(data.id);
      }),

    updateComment: (place, id, body) =>
      ask(options, async () => {
        const { request, path } = at(place);
        await request('PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}', { ...path, comment_id: id, body });
      }),
  };
}
