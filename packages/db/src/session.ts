// What every connection of ours sets at its start, whatever the server's or the role's defaults are.
//   TimeZone: Prisma's adapter reads each timestamp as UTC, so the session must speak UTC.
//   search_path: the default looks first into a schema that is named like the login role.
export const sessionSettings = '-c TimeZone=UTC -c search_path=public';
