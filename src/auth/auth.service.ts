import { Inject, Injectable, Optional } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { generateNonce } from 'siwe';
import type { Address, PublicClient } from 'viem';
import { v7 as uuidv7 } from 'uuid';
import { CHAIN_CLIENT } from '../chain/chain.module';
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
import type { CurrentUser } from './current-user';
import { SignInRefused, parseSiweMessage, verifySignature } from './siwe';

/** Seconds. */
const NONCE_LIFETIME = 600;

export const ISSUE_NONCE = {
  name: 'issue_nonce',
  text: `
    INSERT INTO nonces (nonce, address, expires_at)
    VALUES ($1, $2, now() + make_interval(secs => ${NONCE_LIFETIME}))`,
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
    RETURNING id, address, iso(created_at) AS "createdAt"`,
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
    @Optional() @Inject(CHAIN_CLIENT) private readonly chain: PublicClient | undefined,
  ) {}

  /** @param address the only wallet it may sign in; without one it may sign in any */
  async issueNonce(address?: string): Promise<NonceResponse> {
    const nonce = generateNonce();
    await this.database.write(ISSUE_NONCE, [nonce, address?.toLowerCase() ?? null]);
    return { nonce };
  }

  /** @throws SignInRefused for every fault of the request; other errors are the service's own */
  async verify(message: unknown, signature: unknown): Promise<VerifyResponse> {
    if (typeof message !== 'string' || typeof signature !== 'string') throw new SignInRefused('malformed');
    if (message.length > MAX_MESSAGE || signature.length > MAX_SIGNATURE)
      throw new SignInRefused('malformed');
    const { SIWE_DOMAINS: domains, CHAIN_ID: chainId } = this.environment;
    const siwe = parseSiweMessage(message, { domains, chainId });
    if (!(await verifySignature(message, siwe.address as Address, signature, this.chain)))
      throw new SignInRefused('signature');
    const user = await this.database.write<SignedInUser>(SIGN_IN, [
      siwe.nonce,
      siwe.address.toLowerCase(),
      uuidv7(),
    ]);
    if (!user) throw new SignInRefused('nonce');
    return { token: await this.jwt.signAsync({ userId: user.id, address: user.address }), user };
  }

  async me({ userId }: CurrentUser): Promise<JsonText<MeResponse>> {
    const row = await this.database.read<{ data: string }>(ME, [userId]);
    if (!row) throw invalidToken();
    return new JsonText(row.data);
  }
}
