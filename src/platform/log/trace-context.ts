/** The trace that a request belongs to, and the caller's span in it. */
export interface Trace {
  traceId: string;
  parentId: string;
}

/** W3C Trace Context, 3.2.2: version, trace, parent, flags, and more in versions to come. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/**
 * Reads `traceparent`. Of a later version it reads what version 00 has too, as 3.2.3 says.
 * @returns undefined if there is none, or it is invalid
 */
export function traceOf(header: string | string[] | undefined): Trace | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, parentId, more] = TRACEPARENT.exec(header) ?? [];
  if (traceId === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, parentId };
}
