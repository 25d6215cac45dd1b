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

const DRAW_CALLS = {
  claimPrize: '/lottery/calls/claim',
  refund: '/lottery/calls/refund',
  completeDraw: '/lottery/calls/complete',
  cancelDraw: '/lottery/calls/cancel',
} as const;
