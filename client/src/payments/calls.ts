import type { Api, ContractCall } from '../types.js';
import type { PaymentRequest } from './payment.js';

/** Asks the service what to send. */
export async function callsOf(
  api: Api,
  request: PaymentRequest,
  signal?: AbortSignal,
): Promise<readonly ContractCall[]> {
  switch (request.kind) {
    case 'deposit': {
      const { pool: id, transaction, amount } = request;
      const params = { path: { id }, query: { transaction, amount } };
      return (await api.GET('/pools/{id}/calls/deposit', { params, signal })).data!.data.calls;
    }
    case 'withdraw': {
      const { pool: id, amount } = request;
      const params = { path: { id }, query: { amount } };
      return (await api.GET('/pools/{id}/calls/withdraw', { params, signal })).data!.data.calls;
    }
    case 'claimYield': {
      const params = { path: { id: request.pool } };
      return (await api.GET('/pools/{id}/calls/claim', { params, signal })).data!.data.calls;
    }
    case 'startCompounding':
    case 'stopCompounding': {
      const enabled = request.kind === 'startCompounding' ? 'true' : 'false';
      const params = { path: { id: request.pool }, query: { enabled } as const };
      return (await api.GET('/pools/{id}/calls/compounding', { params, signal })).data!.data.calls;
    }
    case 'join':
    case 'contribute': {
      const { pool: id, transaction, kind } = request;
      const params = { path: { id }, query: { transaction } };
      return (await api.GET(`/pools/{id}/calls/${kind}`, { params, signal })).data!.data.calls;
    }
    case 'claimPayout':
    case 'claimRefund':
    case 'endRound':
    case 'cancelCircle': {
      const params = { path: { id: request.pool } };
      return (await api.GET(CIRCLE_CALLS[request.kind], { params, signal })).data!.data.calls;
    }
    case 'openCircle': {
      const { pool: id, contribution, collateral, period, joinBy } = request;
      const members = request.members.join(',');
      const params = { path: { id }, query: { contribution, collateral, period, joinBy, members } };
      return (await api.GET('/pools/{id}/calls/open', { params, signal })).data!.data.calls;
    }
    case 'buyTickets': {
      const params = { query: { count: request.count } };
      return (await api.GET('/lottery/calls/tickets', { params, signal })).data!.data.calls;
    }
    case 'claimPrize':
    case 'refund':
    case 'completeDraw':
    case 'cancelDraw': {
      const { drawId, contract, kind } = request;
      const params = { query: { drawId, contract } };
      return (await api.GET(DRAW_CALLS[kind], { params, signal })).data!.data.calls;
    }
  }
}

const CIRCLE_CALLS = {
  claimPayout: '/pools/{id}/calls/payout',
  claimRefund: '/pools/{id}/calls/refund',
  endRound: '/pools/{id}/calls/endRound',
  cancelCircle: '/pools/{id}/calls/cancel',
} as const;

const DRAW_CALLS = {
  claimPrize: '/lottery/calls/claim',
  refund: '/lottery/calls/refund',
  completeDraw: '/lottery/calls/complete',
  cancelDraw: '/lottery/calls/cancel',
} as const;
