import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Whether an answer repeats the challenge: as `{"challenge":"…"}` or the bare text. Nothing may stand beside it, since a
 * server that sends every request back has not been set up by anybody for this.
 */
export function answersChallenge(answer: string, challenge: string): boolean {
  const text = answer.trim();
  return timingSafeEqual(digest(text.startsWith('{') ? fieldOf(text) : text), digest(challenge));
}

function fieldOf(text: string): string {
  try {
    const { challenge, ...others } = JSON.parse(text) as Record<string, unknown>;
    return typeof challenge === 'string' && Object.keys(others).length === 0 ? challenge : '';
  } catch {
    return '';
  }
}

/** The part of the internet that an address belongs to, as one customer usually has it: /24, or /48 of IPv6. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address.split('.').slice(0, 3).join('.');
  const [head] = address.split('::');
  return [...head.split(':'), '0', '0', '0'].slice(0, 3).join(':');
}
