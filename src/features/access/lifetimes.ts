/** Longest time of a sign-in: from the nonce to the signed message. */
export const NONCE_LIFETIME_SECONDS = 600;
/** How long a token is valid, unless its session ends earlier. */
export const TOKEN_LIFETIME_SECONDS = 7 * 86_400;
