const REDACTED = '[redacted]';
/** Matches the end of a field name, in lower case without `-` and `_`. */
const SECRET_FIELD =
  /(authorization|cookie|token|jwt|signature|nonce|secret|password|passwd|apikey|privatekey)s?$/;
/** In texts: JWTs, what follows `Bearer`, and hex as long as a signature. */
const SECRET_TEXT = /\beyJ[\w-]+\.[\w-]+\.[\w-]*|(?<=\bBearer\s)[\w.~+/=-]+|\b0x[0-9a-f]{128,}/gi;

/** Limits of a log line: levels of nested objects, and elements or fields of each. */
const MAX_DEPTH = 6;
const MAX_FIELDS = 100;
const MAX_CAUSES = 5;
/** Characters of an error's text, and of its stack. Libraries put whole answers and statements into them. */
const MAX_MESSAGE = 2000;
const MAX_STACK = 6000;

/** A URL ends at a quote or bracket, unless that is part of a password. */
const URL_TEXT =
  /\b((?:https?|wss?|postgres(?:ql)?|rediss?(?:\+[a-z]+)?):\/\/)([^\s"'`<>]*(?:["'`<>]\S{0,200}@[^\s"'`<>]*)?)/gi;
/**
 * A text that is safe to log. URLs keep only scheme and host, because the rest may hold passwords and API keys.
 * Requests to the chain are removed, because they may hold signatures. Libraries put both into their errors.
 */
export const redactText = (text: unknown): string =>
  String(text)
    .replace(URL_TEXT, (_, scheme: string, rest: string) => scheme + (hostOf(rest) ?? '…'))
    .replace(/^(\s*Request body: ).*$/gm, '$1…')
    .replace(SECRET_TEXT, REDACTED);

function hostOf(rest: string): string | undefined {
  const [authority = ''] = rest.split(/[/?#]/);
  // A password may contain a slash.
  if (rest.lastIndexOf('@') > authority.length) return undefined;
  const hosts = authority.slice(authority.lastIndexOf('@') + 1);
  // What looks like a port may be part of a password that contains a space.
  return hosts.split(',').every(isHost) ? hosts : undefined;
}

/** With or without a port. Punctuation of a sentence may follow. */
function isHost(text: string): boolean {
  const [, port = '', ...rest] = text.replace(/^\[[^\]]*\]/, '').split(':');
  return /^\d*[).;!]*$/.test(port) && rest.every((each) => each === '');
}

/** The fields of an error that help to diagnose it. Others may hold statement parameters, bodies or tokens. */
export function describeError(error: unknown, causes = MAX_CAUSES): unknown {
  if (!(error instanceof Error)) return { message: redactText(error) };
  const { name, message, stack, code, constraint, table, cause } = error as Error & Record<string, unknown>;
  return {
    name,
    message: redactText(message).slice(0, MAX_MESSAGE),
    stack: stack === undefined ? undefined : redactText(stack).slice(0, MAX_STACK),
    code,
    constraint,
    table,
    ...(cause !== undefined && causes > 0 && { cause: describeError(cause, causes - 1) }),
  };
}

/** A copy of a logged value that JSON can hold, without the values of secret fields. */
export function redact(value: unknown, depth = MAX_DEPTH): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  if (typeof value === 'function') return `[function ${value.name}]`;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return describeError(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (depth === 0) return Array.isArray(value) ? '[array]' : '[object]';
  if (Array.isArray(value) || value instanceof Set)
    return [...value].slice(0, MAX_FIELDS).map((item) => redact(item, depth - 1));
  return redactFields(value, depth);
}

function redactFields(value: object, depth: number): unknown {
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const copy: Record<string, unknown> = {};
  for (const [key, field] of entries.slice(0, MAX_FIELDS) as [unknown, unknown][]) {
    const name = String(key);
    const isSecret = SECRET_FIELD.test(name.toLowerCase().replace(/[-_]/g, ''));
    copy[name] = isSecret && field != null ? REDACTED : redact(field, depth - 1);
  }
  return copy;
}
