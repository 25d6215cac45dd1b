/** Tables of this room without an entity, as only statements read and write them. */
export const TABLES = ['webhook_crowds', 'webhook_events'];
