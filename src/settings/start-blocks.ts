/** The first block of each contract's events. */
export class StartBlocks {
  constructor(
    /** Of all contracts that are not named. */
    readonly others = 0,
    readonly named: ReadonlyMap<string, number> = new Map(),
  ) {}

  of(contract: string): number {
    return this.named.get(contract) ?? this.others;
  }

  first(contracts: Iterable<string>): number {
    return Math.min(...[...contracts].map((contract) => this.of(contract)));
  }
}

/**
 * Parses one number for all contracts, `0xaddress:number` for each, or both: then the number is that of the others.
 * @returns null if the text is none of these, or names a contract twice
 */
export function parseStartBlocks(text: string): StartBlocks | null {
  let others: number | undefined;
  const named = new Map<string, number>();
  for (const item of text.split(',')) {
    const [, address, digits] = /^(?:(0x[0-9a-f]{40}):)?(\d{1,15})$/.exec(item.trim().toLowerCase()) ?? [];
    const isTwice = address === undefined ? others !== undefined : named.has(address);
    if (digits === undefined || isTwice) return null;
    if (address === undefined) others = Number(digits);
    else named.set(address, Number(digits));
  }
  return new StartBlocks(others, named);
}
