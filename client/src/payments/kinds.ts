import type { paths } from '../schema.js';
import type { Api, ContractCall } from '../types.js';

/** An amount in smallest units. */
type Units = string | bigint;

interface OfPool {
  readonly pool: string;
}

interface OfDeposit extends OfPool {
  /** The pending deposit that this pays. */
  readonly depositId?: string;
  /** @deprecated It is `depositId`. */
  readonly transaction?: string;
}

interface OfDraw {
  readonly drawId: number;
  /** Default: the newest lottery contract. */
  readonly contract?: string;
}

interface Circle extends OfPool {
  readonly contribution: Units;
  readonly collateral?: Units;
  /** Of a round, in seconds. */
  readonly period: number;
  /** ISO 8601, UTC. */
  readonly joinBy: string;
  /** In the order of their turns. */
  readonly members: readonly string[];
}

type CallPath = Extract<keyof paths, `${string}/calls/${string}`>;
type ParamsOf<Path extends CallPath> = Pick<paths[Path]['get']['parameters'], 'path' | 'query'>;
interface Kind<Path extends CallPath, Fields> {
  readonly path: Path;
  readonly params: (fields: Fields) => ParamsOf<Path>;
}

const kind = <Path extends CallPath, Fields>(
  path: Path,
  params: (fields: Fields) => ParamsOf<Path>,
): Kind<Path, Fields> => ({ path, params });
const inPool = ({ pool: id }: OfPool) => ({ path: { id } });
const compounding = (enabled: 'true' | 'false') => (of: OfPool) => ({ ...inPool(of), query: { enabled } });
const payingIn = ({ pool: id, depositId, transaction = depositId }: OfDeposit) => ({
  path: { id },
  query: { transaction },
});
const inDraw = ({ drawId, contract }: OfDraw) => ({ query: { drawId, contract } });

/**
 * Every kind of payment, by the name of its call: the service's endpoint that says what to send, and what the endpoint
 * needs. Everything else follows from here. A call that the service has and this table lacks does not compile.
 */
const KINDS = {
  deposit: kind('/pools/{id}/calls/deposit', (of: OfDeposit & { readonly amount?: Units }) => ({
    path: { id: of.pool },
    query: { ...payingIn(of).query, amount: of.amount?.toString() },
  })),
  withdraw: kind(
    '/pools/{id}/calls/withdraw',
    ({ pool: id, amount }: OfPool & { readonly amount: Units }) => ({
      path: { id },
      query: { amount: `${amount}` },
    }),
  ),
  claimYield: kind('/pools/{id}/calls/claim', inPool),
  /** Whether the wallet's yield in the pool is to be paid in again. */
  startCompounding: kind('/pools/{id}/calls/compounding', compounding('true')),
  stopCompounding: kind('/pools/{id}/calls/compounding', compounding('false')),
  openCircle: kind(
    '/pools/{id}/calls/open',
    ({ pool: id, contribution, collateral, members, period, joinBy }: Circle) => ({
      path: { id },
      query: {
        contribution: `${contribution}`,
        collateral: collateral?.toString(),
        members: members.join(','),
        period,
        joinBy,
      },
    }),
  ),
  join: kind('/pools/{id}/calls/join', payingIn),
  contribute: kind('/pools/{id}/calls/contribute', payingIn),
  claimPayout: kind('/pools/{id}/calls/payout', inPool),
  claimRefund: kind('/pools/{id}/calls/refund', inPool),
  endRound: kind('/pools/{id}/calls/endRound', inPool),
  cancelCircle: kind('/pools/{id}/calls/cancel', inPool),
  buyTickets: kind('/lottery/calls/tickets', ({ count }: { readonly count: Units }) => ({
    query: { count: `${count}` },
  })),
  claimPrize: kind('/lottery/calls/claim', inDraw),
  refund: kind('/lottery/calls/refund', inDraw),
  completeDraw: kind('/lottery/calls/complete', inDraw),
  cancelDraw: kind('/lottery/calls/cancel', inDraw),
} satisfies Record<Exclude<ContractCall['name'], 'approve'>, object>;

export type PaymentKind = keyof typeof KINDS;

/** What is paid, or asked of a contract. Amounts are in smallest units. */
export type PaymentRequest = {
  [Name in PaymentKind]: { readonly kind: Name } & Parameters<(typeof KINDS)[Name]['params']>[0];
}[PaymentKind];

/** Asks the service what to send. */
export async function callsOf(
  api: Api,
  request: PaymentRequest,
  signal?: AbortSignal,
): Promise<readonly ContractCall[]> {
  // The compiler has checked each entry, and cannot follow which of them this is.
  const { path, params } = KINDS[request.kind] as Kind<'/pools/{id}/calls/claim', PaymentRequest>;
  return (await api.GET(path, { params: params(request), signal })).data!.data.calls;
}
