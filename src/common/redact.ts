const ADDRESS = /\b((?:https?|wss?|postgres(?:ql)?|rediss?(?:\+[a-z]+)?):\/\/)([^\s"'`<>]*)/gi;

/**
 * A message fit for a log: of addresses only scheme and host are left, as the rest may hold passwords and API keys;
 * of what a chain client was asked, nothing, as that may be a signature. Libraries put both into their errors.
 */
export function redact(text: string): string {
  return text
    .replace(ADDRESS, (_, scheme: string, rest: string) => scheme + (hostOf(rest) ?? '…'))
    .replace(/^(\s*Request body: ).*$/gm, '$1…');
}

function hostOf(rest: string): string | undefined {
  const [authority = ''] = rest.split(/[/?#]/);
  // A password may have been written with a slash in it.
  if (rest.lastIndexOf('@') > authority.length) return undefined;
  return authority.slice(authority.lastIndexOf('@') + 1);
}
