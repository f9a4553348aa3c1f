import type { Metadata } from 'next';
import { RegisteredPage } from '../../../../../features/github/returned-page.tsx';
import { organizationPage } from '../../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Connect GitHub' };

export default organizationPage(async ({ search }) => <RegisteredPage state={search('state')} code={search('code')} />);
