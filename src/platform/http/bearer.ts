import { createHash, timingSafeEqual } from 'node:crypto';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Tokens that open the metrics; none is set: they are open. While tokens are changed the one before counts too. */
interface MetricsTokens {
  METRICS_TOKEN?: string;
  METRICS_PREVIOUS_TOKEN?: string;
}

/** Whether the metrics may be given to who sent this Authorization header. */
export function mayScrape(
  authorization: string | undefined,
  { METRICS_TOKEN, METRICS_PREVIOUS_TOKEN }: MetricsTokens,
): boolean {
  if (!METRICS_TOKEN) return true;
  const tokens = METRICS_PREVIOUS_TOKEN ? [METRICS_TOKEN, METRICS_PREVIOUS_TOKEN] : [METRICS_TOKEN];
  return tokens.some((token) => bears(authorization, token));
}

/**
 * Whether an Authorization header carries the token. Comparing digests of equal length takes the same time for every
 * guess.
 */
function bears(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(given), digest(token));
}
