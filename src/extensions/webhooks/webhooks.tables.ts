/** Tables of this module without an entity, as only statements read and write them. */
export const TABLES = ['webhook_crowds', 'webhook_events'];
