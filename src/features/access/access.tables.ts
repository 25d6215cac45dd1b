/** Tables of this module without an entity, as only statements read and write them. */
export const TABLES = ['nonces', 'session_endings'];
