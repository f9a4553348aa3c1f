import type { Metadata } from 'next';
import { RegisterGithubPage } from '../../../../../features/github/register-page.tsx';
import { organizationPage } from '../../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Connect GitHub' };

export default organizationPage(async () => <RegisterGithubPage />);
