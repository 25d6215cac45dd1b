/** Tables without an entity: how far continuous verification is. It may write nothing else. */
export const TABLES = ['verify_walks'];
