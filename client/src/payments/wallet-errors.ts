/** The error and what it wraps: `cause` of viem, `data.originalError` of MetaMask, `error` and `info` of ethers. */
export function* wrapped(error: unknown, seen = new Set<unknown>()): Generator<Record<string, unknown>> {
  if (typeof error !== 'object' || error === null || seen.has(error)) return;
  seen.add(error);
  const each = error as Record<string, unknown>;
  yield each;
  for (const field of ['cause', 'data', 'originalError', 'error', 'info']) yield* wrapped(each[field], seen);
}

const hasCode = (error: unknown, ...codes: number[]): boolean =>
  [...wrapped(error)].some(({ code }) => codes.includes(Number(code)));

/** The person said no (EIP-1193). */
export const isRejection = (error: unknown): boolean => hasCode(error, 4001);

/** The call was carried out in a trial, and reverted. */
export const isRevert = (error: unknown): boolean =>
  hasCode(error, 3) || texts(error).some((text) => /revert/i.test(text));

/** EIP-5792: the wallet does not know the id of a batch. */
export const isUnknownBatch = (error: unknown): boolean => hasCode(error, 5730);

/** The wallet does not know the chain (EIP-3085, EIP-3326). Some wrap this code in -32603. */
export const isUnknownChain = (error: unknown): boolean =>
  hasCode(error, 4902) ||
  texts(error).some((text) => /unrecognized chain|unknown chain|chain .*not added/i.test(text));

/** The wallet does not have the method, or this page may not use it. */
export const lacksMethod = (error: unknown): boolean =>
  hasCode(error, 4200, 4100, -32601, -32004) ||
  texts(error).some((text) =>
    /method.*(not (supported|found|available|exist|implemented|whitelisted)|unsupported)|(unsupported|unknown) method/i.test(
      text,
    ),
  );

/** EIP-5792: what the wallet cannot do with these calls, or what the person does not want it to become for them. */
export const refusesBatch = (error: unknown): boolean =>
  lacksMethod(error) || hasCode(error, -32602, 5700, 5710, 5740, 5750, 5760);

export const texts = (error: unknown): string[] =>
  [...wrapped(error)].flatMap(({ message, details, data }) =>
    [message, details, data].filter((each): each is string => typeof each === 'string'),
  );
