import { type Abi, type AbiEvent, toEventSelector, toFunctionSignature } from 'viem';
import { contractAbi, lotteryPoolAbi, savingsPoolAbi, tokenAbi } from '#ledger/chain/contract.abi';
import { circleAbi, rotatingPoolAbi } from '#ledger/chain/rotating.abi';
import { artifacts } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';

const indexed = (event: AbiEvent): (boolean | undefined)[] => event.inputs.map((input) => !!input.indexed);
const describeEvent = (event: AbiEvent): unknown => [event.name, toEventSelector(event), indexed(event)];

type Parameter = { name?: string; type: string; indexed?: boolean };

/** An item without what the compiler says of Solidity's own types. What a function returns has no name to go by. */
function bare(item: Abi[number]): unknown {
  const { inputs = [], outputs } = item as { inputs?: readonly Parameter[]; outputs?: readonly Parameter[] };
  return {
    ...(item.type === 'event' ? { type: 'event' } : item),
    ...('name' in item && { name: item.name }),
    inputs: inputs.map(({ name, type, indexed }) => ({ name, type, indexed: !!indexed })),
    ...(outputs && { outputs: outputs.map(({ type }) => type) }),
  };
}

describe('compiled contracts', () => {
  it('match the sources', () => {
    expect(artifacts).toEqual(compile());
  });

  it.each([
    ['LotteryPool', contractAbi],
    ['RotatingPool', circleAbi],
  ] as const)('of %s have the events and the view that the service reads', (contract, read) => {
    const { abi } = artifacts[contract];
    const events = (read as Abi).filter((item) => item.type === 'event');
    const ours = abi.filter(
      (item): item is AbiEvent => item.type === 'event' && !item.name.startsWith('Ownership'),
    );
    expect(events.map(describeEvent).sort()).toEqual(ours.map(describeEvent).sort());

    const functions = abi.filter((item) => item.type === 'function').map(toFunctionSignature);
    const views = (read as Abi).filter((item) => item.type === 'function').map(toFunctionSignature);
    expect(views).toEqual(['seq()']);
    expect(functions).toEqual(expect.arrayContaining(views));
  });

  it.each([
    ['SavingsPool', savingsPoolAbi],
    ['LotteryPool', lotteryPoolAbi],
    ['RotatingPool', rotatingPoolAbi],
    ['TestToken', tokenAbi],
  ] as const)('have everything that %s clients are told of, by the same names', (contract, abi) => {
    const compiled = artifacts[contract].abi.map(bare);
    for (const item of abi as Abi) expect(compiled).toContainEqual(bare(item));
  });
});
