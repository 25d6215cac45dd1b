import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import type { FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import { generateNonce } from 'siwe';
import type { Address } from 'viem';
import { v7 as uuidv7 } from 'uuid';
import { Database } from '#platform/database/database';
import { validationFailed } from '#platform/errors/errors';
import { Turns } from '#platform/timing/turns';
import type { Session } from '#features/access/current-user';
import { Sessions } from '#features/access/sessions';
import { FIND_NONCE, ISSUE_NONCES, SIGN_IN } from '#features/access/sign-in.sql';
import { AuthSettings } from './auth.settings';
import {
  type LogoutAllResponse,
  type LogoutResponse,
  MAX_MESSAGE,
  MAX_SIGNATURE,
  type NonceResponse,
  type VerifyResponse,
} from './auth.dto';
import { SignInRefused } from './sign-in-refused';
import { type SiweClaims, inStandardForm, parseSiweMessage, scanSiweMessage } from './siwe';
import { ContractWallets, isSignature, isSignedByKey } from './wallet-signature';

@Injectable()
export class AuthService {
  private readonly turns = new Turns();

  constructor(
    private readonly database: Database,
    private readonly jwt: JwtService,
    private readonly environment: AuthSettings,
    private readonly contracts: ContractWallets,
    private readonly sessions: Sessions,
  ) {}

  /** @param address the only wallet that may use the nonce; without it any wallet may */
  async issueNonce(address?: string): Promise<NonceResponse> {
    const nonce = generateNonce();
    await this.database.writeJoined(ISSUE_NONCES, {
      nonces: [nonce],
      addresses: [address?.toLowerCase() ?? null],
    });
    return { nonce };
  }

  /**
   * Runs the cheap steps first: without a valid nonce, a request costs one look-up and no more.
   * @throws SignInRefused for every fault of the request; other errors are faults of the service
   */
  async verify(message: unknown, signature: unknown): Promise<VerifyResponse> {
    if (typeof message !== 'string' || typeof signature !== 'string') throw new SignInRefused('malformed');
    if (message.length > MAX_MESSAGE || signature.length > MAX_SIGNATURE)
      throw new SignInRefused('malformed');
    if (!isSignature(signature)) throw new SignInRefused('signature');
    const claims = scanSiweMessage(message);
    if (!claims) throw new SignInRefused('malformed');
    const { nonce, address } = claims;
    if (!(await this.database.read(FIND_NONCE, { nonce, address }))) throw new SignInRefused('nonce');
    const { signer, chainId, isSigned } = await this.turns.run(() => {
      const { signer, chainId } = this.parse(message, claims);
      return { signer, chainId, isSigned: isSignedByKey(message, signer, signature) };
    });
    if (!isSigned && !(await this.contracts.verify(message, signer, signature)))
      throw new SignInRefused('signature');
    return this.signIn(nonce, address, chainId);
  }

  /** @returns the address that must have signed the message, and the chain that it names */
  private parse(message: string, { nonce, address }: SiweClaims): { signer: Address; chainId: number } {
    const { SIWE_DOMAINS: domains, CHAIN_ID, NODE_ENV } = this.environment;
    const rules = { domains, chainId: CHAIN_ID, strict: NODE_ENV === 'production' };
    const siwe = parseSiweMessage(inStandardForm(message), rules);
    // The signed message must have the nonce and the address that were looked up.
    if (siwe.nonce !== nonce || siwe.address.toLowerCase() !== address) throw new SignInRefused('malformed');
    return { signer: siwe.address as Address, chainId: siwe.chainId };
  }

  private async signIn(nonce: string, address: string, chainId: number): Promise<VerifyResponse> {
    const newId = uuidv7();
    const values = { nonces: [nonce], addresses: [address], newIds: [newId] };
    const row = (await this.database.writeJoined(SIGN_IN, values)).find(({ signIn }) => signIn === newId);
    if (!row) throw new SignInRefused('nonce');
    const { signIn: _, generation, ...user } = row;
    const claims = { userId: user.id, address: user.address, chainId, generation, jti: randomUUID() };
    // Signing needs no thread, and `signAsync` would send the few bytes through streams.
    return { token: this.jwt.sign(claims), user };
  }

  async logout(session: Session, request: FastifyRequest): Promise<LogoutResponse> {
    await this.sessions.end(session);
    request.log.info({ reqId: request.id, address: session.address }, 'signed out');
    return { ended: 'session' };
  }

  /** @param endWebhooks of the body; absent is false */
  async logoutAll(
    session: Session,
    endWebhooks: unknown,
    request: FastifyRequest,
  ): Promise<LogoutAllResponse> {
    const ended = endWebhooks ?? false;
    if (typeof ended !== 'boolean')
      throw validationFailed({ field: 'webhooks', message: 'must be a boolean value' });
    await this.sessions.endAll(session);
    request.log.info({ reqId: request.id, address: session.address }, 'signed out everywhere');
    const webhooks = await this.sessions.webhooksOf(session.userId, ended);
    return { ended: 'all', webhooks: webhooks.map(({ id, url }) => ({ id, url, ended })) };
  }
}
