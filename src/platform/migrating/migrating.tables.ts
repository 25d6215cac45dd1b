/** Only migrations write it. */
export const TABLES = ['required_migrations'] as const;
