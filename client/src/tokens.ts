/** Where the token is kept between requests, and between visits if it is a lasting place. */
export interface TokenStore {
  get(): string | null | Promise<string | null>;
  /** null: forget it. */
  set(token: string | null): void | Promise<void>;
}

/** Forgets the token with the process or page. */
export function memoryTokens(token: string | null = null): TokenStore {
  return { get: () => token, set: (given) => void (token = given) };
}

/** What `localStorage` and `sessionStorage` are. */
export interface WebStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/**
 * Keeps the token in `localStorage` or `sessionStorage`, where every script of the page can read it: keep foreign
 * scripts out of such a page.
 */
export function webTokens(storage: WebStorage, key = 'pooled-savings-token'): TokenStore {
  return {
    get: () => storage.getItem(key),
    set: (token) => (token === null ? storage.removeItem(key) : storage.setItem(key, token)),
  };
}
