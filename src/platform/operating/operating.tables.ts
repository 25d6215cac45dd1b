/** Only commands write it, and triggers on what is done by SQL. */
export const TABLES = ['operator_records'];
