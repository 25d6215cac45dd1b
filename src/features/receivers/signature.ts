import { createHmac } from 'node:crypto';

/**
 * The `Webhook-Signature` header, in Stripe's format.
 * @param time Unix time in seconds
 */
export const signatureOf = (body: string, secret: string, time: number): string =>
  `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
