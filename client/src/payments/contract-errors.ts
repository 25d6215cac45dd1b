import { type Abi, type Hex, decodeErrorResult, isHex, parseAbi } from 'viem';
import { ContractError } from '../errors.js';
import type { Api } from '../types.js';
import { remembered } from '../wait.js';
import { texts, wrapped } from './wallet-errors.js';

/** What tokens and OpenZeppelin's contracts refuse with (ERC-6093), beside the errors of the service's ABI. */
const USUAL = parseAbi([
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error ERC20InvalidApprover(address approver)',
  'error ERC20InvalidReceiver(address receiver)',
  'error ERC20InvalidSender(address sender)',
  'error ERC20InvalidSpender(address spender)',
  'error ERC2612ExpiredSignature(uint256 deadline)',
  'error ERC2612InvalidSigner(address signer, address owner)',
  'error SafeERC20FailedOperation(address token)',
  'error ReentrancyGuardReentrantCall()',
  'error EnforcedPause()',
]);
const SELECTOR_LENGTH = 10;

/**
 * Turns the error of a wallet or node into the contract's own, if it has the data of a revert.
 * @returns undefined if it has none, or none that the ABI knows
 */
export function contractErrorOf(call: string, error: unknown, abi: Abi): ContractError | undefined {
  for (const data of revertData(error)) {
    try {
      const { errorName, args, abiItem } = decodeErrorResult({ abi: [...USUAL, ...abi] as Abi, data });
      const inputs = 'inputs' in abiItem ? abiItem.inputs : [];
      const named = (args ?? []).map((value, at) => [inputs[at]?.name || `${at}`, value] as const);
      return new ContractError(call, errorName, Object.fromEntries(named), error);
    } catch {
      // Not of the ABI: another layer of the error may have more.
    }
  }
  return undefined;
}

/** Some wallets have the data only in their text: "Reverted 0x08c379a0…". */
function* revertData(error: unknown): Generator<Hex> {
  for (const { data } of wrapped(error)) if (isHex(data) && data.length >= SELECTOR_LENGTH) yield data;
  for (const text of texts(error))
    for (const [data] of text.matchAll(/0x[0-9a-f]{8,}/gi))
      // Not an address or a hash: data is a selector and whole words.
      if ((data.length - SELECTOR_LENGTH) % 64 === 0) yield data as Hex;
}

/** The service's ABI, asked for once, and only where an error needs it. */
export const abiOf = (api: Api): (() => Promise<Abi>) =>
  remembered(async () => Object.values((await api.GET('/config/abi')).data!.data).flat() as unknown as Abi);
