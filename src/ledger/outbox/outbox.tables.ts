/** Tables of this room. They have no entities, because TypeORM knows no xid8. */
export const TABLES = ['outbox', 'outbox_consumers', 'outbox_removed', 'outbox_set_aside', 'outbox_staged'];
