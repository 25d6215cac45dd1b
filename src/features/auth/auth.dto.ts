import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { ADDRESS } from '#values/rules';
import { ApiAddress, ApiId, ApiTime } from '#platform/openapi/fields';

export class NonceRequest {
  @ApiProperty({ pattern: ADDRESS.source, description: 'The only wallet that the nonce signs in' })
  @Matches(ADDRESS, { message: 'must be a wallet address' })
  address: string;
}

export class NonceResponse {
  @ApiProperty({ description: 'Single use, valid for 600 seconds' }) nonce: string;
}

/**
 * Characters. Typical messages have a few hundred. Parsing blocks the process: up to 15 ms for one of 4 KB, with some
 * hundred resources.
 */
export const MAX_MESSAGE = 4 * 1024;
/** Hex characters: 132 for an EOA, a few thousand for contract wallets (ERC-6492 with its factory call). */
export const MAX_SIGNATURE = 16 * 1024;

const EXAMPLE_MESSAGE = `savings.example.org wants you to sign in with your Ethereum account:
0x70997970C51812dc3A010C7d01b50e0d17dc79C8

Sign in to pooled savings.

URI: https://savings.example.org
Version: 1
Chain ID: 1
Nonce: w8KpXs2Rb7QeT4vN
Issued At: 2026-11-21T05:09:40.000Z`;
/** Signed by the wallet named in EXAMPLE_MESSAGE. */
const EXAMPLE_SIGNATURE =
  '0xb4a421170b06dd54c8cf44f9e993e23958f4999d35f3c0e926fc76239f47378c088cc53bd6955226f973e975959ca56222365a04b451e25bce0409d58acb718b1b';

/** Fields are not validated one by one: every fault gets the same 401. */
export class VerifyRequest {
  @ApiProperty({
    maxLength: MAX_MESSAGE,
    description: 'The full signed EIP-4361 message',
    example: EXAMPLE_MESSAGE,
  })
  message: string;
  @ApiProperty({
    maxLength: MAX_SIGNATURE,
    description: 'Hex; of an EOA (65 bytes, or 64 as in EIP-2098), EIP-1271 or ERC-6492 wallet',
    example: EXAMPLE_SIGNATURE,
  })
  signature: string;
}

export class SignedInUser {
  @ApiId() id: string;
  @ApiAddress() address: string;
  @ApiTime() createdAt: string;
}

export class VerifyResponse {
  @ApiProperty({
    description: 'JWT, valid for 7 days unless its session ends earlier',
    example: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIwMWExZmM4MiJ9.signature',
  })
  token: string;
  @ApiProperty({ type: SignedInUser }) user: SignedInUser;
}

export class LogoutResponse {
  @ApiProperty({ enum: ['session'], description: 'The session of the token' })
  ended: 'session';
}

export class LogoutAllRequest {
  @ApiProperty({ required: false, description: 'Whether to delete the webhooks too; false by default' })
  webhooks?: boolean;
}

export class WebhookOfUser {
  @ApiId() id: string;
  @ApiProperty({ format: 'uri', example: 'https://backend.example.org/savings-events' }) url: string;
  @ApiProperty({ description: 'Whether it was deleted; if not, it still gets events', example: false })
  ended: boolean;
}

export class LogoutAllResponse {
  @ApiProperty({ enum: ['all'], description: 'All sessions of the user up to now' }) ended: 'all';
  @ApiProperty({ type: [WebhookOfUser], description: 'The webhooks of the user' }) webhooks: WebhookOfUser[];
}
