'use client';
// Field for a local folder or a tar.gz of one, and the progress of its upload.
import { Button } from '@fairlead/ui/button';
import { type Formats, useFormats } from '@fairlead/ui/formats';
import { Meter } from '@fairlead/ui/meter';
import { FileArchive, Folder } from 'lucide-react';
import { useId, useRef } from 'react';
import { filesToUpload } from './picked-folder.ts';
import type { PickedSource, UploadProgress } from './upload-folder.ts';

export interface FolderFieldProps {
  readonly value: PickedSource | null;
  readonly error?: string | undefined;
  readonly onValue: (picked: PickedSource) => void;
}

export function FolderField({ value, error, onValue }: FolderFieldProps) {
  const hintId = useId();
  const formats = useFormats();
  const folder = useRef<HTMLInputElement>(null);
  const archive = useRef<HTMLInputElement>(null);
  return (
    <div className="flex flex-col gap-1.5">
      <span className="font-medium">Folder</span>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-control border border-line-control border-dashed px-3 py-3">
        <Button
          icon={<Folder size={15} aria-hidden="true" />}
          aria-describedby={hintId}
          onClick={() => folder.current?.click()}
        >
          Choose folder
        </Button>
        <Button
          variant="ghost"
          icon={<FileArchive size={15} aria-hidden="true" />}
          onClick={() => archive.current?.click()}
        >
          Choose .tar.gz
        </Button>
        <span className="min-w-0 flex-1 basis-40 truncate text-ink-soft text-sm" aria-live="polite">
          {value === null ? 'No folder chosen' : describePicked(value, formats)}
        </span>
      </div>
      <p
        id={hintId}
        className={error === undefined ? 'text-ink-faint text-sm' : 'text-bad-text text-sm'}
        aria-live="polite"
      >
        {error ??
          'A folder is sent without .git, node_modules and .env files, and all of its files become executable. A .tar.gz keeps its file modes.'}
      </p>
      <input
        ref={folder}
        type="file"
        aria-label="Folder to upload"
        // Lets the browser pick a folder with its subfolders.
        {...{ webkitdirectory: '' }}
        hidden
        onChange={({ target: { files } }) => {
          if (files === null || files.length === 0) return;
          const name = files[0]?.webkitRelativePath.split('/')[0] ?? '';
          onValue({ kind: 'folder', name, files: filesToUpload(files) });
        }}
      />
      <input
        ref={archive}
        type="file"
        aria-label="Archive to upload"
        accept=".tar.gz,.tgz,application/gzip"
        hidden
        onChange={({ target: { files } }) => {
          const file = files?.[0];
          if (file !== undefined) onValue({ kind: 'archive', name: file.name.replace(/\.(?:tar\.gz|tgz)$/, ''), file });
        }}
      />
    </div>
  );
}

function describePicked(picked: PickedSource, { formatBytes, plural }: Formats): string {
  if (picked.kind === 'archive') return `${picked.file.name}, ${formatBytes(picked.file.size)}`;
  const bytes = picked.files.reduce((total, { file }) => total + file.size, 0);
  return `${picked.name}: ${plural(picked.files.length, 'file')}, ${formatBytes(bytes)}`;
}

export function UploadMeter({ progress }: { readonly progress: UploadProgress | null }) {
  if (progress === null) return null;
  return (
    <Meter
      label={progress.step === 'packing' ? 'Packing the folder' : 'Uploading'}
      share={progress.share}
      warnAbove={1}
      text={progress.step === 'packing' ? '' : `${Math.floor(progress.share * 100)} %`}
    />
  );
}
