export { approvePreview } from './approve-preview.ts';
export { deletePreviewEnvironment } from './delete-preview-environment.ts';
export { listPreviews } from './list-previews.ts';
export { type CommentContent, loadComment } from './load-comment.ts';
export { loadPreviewDecisions } from './load-preview-decisions.ts';
export { type FilteredPullRequest, findFilteredPullRequest } from './path-filter.ts';
export { getPreviewPolicy, updatePreviewPolicy } from './preview-policy.ts';
export { processPullRequest } from './process-pull-request.ts';
export { changesPreview, parsePullRequest } from './pull-request.ts';
export { removePreview } from './remove-preview.ts';
export * from './schema.ts';
export {
  findEndedPreviews,
  findOutdatedPreviews,
  type PreviewTask,
  prunePreviews,
  refreshPreview,
} from './sweep-previews.ts';
