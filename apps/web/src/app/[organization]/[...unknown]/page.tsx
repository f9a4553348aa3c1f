// Unknown paths of an organization, so that their 404 has the organization's navigation.
import type { Metadata } from 'next';
import { notFound } from 'next/navigation';

export const metadata: Metadata = { title: 'Page not found' };

export default function UnknownPage(): never {
  notFound();
}
