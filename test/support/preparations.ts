import type { SignedIn, TestApp } from './app';

/** Makes what an operation needs for its answer to be a success. Gives the parameters in its path. */
type Preparation = (app: TestApp, user: SignedIn) => Promise<Record<string, string>>;

const ownPool: Preparation = async (app, user) => ({ id: (await app.createPool(user)).id as string });

const ownWebhook: Preparation = async (app, user) => {
  const { body } = await app.post('/webhooks', { url: 'https://webhooks.example' }, user);
  return { id: body.data.id as string };
};

const ownDeposit: Preparation = async (app, user) => ({
  id: (await app.createPool(user)).depositId as string,
});

/** By operation id. */
export const PREPARATIONS: Record<string, Preparation> = {
  pools_detail: ownPool,
  pools_update: ownPool,
  pools_yieldReport: ownPool,
  transactions_sent: ownDeposit,
  webhooks_get: ownWebhook,
  webhooks_rotate: ownWebhook,
  webhooks_update: ownWebhook,
};
