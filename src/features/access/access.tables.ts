/** Tables of this room without an entity, as only statements read and write them. */
export const TABLES = ['nonces', 'session_endings'];
