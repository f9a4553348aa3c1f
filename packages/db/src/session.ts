// Settings of every connection, whatever the defaults of the server or the role are. TimeZone: Prisma's adapter
// reads each timestamp as UTC. search_path: the default first uses a schema with the login role's name.
export const sessionSettings = '-c TimeZone=UTC -c search_path=public';
