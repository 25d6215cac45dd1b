import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { AnalyticsService } from '../../src/analytics/analytics.service';
import { AuthService } from '../../src/auth/auth.service';
import type { CurrentUser } from '../../src/auth/current-user';
import type { Database, Statement } from '../../src/database/database';
import { LotteryService } from '../../src/lottery/lottery.service';
import { LIST_POOLS, POOL_DETAIL, POOL_YIELD } from '../../src/pools/pools.sql';
import { LIST_TRANSACTIONS, TRANSACTION_DETAIL } from '../../src/transactions/transactions.sql';

/** The service's own statements. Those that it does not export are caught from a service without a database. */
export async function serviceStatements() {
  const user: CurrentUser = { userId: '', address: '' };
  const analytics = (database: Database) => new AnalyticsService(database);
  const lottery = (database: Database) => new LotteryService(database);
  const auth = (database: Database) =>
    new AuthService(database, undefined as never, { SIWE_DOMAINS: [] } as never, undefined);
  const message = signInMessage;
  const signature = await message.signature;
  return {
    LIST_POOLS,
    POOL_DETAIL,
    POOL_YIELD,
    LIST_TRANSACTIONS,
    TRANSACTION_DETAIL,
    POOL_ANALYTICS: await caught((database) => analytics(database).pools()),
    USER_ANALYTICS: await caught((database) => analytics(database).user(user)),
    CURRENT_DRAW: await caught((database) => lottery(database).current()),
    LIST_WINNERS: await caught((database) => lottery(database).winners({ page: 1, limit: 1 })),
    ME: await caught((database) => auth(database).me(user)),
    ISSUE_NONCE: await caught((database) => auth(database).issueNonce()),
    SIGN_IN: await caught((database) => auth(database).verify(message.text, signature)),
  };
}

const signer = privateKeyToAccount(generatePrivateKey());
const text = `a.b wants you to sign in with your Ethereum account:\n${signer.address}\n\n\nURI: https://a.b\nVersion: 1\nChain ID: 1\nNonce: 12345678\nIssued At: 2026-01-01T00:00:00.000Z`;
const signInMessage = { text, signature: signer.signMessage({ message: text }) };

class Caught extends Error {
  constructor(readonly statement: Statement) {
    super();
  }
}

/** The first statement that `call` would run. */
async function caught(call: (database: Database) => Promise<unknown>): Promise<Statement> {
  const run = (statement: Statement): never => {
    throw new Caught(statement);
  };
  try {
    await call({ one: run, query: run } as unknown as Database);
  } catch (error) {
    if (error instanceof Caught) return error.statement;
    throw error;
  }
  throw new Error('no statement was run');
}
