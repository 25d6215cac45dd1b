/** A table of this room. It has no entity, because TypeORM knows no xid8. */
export const TABLES = ['session_endings'];
