// Paths of the documentation. They are apart from the list of its pages, which most pages of the dashboard need not load.
export const docsPath = '/docs';
export const apiReferencePath = '/docs/api';
export const changelogPath = '/docs/changelog';
