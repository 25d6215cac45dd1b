import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { randomUUID } from 'node:crypto';
import { generateNonce } from 'siwe';
import type { Address } from 'viem';
import { v7 as uuidv7 } from 'uuid';
import { invalidToken } from '../common/errors';
import { JsonText } from '../common/json-text';
import { Environment } from '../config/environment';
import { Database } from '../database/database';
import {
  MAX_MESSAGE,
  MAX_SIGNATURE,
  type MeResponse,
  type NonceResponse,
  type SignedInUser,
  type VerifyResponse,
} from './auth.dto';
import type { AuthenticatedUser } from './current-user';
import { SignInRefused } from './sign-in-refused';
import { type SiweClaims, parseSiweMessage, scanSiweMessage } from './siwe';
import { ContractWallets, isSignature, isSignedByKey } from './wallet-signature';

/** Seconds. */
const NONCE_LIFETIME = 600;

export const ISSUE_NONCE = {
  name: 'issue_nonce',
  text: `
    INSERT INTO nonces (nonce, address, expires_at)
    VALUES ($1, $2, now() + make_interval(secs => ${NONCE_LIFETIME}))`,
};

// Looks without using it up, so that a message costs neither its parsing nor the chain unless its nonce is good.
export const FIND_NONCE = {
  name: 'find_nonce',
  text: `SELECT true AS found FROM nonces WHERE nonce = $1 AND expires_at > now() AND (address IS NULL OR address = $2)`,
};

// One statement: of any number of simultaneous sign-ins with one nonce exactly one finds a row to delete. The
// update on conflict changes nothing; it makes RETURNING give the user that was there already.
export const SIGN_IN = {
  name: 'sign_in',
  text: `
    WITH used AS (
      DELETE FROM nonces WHERE nonce = $1 AND expires_at > now() AND (address IS NULL OR address = $2) RETURNING 1
    )
    INSERT INTO users (id, address, created_at) SELECT $3, $2, now() FROM used
    ON CONFLICT ON CONSTRAINT users_address_key DO UPDATE SET address = excluded.address
    RETURNING id, address, iso(created_at) AS "createdAt", session_generation AS generation`,
};

export const ME = {
  name: 'me',
  text: `
    SELECT json_build_object(
      'id', u.id, 'address', u.address,
      'poolCount', (SELECT count(*) FROM pools WHERE owner_id = u.id),
      'totalDeposits', (SELECT coalesce(sum(deposited), 0)::text FROM account_days WHERE address = u.address),
      'createdAt', iso(u.created_at))::text AS data
    FROM users u WHERE u.id = $1`,
};

@Injectable()
export class AuthService {
  constructor(
    private readonly database: Database,
    private readonly jwt: JwtService,
    private readonly environment: Environment,
    private readonly contracts: ContractWallets,
  ) {}

  /** @param address the only wallet it may sign in; without one it may sign in any */
  async issueNonce(address?: string): Promise<NonceResponse> {
    const nonce = generateNonce();
    await this.database.write(ISSUE_NONCE, [nonce, address?.toLowerCase() ?? null]);
    return { nonce };
  }

  /**
   * In the order of what the steps cost: a stranger gets no further than a look for the nonce.
   * @throws SignInRefused for every fault of the request; other errors are the service's own
   */
  async verify(message: unknown, signature: unknown): Promise<VerifyResponse> {
    if (typeof message !== 'string' || typeof signature !== 'string') throw new SignInRefused('malformed');
    if (message.length > MAX_MESSAGE || signature.length > MAX_SIGNATURE)
      throw new SignInRefused('malformed');
    if (!isSignature(signature)) throw new SignInRefused('signature');
    const claims = scanSiweMessage(message);
    if (!claims) throw new SignInRefused('malformed');
    const { nonce, address } = claims;
    if (!(await this.database.read(FIND_NONCE, [nonce, address]))) throw new SignInRefused('nonce');
    const signer = this.parse(message, claims);
    if (
      !(await isSignedByKey(message, signer, signature)) &&
      !(await this.contracts.verify(message, signer, signature))
    )
      throw new SignInRefused('signature');
    return this.signIn(nonce, address);
  }

  /** @returns the address that has to have signed */
  private parse(message: string, { nonce, address }: SiweClaims): Address {
    const { SIWE_DOMAINS: domains, CHAIN_ID: chainId, NODE_ENV } = this.environment;
    const siwe = parseSiweMessage(message, { domains, chainId, strict: NODE_ENV === 'production' });
    // What was looked up has to be what was signed.
    if (siwe.nonce !== nonce || siwe.address.toLowerCase() !== address) throw new SignInRefused('malformed');
    return siwe.address as Address;
  }

  private async signIn(nonce: string, address: string): Promise<VerifyResponse> {
    const row = await this.database.write<SignedInUser & { generation: number }>(SIGN_IN, [
      nonce,
      address,
      uuidv7(),
    ]);
    if (!row) throw new SignInRefused('nonce');
    const { generation, ...user } = row;
    const claims = { userId: user.id, address: user.address, generation, jti: randomUUID() };
    return { token: await this.jwt.signAsync(claims), user };
  }

  async me({ userId }: AuthenticatedUser): Promise<JsonText<MeResponse>> {
    const row = await this.database.read<{ data: string }>(ME, [userId]);
    if (!row) throw invalidToken();
    return new JsonText(row.data);
  }
}
