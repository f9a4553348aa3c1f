// Reads the state filter of the certificates page from the URL. Pure.
import { type CertificateFilter, certificateFilters } from '@fairlead/core/certificate/rules';

/** Returns the filter; undefined for no or an unknown one. */
export function toFilter(value: string): CertificateFilter | undefined {
  return certificateFilters.find((filter) => filter === value);
}
