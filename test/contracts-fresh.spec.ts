import { toEventSelector, toFunctionSignature, type AbiEvent } from 'viem';
import { artifacts } from '../src/local/deploy';
import { compile } from '../scripts/compile-contracts';
import { contractAbi } from '../src/chain/contract.abi';

const indexed = (event: AbiEvent): (boolean | undefined)[] => event.inputs.map((input) => !!input.indexed);
const describeEvent = (event: AbiEvent): unknown => [event.name, toEventSelector(event), indexed(event)];

describe('compiled contracts', () => {
  it('are those of the sources', () => {
    expect(artifacts).toEqual(compile());
  });

  it('have the events and the view that the service reads', () => {
    const abi = artifacts.LotteryPool.abi;
    const events = contractAbi.filter((item) => item.type === 'event');
    const ours = abi.filter(
      (item): item is AbiEvent => item.type === 'event' && item.name !== 'OwnershipTransferred',
    );
    expect(events.map(describeEvent).sort()).toEqual(ours.map(describeEvent).sort());

    const functions = abi.filter((item) => item.type === 'function').map(toFunctionSignature);
    const views = contractAbi.filter((item) => item.type === 'function').map(toFunctionSignature);
    expect(views).toEqual(['seq()']);
    expect(functions).toEqual(expect.arrayContaining(views));
  });
});
