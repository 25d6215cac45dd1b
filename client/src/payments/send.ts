import {
  type Account,
  type Address,
  type Chain,
  type Client,
  type Hash,
  type Hex,
  type TransactionReceipt,
  type TypedDataDomain,
  decodeFunctionData,
  domainSeparator,
  encodeFunctionData,
  isAddressEqual,
  keccak256,
  parseAbi,
  parseSignature,
  recoverTypedDataAddress,
  stringToHex,
  zeroHash,
} from 'viem';
import {
  getBlock,
  getCapabilities,
  getCode,
  getEip712Domain,
  getTransactionReceipt,
  readContract,
  sendCalls as sendCallsAtOnce,
} from 'viem/actions';
import { TransactionDroppedError, TransactionRevertedError } from '../errors.js';
import { guarded } from '../observable.js';
import type { ContractCall } from '../types.js';
import { wait } from '../wait.js';
import type { Payer } from '../wallet.js';
import { NATIVE_COIN, type Spending, allowanceOf, approvals, spendingOf } from './allowance.js';
import { addressOf, chainAccess } from './chain-access.js';
import { PAYMENT_GAS, checkFunds, gasOf } from './check.js';
import type { PaymentTrace } from './payment.js';
import { Run, type RunOptions, neverShownMs } from './run.js';
import { depositOf } from './search.js';
import { isRejection, isUnknownBatch, lacksMethod, refusesBatch, wrapped } from './wallet-errors.js';

/**
 * Sends the service's calls with a wallet, each after the previous one is on the chain. Asks the person as few times as
 * the wallet, the token and the contract allow: nothing is approved that is approved already; several calls go as one
 * where the wallet can (EIP-5792), and an approval by signature where the token can (EIP-2612).
 * @returns the receipts, in the order of the transactions
 * @throws SavingsError, the wallet's error, or the signal's reason
 */
export async function sendCalls(
  calls: readonly ContractCall[],
  wallet: Payer,
  options: RunOptions = {},
): Promise<TransactionReceipt[]> {
  return sendWith(new Run(chainAccess(wallet, calls[0].chainId, options.config), options), calls);
}

/** The same with a run that is begun already. */
export async function sendWith(run: Run, calls: readonly ContractCall[]): Promise<TransactionReceipt[]> {
  const final = calls[calls.length - 1];
  const approval = calls.find(({ name }) => name === 'approve');
  const spending = approval && spendingOf(approval);
  const value = BigInt(final.value);
  const paid = spending ?? (value > 0n ? { token: NATIVE_COIN, amount: value } : undefined);
  await run.tell({ state: 'checking', ...(paid && { cost: `${paid.amount}` }) });
  const account = await run.account();
  const { reader } = run.chain;
  const owner = addressOf(account);
  const isAllowed = !spending || (await allowanceOf(reader, owner, spending)) >= spending.amount;
  await checkFunds(reader, owner, paid, isAllowed ? await gasOf(reader, owner, final) : PAYMENT_GAS);
  if (isAllowed) return [await run.send(final)];
  const before = await approvals(reader, owner, approval, spending);
  const batch = await sendBatch(run, account, [...before, final]);
  if (batch) return batch;
  const permitted = await withPermit(run, account, final, spending);
  if (permitted) return [await run.send(permitted)];
  const receipts: TransactionReceipt[] = [];
  for (const each of before) receipts.push(await run.send(each));
  await untilAllowed(run, spending, owner);
  return [...receipts, await run.send(final)];
}

/** Nodes behind one address may differ by a block: the approval is mined, and this one has not seen it. */
async function untilAllowed(run: Run, spending: Spending, account: Address): Promise<void> {
  const { reader } = run.chain;
  for (let attempt = 0; attempt < 5; attempt++) {
    if ((await run.within(allowanceOf(reader, account, spending))) >= spending.amount) return;
    await wait(reader.pollingInterval, run.options.signal);
  }
}

/** The part of EIP-5792 that is used. Not viem's: it throws for receipts that lack what is not needed here. */
interface CallsStatus {
  /** 1xx: on its way, 2xx: on the chain, 4xx: will never be there, 5xx and 6xx: reverted. */
  status: number;
  receipts?: { transactionHash: Hash }[];
}

/**
 * Sends the calls as one (EIP-5792), all or none of them.
 * @returns undefined if the wallet cannot, or the person does not want it to
 */
async function sendBatch(
  run: Run,
  account: Account | Address,
  calls: readonly ContractCall[],
): Promise<TransactionReceipt[] | undefined> {
  if (typeof account !== 'string' || !(await run.within(canBatch(run, account)))) return undefined;
  const final = calls[calls.length - 1];
  const trace = await run.traceOf(final, account);
  try {
    const { id } = await run.ask(
      { state: 'wallet', step: 'batch', trace },
      () =>
        sendCallsAtOnce(run.chain.wallet!, {
          account,
          // viem takes only its number.
          chain: { id: final.chainId } as Chain,
          forceAtomic: true,
          calls: calls.map(({ to, data, value }) => ({
            ...{ to: to as Address, data: data as Hex, value: BigInt(value) },
          })),
        }),
      (sent) => ({ trace: { ...trace, batch: sent.id } }),
    );
    return await followBatch(run, final, { ...trace, batch: id });
  } catch (error) {
    if (run.options.signal?.aborted || isRejection(error) || !refusesBatch(error)) throw error;
    return undefined;
  }
}

/**
 * Waits until the calls are on the chain. Without the wallet, which alone knows them by their id, the contract's event
 * tells.
 */
export async function followBatch(
  run: Run,
  call: ContractCall,
  trace: PaymentTrace,
): Promise<TransactionReceipt[]> {
  const { reader } = run.chain;
  let announced: Hash | undefined;
  let knownAt = Date.now();
  for (;;) {
    const found = await run.within(batchHashes(run, call, trace));
    if (found !== 'unknown') knownAt = Date.now();
    // A wallet that forgets its batches also forgets those that are still on their way.
    else if (Date.now() - knownAt > neverShownMs(run.options.droppedAfterMs))
      throw new TransactionDroppedError(call.name, trace.batch as Hash);
    const hashes = found === 'unknown' ? undefined : found;
    if (hashes) {
      const hash = hashes[hashes.length - 1];
      if (hash !== announced) {
        await run.tell({ state: 'sent', step: 'batch', hash, trace });
        guarded(run.options.onSent)(call, hash);
      }
      announced = hash;
      const receipts = await run.within(
        Promise.all(hashes.map((hash) => getTransactionReceipt(reader, { hash }))).catch(() => undefined),
      );
      const last = receipts?.[receipts.length - 1];
      if (last) guarded(run.options.onMined)(call, last);
      if (receipts) return receipts;
    }
    await wait(reader.pollingInterval, run.options.signal);
  }
}

/** @returns `unknown` if neither the wallet nor the chain has the batch, undefined while it is on its way */
async function batchHashes(
  run: Run,
  call: ContractCall,
  trace: PaymentTrace,
): Promise<Hash[] | 'unknown' | undefined> {
  const { wallet, reader } = run.chain;
  const { account } = run.options;
  const byEvent = async (): Promise<Hash[] | undefined> => {
    const found = account && (await depositOf(reader, account, trace));
    return found && [found.hash];
  };
  // A node that cannot be reached says nothing.
  if (!wallet) return byEvent().catch(() => undefined);
  const asked = { method: 'wallet_getCallsStatus', params: [trace.batch] };
  const { request } = wallet as { request: (of: object, options: object) => Promise<unknown> };
  // Only an answer ends it: a wallet that cannot be reached says nothing.
  const answer = await request(asked, { retryCount: 0 }).catch((error: unknown) =>
    isUnknownBatch(error) ? undefined : { status: 100 },
  );
  // Wallets forget, and another one never knew.
  if (!answer) return (await byEvent().catch(() => undefined)) ?? 'unknown';
  const { status, receipts = [] } = answer as CallsStatus;
  const hashes = receipts.map(({ transactionHash }) => transactionHash);
  if (status >= 500) throw new TransactionRevertedError(call.name, hashes[0]);
  if (status >= 400) throw new TransactionDroppedError(call.name, trace.batch as Hash);
  return status >= 200 && hashes.length > 0 ? hashes : undefined;
}

async function canBatch({ chain: { wallet, chainId } }: Run, account: Address): Promise<boolean> {
  const all = await getCapabilities(wallet!, { account }).catch(() => undefined);
  const { status } = all?.[chainId]?.atomic ?? all?.[0]?.atomic ?? {};
  // `ready`: the wallet asks the person whether it may become able to.
  return status === 'supported' || status === 'ready';
}

const TOKEN = parseAbi([
  'function nonces(address owner) view returns (uint256)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function PERMIT_TYPEHASH() view returns (bytes32)',
  'function name() view returns (string)',
  'function version() view returns (string)',
]);
const PAYING = parseAbi([
  'function deposit(bytes16 poolId, bytes16 ref, uint256 amount)',
  'function buyTickets(uint64 drawId, uint256 count)',
]);
const PERMITTED = parseAbi([
  'function depositWithPermit(bytes16 poolId, bytes16 ref, uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function buyTicketsWithPermit(uint64 drawId, uint256 count, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
]);
const TYPES = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const;
const TYPE_HASH = keccak256(
  stringToHex('Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)'),
);
const LIFETIME_SECONDS = 3600n;

/**
 * The call with an approval by signature in it (EIP-2612), which costs no transaction.
 * @returns undefined if the token, the contract, the account or the wallet cannot
 */
async function withPermit(
  run: Run,
  account: Account | Address,
  call: ContractCall,
  { token, spender, amount: value }: Spending,
): Promise<ContractCall | undefined> {
  const { reader, wallet } = run.chain;
  const owner = addressOf(account);
  const encode = permitted(call);
  const selector = encode?.([0n, 0, zeroHash, zeroHash]).slice(2, 10);
  if (!encode || !selector || !isAddressEqual(spender, call.to as Address)) return undefined;
  const domain = await run.within(permitDomain(run, owner, token, selector, spender));
  if (!domain) return undefined;
  const args = [owner] as const;
  const nonce = await run.within(
    readContract(reader, { address: token, abi: TOKEN, functionName: 'nonces', args }),
  );
  const deadline = (await run.within(timeOf(reader))) + LIFETIME_SECONDS;
  const message = { owner, spender, value, nonce, deadline };
  const typed = { domain, types: TYPES, primaryType: 'Permit', message } as const;
  try {
    const signature = await run.ask(
      { state: 'wallet', step: 'permit' },
      () => wallet!.signTypedData({ account, ...typed }),
      () => ({ state: 'checking' }),
    );
    // Some accounts sign in a form that only their contract understands.
    if (!isAddressEqual(await recoverTypedDataAddress({ ...typed, signature }), owner)) return undefined;
    const { r, s, yParity } = parseSignature(signature);
    const with2612 = { ...call, data: encode([deadline, 27 + yParity, r, s]) };
    await run.simulate(with2612, account);
    return with2612;
  } catch (error) {
    if (run.options.signal?.aborted) throw error;
    if (lacksMethod(error) || !isOfWallet(error)) return undefined;
    throw error;
  }
}

/** Errors of EIP-1193 have numbers as codes: those of the person's answer, too. */
const isOfWallet = (error: unknown): boolean =>
  [...wrapped(error)].some(({ code }) => typeof code === 'number');

type Signed = readonly [deadline: bigint, v: number, r: Hex, s: Hex];

/** How the call is written with a permit, if it can be: contracts of others have functions of their own. */
function permitted({ name, data }: ContractCall): ((signed: Signed) => Hex) | undefined {
  if (name !== 'deposit' && name !== 'buyTickets') return undefined;
  try {
    const { functionName, args } = decodeFunctionData({ abi: PAYING, data: data as Hex });
    return (signed) =>
      encodeFunctionData({
        abi: PERMITTED,
        functionName: `${functionName}WithPermit`,
        args: [...args, ...signed],
      });
  } catch {
    return undefined;
  }
}

/**
 * The domain of the token's permits. Nothing is signed for one that does not hash to what the token says: a signature
 * that the token refuses would be asked for in vain.
 */
async function permitDomain(
  { chain: { reader, chainId } }: Run,
  owner: Address,
  token: Address,
  selector: string,
  spender: Address,
): Promise<TypedDataDomain | undefined> {
  const read = (functionName: 'DOMAIN_SEPARATOR' | 'PERMIT_TYPEHASH' | 'name' | 'version') =>
    readContract(reader, { address: token, abi: TOKEN, functionName }).catch(() => undefined);
  const [code, ownCode, separator, typeHash, described] = await Promise.all([
    getCode(reader, { address: spender }),
    getCode(reader, { address: owner }),
    read('DOMAIN_SEPARATOR'),
    read('PERMIT_TYPEHASH'),
    getEip712Domain(reader, { address: token }).catch(() => undefined),
  ]);
  // Contracts cannot sign; tokens ask the code of accounts that delegate to one (EIP-7702).
  if (!code?.includes(selector) || (ownCode && ownCode !== '0x') || !separator) return undefined;
  if (typeHash && typeHash !== TYPE_HASH) return undefined;
  let candidates: TypedDataDomain[];
  if (described)
    // EIP-5267: the bits of `fields` say which of the others count, in their order.
    candidates = [
      Object.fromEntries(
        Object.entries(described.domain).filter((_, bit) => Number(described.fields) & (1 << bit)),
      ),
    ];
  else {
    const [name, version] = await Promise.all([read('name'), read('version')]);
    candidates = [version, '1', '2'].map((each) => ({
      ...{ name, version: each, chainId, verifyingContract: token },
    }));
  }
  return candidates.find((domain) => domainSeparator({ domain }) === separator);
}

/** Of chain or clock, whichever is ahead. */
async function timeOf(reader: Client): Promise<bigint> {
  const { timestamp } = await getBlock(reader);
  const now = BigInt(Math.floor(Date.now() / 1000));
  return timestamp > now ? timestamp : now;
}
