// Uploads a folder or an archive of one to the control plane with progress. Returns the digest for the deployment.
import { packTarGz } from '../../common/app/tar.ts';
import type { PickedFile } from './picked-folder.ts';

/** Selected source: files of a folder, or a tar.gz. */
export type PickedSource =
  | { readonly kind: 'folder'; readonly name: string; readonly files: readonly PickedFile[] }
  | { readonly kind: 'archive'; readonly name: string; readonly file: File };

export interface UploadTarget {
  readonly organization: string;
  /** Absent for a new app. */
  readonly appId?: string;
  readonly environmentId?: string | undefined;
}

export interface UploadProgress {
  readonly step: 'packing' | 'sending';
  /** Progress from 0 to 1. */
  readonly share: number;
}

/** Throws errors that `readFailure` understands. */
export async function uploadFolder(
  source: PickedSource,
  target: UploadTarget,
  onProgress: (progress: UploadProgress) => void,
): Promise<string> {
  onProgress({ step: 'packing', share: 0 });
  const packed = source.kind === 'archive' ? source.file : await new Response(packTarGz(source.files)).blob();
  return send(packed, target, onProgress);
}

function send(body: Blob, target: UploadTarget, onProgress: (progress: UploadProgress) => void): Promise<string> {
  const query = new URLSearchParams({ organization: target.organization });
  if (target.appId !== undefined) query.set('appId', target.appId);
  if (target.environmentId !== undefined) query.set('environmentId', target.environmentId);
  // XMLHttpRequest, because fetch reports no upload progress.
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.open('POST', `/api/deployment/upload?${query}`);
    request.responseType = 'json';
    request.upload.onprogress = ({ loaded, total }) => onProgress({ step: 'sending', share: loaded / (total || 1) });
    request.onload = () => {
      const answer: unknown = request.response;
      const digest = textOf(answer, 'digest');
      if (request.status === 200 && digest !== null) resolve(digest);
      else reject(refusalOf(answer));
    };
    request.onerror = () => reject(new Error('the upload was interrupted'));
    request.send(body);
  });
}

/** Converts a problem document to the error format of API calls. */
function refusalOf(answer: unknown): Error {
  const data = { errorCode: textOf(answer, 'code'), errorId: textOf(answer, 'errorId'), fields: {} };
  return Object.assign(new Error(textOf(answer, 'title') ?? ''), { data });
}

function textOf(value: unknown, name: string): string | null {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : null;
  return typeof found === 'string' ? found : null;
}
