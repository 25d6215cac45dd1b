/** Keeps the token between requests, and between visits if the storage is permanent. */
export interface TokenStore {
  get(): string | null | Promise<string | null>;
  /** null deletes the token. */
  set(token: string | null): void | Promise<void>;
}

/** Keeps the token in memory, until the process or page ends. */
export function memoryTokens(token: string | null = null): TokenStore {
  return { get: () => token, set: (given) => void (token = given) };
}

/** The part of `localStorage` and `sessionStorage` that is used. */
export interface WebStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/**
 * Stores the token in `localStorage` or `sessionStorage`. Every script of the page can read it there, so the page must
 * not load foreign scripts.
 */
export function webTokens(storage: WebStorage, key = 'pooled-savings-token'): TokenStore {
  return {
    get: () => storage.getItem(key),
    set: (token) => (token === null ? storage.removeItem(key) : storage.setItem(key, token)),
  };
}

/** The claims of a token, which only the service can verify; none if it is no JWT. */
export function claimsOf(token: string): { readonly address?: unknown; readonly exp?: unknown } {
  try {
    const [, claims = ''] = token.split('.');
    return (JSON.parse(new TextDecoder().decode(bytesOf(claims))) as object | null) ?? {};
  } catch {
    return {};
  }
}

/** The bytes that base64 or base64url stands for; none if the text is neither. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (each) => each.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
